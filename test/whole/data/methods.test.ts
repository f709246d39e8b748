/** @file Methods of datasets beside those that need a file of their own, and what is said when elements do not fit. */
import * as tf from 'tensorloom';
import { beforeEach, expect, it } from 'vitest';

const { Dataset } = tf.data;
const int64 = (values: number[]) => tf.constant(values, { dtype: tf.int64 });

beforeEach(() => tf.resetDefaultGraph());

const plain = (value: unknown): unknown => {
  if (value instanceof tf.NDArray)
    return JSON.parse(JSON.stringify(value.toArray(), (_, x) => (typeof x === 'bigint' ? Number(x) : x)));
  return Array.isArray(value) ? value.map(plain) : value;
};

async function elements(dataset: tf.data.Dataset, most = 20): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const element of dataset) {
    found.push(plain(element));
    if (found.length === most) break;
  }
  return found;
}

/** Rows of growing length: [1], [2 2], … */
const rows = (to: number) => Dataset.range(1, to).map((x) => tf.fill(tf.expandDims(x, 0), x));

it('groups, buckets, scans and stops', async () => {
  const parity = Dataset.range(6).groupByWindow(
    (x) => tf.mod(x, 2),
    (_, window) => window.batch(2),
    { windowSize: 2 },
  );
  expect(await elements(parity)).toEqual([[0, 2], [1, 3], [4], [5]]);
  expect(await elements(rows(4).bucketBySequenceLength((x) => tf.size(x), [3], [2, 2]))).toEqual([
    [
      [1, 0],
      [2, 2],
    ],
    [[3, 3, 3]],
  ]);
  expect(await elements(Dataset.range(4).scan(int64([0]), (sum, x) => [sum.add(x), sum.add(x)]))).toEqual([
    [0],
    [1],
    [3],
    [6],
  ]);
  expect(await elements(Dataset.range(9).takeWhile((x) => tf.less(x, 3)))).toEqual([0, 1, 2]);
  expect(await elements(Dataset.fromTensorSlices([1, 2, 1, 3]).unique())).toEqual([1, 2, 3]);
});

it('pads to the boundary of a bucket', async () => {
  const padded = rows(5).bucketBySequenceLength((x) => tf.size(x), [3, 6], [2, 2, 1], {
    padToBucketBoundary: true,
    paddingValues: -1n,
  });
  expect(await elements(padded)).toEqual([
    [
      [1, -1],
      [2, 2],
    ],
    [
      [3, 3, 3, -1, -1],
      [4, 4, 4, 4, -1],
    ],
  ]);
  const pairs = rows(4).map((x) => [x, tf.size(x)] as const);
  const told = { padToBucketBoundary: true, paddedShapes: [[null], []] };
  expect(await elements(pairs.bucketBySequenceLength((_, size) => size, [5], [3, 1], told))).toEqual([
    [
      [
        [1, 0, 0, 0],
        [2, 2, 0, 0],
        [3, 3, 3, 0],
      ],
      [1, 2, 3],
    ],
  ]);
  const tooLong = rows(5).bucketBySequenceLength((x) => tf.size(x), [3], [2, 1], { padToBucketBoundary: true });
  await expect(elements(tooLong)).rejects.toThrow(/elements must have length < max\(bucketBoundaries\)/);
});

it('makes batches of other sizes', async () => {
  const batches = Dataset.range(8).batch(4);
  expect(await elements(batches.rebatch(3))).toEqual([
    [0, 1, 2],
    [3, 4, 5],
    [6, 7],
  ]);
  expect(await elements(batches.rebatch(3, { dropRemainder: true }))).toEqual([
    [0, 1, 2],
    [3, 4, 5],
  ]);
  expect(await elements(batches.rebatch([1, 3]))).toEqual([[0], [1, 2, 3], [4], [5, 6, 7]]);
  const whole = Dataset.range(8).batch(4, { dropRemainder: true });
  expect(String(whole.rebatch(2))).toBe('<RebatchDatasetV2 shapes: (2,), types: tf.int64>');
  expect(String(whole.rebatch(3))).toBe('<RebatchDatasetV2 shapes: (?,), types: tf.int64>');
  expect(() => Dataset.range(8).rebatch(2)).toThrow(/takes batches, but the elements are scalars/);
});

it('leaves out what cannot be made; counts; gives the only element', async () => {
  const checked = Dataset.fromTensorSlices([1, 0, 2]).map((x) => tf.checkNumerics(tf.truediv(4, x), 'x'));
  expect(await elements(checked.ignoreErrors())).toEqual([4, 2]);
  using sess = new tf.Session();
  expect(Number(await sess.run(Dataset.range(7).cardinality()))).toBe(7);
  expect(plain(await sess.run(Dataset.fromTensors([1, 2]).getSingleElement()))).toEqual([1, 2]);
  const iterator = Dataset.range(1).asNumpyIterator();
  expect([plain((await iterator.next()).value), (await iterator.next()).done]).toEqual([0, true]);
  expect(
    await elements(
      Dataset.range(3)
        .mapWithLegacyFunction((x) => x.mul(2))
        .filterWithLegacyFunction((x) => tf.greater(x, 0)),
    ),
  ).toEqual([2, 4]);
  const [sparse] = await elements(rows(3).sparseBatch(2, [3]));
  expect(sparse).toBeInstanceOf(Object);
});

