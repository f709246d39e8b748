/** @file Shapes of the gradients of convolutions: sizes given as tensors, and shapes that must fit together. */
import { InvalidArgumentError } from '../../core/errors.ts';
import type { Dims, Shape } from '../../core/shape.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { ConvGeometry } from '../../program/instructions.ts';
import type { Value } from '../../program/value.ts';
import { dimsFrom, type Known } from '../array/common.ts';
import { type ConvAttrs, checkConvAttrs, type ImageAxes, imageAxes, ranked, runtimeSizes } from './convSizes.ts';

/** The shape rule of a gradient whose result has the sizes that one of its inputs holds. */
export const shapeFromSizes =
  <P extends string>(port: P, rank: number) =>
  (_: unknown, attrs: ConvAttrs, context: { partial(port: P): Known | undefined }): { output: Dims } => {
    checkConvAttrs(attrs, rank);
    return { output: ranked(port, dimsFrom(context.partial(port)), rank) };
  };

/** A shape given as a vector of sizes. */
export function demandShape(p: ProgramBuilder, sizes: Value): Shape {
  const shape = p.demandInts(sizes);
  for (const d of shape) if (d < 0) throw new InvalidArgumentError(`Dimension ${d} must be >= 0`);
  return shape;
}

/** The three arrays of a convolution whose output gradient is given. */
export interface BackpropShapes {
  readonly input: Shape;
  readonly filter: Shape;
  readonly out_backprop: Shape;
}

/** Everything that the gradient ops of convolutions check alike; `label` begins their messages. */
export function checkBackprop(
  label: string,
  shapes: BackpropShapes,
  rank: number,
  attrs: ConvAttrs,
): { axes: ImageAxes; geometry: ConvGeometry; groups: number } {
  const fail = (text: string) => new InvalidArgumentError(`${label}: ${text}`);
  for (const port of ['input', 'filter', 'out_backprop'] as const)
    if (shapes[port].length !== rank) throw fail(`${port} must be ${rank}-dimensional`);
  const { input, filter, out_backprop } = shapes;
  const axes = imageAxes(rank, attrs.data_format);
  if (input[0] !== out_backprop[0])
    throw fail(
      `input and out_backprop must have the same batch size. Input batch: ${input[0]}, outbackprop batch: ${out_backprop[0]}, batch_dim: 0`,
    );
  const [channels, features] = filter.slice(-2) as [number, number]; // rank checked
  if (channels <= 0) throw fail('filter depth must be strictly greated than zero');
  if (input[axes.channel]! % channels !== 0) throw fail('input depth must be evenly divisible by filter depth');
  if (features !== out_backprop[axes.channel]) throw fail('filter and out_backprop must have the same out_depth');
  const { output, geometry } = runtimeSizes(input, filter, attrs, axes);
  for (const [i, axis] of axes.spatial.entries())
    if (output[i] !== out_backprop[axis])
      throw fail(
        `Size of out_backprop doesn't match computed: actual = ${out_backprop[axis]}, computed = ${output[i]} spatial_dim: ${axis} input: ${input[axis]} filter: ${filter[i]} output: ${out_backprop[axis]} stride: ${geometry.strides[i]} dilation: ${geometry.dilations[i]}`,
      );
  const groups = input[axes.channel]! / channels;
  if (groups > 0 && features % groups !== 0)
    throw fail(`output depth must be evenly divisible by number of groups: ${features} vs ${groups}`);
  return { axes, geometry, groups };
}
