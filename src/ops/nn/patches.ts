/** @file ExtractImagePatches and ExtractVolumePatches: the windows of a convolution as rows, and their gradients. */
import { bool, complex64, complex128, float32, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError, OutOfRangeError, UnimplementedError } from '../../core/errors.ts';
import { type Dims, isFullyDefined, showRuntime, sizeOf, stridesOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr, realNumbers, realNumberTypes } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import type { Named } from '../array/common.ts';
import { concat } from '../array/concat.ts';
import { expandDims } from '../array/expandDims.ts';
import { ones } from '../array/fill.ts';
import { getItem } from '../array/getItem.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { range } from '../array/range.ts';
import { reshape } from '../array/reshape.ts';
import { shape as shapeOf } from '../array/shape.ts';
import { unstack } from '../array/stack.ts';
import { transpose } from '../array/transpose.ts';
import { cast } from '../math/cast.ts';
import { minus, plus, times } from '../math/operators.ts';
import { unsortedSegmentSum } from '../math/segments.ts';
import { sparseTensorDenseMatmul } from '../sparse/sparseDense.ts';
import { sparseSlice } from '../sparse/sparseSlice.ts';
import { ramp } from './convCases.ts';
import { imageAxes, ranked, runtimeSizes, staticSizes } from './convSizes.ts';

interface PatchAttrs {
  readonly ksizes: readonly number[];
  readonly strides: readonly number[];
  readonly rates?: readonly number[];
  readonly padding: string;
}

/** The same attributes as those of a convolution, once they have been checked; the words are TensorFlow's. */
function windowAttrs(a: PatchAttrs, rank: number) {
  const rates = a.rates ?? new Array<number>(rank).fill(1);
  for (const [name, list] of Object.entries({ ksizes: a.ksizes, strides: a.strides, rates })) {
    if (list.length !== rank)
      throw new InvalidArgumentError(`${name} field must specify ${rank} dimensions, but has ${list.length}`);
    if (list[0] !== 1 || list[rank - 1] !== 1)
      throw new UnimplementedError(
        `Only support ${name} across space. ${name}[0] and ${name}[${rank - 1}] must be 1, but they are ${list[0]} and ${list[rank - 1]}.`,
      );
    if (list.some((n) => n < 1)) throw new OutOfRangeError(`All ${name} must be at least 1, but got [${list}]`);
  }
  return { strides: a.strides, dilations: rates, padding: a.padding, data_format: 'channels last' };
}

function patchDims(port: string, input: Dims, a: PatchAttrs, rank: number): Dims {
  const attrs = windowAttrs(a, rank);
  const dims = ranked(port, input, rank);
  const taps = a.ksizes.slice(1, -1);
  const depth = dims[rank - 1]!;
  const sizes = staticSizes(dims, taps, attrs, imageAxes(rank, 'NHWC'));
  return [dims[0]!, ...sizes, depth === null ? null : depth * sizeOf(taps)];
}

/** A view of every window, copied row by row. */
function patches(p: ProgramBuilder, input: Value, a: PatchAttrs, rank: number): Value {
  const attrs = windowAttrs(a, rank);
  if (input.shape.length !== rank)
    throw new InvalidArgumentError(`input must be ${rank}-dimensional${showRuntime(input.shape)}`);
  const taps = a.ksizes.slice(1, -1);
  const { output, geometry } = runtimeSizes(input.shape, taps, attrs, imageAxes(rank, 'NHWC'));
  const { strides, dilations, before } = geometry;
  const [batch, channels] = [input.shape[0]!, input.shape.at(-1)!];
  const shape = [batch, ...output, sizeOf(taps) * channels];
  if (sizeOf(shape) === 0) return p.fill(input.dtype, shape, 0);
  const after = output.map((n, i) => {
    const end = (n - 1) * strides[i]! + (taps[i]! - 1) * dilations[i]! + 1 - before[i]!;
    return Math.max(0, end - input.shape[1 + i]!);
  });
  const padded = p.contiguous(p.pad(input, [0, ...before, 0], [0, ...after, 0], 0));
  const steps = stridesOf(padded.shape);
  const along = steps.slice(1, -1);
  const windows: Value = {
    ...padded,
    shape: [batch, ...output, ...taps, channels],
    strides: [
      steps[0]!,
      ...along.map((step, i) => step * strides[i]!),
      ...along.map((step, i) => step * dilations[i]!),
      1,
    ],
  };
  return p.reshape(p.copy(windows), shape);
}

