/** @file tf.nn.staticStateSavingRnn: two runs with a saved state are one run over both halves. */
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import { data } from './contribCases.ts';

/** States kept in variables, of which each run starts where the one before ended. */
class InVariables {
  private readonly kept = new Map<string, tf.Variable>();
  constructor(
    names: readonly string[],
    private readonly shape: readonly number[],
  ) {
    for (const name of names)
      this.kept.set(name, tf.getVariable(name, this.shape, { initializer: tf.zerosInitializer(), trainable: false }));
  }
  state(name: string): tf.Tensor {
    return this.kept.get(name)!.readValue();
  }
  saveState(name: string, value: tf.Tensor): tf.Operation | tf.Tensor {
    return tf.convertToTensor(this.kept.get(name)!.assign(value));
  }
}

const steps = (from: number, to: number) => {
  const all = tf.unstack(data(3, 2, 6, 3), { axis: 1 });
  return all.slice(from, to);
};

describe('tf.nn.staticStateSavingRnn', () => {
  it('goes on from the saved state', () =>
    new tf.Graph().asDefault(async () => {
      const cell = new tf.nn.rnnCell.BasicLSTMCell(4, { name: 'lstm' });
      const [whole, wanted] = tf.nn.staticRnn(cell, steps(0, 6), { dtype: tf.float32 });
      const saver = new InVariables(['c', 'h'], [2, 4]);
      const part = tf.placeholder(tf.float32, [3, 2, 3]);
      const names = { c: 'c', h: 'h' };
      const [outputs, state] = tf.nn.staticStateSavingRnn(cell, tf.unstack(part), saver, names);
      const sess = new tf.Session();
      await sess.run(tf.globalVariablesInitializer());
      const halves = await sess.run([tf.stack(steps(0, 3)), tf.stack(steps(3, 6))]);
      const all = await sess.run([tf.stack(whole), wanted.c, wanted.h]);
      const found: number[] = [];
      // The last output alone must save the state too.
      for (const half of halves) {
        const run = await sess.run([outputs.at(-1)!, tf.stack(outputs), state.c, state.h], [[part, half]]);
        found.push(...run[1]!.numbers().map(Number));
        if (half === halves[1]) expect(run[2]!.numbers()).toEqual(all[1]!.numbers());
        if (half === halves[1]) expect(run[3]!.numbers()).toEqual(all[2]!.numbers());
      }
      expect(found).toEqual(all[0]!.numbers().map(Number));
    }));

  it('saves although only the last output is asked for', () =>
    new tf.Graph().asDefault(async () => {
      const cell = new tf.nn.rnnCell.BasicRNNCell(4, { name: 'basic' });
      const saver = new InVariables(['s'], [2, 4]);
      const [outputs] = tf.nn.staticStateSavingRnn(cell, steps(0, 2), saver, 's', { sequenceLength: [2, 1] });
      const sess = new tf.Session();
      await sess.run(tf.globalVariablesInitializer());
      const last = await sess.run(outputs.at(-1)!);
      const kept = await sess.run(saver.state('s'));
      // The first example has a state after its second step, which is also its output; the second is over after one.
      expect(kept.numbers().slice(0, 4)).toEqual(last.numbers().slice(0, 4));
      expect(last.numbers().slice(4)).toEqual([0, 0, 0, 0]);
      expect(kept.numbers().slice(4)).not.toEqual([0, 0, 0, 0]);
    }));

  it('says when the names do not fit the state', () =>
    new tf.Graph().asDefault(() => {
      const saver = new InVariables(['s'], [2, 4]);
      const [lstm, basic] = [new tf.nn.rnnCell.BasicLSTMCell(4), new tf.nn.rnnCell.BasicRNNCell(4)];
      const run = (cell: unknown, names: unknown) =>
        tf.nn.staticStateSavingRnn(cell as never, steps(0, 2), saver, names as never);
      expect(() => run(lstm, 's')).toThrow(/same type as cell.stateSize/);
      expect(() => run(basic, ['s'])).toThrow(/same type as cell.stateSize/);
      expect(() => run(lstm, { c: 'c' })).toThrow(/1 vs. 2/);
    }));
});
