import * as tf from 'tensorloom';
import { beforeEach, expect, it } from 'vitest';

beforeEach(() => tf.resetDefaultGraph());

it('runs a product for every batch size', async () => {
  const x = tf.placeholder(tf.float32, [null, 2], { name: 'x' });
  const y = tf.matmul(x, [
    [1, 2],
    [3, 4],
  ]);
  const sess = new tf.Session();
  expect((await sess.run(y, [[x, [[1, 1]]]])).toArray()).toEqual([[4, 6]]);
  const twice = [
    [1, 1],
    [2, 2],
  ];
  expect((await sess.run(y, [[x, twice]])).toArray()).toEqual([
    [4, 6],
    [8, 12],
  ]);
  await expect(sess.run(y)).rejects.toThrow(/You must feed a value for placeholder tensor 'x'/);
});

it('differentiates twice', async () => {
  const x = tf.constant(3.5);
  const [first] = tf.gradients(x.mul(x).mul(x), [x]);
  const [second] = tf.gradients(first!, [x]);
  const values = await new tf.Session().run([first, second]);
  expect(values.map(Number)).toEqual([36.75, 21]);
});

it('trains a step', async () => {
  const w = new tf.Variable([1.5, -2]);
  const loss = tf.reduceSum(tf.square(w));
  const step = new tf.train.GradientDescentOptimizer(0.25).minimize(loss);
  const sess = new tf.Session();
  await sess.run(tf.globalVariablesInitializer());
  await sess.run(step);
  expect((await sess.run(w)).toArray()).toEqual([0.75, -1]);
});
