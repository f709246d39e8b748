/** @file MatrixDiag, MatrixDiagPart and MatrixSetDiag in all their versions, and MatrixBandPart. */
import { int32, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, isFullyDefined, showRuntime } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import { and, ge, le, select, sub } from '../../program/map.ts';
import type { Value } from '../../program/value.ts';
import { zerosLike } from '../math/zerosLike.ts';
import { atLeastRank, filled, type Known, type Named, zeroElement } from './common.ts';
import {
  type Band,
  bandOf,
  checkBand,
  demandBand,
  forEachDiagonal,
  longest,
  matrixSize,
  packedShape,
} from './diagonals.ts';
import { zeros } from './fill.ts';
import { denseGradient } from './indexedSlices.ts';
import { setDiagShape } from './matrixSetDiagShape.ts';

const mainDiagonal: Band = { lower: 0, upper: 0 };
/** How versions before V3 pack diagonals. */
const leftLeft = 'LEFT_LEFT';
const align = attr('string', {
  default: 'RIGHT_LEFT',
  choices: ['LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'],
});

// MatrixDiag.
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
        k: { dtype: 'int32', value: 0 },
        num_rows: { dtype: 'int32', value: -1 },
        num_cols: { dtype: 'int32', value: -1 },
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
        k: { dtype: 'int32', value: [0, 1] },
        num_rows: { dtype: 'int32', value: 3 },
        num_cols: { dtype: 'int32', value: 3 },
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
    diagonal: matrixDiagPart(dy, { k, align: attrs.align as Alignment }), // checked against the choices
  }),
  lower: (p, inputs, attrs) => ({ output: lowerDiag(p, inputs, attrs.align) }),
  cases: () => [
    {
      shape: '[2, 3], [], [], [], [] -> [2, 4, 4]',
      given: {
        k: { dtype: 'int32', value: -1 },
        num_rows: { dtype: 'int32', value: -1 },
        num_cols: { dtype: 'int32', value: -1 },
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
        k: { dtype: 'int32', value: [-1, 1] },
        num_rows: { dtype: 'int32', value: 3 },
        num_cols: { dtype: 'int32', value: 3 },
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
        k: { dtype: 'int32', value: 1 },
        num_rows: { dtype: 'int32', value: -1 },
        num_cols: { dtype: 'int32', value: -1 },
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

// MatrixDiagPart.
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

function checkMatrix(input: Value): void {
  if (input.shape.length < 2)
    throw new InvalidArgumentError(`input must be at least 2-dim, received shape: ${showRuntime(input.shape)}`);
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
  const grad = dy;
  const options = { k, ...(packing === undefined ? {} : { align: packing as Alignment }) }; // checked against the choices
  const matrix = input.shape?.slice(-2);
  if (matrix && isFullyDefined(matrix)) return matrixDiag(grad, { ...options, numRows: matrix[0], numCols: matrix[1] });
  return matrixSetDiag(zerosLike(input), grad, options);
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
    { shape: '[5, 2, 3], [], [] -> [5, 2]', given: { k: { dtype: 'int32', value: 1 } } },
    {
      given: {
        input: [
          [1, 2],
          [3, 4],
        ],
        k: { dtype: 'int32', value: 0 },
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
        k: { dtype: 'int32', value: [0, 1] },
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
        k: { dtype: 'int32', value: 1 },
        padding_value: 0,
      },
      expect: { diagonal: [2] },
    },
    { shape: '[5, 2, 3], [2], [] -> [5, 2, 2]', given: { k: { dtype: 'int32', value: [0, 1] } } },
    { shape: '[5, 2, 3], [], [] -> ?' },
    {
      given: {
        input: [
          [1, 2, 3, 4],
          [5, 6, 7, 8],
          [9, 8, 7, 6],
        ],
        k: { dtype: 'int32', value: [-1, 2] },
        padding_value: 0,
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
        input: [
          [1, 2, 3, 4],
          [5, 6, 7, 8],
          [9, 8, 7, 6],
        ],
        k: { dtype: 'int32', value: [-1, 2] },
        padding_value: 0,
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

// MatrixSetDiag.
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
  const grad = dy;
  const options = { k, ...(packing === undefined ? {} : { align: packing as Alignment }) }; // checked against the choices
  const input = matrixSetDiag(grad, zeros(diagonal.shape, { dtype: grad.dtype }), options);
  return { input, diagonal: matrixDiagPart(grad, options) };
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
        k: { dtype: 'int32', value: 1 },
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
        k: { dtype: 'int32', value: [-1, 1] },
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
    const row = { op: 'index', dtype: int64, axis: rank - 2 } as const;
    const column = { op: 'index', dtype: int64, axis: rank - 1 } as const;
    const distance = sub(column, row);
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
        num_lower: { dtype: 'int32', value: 5 },
        num_upper: { dtype: 'int32', value: 0 },
      },
      fails: /num_lower must be negative or less or equal to number of rows \(2\) got: 5/,
    },
  ],
});

// Functions.
/** How diagonals shorter than the longest lie in their rows: super-diagonals first, then sub-diagonals. */
export type Alignment = 'LEFT_RIGHT' | 'RIGHT_LEFT' | 'LEFT_LEFT' | 'RIGHT_RIGHT';

export interface DiagonalOptions extends Named {
  /** Which diagonal, or the lowest and the highest of a band: 0 is the main one, positive ones lie above it. */
  readonly k?: TensorLike | undefined;
  readonly align?: Alignment | undefined;
  readonly paddingValue?: TensorLike | undefined;
}

/** The padding for a type: Python turns it into a bool for bools. */
function padding(tensor: Tensor | TensorLike, value: TensorLike): TensorLike {
  const isBool = typeof tensor === 'object' && 'dtype' in tensor && tensor.dtype?.name === 'bool';
  return isBool && typeof value === 'number' ? value !== 0 : value;
}

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
