/** @file The cpu device treats tiny numbers, NaN and infinities as TensorFlow does, in blocks and in what is left of them. */
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import * as d from '../../src/core/dtypes.ts';
import { NDArray } from '../../src/core/ndarray.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import * as e from '../../src/program/expr.ts';
import type { ReduceOp } from '../../src/program/instructions.ts';
import { SegmentBuilder } from './build.ts';

const cpu = CpuDevice.open();
const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

/** Vectors, whole and not: what is done to one element must not depend on where it stands. */
const lengths = [1, 3, 16, 17, 100, 2000];

type Float = typeof d.float32 | typeof d.float64;
const array = (dtype: Float, values: readonly number[]) =>
  new NDArray(dtype, [values.length], dtype === d.float32 ? Float32Array.from(values) : Float64Array.from(values));
const repeat = (values: readonly number[], n: number) =>
  Array.from({ length: n }, (_, i) => values[i % values.length]!);

async function map(
  dtype: Float,
  inputs: readonly (readonly number[])[],
  of: (...x: e.Expr[]) => e.Expr,
  to: d.DType = dtype,
) {
  const b = new SegmentBuilder();
  const n = inputs[0]!.length;
  const views = inputs.map((values) => b.bind(array(dtype, values)));
  const output = b.output(to, [n]);
  const results = [of(...inputs.map((_, i) => e.input(i, dtype)))];
  b.add({ kind: 'map', shape: [n], inputs: views, outputs: [output], results });
  return (await (await b.run(cpu!))(output)).numbers();
}

async function reduce(dtype: Float, op: ReduceOp, values: readonly number[], columns: number) {
  const b = new SegmentBuilder();
  const rows = values.length / columns;
  const x = b.bind(array(dtype, values));
  const view = { ...x, shape: [rows, columns], strides: [columns, 1] };
  const isPosition = op === 'argmax' || op === 'argmin';
  const outputs = [b.output(isPosition ? d.int64 : dtype, [columns]), b.output(isPosition ? d.int64 : dtype, [rows])];
  for (const axis of [0, 1])
    b.add({
      kind: 'reduce',
      op,
      shape: [rows, columns],
      axes: [axis],
      inputs: [view],
      result: e.input(0, dtype),
      output: outputs[axis]!,
    });
  const read = await b.run(cpu!);
  return Promise.all(outputs.map(async (output) => (await read(output)).numbers()));
}

describe.runIf(cpu)('sums of negative zeros', () => {
  it.each([
    [1, 1],
    [1, 5],
    [5, 1],
    [1, 1000],
    [20, 3],
    [20, 8],
    [20, 60],
    [20, 1000],
    [3, 20_000],
    [5000, 7],
    [300, 3000],
  ])('are zero, but those of one are that: [%i, %i]', async (rows, columns) => {
    for (const dtype of [d.float32, d.float64]) {
      const [down, along] = await reduce(dtype, 'sum', Array(rows * columns).fill(-0), columns);
      expect(down!.every((sum) => Object.is(sum, rows === 1 ? -0 : 0))).toBe(true);
      expect(along!.every((sum) => Object.is(sum, columns === 1 ? -0 : 0))).toBe(true);
    }
  });
});

