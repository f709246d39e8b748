/** @file What ops such as TanhGrad have in common: `z = f(y, dy)` of an output and its gradient, of one shape. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { mergeShapes, sameShape, sizeOf } from '../../core/shape.ts';
import { controlDependencies } from '../../graph/scopes.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { type AttrSpec, attr } from '../../op/attrs.ts';
import type { Case } from '../../op/cases.ts';
import { defineOp, type Op } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import type { Expr } from '../../program/map.ts';
import { floatAndComplexTypes } from './types.ts';

/** An op that turns the gradient of an output `y` into that of the input, knowing only `y`. */
export type GradientOp = Op<
  { readonly y: 'T'; readonly dy: 'T' },
  { readonly z: 'T' },
  { readonly T: AttrSpec<'type'> }
>;

interface GradientOpSpec {
  readonly name: string;
  readonly element: (y: Expr, dy: Expr) => Expr;
  /** Gradients for `y` and `dy`; built after `dz`, as TensorFlow does to keep memory low. */
  readonly grad: (node: { y: Tensor; dy: Tensor; z: Tensor; dz: Gradient }) => readonly [Gradient, Gradient];
  readonly cases: () => readonly Case<'y' | 'dy', 'z'>[];
}

export function defineGradientOp({ name, element, grad, cases }: GradientOpSpec): GradientOp {
  return defineOp({
    name,
    inputs: { y: 'T', dy: 'T' },
    outputs: { z: 'T' },
    attrs: { T: attr('type', { allowed: floatAndComplexTypes }) },
    shape: ({ y, dy }) => ({ z: mergeShapes(y, dy) }),
    grad({ inputs, outputs }, { z: dz }) {
      const [y, dy] = controlDependencies([dz], () => grad({ ...inputs, z: outputs.z, dz }));
      return { y, dy };
    },
    lower(p, { y, dy }) {
      if (!sameShape(y.shape, dy.shape))
        throw new InvalidArgumentError(
          `The two arguments to a cwise op must have same number of elements, got ${sizeOf(y.shape)} and ${sizeOf(dy.shape)}`,
        );
      return { z: p.map([y, dy], (a, b) => element(a!, b!)) };
    },
    cases,
  });
}