it('takes from several datasets, and ends with the first or the last of them', async () => {
  const both = () => [Dataset.range(2), Dataset.range(10, 14)];
  const choices = () => Dataset.fromTensorSlices(int64([0, 0, 0, 1, 1]));
  expect(await elements(Dataset.chooseFromDatasets(both(), choices()))).toEqual([0, 1]);
  expect(await elements(Dataset.chooseFromDatasets(both(), choices(), { stopOnEmptyDataset: false }))).toEqual([
    0, 1, 10, 11,
  ]);
  expect(await elements(tf.data.experimental.chooseFromDatasets(both(), choices()))).toEqual([0, 1, 10, 11]);
  expect(() => Dataset.chooseFromDatasets(both(), Dataset.fromTensorSlices([0]))).toThrow(/must be int64 scalars/);
  const all = await elements(Dataset.sampleFromDatasets(both(), { weights: [0.5, 0.5], seed: 2 }));
  expect(all.map(Number).sort((a, b) => a - b)).toEqual([0, 1, 10, 11, 12, 13]);
  const some = Dataset.sampleFromDatasets(both(), { weights: [1, 0], seed: 2, stopOnEmptyDataset: true });
  expect(await elements(some)).toEqual([0, 1]);
  const weights = Dataset.fromTensors(tf.constant([[0, 1]]))
    .map((x) => tf.cast(x, tf.float32))
    .repeat();
  expect(await elements(Dataset.sampleFromDatasets(both(), { weights, stopOnEmptyDataset: true }))).toEqual([
    10, 11, 12, 13,
  ]);
});

it('counts and draws without end', async () => {
  expect(await elements(Dataset.counter(3, 2), 3)).toEqual([3, 5, 7]);
  const halves = Dataset.counter(0, 0.5, { dtype: tf.float32 });
  expect(await elements(halves, 3)).toEqual([0, 0.5, 1]);
  const twice = (rerandomizeEachIteration: boolean) =>
    elements(Dataset.random({ seed: 1, rerandomizeEachIteration }).take(2).repeat(2));
  const same = await twice(false);
  const other = await twice(true);
  expect(same.slice(0, 2)).toEqual(same.slice(2));
  expect(other.slice(0, 2)).not.toEqual(other.slice(2));
});

it('numbers elements from where it is told, as an argument or by name', async () => {
  const letters = Dataset.fromTensorSlices(['a', 'b']);
  const numbered = [
    [5, 'a'],
    [6, 'b'],
  ];
  expect(await elements(letters.enumerate(5))).toEqual(numbered);
  expect(await elements(letters.enumerate({ start: 5 }))).toEqual(numbered);
  // @ts-expect-error a misspelt option
  expect(() => letters.enumerate({ begin: 5 })).toThrow(/Dataset\.enumerate has no option 'begin'/);
});

it('an iterator refuses datasets whose elements have other shapes', () => {
  const iterator = tf.data.Iterator.fromStructure(tf.int64, { outputShapes: [] });
  iterator.makeInitializer(Dataset.range(4));
  expect(() => iterator.makeInitializer(Dataset.range(4).batch(2))).toThrow(
    /Expected output shapes compatible with \[\] for component 0, but the dataset has \[\?\]/,
  );
  // @ts-expect-error elements of two components
  expect(() => iterator.makeInitializer(Dataset.zip([Dataset.range(4), Dataset.range(4)]))).toThrow(
    'The iterator gives 1 tensors per element, but the dataset has 2.',
  );
});

it('arrays that were meant as a tuple say how to write one', () => {
  const xs = [
    [1, 2],
    [3, 4],
  ];
  const message = /An array of literals is one tensor.*\[tf\.constant\(xs\), tf\.constant\(ys\)\]/;
  expect(() => Dataset.fromTensorSlices([xs, [0, 1]])).toThrow(message);
  expect(() =>
    Dataset.fromTensorSlices([
      [1, 2],
      ['a', 'b'],
    ]),
  ).toThrow(message);
  expect(String(Dataset.fromTensorSlices([tf.constant(xs), tf.constant(['a', 'b'])]))).toBe(
    '<TensorSliceDataset shapes: ((2,), ()), types: (tf.int32, tf.string)>',
  );
  expect(String(Dataset.fromTensorSlices({ x: xs }).batch(2))).toBe(
    '<BatchDatasetV2 shapes: {x: (?, 2)}, types: {x: tf.int32}>',
  );
});