describe.runIf(cpu)('tiny numbers', () => {
  // Below the normal range a number counts as zero where arithmetic reads or would produce it; moving it changes nothing.
  const tiny = { float32: [1e-40, -1e-42], float64: [1e-310, -5e-324] } as const;
  for (const dtype of [d.float32, d.float64])
    it(`are zero in arithmetic of ${dtype}`, async () => {
      const [a, b] = tiny[dtype === d.float32 ? 'float32' : 'float64'];
      const least = dtype === d.float32 ? 2 ** -126 : 2 ** -1022;
      for (const n of lengths) {
        const x = repeat([a, b], n);
        expect(await map(dtype, [x], (v) => e.mul(v, 1))).toEqual(repeat([0, -0], n));
        expect(await map(dtype, [x], (v) => e.add(v, v))).toEqual(repeat([0, -0], n));
        expect(await map(dtype, [repeat([least, -least], n)], (v) => e.mul(v, 0.5))).toEqual(repeat([0, -0], n));
        expect(await map(dtype, [x], (v) => e.eq(v, 0), d.bool)).toEqual(repeat([1], n));
        expect(await map(dtype, [x], (v) => e.sqrt(v))).toEqual(repeat([0, -0], n));
        const kept = array(dtype, x).numbers();
        expect(await map(dtype, [x], (v) => e.neg(v))).toEqual(kept.map((value) => -value));
        expect(await map(dtype, [x], (v) => e.abs(v))).toEqual(kept.map(Math.abs));
        expect(await map(dtype, [x], (v) => v)).toEqual(kept);
      }
    });

  it('are zero in functions and products', async () => {
    expect(await map(d.float32, [[-95, -88, -104, -200]], (v) => e.exp(v))).toEqual([0, 0, 0, 0]);
    expect(await map(d.float32, [[-95, -100]], (v) => e.sigmoid(v))).toEqual([0, 0]);
    expect(await map(d.float32, [[1e-40, 0, 1.5e-38]], (v) => e.log(v))).toEqual([
      -inf,
      -inf,
      Math.fround(Math.log(Math.fround(1.5e-38))),
    ]);
    const powers = [
      [1e-40, -1e-40, -1e-40, 1e-40],
      [0.5, 0.5, 3, -1],
    ] as const;
    expect(await map(d.float32, powers, (u, v) => e.pow(u!, v!))).toEqual([0, 0, -0, inf]);
    for (const terms of [2, 40]) {
      const b = new SegmentBuilder();
      const output = b.output(d.float32, [2, 2]);
      const all = (x: number, rows: number, columns: number) =>
        b.input(Array(rows).fill(Array(columns).fill(x)), d.float32);
      b.add({ kind: 'dot', a: all(1e-40, 2, terms), b: all(1e10, terms, 2), output });
      expect((await (await b.run(cpu!))(output)).numbers(), `${terms} terms`).toEqual([0, 0, 0, 0]);
    }
  });

  it('are zero where constants are folded', async () => {
    tf.resetDefaultGraph();
    const sess = new tf.Session();
    const [least, tiny] = [tf.constant([2 ** -126, -(2 ** -126)]), tf.constant([1e-40])];
    expect((await sess.run(least.mul(0.5))).numbers()).toEqual([0, -0]);
    expect((await sess.run(tiny.mul(1e10))).numbers()).toEqual([0]);
    expect((await sess.run(tiny.reshape([1]).neg())).numbers()).toEqual([-Math.fround(1e-40)]);
    await sess.close();
  });

  it('are zero to extremes, pools and sorting', async () => {
    const least = { float32: 2 ** -126, float64: 2 ** -1022 } as const;
    for (const dtype of [d.float32, d.float64]) {
      const tiny = least[dtype === d.float32 ? 'float32' : 'float64'] / 2;
      for (const columns of [2, 16, 17, 40]) {
        const [low, high] = [repeat([-tiny, -1], columns * 3), repeat([tiny, 1], columns * 3)];
        const tops = await reduce(dtype, 'max', low, columns);
        const bottoms = await reduce(dtype, 'min', high, columns);
        expect([tops[1], bottoms[1]]).toEqual([Array(3).fill(-0), Array(3).fill(0)]);
        if (columns % 2 === 0)
          expect([tops[0], bottoms[0]]).toEqual([repeat([-0, -1], columns), repeat([0, 1], columns)]);
      }
      tf.resetDefaultGraph();
      const sess = new tf.Session();
      const x = tf.placeholder(dtype, [null]);
      const pooled = tf.nn.maxPool(x.reshape([1, 1, -1, 1]), [1, 1, 2, 1], [1, 1, 2, 1], 'VALID').reshape([-1]);
      const { indices } = tf.nn.topK(x, 6);
      const [pools, order] = await sess.run([pooled, indices], [[x, [0, tiny, -tiny, -1, -tiny, tiny]]]);
      expect(pools.numbers().map(Math.abs)).toEqual([0, 0, 0]);
      expect(order.numbers()).toEqual([0, 1, 2, 4, 5, 3]);
      await sess.close();
    }
  });

  it('stay what they are where there is nothing to add, and so does -0', async () => {
    tf.resetDefaultGraph();
    const sess = new tf.Session();
    const x = tf.placeholder(tf.float32, [null, 1]);
    const results = [tf.reduceSum(x, 1), tf.reduceMean(x, 1), tf.reduceProd(x, 1), tf.reduceMax(x, 1)];
    const tiny = Math.fround(1e-40);
    for (const values of [[-0], [tiny], [-0, tiny, -tiny]]) {
      const found = await sess.run(results, [[x, values.map((value) => [value])]]);
      for (const result of found) expect(result.numbers()).toEqual(values);
    }
    await sess.close();
  });

  it('do not disturb the numbers of JavaScript', async () => {
    await map(d.float64, [[1]], (v) => e.mul(v, 1));
    expect(5e-324 * 1).toBe(5e-324);
  });
});

