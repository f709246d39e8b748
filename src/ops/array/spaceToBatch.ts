/** @file SpaceToBatchND, BatchToSpaceND and the older two-dimensional SpaceToBatch and BatchToSpace. */
import { InvalidArgumentError } from '../../core/errors.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { type Dims, showRuntime, showShape } from '../../core/shape.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, attr, indexTypes } from '../../op/attrs.ts';
import { int32s } from '../../op/cases.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { complete, filled, type Known, type Named, part, zeroElement } from './common.ts';

type Pairs = readonly number[];

function spaceDims(input: Dims, block: readonly number[] | undefined, pads: Pairs | undefined): Dims {
  if (input === null || !block) return null;
  checkRank(input, block);
  const count = block.reduce((n, b) => n * b, 1);
  return input.map((d, i) => {
    if (i === 0) return d === null ? null : d * count;
    const k = i - 1;
    if (k >= block.length) return d;
    if (d === null || !pads) return null;
    const padded = d + pads[2 * k]! + pads[2 * k + 1]!;
    if (padded % block[k]! !== 0)
      throw new InvalidArgumentError(
        `Dimension size must be evenly divisible by ${block[k]} but is ${padded}: input is ${showShape(input)}, axis ${i} with its paddings. tf.requiredSpaceToBatchPaddings finds paddings that fit.`,
      );
    return padded / block[k]!;
  });
}

function batchDims(input: Dims, block: readonly number[] | undefined, crops: Pairs | undefined): Dims {
  if (input === null || !block) return null;
  checkRank(input, block);
  const count = block.reduce((n, b) => n * b, 1);
  return input.map((d, i) => {
    if (i === 0) {
      if (d !== null && d % count !== 0)
        throw new InvalidArgumentError(
          `Dimension size must be evenly divisible by ${count} but is ${d}: input is ${showShape(input)}`,
        );
      return d === null ? null : d / count;
    }
    const k = i - 1;
    if (k >= block.length) return d;
    return d === null || !crops ? null : d * block[k]! - crops[2 * k]! - crops[2 * k + 1]!;
  });
}

function checkRank(input: readonly unknown[], block: readonly number[]): void {
  if (input.length < block.length + 1)
    throw new InvalidArgumentError(`input rank should be >= ${block.length + 1} instead of ${input.length}`);
}

function checkedBlock(block: readonly number[]): readonly number[] {
  for (const b of block)
    if (b < 1) throw new InvalidArgumentError(`All values in block_shape must be positive, got value, ${b}`);
  return block;
}

function lowerToBatch(p: ProgramBuilder, input: Value, block: readonly number[], pads: Pairs): Value {
  checkRank(input.shape, checkedBlock(block));
  const m = block.length;
  const before = input.shape.map((_, i) => (i >= 1 && i <= m ? pads[2 * (i - 1)]! : 0));
  const after = input.shape.map((_, i) => (i >= 1 && i <= m ? pads[2 * (i - 1) + 1]! : 0));
  if (pads.some((n) => n < 0)) throw new InvalidArgumentError('Paddings must be non-negative');
  const shape = input.shape.map((d, i) => d + before[i]! + after[i]!);
  let padded = input;
  if (pads.some((n) => n > 0)) {
    padded = filled(p, zeroElement(p, input.dtype), shape);
    if (!input.shape.includes(0)) p.copyInto(input, part(padded, before, input.shape));
  }
  for (let k = 0; k < m; k++)
    if (shape[k + 1]! % block[k]! !== 0)
      throw new InvalidArgumentError(
        `padded_shape[${k}]=${shape[k + 1]} is not divisible by block_shape[${k}]=${block[k]}`,
      );
  const [batch, ...rest] = shape as [number, ...number[]]; // rank at least 1
  const space = rest.slice(0, m);
  const depth = rest.slice(m);
  const split = p.reshape(padded, [batch, ...space.flatMap((d, k) => [d / block[k]!, block[k]!]), ...depth]);
  const order = [
    ...block.map((_, k) => 2 + 2 * k),
    0,
    ...block.map((_, k) => 1 + 2 * k),
    ...depth.map((_, i) => 1 + 2 * m + i),
  ];
  const count = block.reduce((n, b) => n * b, 1);
  return p.reshape(p.transpose(split, order), [batch * count, ...space.map((d, k) => d / block[k]!), ...depth]);
}

