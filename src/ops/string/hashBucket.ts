/** @file Strings to numbers of buckets, by hashes that never change. */
import { int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { NDArray } from '../../core/ndarray.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { type HashKind, hashBucketsBeside } from '../../io/nativeHashes.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { fingerprint64 } from './farmHash.ts';
import { murmurHash64 } from './murmurHash.ts';
import { sipHash64 } from './sipHash.ts';
import { bytesOf } from './text.ts';

type Key = readonly [bigint, bigint];
const hashes: Readonly<Record<HashKind, (text: Uint8Array, key: Key) => bigint>> = {
  farm: fingerprint64,
  murmur: murmurHash64,
  sip: sipHash64,
};

/** The rest of each string's hash, divided by the number of buckets. */
function buckets(p: ProgramBuilder, texts: Value, count: number, kind: HashKind, key: Key = [0n, 0n]): Value {
  const { shape } = texts;
  return p.host([texts], [{ dtype: int64, shape }], async ([given]) => {
    const strings = bytesOf(given!);
    const beside = await hashBucketsBeside(strings, kind, count, key);
    if (beside) return [new NDArray(int64, shape, beside)];
    const found = new BigInt64Array(strings.length);
    const one = (i: number) => {
      found[i] = hashes[kind](strings[i]!, key) % BigInt(count);
    };
    await eachInTurns(strings.length, one, 64);
    return [new NDArray(int64, shape, found)];
  })[0]!;
}

const int64Values = (value: number[] | number[][]) => ({ dtype: 'int64', value }) as const;

export const StringToHashBucketFast = defineOp({
  name: 'StringToHashBucketFast',
  inputs: { input: 'string' },
  outputs: { output: 'int64' },
  attrs: { num_buckets: attr('int', { minimum: 1 }) },
  shape: ({ input }) => ({ output: input }),
  grad: notDifferentiable,
  lower: (p, { input }, { num_buckets }) => ({ output: buckets(p, input, num_buckets, 'farm') }),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]', attrs: { num_buckets: 3 } },
    { given: { input: ['a', 'b', 'c'] }, attrs: { num_buckets: 10 }, expect: { output: int64Values([9, 2, 2]) } },
    { given: { input: [['a'], ['b']] }, attrs: { num_buckets: 100 }, expect: { output: int64Values([[39], [22]]) } },
    // One of every length that is hashed in its own way.
    {
      given: { input: ['', 'abc', 'hello', 'abcdefgh', 'x'.repeat(32), 'y'.repeat(33), 'z'.repeat(64)] },
      attrs: { num_buckets: 1_000_003 },
      expect: { output: int64Values([377723, 152962, 497363, 229479, 750362, 904239, 375874]) },
    },
    {
      given: { input: ['0123456789'.repeat(7), 'größer'.repeat(30)] },
      attrs: { num_buckets: 1_000_003 },
      expect: { output: int64Values([263529, 371937]) },
    },
  ],
});

const samples = ['', 'a', 'b', 'hello', 'abcdefgh', 'x'.repeat(32), 'größer'.repeat(30)];

export const StringToHashBucket = defineOp({
  name: 'StringToHashBucket',
  inputs: { string_tensor: 'string' },
  outputs: { output: 'int64' },
  attrs: { num_buckets: attr('int', { minimum: 1 }) },
  shape: ({ string_tensor }) => ({ output: string_tensor }),
  grad: notDifferentiable,
  lower: (p, { string_tensor }, { num_buckets }) => ({
    output: buckets(p, string_tensor, num_buckets, 'murmur'),
  }),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]', attrs: { num_buckets: 3 } },
    {
      given: { string_tensor: samples },
      attrs: { num_buckets: 1_000_003 },
      expect: { output: int64Values([598820, 789371, 696260, 546981, 41559, 763069, 130947]) },
    },
  ],
});

export const StringToHashBucketStrong = defineOp({
  name: 'StringToHashBucketStrong',
  inputs: { input: 'string' },
  outputs: { output: 'int64' },
  attrs: { num_buckets: attr('int', { minimum: 1 }), key: attr('list(int)') },
  shape: ({ input }) => ({ output: input }),
  grad: notDifferentiable,
  lower(p, { input }, { num_buckets, key }) {
    const [first, second] = key;
    if (key.length !== 2 || first === undefined || second === undefined)
      throw new InvalidArgumentError('Key must have 2 elements');
    const both = [BigInt.asIntN(64, BigInt(first)), BigInt.asIntN(64, BigInt(second))] as const;
    return { output: buckets(p, input, num_buckets, 'sip', both) };
  },
  cases: () => [
    { shape: '[2, ?] -> [2, ?]', attrs: { num_buckets: 3, key: [1, 2] } },
    {
      given: { input: samples },
      attrs: { num_buckets: 1_000_003, key: [98765, 132] },
      expect: { output: int64Values([575476, 455571, 385082, 23796, 454327, 82874, 694227]) },
    },
    {
      given: { input: samples },
      attrs: { num_buckets: 10, key: [-1, 2 ** 52] },
      expect: { output: int64Values([9, 8, 2, 2, 2, 3, 8]) },
    },
    { given: { input: ['a'] }, attrs: { num_buckets: 10, key: [1] }, fails: /Key must have 2 elements/ },
  ],
});

/**
 * The bucket of each string, by a fast hash that is the same everywhere and always. Adds one `StringToHashBucketFast` node.
 *
 * @example tf.stringToHashBucketFast(['a', 'b', 'c'], 10) // runs to [9 2 2]
 */
export function stringToHashBucketFast(input: TensorLike, numBuckets: number, options: { name?: string } = {}): Tensor {
  const { name } = onlyOptions('tf.stringToHashBucketFast', options, 'name');
  return StringToHashBucketFast.build({ input }, { name, attrs: { num_buckets: numBuckets } }).output;
}

/**
 * The bucket of each string, by the hash of TensorFlow's first versions. Adds one `StringToHashBucket` node.
 *
 * @example tf.stringToHashBucket(['a', 'b', 'hello'], 10) // runs to [8 0 8]
 */
export function stringToHashBucket(
  stringTensor: TensorLike,
  numBuckets: number,
  options: { name?: string } = {},
): Tensor {
  const { name } = onlyOptions('tf.stringToHashBucket', options, 'name');
  const attrs = { num_buckets: numBuckets };
  return StringToHashBucket.build({ string_tensor: stringTensor }, { name, attrs }).output;
}

/**
 * The bucket of each string, by a hash that nobody can make collide on purpose without knowing the key of two numbers. Adds one
 * `StringToHashBucketStrong` node.
 *
 * @example tf.stringToHashBucketStrong(['a', 'b', 'hello'], 10, [98765, 132]) // runs to [4 2 0]
 */
export function stringToHashBucketStrong(
  input: TensorLike,
  numBuckets: number,
  key: readonly number[],
  options: { name?: string } = {},
): Tensor {
  const { name } = onlyOptions('tf.stringToHashBucketStrong', options, 'name');
  return StringToHashBucketStrong.build({ input }, { name, attrs: { num_buckets: numBuckets, key } }).output;
}
