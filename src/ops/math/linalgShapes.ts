/** @file What the ops on matrices share: their types, and the shapes they admit. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, type Shape, showRuntime, showShape } from '../../core/shape.ts';
import { type AttrSpec, attr } from '../../op/attrs.ts';

/** The types for which matrices are factorized. */
export const matrixTypes = attr('type', {
  allowed: [d.float64, d.float32, d.float16, d.complex64, d.complex128],
});
export type TypeAttr = { readonly T: AttrSpec<'type'> };

/** At least a matrix; gives leading dims, rows and columns. */
export function matrixDims(port: string, dims: Dims) {
  if (dims === null) return { batch: null, rows: null, columns: null };
  if (dims.length < 2)
    throw new InvalidArgumentError(`${port} is ${showShape(dims)}, but matrices are needed: rank 2 or more.`);
  return { batch: dims.slice(0, -2), rows: dims.at(-2)!, columns: dims.at(-1)! };
}

/** A static shape whose last two sizes are equal. */
export function squareDims(port: string, dims: Dims): Dims {
  const { batch, rows, columns } = matrixDims(port, dims);
  if (rows !== null && columns !== null && rows !== columns)
    throw new InvalidArgumentError(`${port} is ${showShape(dims)}, but its matrices must be square.`);
  return batch === null ? null : [...batch, rows ?? columns, rows ?? columns];
}

/** The run-time checks of an input that holds matrices. */
export function checkMatrix(shape: Shape): void {
  if (shape.length < 2)
    throw new InvalidArgumentError(`Input tensor 0 must have rank >= 2, got shape ${showRuntime(shape)}`);
}
export function checkSquare(shape: Shape): void {
  checkMatrix(shape);
  if (shape.at(-2) !== shape.at(-1)) throw new InvalidArgumentError('Input matrix must be square.');
}