describe.runIf(cpu)('NaN and infinities', () => {
  for (const dtype of [d.float32, d.float64]) {
    it(`go through max, min and relu of ${dtype}`, async () => {
      const [x, y] = [
        [nan, 1, nan, inf, -inf, nan, 0, -0],
        [1, nan, nan, nan, nan, -inf, -0, 0],
      ];
      for (const n of lengths) {
        const [p, q] = [repeat(x, n), repeat(y, n)];
        // Among zeros of different sign, and other equals, the second wins.
        expect(await map(dtype, [p, q], (u, v) => e.max(u, v))).toEqual(
          repeat([nan, nan, nan, nan, nan, nan, -0, 0], n),
        );
        expect(await map(dtype, [p, q], (u, v) => e.min(u, v))).toEqual(
          repeat([nan, nan, nan, nan, nan, nan, -0, 0], n),
        );
        expect(await map(dtype, [p], (u) => e.max(u, 0))).toEqual(repeat([nan, 1, nan, inf, 0, nan, 0, 0], n));
      }
    });

    it(`go through reductions of ${dtype}`, async () => {
      for (const columns of [1, 3, 16, 40, 300])
        for (const at of [0, 1, columns - 1, columns * 7, columns * 20 + columns - 1]) {
          const values = repeat([1, 2, 0.5], columns * 21);
          values[at] = nan;
          const [row, column] = [Math.floor(at / columns), at % columns];
          for (const op of ['sum', 'prod', 'max', 'min'] as const) {
            const [down, across] = await reduce(dtype, op, values, columns);
            expect(down!.map(Number.isNaN).indexOf(true)).toBe(column);
            expect(across!.map(Number.isNaN).indexOf(true)).toBe(row);
            expect(down!.filter(Number.isNaN).length + across!.filter(Number.isNaN).length).toBe(2);
          }
        }
    });

    it(`never are the largest or smallest position of ${dtype}`, async () => {
      const [down, across] = await reduce(dtype, 'argmax', [nan, 1, 2, 3, nan, 1, 1, 5, nan], 3);
      expect([down, across]).toEqual([
        [1, 2, 0],
        [2, 0, 1],
      ]);
      expect(await reduce(dtype, 'argmin', [nan, 1, 2, 3, nan, 1, 1, 5, nan], 3)).toEqual([
        [2, 0, 1],
        [1, 2, 0],
      ]);
      expect(await reduce(dtype, 'argmax', [nan, nan, nan, nan], 2)).toEqual([
        [0, 0],
        [0, 0],
      ]);
    });

    it(`are passed over in rows of any length for positions of ${dtype}`, async () => {
      for (const columns of [40, 48, 63, 64, 65, 130, 1000, 20_000])
        for (const at of [0, 1, 47, columns - 2, columns - 1].filter((at) => at < columns)) {
          const ordinary = Array.from({ length: columns }, (_, i) => (i * 7919) % 97);
          const peak = ordinary.with(at, 100);
          const rows = [
            peak,
            peak.with((at + 30) % columns, 100),
            peak.with((at + 3) % columns, nan),
            peak.with((at + columns - 3) % columns, nan),
            Array(columns).fill(nan),
            Array(columns).fill(nan).with(at, Number.NEGATIVE_INFINITY),
            Array(columns).fill(0).with(at, -0),
            Array(columns).fill(Number.NEGATIVE_INFINITY),
          ];
          const first = (row: readonly number[], best: number) => Math.max(0, row.indexOf(best));
          const ofNumbers = (row: readonly number[]) => row.filter((x) => !Number.isNaN(x));
          const most = rows.map((row) =>
            first(
              row,
              ofNumbers(row).reduce((x, y) => Math.max(x, y), Number.NEGATIVE_INFINITY),
            ),
          );
          const least = rows.map((row) =>
            first(
              row,
              ofNumbers(row).reduce((x, y) => Math.min(x, y), Number.POSITIVE_INFINITY),
            ),
          );
          expect((await reduce(dtype, 'argmax', rows.flat(), columns))[1]).toEqual(most);
          expect((await reduce(dtype, 'argmin', rows.flat(), columns))[1]).toEqual(least);
        }
    });
  }
});

describe.runIf(cpu)('remainders of float32', () => {
  /** Floats of any exponents from `lowest` to `highest`, and of both signs. */
  const spread = (n: number, seed: number, lowest: number, highest: number) =>
    Array.from({ length: n }, (_, i) => {
      const turn = (i * 7919 + seed * 104_729) % 65_521;
      const exponent = lowest + (turn % (highest - lowest + 1));
      return Math.fround((turn % 2 ? 1 : -1) * (1 + turn / 65_521) * 2 ** exponent);
    });

  it.each([
    ['of like numbers', 3, -2],
    ['of small divisors', 60, 20],
    ['of any', 127, -126],
  ])('are exact: %s', async (_, highest, lowest) => {
    const n = 30_000;
    const near = (x: number) => Math.fround(x * 3);
    const x = spread(n, 1, lowest, highest);
    const y = spread(n, 2, Math.max(-126, lowest - 20), highest).map((v, i) => (i % 5 === 0 ? near(x[n - 1 - i]!) : v));
    // JavaScript's remainder is exact, and that of two float32 is one.
    const wanted = x.map((v, i) => v % y[i]!);
    const got = await map(d.float32, [x, y], (v, w) => e.truncmod(v!, w!));
    const isNormal = (v: number) => v === 0 || Math.abs(v) >= 2 ** -126;
    expect(got.filter((r, i) => isNormal(wanted[i]!) && !Object.is(r, wanted[i]))).toEqual([]);
  });

  it('of infinities, zeros and multiples', async () => {
    const x = [Number.POSITIVE_INFINITY, 5, -5, 0, -0, 4, -4, 1, Math.fround(0.3), 1e30].map(Math.fround);
    const y = [2, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 3, 3, 2, 2, 0, Math.fround(0.1), 7].map(
      Math.fround,
    );
    const got = await map(d.float32, [x, y], (v, w) => e.truncmod(v!, w!));
    expect(got).toEqual(x.map((v, i) => v % y[i]!));
  });
});

