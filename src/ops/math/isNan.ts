/** @file Tests of floats: IsNan, IsInf, IsFinite. */
import type { bool } from '../../core/dtypes.ts';
import type { Dims } from '../../core/shape.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { type AttrSpec, attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable, type Op } from '../../op/defineOp.ts';
import * as e from '../../program/map.ts';
import type { NameOption } from './elementwise.ts';
import { floatTypes } from './types.ts';

type Test = Op<{ readonly x: 'T' }, { readonly y: 'bool' }, { readonly T: AttrSpec<'type'> }>;

/** `y` is the answer for NaN, infinity, minus infinity and 1. */
function defineTest(name: string, element: (x: e.Expr) => e.Expr, y: readonly boolean[]): Test {
  return defineOp({
    name,
    inputs: { x: 'T' },
    outputs: { y: 'bool' },
    attrs: { T: attr('type', { allowed: floatTypes }) },
    shape: ({ x }) => ({ y: x }),
    grad: notDifferentiable,
    lower: e.pointwise((x) => element(x!)),
    cases: () => [
      { shape: '[2, ?] -> [2, ?]' },
      { given: { x: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1] }, expect: { y } },
      {
        given: { x: { dtype: 'float16', value: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1] } },
        expect: { y },
      },
    ],
  });
}

export const IsNan: Test = defineTest('IsNan', e.isnan, [true, false, false, false]);
export const IsInf: Test = defineTest('IsInf', e.isinf, [false, true, true, false]);
export const IsFinite: Test = defineTest('IsFinite', e.isfinite, [false, false, false, true]);

type TestFunction = (x: TensorLike, options?: NameOption) => Tensor<typeof bool, Dims>;
function testFunction(op: Test): TestFunction {
  return (x, options) => op.build({ x }, options).y as Tensor<typeof bool>; // the port's type
}

/**
 * Whether each element is NaN. Adds one `IsNan` node.
 *
 * @example tf.isNan([1.5, NaN]) // runs to [False  True]
 */
export const isNan: TestFunction = testFunction(IsNan);

/**
 * Whether each element is infinite. Adds one `IsInf` node.
 *
 * @example tf.isInf([1.5, Infinity]) // runs to [False  True]
 */
export const isInf: TestFunction = testFunction(IsInf);

/**
 * Whether each element is neither infinite nor NaN. Adds one `IsFinite` node.
 *
 * @example tf.isFinite([1.5, Infinity, NaN]) // runs to [ True False False]
 */
const finite: TestFunction = testFunction(IsFinite);

export { finite as isFinite };
