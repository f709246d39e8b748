/** @file V1 checkpoints: one table per file, with the slices of tensors as messages. TensorFlow wrote them before 0.12. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { DType } from '../core/dtypes.ts';
import { DataLossError, InvalidArgumentError, NotFoundError } from '../core/errors.ts';
import type { NDArray } from '../core/ndarray.ts';
import { type Shape, sameShape, showRuntime } from '../core/shape.ts';
import { SavedTensorSlices } from '../proto/savedTensorSlice.ts';
import { arrayToValues, dtypeFromProto, shapeFromProto, shapeToProto, tensorFromProto } from '../proto/tensorProto.ts';
import { fileError, makeFolder } from './fileErrors.ts';
import { localPath } from './paths.ts';
import { copySlice, emptyArray, sliced } from './sliceCopies.ts';
import { decodeTable, encodeTable } from './table.ts';
import type { StoredTensor } from './tensorBundle.ts';
import { sliceFromProto, sliceKey, sliceShape, sliceToProto, type TensorSlice } from './tensorSlice.ts';

/** A slice of a tensor in one of the files. */
interface Piece {
  readonly slice: TensorSlice;
  readonly table: ReadonlyMap<string, Uint8Array>;
}
interface Stored {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly pieces: Piece[];
}

const keyText = (key: Uint8Array) => Buffer.from(key).toString('latin1');

/** Reads V1 checkpoints, of one file or of several. */
export class SliceTableReader {
  private constructor(private readonly tensors: ReadonlyMap<string, Stored>) {}

  static open(files: readonly string[]): SliceTableReader {
    const tensors = new Map<string, Stored>();
    for (const path of files) {
      const bytes = contentOf(path);
      const table = new Map<string, Uint8Array>();
      for (const [key, value] of openTable(bytes, path)) table.set(keyText(key), value);
      const head = table.get('');
      const meta = head && SavedTensorSlices.decode(head).meta;
      if (!meta) throw new DataLossError(`${path} does not say what is in it; is it a checkpoint?`);
      for (const { name, shape, type, slice } of meta.tensor) {
        const dtype = dtypeFromProto(type);
        const dims = shapeFromProto(shape) as Shape; // stored shapes are known
        const stored = tensors.get(name) ?? { dtype, shape: dims, pieces: [] };
        if (stored.dtype !== dtype || !sameShape(stored.shape, dims))
          throw new DataLossError(
            `tensor ${name} is ${dtype} ${showRuntime(dims)} in ${path}, but ${stored.dtype} ${showRuntime(stored.shape)} in another file`,
          );
        for (const proto of slice) stored.pieces.push({ slice: sliceFromProto(proto), table });
        tensors.set(name, stored);
      }
    }
    return new SliceTableReader(tensors);
  }

  get names(): string[] {
    return [...this.tensors.keys()].sort();
  }
  has(name: string): boolean {
    return this.tensors.has(name);
  }
  entry(name: string): { readonly dtype: DType; readonly shape: Shape } {
    return this.stored(name);
  }

  private stored(name: string): Stored {
    const stored = this.tensors.get(name);
    if (!stored) throw new NotFoundError(`Tensor name "${name}" not found in checkpoint files`);
    return stored;
  }

  async read(name: string, slice?: TensorSlice): Promise<NDArray> {
    const { dtype, shape, pieces } = this.stored(name);
    const whole = emptyArray(dtype, shape);
    for (const piece of pieces) copySlice(load(name, dtype, shape, piece), whole, piece.slice);
    return slice ? sliced(whole, slice) : whole;
  }

  async close(): Promise<void> {}
}

function contentOf(path: string): Uint8Array {
  try {
    return readFileSync(localPath(path));
  } catch (error) {
    throw fileError(error, path);
  }
}

function* openTable(bytes: Uint8Array, path: string): Generator<readonly [Uint8Array, Uint8Array]> {
  try {
    yield* decodeTable(bytes);
  } catch (error) {
    if (!(error instanceof DataLossError)) throw error;
    throw new DataLossError(
      `Unable to open table file ${path}: ${error.text}: perhaps your file is in a different file format and you need to use a different restore operator?`,
    );
  }
}

function load(name: string, dtype: DType, shape: Shape, { slice, table }: Piece): NDArray {
  const value = table.get(keyText(sliceKey(name, slice)));
  const data = value && SavedTensorSlices.decode(value).data?.data;
  if (!data) throw new DataLossError(`a slice of ${name} is missing in the checkpoint`);
  return tensorFromProto({
    ...data,
    dtype: dtype.number,
    tensor_shape: shapeToProto(sliceShape(slice, shape)),
  });
}

/** The most bytes that an element takes in a message; integers are written with as many bytes as they need. */
const mostBytes: Readonly<Record<string, number>> = { float32: 4, float64: 8, complex64: 8, complex128: 16, bool: 1, uint8: 2, uint16: 3, float16: 3, bfloat16: 3 }; // biome-ignore format: a table
/** Messages end at two gigabytes; so much of that is kept for what is around the elements. */
const largestMessage = 2 ** 31;
const aroundElements = 2 ** 20;

function checkSize(array: NDArray): void {
  const { dtype, size } = array;
  const elements = dtype.isObject
    ? array.objects.reduce((sum: number, x) => sum + (x as Uint8Array).length + 10, 0) // strings are bytes
    : size * (mostBytes[dtype.name] ?? 10);
  if (elements + aroundElements > largestMessage)
    throw new InvalidArgumentError(
      `Tensor slice is too large to serialize (conservative estimate: ${elements + aroundElements} bytes)`,
    );
}

/** Writes a V1 checkpoint, which is there as a whole or not at all. */
export async function writeSliceTable(path: string, tensors: readonly StoredTensor[]): Promise<void> {
  const metas = new Map<string, { dtype: DType; shape: Shape; slices: TensorSlice[] }>();
  const entries: [Uint8Array, Uint8Array][] = [];
  for (const { name, array, sliceOf } of tensors) {
    const shape = sliceOf?.shape ?? array.shape;
    const slice = sliceOf?.slice ?? array.shape.map(() => ({ start: 0, length: -1 }));
    const meta = metas.get(name) ?? { dtype: array.dtype, shape, slices: [] };
    if (meta.dtype !== array.dtype || !sameShape(meta.shape, shape))
      throw new InvalidArgumentError(`Mismatching types or shapes for tensor ${name}`);
    checkSize(array);
    meta.slices.push(slice);
    metas.set(name, meta);
    const data = { name, slice: sliceToProto(slice), data: arrayToValues(array) };
    entries.push([sliceKey(name, slice), SavedTensorSlices.encode({ data })]);
  }
  entries.sort(([a], [b]) => Buffer.compare(a, b));
  const meta = {
    tensor: [...metas]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, { dtype, shape, slices }]) => ({
        name,
        shape: shapeToProto(shape),
        type: dtype.number,
        slice: slices.map(sliceToProto),
      })),
    versions: { producer: 1 },
  };
  const local = localPath(path);
  const temporary = `${local}.tempstate${randomBytes(8).toString('hex')}`;
  try {
    await makeFolder(dirname(local));
    await writeFile(temporary, encodeTable([[new Uint8Array(0), SavedTensorSlices.encode({ meta })], ...entries]), {
      flush: true,
    });
    await rename(temporary, local);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw fileError(error, path);
  }
}
