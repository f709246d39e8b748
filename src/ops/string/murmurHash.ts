/** @file MurmurHash64A with the seed of TensorFlow's `Hash64`, which some ops put strings into buckets by. */

const m = 0xc6a4a7935bd1e995n;
const seed = 0xdecafcaffen;
const low = (x: bigint) => BigInt.asUintN(64, x);

/** The hash of bytes, as an unsigned number of 64 bits. */
export function murmurHash64(bytes: Uint8Array): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let h = seed ^ low(BigInt(bytes.length) * m);
  const whole = bytes.length - (bytes.length % 8);
  for (let at = 0; at < whole; at += 8) {
    let k = low(view.getBigUint64(at, true) * m);
    k ^= k >> 47n;
    h = low((h ^ low(k * m)) * m);
  }
  if (whole < bytes.length) {
    let rest = 0n;
    for (let at = bytes.length - 1; at >= whole; at--) rest = (rest << 8n) | BigInt(bytes[at]!);
    h = low((h ^ rest) * m);
  }
  h = low((h ^ (h >> 47n)) * m);
  return h ^ (h >> 47n);
}
