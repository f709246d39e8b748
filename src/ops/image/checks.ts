/** @file What functions on images share: checks of their shape, and sizes that may be known only at run time. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, showTuple } from '../../core/shape.ts';
import type { Operation } from '../../graph/operation.ts';
import { Tensor } from '../../graph/tensor.ts';
import { expandDims } from '../array/expandDims.ts';
import { getItem } from '../array/getItem.ts';
import { rank, shape } from '../array/shape.ts';
import { squeeze } from '../array/squeeze.ts';
import { unstack } from '../array/stack.ts';
import { assert } from '../flow/assert.ts';
import { assertGreaterEqual, assertPositive } from '../flow/checkOps.ts';
import { withDependencies } from '../flow/group.ts';
import { equal, greater, greaterEqual, lessEqual } from '../math/compare.ts';
import { maximum, minimum } from '../math/maximum.ts';
import { floorOver, minus, minusOf, plus } from '../math/operators.ts';

/** A size: a number, or a scalar tensor when it is known only at run time. */
export type Size = number | Tensor;

/** Operations that fail at run time when the image has less than three axes or is empty. */
export function imageChecks(image: Tensor): Operation[] {
  const dims: Dims = image.shape ?? [null, null, null];
  if (dims.length < 3)
    throw new InvalidArgumentError(`'image' (shape ${showTuple(image.shape)}) must be at least three-dimensional.`);
  const inner = dims.slice(-3);
  if (inner.includes(0))
    throw new InvalidArgumentError(`inner 3 dims of 'image.shape' must be > 0: ${showTuple(image.shape)}`);
  if (!inner.includes(null)) return [];
  return [
    assertPositive(getItem(shape(image), '-3:'), { data: ["inner 3 dims of 'image.shape' must be > 0."] }),
    assertGreaterEqual(rank(image), 3, { message: "'image' must be at least three-dimensional." }),
  ];
}

/** The image after its checks. */
export function checkedImage(image: Tensor): Tensor {
  return withDependencies(imageChecks(image), image);
}

/** The rank of an image or a batch; which of the two it is must be known while building. */
export function imageRank(image: Tensor, remedy: string): 3 | 4 {
  const found = image.shape?.length;
  if (found === 3 || found === 4) return found;
  throw new InvalidArgumentError(
    found === undefined
      ? `the rank of '${image.name}' is not known. ${remedy}`
      : `'image' (shape ${showTuple(image.shape)}) must have either 3 or 4 dimensions.`,
  );
}

/** A condition known now fails now; one known at run time becomes an operation. */
export function requirement(condition: boolean | Tensor, message: string): Operation[] {
  if (condition instanceof Tensor) return [assert(condition, [message])];
  if (!condition) throw new InvalidArgumentError(message);
  return [];
}

/** The four sizes of a batch of images, each as a number where it is known. */
export function sizesOf(images: Tensor): [Size, Size, Size, Size] {
  const dims = images.shape ?? [null, null, null, null];
  const found = dims.includes(null) ? unstack(shape(images), { num: 4 }) : [];
  return dims.map((n, i) => n ?? found[i]!) as [Size, Size, Size, Size]; // batches have rank 4
}

/** The images as a batch, and the way back: a single image stays single. */
export function asBatch(image: Tensor): { batch: Tensor; back: (result: Tensor) => Tensor } {
  const given = image.shape;
  if (given?.length === 4) return { batch: image, back: (result) => result };
  if (given !== null && given.length !== 3)
    throw new InvalidArgumentError(`'image' (shape ${showTuple(given)}) must have either 3 or 4 dimensions.`);
  const batch = expandDims(image, 0);
  if (given === null) batch.setShape([null, null, null, null]);
  return { batch, back: (result) => squeeze(result, { axis: [0] }) };
}

/** The static size: unknown where it is a tensor. */
export const staticSize = (size: Size): number | null => (typeof size === 'number' ? size : null);

const areNumbers = (...sizes: readonly Size[]) => sizes.every((size) => typeof size === 'number');

/** Computes with numbers while building, and with nodes where a size is a tensor. */
function arithmetic<R>(numbers: (a: number, b: number) => R, nodes: (a: Size, b: Size) => Tensor) {
  return (a: Size, b: Size): R | Tensor => (areNumbers(a, b) ? numbers(a as number, b as number) : nodes(a, b)); // just checked
}

export const less = arithmetic((a, b) => a - b, (a, b) => minus(a, b)); // biome-ignore format: a table reads better in rows
export const sum = arithmetic((a, b) => a + b, (a, b) => plus(a, b)); // biome-ignore format: as above
export const larger = arithmetic(Math.max, (a, b) => maximum(a, b));
export const smaller = arithmetic(Math.min, (a, b) => minimum(a, b));
export const half = arithmetic((a, b) => Math.floor(a / b), (a, b) => floorOver(a, b)); // biome-ignore format: as above
export const isEqual = arithmetic((a, b) => a === b, (a, b) => equal(a, b)); // biome-ignore format: as above
export const isAbove = arithmetic((a, b) => a > b, (a, b) => greater(a, b)); // biome-ignore format: as above
/** `a >= b`; Python asks the right side when the left one is a number. */
export const isAtLeast = arithmetic((a, b) => a >= b, (a, b) => (a instanceof Tensor ? greaterEqual(a, b) : lessEqual(b, a))); // biome-ignore format: as above

export function negated(size: Size): Size {
  return typeof size === 'number' ? -size : minusOf(size);
}
