/** @file tensordot: products summed over chosen axes of both tensors, by way of one matrix product. */
import { int32 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { intVector } from '../../core/ndarray.ts';
import { isFullyDefined, normalizeAxis, showShape } from '../../core/shape.ts';
import { nameScope } from '../../graph/graph.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { constantNode, convertToTensor, isSymbolic } from '../../op/convert.ts';
import { concat, gather, reshape, shape, stack, transpose } from '../array/index.ts';
import type { NameOption } from './elementwise.ts';
import { matmul } from './matmul.ts';
import { reduceProd } from './reductions.ts';

/** How many axes to sum over (the last of `a`, the first of `b`), or which axes of each. */
export type TensordotAxes = number | readonly [a: number | readonly number[], b: number | readonly number[]];

const product = (sizes: readonly number[]) => sizes.reduce((n, d) => n * d, 1);
const list = (axes: number | readonly number[]) => (typeof axes === 'number' ? [axes] : [...axes]);

function axesOf(a: Tensor, axes: TensordotAxes): readonly [number[], number[]] {
  if (typeof axes !== 'number') return [list(axes[0]), list(axes[1])];
  const rank = rankOf(a);
  if (axes < 0 || axes > rank)
    throw new InvalidArgumentError(
      `\`axes\` must be between 0 and the rank of a, but is ${axes}; a is ${showShape(a.shape)}.`,
    );
  const count = Array.from({ length: axes }, (_, i) => i);
  return [count.map((i) => rank - axes + i), count];
}

function rankOf(x: Tensor): number {
  if (x.rank !== null) return x.rank;
  throw new InvalidArgumentError(
    `tensordot needs the rank of ${x}, which is not known. setShape or tf.reshape gives it.`,
  );
}

interface AsMatrix {
  readonly matrix: Tensor;
  /** The sizes that are not summed over: numbers when all sizes of the tensor are known. */
  readonly free: readonly number[] | Tensor;
  readonly staticFree: readonly (number | null)[];
}

/** The tensor as a matrix whose rows (columns, when `flipped`) are the axes that stay. */
function asMatrix(x: Tensor, given: readonly number[], flipped: boolean): AsMatrix {
  const rank = rankOf(x);
  const axes = given.map((axis) => normalizeAxis(axis, rank));
  const free = Array.from({ length: rank }, (_, i) => i).filter((i) => !axes.includes(i));
  const order = <T>(kept: T, summed: T): [T, T] => (flipped ? [summed, kept] : [kept, summed]);
  const staticFree = free.map((i) => x.shape![i]!);
  const sizes = x.shape;
  if (isFullyDefined(sizes)) {
    const perm = order(free, axes).flat();
    const turned = perm.every((axis, i) => axis === i) ? x : transpose(x, perm);
    const wanted = order(product(free.map((i) => sizes[i]!)), product(axes.map((i) => sizes[i]!)));
    const fits = turned.rank === 2 && turned.shape!.every((d, i) => d === wanted[i]);
    return { matrix: fits ? turned : reshape(turned, wanted), free: free.map((i) => sizes[i]!), staticFree };
  }
  const axesNode = constantNode(intVector(axes), 'axes');
  const freeNode = constantNode(intVector(free), 'free');
  const dims = shape(x);
  const freeDims = gather(dims, freeNode);
  const summedDims = gather(dims, axesNode);
  const rows = reduceProd(freeDims);
  const columns = reduceProd(summedDims);
  const perm = concat(order(freeNode, axesNode), 0);
  const wanted = stack(order(rows, columns));
  return { matrix: reshape(transpose(x, perm), wanted), free: freeDims, staticFree };
}

/**
 * Products of `a` and `b` summed over axes of both. Adds a `MatMul` under `Tensordot/`, with the transposes and reshapes that
 * make matrices of them.
 *
 * @example tf.tensordot([[1, 2], [3, 4]], [1, 10], 1) // runs to [21 43]
 */
export function tensordot(a: TensorLike, b: TensorLike, axes: TensordotAxes, options: NameOption = {}): Tensor {
  return nameScope(options.name ?? 'Tensordot', (name) => {
    const x = convertToTensor(a, { name: 'a', hint: isSymbolic(b) ? b.dtype : undefined });
    const y = convertToTensor(b, { name: 'b', hint: x.dtype });
    const [xAxes, yAxes] = axesOf(x, axes);
    if (xAxes.length !== yAxes.length)
      throw new InvalidArgumentError(
        `Different number of contraction axes for a and b: ${xAxes.length} and ${yAxes.length}.`,
      );
    const left = asMatrix(x, xAxes, false);
    const right = asMatrix(y, yAxes, true);
    const flat = matmul(left.matrix, right.matrix);
    const dims = [...left.staticFree, ...right.staticFree];
    if (!isTensor(left.free) && !isTensor(right.free)) {
      const whole = [...left.free, ...right.free];
      return flat.rank === whole.length && flat.shape!.every((d, i) => d === whole[i])
        ? flat
        : reshape(flat, whole, { name });
    }
    const sizes = [left.free, right.free].map((f) => (isTensor(f) ? f : convertToTensor(f, { dtype: int32 })));
    const result = reshape(flat, concat(sizes, 0), { name });
    result.setShape(dims);
    return result;
  });
}

const isTensor = (free: AsMatrix['free']): free is Tensor => !Array.isArray(free);
