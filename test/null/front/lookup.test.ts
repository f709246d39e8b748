/** @file Lookup tables: nodes, collections and values as real TensorFlow's; what is refused; checkpoints and SavedModels. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from 'tensorloom';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Built, expectAsInTensorFlow, readGolden } from './golden.ts';

let folder = '';
let words = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tensorloom-lookup-'));
  words = join(folder, 'words.txt');
  writeFileSync(words, 'brain\nsalad\nsurgery\n');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeEach(() => tf.resetDefaultGraph());

const { lookup } = tf;
const more = tf.contrib.lookup;
const longs = (...values: number[]) => tf.constant(values, tf.int64);

/** What `lookups` gives when all tables are filled. */
const filled = (lookups: () => readonly tf.Tensor[]): Built => ({
  fetches: tf.controlDependencies([tf.tablesInitializer()], lookups),
  feeds: [],
});
const after = <T>(op: tf.Operation | tf.Tensor, body: () => T): T => tf.controlDependencies([op], body);

const cases: Record<string, () => Built> = {
  static() {
    const table = new lookup.StaticHashTable(new lookup.KeyValueTensorInitializer(['a', 'b'], [7, 8]), -1);
    return filled(() => [table.lookup(tf.constant([['b', 'x'], ['a', 'b']])), table.size()]); // biome-ignore format: rows
  },
  static_file() {
    const { WHOLE_LINE, LINE_NUMBER } = lookup.TextFileIndex;
    const lines = new lookup.TextFileInitializer(words, tf.string, WHOLE_LINE, tf.int64, LINE_NUMBER);
    const table = new lookup.StaticHashTable(lines, -1, { name: 'mine' });
    return filled(() => [table.lookup(tf.constant(['salad', 'x'])), table.size()]);
  },
  vocabulary() {
    const known = new lookup.KeyValueTensorInitializer(tf.constant(['a', 'b']), longs(0, 1));
    const table = new lookup.StaticVocabularyTable(known, 3);
    return filled(() => [table.lookup(tf.constant(['b', 'x', 'yy', 'z'])), table.size()]);
  },
  buckets_only() {
    const table = new lookup.StaticVocabularyTable(null, 5);
    return filled(() => [table.lookup(tf.constant(['b', 'x', 'yy', 'z'])), table.size()]);
  },
  index_tensor() {
    const table = more.indexTableFromTensor(['a', 'b'], { numOovBuckets: 2 });
    return filled(() => [table.lookup(tf.constant(['b', 'x', 'yy', 'z'])), table.size()]);
  },
  index_integers() {
    const hasherSpec = new more.StrongHashSpec([1, 2]);
    const table = more.indexTableFromTensor([3, 4], { numOovBuckets: 4, dtype: tf.int32, hasherSpec });
    return filled(() => [table.lookup(tf.constant([4, 5, 6, 3]))]);
  },
  index_file() {
    const table = more.indexTableFromFile(words, { vocabSize: 2, defaultValue: 9 });
    return filled(() => [table.lookup(tf.constant(['brain', 'salad', 'surgery']))]);
  },
  index_file_buckets() {
    const table = more.indexTableFromFile(words, { numOovBuckets: 3, name: 'ids' });
    return filled(() => [table.lookup(tf.constant(['salad', 'tarkus', 'x', 'y'])), table.size()]);
  },
  to_string_file() {
    const table = more.indexToStringTableFromFile(words);
    return filled(() => [tf.strings.length(table.lookup(longs(1, 5)))]);
  },
  to_string_tensor() {
    const table = more.indexToStringTableFromTensor(['x', 'yyyy'], { defaultValue: 'none' });
    return filled(() => [tf.strings.length(table.lookup(longs(1, 5, 0)))]);
  },
  mutable() {
    const table = new more.MutableHashTable(tf.string, tf.int64, -1);
    const found = after(table.insert(['a', 'b'], [1, 2]), () => table.lookup(['b', 'x']));
    const gone = after(found, () => table.remove(tf.constant(['a'])));
    return { fetches: after(gone, () => [found, table.size()]), feeds: [] };
  },
  mutable_vectors() {
    const table = new more.MutableHashTable(tf.int64, tf.float32, [0.5, 1.5], { name: 'vectors', checkpoint: false });
    const dynamicDefaultValues = [[7, 8], [9, 10]]; // biome-ignore format: rows
    const fetches = after(table.insert([3], [[1, 2]]), () => [
      table.lookup([3, 4]),
      table.lookup([3, 4], { dynamicDefaultValues }),
    ]);
    return { fetches, feeds: [] };
  },
  dense() {
    const options = { initialNumBuckets: 8, name: 'dense' };
    const table = new lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, 0, -2, options);
    const found = after(table.insert([11, 12], [1, 2]), () => table.lookup([11, 13]));
    const gone = after(found, () => table.erase(longs(11)));
    return { fetches: after(gone, () => [found, table.size(), ...table.export()]), feeds: [] };
  },
  saved() {
    new more.MutableHashTable(tf.string, tf.int64, -1);
    new lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, 0, -2, { initialNumBuckets: 8 });
    new tf.train.Saver();
    return { fetches: [], feeds: [] };
  },
};

