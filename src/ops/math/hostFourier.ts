/** @file The fast Fourier transform on the host: by halves for powers of two, by Bluestein's convolution for other lengths. */
import { type Shape, sizeOf } from '../../core/shape.ts';

/** Transforms (re, im) pairs of a row-major array along one axis, in place; the inverse divides by the length. */
export function fourier(data: Float64Array, shape: Shape, axis: number, inverse: boolean): void {
  const length = shape[axis]!;
  if (length < 2) return;
  const inner = sizeOf(shape.slice(axis + 1));
  const outer = sizeOf(shape.slice(0, axis));
  const re = new Float64Array(length);
  const im = new Float64Array(length);
  for (let o = 0; o < outer; o++)
    for (let i = 0; i < inner; i++) {
      const at = (k: number) => 2 * ((o * length + k) * inner + i);
      for (let k = 0; k < length; k++) {
        re[k] = data[at(k)]!;
        im[k] = data[at(k) + 1]!;
      }
      // Swapping the parts before and after turns the transform into its inverse.
      if (inverse) transform(im, re);
      else transform(re, im);
      const scale = inverse ? 1 / length : 1;
      for (let k = 0; k < length; k++) {
        data[at(k)] = re[k]! * scale;
        data[at(k) + 1] = im[k]! * scale;
      }
    }
}

const isPowerOfTwo = (n: number) => (n & (n - 1)) === 0;

function transform(re: Float64Array, im: Float64Array): void {
  if (isPowerOfTwo(re.length)) byHalves(re, im);
  else byConvolution(re, im);
}

/** Cooley and Tukey's method, after putting the elements in bit-reversed order. */
function byHalves(re: Float64Array, im: Float64Array): void {
  const n = re.length;
  for (let i = 1, j = 0; i < n; i++) {
    let bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      [re[i], re[j]] = [re[j]!, re[i]!];
      [im[i], im[j]] = [im[j]!, im[i]!];
    }
  }
  for (let size = 2; size <= n; size <<= 1) {
    const half = size >> 1;
    for (let k = 0; k < half; k++) {
      const angle = (-2 * Math.PI * k) / size;
      const [c, s] = [Math.cos(angle), Math.sin(angle)];
      for (let start = k; start < n; start += size) {
        const other = start + half;
        const a = re[other]! * c - im[other]! * s;
        const b = re[other]! * s + im[other]! * c;
        re[other] = re[start]! - a;
        im[other] = im[start]! - b;
        re[start]! += a;
        im[start]! += b;
      }
    }
  }
}

/** Bluestein's method: a transform of any length as a convolution with a chirp, done with lengths that are powers of two. */
function byConvolution(re: Float64Array, im: Float64Array): void {
  const n = re.length;
  let padded = 1;
  while (padded < 2 * n - 1) padded <<= 1;
  const [aRe, aIm, bRe, bIm] = [0, 0, 0, 0].map(() => new Float64Array(padded)) as [
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
  ]; // four of them
  // k² modulo 2n keeps the angle small, so that it stays exact for long signals.
  const angles = Float64Array.from({ length: n }, (_, k) => (Math.PI * ((k * k) % (2 * n))) / n);
  for (let k = 0; k < n; k++) {
    const [c, s] = [Math.cos(angles[k]!), Math.sin(angles[k]!)];
    aRe[k] = re[k]! * c + im[k]! * s;
    aIm[k] = im[k]! * c - re[k]! * s;
    bRe[k] = c;
    bIm[k] = s;
    if (k > 0) {
      bRe[padded - k] = c;
      bIm[padded - k] = s;
    }
  }
  byHalves(aRe, aIm);
  byHalves(bRe, bIm);
  for (let k = 0; k < padded; k++) {
    const x = aRe[k]! * bRe[k]! - aIm[k]! * bIm[k]!;
    aIm[k] = aRe[k]! * bIm[k]! + aIm[k]! * bRe[k]!;
    aRe[k] = x;
  }
  // The inverse transform, by swapping the parts.
  byHalves(aIm, aRe);
  for (let k = 0; k < n; k++) {
    const [c, s] = [Math.cos(angles[k]!), Math.sin(angles[k]!)];
    const [x, y] = [aRe[k]! / padded, aIm[k]! / padded];
    re[k] = x * c + y * s;
    im[k] = y * c - x * s;
  }
}
