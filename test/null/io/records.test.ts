/** @file Records in pieces, records that end too soon, records that are damaged; checksums of all lengths. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync, gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { DataLossError } from '../../../src/core/errors.ts';
import { crc32c, maskCrc, maskedCrc, portableCrc32c } from '../../../src/io/crc32c.ts';
import { encodeRecord, type RecordCompression, RecordSplitter, tfRecordIterator } from '../../../src/io/records.ts';
import { RecordBlock, TFRecordWriter } from '../../../src/io/recordWriter.ts';

const folder = mkdtempSync(join(tmpdir(), 'records-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Bytes that look random, and are the same each time. */
function noise(length: number, seed = 1): Uint8Array {
  const data = new Uint8Array(length);
  for (let i = 0; i < length; i += 32) {
    const block = createHash('sha256').update(`${seed} ${i}`).digest();
    data.set(block.subarray(0, Math.min(32, length - i)), i);
  }
  return data;
}

describe('CRC-32C', () => {
  /** Bit by bit, as the definition has it. */
  function slow(bytes: Uint8Array): number {
    let crc = ~0;
    for (const byte of bytes) {
      crc ^= byte;
      for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
    }
    return ~crc >>> 0;
  }
  const data = noise(40_000);

  it('of every way to cut the work into groups and stretches', () => {
    for (const length of [0, 1, 7, 8, 9, 63, 64, 65, 71, 4096, 12_287, 12_288, 12_289, 12_296, 36_864, 40_000])
      for (const start of [0, 1, 5]) {
        const part = data.subarray(start, Math.max(start, length));
        expect([length, start, crc32c(part)]).toEqual([length, start, slow(part)]);
        expect([length, start, portableCrc32c(part)]).toEqual([length, start, slow(part)]);
      }
  });

  it('goes on from a checksum, and takes more than its memory holds', () => {
    const long = noise(2_300_001, 2);
    const cut = 1_200_007;
    for (const crc of [crc32c, portableCrc32c])
      expect(crc(long.subarray(cut), crc(long.subarray(0, cut)))).toBe(crc(long));
    expect(crc32c(long)).toBe(portableCrc32c(long));
    expect(crc32c(new TextEncoder().encode('123456789'))).toBe(0xe3069283);
  });
});

