/** @file Comparisons: Equal, NotEqual, Less and its relatives, ApproximateEqual. */

import { bool, string } from '../../core/dtypes.ts';
import { NDArray } from '../../core/ndarray.ts';
import { broadcastConcrete, type Dims, mergeShapes } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Broadcasted, BroadcastsWith } from '../../graph/staticShapes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { type AttrSpec, anyType, attr, numbers } from '../../op/attrs.ts';
import { defineOp, notDifferentiable, type Op } from '../../op/defineOp.ts';
import * as e from '../../program/map.ts';
import { broadcastPorts, type NameOption } from './elementwise.ts';
import { hostBroadcast } from './hostBroadcast.ts';
import { orderedTypes } from './types.ts';

const { NaN: nan } = Number;

type Comparison = Op<{ readonly x: 'T'; readonly y: 'T' }, { readonly z: 'bool' }, { readonly T: AttrSpec<'type'> }>;
type Equality = Op<
  { readonly x: 'T'; readonly y: 'T' },
  { readonly z: 'bool' },
  { readonly T: AttrSpec<'type'>; readonly incompatible_shape_error: AttrSpec<'bool'> }
>;

/** The result of comparing values whose shapes do not broadcast, when that is not an error: one answer for all. */
function broadcastable(x: Dims, y: Dims): boolean {
  try {
    broadcastPorts(['x', x], ['y', y]);
    return true;
  } catch {
    return false;
  }
}

function defineEquality(name: 'Equal' | 'NotEqual', element: typeof e.eq, equal: boolean): Equality {
  const answers = (flags: readonly boolean[]) => flags.map((f) => f === equal);
  return defineOp({
    name,
    inputs: { x: 'T', y: 'T' },
    outputs: { z: 'bool' },
    attrs: { T: anyType, incompatible_shape_error: attr('bool', { default: true }) },
    commutative: true,
    shape({ x, y }, { incompatible_shape_error }) {
      if (incompatible_shape_error) return { z: broadcastPorts(['x', x], ['y', y]) };
      if (x === null || y === null) return { z: null };
      // Shapes that cannot be compared give a single answer.
      if (!broadcastable(x, y)) return { z: [] };
      return { z: mayClash(x, y) ? null : broadcastPorts(['x', x], ['y', y]) };
    },
    grad: notDifferentiable,
    lower(p, { x, y }, { T, incompatible_shape_error }) {
      if (!incompatible_shape_error && !broadcastable(x.shape, y.shape)) return { z: p.fill(bool, [], equal ? 0 : 1) };
      if (T !== string) return { z: p.map([x, y], element) };
      const shape = broadcastConcrete(x.shape, y.shape);
      const [z] = p.host([x, y], [{ dtype: bool, shape }], async ([a, b]) => {
        const { pairs } = hostBroadcast(a!, b!);
        // String arrays hold their elements as bytes.
        const same = await pairs(
          (i, j) => Buffer.compare(a!.objects[i] as Uint8Array, b!.objects[j] as Uint8Array) === 0,
        );
        return [new NDArray(bool, shape, Uint8Array.from(answers(same), Number))];
      });
      return { z: z! };
    },
    cases: () => [
      { shape: '[2, ?], [1] -> [2, ?]' },
      { shape: '[2], [3]', rejects: /Dimensions must be equal, but are 2 and 3/ },
      { shape: '[2], [3] -> []', attrs: { incompatible_shape_error: false } },
      { given: { x: [1, 2, nan], y: [1, 3, nan] }, expect: { z: answers([true, false, false]) } },
      { given: { x: [true, false], y: true }, expect: { z: answers([true, false]) } },
      { given: { x: ['a', 'b'], y: 'b' }, expect: { z: answers([false, true]) } },
      {
        given: {
          x: { dtype: 'complex64', value: [{ re: 1, im: 2 }] },
          y: { dtype: 'complex64', value: [{ re: 1, im: -2 }] },
        },
        expect: { z: answers([false]) },
      },
      { given: { x: [1, 2], y: [1, 2, 3] }, attrs: { incompatible_shape_error: false }, expect: { z: !equal } },
      { given: { x: [1, 2], y: [1, 2, 3] }, fails: /Incompatible shapes: \[2\] vs\. \[3\]|Dimensions must be equal/ },
    ],
  });
}

/** Whether sizes unknown now could turn out not to broadcast. */
function mayClash(x: NonNullable<Dims>, y: NonNullable<Dims>): boolean {
  return [...x, ...y].includes(null);
}

export const Equal: Equality = defineEquality('Equal', e.eq, true);
export const NotEqual: Equality = defineEquality('NotEqual', e.ne, false);

/**
 * Whether `x` equals `y`, element by element. Adds one `Equal` node.
 *
 * @example tf.equal([1, 2], [1, 3]) // runs to [ True False]
 */
export function equal<A extends TensorLike, B extends TensorLike>(
  x: A,
  y: BroadcastsWith<A, B>,
  options?: NameOption,
): Tensor<typeof bool, Broadcasted<A, B>>;
export function equal(x: TensorLike, y: TensorLike, options: NameOption = {}): Tensor<typeof bool> {
  return Equal.build({ x, y }, options).z as Tensor<typeof bool>; // comparisons give bool
}

/**
 * Whether `x` differs from `y`, element by element. Adds one `NotEqual` node.
 *
 * @example tf.notEqual([1, 2], [1, 3]) // runs to [False  True]
 */
