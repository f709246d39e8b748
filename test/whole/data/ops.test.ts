/** @file Datasets by ops that have no function in tf.data, in files, of comma-separated values, and in any order. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import * as tf from '../../../src/api/index.ts';
import { DatasetComponent } from '../../../src/front/data/dataset.ts';
import { traceFunction } from '../../../src/front/data/functions.ts';
import { type ElementSpec, elementAttrs, TensorComponent } from '../../../src/front/data/spec.ts';
import { MatchingFilesDataset } from '../../../src/ops/data/matching.ts';
import { OptionsDataset } from '../../../src/ops/data/options.ts';
import { RebatchDataset, RebatchDatasetV2 } from '../../../src/ops/data/rebatch.ts';
import { DatasetToTFRecord, LoadDataset, SaveDataset, SaveDatasetV2 } from '../../../src/ops/data/snapshot.ts';
import { SlidingWindowDataset } from '../../../src/ops/data/window.ts';

const { Dataset, experimental: E } = tf.data;
type AnyDataset = tf.data.Dataset;
beforeEach(() => tf.resetDefaultGraph());

const goldenPath = (name: string) => fileURLToPath(new URL(`../../golden/data/${name}`, import.meta.url));
const goldenJson = (name: string) => JSON.parse(readFileSync(goldenPath(name), 'utf8'));
const root = mkdtempSync(join(tmpdir(), 'datasets-'));
afterAll(() => rmSync(root, { recursive: true }));
const folder = () => mkdtempSync(join(root, 'each-'));

function plain(value: unknown): unknown {
  if (value instanceof tf.NDArray) return value.toArray();
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value as object).map(([key, x]) => [key, plain(x)]));
}

async function elementsOf(dataset: AnyDataset): Promise<unknown[]> {
  const elements: unknown[] = [];
  for await (const element of dataset) elements.push(plain(element));
  return elements;
}

const rows = new TensorComponent(tf.int64, [null]);
const rowAttrs = elementAttrs(rows);
const rebatched = (batch_sizes: number | number[], drop_remainder: boolean) => {
  const inputs = { input_dataset: Dataset.range(10).batch(4).variant, batch_sizes, drop_remainder };
  return new Dataset(RebatchDatasetV2.build(inputs, { attrs: rowAttrs }).handle, rows);
};
const split = (num_replicas: number) => {
  const inputs = { input_dataset: Dataset.range(10).batch(4).variant, num_replicas };
  return new Dataset(RebatchDataset.build(inputs, { attrs: rowAttrs }).handle, rows);
};
const sliding = (sizes: readonly [size: number, shift: number, stride: number], drop_remainder = true) => {
  const [window_size, window_shift, window_stride] = sizes;
  const inputs = { input_dataset: Dataset.range(7).variant, window_size, window_shift, window_stride };
  const attrs = { ...rowAttrs, drop_remainder };
  return new Dataset(SlidingWindowDataset.build(inputs, { attrs }).handle, rows);
};

/** As in tools/golden/dataOps.py, by the same names. */
const ops: Record<string, () => AnyDataset> = {
  'rebatch 3': () => rebatched(3, false),
  'rebatch 3 without remainder': () => rebatched(3, true),
  'rebatch [2, 1, 4]': () => rebatched([2, 1, 4], false),
  'rebatch [0, 3]': () => rebatched([0, 3], false),
  'split 2': () => split(2),
  'split 3': () => split(3),
  'sliding 3 2 1': () => sliding([3, 2, 1]),
  'sliding 3 2 2': () => sliding([3, 2, 2]),
  'sliding 3 2 1 with remainder': () => sliding([3, 2, 1], false),
};

describe('batches of other sizes', () => {
  const golden: Record<string, unknown[]> = goldenJson('ops.json');
  it('are those of the golden file', () => expect(Object.keys(ops)).toEqual(Object.keys(golden)));
  for (const [name, make] of Object.entries(ops))
    it(name, async () => expect(await elementsOf(make())).toEqual(golden[name]));

  it('cannot all be empty', async () => {
    await expect(elementsOf(rebatched([0, 0], false))).rejects.toBeInstanceOf(tf.errors.InvalidArgumentError);
  });
});

