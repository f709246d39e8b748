/** @file The forward cosine transform of 8x8 blocks in whole numbers, and quantization, with libjpeg's results. */

const work = new Int32Array(64);

/** Transforms and quantizes the block of samples at `from` of a plane into 64 coefficients in rows. */
export function transformBlock(
  plane: Uint8Array,
  from: number,
  stride: number,
  quantization: Uint16Array,
  out: Int16Array,
  to: number,
): void {
  for (let y = 0; y < 8; y++) {
    const at = from + y * stride;
    for (let x = 0; x < 8; x++) work[y * 8 + x] = plane[at + x]! - 128;
    transform(y * 8, 1, true);
  }
  for (let x = 0; x < 8; x++) transform(x, 8, false);
  for (let i = 0; i < 64; i++) {
    const divisor = quantization[i]! * 8;
    const value = work[i]!;
    const size = Math.trunc((Math.abs(value) + (divisor >> 1)) / divisor);
    out[to + i] = value < 0 ? -size : size;
  }
}

/** One row (which keeps two bits more) or column, after Loeffler, Ligtenberg and Moschytz with 13-bit factors. */
function transform(at: number, step: number, isRow: boolean): void {
  const shift = isRow ? 11 : 15;
  const half = 1 << (shift - 1);
  const x = (i: number) => work[at + i * step]!;
  const [s0, s1, s2, s3] = [x(0) + x(7), x(1) + x(6), x(2) + x(5), x(3) + x(4)];
  const [d0, d1, d2, d3] = [x(0) - x(7), x(1) - x(6), x(2) - x(5), x(3) - x(4)];
  const [e0, e3, e1, e2] = [s0 + s3, s0 - s3, s1 + s2, s1 - s2];
  work[at] = isRow ? (e0 + e1) << 2 : (e0 + e1 + 2) >> 2;
  work[at + 4 * step] = isRow ? (e0 - e1) << 2 : (e0 - e1 + 2) >> 2;
  const z1 = (e2 + e3) * 4433 + half;
  work[at + 2 * step] = (z1 + e3 * 6270) >> shift;
  work[at + 6 * step] = (z1 - e2 * 15137) >> shift;
  const z5 = (d3 + d1 + d2 + d0) * 9633 + half;
  const za = (d3 + d0) * -7373;
  const zb = (d2 + d1) * -20995;
  const zc = (d3 + d1) * -16069 + z5;
  const zd = (d2 + d0) * -3196 + z5;
  work[at + 7 * step] = (d3 * 2446 + za + zc) >> shift;
  work[at + 5 * step] = (d2 * 16819 + zb + zd) >> shift;
  work[at + 3 * step] = (d1 * 25172 + zb + zc) >> shift;
  work[at + step] = (d0 * 12299 + za + zd) >> shift;
}
