/**
 * @file A training loop over PNG files: is it bound by the arithmetic or by the files?
 *
 * `npm run bench:files [-- --images 10000] [-- --rounds 2] [-- --json]` trains the network of bench/steps/cnn.ts for one epoch,
 * in turns on images that are in memory and on the same images in PNG files, which are read and decoded while it trains. It also
 * goes through the files without training. Where the files are no hindrance, the two epochs take the same time. The time is that
 * of the clock; the processor time beside it counts all threads. Each time is printed as soon as it is known; all of it takes
 * about a minute on two cores that have nothing else to do.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as tf from '../src/api/index.ts';
import { encodePng } from '../src/io/png.ts';
import { noise } from './data/row.ts';

const { values } = parseArgs({
  options: {
    images: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '2' },
    json: { type: 'boolean' },
  },
});
const count = Number(values.images);
const side = 28;
const batchSize = 100;
/** So many steps warm up: what is run often is compiled by then, and memory is there. */
const warmUpSteps = 10;

/** Says how far it is, beside the results. */
const report = (text: string) => {
  if (!values.json) console.error(text);
};

/** Pictures of strokes with some grain, and what they show. */
function drawings(): { pixels: Uint8Array; labels: Int32Array } {
  const pixels = noise(count * side * side).map((x) => x & 31);
  const labels = Int32Array.from({ length: count }, (_, i) => i % 10);
  for (let i = 0; i < count; i++)
    for (let t = 0; t < 80; t++) {
      const [x, y] = [14 + 9 * Math.sin((t * (1 + labels[i]!)) / 40), 14 + 9 * Math.cos((t + i) / 12)];
      pixels[i * side * side + Math.floor(y) * side + Math.floor(x)] = 255;
    }
  return { pixels, labels };
}

async function writeFiles(folder: string, pixels: Uint8Array): Promise<string[]> {
  mkdirSync(folder, { recursive: true });
  const names = Array.from({ length: count }, (_, i) => join(folder, `${i}.png`));
  const write = async (name: string, i: number) => {
    const data = pixels.subarray(i * side * side, (i + 1) * side * side);
    await writeFile(name, await encodePng({ width: side, height: side, channels: 1, data }));
  };
  for (let i = 0; i < count; i += batchSize)
    await Promise.all(names.slice(i, i + batchSize).map((name, k) => write(name, i + k)));
  return names;
}

interface Epochs {
  /** One pass over the dataset, or a few steps of one. */
  run(mostSteps?: number): Promise<void>;
  close(): void;
}

/** Passes over a dataset of images and labels, with or without training. */
function epochs(makeDataset: () => tf.data.Dataset, trains: boolean): Epochs {
  const graph = new tf.Graph();
  const { begin, step, initialize } = graph.asDefault(() => {
    tf.setRandomSeed(1);
    const iterator = makeDataset().batch(batchSize, { dropRemainder: true }).prefetch(2).makeInitializableIterator();
    const [images, labels] = iterator.getNext() as [tf.Tensor, tf.Tensor]; // what both datasets hold
    const target = trains ? trainingStep(images, labels) : tf.group([images.op, labels.op]);
    return { begin: iterator.initializer, step: target, initialize: tf.globalVariablesInitializer() };
  });
  const session = new tf.Session({ graph });
  const started = session.run(initialize);
  return {
    async run(mostSteps = Number.POSITIVE_INFINITY) {
      await started;
      await session.run(begin);
      try {
        for (let i = 0; i < mostSteps; i++) await session.run(step);
      } catch (error) {
        if (!(error instanceof tf.errors.OutOfRangeError)) throw error;
      }
    },
    close: () => session.close(),
  };
}

function trainingStep(images: tf.Tensor, labels: tf.Tensor): tf.Operation {
  const x = tf.image.convertImageDtype(tf.reshape(images, [batchSize, side, side, 1]), tf.float32);
  const { conv2d, maxPooling2d, flatten, dense } = tf.layers;
  const first = maxPooling2d(conv2d(x, 32, 5, { padding: 'same', activation: tf.nn.relu }), 2, 2);
  const second = maxPooling2d(conv2d(first, 64, 5, { padding: 'same', activation: tf.nn.relu }), 2, 2);
  const logits = dense(dense(flatten(second), 1024, { activation: tf.nn.relu }), 10);
  const loss = tf.reduceMean(tf.nn.sparseSoftmaxCrossEntropyWithLogits({ labels, logits }));
  return new tf.train.AdamOptimizer(1e-3).minimize(loss);
}

interface Times {
  wall: number;
  processor: number;
}

async function timed(body: () => Promise<void>): Promise<Times> {
  const start = process.hrtime.bigint();
  const before = process.cpuUsage();
  await body();
  const { user, system } = process.cpuUsage(before);
  return { wall: Number(process.hrtime.bigint() - start) / 1e9, processor: (user + system) / 1e6 };
}

const folder = mkdtempSync(join(tmpdir(), 'bench-files-'));
try {
  report(`writing ${count} files …`);
  const { pixels, labels } = drawings();
  const names = await writeFiles(folder, pixels);
  const inMemory = () =>
    tf.data.Dataset.fromTensorSlices([
      new tf.NDArray(tf.uint8, [count, side, side, 1], pixels),
      new tf.NDArray(tf.int32, [count], labels),
    ]);
  const inFiles = () =>
    tf.data.Dataset.fromTensorSlices([names, new tf.NDArray(tf.int32, [count], labels)]).map(
      (name, label) => {
        const image = tf.image.decodePng(tf.readFile(name as tf.Tensor), { channels: 1 });
        image.setShape([side, side, 1]);
        return [image, label as tf.Tensor];
      },
      { numParallelCalls: 4 },
    );
  const kinds = {
    'training, images in memory': epochs(inMemory, true),
    'training, images in PNG files': epochs(inFiles, true),
    'reading and decoding alone': epochs(inFiles, false),
  };
  const best = new Map<string, Times>();
  report('warming up …');
  for (const { run } of Object.values(kinds)) await run(warmUpSteps);
  for (let round = 1; round <= Number(values.rounds); round++)
    for (const [name, { run }] of Object.entries(kinds)) {
      const times = await timed(() => run());
      const before = best.get(name);
      report(`round ${round} of ${values.rounds}: ${name}: ${times.wall.toFixed(2)} s`);
      best.set(name, {
        wall: Math.min(times.wall, before?.wall ?? Number.POSITIVE_INFINITY),
        processor: Math.min(times.processor, before?.processor ?? Number.POSITIVE_INFINITY),
      });
    }
  for (const { close } of Object.values(kinds)) close();
  const [memory, files, alone] = [...best.values()] as [Times, Times, Times]; // one of each kind
  const results = { images: count, cores: availableParallelism(), load: loadavg()[0]!, memory, files, alone };
  if (values.json) console.log(JSON.stringify(results, null, 1));
  else {
    console.log(
      `${count} images of ${side} by ${side}; ${results.cores} cores, load ${results.load.toFixed(1)}; the best of ${values.rounds} epochs each, in turns`,
    );
    for (const [name, { wall, processor }] of best)
      console.log(
        `${name.padEnd(32)}${wall.toFixed(2).padStart(8)} s${processor.toFixed(2).padStart(8)} s of processors`,
      );
    console.log(
      `with files an epoch takes ${(files.wall / memory.wall).toFixed(2)} times as long, and ${(files.processor / memory.processor).toFixed(2)} times the processor time`,
    );
  }
} finally {
  rmSync(folder, { recursive: true });
}
