/** @file The smallest things that must work, in the time a commit hook may take. */
import * as tf from 'tensorloom';
import { beforeEach, expect, it } from 'vitest';

beforeEach(() => tf.resetDefaultGraph());

it('gives back a constant', async () => {
  expect((await new tf.Session().run(tf.constant([1.5, 2]))).toArray()).toEqual([1.5, 2]);
});

it('multiplies matrices of any batch size', async () => {
  const x = tf.placeholder(tf.float32, [null, 2]);
  const y = tf.matmul(x, [
    [1, 2],
    [3, 4],
  ]);
  const sess = new tf.Session();
  expect((await sess.run(y, [[x, [[1, 1]]]])).toArray()).toEqual([[4, 6]]);
  expect(
    (
      await sess.run(y, [
        [
          x,
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
});

it('differentiates twice', async () => {
  const x = tf.placeholder(tf.float32, []);
  const [first] = tf.gradients(x.pow(3), [x]);
  const [second] = tf.gradients(first!, [x]);
  const [d1, d2] = await new tf.Session().run([first!, second!], [[x, 2]]);
  expect([Number(d1), Number(d2)]).toEqual([12, 12]);
});

it('trains', async () => {
  const w = new tf.Variable(0.5);
  const loss = tf.square(w.sub(3));
  const step = new tf.train.GradientDescentOptimizer(0.25).minimize(loss);
  const sess = new tf.Session();
  await sess.run(tf.globalVariablesInitializer());
  await sess.run(step);
  expect(Number(await sess.run(w))).toBe(1.75);
});
