/** @file tf.contrib.seq2seq: attention weights, beams and decoders against what numpy makes of the definitions. */
import { readFileSync } from 'node:fs';
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';

const { seq2seq } = tf.contrib;
type Matrix = number[][];
interface Golden {
  readonly attention: {
    readonly [key in 'query' | 'luongQuery' | 'memoryKernel' | 'queryKernel']: Matrix;
  } & { readonly [key in 'bahdanau' | 'bahdanauNormalized' | 'luong' | 'luongScaled']: Matrix } & {
    readonly memory: number[][][];
    readonly v: number[];
    readonly g: number;
    readonly b: number[];
    readonly lengths: number[];
  };
  readonly monotonic: { readonly p: Matrix; readonly before: Matrix; readonly after: Matrix };
  readonly tree: {
    readonly [key in 'ids' | 'parents' | 'beams']: number[][][];
  } & { readonly lengths: number[]; readonly end: number };
  readonly search: {
    readonly scores: Matrix;
    readonly start: number;
    readonly end: number;
    readonly steps: number;
    readonly best: Matrix;
    readonly totals: number[];
  };
}
const path = new URL('../../golden/front/seq2seq.json', import.meta.url);
const golden = JSON.parse(readFileSync(path, 'utf8')) as Golden; // written by tools/golden/seq2seq.py

/** A test in a graph of its own. */
function inGraph(name: string, body: () => unknown): void {
  it(name, () => new tf.Graph().asDefault(async () => void (await body())));
}
const f32 = (value: tf.TensorLike) => tf.constant(value as number[], { dtype: tf.float32 }); // nested arrays of numbers
function expectClose(actual: readonly number[], wanted: readonly number[], digits = 5): void {
  expect(actual).toHaveLength(wanted.length);
  for (const [i, w] of wanted.entries()) expect(actual[i]).toBeCloseTo(w, digits);
}
async function started(): Promise<tf.Session> {
  const sess = new tf.Session();
  await sess.run(tf.globalVariablesInitializer());
  return sess;
}

describe('attention', () => {
  const { memory, query, luongQuery, memoryKernel, queryKernel, v, g, b, lengths } = golden.attention;
  const values: Record<string, number | number[] | Matrix> = {
    'memory_layer/kernel': memoryKernel,
    'query_layer/kernel': queryKernel,
    attention_v: v,
    attention_g: g,
    attention_b: b,
  };
  /** Gives the variables numpy's values, by what they are called. */
  async function filled(sess: tf.Session): Promise<void> {
    for (const variable of tf.globalVariables()) {
      const key = Object.keys(values).find((k) => variable.opName.endsWith(k));
      await sess.run(variable.assign(f32(values[key!]!)));
    }
  }
  const kinds = {
    bahdanau: () => new seq2seq.BahdanauAttention(5, f32(memory), { memorySequenceLength: lengths }),
    bahdanauNormalized: () =>
      new seq2seq.BahdanauAttention(5, f32(memory), { memorySequenceLength: lengths, normalize: true }),
    luong: () => new seq2seq.LuongAttention(5, f32(memory), { memorySequenceLength: lengths }),
    luongScaled: () => new seq2seq.LuongAttention(5, f32(memory), { memorySequenceLength: lengths, scale: true }),
  };
  for (const [name, make] of Object.entries(kinds))
    inGraph(name, async () => {
      const mechanism = make();
      const before = mechanism.initialAlignments(2, tf.float32);
      const [weights] = mechanism.apply(f32(name.startsWith('luong') ? luongQuery : query), before);
      const sess = await started();
      await filled(sess);
      const wanted = golden.attention[name as keyof typeof kinds];
      expectClose((await sess.run(weights)).numbers(), wanted.flat());
    });
});

