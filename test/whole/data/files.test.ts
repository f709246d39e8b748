/** @file Datasets of files: lines, records and stretches of equal length, compressed or not; caches; what goes wrong. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { deflateSync, gzipSync } from 'node:zlib';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import * as tf from '../../../src/api/index.ts';

const { Dataset, TextLineDataset, TFRecordDataset, FixedLengthRecordDataset } = tf.data;
const folder = mkdtempSync(join(tmpdir(), 'tensorloom-data-'));
const at = (name: string) => join(folder, name);

beforeEach(() => tf.resetDefaultGraph());
beforeAll(async () => {
  writeFileSync(at('a.txt'), 'one\ntwo\r\n\nfour');
  writeFileSync(at('b.txt'), 'five\nsix\n');
  writeFileSync(at('a.txt.gz'), gzipSync('one\ntwo\n'));
  writeFileSync(at('a.txt.z'), deflateSync('one\ntwo\n'));
  writeFileSync(at('fixed.bin'), 'HHaaabbbcccF');
  const writer = new tf.io.TFRecordWriter(at('r.tfrecords'));
  for (let i = 0; i < 1000; i++) await writer.write(`record ${i}`);
  await writer.close();
  const bytes = readFileSync(at('r.tfrecords'));
  writeFileSync(at('cut.tfrecords'), bytes.subarray(0, 100));
  bytes[50] = bytes[50]! ^ 1;
  writeFileSync(at('damaged.tfrecords'), bytes);
});

async function texts(dataset: tf.data.Dataset<tf.Tensor>): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const x of dataset) found.push((x as tf.NDArray).item());
  return found;
}

describe('files', () => {
  it('of lines', async () => {
    expect(await texts(new TextLineDataset([at('a.txt'), at('b.txt')]))).toEqual([
      ...['one', 'two', '', 'four'],
      ...['five', 'six'],
    ]);
    expect(await texts(new TextLineDataset(at('a.txt.gz'), { compressionType: 'GZIP' }))).toEqual(['one', 'two']);
    expect(await texts(new TextLineDataset(at('a.txt.z'), { compressionType: 'ZLIB' }))).toEqual(['one', 'two']);
  });

  it('several at a time, in turns', async () => {
    const files = [at('a.txt'), at('b.txt')];
    expect(await texts(new TextLineDataset(files, { numParallelReads: 2 }))).toEqual([
      ...['one', 'five', 'two', 'six'],
      ...['', 'four'],
    ]);
  });

  it('of records', async () => {
    const found = await texts(new TFRecordDataset(at('r.tfrecords')).skip(998));
    expect(found).toEqual(['record 998', 'record 999']);
  });

  it('of comma-separated values', async () => {
    writeFileSync(at('t.csv'), 'x,y,z\n1,2.5,"a ""b""\n, c"\r\n,3,d\n7,oops,e\n8,1e3,\n');
    const columns = [[9], tf.float32, tf.string];
    const next = new tf.data.experimental.CsvDataset(at('t.csv'), columns, { header: true })
      .makeOneShotIterator()
      .getNext();
    using session = new tf.Session();
    const values = async () => (await session.run(next)).map((x) => x.item());
    expect(await values()).toEqual([1, 2.5, 'a "b"\n, c']);
    expect(await values()).toEqual([9, 3, 'd']);
    await expect(values()).rejects.toThrow('Field 1 in record is not a valid float: oops');
    await expect(values()).rejects.toThrow('Field 2 is required but missing in record!');
    await expect(values()).rejects.toThrow('End of sequence');
  });

  it('of stretches of equal length', async () => {
    const options = { headerBytes: 2, footerBytes: 1 };
    expect(await texts(new FixedLengthRecordDataset(at('fixed.bin'), 3, options))).toEqual(['aaa', 'bbb', 'ccc']);
    await expect(texts(new FixedLengthRecordDataset(at('fixed.bin'), 4, options))).rejects.toThrow(
      `Excluding the header (2 bytes) and footer (1 bytes), input file "${at('fixed.bin')}" has body length 9 bytes, which is not an exact multiple of the record length (4 bytes).`,
    );
  });

  it('that match patterns', async () => {
    expect(await texts(Dataset.listFiles(join(folder, '?.txt'), { shuffle: false }))).toEqual([
      at('a.txt'),
      at('b.txt'),
    ]);
    await expect(texts(Dataset.listFiles(join(folder, '*.none')))).rejects.toThrow(
      /No files matched pattern: .*\*\.none/,
    );
  });

  it('that are not there, cut off or damaged are errors, after which the next file comes', async () => {
    const missing = new TextLineDataset([at('none.txt'), at('b.txt')]).makeOneShotIterator().getNext();
    using session = new tf.Session();
    await expect(session.run(missing)).rejects.toBeInstanceOf(tf.errors.NotFoundError);
    expect((await session.run(missing)).item()).toBe('five');
    await expect(texts(new TFRecordDataset(at('cut.tfrecords')))).rejects.toBeInstanceOf(tf.errors.DataLossError);
    await expect(texts(new TFRecordDataset(at('damaged.tfrecords')))).rejects.toThrow(/corrupted record at/);
    await expect(texts(new TFRecordDataset(at('r.tfrecords'), { compressionType: 'GZIP' }))).rejects.toBeInstanceOf(
      tf.errors.DataLossError,
    );
  });

  it('go to the file of a cache as they come, which is nobody’s until all are there', async () => {
    const rows = Dataset.range(4).map((x) => tf.fill([1000], x));
    const prefix = at('streamed');
    const inFolder = () => readdirSync(dirname(prefix)).filter((name) => name.startsWith('streamed'));
    const written = () => inFolder().flatMap((name) => (name.includes('.data-') ? [statSync(at(name)).size] : []));
    let seen = 0;
    for await (const _ of rows.cache(`file://${prefix}`)) expect(written()).toEqual([8000 * ++seen]);
    expect(inFolder().sort()).toEqual(['streamed.data-00000-of-00001', 'streamed.index']);
    const left = at('left');
    for await (const _ of rows.cache(left)) break;
    expect(readdirSync(dirname(left)).filter((name) => name.startsWith('left'))).toEqual([]);
  });

  it('keep what a cache has seen once it was complete', async () => {
    let made = 0;
    const dataset = Dataset.range(5)
      .map((x) => tf.jsFunc((a: tf.NDArray) => (made += 1) && a, [x], tf.int64))
      .cache(at('cache'));
    const numbers = async () => {
      const found: number[] = [];
      for await (const x of dataset) found.push(Number(x));
      return found;
    };
    for await (const x of dataset) if (Number(x) === 2) break;
    expect(existsSync(at('cache_0.lockfile'))).toBe(false);
    expect(made).toBe(3);
    expect(await numbers()).toEqual([0, 1, 2, 3, 4]);
    expect(await numbers()).toEqual([0, 1, 2, 3, 4]);
    expect(made).toBe(8);
  });
});
