/** @file MatrixBandPart: matrices without what lies outside a band around their main diagonal. */
import { int32, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { int32s } from '../../op/cases.ts';
import { defineOp } from '../../op/defineOp.ts';
import { and, ge, index, le, select, sub } from '../../program/map.ts';
import { atLeastRank, type Named, zeroElement } from './common.ts';
import { checkMatrix } from './diagonalOptions.ts';

export const MatrixBandPart = defineOp({
  name: 'MatrixBandPart',
  inputs: { input: 'T', num_lower: 'Tindex', num_upper: 'Tindex' },
  outputs: { band: 'T' },
  attrs: { T: anyType, Tindex: attr('type', { allowed: [int32, int64], default: int64 }) },
  hostInputs: ['num_lower', 'num_upper'],
  shape: ({ input }) => ({ band: atLeastRank(input, 2, 'input') }),
  grad: ({ inputs: { num_lower, num_upper } }, { band: dy }) => ({
    input: matrixBandPart(dy, num_lower, num_upper),
  }),
  lower(p, { input, num_lower, num_upper }) {
    checkMatrix(input);
    const rank = input.shape.length;
    const [rows, columns] = input.shape.slice(-2) as [number, number]; // rank checked
    const below = p.demandInts(num_lower)[0]!;
    const above = p.demandInts(num_upper)[0]!;
    if (below > rows)
      throw new InvalidArgumentError(
        `num_lower must be negative or less or equal to number of rows (${rows}) got: ${below}`,
      );
    if (above > columns)
      throw new InvalidArgumentError(
        `num_upper must be negative or less or equal to number of columns (${columns}) got: ${above}`,
      );
    const distance = sub(index(rank - 1), index(rank - 2));
    const inside = and(ge(distance, below < 0 ? -rows : -below), le(distance, above < 0 ? columns : above));
    const band = p.mapAll(
      [input, zeroElement(p, input.dtype)],
      (x, zero) => [select(inside, x, zero)],
      input.shape,
    )[0]!;
    return { band };
  },
  cases: () => [
    { shape: '[2, ?], [], [] -> [2, ?]' },
    {
      given: {
        input: [
          [0, 1, 2, 3],
          [-1, 0, 1, 2],
          [-2, -1, 0, 1],
        ],
        num_lower: { dtype: 'int64', value: 1 },
        num_upper: { dtype: 'int64', value: -1 },
      },
      expect: {
        band: [
          [0, 1, 2, 3],
          [-1, 0, 1, 2],
          [0, -1, 0, 1],
        ],
      },
    },
    {
      given: {
        input: [
          [1, 2],
          [3, 4],
        ],
        num_lower: int32s(5),
        num_upper: int32s(0),
      },
      fails: /num_lower must be negative or less or equal to number of rows \(2\) got: 5/,
    },
  ],
});

/**
 * Matrices with everything outside a band around the main diagonal set to zero; a negative number keeps all of that side.
 * Adds one `MatrixBandPart` node.
 *
 * @example tf.matrixBandPart(tf.constant([[1, 2], [3, 4]]), -1, 0) // runs to [[1 0] [3 4]]
 */
export function matrixBandPart(
  input: TensorLike,
  numLower: TensorLike,
  numUpper: TensorLike,
  options: Named = {},
): Tensor {
  return MatrixBandPart.build({ input, num_lower: numLower, num_upper: numUpper }, options).band;
}
