/**
 * @file The cpu device's float64 functions against those of JavaScript, which are within one unit of the last place themselves;
 * `npm run accuracy` measures against more digits.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as d from '../../src/core/dtypes.ts';
import { NDArray } from '../../src/core/ndarray.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import * as e from '../../src/program/expr.ts';
import { SegmentBuilder } from './build.ts';

const cpu = CpuDevice.open();

const sigmoid = (x: number) => (x < 0 ? Math.exp(x) / (1 + Math.exp(x)) : 1 / (1 + Math.exp(-x)));

/** Functions, what they should be, the error that native/README.md promises, and that of what they should be. */
const functions = {
  exp: [e.exp, Math.exp, 1, 1],
  log: [e.log, Math.log, 1, 1],
  log1p: [e.log1p, Math.log1p, 1, 1],
  expm1: [e.expm1, Math.expm1, 1.1, 1],
  tanh: [e.tanh, Math.tanh, 1, 1],
  sigmoid: [e.sigmoid, sigmoid, 1.1, 3],
  sinh: [e.sinh, Math.sinh, 1.8, 2],
  cosh: [e.cosh, Math.cosh, 1.5, 1],
  atanh: [e.atanh, Math.atanh, 1, 1],
} as const;

const smallest = 2 ** -1022;

/** How far two numbers are from each other in units of the last place of the second. */
function errorOf(got: number, want: number): number {
  if (Object.is(got, want)) return 0;
  if (Number.isNaN(got)) return Number.POSITIVE_INFINITY;
  // Numbers below the normal range count as zero; the last normal number before it may become one.
  if (Math.abs(want) < 2 * smallest && Math.abs(got) <= 2 * smallest) return 0;
  if (!Number.isFinite(want))
    return Math.abs(got) >= Number.MAX_VALUE && got > 0 === want > 0 ? 1 : Number.POSITIVE_INFINITY;
  if (got === 0 && want === 0) return Number.POSITIVE_INFINITY; // of different signs
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, want);
  const exponent = ((bits.getUint16(0) >> 4) & 2047) - 1023;
  return (Math.abs(got - want) / 2 ** Math.max(exponent - 26, -1000)) * 2 ** 26;
}

/** Numbers of all sizes and both signs, more of them where functions are neither constant nor infinite, and some special ones. */
function samples(): Float64Array<ArrayBuffer> {
  const numbers: number[] = [
    0,
    1,
    Number.POSITIVE_INFINITY,
    Number.NaN,
    Number.MAX_VALUE,
    0.5,
    Math.SQRT1_2,
    709.78,
    709.79,
    708.39,
    708.4,
    5e-324,
  ];
  for (let i = 0; i < 4000; i++) {
    const fraction = (i * 0.6180339887498949) % 1;
    numbers.push((1 + fraction) * 2 ** (i % 2 ? (i % 80) - 64 : (i % 2044) - 1021));
    numbers.push(fraction, 8 * fraction, 40 * fraction, 720 * fraction, 1 + (fraction - 0.5) / 2 ** (i % 40));
  }
  return Float64Array.from(numbers.flatMap((x) => [x, -x]));
}

async function run(x: Float64Array<ArrayBuffer>, of: (x: e.Expr) => e.Expr): Promise<readonly number[]> {
  const b = new SegmentBuilder();
  const shape = [x.length];
  const [from, to] = [b.bind(new NDArray(d.float64, shape, x)), b.output(d.float64, shape)];
  b.add({ kind: 'map', shape, inputs: [from], outputs: [to], results: [of(e.input(0, d.float64))] });
  return (await (await b.run(cpu!))(to)).numbers();
}

describe.runIf(cpu)('float64 functions of the cpu device', () => {
  const x = samples();
  for (const [name, [of, reference, bound, tolerance]] of Object.entries(functions)) {
    it(`${name} is within ${bound} units of the last place`, async () => {
      const got = await run(x, of);
      let [error, at] = [0, 0];
      for (let i = 0; i < x.length; i++) {
        const own = errorOf(got[i]!, reference(Math.abs(x[i]!) < smallest ? 0 * x[i]! : x[i]!));
        if (own > error) [error, at] = [own, i];
      }
      expect(error, `${name}(${x[at]}) is ${got[at]}, not ${reference(x[at]!)}`).toBeLessThanOrEqual(bound + tolerance);
    });

    it(`${name} gives the same bits wherever a number stands, and inside an expression`, async () => {
      const whole = await run(x.slice(0, 200), of);
      for (const [start, length] of [
        [3, 1],
        [5, 2],
        [7, 7],
        [1, 9],
        [11, 31],
        [2, 33],
        [9, 70],
      ] as const) {
        const part = await run(x.slice(start, start + length), of);
        expect(part.findIndex((y, i) => !Object.is(y, whole[start + i]!))).toBe(-1);
      }
      const fused = await run(x.slice(0, 200), (v) => e.neg(of(e.neg(e.neg(v)))));
      expect(fused.findIndex((y, i) => !Object.is(-y, whole[i]!))).toBe(-1);
    });
  }

  it('keep what native/README.md promises', () => {
    const readme = readFileSync(new URL('../../native/README.md', import.meta.url), 'utf8');
    for (const [name, [, , bound]] of Object.entries(functions))
      expect(readme).toMatch(new RegExp(`^\\| \`${name}\` \\| [0-9.]* ?\\| ${bound} \\|`, 'm'));
  });
});
