/** @file Arrays as golden files have them: their bytes in base64. */
import * as tf from 'tensorloom';

export interface Packed {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly bytes: string;
}

export function unpack({ dtype, shape, bytes }: Packed): tf.NDArray {
  const type = tf.dtypeFromName(dtype)!;
  const memory = Uint8Array.from(Buffer.from(bytes, 'base64'));
  return new tf.NDArray(type, shape, type.over(memory.buffer, 0, memory.length / type.size));
}