export const ExtractImagePatches = defineOp({
  name: 'ExtractImagePatches',
  inputs: { images: 'T' },
  outputs: { patches: 'T' },
  attrs: {
    ksizes: attr('list(int)', { minimum: 4 }),
    strides: attr('list(int)', { minimum: 4 }),
    rates: attr('list(int)', { minimum: 4 }),
    T: attr('type', { allowed: [...realNumberTypes, complex64, complex128, bool] }),
    padding: attr('string', { choices: ['SAME', 'VALID'] }),
  },
  shape: ({ images }, attrs) => ({ patches: patchDims('images', images, attrs, 4) }),
  grad({ inputs: { images }, outputs, attrs: { T: _, ...attrs } }, { patches: dy }) {
    const [batch, rows, columns, channels] = unstack(shapeOf(images, { outType: int64 })) as [
      Tensor,
      Tensor,
      Tensor,
      Tensor,
    ]; // rank 4
    const sizes = shapeOf(outputs.patches, { outType: int64 });
    const [rowsOut, columnsOut] = unstack(getItem(sizes, '1:3')) as [Tensor, Tensor]; // two sizes
    const count = times(rows, columns);
    // Every element of the image is numbered from 1; what the windows see beyond it is 0.
    const numbered = reshape(range(1, plus(count, 1), { dtype: float32 }), [1, rows, columns, 1]);
    const seen = cast(ExtractImagePatches.build({ images: numbered }, { attrs }).patches, int64);
    const [, tapRows, tapColumns] = attrs.ksizes as readonly [number, number, number, number]; // checked by the shape rule
    const expanded = transpose(
      reshape(denseGradient(dy), [batch, rowsOut, columnsOut, tapRows!, tapColumns!, channels]),
      [1, 2, 3, 4, 0, 5],
    );
    const flat = reshape(expanded, [-1, times(batch, channels)]);
    // -1, for what is beyond the image, belongs to no segment.
    const ids = minus(reshape(seen, [-1]), 1);
    const sums = unsortedSegmentSum(flat, ids, count);
    return { images: transpose(reshape(sums, [rows, columns, batch, channels]), [2, 0, 1, 3]) };
  },
  lower: (p, { images }, attrs) => ({ patches: patches(p, images, attrs, 4) }),
  cases: () => {
    const plain = { rates: [1, 1, 1, 1], strides: [1, 1, 1, 1], padding: 'VALID' };
    return [
      { shape: '[?, 5, 6, 2] -> [?, 4, 4, 12]', attrs: { ...plain, ksizes: [1, 2, 3, 1] } },
      {
        shape: '[3, ?, 6, ?] -> [3, ?, 3, ?]',
        attrs: { ...plain, ksizes: [1, 2, 3, 1], strides: [1, 1, 2, 1], padding: 'SAME' },
      },
      { shape: '[2, 3, 4]', attrs: { ...plain, ksizes: [1, 2, 2, 1] }, rejects: /images/ },
      { shape: '[1, 2, 2, 1]', attrs: { ...plain, ksizes: [1, 3, 1, 1] }, rejects: /Negative dimension/ },
      {
        given: {
          images: [
            [
              [[0], [1], [2], [3]],
              [[4], [5], [6], [7]],
              [[8], [9], [10], [11]],
            ],
          ],
        },
        attrs: { ...plain, ksizes: [1, 2, 2, 1], strides: [1, 1, 2, 1] },
        expect: {
          patches: [
            [
              [
                [0, 1, 4, 5],
                [2, 3, 6, 7],
              ],
              [
                [4, 5, 8, 9],
                [6, 7, 10, 11],
              ],
            ],
          ],
        },
      },
      {
        given: { images: ramp([2, 5, 6, 2]) },
        attrs: { ...plain, ksizes: [1, 2, 3, 1], rates: [1, 2, 2, 1], padding: 'SAME' },
      },
      {
        given: { images: ramp([1, 7, 6, 3]) },
        attrs: { ...plain, ksizes: [1, 3, 2, 1], strides: [1, 2, 3, 1], rates: [1, 1, 3, 1] },
      },
      {
        given: {
          images: {
            dtype: 'int32',
            value: [
              [
                [[1], [2]],
                [[3], [4]],
              ],
            ],
          },
        },
        attrs: { ...plain, ksizes: [1, 2, 2, 1], padding: 'SAME' },
        expect: {
          patches: {
            dtype: 'int32',
            value: [
              [
                [
                  [1, 2, 3, 4],
                  [2, 0, 4, 0],
                ],
                [
                  [3, 4, 0, 0],
                  [4, 0, 0, 0],
                ],
              ],
            ],
          },
        },
      },
      {
        given: { images: { dtype: 'float32', value: [], shape: [0, 3, 3, 1] } },
        attrs: { ...plain, ksizes: [1, 2, 2, 1] },
      },
      {
        given: { images: ramp([1, 2, 2, 1]) },
        attrs: { ...plain, ksizes: [1, 1, 1, 2] },
        fails: /Only support ksizes across space/,
      },
      {
        given: { images: ramp([1, 2, 2, 1]) },
        attrs: { ...plain, ksizes: [1, 1, 1, 1], strides: [1, 0, 1, 1] },
        fails: /strides/,
      },
    ];
  },
});

