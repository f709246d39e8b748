/** @file The input pipeline of queues: files of lines become shuffled batches while the network learns from them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from 'tensorloom';
import { runDirectly } from './runDirectly.ts';

/** Writes files of points in the plane; the last column tells on which side of a line each lies. */
async function writePoints(folder: string, files: number, points: number): Promise<string[]> {
  const names: string[] = [];
  let state = 1;
  const random = () => {
    state = (state * 16807) % 2147483647;
    return state / 2147483647;
  };
  for (let i = 0; i < files; i++) {
    const lines = ['x,y,label'];
    for (let k = 0; k < points; k++) {
      const [x, y] = [2 * random() - 1, 2 * random() - 1];
      lines.push(`${x},${y},${x + 2 * y > 0.3 ? 1 : 0}`);
    }
    const name = join(folder, `points-${i}.csv`);
    await writeFile(name, `${lines.join('\n')}\n`);
    names.push(name);
  }
  return names;
}

export async function main({ epochs = 12, files = 3, points = 100 } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'tensorloom-queue-pipeline-'));
  try {
    const names = await writePoints(folder, files, points);
    tf.setRandomSeed(1);

    // A queue of names, a reader that gives a line per run, and a queue of elements to draw batches from.
    const queue = tf.train.stringInputProducer(names, { numEpochs: epochs });
    const reader = new tf.TextLineReader({ skipHeaderLines: 1 });
    const [, line] = reader.read(queue);
    const [x, y, label] = tf.decodeCsv(
      line,
      [[0.0], [0.0], [0.0]].map((value) => tf.constant(value, tf.float32)),
    );
    const options = { batchSize: 20, capacity: 200, minAfterDequeue: 100, numThreads: 2, seed: 1 };
    const [features, labels] = tf.train.shuffleBatch([tf.stack([x!, y!]), label!], options);

    const logits = tf.squeeze(tf.layers.dense(features, 1, { name: 'side' }), [1]);
    const loss = tf.reduceMean(tf.nn.sigmoidCrossEntropyWithLogits({ labels, logits }));
    const train = new tf.train.AdamOptimizer(0.1).minimize(loss);
    const hits = tf.reduceMean(tf.cast(tf.equal(tf.greater(logits, 0), tf.greater(labels, 0.5)), tf.float32));

    const sess = new tf.Session();
    await sess.run([tf.globalVariablesInitializer(), tf.localVariablesInitializer()]);
    const coord = new tf.train.Coordinator();
    const threads = tf.train.startQueueRunners({ sess, coord });
    const losses: number[] = [];
    let accuracy = 0;
    try {
      while (!coord.shouldStop()) {
        const [value, part] = await sess.run([loss, hits, train]);
        losses.push(Number(value));
        accuracy = 0.9 * accuracy + 0.1 * Number(part);
      }
    } catch (error) {
      // All epochs have been read: this is how the input ends.
      if (!(error instanceof tf.errors.OutOfRangeError)) throw error;
    } finally {
      coord.requestStop();
    }
    await coord.join(threads);
    const lines = Number(await sess.run(reader.numRecordsProduced()));
    console.log(
      `${losses.length} steps over ${lines} lines: loss ${losses.at(-1)!.toFixed(3)}, accuracy ${accuracy.toFixed(3)}`,
    );
    await sess.close();
    return { losses, accuracy, lines, threads: threads.map(({ name, isAlive }) => ({ name, isAlive })) };
  } finally {
    await rm(folder, { recursive: true });
  }
}

await runDirectly(import.meta.url, main);
