/**
 * @file The fast Fourier transform on the host: by the native library, or in TypeScript, by halves for powers of two and by Bluestein's
 * convolution for other lengths.
 */
import { ResourceExhaustedError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { type Shape, showRuntime, sizeOf } from '../../core/shape.ts';
import { nativeFamily } from '../../io/native.ts';
import { nativeCall } from '../../io/nativeStrings.ts';

const native = nativeFamily((functions) =>
  nativeCall(
    functions,
    'int64_t tl_fourier(int64_t threads, int64_t outer, int64_t length, int64_t inner, int64_t inverse, int64_t data)',
  ),
);

/** So many numbers are transformed in about half a millisecond; another thread needs a tenth of that to begin. */
const quick = 16384;

/** After so many elements it is asked whether the event loop has waited long enough. */
const elementsPerTurn = 4096;

/** How many lines of so many elements are worked on at once. */
export const linesAtOnce = (length: number): number => Math.max(1, Math.floor(elementsPerTurn / length));

/** Transforms (re, im) pairs of a row-major array along one axis, in place; the inverse divides by the length. */
export async function fourier(
  data: Float64Array,
  shape: Shape,
  axis: number,
  inverse: boolean,
  threads: number,
): Promise<void> {
  const library = native();
  if (!library || data.length === 0) return await fourierInTurns(data, shape, axis, inverse);
  const sizes = [sizeOf(shape.slice(0, axis)), shape[axis]!, sizeOf(shape.slice(axis + 1))];
  const args = [threads, ...sizes, inverse ? 1 : 0, data];
  const outcome = sizeOf(shape) <= quick ? library.now(...args) : await library.later(...args);
  if (outcome !== 0)
    throw new ResourceExhaustedError(`there is no memory for Fourier transforms of shape ${showRuntime(shape)}`);
}

/** The same in TypeScript. */
export async function fourierInTurns(data: Float64Array, shape: Shape, axis: number, inverse: boolean): Promise<void> {
  const length = shape[axis]!;
  if (length < 2) return;
  const inner = sizeOf(shape.slice(axis + 1));
  const outer = sizeOf(shape.slice(0, axis));
  const re = new Float64Array(length);
  const im = new Float64Array(length);
  const transform = isPowerOfTwo(length) ? byHalves(length) : byConvolution(length);
  const scale = inverse ? 1 / length : 1;
  const step = 2 * inner;
  const line = (i: number) => {
    const start = 2 * (Math.floor(i / inner) * length * inner + (i % inner));
    for (let k = 0, at = start; k < length; k++, at += step) {
      re[k] = data[at]!;
      im[k] = data[at + 1]!;
    }
    // Swapping the parts before and after turns the transform into its inverse.
    if (inverse) transform(im, re);
    else transform(re, im);
    for (let k = 0, at = start; k < length; k++, at += step) {
      data[at] = re[k]! * scale;
      data[at + 1] = im[k]! * scale;
    }
  };
  await eachInTurns(outer * inner, line, linesAtOnce(length));
}

const isPowerOfTwo = (n: number) => (n & (n - 1)) === 0;

/** Transforms one line in place. */
type Transform = (re: Float64Array, im: Float64Array) => void;

/** Cooley and Tukey's method, after putting the elements in bit-reversed order. */
function byHalves(n: number): Transform {
  const angles = Float64Array.from({ length: n >> 1 }, (_, k) => (-2 * Math.PI * k) / n);
  const [cosines, sines] = [angles.map(Math.cos), angles.map(Math.sin)];
  return (re, im) => {
    reverseBits(re, im);
    for (let size = 2, turn = n >> 1; size <= n; size <<= 1, turn >>= 1) {
      const half = size >> 1;
      for (let k = 0; k < half; k++) {
        const c = cosines[k * turn]!;
        const s = sines[k * turn]!;
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
  };
}

function reverseBits(re: Float64Array, im: Float64Array): void {
  const n = re.length;
  for (let i = 1, j = 0; i < n; i++) {
    let bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      const [x, y] = [re[i]!, im[i]!];
      re[i] = re[j]!;
      im[i] = im[j]!;
      re[j] = x;
      im[j] = y;
    }
  }
}

/** Bluestein's method: a transform of any length as a convolution with a chirp, done with lengths that are powers of two. */
function byConvolution(n: number): Transform {
  let padded = 1;
  while (padded < 2 * n - 1) padded <<= 1;
  const transform = byHalves(padded);
  // k² modulo 2n keeps the angle small, so that it stays exact for long signals.
  const angles = Float64Array.from({ length: n }, (_, k) => (Math.PI * ((k * k) % (2 * n))) / n);
  const [cosines, sines] = [angles.map(Math.cos), angles.map(Math.sin)];
  const [bRe, bIm] = [new Float64Array(padded), new Float64Array(padded)];
  for (let k = 0; k < n; k++) {
    const mirrored = k > 0 ? padded - k : 0;
    bRe[k] = bRe[mirrored] = cosines[k]!;
    bIm[k] = bIm[mirrored] = sines[k]!;
  }
  transform(bRe, bIm);
  const [aRe, aIm] = [new Float64Array(padded), new Float64Array(padded)];
  return (re, im) => {
    aRe.fill(0, n);
    aIm.fill(0, n);
    for (let k = 0; k < n; k++) {
      const [c, s] = [cosines[k]!, sines[k]!];
      aRe[k] = re[k]! * c + im[k]! * s;
      aIm[k] = im[k]! * c - re[k]! * s;
    }
    transform(aRe, aIm);
    for (let k = 0; k < padded; k++) {
      const x = aRe[k]! * bRe[k]! - aIm[k]! * bIm[k]!;
      aIm[k] = aRe[k]! * bIm[k]! + aIm[k]! * bRe[k]!;
      aRe[k] = x;
    }
    // The inverse transform, by swapping the parts.
    transform(aIm, aRe);
    for (let k = 0; k < n; k++) {
      const [c, s] = [cosines[k]!, sines[k]!];
      const [x, y] = [aRe[k]! / padded, aIm[k]! / padded];
      re[k] = x * c + y * s;
      im[k] = y * c - x * s;
    }
  };
}
