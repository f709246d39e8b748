/** @file LogicalAnd, LogicalOr, LogicalNot. */
import type { bool } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { defineOp, notDifferentiable, type Op } from '../../op/defineOp.ts';
import * as e from '../../program/map.ts';
import { broadcastPorts, type NameOption } from './elementwise.ts';

type Connective = Op<{ readonly x: 'bool'; readonly y: 'bool' }, { readonly z: 'bool' }, Record<never, never>>;

/** `z` is the truth table for (false, false), (false, true), (true, false), (true, true). */
function defineConnective(name: string, element: typeof e.and, z: readonly boolean[]): Connective {
  return defineOp({
    name,
    inputs: { x: 'bool', y: 'bool' },
    outputs: { z: 'bool' },
    attrs: {},
    commutative: true,
    shape: ({ x, y }) => ({ z: broadcastPorts(['x', x], ['y', y]) }),
    grad: notDifferentiable,
    lower: e.pointwise((x, y) => element(x!, y!)),
    cases: () => [
      { shape: '[2, ?], [1] -> [2, ?]' },
      { given: { x: [false, false, true, true], y: [false, true, false, true] }, expect: { z } },
      { given: { x: [[false], [true]], y: [false, true] }, expect: { z: [z.slice(0, 2), z.slice(2)] } },
    ],
  });
}

export const LogicalAnd: Connective = defineConnective('LogicalAnd', e.and, [false, false, false, true]);
export const LogicalOr: Connective = defineConnective('LogicalOr', e.or, [false, true, true, true]);

export const LogicalNot = defineOp({
  name: 'LogicalNot',
  inputs: { x: 'bool' },
  outputs: { y: 'bool' },
  attrs: {},
  shape: ({ x }) => ({ y: x }),
  grad: notDifferentiable,
  lower: e.pointwise((x) => e.not(x!)),
  cases: () => [{ shape: '[2, ?] -> [2, ?]' }, { given: { x: [true, false] }, expect: { y: [false, true] } }],
});

/**
 * Whether both are true, element by element. Adds one `LogicalAnd` node.
 *
 * @example tf.logicalAnd([true, false], true) // runs to [ True False]
 */
export function logicalAnd(x: TensorLike, y: TensorLike, options: NameOption = {}): Tensor<typeof bool> {
  return LogicalAnd.build({ x, y }, options).z as Tensor<typeof bool>; // the port's type
}

/**
 * Whether one is true, element by element. Adds one `LogicalOr` node.
 *
 * @example tf.logicalOr([true, false], false) // runs to [ True False]
 */
export function logicalOr(x: TensorLike, y: TensorLike, options: NameOption = {}): Tensor<typeof bool> {
  return LogicalOr.build({ x, y }, options).z as Tensor<typeof bool>; // the port's type
}

/**
 * The opposite of every element. Adds one `LogicalNot` node.
 *
 * @example tf.logicalNot([true, false]) // runs to [False  True]
 */
export function logicalNot(x: TensorLike, options: NameOption = {}): Tensor<typeof bool> {
  return LogicalNot.build({ x }, options).y as Tensor<typeof bool>; // the port's type
}

/**
 * Whether exactly one is true, element by element. Adds `LogicalOr`, `LogicalAnd`, `LogicalNot` nodes and a `LogicalAnd`
 * named `LogicalXor`.
 *
 * @example tf.logicalXor([true, false], true) // runs to [False  True]
 */
export function logicalXor(x: TensorLike, y: TensorLike, options: NameOption = {}): Tensor<typeof bool> {
  onlyOptions('tf.logicalXor', options, 'name');
  const either = logicalOr(x, y);
  const notBoth = logicalNot(logicalAnd(x, y));
  return logicalAnd(either, notBoth, { name: options.name ?? 'LogicalXor' });
}

/** `x & y`: a LogicalAnd named `and`. */
export const bothOf = (x: TensorLike, y: TensorLike): Tensor<typeof bool> => logicalAnd(x, y, { name: 'and' });
/** `x | y`: a LogicalOr named `or`. */
export const eitherOf = (x: TensorLike, y: TensorLike): Tensor<typeof bool> => logicalOr(x, y, { name: 'or' });
/** `x ^ y`: a LogicalAnd named `xor`, its parts under that name. */
export const oneOf = (x: TensorLike, y: TensorLike): Tensor<typeof bool> =>
  nameScope('xor', (name) => logicalXor(x, y, { name }));
