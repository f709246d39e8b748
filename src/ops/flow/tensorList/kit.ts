/** @file Tensor lists, written once: on values where a list is known while tracing, on arrays in a host call where it is not. */
import { type DType, int32, int64, variant } from '../../../core/dtypes.ts';
import { InternalError, InvalidArgumentError } from '../../../core/errors.ts';
import { NDArray, zeros } from '../../../core/ndarray.ts';
import { joined, rowsOf } from '../../../core/rows.ts';
import { type Dims, type Shape, sizeOf } from '../../../core/shape.ts';
import { TensorList } from '../../../core/tensorList.ts';
import { attr } from '../../../op/attrs.ts';
import type { ProgramBuilder } from '../../../program/builder.ts';
import { add } from '../../../program/map.ts';
import type { HostResult } from '../../../program/tracing.ts';
import type { Value } from '../../../program/value.ts';
import { summedObjects, variantSum, variantZeros, zeroObjects } from '../../math/variants.ts';

/** Shapes are given as int32 or int64. */
export const shapeType = attr('type', { allowed: [int32, int64] });

/** What list ops do with elements, whatever these are. */
export interface Kit<E> {
  shapeOf(element: E): Shape;
  zeros(dtype: DType, shape: Shape): E;
  /** Zeros in the form of an element, which may be a list itself. */
  zerosLike(element: E): E;
  plus(a: E, b: E): E;
  reshape(element: E, shape: Shape): E;
  /** Elements one after the other along their first axis; `shape` is the result's. */
  concat(elements: readonly E[], dtype: DType, shape: Shape): E;
  /** `count` rows from `start` on. */
  rows(element: E, start: number, count: number): E;
  constant(array: NDArray): E;
}

export function onValues(p: ProgramBuilder): Kit<Value> {
  const filled = (dtype: DType, shape: Shape) =>
    dtype.isObject ? p.constant(zeros(dtype, shape)) : p.fill(dtype, shape, 0);
  return {
    shapeOf: ({ shape }) => shape,
    zeros: filled,
    zerosLike: (x) => (x.dtype === variant ? variantZeros(p, x) : filled(x.dtype, x.shape)),
    plus: (a, b) => (a.dtype === variant ? variantSum(p, [a, b]) : p.map([a, b], add)),
    reshape: (x, shape) => p.reshape(x, shape),
    concat: (elements, dtype, shape) => (sizeOf(shape) === 0 ? p.constant(zeros(dtype, shape)) : p.concat(elements, 0)),
    rows: (x, start, count) =>
      p.slice(
        x,
        x.shape.map((_, i) => (i === 0 ? start : 0)),
        [count, ...x.shape.slice(1)],
      ),
    constant: (array) => p.constant(array),
  };
}

export const onArrays: Kit<NDArray> = {
  shapeOf: ({ shape }) => shape,
  zeros,
  zerosLike: (x) => (x.dtype === variant ? zeroObjects(x) : zeros(x.dtype, x.shape)),
  plus(a, b) {
    if (a.dtype === variant) return summedObjects([a, b]);
    if (a.dtype.isObject) throw new InvalidArgumentError(`cannot add ${a.dtype} elements of lists`);
    const sum = a.copy();
    for (let i = 0; i < a.size * a.dtype.entries; i++) sum.data[i] = (a.data[i] as number) + (b.data[i] as number); // number or bigint, alike on both sides
    return sum;
  },
  reshape: (x, shape) => x.reshape(shape),
  concat: (elements, dtype, shape) => joined(dtype, shape, elements),
  rows: (x, start, count) => rowsOf(x, start, [count, ...x.shape.slice(1)]),
  constant: (array) => array,
};

interface ListInputs {
  readonly lists?: readonly Value[];
  readonly tensors?: readonly Value[];
  /** Sizes, positions and shapes. */
  readonly ints?: readonly Value[];
}

/** What list code gets, and gives: lists and elements. */
export type ListCode = <E>(
  kit: Kit<E>,
  inputs: {
    readonly lists: readonly TensorList<E>[];
    readonly tensors: readonly E[];
    readonly ints: readonly NDArray[];
  },
) => readonly (TensorList<E> | E)[];

/** Runs list code at once where everything it looks at is known, else in a host call. `results` are lists or elements. */
export function onLists(
  p: ProgramBuilder,
  { lists = [], tensors = [], ints = [] }: ListInputs,
  results: readonly ('list' | HostResult)[],
  code: ListCode,
): Value[] {
  if (lists.every((v) => v.list) && ints.every((v) => v.known)) {
    const given = { lists: lists.map((v) => v.list!), tensors, ints: ints.map((v) => v.known!) };
    return code(onValues(p), given).map((x) => (x instanceof TensorList ? p.list(x) : x));
  }
  const promised = results.map((r) => (r === 'list' ? { dtype: variant, shape: [] } : r));
  const values = p.host([...lists, ...tensors, ...ints], promised, (arrays) => {
    const given = {
      lists: arrays.slice(0, lists.length).map(listIn),
      tensors: arrays.slice(lists.length, lists.length + tensors.length),
      ints: arrays.slice(lists.length + tensors.length),
    };
    return code(onArrays, given).map((x) => (x instanceof TensorList ? new NDArray(variant, [], [x]) : x));
  });
  return [...values];
}

/** The list in a variant tensor. */
export function listIn(array: NDArray): TensorList<NDArray> {
  const [list] = array.objects;
  if (!(list instanceof TensorList)) throw new InvalidArgumentError("Input handle is not a list. Saw: '<unknown>'");
  return list; // lists of values never leave the tracer
}

/** A shape given as numbers: -1 is an unknown size, the scalar -1 an unknown rank. */
export function dimsOf(shape: NDArray): Dims {
  if (shape.shape.length > 0) return shape.numbers().map((d) => (d < 0 ? null : d));
  if (shape.numberAt(0) !== -1)
    throw new InvalidArgumentError(
      `The only valid scalar shape tensor is the fully unknown shape specified as -1. Got: ${shape.numberAt(0)}`,
    );
  return null;
}

/** The result of one op with one output. */
export function only<T>([value]: readonly T[]): T {
  if (value === undefined) throw new InternalError('list code gave nothing');
  return value;
}
