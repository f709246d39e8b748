/** @file CsvDataset: what TensorFlow makes of records right and wrong, in files of any length, with and without the native library. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import * as tf from '../../../src/api/index.ts';
import { nativeFunctions } from '../../../src/io/native.ts';
import { nothingCalled, type WatchedLibrary } from '../watchedLibrary.ts';

const library = vi.hoisted((): WatchedLibrary => ({ isOff: false, later: [], now: [], given: {} }));
vi.mock('../../../src/io/native.ts', async (importOriginal) =>
  (await import('../watchedLibrary.ts')).watching(
    await importOriginal<typeof import('../../../src/io/native.ts')>(),
    library,
  ),
);

const { CsvDataset } = tf.data.experimental;
const root = mkdtempSync(join(tmpdir(), 'csv-'));
afterAll(() => rmSync(root, { recursive: true }));
beforeEach(() => {
  tf.resetDefaultGraph();
  Object.assign(library, nothingCalled());
});

function fileWith(content: string | Uint8Array): string {
  const path = join(mkdtempSync(join(root, 'each-')), 'x.csv');
  writeFileSync(path, content);
  return path;
}

/** All elements and messages of a dataset, up to so many. */
async function outcomes<T>(
  dataset: tf.data.Dataset<tf.Tensor[]>,
  show: (element: readonly tf.NDArray[]) => T,
  most = 10_000,
): Promise<(T | string)[]> {
  const next = dataset.makeOneShotIterator().getNext();
  using session = new tf.Session();
  const found: (T | string)[] = [];
  while (found.length < most)
    try {
      found.push(show(await session.run(next)));
    } catch (error) {
      if (error instanceof tf.errors.OutOfRangeError) return found;
      found.push((error as Error).message.split('\n\t [[')[0]!);
    }
  return found;
}

interface Case {
  readonly content: string;
  readonly types: string;
  readonly defaults: readonly (number | string | null)[];
  readonly header: boolean;
  readonly delimiter: string;
  readonly quotes: boolean;
  readonly missing: string;
  readonly select: readonly number[];
  readonly exclude: readonly number[];
  readonly outcomes: unknown;
}
const golden: readonly Case[] = JSON.parse(
  readFileSync(new URL('../../golden/data/csvRecords.json', import.meta.url), 'utf8'),
);
const types: Record<string, tf.DType> = { f: tf.float32, d: tf.float64, i: tf.int32, l: tf.int64, s: tf.string };

function datasetOf(c: Case, files: readonly string[], compressionType = ''): tf.data.Dataset<tf.Tensor[]> {
  const columns = [...c.types].map((kind, i) => {
    const [dtype, fallback] = [types[kind]!, c.defaults[i]!];
    return fallback === null ? dtype : tf.constant([fallback], dtype);
  });
  return new CsvDataset([...files], columns, {
    header: c.header,
    fieldDelim: c.delimiter,
    useQuoteDelim: c.quotes,
    naValue: c.missing,
    selectCols: c.select,
    excludeCols: c.exclude,
    compressionType,
  });
}

/** As in tools/golden/csvDataset.py. */
function shown(array: tf.NDArray): string {
  if (array.dtype === tf.string) return Buffer.from(array.objects[0] as Uint8Array).toString(); // strings are bytes
  return array.dtype.isInteger ? String(array.data[0]) : Buffer.from(array.bytes).toString('hex');
}

const itNative = nativeFunctions() ? it : it.skip;

describe('random records', () => {
  const compared = async (part: readonly Case[], path: (c: Case) => string, compression = '') => {
    for (const c of part) {
      const file = path(c);
      const found = await outcomes(datasetOf(c, [file, file], compression), (element) => element.map(shown));
      expect(found, JSON.stringify(c)).toEqual(c.outcomes);
      tf.resetDefaultGraph();
    }
  };
  itNative('are what TensorFlow makes of them', () => compared(golden, (c) => fileWith(c.content)));
  it('are the same without the library', async () => {
    library.isOff = true;
    await compared(golden.slice(0, 60), (c) => fileWith(c.content));
  });
  it('are the same in compressed files', async () => {
    await compared(golden.slice(0, 20), (c) => fileWith(gzipSync(c.content)), 'GZIP');
    await compared(golden.slice(20, 40), (c) => fileWith(deflateSync(c.content)), 'ZLIB');
  });
});