/** A size that the gradient must know while building. */
function known(dims: Dims): readonly number[] {
  if (!isFullyDefined(dims?.slice(1, -1) ?? null))
    throw new InvalidArgumentError(
      'the gradient of ExtractVolumePatches needs planes, rows and columns that are known',
    );
  return dims!.slice(1, -1) as number[]; // just checked
}

export const ExtractVolumePatches = defineOp({
  name: 'ExtractVolumePatches',
  inputs: { input: 'T' },
  outputs: { patches: 'T' },
  attrs: {
    ksizes: attr('list(int)', { minimum: 5 }),
    strides: attr('list(int)', { minimum: 5 }),
    T: realNumbers,
    padding: attr('string', { choices: ['SAME', 'VALID'] }),
  },
  shape: ({ input }, attrs) => ({ patches: patchDims('input', input, attrs, 5) }),
  grad({ inputs: { input }, outputs, attrs: { T: _, ...attrs } }, { patches: dy }) {
    const space = known(input.shape);
    const sizes = shapeOf(input);
    const batch = getItem(sizes, '0');
    const channels = getItem(sizes, '4');
    const elements = 1 + sizeOf(space);
    // Every element is numbered from 1; what the windows see beyond them is 0.
    const numbered = reshape(range(1, elements, { dtype: int64 }), [1, ...space, 1]);
    const seen = ExtractVolumePatches.build({ input: numbered }, { attrs }).patches;
    const spaceOut = known(outputs.patches.shape);
    const taps = attrs.ksizes.slice(1, -1);
    const places = sizeOf(spaceOut) * sizeOf(taps);
    const placed = reshape(range(places, { dtype: int64 }), [1, ...spaceOut, sizeOf(taps)]);
    const pairs = concat([expandDims(seen, -1), expandDims(placed, -1)], -1);
    const matrix = new SparseTensor(reshape(pairs, [-1, 2]), ones([places], { dtype: dy.dtype }), [elements, places]);
    // Row 0 is what is beyond the volume.
    const inside = sparseSlice(matrix, [1, 0], [elements - 1, places]);
    const expanded = transpose(
      reshape(denseGradient(dy), [batch, ...spaceOut, ...taps, channels]),
      [1, 2, 3, 4, 5, 6, 0, 7],
    );
    const flat = reshape(expanded, [-1, times(batch, channels)]);
    const sums = sparseTensorDenseMatmul(inside, flat);
    return { input: transpose(reshape(sums, [...space, batch, channels]), [3, 0, 1, 2, 4]) };
  },
  lower: (p, { input }, attrs) => ({ patches: patches(p, input, attrs, 5) }),
  cases: () => {
    const plain = { strides: [1, 1, 1, 1, 1], padding: 'VALID' };
    return [
      { shape: '[?, 3, 5, 6, 2] -> [?, 3, 4, 4, 12]', attrs: { ...plain, ksizes: [1, 1, 2, 3, 1] } },
      { shape: '[2, 3, 4]', attrs: { ...plain, ksizes: [1, 1, 2, 2, 1] }, rejects: /input/ },
      {
        given: {
          input: [
            [
              [
                [[0], [1]],
                [[2], [3]],
              ],
              [
                [[4], [5]],
                [[6], [7]],
              ],
            ],
          ],
        },
        attrs: { ...plain, ksizes: [1, 2, 1, 2, 1], padding: 'SAME' },
        expect: {
          patches: [
            [
              [
                [
                  [0, 1, 4, 5],
                  [1, 0, 5, 0],
                ],
                [
                  [2, 3, 6, 7],
                  [3, 0, 7, 0],
                ],
              ],
              [
                [
                  [4, 5, 0, 0],
                  [5, 0, 0, 0],
                ],
                [
                  [6, 7, 0, 0],
                  [7, 0, 0, 0],
                ],
              ],
            ],
          ],
        },
      },
      {
        given: { input: ramp([2, 3, 4, 5, 2]) },
        attrs: { ...plain, ksizes: [1, 2, 3, 2, 1], strides: [1, 1, 2, 1, 1] },
      },
      {
        given: { input: ramp([1, 3, 3, 4, 1]) },
        attrs: { ...plain, ksizes: [1, 2, 2, 3, 1], strides: [1, 2, 1, 3, 1], padding: 'SAME' },
      },
      {
        given: { input: ramp([1, 2, 2, 2, 1]) },
        attrs: { ...plain, ksizes: [1, 1, 1, 1, 2] },
        fails: /Only support ksizes across space/,
      },
    ];
  },
});

