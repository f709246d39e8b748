/** @file MatrixDiag in its three versions: matrices from their diagonals. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, showRuntime } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType } from '../../op/attrs.ts';
import { int32s } from '../../op/cases.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { atLeastRank, filled, type Known, zeroElement } from './common.ts';
import { align, type DiagonalOptions, leftLeft, mainDiagonal, packedAs, padding } from './diagonalOptions.ts';
import { bandOf, demandBand, forEachDiagonal, matrixSize } from './diagonals.ts';
import { matrixDiagPart } from './matrixDiagPart.ts';

function diagDims(diagonal: Dims, k: Known | undefined, rows: Known | undefined, columns: Known | undefined): Dims {
  atLeastRank(diagonal, 1, 'diagonal');
  const band = bandOf(k);
  if (diagonal === null || !band) return null;
  const lead = diagonal.slice(0, band.lower === band.upper ? -1 : -2);
  const length = diagonal.at(-1)!;
  const [wantedRows, wantedColumns] = [rows?.[0] ?? null, columns?.[0] ?? null];
  if (length === null || wantedRows === null || wantedColumns === null) return [...lead, null, null];
  return [...lead, ...matrixSize(band, length, wantedRows, wantedColumns)];
}

interface DiagValues {
  readonly diagonal: Value;
  readonly k: Value;
  readonly num_rows: Value;
  readonly num_cols: Value;
  readonly padding_value: Value;
}

function lowerDiag(p: ProgramBuilder, inputs: DiagValues, packing: string): Value {
  const { diagonal } = inputs;
  const band = demandBand(p, inputs.k);
  const axes = band.lower === band.upper ? 1 : 2;
  if (diagonal.shape.length < axes)
    throw new InvalidArgumentError(
      `diagonal must be at least ${axes}-dim, received shape: ${showRuntime(diagonal.shape)}`,
    );
  if (axes === 2 && diagonal.shape.at(-2) !== band.upper - band.lower + 1)
    throw new InvalidArgumentError(
      'The number of diagonals provided in the input does not match the lower_diag_index and upper_diag_index range.',
    );
  const size = matrixSize(
    band,
    diagonal.shape.at(-1)!,
    p.demandInts(inputs.num_rows)[0]!,
    p.demandInts(inputs.num_cols)[0]!,
  );
  const output = filled(p, inputs.padding_value, [...diagonal.shape.slice(0, -axes), ...size]);
  forEachDiagonal(p, output, diagonal, band, packing, (target, source) => p.copyInto(source, target));
  return output;
}

export const MatrixDiag = defineOp({
  name: 'MatrixDiag',
  inputs: { diagonal: 'T' },
  outputs: { output: 'T' },
  attrs: { T: anyType },
  shape({ diagonal }) {
    atLeastRank(diagonal, 1, 'diagonal');
    return { output: diagonal === null ? null : [...diagonal, diagonal.at(-1)!] };
  },
  grad: (_, { output: dy }) => ({ diagonal: matrixDiagPart(dy) }),
  lower(p, { diagonal }) {
    const output = filled(p, zeroElement(p, diagonal.dtype), [...diagonal.shape, diagonal.shape.at(-1)!]);
    forEachDiagonal(p, output, diagonal, mainDiagonal, leftLeft, (target, source) => p.copyInto(source, target));
    return { output };
  },
  cases: () => [
    { shape: '[2, ?] -> [2, ?, ?]' },
    {
      given: { diagonal: [[1, 2]] },
      expect: {
        output: [
          [
            [1, 0],
            [0, 2],
          ],
        ],
      },
    },
  ],
});

const diagInputs = { diagonal: 'T', k: 'int32', num_rows: 'int32', num_cols: 'int32', padding_value: 'T' } as const;
const anySize = { num_rows: int32s(-1), num_cols: int32s(-1) };
const three = { num_rows: int32s(3), num_cols: int32s(3) };

export const MatrixDiagV2 = defineOp({
  name: 'MatrixDiagV2',
  inputs: diagInputs,
  outputs: { output: 'T' },
  attrs: { T: anyType },
  hostInputs: ['k', 'num_rows', 'num_cols'],
  shape: ({ diagonal }, _, c) => ({
    output: diagDims(diagonal, c.partial('k'), c.partial('num_rows'), c.partial('num_cols')),
  }),
  grad: ({ inputs: { k } }, { output: dy }) => ({ diagonal: matrixDiagPart(dy, { k }) }),
  lower: (p, inputs) => ({ output: lowerDiag(p, inputs, leftLeft) }),
  cases: () => [
    { shape: '[2, 3], ?, [], [], [] -> ?' },
    {
      given: {
        diagonal: [3],
        k: int32s(0),
        ...anySize,
        padding_value: 0,
      },
      expect: { output: [[3]] },
    },
    {
      given: {
        diagonal: [
          [8, 9, 0],
          [1, 2, 3],
        ],
        k: int32s([0, 1]),
        ...three,
        padding_value: 0,
      },
      expect: {
        output: [
          [1, 8, 0],
          [0, 2, 9],
          [0, 0, 3],
        ],
      },
      // Its gradient is taken as if diagonals were packed as in V3, as in TensorFlow.
      differentiable: false,
    },
  ],
});

export const MatrixDiagV3 = defineOp({
  name: 'MatrixDiagV3',
  inputs: diagInputs,
  outputs: { output: 'T' },
  attrs: { T: anyType, align },
  hostInputs: ['k', 'num_rows', 'num_cols'],
  shape: ({ diagonal }, _, c) => ({
    output: diagDims(diagonal, c.partial('k'), c.partial('num_rows'), c.partial('num_cols')),
  }),
  grad: ({ inputs: { k }, attrs }, { output: dy }) => ({
    diagonal: matrixDiagPart(dy, packedAs(k, attrs.align)),
  }),
  lower: (p, inputs, attrs) => ({ output: lowerDiag(p, inputs, attrs.align) }),
  cases: () => [
    {
      shape: '[2, 3], [], [], [], [] -> [2, 4, 4]',
      given: {
        k: int32s(-1),
        ...anySize,
      },
    },
    { shape: '[2, 3], ?, [], [], [] -> ?' },
    {
      given: {
        diagonal: [
          [0, 8, 9],
          [1, 2, 3],
          [4, 5, 0],
        ],
        k: int32s([-1, 1]),
        ...three,
        padding_value: 0,
      },
      expect: {
        output: [
          [1, 8, 0],
          [4, 2, 9],
          [0, 5, 3],
        ],
      },
    },
    {
      given: {
        diagonal: [1, 2],
        k: int32s(1),
        ...anySize,
        padding_value: 9,
      },
      expect: {
        output: [
          [9, 1, 9],
          [9, 9, 2],
          [9, 9, 9],
        ],
      },
      // TensorFlow gives no gradient for the padding.
      differentiable: false,
    },
  ],
});

/**
 * Matrices with these diagonals. Adds one `MatrixDiagV3` node named `diag`, and its constants.
 *
 * @example tf.matrixDiag(tf.constant([1, 2])) // runs to [[1 0] [0 2]]
 */
export function matrixDiag(
  diagonal: TensorLike,
  options: DiagonalOptions & { numRows?: TensorLike | undefined; numCols?: TensorLike | undefined } = {},
): Tensor {
  onlyOptions('tf.matrixDiag', options, 'name', 'k', 'align', 'paddingValue', 'numRows', 'numCols');
  const { k = 0, numRows = -1, numCols = -1, paddingValue = 0, align: packing = 'RIGHT_LEFT', name = 'diag' } = options;
  const inputs = { diagonal, k, num_rows: numRows, num_cols: numCols, padding_value: padding(diagonal, paddingValue) };
  return MatrixDiagV3.build(inputs, { name, attrs: { align: packing } }).output;
}
