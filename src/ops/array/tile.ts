/** @file Tile and TileGrad: a tensor repeated along its axes. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { showRuntime, showShape } from '../../core/shape.ts';
import { IndexedSlices } from '../../graph/indexedSlices.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, indexTypes } from '../../op/attrs.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { type Named, unknownDims } from './common.ts';
import { concat } from './concat.ts';
import { getItem } from './getItem.ts';
import { cast, floorModFunction, sum, unsortedSegmentSum } from './neighbours.ts';
import { range } from './range.ts';
import { reshape } from './reshape.ts';
import { shape, size } from './shape.ts';
import { stack } from './stack.ts';
import { transpose } from './transpose.ts';

function demandMultiples(p: ProgramBuilder, input: Value, multiples: Value): number[] {
  const counts = p.demandInts(multiples);
  if (counts.length !== input.shape.length)
    throw new InvalidArgumentError(
      `Expected multiples argument to be a vector of length ${input.shape.length} but got length ${counts.length}`,
    );
  for (const [i, n] of counts.entries())
    if (n < 0) throw new InvalidArgumentError(`Expected multiples[${i}] >= 0, but got ${n}`);
  return counts;
}

export const Tile = defineOp({
  name: 'Tile',
  inputs: { input: 'T', multiples: 'Tmultiples' },
  outputs: { output: 'T' },
  attrs: { T: anyType, Tmultiples: indexTypes },
  hostInputs: ['multiples'],
  shape({ input }, _, context) {
    const counts = context.partial('multiples');
    const rank = input?.length ?? counts?.length;
    if (rank === undefined) return { output: null };
    if (input && counts && counts.length !== rank)
      throw new InvalidArgumentError(
        `input is ${showShape(input)}, but multiples has ${counts.length} entries; it must have one per axis.`,
      );
    if (!input || !counts) return { output: unknownDims(rank) };
    return { output: input.map((d, i) => (d === null || counts[i] == null ? null : d * counts[i]!)) };
  },
  grad({ inputs: { input, multiples } }, { output }) {
    const inputShape = shape(input, { outType: multiples.dtype });
    let split: Tensor = reshape(transpose(stack([multiples, inputShape])), [-1]);
    const axes = range(0, size(split), 2);
    let dy: Tensor;
    if (output instanceof IndexedSlices) {
      const rows = cast(getItem(inputShape, [0]), output.indices.dtype);
      dy = unsortedSegmentSum(output.values, floorModFunction(output.indices, rows), rows);
      split = concat([[1], getItem(split, '1:')], 0);
    } else dy = output;
    const dx = sum(reshape(dy, split), axes);
    dx.setShape(input.shape);
    return { input: dx };
  },
  lower(p, { input, multiples }) {
    const counts = demandMultiples(p, input, multiples);
    const target = input.shape.map((d, i) => d * counts[i]!);
    // Every axis d becomes (times, d): the first stretched for nothing, the pair then read as one.
    const spread = p.reshape(
      input,
      input.shape.flatMap((d) => [1, d]),
    );
    const repeated = p.broadcast(
      spread,
      input.shape.flatMap((d, i) => [counts[i]!, d]),
    );
    return { output: counts.every((n) => n === 1) ? input : p.reshape(repeated, target) };
  },
  cases: () => [
    { shape: '[2, ?], [2] -> [4, ?]', given: { multiples: { dtype: 'int32', value: [2, 3] } } },
    { shape: '?, [2] -> [?, ?]' },
    { shape: '[2], [2]', given: { multiples: { dtype: 'int32', value: [2, 3] } }, rejects: /multiples has 2 entries/ },
    {
      given: { input: [[1, 2]], multiples: { dtype: 'int32', value: [2, 2] } },
      expect: {
        output: [
          [1, 2, 1, 2],
          [1, 2, 1, 2],
        ],
      },
    },
    {
      given: { input: ['a', 'b'], multiples: { dtype: 'int64', value: [2] } },
      expect: { output: ['a', 'b', 'a', 'b'] },
    },
    {
      given: { input: [1], multiples: { dtype: 'int32', value: [0] } },
      expect: { output: { dtype: 'float32', value: [], shape: [0] } },
    },
  ],
});

export const TileGrad = defineOp({
  name: 'TileGrad',
  inputs: { input: 'T', multiples: 'int32' },
  outputs: { output: 'T' },
  attrs: { T: anyType },
  deprecatedSince: 3,
  hostInputs: ['multiples'],
  shape: ({ input }, _, context) => {
    const counts = context.partial('multiples');
    if (!input) return { output: null };
    return { output: input.map((d, i) => (d === null || counts?.[i] == null ? null : d / counts[i]!)) };
  },
  grad: gradientPending('it serves only graphs older than TensorFlow 1.0'),
  lower(p, { input, multiples }) {
    const counts = demandMultiples(p, input, multiples);
    const one = input.shape.map((d, i) => {
      if (d % counts[i]! !== 0)
        throw new InvalidArgumentError(`Expected input_dim % multiples == 0, but input is ${showRuntime(input.shape)}`);
      return d / counts[i]!;
    });
    const spread = p.reshape(
      input,
      one.flatMap((d, i) => [counts[i]!, d]),
    );
    return {
      output: p.reduce(
        'sum',
        spread,
        one.map((_, i) => 2 * i),
      ),
    };
  },
  cases: () => [
    { shape: '[4, ?], [2] -> [2, ?]', given: { multiples: { dtype: 'int32', value: [2, 1] } } },
    {
      given: { input: [1, 2, 3, 4], multiples: { dtype: 'int32', value: [2] } },
      expect: { output: [4, 6] },
      differentiable: false,
    },
  ],
});

/**
 * The tensor repeated `multiples[i]` times along axis i. Adds one `Tile` node.
 *
 * @example tf.tile(tf.constant([1, 2]), [2]) // runs to [1 2 1 2]
 */
export function tile(input: TensorLike, multiples: TensorLike, options: Named = {}): Tensor {
  return Tile.build({ input, multiples }, options).output;
}