/** A record of a long file; every so many have a mistake, a number that only TypeScript reads, or a field as long as many others. */
function line(i: number): string {
  const note = i % 997 === 5 ? `"${'long, '.repeat(60_000)}"` : i % 89 === 4 ? `"two\nlines ""${i}"""` : `note ${i}`;
  return `${i},${i % 301 === 7 ? 'x' : i % 211 === 3 ? '0x10' : i / 8},${note}`;
}
const count = 2600;
const long = `id,value,note\r\n${Array.from({ length: count }, (_, i) => line(i)).join('\r\n')}`;
const columns = () => [tf.int64, tf.float32, tf.string];
const expected = Array.from({ length: count }, (_, i) => {
  if (i % 301 === 7) return 'Field 1 in record is not a valid float: x';
  const note = i % 997 === 5 ? 'long, '.repeat(60_000).length : i % 89 === 4 ? `two\nlines "${i}"` : `note ${i}`;
  return [i, i % 211 === 3 ? 16 : i / 8, note];
});
const values = (element: readonly tf.NDArray[]) =>
  element.map((array) => {
    const value = array.item();
    return typeof value === 'string' && value.length > 1000 ? value.length : value;
  });

describe('a long file', () => {
  itNative('is parsed beside the event loop', async () => {
    expect(await outcomes(new CsvDataset(fileWith(long), columns(), { header: true }), values)).toEqual(expected);
    expect(library.later).toContain('tl_csv_records');
  });

  it('is read in TypeScript too', async () => {
    library.isOff = true;
    expect(await outcomes(new CsvDataset(fileWith(long), columns(), { header: true }), values)).toEqual(expected);
  });

  it.each(['', 'GZIP'])('is read on from where an iterator was saved, with compression %j', async (compressionType) => {
    const path = fileWith(compressionType ? gzipSync(long) : long);
    const dataset = new CsvDataset([path, path], columns(), { header: true, compressionType });
    const iterator = dataset.makeInitializableIterator();
    const next = iterator.getNext();
    const saver = new tf.train.Saver({ varList: [tf.data.experimental.makeSaveableFromIterator(iterator)] });
    using session = new tf.Session();
    const take = async (records: number) => {
      const found: unknown[] = [];
      for (let i = 0; i < records; i++)
        found.push(await session.run(next).then(values, (error: Error) => error.message.split('\n')[0]));
      return found;
    };
    const folder = mkdtempSync(join(root, 'state-'));
    await session.run(iterator.initializer);
    for (const [given, behind] of [
      [0, 20],
      [10, 40],
      [1500, 40],
      [count - 1, 20],
      [count, 20],
    ] as const) {
      await session.run(iterator.initializer);
      await take(given);
      const saved = await saver.save(session, join(folder, 'state'));
      await take(7);
      await saver.restore(session, saved);
      expect(await take(behind)).toEqual([...expected, ...expected].slice(given, given + behind));
    }
  });

  it('comes in batches, of which those with a mistake are lost', async () => {
    const size = 100;
    const found = await outcomes(new CsvDataset(fileWith(long), columns(), { header: true }).batch(size), ([ids]) =>
      ids!.numbers(),
    );
    const batches = Array.from({ length: count / size }, (_, b) => {
      const rows = expected.slice(b * size, (b + 1) * size);
      return rows.find((row) => typeof row === 'string') ?? rows.map(([id]) => id);
    });
    expect(found).toEqual(batches);
  });
});

it.each([
  [{ selectCols: [0], excludeCols: [1] }, /Either select_cols or exclude_cols should be empty/],
  [{ excludeCols: [1, 0] }, /exclude_cols should be strictly increasing indices/],
  [{ excludeCols: [-1] }, /exclude_cols should be non-negative indices/],
  [{ selectCols: [-1] }, /select_cols should be non-negative indices/],
  [{ selectCols: [0, 1] }, /select_cols should match output size/],
  [{ fieldDelim: '::' }, /field_delim should be only 1 char/],
])('refuses %j', async (options, message) => {
  const [found] = await outcomes(new CsvDataset(fileWith('1,2\n'), [[0]], options), values, 1);
  expect(found).toMatch(message);
});

it('refuses defaults of more than one value', async () => {
  const dataset = new CsvDataset(fileWith('1,2\n'), [[0], [1, 2]]);
  expect((await outcomes(dataset, values, 1))[0]).toMatch(/only be 1 default per field but field 1 has 2/);
});