describe('monotonic attention', () => {
  const { p, before, after } = golden.monotonic;
  for (const mode of ['recursive', 'parallel'] as const)
    inGraph(mode, async () => {
      const result = seq2seq.monotonicAttention(f32(p), f32(before), mode);
      expectClose((await new tf.Session().run(result)).numbers(), after.flat());
    });

  inGraph('hard takes the first step that stops, from the step of before on', async () => {
    const result = seq2seq.monotonicAttention(f32([[0, 1, 0, 1], [1, 0, 0, 0]]), f32([[0, 0, 1, 0], [0, 1, 0, 0]]), 'hard'); // biome-ignore format: matrices
    expect((await new tf.Session().run(result)).toArray()).toEqual([[0, 0, 0, 1], [0, 0, 0, 0]]); // biome-ignore format: a matrix
    expect(() => seq2seq.monotonicAttention([[1]], [[1]], 'soft' as 'hard')).toThrow(
      /'recursive', 'parallel', or 'hard'/,
    );
  });

  for (const kind of ['BahdanauMonotonicAttention', 'LuongMonotonicAttention'] as const)
    inGraph(`${kind} begins at the first step and decodes`, async () => {
      const mechanism = new seq2seq[kind](4, tf.randomNormal([2, 6, 3], { seed: 1 }), {
        mode: 'hard',
        scoreBiasInit: 3,
      });
      const begin = mechanism.initialAlignments(2, tf.float32);
      const cell = new seq2seq.AttentionWrapper(new tf.nn.rnnCell.GRUCell(4), mechanism, { alignmentHistory: true });
      const helper = new seq2seq.TrainingHelper(tf.randomNormal([2, 5, 3], { seed: 2 }), [5, 3]);
      const decoder = new seq2seq.BasicDecoder(cell, helper, cell.zeroState(2, tf.float32));
      const [outputs, state] = seq2seq.dynamicDecode(decoder);
      const history = state.alignmentHistory.stack();
      const sess = await started();
      expect((await sess.run(begin)).toArray()).toEqual([[1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]]); // biome-ignore format: a matrix
      const [value, steps] = await sess.run([outputs.rnnOutput, history]);
      expect(value.shape).toEqual([2, 5, 3]);
      // The look never goes back.
      const places = (steps.toArray() as Matrix[]).map((rows) => rows.map((row) => row.indexOf(1)));
      for (let t = 1; t < places.length; t++)
        for (const [i, place] of places[t]!.entries())
          if (place >= 0) expect(place).toBeGreaterThanOrEqual(places[t - 1]![i]!);
    });
});

