/** @file MatrixDiagPart in its three versions: the diagonals of matrices. */
import { type Dims, isFullyDefined } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType } from '../../op/attrs.ts';
import { int32s } from '../../op/cases.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { zerosLike } from '../math/zerosLike.ts';
import { atLeastRank, filled, type Known, zeroElement } from './common.ts';
import {
  align,
  checkMatrix,
  type DiagonalOptions,
  leftLeft,
  mainDiagonal,
  packedAs,
  padding,
} from './diagonalOptions.ts';
import { type Band, bandOf, checkBand, demandBand, forEachDiagonal, longest, packedShape } from './diagonals.ts';
import { matrixDiag } from './matrixDiag.ts';
import { matrixSetDiag } from './matrixSetDiag.ts';

function partDims(input: Dims, k: Known | undefined): Dims {
  atLeastRank(input, 2, 'input');
  const band = bandOf(k);
  if (input === null || !band) return null;
  const [rows, columns] = input.slice(-2) as [number | null, number | null]; // rank checked
  const known = rows !== null && columns !== null;
  if (known) checkBand(band, rows, columns);
  return packedShape(input.slice(0, -2), band, known ? longest(band, rows, columns) : null);
}

function lowerPart(p: ProgramBuilder, input: Value, band: Band, padding: Value, packing: string): Value {
  const [rows, columns] = input.shape.slice(-2) as [number, number]; // rank checked by the caller
  checkBand(band, rows, columns);
  const shape = packedShape(input.shape.slice(0, -2), band, longest(band, rows, columns)) as number[]; // all known
  const output = filled(p, padding, shape);
  forEachDiagonal(p, input, output, band, packing, (source, target) => p.copyInto(source, target));
  return output;
}

export const MatrixDiagPart = defineOp({
  name: 'MatrixDiagPart',
  inputs: { input: 'T' },
  outputs: { diagonal: 'T' },
  attrs: { T: anyType },
  shape: ({ input }) => ({ diagonal: partDims(input, [0]) }),
  grad: ({ inputs: { input } }, { diagonal: dy }) => ({
    input: isSquare(input.shape) ? matrixDiag(dy) : matrixSetDiag(zerosLike(input), dy),
  }),
  lower(p, { input }) {
    checkMatrix(input);
    return { diagonal: lowerPart(p, input, mainDiagonal, zeroElement(p, input.dtype), leftLeft) };
  },
  cases: () => [
    { shape: '[5, 2, 3] -> [5, 2]' },
    { shape: '[5, 2, ?] -> [5, ?]' },
    {
      given: {
        input: [
          [1, 2, 3],
          [4, 5, 6],
        ],
      },
      expect: { diagonal: [1, 5] },
    },
  ],
});

const isSquare = (dims: Dims) => {
  const matrix = dims?.slice(-2);
  return matrix?.length === 2 && isFullyDefined(matrix) && matrix[0] === matrix[1];
};

/** Back from diagonals to a matrix of the input's shape. */
function partGradient(input: Tensor, k: Tensor, dy: Gradient, packing?: string): Tensor {
  const options = packedAs(k, packing);
  const matrix = input.shape?.slice(-2);
  if (matrix && isFullyDefined(matrix)) return matrixDiag(dy, { ...options, numRows: matrix[0], numCols: matrix[1] });
  return matrixSetDiag(zerosLike(input), dy, options);
}

const partInputs = { input: 'T', k: 'int32', padding_value: 'T' } as const;

export const MatrixDiagPartV2 = defineOp({
  name: 'MatrixDiagPartV2',
  inputs: partInputs,
  outputs: { diagonal: 'T' },
  attrs: { T: anyType },
  hostInputs: ['k'],
  shape: ({ input }, _, context) => ({ diagonal: partDims(input, context.partial('k')) }),
  grad: ({ inputs: { input, k } }, { diagonal: dy }) => ({ input: partGradient(input, k, dy) }),
  lower(p, { input, k, padding_value }) {
    checkMatrix(input);
    return { diagonal: lowerPart(p, input, demandBand(p, k), padding_value, leftLeft) };
  },
  cases: () => [
    { shape: '[5, 2, 3], [], [] -> [5, 2]', given: { k: int32s(1) } },
    {
      given: {
        input: [
          [1, 2],
          [3, 4],
        ],
        k: int32s(0),
        padding_value: 0,
      },
      expect: { diagonal: [1, 4] },
    },
    {
      given: {
        input: [
          [1, 2, 3],
          [4, 5, 6],
          [7, 8, 9],
        ],
        k: int32s([0, 1]),
        padding_value: 0,
      },
      expect: {
        diagonal: [
          [2, 6, 0],
          [1, 5, 9],
        ],
      },
      // As for MatrixDiagV2.
      differentiable: false,
    },
  ],
});

/** Four diagonals of a matrix that is wider than high. */
const wideBand = {
  input: [[1, 2, 3, 4], [5, 6, 7, 8], [9, 8, 7, 6]],
  k: int32s([-1, 2]),
  padding_value: 0,
}; // biome-ignore format: a matrix reads better in rows

export const MatrixDiagPartV3 = defineOp({
  name: 'MatrixDiagPartV3',
  inputs: partInputs,
  outputs: { diagonal: 'T' },
  attrs: { T: anyType, align },
  hostInputs: ['k'],
  shape: ({ input }, _, context) => ({ diagonal: partDims(input, context.partial('k')) }),
  grad: ({ inputs: { input, k }, attrs }, { diagonal: dy }) => ({ input: partGradient(input, k, dy, attrs.align) }),
  lower(p, { input, k, padding_value }, attrs) {
    checkMatrix(input);
    return { diagonal: lowerPart(p, input, demandBand(p, k), padding_value, attrs.align) };
  },
  cases: () => [
    {
      given: {
        input: [
          [1, 2],
          [3, 4],
        ],
        k: int32s(1),
        padding_value: 0,
      },
      expect: { diagonal: [2] },
    },
    { shape: '[5, 2, 3], [2], [] -> [5, 2, 2]', given: { k: int32s([0, 1]) } },
    { shape: '[5, 2, 3], [], [] -> ?' },
    {
      given: {
        ...wideBand,
      },
      expect: {
        diagonal: [
          [0, 3, 8],
          [2, 7, 6],
          [1, 6, 7],
          [5, 8, 0],
        ],
      },
      differentiable: false,
    },
    {
      given: {
        ...wideBand,
      },
      attrs: { align: 'LEFT_RIGHT' },
      expect: {
        diagonal: [
          [3, 8, 0],
          [2, 7, 6],
          [1, 6, 7],
          [0, 5, 8],
        ],
      },
      differentiable: false,
    },
  ],
});

/**
 * Diagonals of matrices. Adds one `MatrixDiagPartV3` node named `diag_part`, and its constants.
 *
 * @example tf.matrixDiagPart(tf.constant([[1, 2], [3, 4]])) // runs to [1 4]
 */
export function matrixDiagPart(input: TensorLike, options: DiagonalOptions = {}): Tensor {
  onlyOptions('tf.matrixDiagPart', options, 'name', 'k', 'align', 'paddingValue');
  const { k = 0, paddingValue = 0, align: packing = 'RIGHT_LEFT', name = 'diag_part' } = options;
  const inputs = { input, k, padding_value: padding(input, paddingValue) };
  return MatrixDiagPartV3.build(inputs, { name, attrs: { align: packing } }).diagonal;
}