describe.runIf(cpu)('the place of an element or a row', () => {
  const values = (n: number) => Array.from({ length: n }, (_, i) => 3 * Math.sin(i * 12.9898) ** 3 + 1.5);

  it.each([2, 3, 5, 8, 9, 16, 17, 31, 33, 64, 102])('does not change the sum of a row of %i', async (columns) => {
    const most = 150;
    const all = values(most * columns);
    for (const dtype of [d.float32, d.float64] as const) {
      const [, whole] = await reduce(dtype, 'sum', all, columns);
      for (const rows of [1, 2, 7, 15, 16, 17, 33, 65, 129])
        expect((await reduce(dtype, 'sum', all.slice(0, rows * columns), columns))[1]).toEqual(whole!.slice(0, rows));
    }
  });

  it('does not matter for folds of rows and columns of any length', async () => {
    const folds = {
      sum: (x: number, y: number) => x + y,
      prod: (x: number, y: number) => x * y,
      max: Math.max,
      min: Math.min,
    };
    const ops = Object.keys(folds) as (keyof typeof folds)[]; // keys of an object are strings to TypeScript
    const shapes = [...Array.from({ length: 34 }, (_, i) => i + 1), 48, 63, 64, 65, 300, 4500].flatMap((columns) =>
      [1, 37].map((rows) => [rows, columns] as const),
    );
    for (const [rows, columns] of shapes) {
      // Near one, so that products stay in range, and different everywhere.
      const all = values(rows * columns).map((x) => Math.fround(1 + (x - 1.5) / 64));
      const b = new SegmentBuilder();
      const outputs = [d.float32, d.float64].flatMap((dtype) => {
        const view = { ...b.bind(array(dtype, all)), shape: [rows, columns], strides: [columns, 1] };
        return ops.flatMap((op) =>
          [0, 1].map((axis) => {
            const output = b.output(dtype, [axis === 0 ? columns : rows]);
            const result = e.input(0, dtype);
            b.add({ kind: 'reduce', op, shape: [rows, columns], axes: [axis], inputs: [view], result, output });
            return { dtype, op, axis, output };
          }),
        );
      });
      const read = await b.run(cpu!);
      for (const { dtype, op, axis, output } of outputs) {
        const want: number[] = [];
        for (const [i, x] of all.entries()) {
          const at = axis === 0 ? i % columns : Math.floor(i / columns);
          want[at] = want[at] === undefined ? x : folds[op](want[at], x);
        }
        const bound = op === 'max' || op === 'min' ? 0 : dtype === d.float32 ? 2e-5 : 1e-13;
        for (const [i, have] of (await read(output)).numbers().entries())
          if (!(Math.abs(have - want[i]!) <= bound * Math.abs(want[i]!)))
            expect.fail(
              `${op} of ${dtype.name} [${rows}, ${columns}] over ${axis} at ${i} is ${have} instead of ${want[i]}`,
            );
      }
    }
  });

  const functions: readonly [string, (x: e.Expr) => e.Expr][] = [
    ...(['exp', 'log', 'sin', 'cos', 'tanh', 'sigmoid', 'expm1'] as const).map(
      (op): [string, (x: e.Expr) => e.Expr] => [op, (x) => e[op](x)],
    ),
    ['pow', (x) => e.pow(x, e.constant(1.7, d.float32))],
  ];
  it.each(functions)('does not change %s, nor do its neighbours', async (_, of) => {
    for (const value of values(20)) {
      const expected = (await map(d.float32, [Array(64).fill(value)], of))[0];
      for (const n of lengths)
        expect(new Set(await map(d.float32, [Array(n).fill(value)], of))).toEqual(new Set([expected]));
      const odd = await map(d.float32, [[value, 1e30, value, nan, value, -inf, value, 0]], of);
      expect(odd.filter((_, i) => i % 2 === 0)).toEqual([expected, expected, expected, expected]);
    }
  });
});