describe('beam search', () => {
  inGraph('tileBatch repeats every entry', async () => {
    const tiled = seq2seq.tileBatch({ a: f32([[1, 2], [3, 4]]), b: f32([5, 6]) }, 2); // biome-ignore format: a matrix
    expect(tiled.a.shape).toEqual([4, 2]);
    const { a, b } = await new tf.Session().run(tiled);
    expect(a.toArray()).toEqual([[1, 2], [1, 2], [3, 4], [3, 4]]); // biome-ignore format: a matrix
    expect(b.toArray()).toEqual([5, 5, 6, 6]);
  });

  inGraph('gatherTree puts beams together', async () => {
    const { ids, parents, lengths, end, beams } = golden.tree;
    const found = seq2seq.gatherTree(tf.constant(ids), tf.constant(parents), lengths, end);
    expect((await new tf.Session().run(found)).toArray()).toEqual(beams);
  });

  /** Gives the scores of what may follow a symbol: its input is the symbol's row of scores already. */
  class Chain extends tf.nn.rnnCell.RNNCell {
    readonly stateSize = 1;
    readonly outputSize = 4;
    override call(inputs: tf.Tensor, state: tf.Tensor): readonly [tf.Tensor, tf.Tensor] {
      return [inputs, state.add(1)];
    }
  }

  inGraph('finds the best sequences of all', async () => {
    const { scores, start, end, steps, best, totals } = golden.search;
    const cell = new Chain();
    // Wide enough to forget nothing in three steps, so that it finds what trying all sequences finds.
    const width = 16;
    const first = seq2seq.tileBatch(tf.zeros([2, 1]), width);
    const decoder = new seq2seq.BeamSearchDecoder(cell, f32(scores), [start, start], end, first, width);
    const [{ predictedIds }, state] = seq2seq.dynamicDecode(decoder, { maximumIterations: steps });
    const sess = new tf.Session();
    const [found, logProbs] = await sess.run([predictedIds, state.logProbs]);
    for (const row of [0, 1]) {
      const beams = found.toArray() as number[][][];
      const sequences = best.map((_, beam) => beams[row]!.map((symbols) => symbols[beam]!));
      expect(sequences).toEqual(best);
      expectClose((logProbs.toArray() as Matrix)[row]!.slice(0, totals.length), totals);
    }
  });

  inGraph('favours long beams as the penalty grows, and says what is wrong', async () => {
    const { scores, end } = golden.search;
    const cell = new Chain();
    const make = (options: object) =>
      new seq2seq.BeamSearchDecoder(cell, f32(scores), [0], end, seq2seq.tileBatch(tf.zeros([1, 1]), 2), 2, options);
    const lengths = (weight: number) =>
      tf.reduceSum(seq2seq.dynamicDecode(make({ lengthPenaltyWeight: weight }), { maximumIterations: 6 })[1].lengths);
    const [short, long] = await new tf.Session().run([lengths(0), lengths(5)]);
    expect(Number(long.item())).toBeGreaterThanOrEqual(Number(short.item()));
    expect(() => make({ coveragePenaltyWeight: 1 })).toThrow(/coveragePenaltyWeight needs a cell with attention/);
    expect(() => new seq2seq.BeamSearchDecoder(cell, f32(scores), 0, end, tf.zeros([2, 1]), 2)).toThrow(/vector/);
  });

  inGraph('lets finished beams pay for the memory they have not looked at', async () => {
    const memory = f32([[[1, 0], [0, 1], [1, 1]]]); // biome-ignore format: steps of two numbers
    const attention = new seq2seq.LuongAttention(2, seq2seq.tileBatch(memory, 2));
    const cell = new seq2seq.AttentionWrapper(new tf.nn.rnnCell.BasicRNNCell(2), attention);
    const decoder = new seq2seq.BeamSearchDecoder(cell, f32([[1, 0], [0, 1]]), [0], 1, cell.zeroState(2, tf.float32), 2, {
      coveragePenaltyWeight: 0.5,
    }); // biome-ignore format: a short matrix
    const { inputs, state } = decoder.initialize();
    const begun = decoder.step(tf.constant(0), inputs, state);
    const looks = tf.constant([[[0.5, 2, 1], [0.25, 1, 1]]], { dtype: tf.float32 }); // biome-ignore format: two beams
    const over = decoder.step(tf.constant(0), inputs, {
      ...state,
      finished: tf.fill([1, 2], true),
      logProbs: f32([[-1, -2]]),
      accumulatedAttentionProbs: looks,
    });
    const sess = await started();
    const [after, scores, kept] = await sess.run([
      begun.state.accumulatedAttentionProbs as tf.Tensor, // coverage counts
      over.outputs.scores,
      over.state.accumulatedAttentionProbs as tf.Tensor,
    ]);
    for (const beam of (after.toArray() as number[][][])[0]!) expectClose([beam.reduce((a, b) => a + b)], [1]);
    expectClose((scores.toArray() as Matrix)[0]!, [-1 + 0.5 * Math.log(0.5), -2 + 0.5 * Math.log(0.25)]);
    expect(kept.toArray()).toEqual([[[0.5, 2, 1], [0.25, 1, 1]]]); // biome-ignore format: two beams
  });
});

