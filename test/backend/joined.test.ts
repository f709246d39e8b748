/** @file Operations that the cpu device joins to one give the bits that they give one after the other. */
import { describe, expect, it } from 'vitest';
import * as d from '../../src/core/dtypes.ts';
import { NDArray } from '../../src/core/ndarray.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import * as e from '../../src/program/expr.ts';
import { restride, SegmentBuilder } from './build.ts';

const cpu = CpuDevice.open();
const { NaN: nan, POSITIVE_INFINITY: inf } = Number;
const awkward = [0, -0, 1, -1, 0.1, -3.7, 1e-30, 1e30, inf, -inf, nan, 2 ** -126, 3e38];

/** Every awkward number meets every other, and then some that are nothing special. */
function operand(length: number, turn: number): NDArray {
  const at = (i: number) => awkward[Math.floor(i / awkward.length ** turn) % awkward.length]!;
  const values = Array.from({ length }, (_, i) => (i % 5 === 4 ? Math.sin(i * (turn + 1)) * 3 : at(i)));
  return new NDArray(d.float32, [length], Float32Array.from(values));
}

/** The nodes inside an expression that are computed, itself included. */
function computed(x: e.Expr, found: e.Expr[] = []): e.Expr[] {
  if ('args' in x && !found.includes(x)) {
    for (const arg of x.args) computed(arg, found);
    found.push(x);
  }
  return found;
}

/**
 * An expression's bits, alone or beside all that it is made of, which then cannot be joined. There is room between the results, so
 * that no loop is generated for them.
 */
async function bits(length: number, result: e.Expr, apart: boolean): Promise<Uint32Array> {
  const b = new SegmentBuilder();
  const inputs = [0, 1, 2, 3, 4].map((turn) => b.bind(operand(length, turn)));
  const results = apart ? computed(result) : [result];
  const outputs = results.map((x) => restride(b.output(x.dtype, [length, 2]), [length], [2]));
  b.add({ kind: 'map', shape: [length], inputs, outputs, results });
  const bytes = (await (await b.run(cpu!))(outputs.at(-1)!)).bytes;
  // Which NaN comes out of two of them is not said anywhere.
  const floats = new Float32Array(bytes.slice().buffer).map((x) => (Number.isNaN(x) ? nan : x));
  return new Uint32Array(floats.buffer);
}

const [a, b, c, x, y] = [0, 1, 2, 3, 4].map((i) => e.input(i, d.float32)) as [e.Expr, e.Expr, e.Expr, e.Expr, e.Expr]; // five inputs
const inner = [e.add, e.sub, e.mul];
const joined: readonly (readonly [string, e.Expr])[] = [
  ...inner.flatMap((first, i) =>
    [e.add, e.sub, e.mul, e.div, e.max].flatMap((second, j): [string, e.Expr][] => [
      [`${['+', '-', '*'][i]} then ${['+', '-', '*', '/', 'max'][j]}`, second(first(a, b), c)],
      [`${['+', '-', '*'][i]} in the second place of ${['+', '-', '*', '/', 'max'][j]}`, second(c, first(a, b))],
    ]),
  ),
  ['a square added', e.add(e.square(a), b)],
  ['two products', e.add(e.mul(a, b), e.mul(c, x))],
  ['a running mean', e.add(a, e.mul(e.sub(b, a), c))],
  ['a running mean of squares', e.add(e.mul(c, e.sub(e.square(b), a)), a)],
  ["Adam's step", e.sub(a, e.div(e.mul(b, c), e.add(e.sqrt(x), y)))],
  ...[e.lt, e.le, e.gt, e.ge, e.eq, e.ne].map((compare, i): [string, e.Expr] => [
    `a choice by ${['<', '<=', '>', '>=', '=', 'not ='][i]}`,
    e.select(compare(a, b), c, x),
  ]),
  ...(['exp', 'tanh', 'sigmoid'] as const).flatMap((name): [string, e.Expr][] => [
    ...inner.map((first, i): [string, e.Expr] => [`${name} of ${['+', '-', '*'][i]}`, e[name](first(a, b))]),
    [`${name} of a square`, e[name](e.square(a))],
    [`${name} of a scalar's sum`, e[name](e.add(a, 1))],
    [`${name} times`, e.mul(e[name](a), b)],
    [`times ${name}`, e.mul(b, e[name](a))],
    [`${name} times a scalar`, e.mul(e[name](a), 0.5)],
    [`${name} squared`, e.mul(e[name](a), e[name](a))],
    [`${name} times another`, e.mul(e[name](a), e.sigmoid(b))],
    [`${name} of a sum, times`, e.mul(e[name](e.add(a, b)), c)],
  ]),
  ['a scalar inside', e.max(e.add(e.mul(a, 0.5), 1), 0)],
];

describe.runIf(cpu)('joined operations', () => {
  for (const [name, result] of joined)
    it(name, async () => {
      for (const length of [1, 15, 37, 3000])
        expect(await bits(length, result, false)).toEqual(await bits(length, result, true));
    });

  it('a sum of products takes what is joined to them along', async () => {
    const [rows, columns] = [9, 50];
    const b = new SegmentBuilder();
    const values = Float32Array.from({ length: rows * columns }, (_, i) => Math.sin(i));
    const input = b.bind(new NDArray(d.float32, [rows, columns], values));
    const [output, products] = [b.output(d.float32, [rows]), b.output(d.float32, [rows, columns])];
    const shape = [rows, columns];
    const result = e.mul(e.sigmoid(e.input(0, d.float32)), e.input(0, d.float32));
    b.add({ kind: 'reduce', op: 'sum', shape, axes: [1], inputs: [input], result, output });
    b.add({ kind: 'map', shape, inputs: [input], outputs: [products], results: [result] });
    const read = await b.run(cpu!);
    const each = (await read(products)).numbers();
    for (const [row, sum] of (await read(output)).numbers().entries())
      expect(sum).toBeCloseTo(
        each.slice(row * columns, (row + 1) * columns).reduce((p, q) => p + q),
        4,
      );
  });

  it('sums of products are sums of the products', async () => {
    for (const [rows, columns] of [
      [5, 33],
      [70, 40],
      [3, 4099],
      [20, 16],
    ] as const)
      for (const axis of [0, 1]) {
        const b = new SegmentBuilder();
        const value = (i: number) => ((i * 7919) % 13) - 6;
        const data = Float32Array.from({ length: rows * columns }, (_, i) => value(i));
        const other = Float32Array.from({ length: rows * columns }, (_, i) => value(i + 5));
        const inputs = [data, other].map((values) => b.bind(new NDArray(d.float32, [rows, columns], values)));
        const output = b.output(d.float32, [axis === 0 ? columns : rows]);
        const result = e.mul(e.input(0, d.float32), e.input(1, d.float32));
        b.add({ kind: 'reduce', op: 'sum', shape: [rows, columns], axes: [axis], inputs, result, output });
        const expected = Array.from({ length: axis === 0 ? columns : rows }, () => 0);
        data.forEach((v, i) => {
          expected[axis === 0 ? i % columns : Math.floor(i / columns)]! += v * other[i]!;
        });
        expect((await (await b.run(cpu!))(output)).numbers()).toEqual(expected);
      }
  });
});
