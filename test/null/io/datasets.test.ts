/** @file Data for first programs: files from a server, from folders and from the cache; IDX, CIFAR and CSV files. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import * as tf from 'tensorloom';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeCifar } from '../../../src/io/cifar.ts';
import { csvRows } from '../../../src/io/csvFile.ts';
import { cachedFile } from '../../../src/io/download.ts';
import { filesInTar } from '../../../src/io/tar.ts';

const folder = mkdtempSync(join(tmpdir(), 'tensorloom-data-'));
const sha256 = (content: Uint8Array | string) => createHash('sha256').update(content).digest('hex');
const idxFile = (shape: readonly number[], bytes: readonly number[]) => {
  const header = Buffer.alloc(4 + 4 * shape.length);
  header.set([0, 0, 8, shape.length]);
  for (const [i, n] of shape.entries()) header.writeUInt32BE(n, 4 + 4 * i);
  return Buffer.concat([header, Buffer.from(bytes)]);
};

/** One file of a tar archive. */
function tarEntry(name: string, content: Buffer): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0, 'latin1');
  header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124, 'latin1');
  header.write('        ', 148, 'latin1');
  header.write('0', 156, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return Buffer.concat([header, content, Buffer.alloc((512 - (content.length % 512)) % 512)]);
}

const served = new Map<string, Buffer>();
let requests = 0;
let server: Server;
let url = '';

