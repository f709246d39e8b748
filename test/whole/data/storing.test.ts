/** @file Datasets in files and as graphs: records, saved datasets, snapshots, options, tables, Examples in batches. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import * as tf from '../../../src/api/index.ts';
import {
  ComputeBatchSize,
  DatasetFingerprint,
  DatasetFromGraph,
  DatasetToGraphV2,
} from '../../../src/ops/data/graphOps.ts';
import { GetOptions } from '../../../src/ops/data/options.ts';
import { GraphDef } from '../../../src/proto/graph.ts';

const { Dataset, experimental: E } = tf.data;
const root = mkdtempSync(join(tmpdir(), 'tensorloom-storing-'));
afterAll(() => rmSync(root, { recursive: true }));
beforeEach(() => tf.resetDefaultGraph());
const folder = () => mkdtempSync(join(root, 'each-'));

async function numbersOf(dataset: tf.data.Dataset): Promise<number[]> {
  const numbers: number[] = [];
  for await (const x of dataset) numbers.push(Number(x));
  return numbers;
}
const itself = <T>(x: T) => x;
const upTo = (n: number) => Array.from({ length: n }, (_, i) => i);
const counts = Dataset.range(0).elementSpec;
/** An input that tells whether the pipeline behind it was used. */
function counted(n: number): { dataset: tf.data.Dataset<tf.Tensor>; passes: () => number } {
  let passes = 0;
  const dataset = Dataset.fromGenerator(
    function* () {
      passes++;
      yield* upTo(n);
    },
    tf.int64,
    { outputShapes: [] },
  );
  return { dataset, passes: () => passes };
}

describe('a dataset of strings', () => {
  it('is written as records', async () => {
    const path = join(folder(), 'numbers.tfrecord');
    using session = new tf.Session();
    const written = new E.TFRecordWriter(path).write(Dataset.range(3).map((x) => tf.asString(x)));
    await session.run(written);
    const texts: string[] = [];
    for await (const x of new tf.data.TFRecordDataset(path)) texts.push(String(x.item()));
    expect(texts).toEqual(['0', '1', '2']);
    expect(() => new E.TFRecordWriter(path).write(Dataset.range(3))).toThrow(/scalar strings.*int64/);
  });
});

describe('a saved dataset', () => {
  it.each(['', 'GZIP'])('is read back, compressed by %j', async (compression) => {
    const path = folder();
    using session = new tf.Session();
    await session.run(Dataset.range(9).save(path, { compression }));
    expect(await numbersOf(Dataset.load(path, counts, { compression }))).toEqual(upTo(9));
  });

  it('has the shards that a function gives, read as another says', async () => {
    const path = folder();
    using session = new tf.Session();
    await session.run(E.save(Dataset.range(6), path, { shardFunc: (x: tf.Tensor) => x.mod(2) }));
    const oneByOne = E.load(path, counts, { readerFunc: (shards) => shards.flatMap(itself) });
    expect(await numbersOf(oneByOne)).toEqual([0, 2, 4, 1, 3, 5]);
    expect(() => Dataset.range(6).save(path, { shardFunc: () => 'one' })).toThrow(
      /shardFunc must return a scalar int64/,
    );
  });
});

