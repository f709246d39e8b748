/** @file The contents of string tensors: all lengths as varints, then all bytes. */
import { InvalidArgumentError } from '../core/errors.ts';
import { varintSize } from './schema.ts';

/** The strings in a tensor's content, as views of it. */
export function decodeStringList(content: Uint8Array, count: number, what: string): readonly Uint8Array[] {
  // Every string has a length of at least one byte, so a wrong count is found before anything is allocated for it.
  if (count > content.length)
    throw new InvalidArgumentError(
      `${count} ${what} elements need at least ${count} bytes of tensor_content, but there are ${content.length}`,
    );
  const lengths: number[] = [];
  let pos = 0;
  let total = 0;
  for (let i = 0; i < count; i++) {
    let length = 0;
    let scale = 1;
    for (;;) {
      const byte = content[pos++];
      if (byte === undefined || scale > 2 ** 28)
        throw new InvalidArgumentError(`the length of element ${i} of ${count} in tensor_content is damaged`);
      length += (byte & 127) * scale;
      if (byte < 128) break;
      scale *= 128;
    }
    lengths.push(length);
    total += length;
  }
  if (pos + total !== content.length)
    throw new InvalidArgumentError(
      `tensor_content announces ${pos + total} bytes for ${count} ${what} elements, but has ${content.length}`,
    );
  return lengths.map((length) => {
    pos += length;
    return content.subarray(pos - length, pos);
  });
}

export function encodeStringList(strings: readonly Uint8Array[]): Uint8Array {
  let size = 0;
  for (const s of strings) size += varintSize(s.length) + s.length;
  const out = new Uint8Array(size);
  let pos = 0;
  for (const s of strings) {
    let n = s.length;
    while (n > 127) {
      out[pos++] = (n & 127) | 128;
      n >>>= 7;
    }
    out[pos++] = n;
  }
  for (const s of strings) {
    out.set(s, pos);
    pos += s.length;
  }
  return out;
}
