/** @file Convolutions as `conv` instructions: images and filters in TensorFlow's layouts, seen through strided views. */
import { bfloat16, float16, float32 } from '../../core/dtypes.ts';
import { type Shape, sizeOf } from '../../core/shape.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { ConvGeometry, ConvInstruction, View } from '../../program/instructions.ts';
import { transposeView, type Value } from '../../program/value.ts';
import type { ImageAxes } from './convSizes.ts';

/** How channels and features fall into groups, and how filters are stored. */
export interface Grouping {
  readonly groups: number;
  /** Filters are […taps, channels, multiplier], one channel per group, instead of […taps, channels of a group, features]. */
  readonly depthwise: boolean;
}

/** The arrays of a convolution in TensorFlow's layouts: the two that are read, and the shape of the third. */
export type ConvArrays =
  | { readonly result: 'output'; readonly input: Value; readonly filter: Value; readonly output: Shape }
  | { readonly result: 'input'; readonly input: Shape; readonly filter: Value; readonly output: Value }
  | { readonly result: 'filter'; readonly input: Value; readonly filter: Shape; readonly output: Value };

/** Adds the convolution that computes `arrays.result`, and gives it in TensorFlow's layout. */
export function lowerConv(
  p: ProgramBuilder,
  arrays: ConvArrays,
  axes: ImageAxes,
  geometry: ConvGeometry,
  grouping: Grouping,
): Value {
  const { result } = arrays;
  const given = arrays.result === 'output' ? arrays.input : arrays.output;
  const { dtype } = given;
  const shapes = [arrays.input, arrays.filter, arrays.output].map((array) => ('buffer' in array ? array.shape : array));
  // Of nothing, all sums are zero.
  if (shapes.some((shape) => sizeOf(shape) === 0)) {
    const wanted = shapes[['input', 'filter', 'output'].indexOf(result)]!;
    return p.fill(dtype, wanted, 0);
  }
  // Half types are multiplied and summed as float32 and rounded once, at the end.
  const inner = dtype === float16 || dtype === bfloat16 ? float32 : dtype;
  const operand = (array: Value | Shape): Value => ('buffer' in array ? p.cast(array, inner) : p.temp(inner, array));
  const whole = { input: operand(arrays.input), filter: operand(arrays.filter), output: operand(arrays.output) };
  p.conv({
    result,
    input: imageView(whole.input, axes, grouping.groups),
    filter: grouping.depthwise ? depthwiseView(whole.filter) : filterView(whole.filter, grouping.groups),
    output: imageView(whole.output, axes, grouping.groups),
    ...geometry,
  } satisfies Omit<ConvInstruction, 'kind'>);
  return p.cast(whole[result], dtype);
}

/** [batch, …spatial, channels], in whichever order, as [batch, groups, channels of a group, …spatial]. */
function imageView(image: View, { channel, spatial }: ImageAxes, groups: number): View {
  return splitAxis(transposeView(image, [0, channel, ...spatial]), 1, groups);
}

/** […taps, channels, groups * features] as [groups, features, channels, …taps]. */
function filterView(filter: View, groups: number): View {
  const taps = filter.shape.length - 2;
  const order = [taps + 1, taps, ...filter.shape.slice(0, taps).map((_, i) => i)];
  return splitAxis(transposeView(filter, order), 0, groups);
}

/** […taps, channels, multiplier] as [channels, multiplier, 1, …taps]. */
function depthwiseView(filter: View): View {
  const taps = filter.shape.length - 2;
  const order = [taps, taps + 1, ...filter.shape.slice(0, taps).map((_, i) => i)];
  const { shape, strides, ...rest } = transposeView(filter, order);
  const insert = (list: readonly number[], value: number) => [...list.slice(0, 2), value, ...list.slice(2)];
  return { ...rest, shape: insert(shape, 1), strides: insert(strides, 0) };
}

/** One axis as two: `count` parts of equal length. */
function splitAxis(view: View, axis: number, count: number): View {
  const { shape, strides } = view;
  const length = count === 0 ? 0 : shape[axis]! / count;
  const step = strides[axis]!;
  return {
    ...view,
    shape: [...shape.slice(0, axis), count, length, ...shape.slice(axis + 1)],
    strides: [...strides.slice(0, axis), step * length, step, ...strides.slice(axis + 1)],
  };
}