describe('a snapshot', () => {
  it('is written once and then read, in any order of programs', async () => {
    const path = folder();
    const { dataset, passes } = counted(10);
    const snapshot = dataset.snapshot(path);
    expect(await numbersOf(snapshot)).toEqual(upTo(10));
    expect(await numbersOf(snapshot)).toEqual(upTo(10));
    expect(passes()).toBe(1);
    expect(await numbersOf(snapshot.repeat(2))).toEqual([...upTo(10), ...upTo(10)]);
    expect(passes()).toBe(1);
  });

  it('that did not come to its end is written again', async () => {
    const path = folder();
    const { dataset, passes } = counted(10);
    const snapshot = dataset.apply(E.snapshot(path, { compression: 'GZIP' })) as tf.data.Dataset<tf.Tensor>;
    expect(await numbersOf(snapshot.take(3))).toEqual([0, 1, 2]);
    expect(await numbersOf(snapshot)).toEqual(upTo(10));
    expect(await numbersOf(snapshot)).toEqual(upTo(10));
    expect(passes()).toBe(2);
  });

  it('belongs to its pipeline', async () => {
    const path = folder();
    const doubled = (n: number) =>
      Dataset.range(n)
        .map((x) => x.mul(2))
        .snapshot(path);
    expect(await numbersOf(doubled(4))).toEqual([0, 2, 4, 6]);
    expect(await numbersOf(doubled(5))).toEqual([0, 2, 4, 6, 8]);
    expect(await numbersOf(doubled(4))).toEqual([0, 2, 4, 6]);
    const tripled = Dataset.range(4)
      .map((x) => x.mul(3))
      .snapshot(path);
    expect(await numbersOf(tripled)).toEqual([0, 3, 6, 9]);
    expect(readdirSync(path).filter((name) => !name.endsWith('.pbtxt'))).toHaveLength(3);
  });
});

describe('a dataset as a graph', () => {
  const pipeline = () =>
    Dataset.range(10)
      .map((x) => x.mul(x))
      .filter((x) => tf.less(x, 50))
      .batch(3);

  it('makes the same dataset again', async () => {
    const { graph } = DatasetToGraphV2.build({ input_dataset: pipeline().variant });
    const again = new Dataset(DatasetFromGraph.build({ graph_def: graph }).handle, pipeline().elementSpec);
    const batches: unknown[] = [];
    for await (const x of again) batches.push((x as tf.NDArray).toArray());
    expect(batches).toEqual([
      [0, 1, 4],
      [9, 16, 25],
      [36, 49],
    ]);
  });

  it('is refused where its functions have state and the options forbid that', async () => {
    const random = Dataset.range(3).map(() => tf.randomUniform([]));
    const options = new tf.data.Options();
    options.experimentalExternalStatePolicy = E.ExternalStatePolicy.FAIL;
    using session = new tf.Session();
    const graph = ({ variant }: tf.data.Dataset) => DatasetToGraphV2.build({ input_dataset: variant }).graph;
    await session.run(graph(random));
    await expect(session.run(graph(random.withOptions(options)))).rejects.toThrow(/RandomUniform is stateful/);
  });

  it('is taken although its functions check or print: nothing would be missing where they are run anew', async () => {
    const checked = (x: tf.Tensor) => tf.controlDependencies([tf.assertLess(x, 5)], () => tf.identity(x));
    const pipelines: Record<string, (x: tf.Tensor) => unknown> = {
      checked,
      branch: (x) =>
        tf.cond(
          tf.greater(x, 1),
          () => checked(x),
          () => x,
        ),
      call: (x) => tf.function(checked)(x),
      printed: (x) => tf.controlDependencies([tf.print([x])], () => tf.identity(x)),
      inner: () => E.getSingleElement(Dataset.range(3).shuffle(3).cache().take(1)),
    };
    const drawn = (x: tf.Tensor) => tf.cond(tf.greater(x, 1), () => tf.randomUniform([]), () => tf.constant(0.5)); // biome-ignore format: one line
    const options = new tf.data.Options();
    options.experimentalExternalStatePolicy = E.ExternalStatePolicy.FAIL;
    using session = new tf.Session();
    const written = (f: (x: tf.Tensor) => unknown) => {
      const { variant } = Dataset.range(3).map(f).withOptions(options);
      return session.run(DatasetToGraphV2.build({ input_dataset: variant }).graph);
    };
    for (const [name, f] of Object.entries(pipelines)) expect((await written(f)).size, name).toBe(1);
    await expect(written(drawn)).rejects.toThrow(/state: RandomUniform is stateful/);
  });

  it('has its nodes, functions and result', async () => {
    using session = new tf.Session();
    const bytes = (await session.run(DatasetToGraphV2.build({ input_dataset: pipeline().variant }).graph)).objects[0];
    const { node, library } = GraphDef.decode(bytes as Uint8Array);
    const ops = node.map(({ op }) => op).filter((op) => op !== 'Const');
    expect(ops).toEqual(['RangeDataset', 'MapDataset', 'FilterDataset', 'BatchDatasetV2', '_Retval']);
    expect(node.at(-1)).toMatchObject({ name: 'dataset', op: '_Retval' });
    expect(library!.function).toHaveLength(2);
  });

  it('says how large its batches are', async () => {
    using session = new tf.Session();
    const size = (dataset: tf.data.Dataset) => ComputeBatchSize.build({ input_dataset: dataset.variant }).batch_size;
    const batches = Dataset.range(32).batch(4);
    const asked = [
      batches.take(5).prefetch(1),
      batches.map((x) => x.add(1)),
      Dataset.zip([batches, batches]),
      Dataset.zip([batches, Dataset.range(32).batch(8)]),
      Dataset.range(8).apply(E.mapAndBatch((x: tf.Tensor) => x, 3)),
      batches.shuffle(3).repeat(2).cache().skip(1).shard(2, 0),
      batches.concatenate(Dataset.range(9).paddedBatch(4)),
    ].map(size);
    expect((await session.run(asked)).map(Number)).toEqual([4, -1, 4, -1, 3, 4, 4]);
  });

  it('is told apart by a number', async () => {
    const fingerprint = (dataset: tf.data.Dataset) =>
      DatasetFingerprint.build({ input_dataset: dataset.variant }).fingerprint;
    using session = new tf.Session();
    const asked = [pipeline(), pipeline(), pipeline().take(1), Dataset.range(10), Dataset.range(11)].map(fingerprint);
    const [first, same, ...others] = (await session.run(asked)).map(String);
    expect(same).toBe(first);
    expect(new Set([first, ...others]).size).toBe(4);
  });
});

