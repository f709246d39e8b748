/** @file Xdivy, Xlogy, Xlog1py: products that are 0 wherever x is 0, whatever y is. */
import { float32 } from '../../core/dtypes.ts';
import { scalar } from '../../core/ndarray.ts';
import { onlyOptions } from '../../graph/options.ts';
import { controlDependencies, nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import * as e from '../../program/map.ts';
import { reshape } from '../array/reshape.ts';
import { shape } from '../array/shape.ts';
import { BroadcastGradientArgs } from './broadcast.ts';
import { cast } from './cast.ts';
import { notEqual } from './compare.ts';
import {
  type BinaryFunction,
  type BinaryNode,
  type BinaryOp,
  binaryFunction,
  defineBinary,
  type GradientPair,
  type NameOption,
} from './elementwise.ts';
import { negative } from './neg.ts';
import { plus, times, toThe } from './operators.ts';
import { reduceSum } from './reductions.ts';
import { floatAndComplexTypes } from './types.ts';

/** Gradients from the partial derivatives; the one by x is `op` of 1 where x counts and of 0 where it does not. */
function gradient({ x, y, dy }: BinaryNode, op: BinaryOp, partialY: () => Tensor): GradientPair {
  const sx = shape(x);
  const sy = shape(y);
  const { r0, r1 } = BroadcastGradientArgs.build({ s0: sx, s1: sy });
  return controlDependencies([dy], () => {
    const zero = cast(scalar(float32, 0), x.dtype);
    const counts = cast(notEqual(x, zero), x.dtype);
    const byX = op.build({ x: counts, y }).z;
    const byY = partialY();
    return [reshape(reduceSum(times(byX, dy), r0), sx), reshape(reduceSum(times(byY, dy), r1), sy)];
  });
}

/** 0 where x is 0, even if `value` is NaN or infinite there. */
const unlessZero = (x: e.Expr, value: e.Expr) => e.select(e.eq(x, 0), 0, value);

export const Xlogy = defineBinary({
  name: 'Xlogy',
  types: floatAndComplexTypes,
  element: (x, y) => unlessZero(x, e.mul(x, e.log(y))),
  grad: (node) => gradient(node, Xlogy, () => Xdivy.build({ x: node.x, y: node.y }).z),
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    {
      given: { x: [0, 2, 0], y: [0, 3, Number.NaN] },
      expect: { z: [0, 2.1972245773362196, 0] },
      differentiable: false,
    },
    {
      given: { x: [[1], [2]], y: [2, 4] },
      expect: {
        z: [
          [Math.LN2, 1.3862943611198906],
          [1.3862943611198906, 2.772588722239781],
        ],
      },
    },
  ],
});

/**
 * `x · log(y)`, but 0 wherever `x` is 0. Adds one `Xlogy` node.
 *
 * @example tf.math.xlogy([0.0, 2.0], [0.0, 3.0]) // runs to [0.        2.1972246]
 */
export const xlogy: BinaryFunction = binaryFunction(Xlogy);

export const Xlog1py = defineBinary({
  name: 'Xlog1py',
  types: floatAndComplexTypes,
  element: (x, y) => unlessZero(x, e.mul(x, e.log1p(y))),
  grad: (node) => gradient(node, Xlog1py, () => Xdivy.build({ x: node.x, y: plus(node.y, 1) }).z),
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    { given: { x: [0, 2], y: [-1, 2] }, expect: { z: [0, 2.1972245773362196] }, differentiable: false },
    { given: { x: [1, 2], y: [1, 3] }, expect: { z: [Math.LN2, 2.772588722239781] } },
  ],
});

/**
 * `x · log1p(y)`, but 0 wherever `x` is 0. Adds one `Xlog1py` node under `xlog1py/`.
 *
 * @example tf.math.xlog1py([0.0, 2.0], [-1.0, 2.0]) // runs to [0.        2.1972246]
 */
export function xlog1py(x: TensorLike, y: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.xlog1py', options, 'name');
  return nameScope(options.name ?? 'xlog1py', () => Xlog1py.build({ x, y }).z);
}

export const Xdivy = defineBinary({
  name: 'Xdivy',
  types: floatAndComplexTypes,
  element: (x, y) => unlessZero(x, e.div(x, y)),
  grad: (node) =>
    gradient(node, Xdivy, () => {
      const opposite = negative(node.x);
      return Xdivy.build({ x: opposite, y: toThe(node.y, 2) }).z;
    }),
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    { given: { x: [0, 3], y: [0, 2] }, expect: { z: [0, 1.5] }, differentiable: false },
    { given: { x: [1, 3], y: [4, 2] }, expect: { z: [0.25, 1.5] } },
  ],
});

/**
 * `x / y`, but 0 wherever `x` is 0. Adds one `Xdivy` node under `xdivy/`.
 *
 * @example tf.math.xdivy([0.0, 3.0], [0.0, 2.0]) // runs to [0.  1.5]
 */
export function xdivy(x: TensorLike, y: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.xdivy', options, 'name');
  return nameScope(options.name ?? 'xdivy', () => Xdivy.build({ x, y }).z);
}
