/** @file Work on the host that takes long lets other work go on: every op here is given many elements. */
import { describe, expect, test, vi } from 'vitest';
import * as tf from '../../src/api/index.ts';
import { fromNested } from '../../src/core/ndarray.ts';
import { turnsDuring } from '../turnsDuring.ts';

const count = 20_000;
const encoder = new TextEncoder();
const texts = (text: (i: number) => string, size = count) =>
  new tf.NDArray(
    tf.string,
    [size],
    Array.from({ length: size }, (_, i) => encoder.encode(text(i))),
  );

type Fetches = tf.Tensor | readonly (tf.Tensor | tf.Operation)[];
/** Arrays to feed, and what is made of them. */
type Row = readonly [fed: readonly tf.NDArray[], build: (...x: tf.Tensor[]) => Fetches];

const words = texts((i) => ` Word ${i % 1000} `);
const numbers = new tf.NDArray(
  tf.float32,
  [count],
  Float32Array.from({ length: count }, (_, i) => (i % 1000) / 8),
);

/** Every other place of a matrix. */
const places = new tf.NDArray(
  tf.int64,
  [count, 2],
  BigInt64Array.from({ length: 2 * count }, (_, i) => BigInt(i % 2 === 0 ? Math.floor(i / 200) : i % 200)),
);
const sparse = (indices: tf.Tensor, values: tf.Tensor) => new tf.SparseTensor(indices, values, [200, 200]);

/** Whole numbers, some of them more than once. */
const wholes = new tf.NDArray(
  tf.int32,
  [count],
  Int32Array.from({ length: count }, (_, i) => (i * 7) % 1000),
);
const longs = new tf.NDArray(tf.int64, [count], BigInt64Array.from(wholes.data, BigInt));

/** Signals of 200 numbers. */
const signals = (x: tf.Tensor) => tf.reshape(tf.tile(x, [8]), [-1, 200]);

/** Rows of four. */
const ragged = (values: tf.Tensor) => tf.RaggedTensor.fromRowLengths(values, tf.fill([count / 4], 4));

const denseTable = () => new tf.contrib.lookup.MutableDenseHashTable(tf.int64, tf.float32, 0, -1n, -2n);

