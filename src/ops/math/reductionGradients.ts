/** @file Gradients of the reductions, node for node as TensorFlow's Python builds them. */
import { int32 } from '../../core/dtypes.ts';
import { intVector, type NDArray, scalar } from '../../core/ndarray.ts';
import { isFullyDefined, type Shape, sizeOf } from '../../core/shape.ts';
import { type Graph, graphFor } from '../../graph/graph.ts';
import { colocateWith, device } from '../../graph/scopes.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { partialValueOf } from '../../op/constantValue.ts';
import { constantNode } from '../../op/convert.ts';
import type { Gradient } from '../../op/registry.ts';
import { broadcastTo } from '../array/broadcastTo.ts';
import { concat } from '../array/concat.ts';
import { dynamicStitch } from '../array/dynamicStitch.ts';
import { ones } from '../array/fill.ts';
import { gather } from '../array/gather.ts';
import { range } from '../array/range.ts';
import { reshape } from '../array/reshape.ts';
import { rank, shape, size } from '../array/shape.ts';
import { tile } from '../array/tile.ts';
import { invertPermutation, transpose } from '../array/transpose.ts';
import { setdiff1d } from '../array/unique.ts';
import { cast } from './cast.ts';
import { equal } from './compare.ts';
import { conj } from './complex.ts';
import { cumprod } from './cumulative.ts';
import { maximum } from './maximum.ts';
import { floorOver, modulo, over, plus, times } from './operators.ts';
import { reduceProd, reduceSum } from './reductions.ts';

/** What the gradients need to see of a reduction. */
export interface ReductionContext {
  readonly inputs: { readonly input: Tensor; readonly reduction_indices: Tensor };
  readonly outputs: { readonly output: Tensor };
  readonly attrs: { readonly keep_dims: boolean };
}

/** Ops through which Python's gradients look for constants; what lies behind others they compute with nodes. */
const transparent = new Set([
  'Range',
  'Cast',
  'Concat',
  'ConcatV2',
  'Pack',
  'Unpack',
  'Split',
  'Fill',
  'StopGradient',
  'Identity',
]);
const leaves = new Set(['Const', 'Shape', 'Size', 'Rank']);

function isConstant({ op }: Tensor): boolean {
  return leaves.has(op.type) || (transparent.has(op.type) && op.inputs.every(isConstant));
}

/** The entries of an integer tensor that Python takes for a constant. */
function knownInts(tensor: Tensor): readonly number[] | undefined {
  if (!isConstant(tensor)) return undefined;
  const entries = partialValueOf(tensor);
  return entries && !entries.includes(null) ? (entries as readonly number[]) : undefined; // no nulls, as just checked
}

/** `shape` with 1 in place of the reduced sizes: an array when everything is constant, else nodes that compute it. */
export function reducedShape(inputShape: Tensor, axes: Tensor): Tensor | NDArray {
  const sizes = knownInts(inputShape);
  const reduced = knownInts(axes);
  if (sizes && reduced) return intVector(withOnes(sizes, reduced));
  const inputRank = size(inputShape, { outType: axes.dtype });
  const positions = modulo(plus(axes, inputRank), inputRank);
  const axesShape = shape(positions);
  return dynamicStitch([range(inputRank), positions], [inputShape, ones(axesShape, { dtype: inputShape.dtype })]);
}

function withOnes(sizes: Shape, axes: readonly number[]): number[] {
  const kept = [...sizes];
  for (const axis of axes) kept[axis < 0 ? axis + kept.length : axis] = 1;
  return kept;
}

/** How often a reduced tensor is to be repeated; worked out once per graph, shape and axes, as Python does. */
const tileCounts = new WeakMap<Graph, Map<string, { kept: Shape; counts: Shape }>>();

function staticTiling(graph: Graph, inputShape: Shape, axes: readonly number[]): { kept: Shape; counts: Shape } {
  let cache = tileCounts.get(graph);
  if (!cache) tileCounts.set(graph, (cache = new Map()));
  const key = `${inputShape.join()};${axes.join()}`;
  let found = cache.get(key);
  if (!found) {
    const kept = withOnes(inputShape, axes);
    // Python computes the counts with two nodes that nothing uses later; graphs made by either client are to be equal.
    floorOver(intVector(inputShape), maximum(intVector(kept), scalar(int32, 1)));
    const counts = inputShape.map((n, i) => Math.floor(n / Math.max(kept[i]!, 1)));
    cache.set(key, (found = { kept, counts }));
  }
  return found;
}

