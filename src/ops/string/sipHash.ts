/** @file SipHash-2-4 (Aumasson and Bernstein, 2012): a hash that nobody can make collide without knowing its key. */

const low = (x: bigint) => BigInt.asUintN(64, x);
const rotated = (x: bigint, by: bigint) => low(x << by) | (x >> (64n - by));

function round(v: [bigint, bigint, bigint, bigint]): void {
  v[0] = low(v[0] + v[1]);
  v[2] = low(v[2] + v[3]);
  v[1] = rotated(v[1], 13n) ^ v[0];
  v[3] = rotated(v[3], 16n) ^ v[2];
  v[0] = rotated(v[0], 32n);
  v[2] = low(v[2] + v[1]);
  v[0] = low(v[0] + v[3]);
  v[1] = rotated(v[1], 17n) ^ v[2];
  v[3] = rotated(v[3], 21n) ^ v[0];
  v[2] = rotated(v[2], 32n);
}

/** The hash of bytes with a key of two times 64 bits, as an unsigned number of 64 bits. */
export function sipHash64(bytes: Uint8Array, key: readonly [bigint, bigint]): bigint {
  const [k0, k1] = [low(key[0]), low(key[1])];
  const v: [bigint, bigint, bigint, bigint] = [
    k0 ^ 0x736f6d6570736575n,
    k1 ^ 0x646f72616e646f6dn,
    k0 ^ 0x6c7967656e657261n,
    k1 ^ 0x7465646279746573n,
  ];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const whole = bytes.length - (bytes.length % 8);
  let last = BigInt(bytes.length & 255) << 56n;
  for (let at = whole; at < bytes.length; at++) last |= BigInt(bytes[at]!) << BigInt(8 * (at - whole));
  const words = Array.from({ length: whole / 8 }, (_, i) => view.getBigUint64(8 * i, true));
  for (const word of [...words, last]) {
    v[3] ^= word;
    round(v);
    round(v);
    v[0] ^= word;
  }
  v[2] ^= 255n;
  for (let i = 0; i < 4; i++) round(v);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}
