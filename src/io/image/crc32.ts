/** @file The CRC-32 of PNG chunks (and of gzip): polynomial 0x04C11DB7, reflected. */

/** Four tables, so that a step takes four bytes: `tables[k][b]` is the checksum of `b` followed by `k` zero bytes. */
const tables = makeTables();

function makeTables(): readonly [Int32Array, Int32Array, Int32Array, Int32Array] {
  const one = new Int32Array(256);
  for (let b = 0; b < 256; b++) {
    let c = b;
    for (let bit = 0; bit < 8; bit++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
    one[b] = c;
  }
  const next = (table: Int32Array) => table.map((c) => (c >>> 8) ^ one[c & 255]!);
  const two = next(one);
  const three = next(two);
  return [one, two, three, next(three)];
}

/** The CRC-32 of a part of some bytes, as an unsigned number. */
export function crc32(bytes: Uint8Array, begin = 0, end = bytes.length): number {
  const [t0, t1, t2, t3] = tables;
  let c = -1;
  let i = begin;
  for (; i + 4 <= end; i += 4) {
    c ^= bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
    c = t3[c & 255]! ^ t2[(c >>> 8) & 255]! ^ t1[(c >>> 16) & 255]! ^ t0[c >>> 24]!;
  }
  for (; i < end; i++) c = (c >>> 8) ^ t0[(c ^ bytes[i]!) & 255]!;
  return ~c >>> 0;
}