const rows: Readonly<Record<string, Row>> = {
  stringJoin: [[words], (x) => tf.stringJoin([x, 'a', x])],
  reduceJoin: [[words], (x) => tf.reduceJoin(tf.reshape(x, [-1, 2]), 1)],
  stringSplit: [[words], (x) => tf.stringSplit(x).values],
  substr: [[words], (x) => tf.substr(x, 1, 2)],
  'strings.length': [[words], (x) => tf.strings.length(x)],
  'strings.lower': [[words], (x) => tf.strings.lower(x)],
  stringStrip: [[words], (x) => tf.stringStrip(x)],
  regexFullMatch: [[words], (x) => tf.strings.regexFullMatch(x, '.*9.*')],
  regexReplace: [[words], (x) => tf.regexReplace(x, '[0-9]', '\\0')],
  stringToHashBucketFast: [[words], (x) => tf.stringToHashBucketFast(x, 10)],
  asString: [[numbers], (x) => tf.asString(x)],
  stringToNumber: [[texts((i) => `${i}.5`)], (x) => tf.stringToNumber(x)],
  encodeBase64: [[words], (x) => tf.encodeBase64(x)],
  'equal strings': [[words, words], (x, y) => tf.equal(x, y)],
  'sums of strings': [[words, words], (x, y) => tf.add(x, y)],
  unique: [[numbers], (x) => tf.unique(x).idx],
  'unique strings': [[words], (x) => tf.unique(x).idx],
  setdiff1d: [[numbers, numbers], (x, y) => tf.setdiff1d(x, y).out],
  dynamicPartition: [
    [numbers, wholes],
    (x, y) => tf.dynamicPartition(tf.tile(x, [20]), tf.tile(tf.mod(y, 3), [20]), 3),
  ],
  dynamicStitch: [[wholes, numbers], (x, y) => tf.dynamicStitch([tf.tile(x, [20])], [tf.tile(y, [20])])],
  randomShuffle: [[], () => tf.randomShuffle(tf.range(10 * count))],
  randomGamma: [[], () => tf.randomGamma([count], 2.5)],
  randomPoisson: [[], () => tf.randomPoisson(3, [count])],
  multinomial: [[numbers], (x) => tf.multinomial(tf.reshape(x, [100, -1]), 50)],
  besselI0e: [[numbers], (x) => tf.math.besselI0e(x)],
  betainc: [[numbers], (x) => tf.betainc(2, 3, tf.div(x, 200))],
  drawBoundingBoxes: [
    [numbers],
    (x) => tf.image.drawBoundingBoxes(tf.reshape(x, [50, 20, 20, 1]), tf.tile([[[0, 0, 0.5, 1]]], [50, 5, 1])),
  ],
  'lookup in a table': [[words], (x) => tf.contrib.lookup.indexTableFromTensor(['a']).lookup(x)],
  'insertion into a table': [
    [words, numbers],
    (x, y) => [new tf.contrib.lookup.MutableHashTable(tf.string, tf.float32, 0).insert(x, y)],
  ],
  'export of a table': [
    [],
    () => {
      const table = new tf.contrib.lookup.MutableHashTable(tf.int64, tf.float32, 0);
      const keys = tf.range(2 * count, { dtype: tf.int64 });
      tf.addToCollection(tf.GraphKeys.TABLE_INITIALIZERS, table.insert(keys, tf.zeros([2 * count])));
      return table.export();
    },
  ],
  'lookup in a dense table': [[longs], (x) => denseTable().lookup(x)],
  'insertion into a dense table': [[longs, numbers], (x, y) => [denseTable().insert(x, y)]],
  'removal from a dense table': [[longs], (x) => [denseTable().remove(x)]],
  'sparse.add': [[places, numbers], (i, v) => tf.sparse.add(sparse(i, v), sparse(i, v)).values],
  'sparse.concat': [[places, numbers], (i, v) => tf.sparse.concat(0, [sparse(i, v), sparse(i, v)]).values],
  'sparse.toDense': [[places, numbers], (i, v) => tf.sparse.toDense(sparse(i, v))],
  'sparse.reorder': [[places, numbers], (i, v) => tf.sparse.reorder(sparse(i, v)).values],
  'sparse.reduceSum': [[places, numbers], (i, v) => tf.sparse.reduceSum(sparse(i, v), 1)],
  'sparse.slice': [[places, numbers], (i, v) => tf.sparse.slice(sparse(i, v), [0, 0], [99, 99]).values],
  'sparse.split': [[places, numbers], (i, v) => tf.sparse.split(sparse(i, v), 2, 1).map(({ values }) => values)],
  'sparse.fillEmptyRows': [[places, numbers], (i, v) => tf.sparse.fillEmptyRows(sparse(i, v), 0)[0].values],
  'sparse.reshape': [[places, numbers], (i, v) => tf.sparse.reshape(sparse(i, v), [-1, 4]).indices],
  'sparse.softmax': [[places, numbers], (i, v) => tf.sparse.softmax(sparse(i, v)).values],
  'sparse.matmul': [[places, numbers], (i, v) => tf.sparse.matmul(sparse(i, v), tf.ones([200, 1]))],
  editDistance: [[places, numbers], (i, v) => tf.editDistance(sparse(i, v), sparse(i, v))],
  'editDistance of two long sequences': [
    [numbers],
    (x) => {
      const places = tf.stack([tf.zeros([1000], tf.int64), tf.range(1000, { dtype: tf.int64 })], 1);
      const sequence = new tf.SparseTensor(places, tf.slice(x, [0], [1000]), [1, 1000]);
      return tf.editDistance(sequence, sequence);
    },
  ],
  serializeManySparse: [[places, numbers], (i, v) => tf.serializeManySparse(sparse(i, v))],
  'sets.size': [[places, wholes], (i, v) => tf.sets.setSize(sparse(i, v))],
  'sets.union': [[wholes], (x) => tf.sets.setUnion(tf.reshape(x, [100, -1]), tf.reshape(x, [100, -1])).values],
  'ragged.toSparse': [[numbers], (x) => ragged(x).toSparse().indices],
  'ragged.toTensor': [[numbers], (x) => ragged(x).toTensor()],
  'ragged.range': [[longs], (x) => tf.ragged.range(tf.floormod(x, 4n)).flatValues],
  // Native code takes real time for it.
  fft: [[numbers], (x) => tf.fft(tf.cast(tf.tile(signals(x), [10, 1]), tf.complex64))],
  rfft: [[numbers], (x) => tf.signal.rfft(signals(x))],
  irfft: [[numbers], (x) => tf.signal.irfft(tf.cast(signals(x), tf.complex64))],
  'image.nonMaxSuppression': [
    [numbers],
    (x) => tf.image.nonMaxSuppression(tf.reshape(x, [-1, 4]), tf.slice(x, [0], [count / 4]), 1000),
  ],
  'nn.ctcGreedyDecoder': [
    [numbers],
    (x) => tf.nn.ctcGreedyDecoder(tf.reshape(tf.tile(x, [60]), [-1, 20, 10]), tf.fill([20], 6000))[1],
  ],
  'nn.ctcBeamSearchDecoder': [
    [numbers],
    (x) => tf.nn.ctcBeamSearchDecoder(tf.reshape(x, [100, 20, 10]), tf.fill([20], 100), { beamWidth: 10 })[1],
  ],
  enqueueMany: [[numbers], (x) => [new tf.FIFOQueue(-1, [tf.float32], { shapes: [[]] }).enqueueMany([x])]],
  dequeueMany: [
    [],
    () => {
      const queue = new tf.FIFOQueue(-1, [tf.float32], { shapes: [[]] });
      tf.addToCollection(tf.GraphKeys.TABLE_INITIALIZERS, queue.enqueueMany([tf.zeros([2 * count])]));
      return queue.dequeueMany(count) as tf.Tensor;
    },
  ],
};

