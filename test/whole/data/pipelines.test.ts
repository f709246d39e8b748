/** @file Pipelines give the elements that TensorFlow gives, of the same nodes. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as tf from '../../../src/api/index.ts';

const { Dataset, experimental: E } = tf.data;
type AnyDataset = tf.data.Dataset;

const int64 = (value: number[]) => tf.constant(value, { dtype: tf.int64 });
const lengths = (n: number) => Dataset.range(1, n + 1).map((x) => tf.fill([x], x));
const repeated = (x: tf.Tensor) => Dataset.fromTensors(x).repeat(x);

const sparse = () =>
  new tf.SparseTensor(
    [
      [0, 1],
      [0, 3],
      [2, 0],
    ],
    [5.5, 6, 7],
    [3, 4],
  );
const examples = () => {
  const list = [
    tf.train.Example.from({ x: [1.5, 2], n: [7, 8], a: 'one', s: [1, 2] }),
    tf.train.Example.from({ x: [3.5, 4] }),
    tf.train.Example.from({ x: [5.5, 6], n: [9], a: 'three', s: [3] }),
  ];
  return list.map((example) => example.serialize());
};
const inverse = (x: tf.Tensor) => tf.checkNumerics(tf.realdiv(1, x), 'bad');
const randomNumber = () => tf.randomUniform([], { maxval: 1000, dtype: tf.int32, seed: 5 });

/** As in tools/golden/data.py, by the same names. */
const pipelines: Record<string, () => AnyDataset> = {
  tensors: () => Dataset.fromTensors([1, 2, 3]),
  'slices of a tuple': () => Dataset.fromTensorSlices([tf.constant([1, 2, 3]), tf.constant([[1.5], [2.5], [3.5]])]),
  'slices of a record': () => Dataset.fromTensorSlices({ b: tf.constant(['x', 'y']), a: tf.constant([1, 2]) }),
  range: () => Dataset.range(2, 20, 5),
  'range down': () => Dataset.range(5, 0, -2),
  map: () => Dataset.range(4).map((x) => x.mul(10)),
  'map to a tuple': () =>
    Dataset.range(3)
      .map((x) => [x, x.add(1)] as const)
      .map((a, b) => a.mul(b)),
  'map in parallel': () => Dataset.range(6).map((x) => x.mul(10), { numParallelCalls: 3 }),
  filter: () => Dataset.range(10).filter((x) => x.greater(6)),
  flatMap: () => Dataset.range(1, 4).flatMap(repeated),
  interleave: () => Dataset.range(1, 6).interleave(repeated, { cycleLength: 2, blockLength: 3 }),
  'interleave in parallel': () =>
    Dataset.range(1, 6).interleave(repeated, { cycleLength: 3, blockLength: 2, numParallelCalls: 2 }),
  batch: () => Dataset.range(7).batch(3),
  'batch without remainder': () => Dataset.range(7).batch(3, { dropRemainder: true }),
  'batch in parallel': () => Dataset.range(7).batch(3, { numParallelCalls: 2 }),
  'padded batch': () => lengths(5).paddedBatch(2, { paddedShapes: [null] }),
  'padded batch of a size': () =>
    lengths(4)
      .map((x) => [x, tf.size(x)] as const)
      .paddedBatch(3, { paddedShapes: [[5], []], paddingValues: [-1, 0], dropRemainder: true }),
  unbatch: () => Dataset.range(6).batch(4).apply(E.unbatch()),
  shuffle: () => Dataset.range(20).shuffle(7, { seed: 3 }),
  'shuffle repeated': () => Dataset.range(6).shuffle(4, { seed: 5 }).repeat(3),
  'shuffle in the same order': () => Dataset.range(6).shuffle(4, { seed: 5, reshuffleEachIteration: false }).repeat(3),
  'shuffle after repeat': () => Dataset.range(5).repeat(3).shuffle(8, { seed: 11 }),
  'shuffle and repeat': () => Dataset.range(6).apply(E.shuffleAndRepeat(4, { count: 3, seed: 2 })),
  'shuffle and repeat with a large buffer': () =>
    Dataset.range(4).apply(E.shuffleAndRepeat(100, { count: 6, seed: 2 })),
  repeat: () => Dataset.range(3).repeat(2),
  'take and skip': () => Dataset.range(10).take(7).skip(4),
  shard: () => Dataset.range(10).shard(3, 1),
  concatenate: () => Dataset.range(3).concatenate(Dataset.range(10, 12)),
  zip: () => Dataset.zip([Dataset.range(3), Dataset.range(10, 20)]),
  window: () =>
    Dataset.range(10)
      .window(3, { shift: 2, stride: 2, dropRemainder: true })
      .flatMap((w) => w.batch(3)),
  'window with remainder': () =>
    Dataset.range(7)
      .window(3)
      .flatMap((w) => w.batch(3)),
  cache: () => Dataset.range(4).cache().repeat(2),
  prefetch: () => Dataset.range(4).prefetch(2),
  enumerate: () => Dataset.range(10, 13).enumerate(5),
  mapAndBatch: () => Dataset.range(7).apply(E.mapAndBatch((x: tf.Tensor) => x.mul(2), 3)),
  parallelInterleave: () => Dataset.range(1, 5).apply(E.parallelInterleave(repeated, 2)),
  groupByWindow: () =>
    Dataset.range(11).apply(
      E.groupByWindow(
        (x: tf.Tensor) => x.mod(3),
        (_, w) => w.batch(2),
        { windowSize: 3 },
      ),
    ),
  groupByReducer: () =>
    Dataset.range(10).apply(
      E.groupByReducer((x: tf.Tensor) => x.mod(3), {
        initFunc: (k: tf.Tensor) => k.mul(100),
        reduceFunc: (s: tf.Tensor, x: tf.Tensor) => s.add(x),
        finalizeFunc: (s: tf.Tensor) => s.mul(2),
      }),
    ),
  bucketBySequenceLength: () =>
    lengths(8).apply(E.bucketBySequenceLength((x: tf.Tensor) => tf.size(x), [3, 6], [2, 2, 2])),
  scan: () =>
    Dataset.range(5).apply(
      E.scan(new tf.NDArray(tf.int64, [], BigInt64Array.of(0n)), (s, x: tf.Tensor) => [s.add(x), s.mul(x)] as const),
    ),
  takeWhile: () => Dataset.range(10).apply(E.takeWhile((x: tf.Tensor) => x.less(4))),
  unique: () => Dataset.fromTensorSlices([3, 1, 3, 2, 1]).apply(E.unique()),
  sampleFromDatasets: () =>
    E.sampleFromDatasets([Dataset.range(0, 8), Dataset.range(100, 108), Dataset.range(200, 208)], {
      weights: [0.5, 0.3, 0.2],
      seed: 9,
    }),
  'sampleFromDatasets alike': () => E.sampleFromDatasets([Dataset.range(0, 6), Dataset.range(100, 106)], { seed: 4 }),
  chooseFromDatasets: () =>
    E.chooseFromDatasets([Dataset.range(3), Dataset.range(10, 20)], Dataset.fromTensorSlices(int64([0, 1, 1, 0, 1]))),
  RandomDataset: () => new E.RandomDataset({ seed: 3 }).take(6),
  Counter: () => E.Counter(3, 2).take(4),
  ignoreErrors: () =>
    Dataset.fromTensorSlices([1.5, 2, 0, 4])
      .map((x) => tf.checkNumerics(tf.realdiv(1, x), 'bad'))
      .apply(E.ignoreErrors()),
  'an error': () => Dataset.fromTensorSlices([1, 2, 0, 4]).map((x) => tf.floordiv(12, x)),
  'different shapes': () => lengths(3).batch(2),
  'a graph seed': () => {
    tf.setRandomSeed(7);
    return Dataset.range(8).shuffle(4);
  },
  'a sparse tensor': () => Dataset.fromTensors(sparse()),
  'a sparse tensor beside a number': () => Dataset.fromTensors({ a: 1, b: sparse() }),
  'slices of a sparse tensor': () => Dataset.fromTensorSlices([sparse(), tf.constant([1, 2, 3])]),
  'batches of sparse tensors': () => Dataset.fromTensorSlices(sparse()).batch(2),
  'map to sparse tensors': () =>
    Dataset.range(1, 4)
      .map((x) => new tf.SparseTensor([[0], [2]], tf.stack([x, x.neg()]), [4]))
      .map((s) => tf.sparse.toDense(s)),
  'filter and repeat sparse tensors': () =>
    Dataset.fromTensorSlices(sparse())
      .filter((s) => tf.size(s.values).greater(0))
      .repeat(2),
  'unbatch sparse tensors': () => Dataset.fromTensors([sparse(), tf.constant([1, 2, 3])]).apply(E.unbatch()),
  'zip and concatenate sparse tensors': () =>
    Dataset.zip([Dataset.fromTensorSlices(sparse()), Dataset.range(3)]).concatenate(
      Dataset.zip([Dataset.fromTensorSlices(sparse()), Dataset.range(10, 12)]),
    ),
  fromSparseTensorSlices: () => Dataset.fromSparseTensorSlices(sparse()),
  denseToSparseBatch: () => lengths(5).apply(E.denseToSparseBatch(2, [6])),
  'denseToSparseBatch of any size': () => lengths(3).apply(E.denseToSparseBatch(2, [null])),
  'a batch with an error': () => Dataset.fromTensorSlices([1.5, 0, 3, 4, 5, 6, 7]).map(inverse).batch(3),
  'zip with an error': () => Dataset.zip([Dataset.fromTensorSlices([1.5, 0, 4]).map(inverse), Dataset.range(3)]),
  'random numbers in a map': () => Dataset.range(3).map(randomNumber).repeat(2),
  'random numbers in a dataset of a function': () => Dataset.range(2).flatMap(() => Dataset.range(2).map(randomNumber)),
  parseExampleDataset: () =>
    Dataset.fromTensorSlices(examples())
      .batch(2)
      .apply(
        E.parseExampleDataset({
          x: tf.fixedLenFeature([2], tf.float32),
          n: tf.varLenFeature(tf.int64),
          a: tf.fixedLenFeature([], tf.string, 'none'),
          s: tf.fixedLenSequenceFeature([], tf.int64, { allowMissing: true, defaultValue: -1 }),
        }),
      ) as AnyDataset,
  'parseExampleDataset with sparse features': () =>
    Dataset.fromTensorSlices(examples())
      .batch(3)
      .apply(
        E.parseExampleDataset({ m: tf.sparseFeature('s', 'n', tf.int64, 10) }, { numParallelCalls: 2 }),
      ) as AnyDataset,
  'random numbers in a filter': () => Dataset.range(12).filter(() => tf.randomUniform([], { seed: 5 }).greater(0.5)),
};

