/** @file Records and examples both ways: TensorFlow reads and parses what we write, and we what it writes. `npm run examples`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as tf from '../../src/api/index.ts';
import { findTensorFlow, runPython, withTemporaryFolder } from '../tensorflow.ts';

const compressions = ['', 'GZIP', 'ZLIB'] as const;
const count = 200;

/** What example `i` holds, as check.py makes it too; every kind of list, empty ones, long integers, bytes that are no text. */
function valuesOf(i: number): Readonly<Record<string, tf.train.Feature>> {
  const { Feature } = tf.train;
  return {
    whole: new Feature({ int64List: { value: [i, -i, BigInt(i) * 2n ** 40n, 2n ** 63n - 1n - BigInt(i)] } }),
    real: new Feature({ floatList: { value: Array.from({ length: i % 7 }, (_, k) => (i - k) / 8) } }),
    bytes: new Feature({ bytesList: { value: [Uint8Array.of(i % 256, 255, 0), `größe ${i}`] } }),
    ...(i % 3 === 0 ? { some: new Feature({ int64List: { value: [i] } }) } : {}),
    nothing: new Feature(),
  };
}

const features = {
  whole: tf.fixedLenFeature([4], tf.int64),
  real: tf.varLenFeature(tf.float32),
  bytes: tf.fixedLenFeature([2], tf.string),
  some: tf.fixedLenFeature([], tf.int64, -5),
};

/** Everything that parsing a file gives, as text that can be compared. */
async function parsed(path: string, compression: (typeof compressions)[number]): Promise<unknown> {
  const records: Uint8Array[] = [];
  for await (const record of tf.io.tfRecordIterator(path, { compression })) records.push(record);
  const graph = new tf.Graph();
  const fetches = graph.asDefault(() => tf.parseExample(records, features));
  await using session = new tf.Session({ graph });
  const { whole, real, bytes, some } = await session.run(fetches);
  return {
    whole: Array.from(whole.data, String),
    indices: Array.from(real.indices.data, String),
    real: Array.from(real.values.data, Number),
    bytes: bytes.objects.map((x) => Buffer.from(x as Uint8Array).toString('base64')), // strings are bytes
    some: Array.from(some.data, String),
  };
}

async function write(path: string, compression: (typeof compressions)[number]): Promise<void> {
  await using writer = new tf.io.TFRecordWriter(path, { compression });
  for (let i = 0; i < count; i++) {
    const example = new tf.train.Example({ features: { feature: valuesOf(i) } });
    await writer.write(example.serializeToString());
  }
}

const found = findTensorFlow();
if ('reason' in found) console.log(`examples: skipped, ${found.reason}`);
else
  await withTemporaryFolder(async (folder) => {
    const name = (who: string, compression: string) => join(folder, `${who}${compression}.tfrecords`);
    for (const compression of compressions) await write(name('ours', compression), compression);
    const ours = await parsed(name('ours', ''), '');
    writeFileSync(join(folder, 'ours.json'), JSON.stringify(ours));
    // TensorFlow checks what we wrote, and writes its own files and what it parsed of them.
    process.exitCode = runPython(found.python, 'tools/examples/check.py', [folder, String(count)]);
    if (process.exitCode !== 0) return;
    const theirs = readFileSync(join(folder, 'theirs.json'), 'utf8');
    for (const compression of compressions) {
      const mine = JSON.stringify(await parsed(name('theirs', compression), compression));
      if (mine === theirs) continue;
      console.log(`examples: a file that TensorFlow wrote (${compression || 'plain'}) is parsed differently`);
      process.exitCode = 1;
    }
    if (process.exitCode === 0)
      console.log(`examples: ${count} examples in ${compressions.length} kinds of files are the same both ways`);
  });
