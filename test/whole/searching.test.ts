/** @file Searching in many entries takes steps by their logarithm. */
import { expect, test } from 'vitest';
import * as tf from '../../src/api/index.ts';

const count = 1_000_000;

test('a million values are found among a million entries', async () => {
  const graph = new tf.Graph();
  const found = graph.asDefault(() => {
    const sorted = tf.placeholder(tf.float32, [count], { name: 'sorted' });
    const before = tf.searchsorted(sorted, tf.reverse(sorted, [0]));
    const behind = tf.searchsorted(sorted, sorted, { side: 'right', outType: tf.int64 });
    const isRight = [
      tf.equal(before, tf.range(count - 1, -1, -1)),
      tf.equal(behind, tf.range(1, count + 1, { dtype: tf.int64 })),
    ];
    return isRight.map((x) => tf.reduceAll(x));
  });
  using sess = new tf.Session({ graph });
  const sorted = Float32Array.from({ length: count }, (_, i) => i);
  // Each compared with all, it would be minutes.
  const results = await sess.run(found, new Map([['sorted:0', new tf.NDArray(tf.float32, [count], sorted)]]));
  expect(results.map((x) => x.item())).toEqual([true, true]);
});