interface Golden {
  readonly elements: readonly unknown[];
  readonly nodes: readonly (readonly [string, string])[];
}
const golden: Record<string, Golden> = JSON.parse(
  readFileSync(new URL('../../golden/data/pipelines.json', import.meta.url), 'utf8'),
);

/** Arrays in a structure as plain values. */
function plain(value: unknown): unknown {
  if (value instanceof tf.NDArray) return value.toArray();
  if (value instanceof tf.SparseTensorValue)
    return { indices: plain(value.indices), values: plain(value.values), denseShape: plain(value.denseShape) };
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value as object).map(([key, x]) => [key, plain(x)]));
}

async function elementsOf(session: tf.Session, element: unknown): Promise<unknown[]> {
  const elements: unknown[] = [];
  for (;;) {
    try {
      elements.push(plain(await session.run(element as tf.Tensor)));
    } catch (error) {
      if (error instanceof tf.errors.OutOfRangeError) return elements;
      if (!(error instanceof tf.OpError)) throw error;
      elements.push({ error: error.name });
    }
  }
}

describe('pipelines', () => {
  it('are those of the golden file', () => expect(Object.keys(pipelines)).toEqual(Object.keys(golden)));

  for (const [name, make] of Object.entries(pipelines))
    it(name, async () => {
      const graph = new tf.Graph();
      const { iterator, element } = graph.asDefault(() => {
        const made = make().makeInitializableIterator();
        return { iterator: made, element: made.getNext() };
      });
      using session = new tf.Session({ graph });
      await session.run(iterator.initializer);
      const { elements, nodes } = golden[name]!;
      expect(await elementsOf(session, element)).toEqual(elements);
      expect(graph.operations.map((op) => [op.name, op.type])).toEqual(nodes);
      // Begun again, it gives the same again.
      await session.run(iterator.initializer);
      expect(await elementsOf(session, element)).toEqual(elements);
    });
});
