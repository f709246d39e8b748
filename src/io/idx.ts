/** @file The IDX format of the MNIST files: a big-endian header with type and sizes, then the bytes. */
import { uint8 } from '../core/dtypes.ts';
import { DataLossError } from '../core/errors.ts';
import { NDArray } from '../core/ndarray.ts';

const unsignedByte = 8;

/** The array in an IDX file of unsigned bytes. `name` is used in errors. */
export function decodeIdx(bytes: Uint8Array, name: string): NDArray<typeof uint8> {
  if (bytes.length < 4 || bytes[0] !== 0 || bytes[1] !== 0 || bytes[2] !== unsignedByte)
    throw new DataLossError(`${name} is not an IDX file of unsigned bytes`);
  const rank = bytes[3]!;
  const header = 4 + 4 * rank;
  if (bytes.length < header) throw new DataLossError(`${name} ends inside its header`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const shape = Array.from({ length: rank }, (_, i) => view.getUint32(4 + 4 * i));
  const size = shape.reduce((n, d) => n * d, 1);
  if (bytes.length !== header + size)
    throw new DataLossError(`${name} promises ${size} values but holds ${bytes.length - header}`);
  return new NDArray(uint8, shape, bytes.subarray(header));
}
