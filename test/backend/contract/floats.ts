/** @file Contract: every scalar operation on floats. */
import { readFileSync } from 'node:fs';
import { it } from 'vitest';
import * as d from '../../../src/core/dtypes.ts';
import { fromNested } from '../../../src/core/ndarray.ts';
import type { Device } from '../../../src/devices/device.ts';
import * as e from '../../../src/program/expr.ts';
import { floats } from './dtypes.ts';
import { checkRows, compute, expectElements, operation, parseRows, toleranceOf } from './expect.ts';

const inf = Number.POSITIVE_INFINITY;

/** Functions, what they must approximate, and where. */
const functions: [op: e.UnaryOp, truth: (x: number) => number, at: string][] = [
  ['exp', Math.exp, '0 1 -1 5.5 -10 0.125 -0.001953125 -inf inf nan'],
  ['expm1', Math.expm1, '0 1 -1 0.0009765625 -0.0009765625 5 -20 inf -inf nan'],
  ['log', Math.log, '1 2 0.5 10 0.0078125 1.0078125 0 -1 inf nan'],
  ['log1p', Math.log1p, '0 1 0.0009765625 -0.0009765625 -0.5 100 -1 -2 inf nan'],
  ['sqrt', Math.sqrt, '0 -0 1 2 4 10 0.25 -1 inf nan'],
  ['rsqrt', (x) => 1 / Math.sqrt(x), '1 2 4 10 0.25 0 -1 inf nan'],
  ['reciprocal', (x) => 1 / x, '1 -2 3 0.25 0 -0 inf -inf nan'],
  ['square', (x) => x * x, '0 -0 1 -3 0.5 inf -inf nan'],
  ['sin', Math.sin, '0 0.5 -1 2 4 -6 10 100 inf nan'],
  ['cos', Math.cos, '0 0.5 -1 2 4 -6 10 100 -inf nan'],
  ['tan', Math.tan, '0 0.5 -1 1.25 2 -4 inf nan'],
  ['asin', Math.asin, '0 0.5 -0.5 1 -1 0.9375 2 nan'],
  ['acos', Math.acos, '0 0.5 -0.5 1 -1 0.9375 2 nan'],
  ['atan', Math.atan, '0 0.5 -1 10 -100 inf -inf nan'],
  ['sinh', Math.sinh, '0 0.5 -1 3 -8 0.0009765625 inf -inf nan'],
  ['cosh', Math.cosh, '0 0.5 -1 3 -8 inf -inf nan'],
  ['tanh', Math.tanh, '0 -0 0.5 -1 3 -8 50 -50 0.0009765625 inf -inf nan'],
  ['asinh', Math.asinh, '0 0.5 -1 10 -100 0.0009765625 inf -inf nan'],
  ['acosh', Math.acosh, '1 1.5 2 10 100 0.5 inf nan'],
  ['atanh', Math.atanh, '0 0.5 -0.75 0.0009765625 1 -1 2 nan'],
  ['sigmoid', (x) => 1 / (1 + Math.exp(-x)), '0 1 -1 5 -5 100 -100 inf -inf nan'],
];

const path = new URL('../../golden/special.json', import.meta.url);
const special = JSON.parse(readFileSync(path, 'utf8')) as Record<string, number[][]>; // written by tools/golden/special.py

/** What special functions give at the edges of their domains, as in TensorFlow. */
const specialEdges = {
  erf: 'inf = 1; -inf = -1; nan = nan',
  erfc: 'inf = 0; -inf = 2; nan = nan',
  erfinv: '1 = inf; -1 = -inf; 1.5 = nan; nan = nan',
  ndtri: '0 = -inf; 1 = inf; 1.5 = nan; -1 = nan; nan = nan',
  lgamma: '0 = inf; -1 = inf; -3 = inf; inf = inf; nan = nan',
  digamma: '0 = nan; -1 = nan; inf = inf; nan = nan',
  igamma:
    '1 0 = 0; 2 inf = 1; 0 1 = nan; -1 1 = nan; 5 -1 = nan; 2 nan = nan; 2^60 2^60 = 0.50000000012385; 2^100 2^99 = 0; 2^100 2^101 = 1',
  igammac:
    '1 0 = 1; 2 inf = 0; 0 1 = nan; -1 1 = nan; 5 -1 = nan; 2 nan = nan; 2^60 2^60 = 0.49999999987615; 2^100 2^99 = 1; 2^100 2^101 = 0',
  zeta: '1 1 = inf; 0.5 1 = nan; 2.5 -0.5 = nan; 4 0 = inf; 4 -2 = inf; 3 0 = nan',
  polygamma: '-1 1 = nan; 1.5 1 = nan; 3 0 = inf',
};
type SpecialOp = keyof typeof specialEdges;

