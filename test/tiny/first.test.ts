import * as tf from 'tensorloom';
import { expect, it } from 'vitest';
import { MatMul } from '../../src/ops/math/matmul.ts';

it('multiplies', async () => {
  const a = tf.placeholder(tf.float32, [null, 2], { name: 'a' });
  const y = tf.identity(
    MatMul.build({
      a,
      b: [
        [1, 2],
        [3, 4],
      ],
    }).product,
  );
  const sess = new tf.Session();
  const out = await sess.run(y, [[a, [[1, 1]]]]);
  expect(out.toArray()).toEqual([[4, 6]]);
  expect(
    (
      await sess.run(y, [
        [
          a,
          [
            [1, 1],
            [2, 2],
          ],
        ],
      ])
    ).toArray(),
  ).toEqual([
    [4, 6],
    [8, 12],
  ]);
  const t0 = performance.now();
  for (let i = 0; i < 10000; i++) await sess.run(y, [[a, [[1, 1]]]]);
  console.log((performance.now() - t0) / 10, 'us');
  await expect(sess.run(y)).rejects.toThrow(/You must feed/);
});
