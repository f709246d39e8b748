/** @file Reading checkpoints of either format: what is in them, whole tensors and slices. */
import { existsSync } from 'node:fs';
import type { DType } from '../core/dtypes.ts';
import { NotFoundError } from '../core/errors.ts';
import type { NDArray } from '../core/ndarray.ts';
import { type Shape, showRuntime } from '../core/shape.ts';
import { checkpointExists, latestCheckpoint, matchingFiles } from './checkpoints.ts';
import { localPath } from './paths.ts';
import { SliceTableReader } from './sliceTable.ts';
import { BundleReader } from './tensorBundle.ts';
import type { TensorSlice } from './tensorSlice.ts';

/** The tensors of a checkpoint. */
export interface TensorReader {
  /** In order. */
  readonly names: readonly string[];
  has(name: string): boolean;
  entry(name: string): { readonly dtype: DType; readonly shape: Shape };
  /** A whole tensor, or a slice of it. `allocate` gives memory for the result, of undefined content; it need not be used. */
  read(name: string, slice?: TensorSlice, allocate?: (bytes: number) => Uint8Array): Promise<NDArray>;
  close(): Promise<void>;
}

/** The checkpoint of that name: a bundle, or files of the older format, which a pattern may name. */
export function openCheckpoint(prefix: string): TensorReader {
  if (existsSync(localPath(`${prefix}.index`))) return BundleReader.open(prefix);
  const files = matchingFiles(prefix);
  if (files.length > 0) return SliceTableReader.open(files);
  throw new NotFoundError(
    `Unsuccessful TensorSliceReader constructor: Failed to find any matching files for ${prefix}`,
  );
}

/** The checkpoint that a path means: itself, or the latest of a folder. */
export function checkpointAt(path: string): string {
  return checkpointExists(path) ? path : (latestCheckpoint(path) ?? path);
}

async function reading<T>(checkpoint: string, body: (reader: TensorReader) => T | Promise<T>): Promise<T> {
  const reader = openCheckpoint(checkpointAt(checkpoint));
  try {
    return await body(reader);
  } finally {
    await reader.close();
  }
}

/** A tensor of a checkpoint: its name and shape as in Python, and its type beside them. */
export type ListedVariable = readonly [name: string, shape: Shape] & {
  readonly name: string;
  readonly shape: Shape;
  readonly dtype: DType;
};

/**
 * The tensors of a checkpoint, or of the latest of a folder: names, shapes and types.
 *
 * @example for (const [name, shape] of await tf.train.listVariables('run1/model-100')) console.log(name, shape);
 */
export async function listVariables(checkpoint: string): Promise<ListedVariable[]> {
  return await reading(checkpoint, (reader) =>
    reader.names.map((name) => {
      const { dtype, shape } = reader.entry(name);
      const pair: readonly [string, Shape] = [name, shape];
      const listed = Object.assign(pair, { name, shape, dtype });
      // Printed, it is the pair.
      for (const key of ['name', 'shape', 'dtype']) Object.defineProperty(listed, key, { enumerable: false });
      return listed;
    }),
  );
}

/** One tensor of a checkpoint, or of the latest of a folder. */
export async function loadVariable(checkpoint: string, name: string): Promise<NDArray> {
  return await reading(checkpoint, (reader) => reader.read(name.replace(/:0$/, '')));
}

/** What is in a checkpoint; tensors are read when they are asked for. */
export class CheckpointReader {
  /** Reads under way. */
  private reads = 0;
  private constructor(private readonly reader: TensorReader) {}

  static open(prefix: string): CheckpointReader {
    return new CheckpointReader(openCheckpoint(prefix));
  }

  hasTensor(name: string): boolean {
    return this.reader.has(name);
  }
  async getTensor(name: string): Promise<NDArray> {
    this.reads++;
    try {
      return await this.reader.read(name);
    } finally {
      // No program closes a reader that in Python need not be closed.
      if (--this.reads === 0) await this.close();
    }
  }
  getVariableToShapeMap(): Record<string, Shape> {
    return Object.fromEntries(this.reader.names.map((name) => [name, this.reader.entry(name).shape]));
  }
  getVariableToDtypeMap(): Record<string, DType> {
    return Object.fromEntries(this.reader.names.map((name) => [name, this.reader.entry(name).dtype]));
  }
  /** One line per tensor: its name, type and shape. */
  debugString(): string {
    const lines = this.reader.names.map((name) => {
      const { dtype, shape } = this.reader.entry(name);
      return `${name} (DT_${dtype.runtimeName.toUpperCase()}) ${showRuntime(shape)}\n`;
    });
    return lines.join('');
  }
  async close(): Promise<void> {
    await this.reader.close();
  }
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/**
 * Opens a checkpoint, to look into it.
 *
 * @example
 * const reader = tf.train.NewCheckpointReader('run1/model-100');
 * reader.getVariableToShapeMap(); // { 'layer/w': [784, 10], … }
 */
export const NewCheckpointReader = (prefix: string): CheckpointReader => CheckpointReader.open(prefix);

/** Opens a checkpoint, or the latest of a folder. */
export function loadCheckpoint(checkpoint: string): CheckpointReader {
  return CheckpointReader.open(checkpointAt(checkpoint));
}
