/**
 * @file Inverse cosine transforms of 8x8 blocks in whole numbers, with the results of libjpeg's: the fast one, the accurate
 * one, and those that give half, a quarter and an eighth of the size.
 */

/** Writes the samples of the block whose coefficients begin at `from` to a plane. */
export type InverseTransform = (
  coefficients: Int16Array,
  from: number,
  quantization: Int32Array,
  plane: Uint8Array,
  to: number,
  stride: number,
) => void;

/** Scale factors of Arai, Agui and Nakajima's algorithm, times 2^14; the fast transform takes them with the quantization. */
const fastRow = [16384, 22725, 21407, 19266, 16384, 12873, 8867, 4520];

/** A quantization table as the fast transform wants it: with two more bits of precision. */
export function fastQuantization(table: Uint16Array): Int32Array {
  return Int32Array.from(table, (q, i) => {
    const scale = Math.round((fastRow[i >> 3]! * fastRow[i & 7]!) / 16384);
    return (Math.imul(q, scale) + (1 << 11)) >> 12;
  });
}

export const accurateQuantization = (table: Uint16Array): Int32Array => Int32Array.from(table);

const work = new Int32Array(64);
const sample = (x: number) => (x < -128 ? 0 : x > 127 ? 255 : x + 128);

const fastTransform: InverseTransform = (coefficients, from, q, plane, to, stride) => {
  for (let c = 0; c < 8; c++) {
    const i = from + c;
    const in0 = coefficients[i]! * q[c]!;
    const [c1, c2, c3, c4] = [
      coefficients[i + 8]!,
      coefficients[i + 16]!,
      coefficients[i + 24]!,
      coefficients[i + 32]!,
    ];
    const [c5, c6, c7] = [coefficients[i + 40]!, coefficients[i + 48]!, coefficients[i + 56]!];
    if ((c1 | c2 | c3 | c4 | c5 | c6 | c7) === 0) {
      for (let r = c; r < 64; r += 8) work[r] = in0;
      continue;
    }
    fast(
      in0,
      c1 * q[c + 8]!,
      c2 * q[c + 16]!,
      c3 * q[c + 24]!,
      c4 * q[c + 32]!,
      c5 * q[c + 40]!,
      c6 * q[c + 48]!,
      c7 * q[c + 56]!,
    );
    for (let r = 0; r < 8; r++) work[r * 8 + c] = line[r]!;
  }
  for (let r = 0; r < 8; r++) {
    const i = r * 8;
    fast(work[i]!, work[i + 1]!, work[i + 2]!, work[i + 3]!, work[i + 4]!, work[i + 5]!, work[i + 6]!, work[i + 7]!);
    for (let c = 0; c < 8; c++) plane[to + r * stride + c] = sample(line[c]! >> 5);
  }
};

const line = new Int32Array(8);

/** Eight numbers through the fast algorithm; its factors have eight bits. */
function fast(x0: number, x1: number, x2: number, x3: number, x4: number, x5: number, x6: number, x7: number): void {
  const even13 = x2 + x6;
  const even12 = (((x2 - x6) * 362) >> 8) - even13;
  const [even10, even11] = [x0 + x4, x0 - x4];
  const [e0, e3, e1, e2] = [even10 + even13, even10 - even13, even11 + even12, even11 - even12];
  const [z13, z10, z11, z12] = [x5 + x3, x5 - x3, x1 + x7, x1 - x7];
  const o7 = z11 + z13;
  const odd11 = ((z11 - z13) * 362) >> 8;
  const z5 = ((z10 + z12) * 473) >> 8;
  const odd10 = ((z12 * 277) >> 8) - z5;
  const odd12 = ((z10 * -669) >> 8) + z5;
  const o6 = odd12 - o7;
  const o5 = odd11 - o6;
  const o4 = odd10 + o5;
  line[0] = e0 + o7;
  line[7] = e0 - o7;
  line[1] = e1 + o6;
  line[6] = e1 - o6;
  line[2] = e2 + o5;
  line[5] = e2 - o5;
  line[4] = e3 + o4;
  line[3] = e3 - o4;
}

const accurateTransform: InverseTransform = (coefficients, from, q, plane, to, stride) => {
  for (let c = 0; c < 8; c++) {
    const i = from + c;
    const value = (k: number) => coefficients[i + 8 * k]! * q[c + 8 * k]!;
    accurate(value(0), value(1), value(2), value(3), value(4), value(5), value(6), value(7), 11);
    for (let r = 0; r < 8; r++) work[r * 8 + c] = line[r]!;
  }
  for (let r = 0; r < 8; r++) {
    const i = r * 8;
    accurate(
      work[i]!,
      work[i + 1]!,
      work[i + 2]!,
      work[i + 3]!,
      work[i + 4]!,
      work[i + 5]!,
      work[i + 6]!,
      work[i + 7]!,
      18,
    );
    for (let c = 0; c < 8; c++) plane[to + r * stride + c] = sample(line[c]!);
  }
};