function lowerToSpace(p: ProgramBuilder, input: Value, block: readonly number[], crops: Pairs): Value {
  checkRank(input.shape, checkedBlock(block));
  const m = block.length;
  const count = block.reduce((n, b) => n * b, 1);
  const [batch, ...rest] = input.shape as [number, ...number[]]; // rank at least 1
  if (batch % count !== 0)
    throw new InvalidArgumentError(
      `Input batch dimension (${batch}) is not divisible by product of block sizes (${count})`,
    );
  if (crops.some((n) => n < 0)) throw new InvalidArgumentError('Crops must be non-negative');
  const space = rest.slice(0, m);
  const depth = rest.slice(m);
  const split = p.reshape(input, [...block, batch / count, ...space, ...depth]);
  const order = [m, ...block.flatMap((_, k) => [m + 1 + k, k]), ...depth.map((_, i) => 1 + 2 * m + i)];
  const whole = space.map((d, k) => d * block[k]!);
  const merged = p.reshape(p.transpose(split, order), [batch / count, ...whole, ...depth]);
  const kept = whole.map((d, k) => {
    const n = d - crops[2 * k]! - crops[2 * k + 1]!;
    if (n < 0) throw new InvalidArgumentError(`cropped_shape[${k}]=${n} must be non-negative`);
    return n;
  });
  const begin = [0, ...block.map((_, k) => crops[2 * k]!), ...depth.map(() => 0)];
  return p.slice(merged, begin, [batch / count, ...kept, ...depth]);
}

const pairsOf = (value: NDArray | undefined): Pairs | undefined => value?.numbers();
const blockOf = (known: Known | undefined): readonly number[] | undefined => complete(known);

/** Paddings or crops at run time: a row (before, after) per block axis. */
function demandPairs(p: ProgramBuilder, value: Value, axes: number, what: string): Pairs {
  if (value.shape.length !== 2 || value.shape[0] !== axes || value.shape[1] !== 2)
    throw new InvalidArgumentError(`${what} should have shape [${axes}, 2] instead of ${showRuntime(value.shape)}`);
  return p.demandInts(value);
}

const noPairs = int32s([
  [0, 0],
  [0, 0],
]);

export const SpaceToBatchND = defineOp({
  name: 'SpaceToBatchND',
  inputs: { input: 'T', block_shape: 'Tblock_shape', paddings: 'Tpaddings' },
  outputs: { output: 'T' },
  attrs: { T: anyType, Tblock_shape: indexTypes, Tpaddings: indexTypes },
  hostInputs: ['block_shape', 'paddings'],
  shape: ({ input }, _, c) => ({
    output: spaceDims(input, blockOf(c.partial('block_shape')), pairsOf(c.value('paddings'))),
  }),
  grad: ({ inputs: { block_shape, paddings } }, { output: dy }) => ({
    input: batchToSpaceNd(dy, block_shape, paddings),
  }),
  lower(p, { input, block_shape, paddings }) {
    const block = p.demandInts(block_shape);
    return { output: lowerToBatch(p, input, block, demandPairs(p, paddings, block.length, 'paddings')) };
  },
  cases: () => [
    {
      shape: '[1, 4, ?, 3], [2], [2, 2] -> [4, 2, ?, 3]',
      given: {
        block_shape: int32s([2, 2]),
        paddings: noPairs,
      },
    },
    {
      given: {
        input: [[[1], [2], [3]]],
        block_shape: int32s([2]),
        paddings: int32s([[1, 0]]),
      },
      expect: {
        output: [
          [[0], [2]],
          [[1], [3]],
        ],
      },
    },
  ],
});

export const BatchToSpaceND = defineOp({
  name: 'BatchToSpaceND',
  inputs: { input: 'T', block_shape: 'Tblock_shape', crops: 'Tcrops' },
  outputs: { output: 'T' },
  attrs: { T: anyType, Tblock_shape: indexTypes, Tcrops: indexTypes },
  hostInputs: ['block_shape', 'crops'],
  shape: ({ input }, _, c) => ({
    output: batchDims(input, blockOf(c.partial('block_shape')), pairsOf(c.value('crops'))),
  }),
  grad: ({ inputs: { block_shape, crops } }, { output: dy }) => ({
    input: spaceToBatchNd(dy, block_shape, crops),
  }),
  lower(p, { input, block_shape, crops }) {
    const block = p.demandInts(block_shape);
    return { output: lowerToSpace(p, input, block, demandPairs(p, crops, block.length, 'crops')) };
  },
  cases: () => [
    {
      shape: '[4, 2, ?, 3], [2], [2, 2] -> [1, 3, ?, 3]',
      given: {
        block_shape: int32s([2, 2]),
        crops: int32s([
          [1, 0],
          [0, 0],
        ]),
      },
    },
    {
      given: {
        input: [
          [[0], [2]],
          [[1], [3]],
        ],
        block_shape: int32s([2]),
        crops: int32s([[1, 0]]),
      },
      expect: { output: [[[1], [2], [3]]] },
    },
  ],
});

