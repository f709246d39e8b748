/** @file Largest errors of the cpu device's float32 functions, in units of the last place, against double precision. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as d from '../../src/core/dtypes.ts';
import { NDArray } from '../../src/core/ndarray.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import * as e from '../../src/program/expr.ts';
import { SegmentBuilder } from './build.ts';

const cpu = CpuDevice.open();

/** Functions of one number, and the error that native/README.md promises. */
const functions = {
  exp: [e.exp, 1],
  log: [e.log, 0.84],
  log1p: [e.log1p, 1.5],
  expm1: [e.expm1, 1.8],
  tanh: [e.tanh, 1.4],
  sigmoid: [e.sigmoid, 2.5],
  erf: [e.erf, 1.2],
  sin: [e.sin, 2.4],
  cos: [e.cos, 2.4],
  sqrt: [e.sqrt, 0.5],
  rsqrt: [e.rsqrt, 1.5],
  reciprocal: [e.reciprocal, 0.5],
  sinh: [e.sinh, 0.51],
  cosh: [e.cosh, 0.51],
  atanh: [e.atanh, 0.51],
  tan: [e.tan, 0.51],
  erfc: [e.erfc, 0.51],
  erfinv: [e.erfinv, 0.51],
  ndtri: [e.ndtri, 0.51],
  asin: [e.asin, 0.7],
  acos: [e.acos, 0.7],
  atan: [e.atan, 2],
} as const;

const smallest = 2 ** -126;
const largest = 2 ** 128;

/** How far a float32 result is from the true value, in units of the last place of that value. */
function errorOf(got: number, want: number): number {
  if (Number.isNaN(got) || Number.isNaN(want)) return Object.is(got, want) ? 0 : Number.POSITIVE_INFINITY;
  // Results below the normal range count as zero; the last normal number before it may become one.
  if (Math.abs(want) < smallest) return Math.abs(got) <= smallest ? 0 : Number.POSITIVE_INFINITY;
  const place = 2 ** (Math.min(127, Math.floor(Math.log2(Math.abs(want)))) - 23);
  if (Math.abs(want) >= largest - place / 2) return Math.abs(got) >= largest - place ? 0 : Number.POSITIVE_INFINITY;
  return Math.abs(got - want) / place;
}

/** Every `step`-th float32 there is, of either sign, without those below the normal range. */
function samples(step: number): Float32Array<ArrayBuffer> {
  const bits: number[] = [];
  for (let b = 0x00800000; b <= 0x7f800000; b += step) bits.push(b, b + 0x80000000);
  return new Float32Array(Uint32Array.from([...bits, 0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000]).buffer);
}

/** A function on float32 numbers, in float32 and in float64. */
async function both(inputs: readonly Float32Array<ArrayBuffer>[], of: (...x: e.Expr[]) => e.Expr) {
  const b = new SegmentBuilder();
  const shape = [inputs[0]!.length];
  const views = inputs.map((data) => b.bind(new NDArray(d.float32, shape, data)));
  const [near, exact] = [b.output(d.float32, shape), b.output(d.float64, shape)];
  const x = inputs.map((_, i) => e.input(i, d.float32));
  b.add({ kind: 'map', shape, inputs: views, outputs: [near], results: [of(...x)] });
  const wide = of(...x.map((value) => e.cast(value, d.float64)));
  b.add({ kind: 'map', shape, inputs: views, outputs: [exact], results: [wide] });
  const read = await b.run(cpu!);
  return [(await read(near)).numbers(), (await read(exact)).numbers()] as const;
}

function worst(got: readonly number[], want: readonly number[]): { error: number; at: number } {
  let [error, at] = [0, 0];
  for (let i = 0; i < got.length; i++) {
    const own = errorOf(got[i]!, want[i]!);
    if (own > error) [error, at] = [own, i];
  }
  return { error, at };
}

describe.runIf(cpu)('float32 functions of the cpu device', () => {
  const x = samples(8191);
  // The portable code has some from the C library, of which no bound is known.
  const more = cpu?.library.variant === 'portable' ? 2 : 0;
  const tiny = Float32Array.from({ length: 70 }, (_, i) => (i + 1) * (i % 2 ? 2 ** -149 : -(2 ** -149)));
  for (const [name, [of, bound]] of Object.entries(functions))
    it(`${name} is within ${bound} units of the last place`, async () => {
      const [got, want] = await both([x], of);
      const { error, at } = worst(got, want);
      expect(error, `${name}(${x[at]}) is ${got[at]} instead of ${want[at]}`).toBeLessThanOrEqual(bound + more);
    });

  it('give zero the sign of the argument where the function is odd there', async () => {
    for (const of of [e.tanh, e.erf, e.sin, e.log1p, e.expm1]) {
      const [got] = await both([new Float32Array([0, -0, 0, -0])], of);
      expect(got).toEqual([0, -0, 0, -0]);
    }
  });

  it('leave numbers below the normal range alone where the C library of TensorFlow does', async () => {
    for (const of of [e.tan, e.sinh, e.asinh]) {
      const [got] = await both([tiny], of);
      expect(got.findIndex((y, i) => y !== tiny[i])).toBe(-1);
    }
  });

  it('take numbers below the normal range for zero where the vectors of TensorFlow do', async () => {
    for (const of of [e.sin, e.asin, e.atan, e.atanh, e.log1p, e.tanh, e.erf, e.expm1]) {
      const [got] = await both([tiny], of);
      expect(got).toEqual(Array.from(tiny, (x) => x * 0));
    }
  });

  it('pow is within 0.6 units of the last place', async () => {
    const bases = x.filter((value) => value > 1e-30 && value < 1e30);
    const powers = bases.map((_, i) => Math.sin(i * 0.37) * (i % 3 === 0 ? 60 : 4));
    const [got, want] = await both([bases, powers], e.pow);
    const { error, at } = worst(got, want);
    expect(error, `${bases[at]} ^ ${powers[at]} is ${got[at]} instead of ${want[at]}`).toBeLessThanOrEqual(0.6);
  });

  it('pow follows the rules of C for signs, zeros, infinities and NaN', async () => {
    const special = [0, -0, 1, -1, 2, -2, 0.5, -8, 3, Infinity, -Infinity, Number.NaN];
    const pairs = special.flatMap((base) => special.map((power) => [base, power] as const));
    const [bases, powers] = [0, 1].map((i) => Float32Array.from(pairs, (pair) => pair[i as 0 | 1])); // pairs have two
    const [got, want] = await both([bases!, powers!], e.pow);
    for (const [i, [base, power]] of pairs.entries()) expect(got[i], `${base} ^ ${power}`).toBe(Math.fround(want[i]!));
  });

  it('keep what native/README.md promises', () => {
    const readme = readFileSync(new URL('../../native/README.md', import.meta.url), 'utf8');
    for (const [name, [, bound]] of [...Object.entries(functions), ['pow', [e.pow, 0.6]] as const])
      expect(readme).toMatch(new RegExp(`^\\| \`${name}\` \\| ${bound} \\|`, 'm'));
  });
});
