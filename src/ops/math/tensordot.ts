/** @file `tensordot`: products summed over chosen axes of both tensors, by way of one matrix product. */
import { int32 } from '../../core/dtypes.ts';
import { isFullyDefined, sizeOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { concat } from '../array/concat.ts';
import { gather } from '../array/gather.ts';
import { getItem } from '../array/getItem.ts';
import { range } from '../array/range.ts';
import { reshape } from '../array/reshape.ts';
import { rank, shape } from '../array/shape.ts';
import { stack } from '../array/stack.ts';
import { transpose } from '../array/transpose.ts';
import { setdiff1d } from '../array/unique.ts';
import { greaterEqual } from './compare.ts';
import { matmul } from './matmul.ts';
import { minus, plus } from './operators.ts';
import { reduceProd } from './reductions.ts';
import { where } from './select.ts';

/** How many of the last and first axes to sum over, or the axes of each tensor. */
export type TensordotAxes = number | readonly [number | readonly number[], number | readonly number[]] | Tensor;
type Axes = readonly number[] | Tensor;

function axesOf(a: Tensor, axes: TensordotAxes): readonly [Axes, Axes] {
  if (typeof axes === 'number') {
    if (axes < 0) throw userError(`axes must be at least 0, but is ${axes}.`);
    if (a.rank === null) {
      const count = rank(a);
      return [range(minus(count, axes), count, { dtype: int32 }), range(axes, { dtype: int32 })];
    }
    const count = a.rank;
    if (axes > count) throw userError(`axes is ${axes}, but must not be larger than the rank ${count} of ${a}.`);
    const upTo = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
    return [upTo(count - axes, count), upTo(0, axes)];
  }
  if (axes instanceof Tensor) return [getItem(axes, [0]), getItem(axes, [1])];
  const [left, right] = axes.map((x) => (typeof x === 'number' ? [x] : x)) as [readonly number[], readonly number[]]; // two entries
  if (left.length !== right.length)
    throw userError(`Different number of contraction axes a and b, ${left.length} != ${right.length}.`);
  return [left, right];
}

interface Flattened {
  readonly matrix: Tensor;
  /** Sizes of the axes that are kept, as numbers where they are known. */
  readonly free: readonly number[] | Tensor;
  readonly freeDims: readonly (number | null)[] | null;
}

/** The tensor as a matrix: kept axes by summed axes, or the other way round. */
function flatten(a: Tensor, axes: Axes, flipped: boolean): Flattened {
  const dims = a.shape;
  const given = axes instanceof Tensor ? undefined : axes;
  const positions = dims && given?.map((i) => (i < 0 ? i + dims.length : i));
  const kept = dims && positions ? dims.map((_, i) => i).filter((i) => !positions.includes(i)) : undefined;
  if (isFullyDefined(dims) && positions && kept) {
    const free = kept.map((i) => dims[i]!);
    const summed = sizeOf(positions.map((i) => dims[i]!));
    const perm = flipped ? [...positions, ...kept] : [...kept, ...positions];
    const target = flipped ? [summed, sizeOf(free)] : [sizeOf(free), summed];
    const turned = perm.some((p, i) => p !== i) ? transpose(a, perm) : a;
    const matrix = `${turned.shape}` === `${target}` && turned.rank === 2 ? turned : reshape(turned, target);
    return { matrix, free, freeDims: free };
  }
  let summedAxes: Tensor;
  let freeAxes: Tensor;
  let sizes: Tensor;
  if (positions && kept) {
    summedAxes = convertToTensor(positions, { dtype: int32, name: 'axes' });
    freeAxes = convertToTensor(kept, { dtype: int32, name: 'free' });
    sizes = shape(a);
  } else {
    sizes = shape(a);
    const count = rank(a);
    const asked = convertToTensor(axes, { dtype: int32, name: 'axes' });
    summedAxes = where(greaterEqual(asked, 0), asked, plus(asked, count));
    freeAxes = setdiff1d(range(count), summedAxes, { indexDtype: int32 }).out;
  }
  const free = gather(sizes, freeAxes);
  const summed = gather(sizes, summedAxes);
  const freeCount = reduceProd(free);
  const summedCount = reduceProd(summed);
  const perm = concat(flipped ? [summedAxes, freeAxes] : [freeAxes, summedAxes], 0);
  const target = stack(flipped ? [summedCount, freeCount] : [freeCount, summedCount]);
  return {
    matrix: reshape(transpose(a, perm), target),
    free,
    freeDims: dims && kept ? kept.map((i) => dims[i]!) : null,
  };
}

/**
 * The sum of products over chosen axes of two tensors; the axes that are left follow each other. Adds nodes under
 * `Tensordot/`.
 *
 * @example tf.tensordot([[1, 2], [3, 4]], [5, 6], 1) // runs to [17 39]
 */
export function tensordot(a: TensorLike, b: TensorLike, axes: TensordotAxes, options: { name?: string } = {}): Tensor {
  onlyOptions('tf.tensordot', options, 'name');
  return nameScope(options.name ?? 'Tensordot', (name) => {
    const x = convertToTensor(a, { name: 'a' });
    const y = convertToTensor(b, { name: 'b' });
    const [axesX, axesY] = axesOf(x, axes);
    const left = flatten(x, axesX, false);
    const right = flatten(y, axesY, true);
    const product = matmul(left.matrix, right.matrix);
    if (!(left.free instanceof Tensor) && !(right.free instanceof Tensor)) {
      const dims = [...left.free, ...right.free];
      const done = isFullyDefined(product.shape) && dims.length === 2 && `${product.shape}` === `${dims}`;
      return done ? product : reshape(product, dims, { name });
    }
    const sizes = [left.free, right.free].map((sizes) => convertToTensor(sizes, { dtype: int32 }));
    const result = reshape(product, concat(sizes, 0), { name });
    if (left.freeDims && right.freeDims) result.setShape([...left.freeDims, ...right.freeDims]);
    return result;
  });
}
