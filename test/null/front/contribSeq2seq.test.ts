/** @file Attention, helpers, losses and beam search, told more than usual, against TensorFlow 1.15's own code; and what they refuse. */
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import { compareAll, data, gradients } from './contribCases.ts';

const { seq2seq } = tf.contrib;
type Output = tf.contrib.seq2seq.BasicDecoderOutput;
const lengths = [5, 3];
const given = { memorySequenceLength: lengths };
const luong = () => new seq2seq.LuongAttention(4, data(5, 2, 5, 3), given);
const gru = () => new tf.nn.rnnCell.GRUCell(4);
const cases: Record<string, () => tf.Tensor[]> = {};

/** Attention that avoids what it has looked at: its state is the sum of all alignments so far, and how many they are. */
class Remembering extends seq2seq.AttentionMechanism<{ looks: tf.Tensor; count: tf.Tensor }> {
  private readonly own = luong();
  readonly values = this.own.values;
  readonly batchSize = this.own.batchSize;
  readonly alignmentsSize = this.own.alignmentsSize;

  override apply(query: tf.Tensor, { looks, count }: { looks: tf.Tensor; count: tf.Tensor }) {
    const alignments = tf.nn.softmax(tf.einsum('bd,btd->bt', query, this.own.keys).sub(looks));
    return [alignments, { looks: looks.add(alignments), count: count.add(1) }] as const;
  }
  override initialState(batchSize: number | tf.Tensor, dtype: tf.DType) {
    return { looks: this.initialAlignments(batchSize, dtype), count: tf.zeros([batchSize], { dtype }) };
  }
}

function decoded<S>(cell: tf.nn.rnnCell.RNNCell<S>, start: S, states: (state: S) => tf.Tensor[]): tf.Tensor[] {
  const helper = new seq2seq.TrainingHelper(data(8, 2, 4, 3), [4, 3], { name: 'mine' });
  const decoder = new seq2seq.BasicDecoder(cell, helper, start);
  const [{ rnnOutput, sampleId }, state, counts]: [Output, S, tf.Tensor] = seq2seq.dynamicDecode(decoder);
  return [rnnOutput, sampleId, counts, ...states(state), ...gradients(rnnOutput)];
}

cases['wrapper.attentionFn'] = () => {
  const cell = new seq2seq.AttentionWrapper(gru(), luong(), {
    attentionLayerSize: 3,
    name: 'attended',
    attentionFn: (mechanism, output, state, layer) => {
      const [alignments, following] = mechanism.apply(output, state);
      const context = tf.reduceSum(tf.expandDims(alignments, 2).mul(mechanism.values), 1);
      return [tf.tanh(layer!.apply(context)), alignments, following];
    },
  });
  return decoded(cell, cell.zeroState(2, tf.float32), (s) => [s.alignments, s.attentionState, s.time]);
};
cases['wrapper.ownState'] = () => {
  const cell = new seq2seq.AttentionWrapper(gru(), new Remembering(), { attentionLayerSize: 3 });
  const start = cell.zeroState(2, tf.float32);
  return decoded(cell, start, (s) => [s.alignments, s.attentionState.looks, s.attentionState.count]);
};
cases['wrapper.list'] = () => {
  const cell = new seq2seq.AttentionWrapper(gru(), [luong()], { attentionLayerSize: [3] });
  return decoded(cell, cell.zeroState(2, tf.float32), (s) => [...s.alignments, ...s.attentionState]);
};
cases['wrapper.initialCellState'] = () => {
  const cell = new seq2seq.AttentionWrapper(gru(), luong(), { initialCellState: data(3, 2, 4) });
  return decoded(cell, cell.zeroState(2, tf.float32), (s) => [s.cellState, s.attention]);
};
cases['wrapper.clone'] = () => {
  const lstm = new tf.nn.rnnCell.BasicLSTMCell(4);
  const cell = new seq2seq.AttentionWrapper(lstm, luong(), { outputAttention: false });
  const cellState = { c: data(3, 2, 4), h: data(4, 2, 4) };
  const start = cell.zeroState(2, tf.float32).clone({ cellState, attention: data(6, 2, 3) });
  return decoded(cell, start, (s) => [s.cellState.c, s.cellState.h, s.attention]);
};

