/** @file Diag and DiagPart: a tensor on the diagonal of one of twice its rank. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, showRuntime, showShape, sizeOf } from '../../core/shape.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import { atLeastRank, filled, mergeDim, type Named, part, zeroElement } from './common.ts';

const types = attr('type', {
  allowed: [d.bfloat16, d.float16, d.float32, d.float64, d.int32, d.int64, d.complex64, d.complex128],
});

export const Diag = defineOp({
  name: 'Diag',
  inputs: { diagonal: 'T' },
  outputs: { output: 'T' },
  attrs: { T: types },
  shape({ diagonal }) {
    atLeastRank(diagonal, 1, 'diagonal');
    return { output: diagonal === null ? null : [...diagonal, ...diagonal] };
  },
  grad: (_, { output: dy }) => ({ diagonal: diagPart(dy) }),
  lower(p, { diagonal }) {
    const n = sizeOf(diagonal.shape);
    const flat = filled(p, zeroElement(p, diagonal.dtype), [n * n]);
    if (n > 0) p.copyInto(p.reshape(diagonal, [n]), part(flat, [0], [n], [n + 1]));
    return { output: p.reshape(flat, [...diagonal.shape, ...diagonal.shape]) };
  },
  cases: () => [
    { shape: '[2, ?] -> [2, ?, 2, ?]' },
    {
      given: { diagonal: [1, 2] },
      expect: {
        output: [
          [1, 0],
          [0, 2],
        ],
      },
    },
    {
      given: { diagonal: { dtype: 'int32', value: [[1, 2]] } },
      expect: { output: { dtype: 'int32', value: [[[[1, 0]], [[0, 2]]]] } },
    },
  ],
});

function diagonalOf(input: Dims): Dims {
  if (input === null) return null;
  if (input.length % 2 !== 0 || input.length === 0)
    throw new InvalidArgumentError(`Input must have even and non-zero rank, but it is ${showShape(input)}`);
  const half = input.length / 2;
  return input
    .slice(0, half)
    .map((n, i) => mergeDim(n, input[i + half]!, `dimensions ${i} and ${i + half} of the input`));
}

export const DiagPart = defineOp({
  name: 'DiagPart',
  inputs: { input: 'T' },
  outputs: { diagonal: 'T' },
  attrs: { T: types },
  shape: ({ input }) => ({ diagonal: diagonalOf(input) }),
  grad: (_, { diagonal: dy }) => ({ input: diag(dy) }),
  lower(p, { input }) {
    const half = input.shape.length / 2;
    const shape = input.shape.slice(0, half);
    if (!Number.isInteger(half) || half === 0)
      throw new InvalidArgumentError(
        `The rank of the tensor should be even and positive, got shape ${showRuntime(input.shape)}`,
      );
    const odd = shape.findIndex((d, i) => d !== input.shape[i + half]);
    if (odd >= 0)
      throw new InvalidArgumentError(
        `Invalid shape ${showRuntime(input.shape)}: dimensions ${odd} and ${odd + half} do not match.`,
      );
    const n = sizeOf(shape);
    return { diagonal: p.reshape(p.slice(p.reshape(input, [n * n]), [0], [n], [n + 1]), shape) };
  },
  cases: () => [
    { shape: '[2, ?, ?, 3] -> [2, 3]' },
    { shape: '[2, 3]', rejects: /must be equal/ },
    {
      given: {
        input: [
          [1, 2],
          [3, 4],
        ],
      },
      expect: { diagonal: [1, 4] },
    },
  ],
});

/**
 * A tensor with `diagonal` on its diagonal and zeros elsewhere. Adds one `Diag` node.
 *
 * @example tf.diag(tf.constant([1, 2])) // runs to [[1 0] [0 2]]
 */
export function diag(diagonal: TensorLike, options: Named = {}): Tensor {
  return Diag.build({ diagonal }, options).output;
}

/**
 * The diagonal of a tensor of even rank. Adds one `DiagPart` node.
 *
 * @example tf.diagPart(tf.constant([[1, 2], [3, 4]])) // runs to [1 4]
 */
export function diagPart(input: TensorLike, options: Named = {}): Tensor {
  return DiagPart.build({ input }, options).diagonal;
}
