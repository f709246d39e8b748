/** @file Compressed files are closed whenever their reader is done with them, not only at their end. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync, gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { openFile } from '../../../src/io/byteStream.ts';
import { encodeRecord, tfRecordIterator } from '../../../src/io/records.ts';

const folder = mkdtempSync(join(tmpdir(), 'bytes-'));
afterAll(() => rmSync(folder, { recursive: true }));

const openFiles = '/proc/self/fd';
/** Whether this process has a file open. */
function isOpen(path: string): boolean {
  return readdirSync(openFiles).some((name) => {
    try {
      return readlinkSync(join(openFiles, name)) === path;
    } catch {
      return false; // closed meanwhile
    }
  });
}

describe.runIf(process.platform === 'linux')('a file of which only a part is read', () => {
  const record = encodeRecord(randomBytes(100_000));
  const content = Buffer.concat(Array.from({ length: 60 }, () => record));
  const kinds = [
    ['', content],
    ['GZIP', gzipSync(content, { level: 0 })],
    ['ZLIB', deflateSync(content, { level: 0 })],
  ] as const;

  it.each(kinds)('is closed by its iterator: %s', async (compression, bytes) => {
    const path = join(folder, `records${compression}`);
    writeFileSync(path, bytes);
    for await (const found of tfRecordIterator(path, compression)) {
      expect(found.length).toBe(100_000);
      expect(isOpen(path)).toBe(true);
      break;
    }
    await vi.waitFor(() => expect(isOpen(path)).toBe(false));
  });

  it.each(kinds)('is closed with its stream: %s', async (compression, bytes) => {
    const path = join(folder, `bytes${compression}`);
    writeFileSync(path, bytes);
    const stream = openFile(path, compression, 1 << 16);
    const { value } = await stream[Symbol.asyncIterator]().next();
    expect(value!.length).toBeGreaterThan(0);
    stream.destroy();
    await vi.waitFor(() => expect(isOpen(path)).toBe(false));
  });

  it('is closed where it cannot be decompressed', async () => {
    const path = join(folder, 'damaged');
    writeFileSync(
      path,
      Buffer.concat([gzipSync(content, { level: 0 }).subarray(0, 100_000), Buffer.alloc(200_000, 255)]),
    );
    const stream = openFile(path, 'GZIP', 1 << 16);
    const read = async () => {
      for await (const _ of stream);
    };
    await expect(read()).rejects.toThrow(/invalid/);
    await vi.waitFor(() => expect(isOpen(path)).toBe(false));
  });
});
