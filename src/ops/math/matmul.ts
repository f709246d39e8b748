/** @file MatMul: the product of two matrices. */

import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, showShape } from '../../core/shape.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';

/** A matrix's rows and columns as the product sees them. */
function matrix(port: string, dims: Dims, transposed: boolean): readonly [number | null, number | null] {
  if (dims === null) return [null, null];
  if (dims.length !== 2)
    throw new InvalidArgumentError(
      `${port} is ${showShape(dims)}, but a matrix of rank 2 is needed. For batches of matrices use tf.matmul on rank 3 or more, or tf.reshape it.`,
    );
  const [rows, columns] = dims as readonly [number | null, number | null]; // rank checked
  return transposed ? [columns, rows] : [rows, columns];
}

export const MatMul = defineOp({
  name: 'MatMul',
  inputs: { a: 'T', b: 'T' },
  outputs: { product: 'T' },
  attrs: {
    transpose_a: attr('bool', { default: false }),
    transpose_b: attr('bool', { default: false }),
    T: attr('type', {
      allowed: [
        d.bfloat16,
        d.float16,
        d.float32,
        d.float64,
        d.int32,
        d.int64,
        d.uint8,
        d.uint16,
        d.uint32,
        d.uint64,
        d.complex64,
        d.complex128,
      ],
    }),
    grad_a: attr('bool', { default: false }),
    grad_b: attr('bool', { default: false }),
  },

  shape({ a, b }, { transpose_a, transpose_b }) {
    const [rows, inner] = matrix('a', a, transpose_a);
    const [innerB, columns] = matrix('b', b, transpose_b);
    if (inner !== null && innerB !== null && inner !== innerB)
      throw new InvalidArgumentError(
        `a is ${showShape([rows, inner])} and b is ${showShape([innerB, columns])}, so a has ${inner} columns but b has ${innerB} rows; they must be equal.${hint(inner, columns)}`,
      );
    return { product: [rows, columns] };
  },

  grad({ inputs: { a, b }, attrs: { transpose_a, transpose_b } }, { product: dy }) {
    if (!transpose_a && !transpose_b)
      return { a: product(dy, b, false, true, 'grad_a'), b: product(a, dy, true, false, 'grad_b') };
    if (!transpose_a) return { a: product(dy, b, false, false, 'grad_a'), b: product(dy, a, true, false, 'grad_b') };
    if (!transpose_b) return { a: product(b, dy, false, true, 'grad_a'), b: product(a, dy, false, false, 'grad_b') };
    return { a: product(b, dy, true, true, 'grad_a'), b: product(dy, a, true, true, 'grad_b') };
  },

  lower: (p, { a, b }, { transpose_a, transpose_b }) => ({
    product: p.dot(a, b, { transposeA: transpose_a, transposeB: transpose_b }),
  }),

  cases: () => [
    { shape: '[2, 3], [3, ?] -> [2, ?]' },
    { shape: '[2, 3], [4, 5]', rejects: /3 columns but b has 4 rows/ },
    {
      given: {
        a: [
          [1, 2],
          [3, 4],
        ],
        b: [
          [5, 6],
          [7, 8],
        ],
      },
      attrs: { transpose_a: true },
      expect: {
        product: [
          [26, 30],
          [38, 44],
        ],
      },
    },
  ],
});

/** The remedy, when turning b round would make the product possible. */
const hint = (inner: number, columns: number | null) =>
  inner === columns ? ' With transposeB: true they would be.' : '';

/** A product inside a gradient; the flag says which operand's gradient it is, as TensorFlow marks it. */
function product(
  a: TensorLike,
  b: TensorLike,
  transpose_a: boolean,
  transpose_b: boolean,
  flag: 'grad_a' | 'grad_b',
): Tensor {
  return MatMul.build({ a, b }, { attrs: { transpose_a, transpose_b, [flag]: true } }).product;
}