describe('options', () => {
  it('are TensorFlow’s message', () => {
    const options = new tf.data.Options();
    const hex = () => Buffer.from(options.serialize()).toString('hex');
    expect(hex()).toBe('12001a002a003a006200');
    options.experimentalDeterministic = false;
    options.experimentalThreading.privateThreadpoolSize = 4;
    options.experimentalOptimization.mapAndBatchFusion = true;
    options.experimentalSlack = true;
    options.experimentalDistribute.autoShardPolicy = E.AutoShardPolicy.DATA;
    expect(hex()).toBe('0800120208021a02480120012a0210043a006200');
  });

  it('of a pipeline are asked for while building and in a run', async () => {
    const [first, second] = [new tf.data.Options(), new tf.data.Options()];
    first.deterministic = false;
    first.threading.maxIntraOpParallelism = 300;
    second.deterministic = true;
    second.autotune.enabled = false;
    const dataset = Dataset.range(3)
      .withOptions(first)
      .map((x) => x.add(1))
      .withOptions(second);
    const check = ({ deterministic, threading, autotune }: tf.data.Options) =>
      expect([deterministic, threading.maxIntraOpParallelism, autotune.enabled]).toEqual([true, 300, false]);
    check(dataset.options());
    using session = new tf.Session();
    const bytes = (await session.run(GetOptions.build({ input_dataset: dataset.variant }).serialized_options)).objects;
    check(tf.data.Options.parse(bytes[0] as Uint8Array));
    expect(await numbersOf(dataset)).toEqual([1, 2, 3]);
    check(first.merge(second));
  });
});

describe('resampling', () => {
  /** What TensorFlow 2.21 gives for the same seed: how many elements, how many of class 1, the first of them. */
  it.each([
    { initialDist: undefined, count: 400, ones: 225, next: [7, 11, 15] },
    { initialDist: [0.25, 0.75], count: 357, ones: 193, next: [11, 15, 19] },
  ])('brings classes to their proportions, known before: $initialDist', async ({ initialDist, count, ones, next }) => {
    const classOf = (x: tf.Tensor) => tf.cast(tf.less(x.mod(4), 3), tf.int32);
    const even = E.rejectionResample(classOf, [0.5, 0.5], { initialDist, seed: 7 });
    const [classes, elements]: [number[], number[]] = [[], []];
    for await (const [its, x] of Dataset.range(400).apply(even)) {
      classes.push(Number(its));
      elements.push(Number(x));
    }
    expect([classes.length, classes.filter((its) => its === 1).length]).toEqual([count, ones]);
    expect(elements.slice(0, 12)).toEqual([0, 1, 3, 2, 3, 4, 5, 7, 6, ...next]);
  });
});