const savedSpec: ElementSpec = [
  new TensorComponent(tf.int64, []),
  new TensorComponent(tf.string, []),
  new TensorComponent(tf.float32, [null]),
];
const saveable = () => Dataset.range(7).map((x) => [x, tf.asString(x), tf.fill([x], 0.5)] as const) as AnyDataset;

const itself = <T>(x: T) => x;
const oneAfterTheOther = (shards: tf.data.Dataset<AnyDataset>) => shards.flatMap(itself);

function loaded(path: string, compression = ''): AnyDataset {
  const shards = new DatasetComponent(new DatasetComponent(savedSpec));
  const { f } = traceFunction(oneAfterTheOther, { transformation: 'load', args: [shards] });
  const attrs = { ...elementAttrs(savedSpec), reader_func: f, compression, Treader_func_args: [] };
  return new Dataset(LoadDataset.build({ path, reader_func_other_args: [] }, { attrs }).handle, savedSpec);
}

/** The attributes of ops that save, with the shard of an element: odd or even. */
function savingAttrs(compression: string) {
  const { f } = traceFunction((x: tf.Tensor) => x.mod(2), { transformation: 'save', args: [savedSpec] });
  return { shard_func: f, use_shard_func: true, compression, Tshard_func_args: [] };
}

const numbersIn = (elements: readonly unknown[]) => elements.map((element) => (element as [number])[0]);
const oddLast = [0, 2, 4, 6, 1, 3, 5];

describe('saved datasets', () => {
  it('that TensorFlow has written are read', async () => {
    const elements = await elementsOf(loaded(goldenPath('saved')));
    expect(numbersIn(elements)).toEqual(oddLast);
    expect(elements[1]).toEqual([2, '2', [0.5, 0.5]]);
  });

  for (const compression of ['', 'GZIP'])
    it(`are written and read again, compressed by '${compression}'`, async () => {
      const path = join(folder(), 'saved');
      const inputs = { input_dataset: saveable().variant, path, shard_func_other_args: [] };
      const save = SaveDataset.node(inputs, { attrs: savingAttrs(compression) });
      using session = new tf.Session();
      await session.run(save);
      const dataset = loaded(path, compression);
      expect(Number(await session.run(E.cardinality(dataset)))).toBe(7);
      expect(numbersIn(await elementsOf(dataset))).toEqual(oddLast);
    });

  it('are written while elements go by', async () => {
    const path = join(folder(), 'saved');
    const inputs = { input_dataset: saveable().variant, path, shard_func_other_args: [] };
    const attrs = { ...savingAttrs(''), ...elementAttrs(savedSpec) };
    const passing = new Dataset(SaveDatasetV2.build(inputs, { attrs }).handle, savedSpec);
    expect(numbersIn(await elementsOf(passing))).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(numbersIn(await elementsOf(loaded(path)))).toEqual(oddLast);
  });

  it('that are not there, or of another kind, are errors', async () => {
    await expect(elementsOf(loaded(join(folder(), 'nothing')))).rejects.toBeInstanceOf(tf.errors.NotFoundError);
    await expect(elementsOf(loaded(goldenPath('saved'), 'SNAPPY'))).rejects.toBeInstanceOf(
      tf.errors.UnimplementedError,
    );
  });

  it('of strings are written as records', async () => {
    const filename = join(folder(), 'records');
    const strings = Dataset.range(3).map((x) => tf.asString(x));
    const write = DatasetToTFRecord.node({ input_dataset: strings.variant, filename, compression_type: 'GZIP' });
    using session = new tf.Session();
    await session.run(write);
    const read = new tf.data.TFRecordDataset(filename, { compressionType: 'GZIP' });
    expect(await elementsOf(read)).toEqual(['0', '1', '2']);
    const numbers = DatasetToTFRecord.node({
      input_dataset: Dataset.range(3).variant,
      filename,
      compression_type: '',
    });
    await expect(session.run(numbers)).rejects.toThrow(/scalar strings/);
  });
});