export const SpaceToBatch = defineOp({
  name: 'SpaceToBatch',
  inputs: { input: 'T', paddings: 'Tpaddings' },
  outputs: { output: 'T' },
  attrs: { T: anyType, Tpaddings: indexTypes, block_size: attr('int', { minimum: 2 }) },
  hostInputs: ['paddings'],
  shape: ({ input }, { block_size: b }, c) => ({ output: spaceDims(input, [b, b], pairsOf(c.value('paddings'))) }),
  grad: ({ inputs: { paddings }, attrs: { block_size } }, { output: dy }) => ({
    input: batchToSpace(dy, paddings, block_size),
  }),
  lower: (p, { input, paddings }, { block_size: b }) => ({
    output: lowerToBatch(p, input, [b, b], demandPairs(p, paddings, 2, 'paddings')),
  }),
  cases: () => [
    {
      shape: '[1, 4, ?, 3], [2, 2] -> [4, 2, ?, 3]',
      attrs: { block_size: 2 },
      given: {
        paddings: noPairs,
      },
    },
    {
      given: {
        input: [
          [
            [[1], [2]],
            [[3], [4]],
          ],
        ],
        paddings: noPairs,
      },
      attrs: { block_size: 2 },
      expect: { output: [[[[1]]], [[[2]]], [[[3]]], [[[4]]]] },
    },
  ],
});

export const BatchToSpace = defineOp({
  name: 'BatchToSpace',
  inputs: { input: 'T', crops: 'Tidx' },
  outputs: { output: 'T' },
  attrs: { T: anyType, block_size: attr('int', { minimum: 2 }), Tidx: indexTypes },
  hostInputs: ['crops'],
  shape: ({ input }, { block_size: b }, c) => ({ output: batchDims(input, [b, b], pairsOf(c.value('crops'))) }),
  grad: ({ inputs: { crops }, attrs: { block_size } }, { output: dy }) => ({
    input: spaceToBatch(dy, crops, block_size),
  }),
  lower: (p, { input, crops }, { block_size: b }) => ({
    output: lowerToSpace(p, input, [b, b], demandPairs(p, crops, 2, 'crops')),
  }),
  cases: () => [
    {
      shape: '[4, 2, ?, 3], [2, 2] -> [1, 4, ?, 3]',
      attrs: { block_size: 2 },
      given: {
        crops: noPairs,
      },
    },
    {
      given: {
        input: [[[[1]]], [[[2]]], [[[3]]], [[[4]]]],
        crops: noPairs,
      },
      attrs: { block_size: 2 },
      expect: {
        output: [
          [
            [[1], [2]],
            [[3], [4]],
          ],
        ],
      },
    },
  ],
});

/**
 * Moves blocks of the spatial axes into the batch axis, after padding. Adds one `SpaceToBatchND` node.
 *
 * @example tf.spaceToBatchNd([[[1], [2]]], [2], [[0, 0]]) // runs to [[[1]] [[2]]]
 */
export function spaceToBatchNd(
  input: TensorLike,
  blockShape: TensorLike,
  paddings: TensorLike,
  options: Named = {},
): Tensor {
  return SpaceToBatchND.build({ input, block_shape: blockShape, paddings }, options).output;
}

/**
 * Moves blocks of the batch axis back into the spatial axes, then crops. Adds one `BatchToSpaceND` node.
 *
 * @example tf.batchToSpaceNd([[[1]], [[2]]], [2], [[0, 0]]) // runs to [[[1] [2]]]
 */
export function batchToSpaceNd(
  input: TensorLike,
  blockShape: TensorLike,
  crops: TensorLike,
  options: Named = {},
): Tensor {
  return BatchToSpaceND.build({ input, block_shape: blockShape, crops }, options).output;
}

/** The two-dimensional forms take one size for both axes, as int64 like Python's. */
const square = (size: number): TensorLike => BigInt64Array.of(BigInt(size), BigInt(size));

/**
 * `spaceToBatchNd` of images with square blocks. Adds one `SpaceToBatchND` node.
 *
 * @example tf.spaceToBatch([[[[1], [2]], [[3], [4]]]], [[0, 0], [0, 0]], 2) // runs to [[[[1]]] [[[2]]] [[[3]]] [[[4]]]]
 */
export function spaceToBatch(input: TensorLike, paddings: TensorLike, blockSize: number, options: Named = {}): Tensor {
  const result = spaceToBatchNd(input, square(blockSize), paddings, options);
  result.setShape([null, null, null, null]);
  return result;
}

/**
 * `batchToSpaceNd` of images with square blocks. Adds one `BatchToSpaceND` node.
 *
 * @example tf.batchToSpace([[[[1]]], [[[2]]], [[[3]]], [[[4]]]], [[0, 0], [0, 0]], 2) // runs to [[[[1] [2]] [[3] [4]]]]
 */
export function batchToSpace(input: TensorLike, crops: TensorLike, blockSize: number, options: Named = {}): Tensor {
  const result = batchToSpaceNd(input, square(blockSize), crops, options);
  result.setShape([null, null, null, null]);
  return result;
}
