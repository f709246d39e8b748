/** @file Sequence to sequence with attention: a network that learns to write words backwards. */
import * as tf from 'tensorloom';
import { runDirectly } from './runDirectly.ts';

const letters = 'abcdefghijkl';
/** Symbol 0 fills up short words, 1 begins the answer and 2 ends it; letters follow. */
const [padding, start, end, firstLetter] = [0, 1, 2, 3];
const symbols = firstLetter + letters.length;
const units = 64;

const encode = (word: string) => [...word].map((letter) => letters.indexOf(letter) + firstLetter);
const decode = (ids: readonly number[]) =>
  ids
    .filter((id) => id >= firstLetter)
    .map((id) => letters[id - firstLetter])
    .join('');
const padded = (rows: readonly (readonly number[])[]): number[][] => {
  const length = Math.max(...rows.map((row) => row.length));
  return rows.map((row) => [...row, ...new Array<number>(length - row.length).fill(padding)]);
};

/** Numbers from 0 to 1 that are the same at every start. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export interface ReverseOptions {
  readonly steps?: number;
  readonly batchSize?: number;
}

export async function main({ steps = 600, batchSize = 64 }: ReverseOptions = {}) {
  tf.setRandomSeed(1);
  const random = generator(1);
  const randomWord = () => {
    const length = 3 + Math.floor(random() * 6);
    return Array.from({ length }, () => letters[Math.floor(random() * letters.length)]).join('');
  };

  const source = tf.placeholder(tf.int32, [null, null], { name: 'source' });
  const sourceLengths = tf.placeholder(tf.int32, [null], { name: 'source_lengths' });
  const target = tf.placeholder(tf.int32, [null, null], { name: 'target' });
  const targetLengths = tf.placeholder(tf.int32, [null], { name: 'target_lengths' });
  const embedding = tf.getVariable('embedding', [symbols, 16]);

  const [memory, encoded] = tf.nn.dynamicRnn(
    new tf.nn.rnnCell.GRUCell(units),
    tf.nn.embeddingLookup(embedding, source),
    { sequenceLength: sourceLengths, dtype: tf.float32, scope: 'encoder' },
  );
  const batch = tf.shape(source).slice('0');
  const attention = new tf.contrib.seq2seq.LuongAttention(units, memory, { memorySequenceLength: sourceLengths });
  const cell = new tf.contrib.seq2seq.AttentionWrapper(new tf.nn.rnnCell.GRUCell(units), attention, {
    attentionLayerSize: units,
    initialCellState: encoded,
  });
  const scores = new tf.layers.Dense(symbols, { name: 'scores' });
  const decoder = (helper: tf.contrib.seq2seq.Helper) =>
    new tf.contrib.seq2seq.BasicDecoder(cell, helper, cell.zeroState(batch, tf.float32), scores);

  // In training the decoder is told what it should have written so far, behind the start symbol.
  const told = tf.concat([tf.fill([batch, 1], start), target.slice(':, :-1')], 1);
  const helper = new tf.contrib.seq2seq.TrainingHelper(tf.nn.embeddingLookup(embedding, told), targetLengths);
  const [{ rnnOutput }] = tf.contrib.seq2seq.dynamicDecode(decoder(helper));
  const weights = tf.sequenceMask(targetLengths, { dtype: tf.float32 });
  const loss = tf.contrib.seq2seq.sequenceLoss(rnnOutput, target, weights);
  const train = new tf.train.AdamOptimizer(5e-3).minimize(loss);

  // When it writes by itself, it is told what it wrote.
  const greedy = new tf.contrib.seq2seq.GreedyEmbeddingHelper(embedding, tf.fill([batch], start), end);
  const [{ sampleId }] = tf.variableScope(tf.getVariableScope(), { reuse: true }, () =>
    tf.contrib.seq2seq.dynamicDecode(decoder(greedy), { maximumIterations: 12 }),
  );

  const sess = new tf.Session();
  await sess.run(tf.globalVariablesInitializer());
  const losses: number[] = [];
  for (let step = 1; step <= steps; step++) {
    const words = Array.from({ length: batchSize }, randomWord);
    const sources = words.map(encode);
    const targets = sources.map((ids) => [...ids.toReversed(), end]);
    const [now] = await sess.run(
      [loss, train],
      [
        [source, padded(sources)],
        [sourceLengths, sources.map((ids) => ids.length)],
        [target, padded(targets)],
        [targetLengths, targets.map((ids) => ids.length)],
      ],
    );
    losses.push(Number(now));
    if (step % 50 === 0) console.log(`step ${step}  loss ${Number(now).toFixed(4)}`);
  }

  const words = Array.from({ length: 200 }, randomWord);
  const sources = words.map(encode);
  const written = await sess.run(sampleId, [
    [source, padded(sources)],
    [sourceLengths, sources.map((ids) => ids.length)],
  ]);
  const answers = (written.toArray() as number[][]).map((ids) => {
    const stop = ids.indexOf(end);
    return decode(stop < 0 ? ids : ids.slice(0, stop));
  });
  const right = answers.filter((answer, i) => answer === [...words[i]!].reverse().join('')).length / words.length;
  for (const [i, word] of words.slice(0, 4).entries()) console.log(`${word} -> ${answers[i]}`);
  console.log(`${(right * 100).toFixed(1)}% of ${words.length} new words are written backwards without a mistake.`);
  await sess.close();
  return { losses, right };
}

await runDirectly(import.meta.url, main);
