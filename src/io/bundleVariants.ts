/** @file Variants in checkpoints: each as its length, its message and a checksum of everything so far. */
import { variant } from '../core/dtypes.ts';
import { InvalidArgumentError } from '../core/errors.ts';
import { NDArray } from '../core/ndarray.ts';
import { type Shape, sizeOf } from '../core/shape.ts';
import { VariantTensorDataProto } from '../proto/tensor.ts';
import { crc32c, maskCrc } from './crc32c.ts';
import { varint } from './table.ts';

function uint64(value: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value), true);
  return bytes;
}

function uint32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value, true);
  return bytes;
}

/** The bytes of an array of variants, and their checksum, in which lengths count as 64-bit numbers. */
export function encodeVariants(array: NDArray): { readonly bytes: Uint8Array; readonly crc: number } {
  const parts: Uint8Array[] = [];
  let crc = 0;
  for (const object of array.objects) {
    if (!('type_name' in object))
      throw new InvalidArgumentError('Only variants that can be written as a message can be stored in a checkpoint.');
    const message = VariantTensorDataProto.encode(object as VariantTensorDataProto); // its name tells what it is
    crc = crc32c(message, crc32c(uint64(message.length), crc));
    const checksum = uint32(maskCrc(crc));
    crc = crc32c(checksum, crc);
    parts.push(varint(message.length), message, checksum);
  }
  return { bytes: Buffer.concat(parts), crc };
}

/** An array of variants from its bytes; undefined when they are damaged. */
export function decodeVariants(bytes: Uint8Array, shape: Shape, expected: number): NDArray | undefined {
  const objects: object[] = [];
  let at = 0;
  let crc = 0;
  for (let i = 0; i < sizeOf(shape); i++) {
    let length = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++];
      if (byte === undefined || scale > 2 ** 49) return undefined;
      length += (byte & 127) * scale;
      if (byte < 128) break;
    }
    if (at + length + 4 > bytes.length) return undefined;
    const message = bytes.subarray(at, at + length);
    crc = crc32c(message, crc32c(uint64(length), crc));
    const checksum = uint32(maskCrc(crc));
    crc = crc32c(checksum, crc);
    at += length;
    if (Buffer.compare(checksum, bytes.subarray(at, at + 4)) !== 0) return undefined;
    at += 4;
    objects.push(VariantTensorDataProto.decode(message));
  }
  return at === bytes.length && crc === expected ? new NDArray(variant, shape, objects) : undefined;
}
