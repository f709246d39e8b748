/** @file What the products of matrices share: sizes that must agree, and types. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, type Shape, showRuntime, showShape } from '../../core/shape.ts';

const floatTypes = [d.bfloat16, d.float16, d.float32, d.float64] as const;
const unsignedTypes = [d.uint8, d.uint16, d.uint32, d.uint64] as const;
const complexTypes = [d.complex64, d.complex128] as const;

/** The types of each kind of product, in the order of TensorFlow's registrations. */
export const productTypes = {
  single: [...floatTypes, d.int32, d.int64, ...unsignedTypes, ...complexTypes],
  equalBatches: [...floatTypes, d.int32, d.int64, ...complexTypes],
  batches: [...floatTypes, d.int16, d.int32, d.int64, ...unsignedTypes, ...complexTypes],
  mixed: [...floatTypes, d.int16, d.int32, d.int64, ...complexTypes],
} as const;

type Size = number | null;

/** A matrix's rows and columns as the product sees them. */
export function matrix(port: string, dims: Dims, transposed: boolean): readonly [Size, Size] {
  if (dims === null) return [null, null];
  if (dims.length !== 2)
    throw new InvalidArgumentError(
      `${port} is ${showShape(dims)}, but a matrix of rank 2 is needed. For batches of matrices use tf.matmul on rank 3 or more, or tf.reshape it.`,
    );
  const [rows, columns] = dims as readonly [Size, Size]; // rank checked
  return transposed ? [columns, rows] : [rows, columns];
}

/** Refuses a product whose inner sizes differ, and says so if turning b round would help. */
export function checkInner(ports: readonly [string, string], a: readonly [Size, Size], b: readonly [Size, Size]): void {
  const [rows, inner] = a;
  const [innerB, columns] = b;
  if (inner === null || innerB === null || inner === innerB) return;
  const hint = inner === columns ? ' With transposeB: true they would be.' : '';
  throw new InvalidArgumentError(
    `${ports[0]} is ${showShape([rows, inner])} and ${ports[1]} is ${showShape([innerB, columns])}, so ${ports[0]} has ${inner} columns but ${ports[1]} has ${innerB} rows; they must be equal.${hint}`,
  );
}

/** The run-time check of the inner sizes; shapes are as the op got them. */
export function checkConcrete(a: Shape, b: Shape, turnA: boolean, turnB: boolean): void {
  if (a.at(turnA ? -2 : -1) !== b.at(turnB ? -1 : -2))
    throw new InvalidArgumentError(`Matrix size-incompatible: In[0]: ${showRuntime(a)}, In[1]: ${showRuntime(b)}`);
}