describe('a list', () => {
  it('has elements of any size', async () => {
    const elements: unknown[] = [];
    const list = E.fromList([
      { x: [1], y: 'a' },
      { x: [2, 3], y: 'b' },
    ]);
    for await (const { x, y } of list) elements.push([x.toArray(), y.toArray()]);
    expect(elements).toEqual([
      [[1], 'a'],
      [[2, 3], 'b'],
    ]);
    expect(() => E.fromList([])).toThrow(/should not be empty/);
  });
});

describe('a table of a dataset', () => {
  it('has its pairs', async () => {
    const words = Dataset.fromTensorSlices(['a', 'b', 'c']);
    const table = E.indexTableFromDataset(words);
    const found = table.lookup(['c', 'x', 'a']);
    using session = new tf.Session();
    await session.run(tf.tablesInitializer());
    expect((await session.run(found as tf.Tensor)).toArray()).toEqual([2, -1, 0]);
    expect(() => new E.DatasetInitializer(words)).toThrow(/pairs of a scalar key and a scalar value/);
  });
});

describe('Examples in files', () => {
  it('come as batches of features', async () => {
    const path = folder();
    const records = Dataset.fromTensorSlices(upTo(5).map((x) => tf.train.Example.from({ x: [x] }).serialize()));
    using session = new tf.Session();
    await session.run(new E.TFRecordWriter(join(path, 'part-0')).write(records));
    const features = { x: new tf.FixedLenFeature([], tf.int64) };
    const pattern = join(path, 'part-*');
    const once = { numEpochs: 1, shuffle: false };
    const plain: unknown[] = [];
    for await (const { x } of E.makeBatchedFeaturesDataset(pattern, 2, features, once) as tf.data.Dataset<{
      x: tf.Tensor;
    }>)
      plain.push(x.toArray());
    expect(plain).toEqual([[0, 1], [2, 3], [4]]);
    const labelled: unknown[] = [];
    const apart = E.makeBatchedFeaturesDataset(pattern, 2, features, { ...once, labelKey: 'x', dropFinalBatch: true });
    for await (const [others, x] of apart as tf.data.Dataset<[object, tf.Tensor]>)
      labelled.push([Object.keys(others), x.toArray()]);
    expect(labelled).toEqual([
      [[], [0, 1]],
      [[], [2, 3]],
    ]);
    expect(() => E.makeBatchedFeaturesDataset(pattern, 2, features, { labelKey: 'y' })).toThrow(/labelKey must be one/);
  });

  it('are read by a class or a function, with further arguments', async () => {
    const path = join(folder(), 'packed');
    await using writer = new tf.io.TFRecordWriter(path, 'GZIP');
    for (const x of upTo(3)) await writer.write(tf.train.Example.from({ x: [x] }).serialize());
    await writer.close();
    const features = { x: new tf.FixedLenFeature([], tf.int64) };
    const once = { numEpochs: 1, shuffle: false };
    const few = (file: tf.Tensor, compressionType: 'GZIP', n: number) =>
      new tf.data.TFRecordDataset(file, { compressionType }).take(n);
    for (const [options, wanted] of [
      [{ reader: tf.data.TFRecordDataset, readerArgs: [{ compressionType: 'GZIP' }] }, [0, 1, 2]],
      [{ readerArgs: [{ compressionType: 'GZIP' }] }, [0, 1, 2]],
      [{ reader: few, readerArgs: ['GZIP', 2] }, [0, 1]],
    ] as const) {
      const batches = E.makeBatchedFeaturesDataset(path, 5, features, { ...once, ...options });
      const found: unknown[] = [];
      for await (const { x } of batches as tf.data.Dataset<{ x: tf.Tensor }>) found.push(x.toArray());
      expect(found).toEqual([wanted]);
    }
  });
});
