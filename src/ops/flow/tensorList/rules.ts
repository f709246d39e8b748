/** @file What every op on tensor lists checks, in TensorFlow's words. */
import type { DType } from '../../../core/dtypes.ts';
import { InvalidArgumentError } from '../../../core/errors.ts';
import { compatible, type Dims, isFullyDefined, mergeAtRunTime, type Shape, showRuntime } from '../../../core/shape.ts';
import type { TensorList } from '../../../core/tensorList.ts';
import type { Kit } from './kit.ts';

export function checkType(list: TensorList<unknown>, dtype: DType): void {
  if (list.dtype !== dtype)
    throw new InvalidArgumentError(
      `Invalid data types; op elements ${dtype.runtimeName} but list elements ${list.dtype.runtimeName}`,
    );
}

/** The shape of the elements, from all that is known: the op's, the list's, and those of the elements that are asked for. */
export function elementShape<E>(
  kit: Kit<E>,
  list: TensorList<E>,
  given: Dims,
  asked: Iterable<E | undefined> = list.elements,
): Dims {
  let dims = mergeAtRunTime(given, list.elementShape);
  if (isFullyDefined(dims)) return dims;
  for (const x of asked) if (x !== undefined) dims = mergeAtRunTime(dims, kit.shapeOf(x));
  return dims;
}

export function definedShape(dims: Dims, otherwise: string): Shape {
  if (!isFullyDefined(dims)) throw new InvalidArgumentError(`${otherwise}${showRuntime(dims)}`);
  return dims;
}

/** The element at a position; one that was never set is zeros. */
export function elementOr<E>(kit: Kit<E>, list: TensorList<E>, index: number, shape: Dims): E {
  const found = list.at(index);
  if (found !== undefined) return found;
  const known = definedShape(
    elementShape(kit, list, shape),
    'Trying to read an uninitialized tensor but element_shape is not fully defined',
  );
  return kit.zeros(list.dtype, known);
}

/** What `Stack` and `Gather` do: elements of one shape as rows of one tensor. */
export function stacked<E>(kit: Kit<E>, list: TensorList<E>, indices: readonly number[], shape: Shape): E {
  const rows = indices.map((i) => {
    const element = elementOr(kit, list, i, shape);
    if (!compatible(kit.shapeOf(element), shape))
      throw new InvalidArgumentError(
        `Tensor with invalid shape in list. List element shape ${showRuntime(kit.shapeOf(element))} and required element shape ${showRuntime(shape)}`,
      );
    return kit.reshape(element, [1, ...shape]);
  });
  return kit.concat(rows, list.dtype, [indices.length, ...shape]);
}

/** The rows of a tensor as elements. */
export function unstacked<E>(kit: Kit<E>, tensor: E): E[] {
  const [count = 0, ...shape] = kit.shapeOf(tensor);
  return Array.from({ length: count }, (_, i) => kit.reshape(kit.rows(tensor, i, 1), shape));
}

/** Two lists added position by position; what was never set counts as zeros. */
export function addedLists<E>(kit: Kit<E>, a: TensorList<E>, b: TensorList<E>): TensorList<E> {
  if (a.length !== b.length)
    throw new InvalidArgumentError(
      `Trying to add two lists of tensors with different lengths. One is ${a.length} and the other is ${b.length}`,
    );
  if (!compatible(a.elementShape, b.elementShape))
    throw new InvalidArgumentError(
      `Trying to add two lists of tensors with incompatible element shapes. One is ${showRuntime(a.elementShape)} and the other is ${showRuntime(b.elementShape)}`,
    );
  let sum = a;
  for (let i = 0; i < a.length; i++) {
    const x = a.at(i);
    const y = b.at(i);
    if (y !== undefined) sum = sum.with(i, x === undefined ? y : kit.plus(x, y));
  }
  return sum;
}

/** A list of zeros of the same form. */
export function zeroList<E>(kit: Kit<E>, list: TensorList<E>): TensorList<E> {
  return list.map((x) => kit.zerosLike(x));
}
