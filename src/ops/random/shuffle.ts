/** @file RandomShuffle and `randomCrop`: rows in a random order, and a random part of a tensor. */
import * as d from '../../core/dtypes.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { NDArray } from '../../core/ndarray.ts';
import { sizeOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { shape } from '../array/shape.ts';
import { slice } from '../array/slice.ts';
import { assert } from '../flow/assert.ts';
import { withDependencies } from '../flow/group.ts';
import { greaterEqual } from '../math/compare.ts';
import { minus, modulo, plus } from '../math/operators.ts';
import { reduceAll } from '../math/reductions.ts';
import { randomUniform, seedAttrs } from './distributions.ts';
import { getSeed, initialState } from './seed.ts';
import { draw, keyOneTwo, stateFromKey } from './stateless.ts';

/** The order in which Fisher and Yates's method leaves 0 … n-1, given n-1 random words. */
async function permutation({ data, size }: NDArray): Promise<NDArray> {
  const words = data as Uint32Array; // as they were drawn
  const order = new Int32Array(size + 1);
  const place = (i: number) => {
    order[i] = i;
  };
  await eachInTurns(order.length, place, 4096);
  const swap = (i: number) => {
    const j = i + (words[i]! % (order.length - i));
    const moved = order[i]!;
    order[i] = order[j]!;
    order[j] = moved;
  };
  await eachInTurns(size, swap, 4096);
  return new NDArray(d.int32, [order.length], order);
}

/** The rows in the order that random words, one fewer than rows, give them. */
function shuffled(p: ProgramBuilder, value: Value, words: Value): Value {
  const rows = value.shape[0]!;
  const [order] = p.host([words], [{ dtype: d.int32, shape: [rows] }], async ([w]) => [await permutation(w!)]);
  const inner = sizeOf(value.shape.slice(1));
  const moved = p.gather(p.reshape(value, [1, 1, rows, inner]), p.reshape(order!, [1, rows, 1]));
  return p.reshape(moved, value.shape);
}

export const RandomShuffle = defineOp({
  name: 'RandomShuffle',
  inputs: { value: 'T' },
  outputs: { output: 'T' },
  attrs: { seed: seedAttrs.seed, seed2: seedAttrs.seed2, T: anyType },
  stateful: true,
  effects: 'draws',
  shape: ({ value }) => ({ output: value }),
  grad: { pending: 'TensorFlow has none either; shuffle indices and use tf.gather' },
  lower(p, { value }, seeds) {
    const rows = value.shape[0] ?? 1;
    if (rows <= 1) return { output: value };
    const words = p.random('bits', d.uint32, [rows - 1], {
      state: () => initialState(seeds),
      reserve: Math.ceil((rows - 1) / 4),
    });
    return { output: shuffled(p, value, words) };
  },
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { shape: '? -> ?' },
    {
      given: { value: { dtype: 'int32', value: [0, 1, 2, 3, 4, 5, 6, 7] } },
      attrs: { seed: 1, seed2: 2 },
      expect: { output: { dtype: 'int32', value: [7, 4, 2, 0, 3, 6, 1, 5] } },
    },
    {
      given: {
        value: [
          [1, 2],
          [3, 4],
          [5, 6],
        ],
      },
      attrs: { seed: 1, seed2: 2 },
      expect: {
        output: [
          [5, 6],
          [1, 2],
          [3, 4],
        ],
      },
    },
    { given: { value: ['a'] }, expect: { output: ['a'] } },
  ],
});

export const StatelessShuffle = defineOp({
  name: 'StatelessShuffle',
  inputs: { value: 'T', key: 'uint64', counter: 'uint64', alg: 'int32' },
  outputs: { output: 'T' },
  attrs: { T: anyType },
  hostInputs: ['alg'],
  shape: ({ value }) => ({ output: value }),
  grad: { pending: 'TensorFlow has none either; shuffle indices and use tf.gather' },
  lower(p, { value, key, counter, alg }) {
    const state = stateFromKey(p, key, counter, alg);
    const rows = value.shape[0] ?? 1;
    if (rows <= 1) return { output: value };
    return { output: shuffled(p, value, draw(p, state, 'bits', d.uint32, [rows - 1])) };
  },
  cases: () => [
    { shape: '[2, ?], [1], [2], [] -> [2, ?]' },
    { shape: '?, [1], [2], [] -> ?' },
    {
      given: { value: { dtype: 'int32', value: [0, 1, 2, 3, 4, 5, 6, 7] }, ...keyOneTwo },
      expect: { output: { dtype: 'int32', value: [4, 2, 1, 7, 3, 6, 0, 5] } },
    },
    {
      given: {
        value: [
          [0, 1],
          [2, 3],
          [4, 5],
        ],
        ...keyOneTwo,
      },
      expect: {
        output: [
          [2, 3],
          [4, 5],
          [0, 1],
        ],
      },
    },
    { given: { value: ['a'], ...keyOneTwo }, expect: { output: ['a'] } },
  ],
});

/**
 * The rows of a tensor in a random order. Adds one `RandomShuffle` node.
 *
 * @example tf.randomShuffle(tf.range(5), { seed: 1 })
 */
export function randomShuffle(value: TensorLike, options: { seed?: number | null; name?: string } = {}): Tensor {
  onlyOptions('tf.randomShuffle', options, 'seed', 'name');
  return RandomShuffle.build({ value }, { name: options.name, attrs: getSeed(options.seed) }).output;
}

/**
 * A part of the given size, from a random place. Adds nodes under `random_crop/`.
 *
 * @example tf.randomCrop(image, [24, 24, 3])
 */
export function randomCrop(
  value: TensorLike,
  size: TensorLike,
  options: { seed?: number | null; name?: string } = {},
): Tensor {
  onlyOptions('tf.randomCrop', options, 'seed', 'name');
  return nameScope(options.name ?? 'random_crop', (name) => {
    const x = convertToTensor(value, { name: 'value' });
    const part = convertToTensor(size, { dtype: d.int32, name: 'size' });
    const whole = shape(x);
    const check = assert(reduceAll(greaterEqual(whole, part)), ['Need value.shape >= size, got ', whole, part], {
      summarize: 1000,
    });
    const checked = withDependencies([check], whole);
    const limit = plus(minus(checked, part), 1);
    const offset = randomUniform(shape(checked), { dtype: part.dtype, maxval: part.dtype.max, seed: options.seed });
    return slice(x, modulo(offset, limit), part, { name });
  });
}