/** How often the event loop comes round during the second run, by a clock of which every question takes a millisecond. */
async function turnsOf([fed, build]: Row): Promise<number> {
  const graph = new tf.Graph();
  const [feeds, fetches, initial] = graph.asDefault(() => {
    const places = fed.map(({ dtype, shape }) => tf.placeholder(dtype, shape));
    return [places.map((x, i) => [x, fed[i]!] as const), build(...places), tf.tablesInitializer()] as const;
  });
  using session = new tf.Session({ graph });
  await session.run(initial);
  await session.run(fetches, feeds);
  return (await turnsDuring(() => session.run(fetches, feeds))) - 1;
}

/** The next element of a dataset. */
const nextOf = (dataset: tf.data.Dataset<tf.Tensor>) => {
  const iterator = dataset.makeInitializableIterator();
  tf.addToCollection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer);
  return iterator.getNext();
};

const datasets: typeof rows = {
  'a batch of many': [[], () => nextOf(tf.data.Dataset.range(1e9).batch(count))],
  'a batch of large elements': [
    [],
    () =>
      nextOf(
        tf.data.Dataset.fromTensors(tf.zeros([100_000]))
          .repeat()
          .batch(50),
      ),
  ],
  'a large array in slices': [
    [new tf.NDArray(tf.float32, [250 * count], new Float32Array(250 * count))],
    (x) => [tf.data.Dataset.fromTensorSlices(x).makeInitializableIterator().initializer],
  ],
  'a large shuffle': [[], () => nextOf(tf.data.Dataset.range(1e9).batch(2).shuffle(count).take(1).repeat())],
};

describe('many elements', () => {
  test('strings fed and fetched', async () => {
    expect(await turnsOf([[words], (x) => tf.identity(x)])).toBe(3);
  });

  test.each(Object.keys(rows))('%s', async (name) => {
    expect(await turnsOf(rows[name]!)).toBeGreaterThan(5); // more than for feeds and fetches
  });

  test.each(Object.keys(datasets))('%s', async (name) => {
    expect(await turnsOf(datasets[name]!)).toBeGreaterThan(5);
  });
});

