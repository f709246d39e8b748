/** @file Where the diagonals of a matrix lie, and how they are packed into rows: shared by the MatrixDiag ops. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Shape, showRuntime, sizeOf } from '../../core/shape.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import type { Known } from './common.ts';

/** Lowest and highest diagonal: 0 is the main one, positive ones lie above it. */
export interface Band {
  readonly lower: number;
  readonly upper: number;
}

/** The band that `k` names: one diagonal, or a range of them. */
export function bandOf(k: Known | undefined): Band | undefined {
  const lower = k?.[0];
  const upper = k?.[1] === undefined ? lower : k[1];
  if (lower == null || upper == null) return undefined;
  if (lower > upper)
    throw new InvalidArgumentError(`lower_diag_index must not be larger than upper_diag_index: ${lower} > ${upper}`);
  return { lower, upper };
}

/** `k` at run time. */
export function demandBand(p: ProgramBuilder, k: Value): Band {
  const entries = p.demandInts(k);
  if (k.shape.length > 1 || entries.length < 1 || entries.length > 2)
    throw new InvalidArgumentError(
      `diag_index must be a scalar or vector with one or two elements, received shape: ${showRuntime(k.shape)}`,
    );
  return bandOf(entries)!;
}

/** The band must meet the matrix. */
export function checkBand({ lower, upper }: Band, rows: number, columns: number): void {
  const inside = (i: number) => (i > -rows && i < columns) || i === 0;
  if (!inside(lower))
    throw new InvalidArgumentError(
      `lower_diag_index is out of bound: ${lower}. It must be between ${-rows} and ${columns}`,
    );
  if (!inside(upper))
    throw new InvalidArgumentError(
      `upper_diag_index is out of bound: ${upper} It must be between ${-rows} and ${columns}`,
    );
}

/** The length of the longest diagonal of a band. */
export function longest({ lower, upper }: Band, rows: number, columns: number): number {
  return Math.min(rows + Math.min(upper, 0), columns - Math.max(lower, 0));
}

/** The shape of packed diagonals: a single one has no axis of its own. */
export function packedShape(batch: readonly (number | null)[], { lower, upper }: Band, length: number | null) {
  return lower === upper ? [...batch, length] : [...batch, upper - lower + 1, length];
}

/** One diagonal: a strided view in the flattened matrix, and a stretch of a row of the packed form. */
interface Place {
  readonly row: number;
  readonly offset: number;
  readonly length: number;
  readonly begin: number;
}

/** `align` is how shorter diagonals lie in their rows: super-diagonals first, then sub-diagonals. */
function places(band: Band, rows: number, columns: number, align: string): Place[] {
  const [above, below] = align.split('_');
  const width = longest(band, rows, columns);
  const result: Place[] = [];
  for (let k = band.upper; k >= band.lower; k--) {
    const length = Math.max(0, Math.min(rows + Math.min(k, 0), columns - Math.max(k, 0)));
    const left = (k >= 0 && above === 'LEFT') || (k <= 0 && below === 'LEFT');
    const begin = k >= 0 ? k : -k * columns;
    result.push({ row: band.upper - k, offset: left ? 0 : width - length, length, begin });
  }
  return result;
}

/** Calls `visit` with matching views of the matrix's diagonals and of their packed form. */
export function forEachDiagonal(
  p: ProgramBuilder,
  matrix: Value,
  packed: Value,
  band: Band,
  align: string,
  visit: (inMatrix: Value, inPacked: Value) => void,
): void {
  const [rows, columns] = matrix.shape.slice(-2) as [number, number]; // matrices have rank 2 or more
  const batch = sizeOf(matrix.shape.slice(0, -2));
  const width = packed.shape.at(-1)!;
  const flat = p.reshape(matrix, [batch, rows * columns]);
  const lines = p.reshape(packed, [batch, band.upper - band.lower + 1, width]);
  for (const { row, offset, length, begin } of places(band, rows, columns, align)) {
    if (length === 0 || batch === 0) continue;
    const inMatrix = p.slice(flat, [0, begin], [batch, length], [1, columns + 1]);
    const inPacked = p.reshape(p.slice(lines, [0, row, offset], [batch, 1, length]), [batch, length]);
    visit(inMatrix, inPacked);
  }
}

/** Rows and columns of a matrix that holds diagonals of this length; -1 means "as small as possible". */
export function matrixSize(band: Band, length: number, wantedRows: number, wantedColumns: number): Shape {
  const leastRows = length - Math.min(band.upper, 0);
  const leastColumns = length + Math.max(band.lower, 0);
  if (wantedRows !== -1 && wantedRows < leastRows) throw new InvalidArgumentError('The number of rows is too small.');
  if (wantedColumns !== -1 && wantedColumns < leastColumns)
    throw new InvalidArgumentError('The number of columns is too small.');
  let [rows, columns] = [wantedRows, wantedColumns];
  if (rows === -1 && columns === -1) rows = columns = Math.max(leastRows, leastColumns);
  if (rows === -1) rows = leastRows;
  if (columns === -1) columns = leastColumns;
  if (rows !== leastRows && columns !== leastColumns)
    throw new InvalidArgumentError(
      'The number of rows or columns is not consistent with the specified d_lower, d_upper, and diagonal.',
    );
  return [rows, columns];
}