export function floatContract(device: Device): void {
  const check = (op: (...args: e.Expr[]) => e.Expr, dtypes: readonly d.DType[], rows: string) =>
    checkRows(device, op, dtypes, rows);

  it.each(functions)('%s', async (name, truth, at) => {
    for (const dtype of floats) {
      const x = fromNested(parseRows(at)[0]!, dtype);
      // The truth is rounded to the type, so that infinity is expected where the type overflows.
      const expected = fromNested(x.numbers().map(truth), dtype).numbers();
      expectElements(await compute(device, operation(name)(e.input(0, dtype)), x), expected, toleranceOf(dtype));
    }
  });

  it.each(Object.keys(specialEdges) as SpecialOp[])('special function %s', async (name) => {
    const op = operation(name);
    const rows = [...special[name]!, ...parseRows(specialEdges[name])];
    await checkRows(device, op, [d.float64], rows, () => 1e-11);
    // Rows whose arguments float32 holds exactly; others would have another value.
    const short = rows.filter((row) => row.slice(0, -1).every((x) => Object.is(Math.fround(Number(x)), x)));
    await checkRows(device, op, [d.float32], short, () => 2e-5);
  });

  it('rounds and takes signs', async () => {
    await check(e.neg, floats, '1 = -1; -2.5 = 2.5; 0 = -0; -0 = 0; inf = -inf; nan = nan');
    await check(e.abs, floats, '1 = 1; -2.5 = 2.5; -0 = 0; -inf = inf; nan = nan');
    await check(e.sign, floats, '3 = 1; -2.5 = -1; 0 = 0; inf = 1; -inf = -1; nan = nan');
    await check(e.floor, floats, '1.5 = 1; -1.5 = -2; -0.5 = -1; 2 = 2; -0 = -0; inf = inf; nan = nan');
    await check(e.ceil, floats, '1.5 = 2; -1.5 = -1; -0.5 = -0; 2 = 2; inf = inf; nan = nan');
    await check(e.rint, floats, '0.5 = 0; 1.5 = 2; 2.5 = 2; -0.5 = -0; -1.5 = -2; -2.5 = -2; 2.25 = 2; -2.75 = -3');
    await check(e.rint, floats, '7 = 7; inf = inf; -inf = -inf; nan = nan');
    await check(e.rint, [d.float64], '0.49999999999999994 = 0; 2251799813685248.5 = 2251799813685248; 1e300 = 1e300');
    await check(e.rint, [d.float32], '8388609 = 8388609; 4194304.5 = 4194304; 4194305.5 = 4194306; -2^100 = -2^100');
    await check(e.conj, floats, '1 = 1; -2 = -2');
  });

  it('adds, multiplies and divides as IEEE 754 says', async () => {
    await check(e.add, floats, '1 2 = 3; -0 -0 = -0; inf -inf = nan; inf 1 = inf; nan 1 = nan');
    await check(e.sub, floats, '1 2 = -1; 0 0 = 0; inf inf = nan; 1 inf = -inf');
    await check(e.mul, floats, '3 -2 = -6; 0 -1 = -0; 0 inf = nan; inf -2 = -inf');
    await check(
      e.div,
      floats,
      '1 4 = 0.25; -7 2 = -3.5; 1 0 = inf; -1 0 = -inf; 1 -0 = -inf; 0 0 = nan; inf inf = nan',
    );
    await check(e.floordiv, floats, '7.5 2 = 3; -7.5 2 = -4; 7.5 -2 = -4; 1 0 = inf; nan 1 = nan');
    await check(
      e.floormod,
      floats,
      '7.5 2 = 1.5; -7.5 2 = 0.5; 7.5 -2 = -0.5; -7.5 -2 = -1.5; 5 inf = 5; -5 inf = inf',
    );
    await check(e.floormod, floats, '1 0 = nan; inf 2 = nan');
    await check(e.truncmod, floats, '7.5 2 = 1.5; -7.5 2 = -1.5; 7.5 -2 = 1.5; 5 inf = 5; 1 0 = nan');
  });

  it('rounds every step to its type', async () => {
    await check(e.add, [d.float32], '16777216 1 = 16777216; 16777216 3 = 16777220');
    await check(e.add, [d.float16], '2048 1 = 2048; 2048 3 = 2052; 65504 16 = inf; 65504 15 = 65504');
    await check(e.add, [d.bfloat16], '256 1 = 256; 256 3 = 260; 1 0.00390625 = 1');
    await check(e.mul, [d.float32], '2^100 2^100 = inf; 2^-100 2^-100 = 0; 2^-100 2^-26 = 2^-126');
    await check(e.mul, [d.float16], '2^-14 0.5 = 2^-15; 2^-24 0.5 = 0; 300 300 = inf');
    const through = (x: e.Expr) => e.sub(e.add(x, 4096), 4096);
    await check(through, [d.float16], '1 = 0; 3 = 4; 5.5 = 4');
    await check(through, [d.float32], '1.5 = 1.5; 2^-11 = 2^-11; 2^-12 = 0');
    // A product and a sum are two operations with two roundings, never one fused multiply-add.
    const separate = (x: e.Expr) => e.sub(e.mul(x, x), e.mul(x, x));
    await check(separate, [d.float32, d.float64], '1.1 = 0; 0.3 = 0; -7.7 = 0');
    const exactSquare = (x: e.Expr) => e.sub(e.mul(x, x), 1);
    await check(exactSquare, [d.float32], '1.000244140625 = 0.00048828125; 0.999755859375 = -0.00048822164535522461');
  });

  it('takes powers as C does', async () => {
    const rows =
      '2 10 = 1024; 2 -1 = 0.5; 9 0.5 = 3; -2 3 = -8; -8 0.25 = nan; 0 0 = 1; nan 0 = 1; 1 nan = 1; 1 inf = 1';
    await checkRows(device, e.pow, floats, `${rows}; -1 inf = 1; 0 -1 = inf; 2 -inf = 0; -inf 3 = -inf`, toleranceOf);
  });

  it('takes maximum and minimum, NaN winning', async () => {
    await check(e.max, floats, '1 2 = 2; -1 -2 = -1; nan 1 = nan; 1 nan = nan; nan nan = nan; -inf inf = inf');
    await check(e.min, floats, '1 2 = 1; -1 -2 = -2; nan 1 = nan; 1 nan = nan; nan -inf = nan; -inf inf = -inf');
  });

  it('finds angles', async () => {
    const points = parseRows('1 1; 1 -1; -1 -1; -1 1; 0 1; 0 -1; 2 0.5; -0.25 4');
    const rows = points.map(([y, x]) => [y!, x!, Math.atan2(Number(y), Number(x))]);
    await checkRows(device, e.atan2, floats, rows, toleranceOf);
  });

  it('steps to the next float', async () => {
    const steps = (bits: number, least: string, max: number) => {
      const [up, down] = [1 + 2 ** -bits, 1 - 2 ** -(bits + 1)];
      return `1 2 = ${up}; 1 0 = ${down}; -1 0 = ${-down}; 0 1 = ${least}; 0 -1 = -${least}; ${least} 0 = 0; ${max} inf = inf`;
    };
    const edges = '1 1 = 1; nan 1 = nan; 1 nan = nan';
    await check(e.nextafter, [d.float32], `${steps(23, '2^-149', d.float32.max)}; ${edges}`);
    await check(e.nextafter, [d.float64], `${steps(52, '2^-1074', d.float64.max)}; ${edges}`);
  });

  it('compares, NaN being unequal to everything', async () => {
    const pairs = parseRows('1 2; 2 1; 1 1; nan 1; nan nan; 0 -0; -inf inf');
    const holds: Record<e.CompareOp, string> = {
      eq: '0010010',
      ne: '1101101',
      lt: '1000001',
      le: '1010011',
      gt: '0100000',
      ge: '0110010',
    };
    for (const op of e.compareOps)
      await checkRows(
        device,
        operation(op),
        floats,
        pairs.map((pair, i) => [...pair, holds[op][i] === '1']),
      );
  });

  it('tells NaN, infinite and finite apart', async () => {
    await check(e.isnan, floats, '1 = false; nan = true; inf = false; -0 = false');
    await check(e.isinf, floats, '1 = false; nan = false; inf = true; -inf = true');
    await check(e.isfinite, floats, '1 = true; nan = false; inf = false; -inf = false; 0 = true');
  });

  it('overflows to infinity', async () => {
    expectElements(
      await compute(device, e.exp(e.input(0, d.float32)), fromNested([89, 12], d.float32)),
      [inf, Math.fround(Math.exp(12))],
      2e-6,
    );
    expectElements(await compute(device, e.exp(e.input(0, d.float16)), fromNested([12], d.float16)), [inf]);
  });
}
