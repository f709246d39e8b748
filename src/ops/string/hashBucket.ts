/** @file Strings to numbers of buckets, by hashes that never change. */
import { int64 } from '../../core/dtypes.ts';
import { NDArray } from '../../core/ndarray.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { fingerprint64 } from './farmHash.ts';

const int64Values = (value: number[] | number[][]) => ({ dtype: 'int64', value }) as const;

export const StringToHashBucketFast = defineOp({
  name: 'StringToHashBucketFast',
  inputs: { input: 'string' },
  outputs: { output: 'int64' },
  attrs: { num_buckets: attr('int', { minimum: 1 }) },
  shape: ({ input }) => ({ output: input }),
  grad: notDifferentiable,
  lower: (p, { input }, { num_buckets }) => ({
    output: p.host([input], [{ dtype: int64, shape: input.shape }], ([texts]) => {
      const buckets = texts!.objects.map((text) => fingerprint64(text as Uint8Array) % BigInt(num_buckets)); // strings are bytes
      return [new NDArray(int64, texts!.shape, BigInt64Array.from(buckets))];
    })[0]!,
  }),
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

/**
 * The bucket of each string, by a fast hash that is the same everywhere and always. Adds one `StringToHashBucketFast` node.
 *
 * @example tf.stringToHashBucketFast(['a', 'b', 'c'], 10) // runs to [9 2 2]
 */
export function stringToHashBucketFast(input: TensorLike, numBuckets: number, options: { name?: string } = {}): Tensor {
  const { name } = onlyOptions('tf.stringToHashBucketFast', options, 'name');
  return StringToHashBucketFast.build({ input }, { name, attrs: { num_buckets: numBuckets } }).output;
}
