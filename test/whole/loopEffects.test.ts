/** @file Assignments in the bodies of loops, and what TensorFlow 1.x programs write around cells; values from TensorFlow with parallel_iterations=1. */
import * as tf from 'tensorloom';
import { beforeEach, describe, expect, it } from 'vitest';

beforeEach(() => tf.resetDefaultGraph());

const zero = () => tf.constant(0, { dtype: tf.float32 });

/** What a loop of three steps gives, what it leaves in the variable, and what it gives the second time. */
async function twice(build: (v: tf.Variable) => tf.Tensor): Promise<number[]> {
  const v = tf.getVariable('v', [], { initializer: tf.zerosInitializer() });
  const y = build(v);
  const sess = new tf.Session();
  await sess.run(v.initializer);
  const results = [Number(await sess.run(y)), Number(await sess.run(v)), Number(await sess.run(y))];
  await sess.close();
  return results;
}

const thrice = (step: (i: tf.Tensor, s: tf.Tensor) => tf.TensorLike) =>
  tf.whileLoop(
    (i) => tf.less(i, 3),
    (i, s) => [i.add(1), tf.convertToTensor(step(i, s))],
    [tf.constant(0), zero()],
  )[1];

describe('a loop that assigns', () => {
  it('adds what every step left', async () => {
    expect(await twice((v) => thrice((_, s) => s.add(v.assignAdd(1))))).toEqual([6, 3, 15]);
  });
  it('hands on what was assigned', async () => {
    expect(await twice((v) => thrice((_, s) => v.assign(s.add(2))))).toEqual([6, 6, 6]);
  });
  it('gives the last value, though no step needs the one before', async () => {
    expect(await twice((v) => thrice(() => tf.multiply(tf.assignAdd(v, 2), 1)))).toEqual([6, 6, 12]);
  });
  it('does not assign what nobody asks for', async () => {
    expect(
      await twice((v) =>
        thrice((_, s) => {
          v.assignAdd(1);
          return s.add(v.readValue());
        }),
      ),
    ).toEqual([0, 0, 0]);
  });
  it('assigns in the branch that is taken', async () => {
    const taken = (v: tf.Variable) => (i: tf.Tensor, s: tf.Tensor) =>
      s.add(tf.cond(tf.greater(i, 0), () => tf.multiply(v.assignAdd(1), 1), zero));
    expect(await twice((v) => thrice(taken(v)))).toEqual([3, 2, 7]);
  });
});

describe('cells as TensorFlow 1.x programs make them', () => {
  it('take stateIsTuple, and say what to do instead of false', () => {
    const { LSTMCell, BasicLSTMCell, MultiRNNCell } = tf.contrib.rnn;
    const cells = [new LSTMCell(3, { stateIsTuple: true }), new BasicLSTMCell(2, { stateIsTuple: true })];
    expect(new MultiRNNCell(cells, { stateIsTuple: true }).outputSize).toBe(2);
    expect(() => new LSTMCell(3, { stateIsTuple: false })).toThrow(/tf\.concat\(\[state\.c, state\.h\], 1\)/);
    expect(() => new MultiRNNCell(cells, { stateIsTuple: false })).toThrow(/stateIsTuple: false/);
  });

  it("rawRnn takes Python's tuple", async () => {
    const inputs = tf.constant([[[1, 2]], [[3, 4]], [[5, 6]]], { dtype: tf.float32 });
    const cell = new tf.nn.rnnCell.BasicRNNCell(2, { activation: tf.identity });
    const [outputs, , count] = tf.nn.rawRnn<tf.Tensor, tf.Tensor>(cell, (time, output, state, seen) => {
      const finished = tf.greaterEqual(time, tf.constant([3]));
      const input = tf.cond(
        tf.reduceAll(finished),
        () => tf.zeros([1, 2]),
        () => tf.gather(inputs, time),
      );
      input.setShape([1, 2]);
      const next = state ?? cell.zeroState(1, tf.float32);
      return [finished, input, next, output === undefined ? null : output.mul(2), seen ? seen.add(1) : tf.constant(0)];
    });
    const [kernel] = tf.trainableVariables();
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    // Inputs pass as they are, and states are left out.
    await sess.run(kernel!.assign([[1, 0], [0, 1], [0, 0], [0, 0]]).op); // biome-ignore format: rows
    const [emitted, steps] = await sess.run([outputs.stack(), count!]);
    await sess.close();
    expect(emitted.toArray()).toEqual([[[2, 4]], [[6, 8]], [[10, 12]]]);
    expect(Number(steps)).toBe(3);
  });
});
