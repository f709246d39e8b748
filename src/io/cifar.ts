/** @file The CIFAR pictures in their binary form: 50,000 of 32 by 32 pixels for training, 10,000 for testing. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { int64, uint8 } from '../core/dtypes.ts';
import { DataLossError, NotFoundError } from '../core/errors.ts';
import { NDArray } from '../core/ndarray.ts';
import { knownOptions } from '../core/optionNames.ts';
import { cachedFile, type DownloadOptions, downloadOptions } from './download.ts';
import { ExampleSet } from './exampleSet.ts';
import { fileError } from './fileErrors.ts';
import { filesInTar } from './tar.ts';

const side = 32;
const plane = side * side;

export interface CifarOptions extends DownloadOptions {
  /** Folder with the unpacked `.bin` files or with the archive. Without it the archive is kept in the cache folder. */
  readonly folder?: string | undefined;
  /** Seed of the order in which `nextBatch` goes through the pictures. */
  readonly seed?: number | undefined;
}

const cifarOptions = [...downloadOptions, 'folder', 'seed'] as const;

/** Pictures, `[n, 32, 32, 3]` of bytes, with their labels, `[n]`. */
export type PictureSet = ExampleSet<NDArray<typeof uint8>, NDArray<typeof int64>>;

export interface Cifar {
  readonly train: PictureSet;
  readonly test: PictureSet;
}

interface Source {
  readonly archive: string;
  /** What the pictures' own page (https://www.cs.toronto.edu/~kriz/cifar.html) prints beside the archive; it gives no other sum. */
  readonly md5: string;
  readonly train: readonly string[];
  readonly test: readonly string[];
  /** Bytes before the pixels; the last one is the label. */
  readonly labels: number;
}

const cifar10Files: Source = {
  archive: 'cifar-10-binary.tar.gz',
  md5: 'c32a1d4ab5d03f1284b67883e8d87530',
  train: [1, 2, 3, 4, 5].map((i) => `data_batch_${i}.bin`),
  test: ['test_batch.bin'],
  labels: 1,
};

const cifar100Files: Source = {
  archive: 'cifar-100-binary.tar.gz',
  md5: '03b5dce01913d631647c71ecec9e9cb8',
  train: ['train.bin'],
  test: ['test.bin'],
  labels: 2,
};

/**
 * Pictures of ten kinds of animals and vehicles. They are bytes: `tf.image.convertImageDtype(images, tf.float32)` scales them.
 * A downloaded archive must have the MD5 sum that its page gives, which finds damage but is no proof of who made the file. An archive
 * or unpacked files in a folder of yours are taken if they are complete.
 *
 * @example const cifar = await tf.examples.cifar10(); // cifar.train.nextBatch(128)
 */
export async function cifar10(options: CifarOptions = {}): Promise<Cifar> {
  return load(cifar10Files, knownOptions('tf.examples.cifar10', options, cifarOptions));
}

/** Pictures of a hundred kinds; the labels are the fine ones. */
export async function cifar100(options: CifarOptions = {}): Promise<Cifar> {
  return load(cifar100Files, knownOptions('tf.examples.cifar100', options, cifarOptions));
}

async function load(source: Source, options: CifarOptions): Promise<Cifar> {
  const files = await contents(source, options);
  const seed = options.seed ?? 1;
  const make = (names: readonly string[]) => {
    const parts = names.map((name) => decodeCifar(files.get(name)!, source.labels, name));
    return new ExampleSet(joined(parts.map((part) => part.images)), joined(parts.map((part) => part.labels)), seed);
  };
  return { train: make(source.train), test: make(source.test) };
}

async function contents(source: Source, options: CifarOptions): Promise<Map<string, Uint8Array>> {
  const names = [...source.train, ...source.test];
  const { folder } = options;
  if (folder !== undefined && existsSync(join(folder, names[0]!))) {
    const read = async (name: string): Promise<[string, Uint8Array]> => {
      try {
        return [name, await readFile(join(folder, name))];
      } catch (error) {
        throw fileError(error, join(folder, name));
      }
    };
    return new Map(await Promise.all(names.map(read)));
  }
  const given = folder === undefined ? undefined : join(folder, source.archive);
  if (given !== undefined && !existsSync(given)) {
    throw new NotFoundError(`Neither ${join(folder!, names[0]!)} nor ${given} exists.`);
  }
  const remote = {
    name: source.archive,
    urls: [`https://www.cs.toronto.edu/~kriz/${source.archive}`],
    md5: source.md5,
  };
  const archive = given ?? (await cachedFile(remote, options));
  const files = await filesInTar(archive, (name) => names.includes(name));
  const missing = names.filter((name) => !files.has(name));
  if (missing.length > 0) throw new DataLossError(`${archive} has no ${missing.join(', ')}.`);
  return files;
}

/** The pictures and labels in a file: for each one its labels, then all reds, all greens and all blues. */
export function decodeCifar(
  bytes: Uint8Array,
  labelBytes: number,
  name: string,
): { images: NDArray<typeof uint8>; labels: NDArray<typeof int64> } {
  const record = labelBytes + 3 * plane;
  const count = bytes.length / record;
  if (!Number.isInteger(count) || count === 0) {
    throw new DataLossError(`${name} has ${bytes.length} bytes, which is no number of pictures of ${record} bytes.`);
  }
  const images = new Uint8Array(count * 3 * plane);
  const labels = new BigInt64Array(count);
  for (let i = 0; i < count; i++) {
    const from = i * record + labelBytes;
    labels[i] = BigInt(bytes[from - 1]!);
    for (let k = 0, to = i * 3 * plane; k < plane; k++, to += 3) {
      images[to] = bytes[from + k]!;
      images[to + 1] = bytes[from + plane + k]!;
      images[to + 2] = bytes[from + 2 * plane + k]!;
    }
  }
  return { images: new NDArray(uint8, [count, side, side, 3], images), labels: new NDArray(int64, [count], labels) };
}

/** Arrays of one type one after the other. */
function joined<A extends NDArray>(arrays: readonly A[]): A {
  const first = arrays[0]!;
  if (arrays.length === 1) return first;
  const total = arrays.reduce((sum, array) => sum + array.data.length, 0);
  const data = first.dtype.allocate(total) as Uint8Array; // all of one type, so `set` never mixes numbers and bigints
  let at = 0;
  for (const array of arrays) {
    data.set(array.data as Uint8Array, at); // as above
    at += array.data.length;
  }
  const rows = arrays.reduce((sum, array) => sum + array.shape[0]!, 0);
  return new NDArray(first.dtype, [rows, ...first.shape.slice(1)], data) as A; // same dtype, more rows
}
