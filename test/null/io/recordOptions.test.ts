/** @file tf.io.TFRecordOptions, and what a full disk is called. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

it('a full disk says no more than is true of all files', () => {
  const error = fileError(Object.assign(new Error('write'), { code: 'ENOSPC' }), '/a/b');
  expect(error).toBeInstanceOf(tf.errors.ResourceExhaustedError);
  expect((error as Error).message).toBe('/a/b; No space left on device'); // seen to be one
});
