/** @file What to look for in examples, and what comes of it. */
import { type DType, float32, type int32, int64 } from '../../core/dtypes.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Dims, type Shape, sizeOf } from '../../core/shape.ts';
import { BytesSink, FloatSink, Int64Sink, type Sink } from './wire.ts';

/** A feature that becomes an array. When the first size of its shape is unknown, it is padded to the longest. */
export interface DenseFeature {
  readonly key: Uint8Array;
  readonly dtype: DType;
  readonly shape: Dims;
}
/** A feature that becomes a sparse tensor. */
export interface SparseFeature {
  readonly key: Uint8Array;
  readonly dtype: DType;
}
/** A feature that becomes all values in a row, and where the rows begin. */
export interface RaggedFeature extends SparseFeature {
  readonly splits: typeof int32 | typeof int64;
}
export interface ExampleSpec {
  readonly dense: readonly DenseFeature[];
  readonly sparse: readonly SparseFeature[];
  readonly ragged: readonly RaggedFeature[];
}

export interface SparseResult {
  readonly indices: NDArray;
  readonly values: NDArray;
  readonly shape: NDArray;
}
export interface ExampleResult {
  readonly dense: readonly NDArray[];
  readonly sparse: readonly SparseResult[];
  readonly ragged: readonly { readonly values: NDArray; readonly splits: NDArray }[];
}

const decoder = new TextDecoder();
/** Bytes from outside as text for a message. */
export const shown = (bytes: Uint8Array): string => decoder.decode(bytes);

/** What collects values of a type. */
export function sinkFor(dtype: DType, capacity = 0): Sink {
  return dtype === float32
    ? new FloatSink(capacity)
    : dtype === int64
      ? new Int64Sink(capacity)
      : new BytesSink(capacity);
}

/** The first values of a sink as an array. */
export function arrayOf(dtype: DType, shape: Shape, sink: Sink): NDArray {
  return new NDArray(dtype, shape, sink.take(sizeOf(shape)));
}

export function int64s(shape: Shape, values: readonly number[]): NDArray {
  return new NDArray(int64, shape, BigInt64Array.from(values, BigInt));
}

/** Row splits of the given type. */
export function splitsArray(dtype: DType, values: readonly number[]): NDArray {
  return new NDArray(
    dtype,
    [values.length],
    dtype === int64 ? BigInt64Array.from(values, BigInt) : Int32Array.from(values),
  );
}

/** Puts a small number in its two halves. */
function put(halves: Int32Array, at: number, value: number): void {
  halves[2 * at] = value;
}

/** The positions of values in rows of the given lengths: `[N, 2]`, or `[N, 1]` without the row. */
export function rowIndices(lengths: readonly number[], total: number, withRow: boolean): NDArray {
  const columns = withRow ? 2 : 1;
  const data = new BigInt64Array(total * columns);
  const halves = new Int32Array(data.buffer);
  let at = 0;
  for (const [row, length] of lengths.entries())
    for (let i = 0; i < length; i++) {
      if (withRow) put(halves, at++, row);
      put(halves, at++, i);
    }
  return new NDArray(int64, [total, columns], data);
}

/** How many elements one step of a dense feature has: all of it, or all but the unknown first size. */
export function strideOf(shape: Dims): number {
  return (shape ?? []).reduce<number>((n, size, axis) => (axis === 0 && size === null ? n : n * (size ?? 0)), 1);
}
export const isVariable = (shape: Dims): boolean => shape !== null && shape.length > 0 && shape[0] === null;