export function notEqual<A extends TensorLike, B extends TensorLike>(
  x: A,
  y: BroadcastsWith<A, B>,
  options?: NameOption,
): Tensor<typeof bool, Broadcasted<A, B>>;
export function notEqual(x: TensorLike, y: TensorLike, options: NameOption = {}): Tensor<typeof bool> {
  return NotEqual.build({ x, y }, options).z as Tensor<typeof bool>; // comparisons give bool
}

/** `z` is what three comparisons give for smaller, equal, larger. */
function defineComparison(name: string, element: typeof e.lt, z: readonly [boolean, boolean, boolean]): Comparison {
  return defineOp({
    name,
    inputs: { x: 'T', y: 'T' },
    outputs: { z: 'bool' },
    attrs: { T: attr('type', { allowed: orderedTypes }) },
    shape: ({ x, y }) => ({ z: broadcastPorts(['x', x], ['y', y]) }),
    grad: notDifferentiable,
    lower: e.pointwise((x, y) => element(x!, y!)),
    cases: () => [
      { shape: '[2, ?], [1] -> [2, ?]' },
      { shape: '[2], [3]', rejects: /Dimensions must be equal, but are 2 and 3/ },
      { given: { x: [1, 2, 3], y: 2 }, expect: { z } },
      { given: { x: [nan, 1], y: [1, nan] }, expect: { z: [false, false] } },
      { given: { x: { dtype: 'uint64', value: [1, 2, 2n ** 63n] }, y: { dtype: 'uint64', value: 2 } }, expect: { z } },
    ],
  });
}

export const Less: Comparison = defineComparison('Less', e.lt, [true, false, false]);
export const LessEqual: Comparison = defineComparison('LessEqual', e.le, [true, true, false]);
export const Greater: Comparison = defineComparison('Greater', e.gt, [false, false, true]);
export const GreaterEqual: Comparison = defineComparison('GreaterEqual', e.ge, [false, true, true]);

type ComparisonFunction = <A extends TensorLike, B extends TensorLike>(
  x: A,
  y: BroadcastsWith<A, B>,
  options?: NameOption,
) => Tensor<typeof bool, Broadcasted<A, B>>;
function comparisonFunction(op: Comparison): ComparisonFunction {
  return <A extends TensorLike, B extends TensorLike>(x: A, y: BroadcastsWith<A, B>, options?: NameOption) =>
    op.build({ x, y }, options).z as Tensor<typeof bool, Broadcasted<A, B>>; // comparisons give bool and broadcast
}

/**
 * Whether `x < y`, element by element. Adds one `Less` node.
 *
 * @example tf.less([1, 2, 3], 2) // runs to [ True False False]
 */
export const less: ComparisonFunction = comparisonFunction(Less);

/**
 * Whether `x <= y`, element by element. Adds one `LessEqual` node.
 *
 * @example tf.lessEqual([1, 2, 3], 2) // runs to [ True  True False]
 */
export const lessEqual: ComparisonFunction = comparisonFunction(LessEqual);

/**
 * Whether `x > y`, element by element. Adds one `Greater` node.
 *
 * @example tf.greater([1, 2, 3], 2) // runs to [False False  True]
 */
export const greater: ComparisonFunction = comparisonFunction(Greater);

/**
 * Whether `x >= y`, element by element. Adds one `GreaterEqual` node.
 *
 * @example tf.greaterEqual([1, 2, 3], 2) // runs to [False  True  True]
 */
export const greaterEqual: ComparisonFunction = comparisonFunction(GreaterEqual);

export const ApproximateEqual = defineOp({
  name: 'ApproximateEqual',
  inputs: { x: 'T', y: 'T' },
  outputs: { z: 'bool' },
  attrs: { T: numbers, tolerance: attr('float', { default: 1e-5 }) },
  commutative: true,
  shape: ({ x, y }) => ({ z: mergeShapes(x, y) }),
  grad: notDifferentiable,
  lower: e.pointwiseWith(({ tolerance }: { tolerance: number }) => (x, y) => {
    const apart = x!.dtype.isComplex ? e.cabs(e.sub(x!, y!)) : e.abs(e.sub(x!, y!));
    return e.lt(apart, e.cast(e.constant(tolerance, e.computeType(apart.dtype)), apart.dtype));
  }),
  cases: () => [
    { shape: '[2, ?], [?, 3] -> [2, 3]' },
    { given: { x: [1, 2], y: [1.000001, 2.1] }, expect: { z: [true, false] } },
    { given: { x: [1, 2], y: [1.5, 2.6] }, attrs: { tolerance: 0.55 }, expect: { z: [true, false] } },
  ],
});

/**
 * Whether `|x - y| < tolerance`, element by element. Adds one `ApproximateEqual` node.
 *
 * @example tf.approximateEqual([1.0, 2.5], [1.000001, 2.75]) // runs to [ True False]
 */
export function approximateEqual(
  x: TensorLike,
  y: TensorLike,
  options: NameOption & { readonly tolerance?: number } = {},
): Tensor<typeof bool> {
  const { tolerance, name } = onlyOptions('tf.approximateEqual', options, 'tolerance', 'name');
  const attrs = tolerance === undefined ? {} : { tolerance };
  return ApproximateEqual.build({ x, y }, { name, attrs }).z as Tensor<typeof bool>; // comparisons give bool
}
