/** @file Which of several mistakes of one run is reported, and what has happened by then: as TensorFlow does, what comes first in the graph. */
import * as tf from 'tensorloom';
import { beforeEach, describe, expect, it } from 'vitest';

beforeEach(() => tf.resetDefaultGraph());

describe('a node that cannot run with the shapes at hand', () => {
  it('speaks after an assertion in front of it', async () => {
    const x = tf.placeholder(tf.float32, [null]);
    const n = tf.placeholder(tf.int32, [2]);
    const check = tf.Assert(tf.equal(tf.reduceProd(n), tf.size(x)), ['sizes', n]);
    const y = tf.controlDependencies([check!], () => tf.reshape(x, n));
    const sess = new tf.Session();
    const run = (data: number[]) => sess.run(y, [[x, data], [n, [2, 2]]]); // biome-ignore format: pairs
    await expect(run([1, 2, 3])).rejects.toThrow(/assertion failed: \[sizes\] \[2 2\]/);
    expect((await run([1, 2, 3, 4])).toArray()).toEqual([[1, 2], [3, 4]]); // biome-ignore format: rows
    await expect(run([1, 2, 3])).rejects.toThrow(/assertion failed/);
    await sess.close();
  });

  it('speaks after an assertion in a function that is called before it', async () => {
    const x = tf.placeholder(tf.float32, [null]);
    const size = tf.placeholder(tf.int32, []);
    const y = tf.cond(
      tf.greater(size, 0),
      () =>
        tf.controlDependencies([tf.assertEqual(tf.size(x), size, { message: 'as many as said' })!], () =>
          tf.slice(x, [0], tf.reshape(size, [1])),
        ),
      () => x,
    );
    const sess = new tf.Session();
    await expect(sess.run(y, [[x, [1, 2]], [size, 3]])).rejects.toThrow(/as many as said/); // biome-ignore format: pairs
    await sess.close();
  });

  it('lets an assignment happen that it waits for', async () => {
    const x = tf.placeholder(tf.float32, [null]);
    const v = tf.getVariable('v', [], { initializer: tf.zerosInitializer() });
    const y = tf.controlDependencies([v.assignAdd(1)], () => tf.reshape(x, [2, 2]));
    const sess = new tf.Session();
    await sess.run(v.initializer);
    await expect(sess.run(y, [[x, [1, 2, 3]]])).rejects.toThrow(/3 values/);
    expect(Number(await sess.run(v))).toBe(1);
    await sess.close();
  });

  it('is tried anew the next time: what was missing may be there', async () => {
    const x = tf.placeholder(tf.float32, [null]);
    const v = tf.getVariable('v', [], { initializer: tf.onesInitializer() });
    const w = tf.getVariable('w', [], { initializer: tf.onesInitializer() });
    const y = tf.controlDependencies([v.assignAdd(tf.reduceSum(x))], () => w.add(1));
    const sess = new tf.Session();
    await sess.run(v.initializer);
    await expect(sess.run(y, [[x, [1, 2]]])).rejects.toThrow(tf.errors.FailedPreconditionError);
    await sess.run(w.initializer);
    expect(Number(await sess.run(y, [[x, [1, 2]]]))).toBe(2);
    await sess.close();
  });
});