describe('tables are made as TensorFlow makes them', () => {
  const golden = readGolden('lookup');
  it('in all cases', () => expect(Object.keys(cases).sort()).toEqual(Object.keys(golden).sort()));
  for (const [name, make] of Object.entries(cases)) it(name, () => expectAsInTensorFlow(golden[name]!, make));
});

describe('tables', () => {
  it('take sparse keys', async () => {
    const table = more.indexTableFromTensor(['a', 'b'], { numOovBuckets: 1 });
    const positions = longs(0, 2, 1, 0, 1, 1).reshape([3, 2]);
    const found = table.lookup(new tf.SparseTensor(positions, ['b', 'z', 'a'], [2, 3]));
    await using sess = new tf.Session();
    await sess.run(tf.tablesInitializer());
    expect((await sess.run(found)).values.numbers()).toEqual([1, 2, 0]);
  });

  it('know the shapes of what they give', () => {
    const keys = tf.placeholder(tf.int64, [null, 2]);
    const dense = new lookup.experimental.DenseHashTable(tf.int64, tf.float32, [0, 0, 0], [0, 0], [-1, -1]);
    expect(dense.lookup(keys).shape).toEqual([null, 3]);
    expect(new more.MutableHashTable(tf.int64, tf.float32, [0, 0, 0]).lookup(keys).shape).toEqual([null, 2, 3]);
    expect(more.indexToStringTableFromTensor(['a']).lookup(keys).shape).toEqual([null, 2]);
  });

  it('have one content in a session under one name of a file', async () => {
    const [a, b] = [more.indexTableFromFile(words), more.indexTableFromFile(words)];
    await using sess = new tf.Session();
    await sess.run(a.init);
    expect((await sess.run(b.lookup(['surgery']))).numbers()).toEqual([2]);
  });

  it('go into checkpoints and come back', async () => {
    const build = () => ({
      plain: new more.MutableHashTable(tf.string, tf.int64, -1),
      dense: new lookup.experimental.DenseHashTable(tf.int64, tf.float32, -1, 0, -2, { initialNumBuckets: 8 }),
    });
    const path = join(folder, 'tables');
    {
      const { plain, dense } = build();
      await using sess = new tf.Session();
      await sess.run([plain.insert(['a', 'b'], [1, 2]), dense.insert([5, 6, 13], [0.5, 0.6, 1.3])]);
      await new tf.train.Saver().save(sess, path);
    }
    tf.resetDefaultGraph();
    const { plain, dense } = build();
    await using sess = new tf.Session();
    await sess.run([plain.insert(['old'], [9]), dense.insert([7], [9])]);
    await new tf.train.Saver().restore(sess, path);
    expect((await sess.run(plain.lookup(['b', 'a', 'old']))).numbers()).toEqual([2, 1, -1]);
    expect((await sess.run(dense.lookup([13, 5, 7]))).numbers()).toEqual([Math.fround(1.3), 0.5, -1]);
    expect(Number(await sess.run(dense.size()))).toBe(3);
  });

  it('go into SavedModels with their files', async () => {
    const exported = join(folder, 'model');
    {
      const x = tf.placeholder(tf.string, [null], { name: 'x' });
      const ids = tf.identity(more.indexTableFromFile(words).lookup(x), { name: 'ids' });
      await using sess = new tf.Session();
      const options = { inputs: { x }, outputs: { ids }, legacyInitOp: tf.tablesInitializer() };
      await tf.savedModel.simpleSave(sess, exported, { ...options });
    }
    expect(existsSync(join(exported, 'assets/words.txt'))).toBe(true);
    await using sess = new tf.Session({ graph: new tf.Graph() });
    await tf.savedModel.load(sess, [tf.savedModel.tagConstants.SERVING], exported);
    const ids = sess.graph.getTensorByName('ids:0');
    const found = await sess.run(ids, new Map([[sess.graph.getTensorByName('x:0'), ['surgery', 'no']]]));
    expect(found.numbers()).toEqual([2, -1]);
  });

  it('refuse what cannot be', () => {
    const keyValue = new lookup.KeyValueTensorInitializer(['a'], [1]);
    expect(() => new lookup.StaticHashTable(keyValue, [1, 2])).toThrow(/single value/);
    expect(() => new lookup.StaticHashTable(keyValue, -1).lookup(longs(1))).toThrow(/type of keys|string/);
    expect(() => new lookup.StaticVocabularyTable(keyValue, 1)).toThrow(/expected int64 but got .*int32/);
    expect(() => new lookup.StaticVocabularyTable(null, 0)).toThrow(/numOovBuckets must be > 0/);
    expect(() => more.indexTableFromFile('')).toThrow(/must not be empty/);
    expect(() => more.indexTableFromFile(words, { vocabSize: 0 })).toThrow(/vocabSize must be greater than 0/);
    expect(() => more.indexTableFromTensor([1, 2])).toThrow(/expected .*string.*, got .*int32/);
    expect(() => new more.StrongHashSpec([1])).toThrow(/2 numbers/);
    const { LINE_NUMBER } = lookup.TextFileIndex;
    expect(() => new lookup.TextFileInitializer(words, tf.string, LINE_NUMBER, tf.int64, 0)).toThrow(/must be int64/);
  });
});
