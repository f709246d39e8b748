/** @file Records and checkpoints: TensorFlow's files are read, and ours are the same byte for byte. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { float32, int8, int16 } from '../../../src/core/dtypes.ts';
import { DataLossError, NotFoundError } from '../../../src/core/errors.ts';
import { NDArray, scalar } from '../../../src/core/ndarray.ts';
import { crc32c, maskCrc, maskedCrc, unmaskCrc } from '../../../src/io/crc32c.ts';
import { encodeRecord, type RecordCompression, tfRecordIterator } from '../../../src/io/records.ts';
import { TFRecordWriter } from '../../../src/io/recordWriter.ts';
import { BundleReader, mergeBundles, type StoredTensor, writeBundle } from '../../../src/io/tensorBundle.ts';
import { parseShapeAndSlice, sliceKey } from '../../../src/io/tensorSlice.ts';

const golden = fileURLToPath(new URL('../../golden/io', import.meta.url));
const bytes = (text: string) => new TextEncoder().encode(text);
const hex = (data: Uint8Array) => Buffer.from(data).toString('hex');
let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tensorloom-io-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const records = [bytes('abc'), new Uint8Array(0), Uint8Array.from({ length: 768 }, (_, i) => i % 256), bytes('größer')];

describe('checksums', () => {
  test('are CRC-32C, stored masked', () => {
    expect(crc32c(bytes('123456789'))).toBe(0xe3069283);
    expect(maskedCrc(bytes('123456789'))).toBe(0xc78ab0e5);
    expect(unmaskCrc(maskCrc(0xe3069283))).toBe(0xe3069283);
    expect(crc32c(bytes('6789'), crc32c(bytes('12345')))).toBe(0xe3069283);
  });
});

describe('records', () => {
  test('look as in TensorFlow', () => {
    expect(hex(encodeRecord(bytes('abc')))).toBe('0300000000000000b099490e6162636e57f121');
  });

  const collect = async (path: string, compression: RecordCompression) => {
    const found: string[] = [];
    for await (const record of tfRecordIterator(path, { compression })) found.push(hex(record));
    return found;
  };

  test.each([
    ['plain', ''],
    ['gzip', 'GZIP'],
    ['zlib', 'ZLIB'],
  ] as const)('%s files are read and written', async (name, compression) => {
    expect(await collect(join(golden, `${name}.tfrecords`), compression)).toEqual(records.map(hex));
    const path = join(folder, `${name}.tfrecords`);
    const writer = new TFRecordWriter(path, { compression });
    for (const record of records) await writer.write(record);
    await writer.close();
    expect(await collect(path, compression)).toEqual(records.map(hex));
    if (compression === '') expect(hex(readFileSync(path))).toBe(hex(readFileSync(join(golden, 'plain.tfrecords'))));
  });

  test('that are damaged or cut off are refused with their place', async () => {
    const whole = readFileSync(join(golden, 'plain.tfrecords'));
    const damaged = Buffer.from(whole);
    damaged[13]! ^= 1;
    writeFileSync(join(folder, 'damaged'), damaged);
    await expect(collect(join(folder, 'damaged'), '')).rejects.toThrow(new DataLossError('corrupted record at 12'));
    writeFileSync(join(folder, 'short'), whole.subarray(0, 25));
    await expect(collect(join(folder, 'short'), '')).rejects.toThrow(
      new DataLossError("truncated record at 19' failed with Read less bytes than requested"),
    );
    await expect(collect(join(folder, 'none'), '')).rejects.toThrow(NotFoundError);
    await expect(collect(join(golden, 'plain.tfrecords'), 'GZIP')).rejects.toThrow(DataLossError);
  });
});

describe('checkpoints', () => {
  test('keys of slices are in the order-keeping code', () => {
    const { slice } = parseShapeAndSlice('4 3 0,2:0,3');
    expect(hex(sliceKey('p', slice))).toBe('00700001010280828083');
    expect(hex(sliceKey('p', [{ start: 0, length: -1 }]))).toBe('0070000101' + '01' + '807f');
    expect(hex(sliceKey('p', [{ start: 100, length: 100 }]))).toBe('007000010101c064c064');
  });

  const contents = async (prefix: string) => {
    const reader = BundleReader.open(prefix);
    const tensors = new Map<string, NDArray>();
    for (const name of reader.names) tensors.set(name, await reader.read(name));
    await reader.close();
    return tensors;
  };

  test('of TensorFlow are read, whatever is in them', async () => {
    const tensors = await contents(join(golden, 'several'));
    expect(tensors.get('ints')!.toArray()).toEqual([1, -2, 3]);
    expect(tensors.get('doubles')!.toArray()).toEqual([[0.1]]);
    expect(tensors.get('brain')!.toArray()).toEqual([1.5, 3]);
    expect(tensors.get('flags')!.toArray()).toEqual([true, false]);
    expect(tensors.get('texts')!.objects.map((s) => (s as Uint8Array).length)).toEqual([3, 0, 200]);
    expect(tensors.get('empty')!.shape).toEqual([0, 3]);
    expect(tensors.get('ümlaut')!.toArray()).toEqual([1]);
    expect(tensors.get('parts')!.numbers()).toEqual(Array.from({ length: 24 }, (_, i) => i));
    const long = tensors.get('long')!;
    expect([long.shape, long.numberAt(0), long.numberAt(7000)]).toEqual([[200, 70], 0, 1]);
  });

  test('are written byte for byte as TensorFlow does', async () => {
    const reader = BundleReader.open(join(golden, 'several'));
    const tensors: StoredTensor[] = [];
    // Data lies in the order in which it was given.
    const whole = 'weights ints doubles half brain flags complex texts scalar empty ümlaut'.split(' ');
    for (const name of whole) tensors.push({ name, array: await reader.read(name) });
    for (const [name, text] of [
      ['parts', '4 6 0,2:-'],
      ['parts', '4 6 2,2:0,6'],
      ['long', '200 70 0,100:-'],
      ['long', '200 70 100,100:-'],
    ] as const) {
      const sliceOf = parseShapeAndSlice(text);
      tensors.push({ name, array: await reader.read(name, sliceOf.slice), sliceOf });
    }
    await reader.close();
    await writeBundle(join(folder, 'several'), tensors);
    for (const file of ['several.index', 'several.data-00000-of-00001'])
      expect(hex(readFileSync(join(folder, file))), file).toBe(hex(readFileSync(join(golden, file))));
  });

  test('with many tensors have an index of several blocks or one, as in TensorFlow', async () => {
    const tensors = Array.from({ length: 3000 }, (_, i) => ({
      name: `layer${String(i).padStart(4, '0')}/kernel`,
      array: scalar(int8, i % 100),
    }));
    await writeBundle(join(folder, 'many'), tensors);
    expect(hex(readFileSync(join(folder, 'many.index')))).toBe(hex(readFileSync(join(golden, 'many.index'))));
    expect((await contents(join(folder, 'many'))).get('layer2999/kernel')!.numberAt(0)).toBe(99);
  });

  test('of several shards are merged', async () => {
    const array = (n: number) => new NDArray(int16, [2], Int16Array.of(n, n + 1));
    const sliceOf = (text: string) => parseShapeAndSlice(text);
    const parts = [0, 1].map((k) => join(folder, 'temp', `part-0000${k}-of-00002`));
    await writeBundle(parts[0]!, [
      { name: 'a', array: array(1) },
      { name: 'p', array: array(5), sliceOf: sliceOf('4 0,2') },
    ]);
    await writeBundle(parts[1]!, [
      { name: 'b', array: array(3) },
      { name: 'p', array: array(7), sliceOf: sliceOf('4 2,2') },
    ]);
    await mergeBundles(parts, join(folder, 'merged'), { deleteFolders: true, allowMissing: false });
    const tensors = await contents(join(folder, 'merged'));
    expect(['a', 'b', 'p'].map((name) => tensors.get(name)!.numbers())).toEqual([
      [1, 2],
      [3, 4],
      [5, 6, 7, 8],
    ]);
    expect(await readdir(folder)).not.toContain('temp');
  });

  test('that are damaged are refused', async () => {
    expect(() => BundleReader.open(join(folder, 'nothing'))).toThrow(/Failed to find any matching files/);
    await writeBundle(join(folder, 'x'), [{ name: 'x', array: new NDArray(float32, [4], new Float32Array(4)) }]);
    const data = readFileSync(join(folder, 'x.data-00000-of-00001'));
    data[3]! ^= 1;
    writeFileSync(join(folder, 'x.data-00000-of-00001'), data);
    const reader = BundleReader.open(join(folder, 'x'));
    await expect(reader.read('x')).rejects.toThrow(/Checksum does not match/);
    await expect(reader.read('y')).rejects.toThrow(new NotFoundError('Key y not found in checkpoint'));
    await reader.close();
    const index = readFileSync(join(folder, 'x.index'));
    for (let i = 0; i < index.length; i++) {
      const changed = Buffer.from(index);
      changed[i]! ^= 1 << (i % 8);
      writeFileSync(join(folder, 'y.index'), changed);
      try {
        BundleReader.open(join(folder, 'y')); // the padding at the end may be anything
      } catch (error) {
        expect(error).toBeInstanceOf(DataLossError);
      }
    }
  });
});
