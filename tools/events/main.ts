/** @file Event files both ways: TensorBoard reads ours and finds what it finds in TensorFlow's, and we read TensorFlow's. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as tf from 'tensorloom';
import { findTensorFlow, runPython, withTemporaryFolder } from '../tensorflow.ts';

const steps = 4;

/** One summary of every kind, of one fed tensor. */
function build(x: tf.Tensor): tf.Tensor {
  tf.summary.scalar('largest', tf.reduceMax(x));
  tf.nameScope('layer', () => {
    tf.summary.scalar('count', tf.size(x), { family: 'numbers' });
    tf.summary.histogram('values', x);
    tf.summary.histogram('whole', tf.cast(x.mul(10), tf.int32));
    tf.summary.image('pictures', tf.reshape(x, [2, 4, 3, 1]), { maxOutputs: 2 });
    tf.summary.image('one', tf.cast(tf.abs(tf.reshape(x, [1, 2, 4, 3])).mul(50), tf.uint8), { maxOutputs: 1 });
    tf.summary.audio('tone', tf.reshape(x, [2, 12]).mul(0.3), 44100);
    tf.summary.text('note', tf.asString(tf.reshape(x, [12, 2])));
    tf.summary.tensorSummary('raw', x, { displayName: 'Raw', summaryDescription: 'all *numbers*' });
  });
  return tf.summary.mergeAll()!;
}

/** Feeds that differ from step to step, with no number generator to agree about. */
const valuesOf = (step: number) =>
  Array.from({ length: 24 }, (_, i) => Math.fround(Math.sin(i * 1.7 + step) * (step + 1)));

async function writeOurs(folder: string): Promise<void> {
  const graph = new tf.Graph();
  await graph.asDefault(async () => {
    const x = tf.placeholder(tf.float32, [24], { name: 'x' });
    const merged = build(x);
    using sess = new tf.Session({ graph });
    await using writer = new tf.summary.FileWriter(join(folder, 'ours'), graph);
    for (let step = 0; step < steps; step++) {
      const runMetadata = new tf.RunMetadata();
      const options = { traceLevel: tf.RunOptions.FULL_TRACE };
      writer.addSummary(await sess.run(merged, [[x, valuesOf(step)]], { options, runMetadata }), step);
      writer.addRunMetadata(runMetadata, `step${step}`, step);
    }
    writer.addSessionLog({ status: tf.SessionLog.CHECKPOINT, checkpointPath: 'model-3' }, steps - 1);
    const feeds = Array.from({ length: steps }, (_, step) => valuesOf(step));
    writeFileSync(join(folder, 'graph.pb'), tf.GraphDef.encode(graph.asGraphDef()));
    writeFileSync(join(folder, 'run.json'), JSON.stringify({ merged: merged.name, feeds }));
  });
}

/** What a file says, by our own reader, without times and compressed bytes. */
async function contentOf(folder: string): Promise<string[]> {
  const lines: string[] = [];
  for (const name of readdirSync(folder).sort())
    for await (const event of tf.train.summaryIterator(join(folder, name)))
      for (const value of event.summary?.value ?? []) {
        const { image, ...rest } = value;
        const shown = image && { ...image, encodedImageString: 'PNG' };
        lines.push(JSON.stringify({ step: event.step, ...rest, image: shown }));
      }
  return lines;
}

const found = findTensorFlow();
if ('reason' in found) {
  console.log(found.reason);
} else {
  process.exitCode = await withTemporaryFolder(async (folder) => {
    await writeOurs(folder);
    const script = (name: string) => fileURLToPath(new URL(`../../../tools/events/${name}`, import.meta.url));
    const status =
      runPython(found.python, script('compare.py'), [folder]) || runPython(found.python, script('board.py'), [folder]);
    const [ours, theirs] = [await contentOf(join(folder, 'ours')), await contentOf(join(folder, 'theirs'))];
    const different = ours.filter((line, i) => line !== theirs[i]);
    for (const line of different) console.log(`read by us, only in ours: ${line.slice(0, 300)}`);
    console.log(`${theirs.length} values of TensorFlow's file read by us, ${different.length} differ from ours`);
    return status || (different.length > 0 || theirs.length !== ours.length ? 1 : 0);
  });
}
