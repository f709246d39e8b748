/** @file The IDX format of the MNIST files: a big-endian header with type and sizes, then the values. */
import { type DType, float32, float64, int8, int16, int32, uint8 } from '../core/dtypes.ts';
import { DataLossError } from '../core/errors.ts';
import { NDArray } from '../core/ndarray.ts';

/** The types of values by their number in the header. */
const types: Readonly<Record<number, DType>> = {
  8: uint8,
  9: int8,
  11: int16,
  12: int32,
  13: float32,
  14: float64,
};

/** The array in an IDX file. `name` is used in errors. */
export function decodeIdx(bytes: Uint8Array, name: string): NDArray {
  const dtype = bytes[0] === 0 && bytes[1] === 0 ? types[bytes[2]!] : undefined;
  if (!dtype || bytes.length < 4)
    throw new DataLossError(`${name} is not an IDX file: it does not begin with two zeros and a type of values.`);
  const rank = bytes[3]!;
  const header = 4 + 4 * rank;
  if (bytes.length < header) throw new DataLossError(`${name} ends inside its header`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const shape = Array.from({ length: rank }, (_, i) => view.getUint32(4 + 4 * i));
  const size = shape.reduce((n, d) => n * d, 1);
  const held = (bytes.length - header) / dtype.size;
  if (held !== size) throw new DataLossError(`${name} promises ${size} values but holds ${Math.floor(held)}`);
  if (dtype === uint8) return new NDArray(uint8, shape, bytes.subarray(header));
  // Larger values stand with their first byte last in memory, and at any address in the file: turned round in a copy.
  const { buffer } = new Uint8Array(bytes.subarray(header));
  const values = Buffer.from(buffer);
  if (dtype.size === 2) values.swap16();
  if (dtype.size === 4) values.swap32();
  if (dtype.size === 8) values.swap64();
  return new NDArray(dtype, shape, dtype.over(buffer, 0, size));
}
