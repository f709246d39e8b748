/** @file MatrixSquareRoot and MatrixLogarithm: functions of whole matrices, by way of their Schur form. */

import * as d from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, gradientPending, type Op } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import type { HostCall } from '../../program/instructions.ts';
import { concat } from '../array/concat.ts';
import { getItem } from '../array/getItem.ts';
import { eye } from '../array/meshgrid.ts';
import { reshape } from '../array/reshape.ts';
import { shape, size } from '../array/shape.ts';
import { slice } from '../array/slice.ts';
import { tile } from '../array/tile.ts';
import { matrixTranspose } from '../array/transpose.ts';
import { add } from './add.ts';
import type { NameOption } from './elementwise.ts';
import { matrixSolve } from './linalg.ts';
import { checkSquare, matrixTypes, squareDims, type TypeAttr } from './linalgShapes.ts';
import { promises } from './nativeMatrix.ts';
import { times } from './operators.ts';
import { reduceProd } from './reductions.ts';
import { logarithms, squareRoots } from './schurFunctions.ts';
import { subtract } from './subtract.ts';

/** The Kronecker product of the square matrices of two batches. */
function kronecker(a: Tensor, b: Tensor): Tensor {
  const [shapeA, shapeB] = [shape(a), shape(b)];
  const [orderA, orderB] = [getItem(shapeA, [-1]), getItem(shapeB, [-1])];
  const batch = slice(shapeA, [0], [subtract(size(shapeA), 2)]);
  const wideA = concat([batch, [orderA], [1], [orderA], [1]], 0);
  const wideB = concat([batch, [1], [orderB], [1], [orderB]], 0);
  const [spreadA, spreadB] = [reshape(a, wideA), reshape(b, wideB)];
  const order = times(orderA, orderB);
  const whole = concat([batch, [order], [order]], 0);
  return reshape(times(spreadA, spreadB), whole);
}

/** Solves `root dRoot + dRoot root = dy`, as one system for all elements of dRoot. */
function rootGradient(root: Tensor, dy: Gradient): Tensor {
  const whole = shape(root);
  const order = getItem(whole, [-1]);
  const count = reduceProd(getItem(whole, '0:-2'));
  const identity = reshape(tile(reshape(eye(order, { dtype: root.dtype }), [-1]), [count]), whole);
  const turned = matrixTranspose(root);
  const system = add(kronecker(identity, turned), kronecker(root, identity));
  const batch = slice(whole, [0], [subtract(size(whole), 2)]);
  const column = concat([batch, [times(order, order)], [1]], 0);
  const right = reshape(matrixTranspose(dy), column);
  return matrixTranspose(reshape(matrixSolve(system, right), whole));
}

type RootOp = Op<{ readonly input: 'T' }, { readonly output: 'T' }, TypeAttr>;

export const MatrixSquareRoot: RootOp = defineOp({
  name: 'MatrixSquareRoot',
  inputs: { input: 'T' },
  outputs: { output: 'T' },
  attrs: { T: matrixTypes },
  shape: ({ input }) => ({ output: squareDims('input', input) }),
  grad: ({ outputs: { output } }, dy) => ({ input: rootGradient(output, dy.output) }),
  lower(p, { input }) {
    checkSquare(input.shape);
    const call: HostCall = async ([x], _run, { threads }) => [await squareRoots(x!, threads)];
    const [output] = p.host([input], [{ dtype: input.dtype, shape: input.shape }], call, promises);
    return { output: output! };
  },
  cases: () => [
    { shape: '[?, 2, ?] -> [?, 2, 2]' },
    { shape: '[2, 3]', rejects: /must be square/ },
    {
      given: {
        input: [
          [7, 10],
          [15, 22],
        ],
      },
      expect: {
        output: [
          [1.566698903601281, 1.740776559556978],
          [2.611164839335468, 4.17786374293675],
        ],
      },
    },
    {
      given: {
        input: [
          [
            [4, 1, 0],
            [0, 5, 2],
            [1, 0, 6],
          ],
          [
            [9, 0, 0],
            [0, 4, 0],
            [0, 0, 1],
          ],
        ],
      },
    },
  ],
});

/**
 * The matrices whose products with themselves are the given ones. Adds one `MatrixSquareRoot` node.
 *
 * @example tf.linalg.sqrtm(tf.constant([[4.0, 0.0], [0.0, 9.5]])) // runs to [[2. 0.] [0. 3.082207]]
 */
export function sqrtm(input: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.linalg.sqrtm', options, 'name');
  return MatrixSquareRoot.build({ input }, options).output;
}

const complexTypes = attr('type', { allowed: [d.complex64, d.complex128] });

export const MatrixLogarithm = defineOp({
  name: 'MatrixLogarithm',
  inputs: { input: 'T' },
  outputs: { output: 'T' },
  attrs: { T: complexTypes },
  shape: ({ input }) => ({ output: squareDims('input', input) }),
  grad: gradientPending('TensorFlow has none either'),
  lower(p, { input }) {
    checkSquare(input.shape);
    const call: HostCall = async ([x], _run, { threads }) => [await logarithms(x!, threads)];
    const [output] = p.host([input], [{ dtype: input.dtype, shape: input.shape }], call, promises);
    return { output: output! };
  },
  cases: () => {
    const complex = (value: readonly (readonly number[])[]) => ({ dtype: 'complex128' as const, value });
    return [
      { shape: '[?, 2, ?] -> [?, 2, 2]', attrs: { T: d.complex64 } },
      { shape: '[2, 3]', attrs: { T: d.complex64 }, rejects: /must be square/ },
      {
        given: {
          input: complex([
            [1, 2],
            [0, 1],
          ]),
        },
        expect: {
          output: complex([
            [0, 2],
            [0, 0],
          ]),
        },
      },
      {
        given: {
          input: complex([
            [4, 1, 0],
            [0, 5, 2],
            [1, 0, 6],
          ]),
        },
      },
    ];
  },
});

/**
 * The principal logarithms of complex matrices: `tf.linalg.expm` gives the matrices back. Adds one `MatrixLogarithm` node.
 *
 * @example tf.linalg.logm(tf.constant([[1, 0], [0, 1]], tf.complex64)) // runs to [[0.+0.j 0.+0.j] [0.+0.j 0.+0.j]]
 */
export function logm(input: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.linalg.logm', options, 'name');
  return MatrixLogarithm.build({ input }, options).output;
}