function helped(helper: tf.contrib.seq2seq.Helper<tf.Tensor>): tf.Tensor[] {
  const cell = gru();
  const decoder = new seq2seq.BasicDecoder(
    cell,
    helper,
    cell.zeroState(2, tf.float32),
    new tf.layers.Dense(6, { name: 'out' }),
  );
  const [{ rnnOutput, sampleId }, state, counts] = seq2seq.dynamicDecode(decoder, { maximumIterations: 6 });
  expect(rnnOutput.shape).toEqual([2, null, 6]);
  expect(sampleId.shape).toEqual([2, null, ...helper.sampleIdsShape!]);
  expect(sampleId.dtype).toBe(helper.sampleIdsDtype);
  return [rnnOutput, sampleId, counts, state];
}
cases['helper.inferenceIds'] = () => {
  const table = data(4, 6, 3);
  const best = (y: tf.Tensor) => tf.cast(tf.argmax(y, -1), tf.int32);
  const isOver = (ids: tf.Tensor) => tf.equal(ids, 5);
  const nextInputsFn = (ids: tf.Tensor) => tf.gather(table, ids);
  return helped(new seq2seq.InferenceHelper(best, [], tf.int32, data(8, 2, 3), isOver, { nextInputsFn }));
};
cases['helper.custom'] = () =>
  helped(
    new seq2seq.CustomHelper<tf.Tensor>(
      () => ({ finished: tf.fill([2], false), inputs: data(8, 2, 3) }),
      (_time, outputs, state) => outputs.slice(':, :2').add(state.slice(':, :2')),
      (time, outputs, state, sampleIds) => ({
        finished: tf.fill([2], time.greaterEqual(3)),
        inputs: tf.concat([sampleIds, outputs.slice(':, :1')], 1),
        state: state.mul(0.5),
      }),
      { sampleIdsShape: [2], sampleIdsDtype: tf.float32 },
    ),
  );

const noAverage = { averageAcrossTimesteps: false, averageAcrossBatch: false };
const losses: tf.contrib.seq2seq.SequenceLossOptions[] = [
  {},
  { averageAcrossBatch: false },
  { averageAcrossTimesteps: false },
  noAverage,
  { ...noAverage, sumOverTimesteps: true, sumOverBatch: true },
  { ...noAverage, sumOverTimesteps: true },
  { ...noAverage, sumOverBatch: true },
  { averageAcrossTimesteps: false, sumOverTimesteps: true },
  { softmaxLossFunction: (labels, logits) => tf.reduceSum(logits, 1).mul(tf.cast(labels, tf.float32)) },
];
cases.sequenceLoss = () => {
  const logits = data(2, 3, 4, 5);
  const targets = tf.constant([[1, 0, 4, 2], [3, 3, 0, 1], [2, 1, 0, 4]], { dtype: tf.int32 }); // biome-ignore format: a matrix
  const weights = tf.constant([[1, 0.5, 0, 0], [1, 1, 2, 0], [0, 0, 0, 0]]); // biome-ignore format: a matrix
  return losses.map((options) => seq2seq.sequenceLoss(logits, targets, weights, options));
};

function searched<S>(cell: tf.nn.rnnCell.RNNCell<S>, steps: number, options: tf.contrib.seq2seq.BeamSearchOptions) {
  const search = { outputLayer: new tf.layers.Dense(6, { name: 'out' }), ...options };
  const table = data(4, 6, 3).mul(3);
  const decoder = new seq2seq.BeamSearchDecoder(cell, table, [0, 1], 5, cell.zeroState(6, tf.float32), 3, search);
  const [outputs, state, counts] = seq2seq.dynamicDecode(decoder, { maximumIterations: steps });
  const { scores, parentIds } = outputs.beamSearchDecoderOutput;
  expect(state.lengths.dtype).toBe(tf.int64);
  expect(scores.shape).toEqual([2, null, 3]);
  return { found: [outputs.predictedIds, scores, parentIds, state.logProbs, state.lengths, counts], state };
}
function attentive<G extends tf.contrib.seq2seq.Mechanisms>(
  given: (make: () => tf.contrib.seq2seq.AttentionMechanism) => G,
  attentionLayerSize: number | number[],
) {
  const memory = seq2seq.tileBatch(data(5, 2, 5, 3).mul(4), 3);
  const memorySequenceLength = seq2seq.tileBatch(tf.constant(lengths, { dtype: tf.int32 }), 3);
  const mechanism = given(() => new seq2seq.BahdanauAttention(4, memory, { memorySequenceLength }));
  return new seq2seq.AttentionWrapper(gru(), mechanism, { attentionLayerSize, alignmentHistory: true });
}
cases['beamSearch.oneStep'] = () => searched(gru(), 1, {}).found;
cases['beamSearch.noStep'] = () => searched(gru(), 0, {}).found.slice(4);
cases['beamSearch.reordered'] = () => {
  const one = attentive((make) => make(), 3);
  const { found, state } = searched(one, 6, { lengthPenaltyWeight: tf.constant(0.6) });
  return [...found, state.cellState.alignmentHistory as tf.Tensor]; // put in order
};
cases['beamSearch.asWritten'] = () => {
  const one = attentive((make) => make(), 3);
  const { found, state } = searched(one, 6, { lengthPenaltyWeight: 0.6, reorderTensorArrays: false });
  return [...found, (state.cellState.alignmentHistory as tf.TensorArray).stack()]; // as it was asked for
};
cases['beamSearch.coveredBySeveral'] = () => {
  const several = attentive((make) => [make(), make()] as const, [3, 3]);
  const { found, state } = searched(several, 6, { coveragePenaltyWeight: 0.4 });
  const { alignmentHistory } = state.cellState;
  return [...found, state.accumulatedAttentionProbs as tf.Tensor, ...(alignmentHistory as tf.Tensor[])]; // put in order
};

