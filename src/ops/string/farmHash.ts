/** @file FarmHash's 64-bit fingerprint, which never changes: what buckets of strings are numbered by. */

const mask = (1n << 64n) - 1n;
const k0 = 0xc3a5c85c97cb3127n;
const k1 = 0xb492b66fbe98f273n;
const k2 = 0x9ae16a3b2f90404fn;

const add = (...terms: readonly bigint[]) => terms.reduce((sum, x) => sum + x) & mask;
const times = (a: bigint, b: bigint) => (a * b) & mask;
const rotate = (x: bigint, by: bigint) => (by === 0n ? x : ((x >> by) | (x << (64n - by))) & mask);
const shiftMix = (x: bigint) => x ^ (x >> 47n);

function hash16(u: bigint, v: bigint, factor = 0x9ddfea08eb382d69n): bigint {
  const a = shiftMix(times(u ^ v, factor));
  return times(shiftMix(times(v ^ a, factor)), factor);
}

/** Numbers in bytes, least significant first. */
class Words {
  private readonly view: DataView;
  constructor(readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }
  at64(i: number): bigint {
    return this.view.getBigUint64(i, true);
  }
  at32(i: number): bigint {
    return BigInt(this.view.getUint32(i, true));
  }
}

function upTo16(words: Words): bigint {
  const { bytes } = words;
  const length = bytes.length;
  const factor = add(k2, BigInt(length) * 2n);
  if (length >= 8) {
    const a = add(words.at64(0), k2);
    const b = words.at64(length - 8);
    const c = add(times(rotate(b, 37n), factor), a);
    const d = times(add(rotate(a, 25n), b), factor);
    return hash16(c, d, factor);
  }
  if (length >= 4) return hash16(add(BigInt(length), words.at32(0) << 3n), words.at32(length - 4), factor);
  if (length === 0) return k2;
  const y = BigInt(bytes[0]! + (bytes[length >> 1]! << 8));
  const z = BigInt(length + (bytes[length - 1]! << 2));
  return times(shiftMix(times(y, k2) ^ times(z, k0)), k2);
}

/** What short texts are hashed by: their first and last sixteen bytes. `y` and `a` are what longer ones go on with. */
function ends(words: Words, multiplier: bigint): { hash: bigint; factor: bigint; a: bigint; y: bigint } {
  const length = words.bytes.length;
  const factor = add(k2, BigInt(length) * 2n);
  const a = times(words.at64(0), multiplier);
  const b = words.at64(8);
  const c = times(words.at64(length - 8), factor);
  const d = times(words.at64(length - 16), k2);
  const y = add(rotate(add(a, b), 43n), rotate(c, 30n), d);
  return { hash: hash16(y, add(a, rotate(add(b, k2), 18n), c), factor), factor, a, y };
}

function upTo32(words: Words): bigint {
  return ends(words, k1).hash;
}

function upTo64(words: Words): bigint {
  const length = words.bytes.length;
  const { hash, factor, a, y } = ends(words, k2);
  const e = times(words.at64(16), factor);
  const f = words.at64(24);
  const g = times(add(y, words.at64(length - 32)), factor);
  const h = times(add(hash, words.at64(length - 24)), factor);
  return hash16(add(rotate(add(e, f), 43n), rotate(g, 30n), h), add(e, rotate(add(f, a), 18n), g), factor);
}

type Pair = readonly [bigint, bigint];

function weak32(words: Words, at: number, seedA: bigint, seedB: bigint): Pair {
  const [w, x, y, z] = [words.at64(at), words.at64(at + 8), words.at64(at + 16), words.at64(at + 24)];
  const a = add(seedA, w);
  const b = rotate(add(seedB, a, z), 21n);
  const sum = add(a, x, y);
  return [add(sum, z), add(b, rotate(sum, 44n), a)];
}

/** The fingerprint of some bytes. */
export function fingerprint64(bytes: Uint8Array): bigint {
  const words = new Words(bytes);
  const length = bytes.length;
  if (length <= 16) return upTo16(words);
  if (length <= 32) return upTo32(words);
  if (length <= 64) return upTo64(words);
  const seed = 81n;
  let x = seed;
  let y = add(times(seed, k1), 113n);
  let z = times(shiftMix(add(times(y, k2), 113n)), k2);
  let v: Pair = [0n, 0n];
  let w: Pair = [0n, 0n];
  x = add(times(x, k2), words.at64(0));
  const end = Math.floor((length - 1) / 64) * 64;
  const last = end + ((length - 1) & 63) - 63;
  let at = 0;
  do {
    x = times(rotate(add(x, y, v[0], words.at64(at + 8)), 37n), k1);
    y = times(rotate(add(y, v[1], words.at64(at + 48)), 42n), k1);
    x ^= w[1];
    y = add(y, v[0], words.at64(at + 40));
    z = times(rotate(add(z, w[0]), 33n), k1);
    v = weak32(words, at, times(v[1], k1), add(x, w[0]));
    w = weak32(words, at + 32, add(z, w[1]), add(y, words.at64(at + 16)));
    [z, x] = [x, z];
    at += 64;
  } while (at !== end);
  const factor = add(k1, (z & 0xffn) << 1n);
  at = last;
  w = [add(w[0], BigInt((length - 1) & 63)), w[1]];
  v = [add(v[0], w[0]), v[1]];
  w = [add(w[0], v[0]), w[1]];
  x = times(rotate(add(x, y, v[0], words.at64(at + 8)), 37n), factor);
  y = times(rotate(add(y, v[1], words.at64(at + 48)), 42n), factor);
  x ^= times(w[1], 9n);
  y = add(y, times(v[0], 9n), words.at64(at + 40));
  z = times(rotate(add(z, w[0]), 33n), factor);
  v = weak32(words, at, times(v[1], factor), add(x, w[0]));
  w = weak32(words, at + 32, add(z, w[1]), add(y, words.at64(at + 16)));
  [z, x] = [x, z];
  return hash16(add(hash16(v[0], w[0], factor), times(shiftMix(y), k0), z), add(hash16(v[1], w[1], factor), x), factor);
}
