/** @file tf.io.TFRecordOptions, and what a full disk is called. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import * as tf from 'tensorloom';
import { expect, it } from 'vitest';
import { fileError } from '../../../src/io/fileErrors.ts';

it('names a compression by text or by number', async () => {
  const { NONE, ZLIB, GZIP } = tf.io.TFRecordCompressionType;
  const given = [NONE, ZLIB, GZIP, '', 'ZLIB', 'GZIP'] as const;
  expect(given.map((type) => new tf.pythonIo.TFRecordOptions(type).compression)).toEqual([
    '',
    'ZLIB',
    'GZIP',
    '',
    'ZLIB',
    'GZIP',
  ]);
  expect(() => new tf.io.TFRecordOptions('LZ4' as 'GZIP')).toThrow(/Unsupported compression type: 'LZ4'/);
  expect(() => new tf.io.TFRecordOptions(7 as 2)).toThrow(/Unsupported compression type: '7'/);
  const folder = mkdtempSync(join(tmpdir(), 'tensorloom-'));
  try {
    const options = new tf.io.TFRecordOptions(GZIP);
    const writer = new tf.io.TFRecordWriter(join(folder, 'x'), options);
    await writer.write(Buffer.from('one'));
    await writer.close();
    const found: string[] = [];
    for await (const record of tf.io.tfRecordIterator(join(folder, 'x'), options))
      found.push(String(Buffer.from(record)));
    expect(found).toEqual(['one']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('tells zlib how to compress', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tensorloom-'));
  try {
    const written = async (options: tf.io.ZlibChoices) => {
      const path = join(folder, 'x');
      const writer = new tf.io.TFRecordWriter(path, new tf.io.TFRecordOptions('ZLIB', options));
      for (let i = 0; i < 100; i++) writer.write(`record ${i} of a hundred`);
      await writer.close();
      return readFileSync(path);
    };
    const [stored, least, most] = [
      await written({ compressionLevel: 0 }),
      await written({ compressionLevel: 1 }),
      await written({
        compressionLevel: 9,
        windowBits: 9,
        memLevel: 9,
        compressionStrategy: 0,
        outputBufferSize: 4096,
      }),
    ];
    expect(inflateSync(stored)).toEqual(inflateSync(most));
    expect(stored.length).toBeGreaterThan(inflateSync(stored).length);
    expect(least.length).toBeLessThan(stored.length);
    expect(most.length).toBeLessThan(stored.length);
    expect([stored[0], most[0]]).toEqual([0x78, 0x18]); // the window's size is in the first byte
  } finally {
    rmSync(folder, { recursive: true });
  }
  expect(() => new tf.io.TFRecordOptions('ZLIB', { compressionLevel: 10 })).toThrow(
    'compressionLevel must be a whole number from -1 to 9, but it is 10.',
  );
  expect(() => new tf.io.TFRecordOptions('ZLIB', { level: 9 } as tf.io.ZlibChoices)).toThrow(/has no option 'level'/);
});

it('writing and closing need not be awaited', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tensorloom-'));
  try {
    for (const compression of ['', 'GZIP'] as const) {
      const path = join(folder, `x${compression}`);
      const writer = new tf.io.TFRecordWriter(path, compression);
      for (let i = 0; i < 100; i++) writer.write(new Uint8Array(20_000).fill(i)); // several blocks
      writer.close();
      await expect(writer.write('too late')).rejects.toThrow('Writer is closed.');
      const next = new tf.data.TFRecordDataset([`file://${path}`], { compressionType: compression }).batch(100);
      const found: number[] = [];
      for await (const record of tf.io.tfRecordIterator(path, compression)) found.push(record[0]!);
      expect(found).toEqual(Array.from({ length: 100 }, (_, i) => i));
      const sizes: number[] = [];
      for await (const batch of next) sizes.push(batch.size);
      expect(sizes).toEqual([100]);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('a second writer of a file begins when the first has closed it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tensorloom-'));
  try {
    for (const compression of ['', 'GZIP'] as const) {
      const path = join(folder, `x${compression}`);
      const first = new tf.io.TFRecordWriter(path, compression);
      for (let i = 0; i < 100; i++) first.write(new Uint8Array(20_000).fill(i));
      first.close();
      const second = new tf.io.TFRecordWriter(path, compression);
      second.write('second');
      second.close();
      const found: string[] = [];
      for await (const record of tf.io.tfRecordIterator(path, compression)) found.push(Buffer.from(record).toString());
      expect(found).toEqual(['second']);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('a dataset waits for a file that is being closed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tensorloom-'));
  try {
    const path = join(folder, 'x');
    const writer = new tf.io.TFRecordWriter(path);
    for (let i = 0; i < 100; i++) writer.write(new Uint8Array(20_000));
    writer.close();
    const sizes: number[] = [];
    for await (const batch of new tf.data.TFRecordDataset(path).batch(64)) sizes.push(batch.size);
    expect(sizes).toEqual([64, 36]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('a failure that nobody waited for is told when the file is closed', async () => {
  const writer = new tf.io.TFRecordWriter('/nowhere/at/all');
  for (let i = 0; i < 100; i++) writer.write(new Uint8Array(20_000));
  const closed = writer.close();
  await expect(closed).rejects.toThrow('/nowhere/at/all; No such file or directory');
  await expect(writer.close()).rejects.toBeInstanceOf(tf.errors.NotFoundError);
});

it('a full disk says no more than is true of all files', () => {
  const error = fileError(Object.assign(new Error('write'), { code: 'ENOSPC' }), '/a/b');
  expect(error).toBeInstanceOf(tf.errors.ResourceExhaustedError);
  expect((error as Error).message).toBe('/a/b; No space left on device'); // seen to be one
});
