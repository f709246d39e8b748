/** @file Rows about parsing: examples and comma-separated values, in batches that are fed. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as tf from '../../src/api/index.ts';
import { pipeline } from './pipeline.ts';
import type { Row, Work } from './row.ts';

const batchSize = 256;
const runsPerCall = 20;

/** Runs what `build` makes of fed strings, and leaves the strings for the peer, one file of base64 lines. */
async function parsing(
  folder: string,
  name: string,
  strings: readonly Uint8Array[],
  build: (serialized: tf.Tensor) => Record<string, tf.Tensor | tf.SparseTensor> | tf.Tensor[],
): Promise<Work> {
  writeFileSync(join(folder, `${name}.txt`), strings.map((x) => Buffer.from(x).toString('base64')).join('\n'));
  const graph = new tf.Graph();
  const [serialized, fetches] = graph.asDefault(() => {
    const x = tf.placeholder(tf.string, [batchSize], { name: 'serialized' });
    return [x, build(x)] as const;
  });
  const session = new tf.Session({ graph, config: { intraOpParallelismThreads: 1, interOpParallelismThreads: 1 } });
  const feed = new tf.NDArray(tf.string, [batchSize], strings);
  return {
    async run() {
      for (let i = 0; i < runsPerCall; i++)
        await session.run(fetches as Record<string, tf.Tensor>, [[serialized, feed]]); // sparse ones too
    },
    close: () => session.close(),
  };
}

const examples = (make: (i: number) => Parameters<typeof tf.train.Example.from>[0]) =>
  Array.from({ length: batchSize }, (_, i) => tf.train.Example.from(make(i)).serialize());

const csvRecords = 20_000;

/** A file of comma-separated values, read from its beginning to its end in batches. */
function csvFile(folder: string): Work {
  const path = join(folder, 'table.csv');
  const line = (i: number) => Array.from({ length: 10 }, (_, k) => (k < 8 ? (i * k) / 7 : `name ${i}`)).join(',');
  writeFileSync(path, Array.from({ length: csvRecords }, (_, i) => `${line(i)}\n`).join(''));
  return pipeline(() => {
    const columns = Array.from({ length: 10 }, (_, k) => (k < 8 ? tf.float32 : tf.string));
    return new tf.data.experimental.CsvDataset(path, columns).batch(256) as tf.data.Dataset;
  });
}

export const parsingRows: readonly Row[] = [
  {
    name: 'examples_of_10_features',
    unit: 'examples',
    amount: batchSize * runsPerCall,
    prepare: (folder) =>
      parsing(
        folder,
        'examples_of_10_features',
        examples((i) => ({
          ...Object.fromEntries([0, 1, 2, 3].map((k) => [`count${k}`, i * 1000 + k])),
          ...Object.fromEntries([0, 1, 2].map((k) => [`ratio${k}`, Float32Array.of(i / 256 + k)])),
          ...Object.fromEntries([0, 1, 2].map((k) => [`word${k}`, `value ${i} of ${k}`])),
        })),
        (x) =>
          tf.parseExample(x, {
            ...Object.fromEntries([0, 1, 2, 3].map((k) => [`count${k}`, tf.fixedLenFeature([], tf.int64)])),
            ...Object.fromEntries([0, 1, 2].map((k) => [`ratio${k}`, tf.fixedLenFeature([], tf.float32)])),
            ...Object.fromEntries([0, 1, 2].map((k) => [`word${k}`, tf.fixedLenFeature([], tf.string)])),
          }),
      ),
  },
  {
    name: 'examples_of_784_floats',
    unit: 'examples',
    amount: batchSize * runsPerCall,
    prepare: (folder) =>
      parsing(
        folder,
        'examples_of_784_floats',
        examples((i) => ({
          image: Float32Array.from({ length: 784 }, (_, k) => ((i + k) % 256) / 255),
          label: i % 10,
        })),
        (x) =>
          tf.parseExample(x, { image: tf.fixedLenFeature([784], tf.float32), label: tf.fixedLenFeature([], tf.int64) }),
      ),
  },
  {
    name: 'examples_sparse',
    unit: 'examples',
    amount: batchSize * runsPerCall,
    prepare: (folder) =>
      parsing(
        folder,
        'examples_sparse',
        examples((i) => ({
          ids: Int32Array.from({ length: 5 + (i % 20) }, (_, k) => i * k),
          words: Array.from({ length: 3 + (i % 5) }, (_, k) => `word ${k}`),
        })),
        (x) => tf.parseExample(x, { ids: tf.varLenFeature(tf.int64), words: tf.varLenFeature(tf.string) }),
      ),
  },
  {
    name: 'csv_of_10_columns',
    unit: 'rows',
    amount: batchSize * runsPerCall,
    prepare: (folder) =>
      parsing(
        folder,
        'csv_of_10_columns',
        Array.from({ length: batchSize }, (_, i) =>
          new TextEncoder().encode(Array.from({ length: 10 }, (_, k) => (k < 8 ? (i * k) / 7 : `name ${i}`)).join(',')),
        ),
        (x) =>
          tf.decodeCsv(
            x,
            Array.from({ length: 10 }, (_, k) => (k < 8 ? tf.constant([0], tf.float32) : [''])),
          ),
      ),
  },
  { name: 'csv_files', unit: 'rows', amount: csvRecords, prepare: async (folder) => csvFile(folder) },
];