it('files that match patterns come in the order of their names; none is an error', async () => {
  const here = folder();
  mkdirSync(join(here, 'inner'));
  for (const name of ['b.txt', 'a.txt', 'c.bin', 'inner/d.txt']) writeFileSync(join(here, name), '');
  const spec = new TensorComponent(tf.string, []);
  const matching = (patterns: string[]) => new Dataset(MatchingFilesDataset.build({ patterns }).handle, spec);
  const names = ['a.txt', 'b.txt', 'inner/d.txt'].map((name) => join(here, name));
  expect(await elementsOf(matching([join(here, 'inner/*.txt'), join(here, '*.txt')]))).toEqual(names);
  await expect(elementsOf(matching([join(here, '*.png')]))).rejects.toBeInstanceOf(tf.errors.NotFoundError);
});

describe('makeCsvDataset', () => {
  interface Golden {
    readonly elements: unknown[];
    readonly nodes: unknown[];
  }
  const golden: Record<string, Golden> = goldenJson('csv.json');
  const pattern = goldenPath('csv/*.csv');
  const common = { naValue: 'n/a', numEpochs: 1, shuffle: false } as const;
  const made: Record<string, () => AnyDataset> = {
    'in order': () => E.makeCsvDataset(pattern, 2, common),
    'with a label': () =>
      E.makeCsvDataset(pattern, 3, { ...common, labelName: 'price', selectColumns: ['name', 'price'] }),
    shuffled: () =>
      E.makeCsvDataset(pattern, 2, { naValue: 'n/a', numEpochs: 2, shuffleSeed: 3, selectColumns: ['id'] }),
    'with defaults': () =>
      E.makeCsvDataset(pattern, 4, { ...common, columnDefaults: [tf.int64, [-1.5]], selectColumns: [0, 1] }),
  };
  for (const [name, make] of Object.entries(made))
    it(`gives what TensorFlow gives ${name}, by the same nodes`, async () => {
      const graph = new tf.Graph();
      const { iterator, next } = graph.asDefault(() => {
        const begun = make().makeInitializableIterator();
        return { iterator: begun, next: begun.getNext() };
      });
      expect(graph.operations.map((op) => [op.name, op.type])).toEqual(golden[name]!.nodes);
      using session = new tf.Session({ graph });
      await session.run(iterator.initializer);
      const elements: unknown[] = [];
      for (const _ of golden[name]!.elements) elements.push(plain(await session.run(next as tf.Tensor)));
      expect(elements).toEqual(golden[name]!.elements);
      await expect(session.run(next as tf.Tensor)).rejects.toBeInstanceOf(tf.errors.OutOfRangeError);
    });

  it('says what is wrong with its files and columns', () => {
    const here = folder();
    writeFileSync(join(here, 'a.csv'), 'x,y\n1,2\n3\n');
    writeFileSync(join(here, 'b.csv'), 'x,z\n1,2\n');
    expect(() => E.makeCsvDataset(join(here, '*.tsv'), 1)).toThrow(/No files match/);
    expect(() => E.makeCsvDataset(join(here, '*.csv'), 1)).toThrow(/different column names/);
    expect(() => E.makeCsvDataset(join(here, 'a.csv'), 1)).toThrow(/Row 3 of .* has 1 fields, but there are 2 columns/);
    expect(() => E.makeCsvDataset(join(here, 'b.csv'), 1, { labelName: 'y' })).toThrow(/one of the columns: x, z/);
    expect(() => E.makeCsvDataset(join(here, 'b.csv'), 1, { selectColumns: ['w'] })).toThrow(/selectColumns names 'w'/);
    expect(() => E.makeCsvDataset(join(here, 'b.csv'), 1, { header: false })).toThrow(/needs columnNames/);
    expect(() => E.makeCsvDataset(join(here, 'b.csv'), 1, { columnNames: ['x', 'x'] })).toThrow(/more than once: x/);
  });
});