compareAll('contribSeq2seq.json', cases);

describe('What attention, helpers and beam search refuse', () => {
  const refused = (name: string, make: () => unknown, why: RegExp) =>
    it(name, () => new tf.Graph().asDefault(() => expect(make).toThrow(why)));
  const memory = () => tf.zeros([2, 5, 3]);
  const wrapper = (options = {}) => new seq2seq.AttentionWrapper(gru(), luong(), options);

  refused('a memory whose depth is unknown', () => {
    new seq2seq.LuongAttention(4, tf.placeholder(tf.float32, [null, null, null]));
  }, /fully defined inner dims/); // biome-ignore format: one line per part
  const ofNoRank = () => tf.placeholder(tf.float32);
  refused(
    'a memory of unknown rank',
    () => new seq2seq.LuongAttention(4, ofNoRank(), given),
    /fully defined inner dims/,
  );
  refused('inputs of unknown rank', () => new seq2seq.TrainingHelper(ofNoRank(), [3, 2]), /sequences.*use setShape/);
  refused('inputs that are no sequences', () => new seq2seq.TrainingHelper([1.5, 2], [3, 2]), /sequences.*\(2,\)/);
  const noLength = { memorySequenceLength: [5, 0] };
  refused('memories of length 0', () => new seq2seq.LuongAttention(4, memory(), noLength), /greater than zero/);
  refused(
    'a query of another width',
    () => luong().apply(tf.zeros([2, 3]), tf.zeros([2, 5])),
    /set numUnits to.* \(3\)/,
  );
  refused('a state of another batch', () => wrapper().zeroState(3, tf.float32), /Non-matching batch sizes/);
  refused('an initial state of another batch', () => wrapper({ initialCellState: tf.zeros([3, 4]) }), /Non-matching/);
  refused(
    'a clone of another shape',
    () => {
      wrapper()
        .zeroState(2, tf.float32)
        .clone({ cellState: tf.zeros([2, 5]) });
    },
    /expected to be same as the one to clone/,
  );
  refused(
    'a step of another batch',
    () => {
      const cell = wrapper();
      const { cellState, attention, ...rest } = cell.zeroState(2, tf.float32);
      const wider = { ...rest, cellState: tf.zeros([3, 4]), attention: tf.zeros([3, 3]) };
      cell.apply(tf.zeros([3, 2]), new seq2seq.AttentionWrapperState(wider));
    },
    /batch sizes between the memory \(encoder output\), 2, and the query \(decoder output\), 3/,
  );
  refused('a state of its own', () => wrapper().apply(tf.zeros([2, 3]), tf.zeros([2, 4]) as never), /zeroState gives/);
  refused('two layers for one mechanism', () => wrapper({ attentionLayerSize: [3, 4] }), /exactly one integer.*2 vs 1/);
  refused('lengths that are no vector', () => new seq2seq.TrainingHelper(memory(), 5), /sequenceLength to be a vector/);
  const table = () => tf.zeros([6, 3]);
  refused('start tokens that are no vector', () => new seq2seq.GreedyEmbeddingHelper(table(), 0, 5), /a vector/);
  refused('end tokens', () => new seq2seq.GreedyEmbeddingHelper(table(), [0], [5]), /endToken must be a scalar/);
  refused(
    'a matrix of probabilities',
    () => {
      new seq2seq.ScheduledOutputTrainingHelper(memory(), [5, 5], [[0.5]]);
    },
    /scalar or a vector/,
  );
  refused(
    'a beam without tiles',
    () => {
      const cell = gru();
      new seq2seq.BeamSearchDecoder(cell, table(), [0, 1], 5, cell.zeroState(2, tf.float32), 3);
    },
    /2 rows, but a state of 2 examples with 3 beams has 6.*tileBatch/,
  );
  const scores = () => tf.zeros([2, 3, 4]);
  refused('scores of rank 2', () => seq2seq.sequenceLoss(tf.zeros([2, 3]), [[0]], [[1]]), /Logits must be/);
  refused(
    'an average that is a sum',
    () => {
      seq2seq.sequenceLoss(scores(), tf.zeros([2, 3], { dtype: tf.int32 }), tf.ones([2, 3]), { sumOverBatch: true });
    },
    /averageAcrossBatch and sumOverBatch/,
  );
  refused(
    'the batch of a custom helper before it begins',
    () => {
      const helper = new seq2seq.CustomHelper(
        () => ({ finished: tf.fill([2], false), inputs: memory() }),
        memory,
        () => {
          throw new Error('no step');
        },
      );
      return helper.batchSize;
    },
    /before initialize/,
  );

  it('lengths of 0 and batches that do not fit, when it runs', () =>
    new tf.Graph().asDefault(async () => {
      const [fed, memory] = [tf.placeholder(tf.int32, [null]), tf.placeholder(tf.float32, [null, 5, 3])];
      const batch = tf.placeholder(tf.int32, []);
      const attention = new seq2seq.LuongAttention(4, memory, { memorySequenceLength: fed });
      const cell = new seq2seq.AttentionWrapper(gru(), attention);
      const { cellState } = cell.zeroState(batch, tf.float32);
      const sess = new tf.Session();
      await sess.run(tf.globalVariablesInitializer());
      const two = new Array(2).fill(new Array(5).fill([1, 2, 3]));
      const run = (lengths: number[], rows: number) =>
        sess.run(cellState, [
          [fed, lengths],
          [memory, two],
          [batch, rows],
        ]);
      expect((await run([5, 3], 2)).shape).toEqual([2, 4]);
      await expect(run([5, 3], 3)).rejects.toThrow(/Non-matching batch sizes/);
      await expect(run([5, 0], 2)).rejects.toThrow(/greater than zero/);
    }));

  it('a step of another batch, when it runs', () =>
    new tf.Graph().asDefault(async () => {
      const memory = tf.placeholder(tf.float32, [null, 5, 3]);
      const cell = new seq2seq.AttentionWrapper(gru(), new seq2seq.BahdanauAttention(4, memory));
      const [inputs, cellState] = [tf.placeholder(tf.float32, [null, 2]), tf.placeholder(tf.float32, [null, 4])];
      const attention = tf.zeros([tf.shape(inputs).slice('0'), 3]);
      const start = cell.zeroState(tf.shape(memory).slice('0'), tf.float32).clone({ cellState, attention });
      const [output] = cell.apply(inputs, start);
      const sess = new tf.Session();
      await sess.run(tf.globalVariablesInitializer());
      const run = (examples: number, rows: number) =>
        sess.run(output, [
          [memory, new Array(examples).fill(new Array(5).fill([1, 2, 3]))],
          [inputs, new Array(rows).fill([1, 2])],
          [cellState, new Array(rows).fill([1, 2, 3, 4])],
        ]);
      expect((await run(3, 3)).shape).toEqual([3, 3]);
      await expect(run(1, 3)).rejects.toThrow(/Non-matching batch sizes.*query/);
    }));

  it('lengths beyond the inputs, when it runs', () =>
    new tf.Graph().asDefault(async () => {
      const counts = tf.placeholder(tf.int32, [2]);
      const cell = gru();
      const helper = new seq2seq.TrainingHelper(tf.ones([2, 3, 3]), counts);
      const [{ rnnOutput }] = seq2seq.dynamicDecode(
        new seq2seq.BasicDecoder(cell, helper, cell.zeroState(2, tf.float32)),
      );
      const sess = new tf.Session();
      await sess.run(tf.globalVariablesInitializer());
      expect((await sess.run(rnnOutput, [[counts, [3, 1]]])).shape).toEqual([2, 3, 4]);
      await expect(sess.run(rnnOutput, [[counts, [5, 1]]])).rejects.toThrow(/3 is not in \[0, 3\)/);
    }));
});

it('An AttentionWrapperState is a structure of its own class', () => {
  new tf.Graph().asDefault(() => {
    const cell = new seq2seq.AttentionWrapper(gru(), luong());
    const state = cell.zeroState(2, tf.float32);
    const copy = tf.nest.mapStructure((t: tf.Tensor) => tf.identity(t), state);
    expect(copy).toBeInstanceOf(seq2seq.AttentionWrapperState);
    expect(tf.nest.flatten(state)).toHaveLength(5);
    expect(state.alignmentHistory).toEqual([]);
  });
});
