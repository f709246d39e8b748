/** @file The three parts of a sparse tensor in lowering: what is checked of them, and elements picked on the device. */
import { type DType, int64, type TypedArray } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { Int64s } from '../../core/int64s.ts';
import { type Complex, type Element, intVector, NDArray, storeElement } from '../../core/ndarray.ts';
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

/**
 * Where the rows of a matrix of positions lie: the sum of each position times its stride, which are those of the shape unless
 * given. Each row must lie in the shape.
 */
export async function placesIn(
  indices: NDArray,
  sizes: Shape,
  { what = '', strides = stridesOf(sizes) }: { what?: string; strides?: readonly number[] } = {},
): Promise<Float64Array> {
  const [count, rank] = indices.shape as readonly [number, number]; // a matrix, as checked before
  const at = indices.numberReader();
  const places = new Float64Array(count);
  await eachInTurns(count, (i) => {
    let place = 0;
    for (let axis = 0; axis < rank; axis++) {
      const index = at(i * rank + axis);
      if (index < 0 || index >= sizes[axis]!) {
        const row = sizes.map((_, k) => at(i * rank + k));
        throw new InvalidArgumentError(
          `${what}indices[${i}] = [${row}] is out of bounds: need 0 <= index < [${sizes}]`,
        );
      }
      place += index * strides[axis]!;
    }
    places[i] = place;
  });
  return places;
}

/** Places in a shape as an indices part. */
export async function indexMatrix(places: Float64Array, sizes: Shape): Promise<NDArray> {
  const rank = sizes.length;
  const strides = stridesOf(sizes);
  const result = new Int64s(places.length * rank);
  await eachInTurns(places.length, (i) => {
    let rest = places[i]!;
    for (let axis = 0; axis < rank; axis++) {
      const index = Math.floor(rest / strides[axis]!);
      result.set(i * rank + axis, index);
      rest -= index * strides[axis]!;
    }
  });
  return new NDArray(int64, [places.length, rank], result.data);
}

/** Whole numbers as a vector of int64. */
export async function wideVector(numbers: ArrayLike<number>): Promise<NDArray> {
  const result = new Int64s(numbers.length);
  await eachInTurns(numbers.length, (i) => result.set(i, numbers[i]!), 4096);
  return new NDArray(int64, [numbers.length], result.data);
}

/** For each row of a matrix, moved back by `from`, which row of another one it is, the last of several; -1 where it is none. */
export async function rowsAmong(rows: NDArray, others: NDArray, from?: NDArray): Promise<Int32Array> {
  const rank = others.shape[1]!;
  const keyReader = (array: NDArray, start: readonly number[]) => {
    const at = array.numberReader();
    return (i: number) => {
      let key = '';
      for (let axis = 0; axis < rank; axis++) key += `${at(i * rank + axis) - start[axis]!},`;
      return key;
    };
  };
  const [own, other] = [
    keyReader(rows, from?.numbers() ?? new Array(rank).fill(0)),
    keyReader(others, new Array(rank).fill(0)),
  ];
  const known = new Map<string, number>();
  await eachInTurns(others.shape[0]!, (i) => known.set(other(i), i));
  const found = new Int32Array(rows.shape[0]!);
  await eachInTurns(found.length, (i) => {
    found[i] = known.get(own(i)) ?? -1;
  });
  return found;
}

/** Values of one type, made one by one. */
export class ValueList {
  private readonly data: TypedArray;
  length = 0;
  constructor(
    private readonly dtype: DType,
    most: number,
  ) {
    this.data = dtype.allocate(most);
  }
  push(value: Element): void {
    storeElement(this.dtype, this.data, this.length++, value);
  }
  vector(): NDArray {
    const { dtype, length, data } = this;
    return new NDArray(dtype, [length], data.slice(0, length * dtype.entries));
  }
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