beforeAll(async () => {
  server = createServer((request, response) => {
    requests++;
    const content = served.get(request.url ?? '');
    response.writeHead(content ? 200 : 404, content ? { 'content-length': content.length } : {});
    response.end(content);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a server on a port has such an address
});
afterAll(async () => {
  await new Promise((done) => server.close(done));
  rmSync(folder, { recursive: true });
});

describe('cachedFile', () => {
  it('fetches a file once, checks it and unpacks it', async () => {
    const content = Buffer.from('many words '.repeat(1000));
    served.set('/words.gz', gzipSync(content));
    const seen: number[] = [];
    const options = { cacheFolder: join(folder, 'cache'), progress: (_: string, n: number) => seen.push(n) };
    const file = {
      name: 'deep/words',
      urls: [`${url}/none`, `${url}/words.gz`],
      sha256: sha256(content),
      gunzip: true,
    };
    const path = await cachedFile(file, options);
    expect(seen.at(-1)).toBe(served.get('/words.gz')!.length);
    const before = requests;
    expect(await cachedFile(file, options)).toBe(path);
    expect([requests, readdirSync(join(folder, 'cache', 'deep'))]).toEqual([before, ['words']]);
    await expect(cachedFile({ ...file, sha256: 'ab' }, options)).rejects.toThrow(
      /is damaged: its sha256 is .* Remove it/,
    );
  });

  it('leaves nothing behind when a file is damaged or missing', async () => {
    served.set('/bad', Buffer.from('not what it should be'));
    const options = { cacheFolder: join(folder, 'empty') };
    await expect(cachedFile({ name: 'bad', urls: [`${url}/bad`], md5: 'ab' }, options)).rejects.toThrow(
      tf.errors.DataLossError,
    );
    await expect(cachedFile({ name: 'none', urls: [`${url}/none`] }, options)).rejects.toThrow(
      /no server has it\.[\s\S]*the server answers 404/,
    );
    expect(readdirSync(join(folder, 'empty'))).toEqual([]);
  });

  it('says what the disk says, not that there is no network', async () => {
    served.set('/fine', Buffer.from('fine'));
    writeFileSync(join(folder, 'a-file'), '');
    const options = { cacheFolder: join(folder, 'a-file', 'cache') };
    await expect(cachedFile({ name: 'fine', urls: [`${url}/fine`] }, options)).rejects.toThrow(/Not a directory/);
  });

  it('says that a download broke off, after trying the others', async () => {
    const server = createServer((_, response) => {
      response.writeHead(200, { 'content-length': 1000 });
      response.write('the first bytes', () => response.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      served.set('/whole', Buffer.from('whole'));
      const broken = `http://127.0.0.1:${(server.address() as AddressInfo).port}/whole`;
      const options = { cacheFolder: join(folder, 'broken') };
      await expect(cachedFile({ name: 'whole', urls: [broken] }, options)).rejects.toThrow(
        /whole cannot be downloaded: it does not arrive as a whole\.[\s\S]*Put the file into/,
      );
      const path = await cachedFile({ name: 'whole', urls: [broken, `${url}/whole`] }, options);
      expect(readFileSync(path, 'utf8')).toBe('whole');
      expect(readdirSync(join(folder, 'broken'))).toEqual(['whole']);
    } finally {
      server.close();
    }
  });

  it('says plainly when there is no network', async () => {
    const options = { cacheFolder: join(folder, 'offline') };
    const file = { name: 'x', urls: ['http://127.0.0.1:9/x'] };
    await expect(cachedFile(file, options)).rejects.toThrow(tf.errors.UnavailableError);
    await expect(cachedFile(file, options)).rejects.toThrow(
      /there seems to be no network here[\s\S]*Put the file into .*offline by hand/,
    );
    await expect(cachedFile(file, { ...options, download: false })).rejects.toThrow(/downloads are turned off/);
  });
});

describe('tf.examples', () => {
  const digits = join(folder, 'digits');
  beforeAll(() => {
    mkdirSync(digits);
    const pixels = Array.from({ length: 3 * 784 }, (_, i) => i % 256);
    writeFileSync(join(digits, 'train-images-idx3-ubyte'), idxFile([3, 28, 28], pixels));
    writeFileSync(join(digits, 'train-labels-idx1-ubyte.gz'), gzipSync(idxFile([3], [7, 2, 1])));
    writeFileSync(join(digits, 't10k-images-idx3-ubyte'), idxFile([1, 28, 28], pixels.slice(0, 784)));
    writeFileSync(join(digits, 't10k-labels-idx1-ubyte'), idxFile([1], [0]));
  });

  it('mnist takes a folder, packed or not', async () => {
    const { train, validation, test } = await tf.examples.mnist({ folder: digits, validationSize: 1, oneHot: true });
    expect([train.numExamples, validation.numExamples, test.numExamples]).toEqual([2, 1, 1]);
    expect(validation.labels.toArray()).toEqual([[0, 0, 0, 0, 0, 0, 0, 1, 0, 0]]);
    expect(train.nextBatch(2)[0].shape).toEqual([2, 784]);
    await expect(tf.examples.mnist({ folder: join(folder, 'nowhere') })).rejects.toThrow(tf.errors.NotFoundError);
  });

  it('mnist says how a folder is given', async () => {
    // @ts-expect-error the folder is an option
    await expect(tf.examples.mnist(digits)).rejects.toThrow(
      /tf\.examples\.mnist takes its options as an object, but got ".*digits"\. The options are: .*folder/,
    );
  });

  it('mnist keeps images as pictures when asked to, and refuses what does not fit', async () => {
    const { train } = await tf.examples.mnist({ folder: digits, reshape: false });
    expect([train.images.shape, train.nextBatch(1)[0].shape]).toEqual([
      [3, 28, 28, 1],
      [1, 28, 28, 1],
    ]);
    await expect(tf.examples.mnist({ folder: digits, validationSize: 4 })).rejects.toThrow(
      'validationSize must be a whole number from 0 to 3, but it is 4.',
    );
    const odd = join(folder, 'odd');
    mkdirSync(odd);
    const write = (file: string, shape: number[]) =>
      writeFileSync(join(odd, file), idxFile(shape, new Array(shape.reduce((n, d) => n * d)).fill(1)));
    write('train-images-idx3-ubyte', [2, 28, 28]);
    write('train-labels-idx1-ubyte', [3]);
    write('t10k-images-idx3-ubyte', [2, 14, 14]);
    write('t10k-labels-idx1-ubyte', [2]);
    await expect(tf.examples.mnist({ folder: odd })).rejects.toThrow(/labels in .* are uint8 \[3\], but there are 2/);
    write('train-labels-idx1-ubyte', [2]);
    await expect(tf.examples.mnist({ folder: odd })).rejects.toThrow(/uint8 \[2, 14, 14\], not bytes of \[n, 28, 28\]/);
    writeFileSync(join(odd, 'train-labels-idx1-ubyte'), Buffer.from([0x1f, 0x8b, 1, 2, 3]));
    await expect(tf.examples.mnist({ folder: odd })).rejects.toThrow(tf.errors.DataLossError);
  });

  it('refuses options that nobody reads', async () => {
    const misspelt = { cachefolder: '/tmp' };
    const refusal = "has no option 'cachefolder'. Did you mean 'cacheFolder'?";
    const { mnist, fashionMnist, cifar10, cifar100, idx, csv } = tf.examples;
    for (const load of [mnist, fashionMnist, cifar10, cifar100])
      await expect(load(misspelt as object)).rejects.toThrow(refusal);
    for (const load of [idx, csv]) await expect(load('x', misspelt as object)).rejects.toThrow(refusal);
  });

  it('mnist takes the cache folder before the package', async () => {
    mkdirSync(join(folder, 'own'));
    const { renameSync } = await import('node:fs');
    renameSync(digits, join(folder, 'own', 'mnist'));
    expect((await tf.examples.mnist({ cacheFolder: join(folder, 'own') })).train.numExamples).toBe(3);
    renameSync(join(folder, 'own', 'mnist'), digits);
  });

  const clothes = '/usr/share/datasets/fashion-mnist';
  it.skipIf(!existsSync(clothes))('fashionMnist reads what Debian installs', async () => {
    const { train, test } = await tf.examples.fashionMnist();
    expect([train.images.shape, test.images.shape, train.labels.at(0)]).toEqual([[60000, 784], [10000, 784], 9]);
  });

  it('idx reads files from the disk and from a server', async () => {
    const file = gzipSync(idxFile([2, 2], [1, 2, 3, 4]));
    served.set('/a.gz', file);
    const options = { cacheFolder: join(folder, 'idx'), sha256: sha256(file) };
    expect((await tf.examples.idx(`${url}/a.gz`, options)).toArray()).toEqual([[1, 2], [3, 4]]); // biome-ignore format: rows
    const wide = (type: number, bytes: readonly number[]) => Buffer.from([0, 0, type, 1, 0, 0, 0, 2, ...bytes]);
    const floats = [0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0];
    const doubles = [0x3f, 0xe0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0];
    for (const [type, bytes, dtype, values] of [
      [9, [1, 0xff], tf.int8, [1, -1]],
      [11, [1, 2, 0xff, 0xfe], tf.int16, [258, -2]],
      [12, [0, 1, 0, 2, 0xff, 0xff, 0xff, 0xff], tf.int32, [65538, -1]],
      [13, floats, tf.float32, [1, -2]],
      [14, doubles, tf.float64, [0.5, 2]],
    ] as const) {
      writeFileSync(join(folder, 'wide'), wide(type, bytes));
      const array = await tf.examples.idx(join(folder, 'wide'));
      expect([array.dtype, array.toArray()]).toEqual([dtype, values]);
    }
    writeFileSync(join(folder, 'b'), idxFile([3], [1, 2]));
    await expect(tf.examples.idx(join(folder, 'b'))).rejects.toThrow(tf.errors.DataLossError);
    await expect(tf.examples.idx(join(folder, 'none'))).rejects.toThrow(tf.errors.NotFoundError);
  });

  it('cifar10 and cifar100 read binary files, from a folder and from an archive', async () => {
    const picture = (label: number[], first: number) =>
      Buffer.from([...label, ...Array.from({ length: 3072 }, (_, i) => (first + Math.floor(i / 1024)) % 256)]);
    const names = [1, 2, 3, 4, 5].map((i) => `data_batch_${i}.bin`);
    const ten = join(folder, 'ten');
    mkdirSync(ten);
    for (const [i, name] of names.entries()) writeFileSync(join(ten, name), picture([i], 10 * i));
    writeFileSync(join(ten, 'test_batch.bin'), Buffer.concat([picture([9], 100), picture([8], 200)]));
    const { train, test } = await tf.examples.cifar10({ folder: ten });
    expect([train.images.shape, train.labels.numbers()]).toEqual([
      [5, 32, 32, 3],
      [0, 1, 2, 3, 4],
    ]);
    expect([...test.images.data.slice(0, 6), test.labels.numbers()]).toEqual([100, 101, 102, 100, 101, 102, [9, 8]]);
    expect(test.nextBatch(1)[0].shape).toEqual([1, 32, 32, 3]);

    const hundred = join(folder, 'hundred');
    mkdirSync(hundred);
    const entries = [
      tarEntry('cifar-100-binary/train.bin', picture([3, 42], 5)),
      tarEntry('cifar-100-binary/test.bin', picture([1, 7], 6)),
    ];
    writeFileSync(join(hundred, 'cifar-100-binary.tar.gz'), gzipSync(Buffer.concat([...entries, Buffer.alloc(1024)])));
    const fine = await tf.examples.cifar100({ folder: hundred });
    expect([fine.train.labels.numbers(), fine.test.labels.numbers()]).toEqual([[42], [7]]);
    expect(() => decodeCifar(new Uint8Array(100), 1, 'x')).toThrow(/no number of pictures/);
    await expect(tf.examples.cifar10({ folder: hundred })).rejects.toThrow(tf.errors.NotFoundError);
    await expect(tf.examples.cifar10({ cacheFolder: folder, download: false })).rejects.toThrow(
      /downloads are turned off/,
    );
    writeFileSync(join(hundred, 'bad.tar'), Buffer.alloc(600, 'x'));
    await expect(filesInTar(join(hundred, 'bad.tar'), () => true)).rejects.toThrow(/is not a tar archive/);
    writeFileSync(join(hundred, 'cut.tar'), entries[0]!.subarray(0, 900));
    await expect(filesInTar(join(hundred, 'cut.tar'), () => true)).rejects.toThrow(/ends inside train.bin/);
    writeFileSync(join(hundred, 'bad.tar.gz'), 'no gzip');
    await expect(filesInTar(join(hundred, 'bad.tar.gz'), () => true)).rejects.toThrow(/cannot be decompressed/);
  });

  it('csv reads tables', async () => {
    const text = 'name,size,count\n"A, ""quoted"" name",1.5,3\r\nb,,4\n\n"two\nlines",-2e3,9007199254740991';
    const path = join(folder, 'table.csv');
    writeFileSync(path, text);
    const table = await tf.examples.csv(path, { types: { count: tf.int64 }, missing: -1, sha256: sha256(text) });
    expect([table.columns, table.numRows]).toEqual([['name', 'size', 'count'], 3]);
    expect(table.column('name').toArray()).toEqual(['A, "quoted" name', 'b', 'two\nlines']);
    expect([table.column('size').toArray(), table.column('count').dtype]).toEqual([[1.5, -1, -2000], tf.int64]);
    expect(() => table.column('sizes')).toThrow(/has no column 'sizes', but name, size, count/);
    await expect(tf.examples.csv(path, { types: { name: tf.float32 } })).rejects.toThrow(
      /'A, "quoted" name' in row 1 is not a value of float32/,
    );
    await expect(tf.examples.csv(path, { sha256: 'ff' })).rejects.toThrow(/is damaged/);
    served.set('/ragged.csv', Buffer.from('1;2\n3\n'));
    const remote = tf.examples.csv(`${url}/ragged.csv`, {
      header: false,
      delimiter: ';',
      cacheFolder: join(folder, 'csv'),
    });
    await expect(remote).rejects.toThrow(/row 2 has 1 values, but there are 2 columns/);
    async function* parts() {
      yield '"a"';
      yield '"b",';
      yield 'c';
    }
    for await (const row of csvRows(parts())) expect(row).toEqual(['a"b', 'c']);
  });
});
