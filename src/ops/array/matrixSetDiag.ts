/** @file MatrixSetDiag in its three versions: matrices with their diagonals replaced. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { isFullyDefined, showRuntime } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType } from '../../op/attrs.ts';
import { int32s } from '../../op/cases.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { atLeastRank } from './common.ts';
import { align, checkMatrix, type DiagonalOptions, leftLeft, mainDiagonal, packedAs } from './diagonalOptions.ts';
import { type Band, checkBand, demandBand, forEachDiagonal, longest, packedShape } from './diagonals.ts';
import { zeros } from './fill.ts';
import { denseGradient } from './indexedSlices.ts';
import { matrixDiagPart } from './matrixDiagPart.ts';
import { setDiagShape } from './matrixSetDiagShape.ts';

function lowerSetDiag(p: ProgramBuilder, input: Value, diagonal: Value, band: Band, packing: string): Value {
  checkMatrix(input);
  const [rows, columns] = input.shape.slice(-2) as [number, number]; // rank checked
  checkBand(band, rows, columns);
  const wanted = packedShape(input.shape.slice(0, -2), band, longest(band, rows, columns)) as number[]; // all known
  if (showRuntime(wanted) !== showRuntime(diagonal.shape))
    throw new InvalidArgumentError(
      `Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1] is not equal to the longests diagonal in range [lower_diag_index:upper_diag_index].\nInput shape: ${showRuntime(input.shape)}\nDiagonal shape: ${showRuntime(diagonal.shape)}\nExpected diagonal shape: ${showRuntime(wanted)}`,
    );
  const output = p.copy(input);
  forEachDiagonal(p, output, diagonal, band, packing, (target, source) => p.copyInto(source, target));
  return output;
}

export const MatrixSetDiag = defineOp({
  name: 'MatrixSetDiag',
  inputs: { input: 'T', diagonal: 'T' },
  outputs: { output: 'T' },
  attrs: { T: anyType },
  shape: ({ input }) => ({ output: atLeastRank(input, 2, 'input') }),
  grad({ inputs: { input, diagonal } }, { output: dy }) {
    const grad = denseGradient(dy);
    const shape = setDiagShape(input, diagonal, grad);
    const dInput = matrixSetDiag(grad, zeros(shape, { dtype: grad.dtype }));
    return { input: dInput, diagonal: matrixDiagPart(grad) };
  },
  lower: (p, { input, diagonal }) => ({ output: lowerSetDiag(p, input, diagonal, mainDiagonal, leftLeft) }),
  cases: () => [
    { shape: '[2, 3], [2] -> [2, 3]' },
    {
      given: {
        input: [
          [1, 2, 3],
          [4, 5, 6],
        ],
        diagonal: [8, 9],
      },
      expect: {
        output: [
          [8, 2, 3],
          [4, 9, 6],
        ],
      },
    },
  ],
});

/** The gradients of the input (without what was replaced) and of the diagonals. */
function setDiagGradient(inputs: { diagonal: Tensor; k: Tensor }, dy: Gradient, packing?: string) {
  const { diagonal, k } = inputs;
  if (!isFullyDefined(diagonal.shape))
    throw new InvalidArgumentError(
      'the gradient of MatrixSetDiag needs a diagonal of known shape. Give it one with tf.ensureShape or tf.reshape.',
    );
  const options = packedAs(k, packing);
  const input = matrixSetDiag(dy, zeros(diagonal.shape, { dtype: dy.dtype }), options);
  return { input, diagonal: matrixDiagPart(dy, options) };
}

const setInputs = { input: 'T', diagonal: 'T', k: 'int32' } as const;

export const MatrixSetDiagV2 = defineOp({
  name: 'MatrixSetDiagV2',
  inputs: setInputs,
  outputs: { output: 'T' },
  attrs: { T: anyType },
  hostInputs: ['k'],
  shape: ({ input }) => ({ output: atLeastRank(input, 2, 'input') }),
  grad: ({ inputs }, { output: dy }) => setDiagGradient(inputs, dy),
  lower: (p, { input, diagonal, k }) => ({ output: lowerSetDiag(p, input, diagonal, demandBand(p, k), leftLeft) }),
  cases: () => [
    { shape: '[2, ?], [?], [] -> [2, ?]' },
    {
      given: {
        input: [
          [1, 2],
          [3, 4],
        ],
        diagonal: [9],
        k: int32s(1),
      },
      expect: {
        output: [
          [1, 9],
          [3, 4],
        ],
      },
    },
  ],
});

export const MatrixSetDiagV3 = defineOp({
  name: 'MatrixSetDiagV3',
  inputs: setInputs,
  outputs: { output: 'T' },
  attrs: { T: anyType, align },
  hostInputs: ['k'],
  shape: ({ input }) => ({ output: atLeastRank(input, 2, 'input') }),
  grad: ({ inputs, attrs }, { output: dy }) => setDiagGradient(inputs, dy, attrs.align),
  lower: (p, { input, diagonal, k }, attrs) => ({
    output: lowerSetDiag(p, input, diagonal, demandBand(p, k), attrs.align),
  }),
  cases: () => [
    { shape: '[2, ?], [?], [] -> [2, ?]' },
    {
      given: {
        input: [
          [7, 7, 7],
          [7, 7, 7],
          [7, 7, 7],
        ],
        diagonal: [
          [0, 8, 9],
          [1, 2, 3],
          [4, 5, 0],
        ],
        k: int32s([-1, 1]),
      },
      expect: {
        output: [
          [1, 8, 7],
          [4, 2, 9],
          [7, 5, 3],
        ],
      },
    },
  ],
});

/**
 * Matrices with their diagonals replaced. Adds one `MatrixSetDiagV3` node named `set_diag`.
 *
 * @example tf.matrixSetDiag(tf.constant([[1, 2], [3, 4]]), [8, 9]) // runs to [[8 2] [3 9]]
 */
export function matrixSetDiag(
  input: TensorLike,
  diagonal: TensorLike,
  options: Omit<DiagonalOptions, 'paddingValue'> = {},
): Tensor {
  const {
    k = 0,
    align: packing = 'RIGHT_LEFT',
    name = 'set_diag',
  } = onlyOptions('tf.matrixSetDiag', options, 'k', 'align', 'name');
  return MatrixSetDiagV3.build({ input, diagonal, k }, { name, attrs: { align: packing } }).output;
}
