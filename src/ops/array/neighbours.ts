/** @file Ops of other families under the short names that array functions and gradients use. */
import type { DType } from '../../core/dtypes.ts';
import { intVector } from '../../core/ndarray.ts';
import type { Operation } from '../../graph/operation.ts';
import { colocateWith, controlDependencies, nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { constantNode } from '../../op/convert.ts';
import { BroadcastGradientArgs } from '../math/broadcast.ts';
import { Cast } from '../math/cast.ts';
import { FloorMod } from '../math/mod.ts';
import { Max, Min, Prod, Sum } from '../math/reductionOps.ts';
import { SelectV2 } from '../math/select.ts';
import { UnsortedSegmentSum } from '../math/unsortedSegmentOps.ts';
import { Identity } from './identity.ts';
import { Range } from './range.ts';
import { rank } from './shape.ts';

export { equal, greaterEqual, less } from '../math/compare.ts';
export { logicalAnd } from '../math/logical.ts';
export { maximum, minimum } from '../math/maximum.ts';
export {
  minus as sub,
  minusOf as negative,
  modulo as mod,
  over as truediv,
  plus as add,
  times as mul,
} from '../math/operators.ts';
export { reduceProd as reduceProdAll, reduceSum as reduceSumAll } from '../math/reductions.ts';

/** `tf.mod`, whose node is named after the op. */
export function floorModFunction(x: Tensor, y: Tensor): Tensor {
  return FloorMod.build({ x, y }).z;
}

/** A `Cast` node, even to the same type. */
export function castNode(x: Tensor, dtype: DType, name?: string): Tensor {
  return Cast.build({ x }, { name, attrs: { DstT: dtype } }).y;
}
/** A `Cast` node unless the type is right already. */
export function cast(x: Tensor, dtype: DType): Tensor {
  return x.dtype === dtype ? x : castNode(x, dtype);
}

interface FoldOptions {
  readonly keepdims?: boolean;
}
export function sum(input: TensorLike, axes: TensorLike, { keepdims = false }: FoldOptions = {}): Tensor {
  return Sum.build({ input, reduction_indices: axes }, { attrs: { keep_dims: keepdims } }).output;
}
export function prod(input: Tensor, axes: TensorLike): Tensor {
  return Prod.build({ input, reduction_indices: axes }).output;
}
export function max(input: Tensor, axes: TensorLike): Tensor {
  return Max.build({ input, reduction_indices: axes }).output;
}
export function min(input: Tensor, axes: TensorLike): Tensor {
  return Min.build({ input, reduction_indices: axes }).output;
}

/** Every axis of a tensor: one `Const` when the rank is known. */
export function allDimensions(x: Tensor): Tensor {
  if (x.rank !== null) return constantNode(intVector(Array.from({ length: x.rank }, (_, i) => i)));
  return Range.build({ start: 0, limit: rank(x), delta: 1 }).output;
}

export function unsortedSegmentSum(data: Tensor, ids: Tensor, count: Tensor, name?: string): Tensor {
  return UnsortedSegmentSum.build({ data, segment_ids: ids, num_segments: count }, { name }).output;
}

/** The axes along which `x` and `y` were stretched when they were broadcast together. */
export function broadcastGradientArgs(x: Tensor, y: Tensor): readonly [Tensor, Tensor] {
  const { r0, r1 } = BroadcastGradientArgs.build({ s0: x, s1: y });
  return [r0, r1];
}

/** The tensor, available only after the operations have run: an `Identity` named `control_dependency`. */
export function withDependencies(inputs: readonly Operation[], x: Tensor): Tensor {
  return nameScope('control_dependency', (scope) =>
    colocateWith(x, () => controlDependencies(inputs, () => Identity.build({ input: x }, { name: scope }).output)),
  );
}

/** `x` where the condition holds, `y` elsewhere, broadcast: a `SelectV2`. */
export function select(condition: TensorLike, x: TensorLike, y: TensorLike): Tensor {
  return SelectV2.build({ condition, t: x, e: y }).output;
}
