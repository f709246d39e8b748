/** @file Ops of other families that array functions and gradients use, with the node names Python gives them. */
import { type DType, int32 } from '../../core/dtypes.ts';
import { intVector } from '../../core/ndarray.ts';
import { currentContext } from '../../graph/context.ts';
import { colocateWith, controlDependencies, nameScope } from '../../graph/graph.ts';
import type { Operation } from '../../graph/operation.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { encodeAttr } from '../../op/attrs.ts';
import { constantNode, convertToTensor, isSymbolic } from '../../op/convert.ts';
import { findOp } from '../../op/registry.ts';
import { SelectV2 } from '../math/select.ts';
import { Range, range } from './range.ts';
import { rank } from './shape.ts';

function node(
  type: string,
  inputs: readonly Tensor[],
  { name = type, attrs = {} }: { name?: string | undefined; attrs?: Readonly<Record<string, unknown>> } = {},
): Tensor {
  const { attrSpecs } = findOp(type);
  const encoded = Object.fromEntries(Object.entries(attrs).map(([k, v]) => [k, encodeAttr(attrSpecs[k]!, v)]));
  const graph = inputs[0]?.graph ?? currentContext().graph;
  return graph.createOp({ type, inputs, attrs: encoded, name }).outputs[0]!;
}

/** A Python operator: its own name scope, and a literal beside a tensor takes the tensor's type. */
function operator(type: string, name: string) {
  return (x: TensorLike, y: TensorLike): Tensor =>
    nameScope(name, (scope) => {
      if (isSymbolic(x)) {
        const left = convertToTensor(x);
        return node(type, [left, convertToTensor(y, { hint: left.dtype, name: 'y' })], { name: scope });
      }
      const right = convertToTensor(y);
      return node(type, [convertToTensor(x, { dtype: right.dtype, name: 'x' }), right], { name: scope });
    });
}

export const add = operator('AddV2', 'add');
export const sub = operator('Sub', 'sub');
export const mul = operator('Mul', 'mul');
export const mod = operator('FloorMod', 'mod');
/** `tf.mod`, whose node is named after the op. */
export const floorModFunction = operator('FloorMod', 'FloorMod');
export const truediv = operator('RealDiv', 'truediv');
export const less = operator('Less', 'Less');
export const greaterEqual = operator('GreaterEqual', 'GreaterEqual');
export const equal = operator('Equal', 'Equal');
export const maximum = operator('Maximum', 'Maximum');
export const minimum = operator('Minimum', 'Minimum');

export function logicalAnd(x: Tensor, y: Tensor): Tensor {
  return node('LogicalAnd', [x, y]);
}
export function negative(x: Tensor): Tensor {
  return node('Neg', [x]);
}
/** A `Cast` node, even to the same type. */
export function castNode(x: Tensor, dtype: DType, name?: string): Tensor {
  return node('Cast', [x], { name, attrs: { DstT: dtype } });
}
/** A `Cast` node unless the type is right already. */
export function cast(x: Tensor, dtype: DType): Tensor {
  return x.dtype === dtype ? x : castNode(x, dtype);
}

/** Folds along axes given as a tensor or literal. */
function reduction(type: string) {
  return (x: Tensor, axes: TensorLike, { keepdims = false }: { keepdims?: boolean } = {}): Tensor =>
    nameScope(type, (scope) =>
      node(type, [x, convertToTensor(axes, { name: 'reduction_indices', hint: int32 })], {
        name: scope,
        attrs: { keep_dims: keepdims },
      }),
    );
}
export const sum = reduction('Sum');
export const prod = reduction('Prod');
export const max = reduction('Max');
export const min = reduction('Min');

/** Every axis of a tensor: one `Const` when the rank is known. */
export function allAxes(x: Tensor): Tensor {
  if (x.rank !== null) return constantNode(intVector(Array.from({ length: x.rank }, (_, i) => i)));
  return range(0, rank(x));
}
/** Every axis of a tensor, as array functions name it. */
export function allDimensions(x: Tensor): Tensor {
  if (x.rank !== null) return constantNode(intVector(Array.from({ length: x.rank }, (_, i) => i)));
  return Range.build({ start: 0, limit: rank(x), delta: 1 }).output;
}
export function reduceProdAll(x: Tensor): Tensor {
  const axes = allAxes(x);
  return node('Prod', [x, axes]);
}
export function reduceSumAll(x: Tensor): Tensor {
  const axes = allAxes(x);
  return node('Sum', [x, axes]);
}

export function unsortedSegmentSum(data: Tensor, ids: Tensor, count: Tensor, name?: string): Tensor {
  return node('UnsortedSegmentSum', [data, ids, count], { name });
}
/** The axes along which `x` and `y` were stretched when they were broadcast together. */
export function broadcastGradientArgs(x: Tensor, y: Tensor): readonly [Tensor, Tensor] {
  const out = node('BroadcastGradientArgs', [x, y]).op.outputs;
  return [out[0]!, out[1]!];
}

/** The tensor, available only after the operations have run: an `Identity` named `control_dependency`. */
export function withDependencies(inputs: readonly Operation[], x: Tensor): Tensor {
  return nameScope('control_dependency', (scope) =>
    colocateWith(x, () => controlDependencies(inputs, () => node('Identity', [x], { name: scope }))),
  );
}

/** `x` where the condition holds, `y` elsewhere, broadcast: a `SelectV2`. */
export function select(condition: TensorLike, x: TensorLike, y: TensorLike): Tensor {
  return SelectV2.build({ condition, t: x, e: y }).output;
}