test('very many texts are fed as they were when the run began', async () => {
  const graph = new tf.Graph();
  const [flat, deep, fetches] = graph.asDefault(() => {
    const [flat, deep] = [tf.placeholder(tf.string, [null]), tf.placeholder(tf.string)];
    return [flat, deep, [tf.identity(flat), tf.identity(deep)]] as const;
  });
  using session = new tf.Session({ graph });
  const words = Array.from({ length: count }, (_, i) => ['', 'grün', '\ud800', '\udc00', '🌱'][i % 97] ?? `word ${i}`);
  const rows = Array.from({ length: count / 10 }, (_, i) => words.slice(10 * i, 10 * i + 10));
  const expected = [fromNested(words, tf.string), fromNested(rows, tf.string)] as const;
  const run = async () => {
    const fed = words.slice();
    const running = session.run(fetches, [[flat, fed], [deep, rows]]); // biome-ignore format: one line
    fed.fill('changed');
    const [foundFlat, foundDeep] = await running;
    expect(foundFlat.equals(expected[0])).toBe(true);
    expect(foundDeep.equals(expected[1])).toBe(true);
  };
  await run();
  expect(await turnsDuring(run)).toBeGreaterThan(5);
  await expect(session.run(flat, [[flat, rows]])).rejects.toThrow(/Cannot feed value of shape \(2000, 10\)/);
});

test('a table is not changed while somebody looks into it', async () => {
  const graph = new tf.Graph();
  const keys = new tf.NDArray(
    tf.int32,
    [count],
    Int32Array.from({ length: count }, (_, i) => i),
  );
  const [insertion, value, found] = graph.asDefault(() => {
    const table = new tf.contrib.lookup.MutableHashTable(tf.int32, tf.int32, -1);
    const value = tf.placeholder(tf.int32, []);
    return [table.insert(keys, tf.fill([count], value)), value, table.lookup(keys)] as const;
  });
  using session = new tf.Session({ graph });
  await session.run(insertion, [[value, 0]]);
  let time = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => ++time);
  const runs = [1, 2, 3].map((i) => [session.run(insertion, [[value, i]]), session.run(found)] as const);
  const results = await Promise.all(runs.map(([, found]) => found));
  await Promise.all(runs.map(([insertion]) => insertion));
  await new Promise(setImmediate);
  clock.mockRestore();
  for (const result of results) expect(new Set(result.numbers()).size).toBe(1);
});

test('elements that are put into a queue together are there together', async () => {
  const graph = new tf.Graph();
  const [insertion, first] = graph.asDefault(() => {
    const queue = new tf.PriorityQueue(-1, [tf.int64], { shapes: [[]] });
    const falling = tf.range(count, 0, -1, { dtype: tf.int64 });
    return [queue.enqueueMany([falling, falling]), queue.dequeue() as tf.Tensor[]] as const;
  });
  using session = new tf.Session({ graph });
  let time = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => ++time);
  const taken = session.run(first[1]!);
  await session.run(insertion);
  const element = await taken;
  clock.mockRestore();
  expect(element.item()).toBe(1);
});

describe('elements that are on their way into a queue', () => {
  const many = 50 * count;

  /** Ends an `enqueueMany` somehow after its first pauses; gives what came of it, and how many elements are in the queue. */
  async function interrupted(
    end: (session: tf.Session, close: tf.Operation, controller: AbortController) => Promise<unknown> | undefined,
  ): Promise<readonly [outcome: unknown, size: number]> {
    const graph = new tf.Graph();
    const [insertion, close, size] = graph.asDefault(() => {
      const queue = new tf.FIFOQueue(-1, [tf.int32], { shapes: [[]] });
      return [queue.enqueueMany([tf.range(many)]), queue.close({ cancelPendingEnqueues: true }), queue.size()] as const;
    });
    using session = new tf.Session({ graph });
    await session.run(size);
    await session.run(size);
    let time = performance.now();
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => ++time);
    const controller = new AbortController();
    const outcome = session.run(insertion, undefined, { signal: controller.signal }).then(
      () => 'done',
      (error: Error) => error.name,
    );
    for (let found = 0; found === 0; ) found = Number(await session.run(size));
    const ending = end(session, close, controller);
    const found = [await outcome, Number(await session.run(size))] as const;
    clock.mockRestore();
    await ending;
    return found;
  }

  test('are all there when it is closed', async () => {
    expect(await interrupted((session, close) => session.run(close))).toEqual(['done', many]);
  });

  test('are all there when their run is cancelled', async () => {
    const cancelled = interrupted((_session, _close, controller) => {
      controller.abort();
      return undefined;
    });
    expect((await cancelled)[1]).toBe(many);
  });
});
