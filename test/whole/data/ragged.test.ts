/** @file Ragged tensors in the elements of datasets, and batches of elements of different sizes, as in TensorFlow. */
import { readFileSync } from 'node:fs';
import { beforeEach, expect, it } from 'vitest';
import * as tf from '../../../src/api/index.ts';

const { Dataset, experimental: E } = tf.data;
type AnyDataset = tf.data.Dataset;
beforeEach(() => tf.resetDefaultGraph());

const golden: Record<string, unknown> = JSON.parse(
  readFileSync(new URL('../../golden/data/ragged.json', import.meta.url), 'utf8'),
);

const rows = () => tf.ragged.constant([[1, 2], [], [3], [4, 5, 6], [7]]);
const deep = () => tf.ragged.constant([[[1], [2, 3]], [], [[4]]]);
const lengths = (n: number) => Dataset.range(n).map((x) => tf.fill([x.mod(3)], x));
const matrices = () =>
  Dataset.range(4).map((x) => ({ m: tf.fill([x, 2], x), n: tf.fill([2, x], tf.constant(1.5)), id: x }));

/** As in tools/golden/raggedDatasets.py, by the same names. */
const datasets: Record<string, () => unknown> = {
  batch: () => lengths(5).apply(E.denseToRaggedBatch(2)),
  'batch without remainder': () => lengths(5).raggedBatch(2, { dropRemainder: true, rowSplitsDtype: tf.int32 }),
  'batches of records': () => matrices().raggedBatch(3),
  'batches of batches': () => lengths(5).raggedBatch(2).batch(2),
  'batch of pairs': () => Dataset.zip([lengths(3), Dataset.range(3)]).raggedBatch(2),
  rows: () => Dataset.fromTensorSlices(rows()),
  whole: () => Dataset.fromTensors([rows(), deep()]),
  'rows of rows': () => Dataset.fromTensorSlices(deep()),
  'rows in batches': () => Dataset.fromTensorSlices(rows()).batch(2),
  'map to ragged': () =>
    Dataset.range(3)
      .map((x) => tf.RaggedTensor.fromRowLengths(tf.range(3).add(tf.cast(x, tf.int32)), [1, 0, 2]))
      .batch(2),
  'map of ragged': () =>
    Dataset.fromTensorSlices(deep()).map((row) => tf.reduceSum((row as tf.RaggedTensor).flatValues)),
  unbatch: () => Dataset.fromTensors(deep()).unbatch(),
  repeated: () => Dataset.fromTensorSlices(rows()).repeat(2).batch(3),
};

function plain(value: unknown): unknown {
  if (value instanceof tf.NDArray || value instanceof tf.ragged.RaggedTensorValue) return value.toArray();
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value as object).map(([key, x]) => [key, plain(x)]));
}

it.each(Object.entries(datasets))('%s', async (name, make) => {
  const dataset = make() as AnyDataset; // whatever its elements are
  const elements: unknown[] = [];
  for await (const element of dataset) elements.push(plain(element));
  expect(elements).toEqual(golden[name]);
  const next = dataset.makeOneShotIterator().getNext();
  using session = new tf.Session();
  expect(plain(await session.run(next as tf.Tensor))).toEqual(elements[0]); // or a structure, which is fetched the same way
});

it('has every dataset of the golden file', () => {
  expect(Object.keys(datasets).sort()).toEqual(Object.keys(golden).sort());
});

it('says what its elements are', () => {
  const batches = lengths(5).raggedBatch(2);
  expect(String(batches.elementSpec)).toBe('RaggedTensorSpec(TensorShape((?, ?)), tf.int64, 1, tf.int64)');
  expect(() => Dataset.fromTensorSlices([1, 2]).unbatch()).toThrow(/scalar components/);
});
