/** @file Whole tensor arrays as tensors: stacked, concatenated, and written from the rows of one tensor. */
import { type DType, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError, UnimplementedError } from '../../core/errors.ts';
import { intVector, type NDArray, zeros } from '../../core/ndarray.ts';
import { joined, rowsOf } from '../../core/rows.ts';
import { compatible, type Dims, isFullyDefined, sameShape, showRuntime } from '../../core/shape.ts';
import type { TensorArray } from './tensorArrayState.ts';

export function checkType(array: TensorArray, dtype: DType, verb: 'is trying to write' | 'requested'): void {
  if (array.dtype !== dtype)
    throw new InvalidArgumentError(
      `TensorArray dtype is ${array.dtype.runtimeName} but Op ${verb} dtype ${dtype.runtimeName}.`,
    );
}

/** The elements side by side along a new first axis. */
export function gathered(array: TensorArray, indices: readonly number[], elementShape: Dims): NDArray {
  array.setElementShape(elementShape);
  if (indices.length === 0) {
    if (!isFullyDefined(elementShape))
      throw new UnimplementedError(
        `TensorArray has size zero, but element shape ${showRuntime(elementShape)} is not fully defined. Currently only static shapes are supported when packing zero-size TensorArrays.`,
      );
    return zeros(array.dtype, [0, ...elementShape]);
  }
  const values = indices.map((i) => array.read(i));
  const { shape } = values[0]!;
  if (!compatible(elementShape, shape))
    throw new InvalidArgumentError(
      `TensorArray was passed element_shape ${showRuntime(elementShape)} which does not match the Tensor at index 0: ${showRuntime(shape)}`,
    );
  for (const [i, value] of values.entries())
    if (!sameShape(shape, value.shape))
      throw new InvalidArgumentError(
        `TensorArray has inconsistent shapes.  Index 0 has shape: ${showRuntime(shape)} but index ${i} has shape: ${showRuntime(value.shape)}`,
      );
  return joined(array.dtype, [values.length, ...shape], values);
}

/** Writes the rows of a value; `indices` undefined writes all of them in order. */
export function scattered(array: TensorArray, value: NDArray, indices?: NDArray): void {
  const [count, ...shape] = value.shape;
  checkType(array, value.dtype, 'is trying to write');
  if (count === undefined)
    throw new InvalidArgumentError('Input value for unpack must be at least a vector but received shape: []');
  if (indices && indices.size !== count)
    throw new InvalidArgumentError(`Expected len(indices) == values.shape[0], but saw: ${indices.size} vs. ${count}`);
  const places = indices?.numbers() ?? Array.from({ length: count }, (_, i) => i);
  const last = places.reduce((a, b) => Math.max(a, b), -1);
  const size = array.sizeFor(last + 1);
  if (!indices && count !== size)
    throw new InvalidArgumentError(
      `Input value must have first dimension equal to the array size (${count} vs. ${size})`,
    );
  if (last >= size) throw new InvalidArgumentError(`Max scatter index must be < array size (${last} vs. ${size})`);
  if (!indices) array.markSplit(size);
  for (const [i, place] of places.entries()) array.write(place, rowsOf(value, i, shape));
}

/** The elements one after the other along their first axis, and how long each is. */
export function concatenated(array: TensorArray, elementShape: Dims): NDArray[] {
  const count = array.concatSize;
  if (count <= 0) {
    if (!isFullyDefined(elementShape))
      throw new UnimplementedError(
        `TensorArray has size zero, but element_shape_except0 ${showRuntime(elementShape)} is not fully defined. Currently only static shapes are supported when concatenating zero-size TensorArrays.`,
      );
    return [zeros(array.dtype, [0, ...elementShape]), zeros(int64, [0])];
  }
  const values = Array.from({ length: count }, (_, i) => array.read(i));
  const rest = values[0]!.shape.slice(1);
  for (const [i, { shape }] of values.entries()) {
    const own = showRuntime(shape.slice(1));
    if (shape.length === 0)
      throw new InvalidArgumentError(
        `Concat saw a scalar shape at index ${i} but requires at least vectors.  Did you mean to call pack?`,
      );
    if (i === 0 && !compatible(elementShape, rest))
      throw new InvalidArgumentError(
        `TensorArray was passed element_shape_except0 ${showRuntime(elementShape)} but index 0 has (excepting dimension 0) shape: ${own} which does not match.`,
      );
    if (!sameShape(rest, shape.slice(1)))
      throw new InvalidArgumentError(
        `TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: ${showRuntime(rest)} but index ${i} has (excepting dimension 0) shape: ${own}`,
      );
  }
  const lengths = values.map(({ shape }) => shape[0]!);
  const total = lengths.reduce((a, b) => a + b, 0);
  return [joined(array.dtype, [total, ...rest], values), intVector(lengths, int64)];
}

/** Writes stretches of rows, of these lengths. */
export function split(array: TensorArray, value: NDArray, lengths: NDArray): void {
  if (lengths.rank !== 1)
    throw new InvalidArgumentError(`Expected lengths to be a vector, received shape: ${showRuntime(lengths.shape)}`);
  const counts = lengths.numbers();
  const total = counts.reduce((a, b) => a + b, 0);
  const [rows, ...shape] = value.shape;
  if (rows === undefined)
    throw new InvalidArgumentError('Expected value to be at least a vector, but received shape: []');
  if (total !== rows)
    throw new InvalidArgumentError(
      `Expected sum of lengths to be equal to values.shape[0], but sum of lengths is ${total} and value's shape is: ${showRuntime(value.shape)} `.trimEnd(),
    );
  const size = array.sizeFor(counts.length);
  if (size !== counts.length)
    throw new InvalidArgumentError(
      `TensorArray's size is not equal to the size of lengths (${size} vs. ${counts.length}), and the TensorArray is not marked as dynamically resizeable`,
    );
  checkType(array, value.dtype, 'is trying to write');
  array.markSplit(size);
  let start = 0;
  for (const [i, count] of counts.entries()) {
    array.write(i, rowsOf(value, start, [count, ...shape]));
    start += count;
  }
}
