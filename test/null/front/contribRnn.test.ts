/** @file Cells, wrappers and stacks of tf.contrib.rnn against TensorFlow 1.15's own code. */
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import { compareAll, data, gradients } from './contribCases.ts';

const { rnn } = tf.contrib;
const gru = (units: number) => new tf.nn.rnnCell.GRUCell(units);
const cases: Record<string, () => tf.Tensor[]> = {};

function along<S>(cell: tf.nn.rnnCell.RNNCell<S>): tf.Tensor[] {
  const given = { dtype: tf.float32, sequenceLength: [5, 3] };
  const [outputs, state] = tf.nn.dynamicRnn(cell, data(3, 2, 5, 3), given);
  return [outputs, ...(tf.nest.flatten(state) as tf.Tensor[]), ...gradients(outputs)]; // states consist of tensors
}
Object.assign(cases, {
  LayerNormBasicLSTMCell: () =>
    along(new rnn.LayerNormBasicLSTMCell(4, { forgetBias: 0.5, normGain: 0.8, normShift: 0.1 })),
  LayerNormBasicLSTMCellPlain: () =>
    along(new rnn.LayerNormBasicLSTMCell(4, { layerNorm: false, activation: tf.nn.relu })),
  UGRNNCell: () => along(new rnn.UGRNNCell(4, { forgetBias: 0.5 })),
  InputProjectionWrapper: () => along(new rnn.InputProjectionWrapper(gru(4), 2, { activation: tf.tanh })),
  OutputProjectionWrapper: () => along(new rnn.OutputProjectionWrapper(gru(4), 2)),
  HighwayWrapper: () => along(new rnn.HighwayWrapper(gru(3), { carryBiasInit: 0.5 })),
  HighwayWrapperApart: () => along(new rnn.HighwayWrapper(gru(3), { coupleCarryTransformGates: false })),
  stackBidirectionalRnn: () => {
    const [outputs, fw, bw] = rnn.stackBidirectionalRnn(
      [gru(3), gru(2)],
      [gru(2), gru(2)],
      tf.unstack(data(3, 2, 4, 3), { axis: 1 }),
      { initialStatesFw: [data(4, 2, 3), data(5, 2, 2)], dtype: tf.float32, sequenceLength: [4, 2] },
    );
    return [...outputs, ...fw, ...bw, ...gradients(tf.stack(outputs))];
  },
  stackBidirectionalDynamicRnn: () => {
    const given = { dtype: tf.float32, sequenceLength: [4, 2], timeMajor: true };
    const cells = [[gru(3), gru(2)], [gru(2), gru(2)]] as const; // biome-ignore format: both directions
    const [outputs, fw, bw] = rnn.stackBidirectionalDynamicRnn(...cells, data(3, 4, 2, 3), given);
    return [outputs, ...fw, ...bw, ...gradients(outputs)];
  },
} satisfies typeof cases);

compareAll('contribRnn.json', cases);

describe('tf.contrib.rnn', () => {
  it('keeps count of variables, and says what does not fit', () =>
    new tf.Graph().asDefault(() => {
      const wrapper = new rnn.InputProjectionWrapper(gru(4), 2);
      wrapper.apply(tf.zeros([2, 3]), wrapper.zeroState(2, tf.float32));
      expect(wrapper.variables).toHaveLength(6);
      expect(wrapper.variables.map((v) => v.name)).toContain('input_projection_wrapper/kernel:0');
      expect(() => new rnn.OutputProjectionWrapper(gru(4), 0)).toThrow(/must be > 0: 0/);
      const highway = new rnn.HighwayWrapper(gru(4));
      expect(() => highway.apply(tf.zeros([2, 3]), highway.zeroState(2, tf.float32))).toThrow(/these are 3 and 4/);
      const x = tf.zeros([2, 3, 3]);
      const stack = (fw: number, bw: number, more = {}) =>
        rnn.stackBidirectionalDynamicRnn(new Array(fw).fill(gru(2)), new Array(bw).fill(gru(2)), x, more);
      expect(() => stack(0, 0)).toThrow(/at least one fw cell/);
      expect(() => stack(1, 2)).toThrow(/same depth/);
      expect(() => stack(1, 1, { initialStatesBw: [] })).toThrow(/initialStatesBw must be a list/);
    }));

  it('lets a DropoutWrapper look into the state of attention', () =>
    new tf.Graph().asDefault(async () => {
      const attention = new tf.contrib.seq2seq.LuongAttention(4, data(5, 2, 5, 3));
      const wrapped = new tf.contrib.seq2seq.AttentionWrapper(gru(4), attention, { alignmentHistory: true });
      const cell = new tf.nn.rnnCell.DropoutWrapper(wrapped, {
        stateKeepProb: 0.5,
        dropoutStateFilter: (part) => part === 'cellState' || part === 'alignmentHistory',
      });
      const [, state] = cell.apply(data(8, 2, 3), cell.zeroState(2, tf.float32));
      expect(state).toBeInstanceOf(tf.contrib.seq2seq.AttentionWrapperState);
      const sess = new tf.Session();
      await sess.run(tf.globalVariablesInitializer());
      const [kept, all] = await sess.run([state.alignments, state.alignmentHistory.stack()]);
      expect(all!.numbers()).toEqual(kept!.numbers());
    }));
});