/** Eight numbers through the algorithm of Loeffler, Ligtenberg and Moschytz with 13-bit factors, rounded by `shift` bits. */
function accurate(
  x0: number,
  x1: number,
  x2: number,
  x3: number,
  x4: number,
  x5: number,
  x6: number,
  x7: number,
  shift: number,
): void {
  const half = 1 << (shift - 1);
  const z1 = (x2 + x6) * 4433;
  const [t2, t3] = [z1 - x6 * 15137, z1 + x2 * 6270];
  const [t0, t1] = [(x0 + x4) * 8192 + half, (x0 - x4) * 8192 + half];
  const [e0, e3, e1, e2] = [t0 + t3, t0 - t3, t1 + t2, t1 - t2];
  const z5 = (x7 + x3 + x5 + x1) * 9633;
  const za = (x7 + x1) * -7373;
  const zb = (x5 + x3) * -20995;
  const zc = (x7 + x3) * -16069 + z5;
  const zd = (x5 + x1) * -3196 + z5;
  const o0 = x7 * 2446 + za + zc;
  const o1 = x5 * 16819 + zb + zd;
  const o2 = x3 * 25172 + zb + zc;
  const o3 = x1 * 12299 + za + zd;
  line[0] = (e0 + o3) >> shift;
  line[7] = (e0 - o3) >> shift;
  line[1] = (e1 + o2) >> shift;
  line[6] = (e1 - o2) >> shift;
  line[2] = (e2 + o1) >> shift;
  line[5] = (e2 - o1) >> shift;
  line[3] = (e3 + o0) >> shift;
  line[4] = (e3 - o0) >> shift;
}

const halfTransform: InverseTransform = (coefficients, from, q, plane, to, stride) => {
  for (let c = 0; c < 8; c++) {
    if (c === 4) continue;
    const value = (k: number) => coefficients[from + c + 8 * k]! * q[c + 8 * k]!;
    half(value(0), value(1), value(2), value(3), value(5), value(6), value(7), 12);
    for (let r = 0; r < 4; r++) work[r * 8 + c] = line[r]!;
  }
  for (let r = 0; r < 4; r++) {
    const i = r * 8;
    half(work[i]!, work[i + 1]!, work[i + 2]!, work[i + 3]!, work[i + 5]!, work[i + 6]!, work[i + 7]!, 19);
    for (let c = 0; c < 4; c++) plane[to + r * stride + c] = sample(line[c]!);
  }
};

/** Four numbers out of eight frequencies, of which the fifth has no part in them. */
function half(x0: number, x1: number, x2: number, x3: number, x5: number, x6: number, x7: number, shift: number): void {
  const start = x0 * 16384 + (1 << (shift - 1));
  const even = x2 * 15137 - x6 * 6270;
  const odd0 = x7 * -1730 + x5 * 11893 - x3 * 17799 + x1 * 8697;
  const odd2 = x7 * -4176 - x5 * 4926 + x3 * 7373 + x1 * 20995;
  line[0] = (start + even + odd2) >> shift;
  line[3] = (start + even - odd2) >> shift;
  line[1] = (start - even + odd0) >> shift;
  line[2] = (start - even - odd0) >> shift;
}

const quarterTransform: InverseTransform = (coefficients, from, q, plane, to, stride) => {
  const pair = (x0: number, x1: number, x3: number, x5: number, x7: number, shift: number) => {
    const start = x0 * 32768 + (1 << (shift - 1));
    const odd = x7 * -5906 + x5 * 6967 - x3 * 10426 + x1 * 29692;
    line[0] = (start + odd) >> shift;
    line[1] = (start - odd) >> shift;
  };
  for (const c of [0, 1, 3, 5, 7]) {
    const value = (k: number) => coefficients[from + c + 8 * k]! * q[c + 8 * k]!;
    pair(value(0), value(1), value(3), value(5), value(7), 13);
    work[c] = line[0]!;
    work[8 + c] = line[1]!;
  }
  for (let r = 0; r < 2; r++) {
    const i = r * 8;
    pair(work[i]!, work[i + 1]!, work[i + 3]!, work[i + 5]!, work[i + 7]!, 20);
    plane[to + r * stride] = sample(line[0]!);
    plane[to + r * stride + 1] = sample(line[1]!);
  }
};

const eighthTransform: InverseTransform = (coefficients, from, q, plane, to) => {
  plane[to] = sample((coefficients[from]! * q[0]! + 4) >> 3);
};

/** The transform that makes `size` by `size` samples of a block. */
export function transformOfSize(size: number, isFast: boolean): InverseTransform {
  if (size === 8) return isFast ? fastTransform : accurateTransform;
  return size === 4 ? halfTransform : size === 2 ? quarterTransform : eighthTransform;
}