describe('records in pieces', () => {
  const contents = [noise(5), noise(0), noise(300), noise(70, 3)];
  const stream = Buffer.concat(contents.map(encodeRecord));
  const split = (size: number) => {
    const splitter = new RecordSplitter();
    const found: Uint8Array[] = [];
    for (let at = 0; at < stream.length; at += size) found.push(...splitter.push(stream.subarray(at, at + size)));
    splitter.end();
    return found.map((record) => Buffer.from(record));
  };

  it('are the same however they come', () => {
    for (const size of [1, 2, 11, 12, 13, 16, 17, 100, 333, stream.length])
      expect(split(size)).toEqual(contents.map((c) => Buffer.from(c)));
  });

  it('end where the stream ends, and nowhere else', () => {
    const ends = new Set([0]);
    let end = 0;
    for (const content of contents) ends.add((end += content.length + 16));
    for (let length = 0; length <= stream.length; length++) {
      const splitter = new RecordSplitter();
      const found = [...splitter.push(stream.subarray(0, length))];
      const start = [...ends].filter((x) => x <= length).length - 1;
      expect(found).toHaveLength(start);
      if (ends.has(length)) splitter.end();
      else {
        const place = [...ends].filter((x) => x <= length).at(-1);
        expect(() => splitter.end()).toThrow(
          new DataLossError(`truncated record at ${place}' failed with Read less bytes than requested`),
        );
      }
    }
  });

  it('are refused wherever a bit is wrong, after those in front of it', () => {
    let seen = 0;
    for (let at = 0; at < stream.length; at++) {
      const damaged = Uint8Array.from(stream);
      damaged[at]! ^= 1 << (at % 8);
      const splitter = new RecordSplitter();
      const found: Uint8Array[] = [];
      expect(() => {
        for (const record of splitter.push(damaged)) found.push(record);
        splitter.end();
      }).toThrow(/^corrupted record at \d+( \(Is this even a TFRecord file\?\))?$/);
      seen = Math.max(seen, found.length);
    }
    expect(seen).toBe(3);
  });

  it('that claim more than there is hold no memory', () => {
    const header = new Uint8Array(12);
    const view = new DataView(header.buffer);
    view.setUint32(4, 1 << 20, true);
    view.setUint32(8, maskedCrc(header.subarray(0, 8)), true);
    expect(() => [...new RecordSplitter().push(header)]).toThrow(
      /claims 4503599627370496 bytes, more than fit in memory/,
    );
    view.setBigUint64(0, 2n ** 31n, true);
    view.setUint32(8, maskCrc(crc32c(header.subarray(0, 8))), true);
    expect(() => [...new RecordSplitter(12).push(header)]).toThrow(/truncated record at 0'/);
    const patient = new RecordSplitter();
    expect([...patient.push(header)]).toEqual([]);
    expect(() => patient.end()).toThrow(/truncated record at 0'/);
  });
});

describe('files of records', () => {
  const contents = [noise(1000), noise(2000, 2)];
  const plain = Buffer.concat(contents.map(encodeRecord));
  const read = async (bytes: Uint8Array, compression: RecordCompression) => {
    const path = join(folder, 'some');
    writeFileSync(path, bytes);
    const found: number[] = [];
    for await (const record of tfRecordIterator(path, { compression })) found.push(record.length);
    return found;
  };

  it('compressed ones end too soon like others', async () => {
    expect(await read(gzipSync(plain), 'GZIP')).toEqual([1000, 2000]);
    for (const [packed, compression] of [
      [gzipSync(plain), 'GZIP'],
      [deflateSync(plain), 'ZLIB'],
    ] as const) {
      await expect(read(packed.subarray(0, 1500), compression)).rejects.toThrow(/^truncated record at 1016'/);
      await expect(read(plain, compression)).rejects.toThrow(
        /inflate\(\) failed with error -3: incorrect header check/,
      );
    }
  });

  it('stop when their reader stops', async () => {
    writeFileSync(join(folder, 'many'), Buffer.concat(Array.from({ length: 100 }, () => plain)));
    let count = 0;
    for await (const _ of tfRecordIterator(join(folder, 'many'))) if (++count === 3) break;
    expect(count).toBe(3);
  });

  it('that are none say so', async () => {
    await expect(read(new TextEncoder().encode('this is no file of records'), '')).rejects.toThrow(
      new DataLossError('corrupted record at 0 (Is this even a TFRecord file?)'),
    );
    expect(await read(new Uint8Array(0), '')).toEqual([]);
    await expect(tfRecordIterator(join(folder, 'absent')).next()).rejects.toThrow(/absent; No such file or directory/);
    await expect(tfRecordIterator(folder).next()).rejects.toThrow(/Is a directory/);
  });
});

describe('records that are written', () => {
  const contents = async (path: string, compression: RecordCompression) => {
    const found: Uint8Array[] = [];
    for await (const record of tfRecordIterator(path, { compression })) found.push(record);
    return found;
  };

  it('come in the order of the calls, long ones too, whether or not anybody waits', async () => {
    const lengths = Array.from({ length: 600 }, (_, i) => (i % 97 === 5 ? 300_000 + i : (i * 37) % 3000));
    const all = lengths.map((length, i) => new Uint8Array(length).fill(i));
    for (const compression of ['', 'GZIP'] as const) {
      const path = join(folder, 'written');
      const writer = new TFRecordWriter(path, { compression });
      const some = all.slice(0, 300).map((record) => writer.write(record));
      await Promise.all(some);
      for (const record of all.slice(300)) await writer.write(record);
      await writer.close();
      const found = await contents(path, compression);
      expect(found.map(({ length }) => length)).toEqual(lengths);
      for (const [i, record] of found.entries()) expect(Buffer.compare(record, all[i]!)).toBe(0);
    }
  });

  it('have their checksums, with the native library and without it', async () => {
    const all = [noise(0), noise(3), noise(1000, 2), noise(20_000, 3)];
    const sealed = async (seal: (block: RecordBlock) => Promise<void> | void) => {
      const block = new RecordBlock(1 << 16);
      for (const data of all) block.put(data);
      await seal(block);
      return Buffer.from(block.bytes.subarray(0, block.used));
    };
    const expected = Buffer.concat(all.map(encodeRecord));
    expect(await sealed((block) => block.seal())).toEqual(expected);
    expect(await sealed((block) => block.sealHere())).toEqual(expected);
  });

  describe('that are still on their way', () => {
    /** Sealing the first block takes until `release`; the others are sealed at once. */
    function slowFirstBlock() {
      let release = () => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      const seal = vi.spyOn(RecordBlock.prototype, 'seal').mockImplementation(async function (this: RecordBlock) {
        if (seal.mock.calls.length === 1) await held;
        this.sealHere();
      });
      return { seal, release, [Symbol.dispose]: () => seal.mockRestore() };
    }
    /** Whatever could happen without the first block has happened by then. */
    const turns = async () => {
      for (let i = 0; i < 10; i++) await new Promise(setImmediate);
    };

    it.each([
      ['a record larger than a block', [10, 1 << 19, 20]],
      ['more blocks', [1 << 17, 1 << 17, 1 << 17, 1 << 17, 1 << 17, 5]],
    ])('are not overtaken by %s', async (_what, lengths) => {
      using slow = slowFirstBlock();
      const path = join(folder, `overtaking ${lengths.length}`);
      const writer = new TFRecordWriter(path);
      const all = lengths.map((length, i) => noise(length, i));
      for (const record of all) void writer.write(record);
      await turns();
      expect(slow.seal).toHaveBeenCalledTimes(1);
      slow.release();
      await writer.close();
      const found = await contents(path, '');
      expect(found.map((record, i) => Buffer.compare(record, all[i]!))).toEqual(all.map(() => 0));
    });

    it('are none when nothing was written', async () => {
      using slow = slowFirstBlock();
      await using writer = new TFRecordWriter(join(folder, 'nothing'));
      await writer.flush();
      expect(slow.seal).not.toHaveBeenCalled();
    });
  });

  it('are in the file after flush', async () => {
    const path = join(folder, 'flushed');
    await using writer = new TFRecordWriter(path);
    await writer.write('one');
    await writer.flush();
    expect((await contents(path, '')).map((record) => new TextDecoder().decode(record))).toEqual(['one']);
    await writer.write('two');
    await writer.close();
    expect(await contents(path, '')).toHaveLength(2);
    await expect(writer.write('three')).rejects.toThrow('Writer is closed.');
  });

  it('to where nothing can be written say so, and do not hang', async () => {
    for (const compression of ['', 'ZLIB'] as const) {
      const writer = new TFRecordWriter(join(folder, 'absent', 'records'), { compression });
      const record = noise(1000);
      const writing = (async () => {
        for (let i = 0; i < 2000; i++) await writer.write(record);
        await writer.flush();
      })();
      await expect(writing).rejects.toThrow(/No such file or directory/);
      await expect(writer.close()).rejects.toThrow(/No such file or directory/);
    }
  });
});
