/** @file Monitored training together with what it is made for: input queues that end, and processes that are killed. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from 'tensorloom';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'training-'));
  tf.resetDefaultGraph();
});
afterEach(async () => {
  await tf.summary.FileWriterCache.clear();
  rmSync(folder, { recursive: true });
});

describe('a monitored session', () => {
  it('fills queues beside the loop, and ends when they are empty', async () => {
    const file = join(folder, 'numbers.csv');
    writeFileSync(file, Array.from({ length: 12 }, (_, i) => `${i},${2 * i}\n`).join(''));
    const queue = tf.train.stringInputProducer([file], { numEpochs: 2, shuffle: false });
    const [, line] = new tf.TextLineReader().read(queue);
    const [x, y] = tf.decodeCsv(line, [[0], [0]]);
    const batch = tf.train.batch([x!, y!], { batchSize: 4 });
    const step = tf.train.getOrCreateGlobalStep();
    const count = tf.assignAdd(step, 1);
    const seen: number[] = [];
    await tf.train.MonitoredTrainingSession({ checkpointDir: folder, saveCheckpointSteps: 2 }, async (sess) => {
      while (!sess.shouldStop()) {
        const [xs] = await sess.run([batch[0]!, count]);
        seen.push(...(xs as tf.NDArray).numbers());
      }
    });
    const wanted = Array.from({ length: 12 }, (_, i) => i);
    expect(seen).toEqual([...wanted, ...wanted]);
    // The run that found no more data still counted its step or did not; what was saved is one of the two.
    expect(tf.train.latestCheckpoint(folder)).toMatch(/model\.ckpt-[67]$/);
  });

  it('throws what goes wrong in a task that fills a queue', async () => {
    const queue = tf.train.stringInputProducer([join(folder, 'none.csv')], { shuffle: false });
    const [, line] = new tf.TextLineReader().read(queue);
    const batch = tf.train.batch([line], { batchSize: 2 });
    const run = async () => {
      await using sess = new tf.train.MonitoredSession();
      while (!sess.shouldStop()) await sess.run(batch);
    };
    await expect(run()).rejects.toThrow();
  });
});

// Processes of their own need the compiled program.
const api = new URL('../../dist/src/api/index.js', import.meta.url);

describe.skipIf(!existsSync(api))('a killed training', () => {
  /** Counts steps under a monitored session and prints each, until it is killed or at the last one. */
  const program = (lastStep: number) => `
    import * as tf from '${api.href}';
    const w = tf.getVariable('w', [], { initializer: tf.zerosInitializer() });
    const step = tf.train.getOrCreateGlobalStep();
    const train = tf.group([tf.assignAdd(w, 0.5), tf.assignAdd(step, 1)]);
    const sess = await tf.train.MonitoredTrainingSession({
      checkpointDir: ${JSON.stringify(folder)}, saveCheckpointSteps: 3,
      hooks: [new tf.train.StopAtStepHook({ lastStep: ${lastStep} })],
    });
    while (!sess.shouldStop()) {
      await sess.run(train);
      const now = await sess.runStepFn(async ({ session }) => (await session.run([step, w])).map(Number));
      console.log(now.join(' '));
    }
    await sess.close();`;

  /** The steps and values that a process prints; it is killed after so many. */
  function runProcess(lastStep: number, killAfter: number): Promise<number[][]> {
    return new Promise((resolve, reject) => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', program(lastStep)]);
      let text = '';
      let problems = '';
      child.stderr.on('data', (data) => {
        problems += data;
      });
      child.stdout.on('data', (data) => {
        text += data;
        if (text.split('\n').length > killAfter) child.kill('SIGKILL');
      });
      // All that it printed is there only at the close; the process may exit before it is read.
      child.on('close', (code, signal) => {
        if (code !== 0 && signal !== 'SIGKILL') reject(new Error(problems));
        else resolve(text.trimEnd().split('\n').map((line) => line.split(' ').map(Number))); // biome-ignore format: one thought
      });
    });
  }

  it('goes on from its last checkpoint, with the values of that step', async () => {
    const before = await runProcess(100_000, 5);
    expect(before[0]).toEqual([1, 0.5]);
    const saved = Number(/\d+$/.exec(tf.train.latestCheckpoint(folder)!)![0]);
    expect(saved).toBeGreaterThanOrEqual(3);
    const after = await runProcess(saved + 4, Number.POSITIVE_INFINITY);
    expect(after).toEqual([1, 2, 3, 4].map((i) => [saved + i, (saved + i) / 2]));
  }, 120_000);
});