export interface PatchOptions extends Named {
  /** The size of a window: `[1, rows, columns, 1]`. */
  readonly ksizes: readonly number[];
  readonly strides: readonly number[];
  /** How far apart the elements of a window are. */
  readonly rates: readonly number[];
  readonly padding: 'SAME' | 'VALID';
}

/**
 * Every window of images [batch, rows, columns, channels] as one row. Adds one `ExtractImagePatches` node.
 *
 * @example tf.extractImagePatches([[[[1], [2], [3]]]], { ksizes: [1, 1, 2, 1], strides: [1, 1, 1, 1], rates: [1, 1, 1, 1], padding: 'VALID' }) // runs to [[[[1 2] [2 3]]]]
 */
export function extractImagePatches(images: TensorLike, options: PatchOptions): Tensor {
  const names = ['ksizes', 'strides', 'rates', 'padding', 'name'] as const;
  const { name, ...attrs } = onlyOptions('tf.extractImagePatches', options, ...names);
  return ExtractImagePatches.build({ images }, { name, attrs }).patches;
}

/**
 * The same under the name of later versions, with `sizes` for `ksizes`. Adds one `ExtractImagePatches` node.
 *
 * @example tf.image.extractPatches([[[[1], [2], [3]]]], [1, 1, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], 'VALID') // runs to [[[[1 2] [2 3]]]]
 */
export function extractPatches(
  images: TensorLike,
  sizes: readonly number[],
  strides: readonly number[],
  rates: readonly number[],
  padding: 'SAME' | 'VALID',
  options: Named = {},
): Tensor {
  const { name } = onlyOptions('tf.image.extractPatches', options, 'name');
  return ExtractImagePatches.build({ images }, { name, attrs: { ksizes: sizes, strides, rates, padding } }).patches;
}

/**
 * Every window of volumes [batch, planes, rows, columns, channels] as one row. Adds one `ExtractVolumePatches` node.
 *
 * @example tf.extractVolumePatches([[[[[1], [2], [3]]]]], [1, 1, 1, 2, 1], [1, 1, 1, 1, 1], 'VALID') // runs to [[[[[1 2] [2 3]]]]]
 */
export function extractVolumePatches(
  input: TensorLike,
  ksizes: readonly number[],
  strides: readonly number[],
  padding: 'SAME' | 'VALID',
  options: Named = {},
): Tensor {
  const { name } = onlyOptions('tf.extractVolumePatches', options, 'name');
  return ExtractVolumePatches.build({ input }, { name, attrs: { ksizes, strides, padding } }).patches;
}
