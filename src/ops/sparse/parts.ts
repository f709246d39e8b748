/** @file The three parts of a sparse tensor in lowering: what is checked of them, and elements picked on the device. */
import { type DType, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Complex, type Element, fromElements, intVector, NDArray } from '../../core/ndarray.ts';
import { type Dims, type Shape, showRuntime, stridesOf } from '../../core/shape.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { mergeDim, ofRank } from '../array/common.ts';

/** How many elements a sparse tensor has, and its rank, so far as its parts tell. */
export function partsDims(indices: Dims, values: Dims, shape: Dims): { count: number | null; rank: number | null } {
  const [rows, columns] = ofRank(indices, 2, 'indices');
  return {
    count: mergeDim(rows!, ofRank(values, 1, 'values')[0]!, 'rows of indices and values'),
    rank: mergeDim(columns!, ofRank(shape, 1, 'shape')[0]!, 'columns of indices and sizes of shape'),
  };
}

/** The parts must fit together; `what` is said before them. */
export function checkParts(indices: Value, values: Value, shape: Value, what = 'Input'): void {
  const [i, v, s] = [indices.shape, values.shape, shape.shape];
  if (i.length !== 2)
    throw new InvalidArgumentError(`${what} indices should be a matrix but received shape ${showRuntime(i)}`);
  if (v.length !== 1)
    throw new InvalidArgumentError(`${what} values should be a vector but received shape ${showRuntime(v)}`);
  if (s.length !== 1)
    throw new InvalidArgumentError(`${what} shape should be a vector but received shape ${showRuntime(s)}`);
  if (i[0] !== v[0])
    throw new InvalidArgumentError(
      `Dimensions ${i[0]} and ${v[0]} are not compatible: Number of elements in indices (${i[0]}) and values (${v[0]}) do not match`,
    );
  if (i[1] !== s[0])
    throw new InvalidArgumentError(
      `Dimensions ${i[1]} and ${s[0]} are not compatible: Index rank ${i[1]} and shape rank ${s[0]} do not match`,
    );
}

/** The sizes in a shape part: none may be negative, and the number of all elements must be a number of 64 bits. */
export function sizesIn(shape: NDArray): Shape {
  const sizes = shape.numbers();
  const wrong = sizes.findIndex((size) => size < 0);
  if (wrong >= 0) throw new InvalidArgumentError(`Dimension ${wrong} of a sparse tensor is negative: ${sizes[wrong]}`);
  sizes.reduce((count, size) => {
    if (count * size >= 2 ** 63)
      throw new InvalidArgumentError(`Encountered overflow when multiplying ${count} with ${size}, result: -1`);
    return count * size;
  }, 1);
  return sizes;
}

/** The rows of a matrix of positions; each must lie in the shape. */
export function positionsIn(indices: NDArray, sizes: Shape, what = ''): number[][] {
  const [count, rank] = indices.shape as readonly [number, number]; // a matrix, as checked before
  return Array.from({ length: count }, (_, i) => {
    const row = sizes.map((_, axis) => indices.numberAt(i * rank + axis));
    if (row.some((at, axis) => at < 0 || at >= sizes[axis]!))
      throw new InvalidArgumentError(`${what}indices[${i}] = [${row}] is out of bounds: need 0 <= index < [${sizes}]`);
    return row;
  });
}

/** Where a position lies among all of a shape. */
export function placeOf(position: readonly number[], sizes: Shape): number {
  const strides = stridesOf(sizes);
  return position.reduce((sum, at, axis) => sum + at * strides[axis]!, 0);
}

/** Positions as an indices part. */
export function indexMatrix(positions: readonly (readonly number[])[], rank: number): NDArray {
  const data = new BigInt64Array(positions.length * rank);
  for (const [i, row] of positions.entries())
    for (let axis = 0; axis < rank; axis++) data[i * rank + axis] = BigInt(row[axis]!);
  return new NDArray(int64, [positions.length, rank], data);
}

/** Indices and values of a sparse tensor with these elements. */
export function partsOf(
  dtype: DType,
  elements: readonly { readonly position: readonly number[]; readonly value: Element }[],
  rank: number,
): [indices: NDArray, values: NDArray] {
  const values = elements.map(({ value }) => value);
  const positions = elements.map(({ position }) => position);
  return [indexMatrix(positions, rank), fromElements(dtype, [values.length], values)];
}

export const int64Vector = (values: readonly number[]): NDArray => intVector(values, int64);

/** Elements of a vector at the given places. */
export function picked(p: ProgramBuilder, values: Value, places: Value): Value {
  const [from, to] = [values.shape[0]!, places.shape[0]!];
  if (to === 0) return p.slice(values, [0], [0]);
  return p.reshape(p.gather(p.reshape(values, [1, 1, from, 1]), p.reshape(places, [1, to, 1])), [to]);
}

/** The sum of two elements of one type of numbers. */
export function plus(x: Element, y: Element): Element {
  if (typeof x === 'bigint' || typeof y === 'bigint') return BigInt(x as number) + BigInt(y as number); // whole numbers
  if (typeof x === 'number') return x + (y as number); // elements of one type
  const [u, v] = [x as Complex, y as Complex]; // the only other kind of number
  return { re: u.re + v.re, im: u.im + v.im };
}

export const zeroOf = (dtype: DType): Element => (dtype.isComplex ? { re: 0, im: 0 } : 0);