describe('CsvDataset', () => {
  const csv = (content: string, options: tf.data.experimental.CsvOptions = {}) => {
    const file = join(folder(), 'a.csv');
    writeFileSync(file, content);
    return new E.CsvDataset([file], [tf.string, tf.string], options) as AnyDataset;
  };
  for (const [name, end] of Object.entries({ 'line feeds': '\n', 'carriage returns': '\r', both: '\r\n' }))
    it(`reads records that end with ${name}, with line breaks and quotes in quotes`, async () => {
      const content = ['a,b', '"1\r\n2","say ""x"""', 'c,"d"'].join(end);
      const records = [
        ['a', 'b'],
        ['1\r\n2', 'say "x"'],
        ['c', 'd'],
      ];
      expect(await elementsOf(csv(content))).toEqual(records);
      expect(await elementsOf(csv(content + end, { header: true }))).toEqual(records.slice(1));
    });

  it('goes on behind records that cannot be read', async () => {
    const content = '1,2"3\n1,"2"3"\n1\n1,2,3\n\na,b\n';
    expect(await elementsOf(csv(content).apply(E.ignoreErrors()))).toEqual([['a', 'b']]);
  });

  it('says what is wrong with a record, as TensorFlow does', async () => {
    const wrong: Record<string, RegExp> = {
      '1,2"3': /Unquoted fields cannot have quotes inside/,
      '"a"b",c': /Quote inside a string has to be escaped by another quote/,
      '1,2,3': /Expect 2 fields but have more in record/,
      '1\n1,2': /Expect 2 fields but have 1 in record/,
      '\n1,2': /Field 0 is required but missing in record!/,
      '1,"2': /Reached end of file without closing quoted field in record/,
    };
    for (const [content, message] of Object.entries(wrong))
      await expect(elementsOf(csv(content))).rejects.toThrow(message);
    await expect(elementsOf(csv('', { header: true }))).rejects.toThrow(/Can't read header of file/);
    await expect(elementsOf(csv('1,2', { bufferSize: 0 }))).rejects.toThrow(/buffer_size should be positive/);
  });
});

describe('in any order', () => {
  /** A door that stays closed until `open` is called. */
  function door() {
    let open = () => {};
    const opened = new Promise<void>((resolve) => (open = resolve));
    return { open, opened };
  }

  it('map gives what is there first', async () => {
    const { open, opened } = door();
    const slow = (x: tf.Tensor) =>
      tf.jsFunc(
        async (value) => {
          if (Number(value) === 0) await opened;
          return Number(value);
        },
        [x],
        tf.int32,
      );
    const dataset = Dataset.range(4).map(slow, { numParallelCalls: 4, deterministic: false });
    const iterator = dataset.makeInitializableIterator();
    const next = iterator.getNext();
    using session = new tf.Session();
    await session.run(iterator.initializer);
    const first = [await session.run(next), await session.run(next), await session.run(next)].map(Number);
    expect(first.sort()).toEqual([1, 2, 3]);
    open();
    expect(Number(await session.run(next))).toBe(0);
    await expect(session.run(next)).rejects.toBeInstanceOf(tf.errors.OutOfRangeError);
  });

  for (const how of ['deterministic', 'withOptions'] as const)
    it(`interleave goes on with others while one dataset waits, by ${how}`, async () => {
      const { open, opened } = door();
      const numbers = (x: tf.Tensor) =>
        Dataset.range(x.mul(10), x.mul(10).add(3)).map((y) =>
          tf.jsFunc(
            async (value) => {
              if (Number(value) < 10) await opened;
              return Number(value);
            },
            [y],
            tf.int32,
          ),
        );
      const turns = { cycleLength: 2, numParallelCalls: 2 };
      const made = Dataset.range(3).interleave(
        numbers,
        how === 'deterministic' ? { ...turns, deterministic: false } : turns,
      );
      const dataset = how === 'deterministic' ? made : anyOrder(made);
      const iterator = dataset.makeInitializableIterator();
      const next = iterator.getNext() as tf.Tensor;
      using session = new tf.Session();
      await session.run(iterator.initializer);
      const first: number[] = [];
      for (let i = 0; i < 6; i++) first.push(Number(await session.run(next)));
      expect(first).toEqual([10, 11, 12, 20, 21, 22]);
      open();
      const rest: number[] = [];
      for (let i = 0; i < 3; i++) rest.push(Number(await session.run(next)));
      expect(rest).toEqual([0, 1, 2]);
      await expect(session.run(next)).rejects.toBeInstanceOf(tf.errors.OutOfRangeError);
    });

  /** As `options.deterministic = False` of Python makes it. */
  function anyOrder(dataset: AnyDataset): AnyDataset {
    const attrs = { ...elementAttrs(dataset.elementSpec), serialized_options: '\b\0' };
    const { handle } = OptionsDataset.build({ input_dataset: dataset.variant }, { attrs });
    return new Dataset(handle, dataset.elementSpec);
  }
});

describe('positions', () => {
  /** Takes some numbers, saves, takes others, goes back. */
  async function goBack(make: () => AnyDataset, before: number): Promise<number[][]> {
    const iterator = make().makeInitializableIterator();
    const next = iterator.getNext() as tf.Tensor;
    const saver = new tf.train.Saver({ varList: [E.makeSaveableFromIterator(iterator)] });
    using session = new tf.Session();
    await session.run(tf.tablesInitializer());
    await session.run(iterator.initializer);
    const take = async (count: number) => {
      const numbers: number[] = [];
      for (let i = 0; i < count; i++) numbers.push(Number(await session.run(next)));
      return numbers;
    };
    await take(before);
    const path = await saver.save(session, join(folder(), 'position'));
    const first = await take(3);
    await session.run(iterator.initializer);
    await saver.restore(session, path as string);
    return [first, await take(3)];
  }

  const pipelines: Record<string, () => AnyDataset> = {
    'in a window': () => Dataset.range(20).window(4).flatMap(itself),
    'in a sparse tensor': () =>
      Dataset.range(1, 9)
        .map((x) => new tf.SparseTensor([[0], [2]], tf.stack([x, x.neg()]), [3]))
        .flatMap((s) => Dataset.fromTensorSlices(s.values)),
    'in batches of other sizes': () => rebatched([3, 2], false).apply(E.unbatch()),
    'in datasets in any order': () =>
      Dataset.range(4).interleave((x) => Dataset.range(x.mul(10), x.mul(10).add(9)), {
        cycleLength: 1,
        numParallelCalls: 2,
        deterministic: false,
      }),
    'in calls at the same time': () =>
      Dataset.range(20)
        .map((x) => x.add(1))
        .map((x) => x.mul(10), { numParallelCalls: 5 }),
    'in what a table has, and is checked': () => {
      const keys = tf.cast(tf.range(9), tf.int64);
      const table = new tf.lookup.StaticHashTable(new tf.lookup.KeyValueTensorInitializer(keys, keys.mul(7)), 0);
      const checked = (x: tf.Tensor) => tf.controlDependencies([tf.assertLess(x, 60)], () => tf.identity(x));
      return Dataset.range(9).map((x) => checked(table.lookup(x)));
    },
    'in a cache that is being written': () => Dataset.range(12).cache(join(folder(), 'cache')),
  };
  for (const [name, make] of Object.entries(pipelines))
    it(`${name} can be saved and gone back to`, async () => {
      const [first, again] = await goBack(make, 4);
      expect(again).toEqual(first);
    });

  it('of functions with state are refused', async () => {
    const random = () => Dataset.range(9).map(() => tf.randomUniform([], { seed: 1 }));
    await expect(goBack(random, 1)).rejects.toThrow(/RandomUniform is stateful/);
  });

  it('leave a part of a cache, which a new iterator does not take for the whole', async () => {
    const file = join(folder(), 'cache');
    await goBack(() => Dataset.range(12).cache(file), 2);
    expect(existsSync(`${file}_0.index`)).toBe(true);
    tf.resetDefaultGraph();
    await expect(elementsOf(Dataset.range(12).cache(file))).rejects.toBeInstanceOf(tf.errors.AlreadyExistsError);
  });
});