export function sumGradient({ inputs, attrs }: ReductionContext, dy: Gradient): Tensor {
  const { input, reduction_indices } = inputs;
  const dims = input.shape;
  const axes = knownInts(reduction_indices);
  if (dims && axes) {
    const all = reduction_indices.shape?.length === 1 && axes.length === dims.length && axes.every((a, i) => a === i);
    if (all) {
      const expanded = reshape(
        dy,
        dims.map(() => 1),
      );
      return tile(expanded, isFullyDefined(dims) ? constantNode(intVector(dims)) : shape(input));
    }
    if (isFullyDefined(dims)) {
      const { kept, counts } = staticTiling(graphFor([input]), dims, axes);
      return tile(reshape(dy, intVector(kept)), intVector(counts));
    }
  }
  const inputShape = shape(input);
  if (attrs.keep_dims) return broadcastTo(dy, inputShape);
  const kept = colocateWith(inputShape, () => reducedShape(inputShape, reduction_indices));
  return broadcastTo(reshape(dy, kept), inputShape);
}

export function meanGradient(context: ReductionContext, dy: Gradient): Tensor {
  const { input, reduction_indices } = context.inputs;
  const total = sumGradient(context, dy);
  const from = input.shape;
  const to = context.outputs.output.shape;
  if (isFullyDefined(from) && isFullyDefined(to)) {
    const factor = Math.floor(sizeOf(from) / Math.max(sizeOf(to), 1));
    return over(total, constantNode(scalar(total.dtype, factor)));
  }
  const inputShape = shape(input);
  const inputRank = size(inputShape);
  const axes = modulo(plus(cast(reduction_indices, inputRank.dtype), inputRank), inputRank);
  const factor = reduceProd(gather(inputShape, axes));
  return over(total, cast(factor, total.dtype));
}

/** Equal extremes share the gradient evenly. */
export function extremeGradient({ inputs, outputs, attrs }: ReductionContext, dy: Gradient): Tensor {
  const { input, reduction_indices } = inputs;
  const inputShape = shape(input);
  let y = outputs.output;
  let grad = dy;
  let kept: Tensor | NDArray;
  if (attrs.keep_dims) kept = shape(y);
  else {
    kept = reducedShape(inputShape, reduction_indices);
    y = reshape(y, kept);
    grad = reshape(grad, kept);
  }
  const indicators = cast(equal(y, input), grad.dtype);
  const count = reshape(reduceSum(indicators, reduction_indices), kept);
  return times(over(indicators, count), grad);
}

/** Products of all the other factors, by running products from both ends, so that a zero does no harm. */
export function prodGradient({ inputs, attrs }: ReductionContext, dy: Gradient): Tensor {
  const { input, reduction_indices } = inputs;
  const inputShape = shape(input);
  const flatAxes = reshape(reduction_indices, [-1]);
  const kept = attrs.keep_dims ? dy : reshape(dy, reducedShape(inputShape, reduction_indices));
  const grad = broadcastTo(kept, inputShape);
  // Shape arithmetic belongs on the host.
  const { perm, reducedCount, otherCount } = device('/cpu:0', () => {
    const inputRank = rank(input);
    const reduced = modulo(plus(cast(flatAxes, inputRank.dtype), inputRank), inputRank);
    const other = setdiff1d(range(0, inputRank), reduced, { indexDtype: reduced.dtype }).out;
    const perm = concat([reduced, other], 0);
    const reducedCount = reduceProd(gather(inputShape, reduced));
    const otherCount = reduceProd(gather(inputShape, other));
    return { perm, reducedCount, otherCount };
  });
  const permuted = transpose(input, perm);
  const permutedShape = shape(permuted);
  const flat = reshape(permuted, [reducedCount, otherCount]);
  const left = cumprod(flat, 0, { exclusive: true });
  const right = cumprod(flat, 0, { exclusive: true, reverse: true });
  const others = reshape(times(conj(left), conj(right)), permutedShape);
  return reshape(times(grad, transpose(others, invertPermutation(perm))), inputShape);
}

export function normGradient({ inputs, outputs, attrs }: ReductionContext, dy: Gradient): Tensor {
  let norm = outputs.output;
  let grad = dy;
  if (!attrs.keep_dims) {
    const kept = reducedShape(shape(inputs.input), inputs.reduction_indices);
    norm = reshape(norm, kept);
    grad = reshape(grad, kept);
  }
  return over(inputs.input, over(norm, grad));
}