describe('helpers', () => {
  const cell = () => new tf.nn.rnnCell.BasicRNNCell(3, { activation: (x: tf.Tensor) => x });

  inGraph('InferenceHelper feeds outputs back until they say stop', async () => {
    const helper = new seq2seq.InferenceHelper(
      (outputs) => outputs.add(1),
      [3],
      tf.float32,
      tf.zeros([2, 3]),
      (samples) => samples.slice(':, 0').greater(2.5),
    );
    class Same extends tf.nn.rnnCell.RNNCell {
      readonly stateSize = 1;
      readonly outputSize = 3;
      override call(inputs: tf.Tensor, state: tf.Tensor): readonly [tf.Tensor, tf.Tensor] {
        return [inputs, state];
      }
    }
    const same = new Same();
    const decoder = new seq2seq.BasicDecoder(same, helper, same.zeroState(2, tf.float32));
    const [{ sampleId }, , lengths] = seq2seq.dynamicDecode(decoder);
    const [samples, counts] = await new tf.Session().run([sampleId, lengths]);
    expect((samples.toArray() as number[][][])[0]!.map((row) => row[0])).toEqual([1, 2, 3]);
    expect(counts.toArray()).toEqual([3, 3]);
  });

  inGraph('CustomHelper does what its functions say', async () => {
    const helper = new seq2seq.CustomHelper(
      () => ({ finished: tf.fill([2], false), inputs: tf.ones([2, 3]) }),
      (time) => tf.fill([2], time),
      (time) => ({ finished: tf.fill([2], time.greaterEqual(3)), inputs: tf.ones([2, 3]) }),
    );
    const c = cell();
    const decoder = new seq2seq.BasicDecoder(c, helper, c.zeroState(2, tf.float32));
    const [{ sampleId }] = seq2seq.dynamicDecode(decoder);
    const sess = await started();
    expect((await sess.run(sampleId)).toArray()).toEqual([[0, 1, 2, 3], [0, 1, 2, 3]]); // biome-ignore format: a matrix
  });

  inGraph('ScheduledOutputTrainingHelper takes inputs, or its own outputs', async () => {
    const inputs = tf.randomUniform([2, 4, 3], { seed: 3 });
    const c = cell();
    const decoded = (probability: number) =>
      tf.variableScope('d', { reuse: tf.AUTO_REUSE }, () => {
        const helper = new seq2seq.ScheduledOutputTrainingHelper(inputs, [4, 4], probability);
        const decoder = new seq2seq.BasicDecoder(c, helper, c.zeroState(2, tf.float32));
        return seq2seq.dynamicDecode(decoder)[0];
      });
    const plain = tf.variableScope('d', { reuse: tf.AUTO_REUSE }, () => {
      const decoder = new seq2seq.BasicDecoder(
        c,
        new seq2seq.TrainingHelper(inputs, [4, 4]),
        c.zeroState(2, tf.float32),
      );
      return seq2seq.dynamicDecode(decoder)[0].rnnOutput;
    });
    const [never, always] = [decoded(0), decoded(1)];
    const sess = await started();
    const [a, b, own, ids] = await sess.run([plain, never.rnnOutput, always.rnnOutput, always.sampleId]);
    expect(b.numbers()).toEqual(a.numbers());
    expect(own.numbers()).not.toEqual(a.numbers());
    expect(ids.numbers()).toEqual(new Array(8).fill(1));
  });
});

describe('small functions', () => {
  inGraph('hardmax takes the first of the largest', async () => {
    const logits = tf.placeholder(tf.float64, [null, null]);
    const fed = [
      [1, 3, 3],
      [-1, -5, -2],
    ];
    const result = (await new tf.Session().run(seq2seq.hardmax(logits), [[logits, fed]])).toArray();
    expect(result).toEqual([[0, 1, 0], [1, 0, 0]]); // biome-ignore format: a matrix
  });

  inGraph('safeCumprod keeps products of zeros and of many small numbers', async () => {
    const x = tf.constant([[0.5, 0.25, 0], [1e-30, 1e-30, 1]], { dtype: tf.float64 }); // biome-ignore format: a matrix
    const sess = new tf.Session();
    const [plain, exclusive] = await sess.run([
      seq2seq.safeCumprod(x, 1),
      seq2seq.safeCumprod(x, 1, { exclusive: true }),
    ]);
    expectClose(plain.numbers().map(Math.log1p), [0.5, 0.125, 0, 0, 0, 0].map(Math.log1p));
    expect(plain.numbers()[4]! / 1e-60).toBeCloseTo(1, 8);
    expectClose(exclusive.numbers(), [1, 0.5, 0.125, 1, 0, 0]);
  });
});
