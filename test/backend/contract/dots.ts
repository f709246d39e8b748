/** @file Contract: `dot` over all strides, batches and types. */
import { expect, it } from 'vitest';
import * as d from '../../../src/core/dtypes.ts';
import { fromNested, type Nested } from '../../../src/core/ndarray.ts';
import type { Device } from '../../../src/devices/device.ts';
import * as e from '../../../src/program/expr.ts';
import type { View } from '../../../src/program/instructions.ts';
import { broadcast, restride, reverse, SegmentBuilder, transpose } from '../build.ts';
import { reals } from './dtypes.ts';
import { expectElements, toleranceOf } from './expect.ts';

async function product(device: Device, dtype: d.DType, a: Nested, b: Nested, shape: readonly number[]) {
  const builder = new SegmentBuilder();
  const output = builder.output(dtype, shape);
  builder.add({ kind: 'dot', a: builder.input(a, dtype), b: builder.input(b, dtype), output });
  return (await builder.run(device))(output);
}

/** The view of a matrix's content laid out another way: swapped axes, backwards, inside a larger buffer. */
type Layout = (
  b: SegmentBuilder,
  rows: number,
  columns: number,
  value: (i: number, j: number) => number,
  dtype: d.DType,
) => View;

const fill = (rows: number, columns: number, value: (i: number, j: number) => number) =>
  Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (_, j) => value(i, j)));

const layouts: Record<string, Layout> = {
  plain: (b, rows, columns, value, dtype) => b.bind(fromNested(fill(rows, columns, value), dtype)),
  transposed: (b, rows, columns, value, dtype) =>
    transpose(
      b.bind(
        fromNested(
          fill(columns, rows, (i, j) => value(j, i)),
          dtype,
        ),
      ),
      [1, 0],
    ),
  backwards: (b, rows, columns, value, dtype) =>
    reverse(
      reverse(
        b.bind(
          fromNested(
            fill(rows, columns, (i, j) => value(rows - 1 - i, columns - 1 - j)),
            dtype,
          ),
        ),
        0,
      ),
      1,
    ),
  padded: (b, rows, columns, value, dtype) => {
    const wide = fill(rows + 1, columns + 3, (i, j) => (i > 0 && j > 1 && j < columns + 2 ? value(i - 1, j - 2) : 99));
    return restride(b.bind(fromNested(wide, dtype)), [rows, columns], [columns + 3, 1], columns + 5);
  },
  everyOther: (b, rows, columns, value, dtype) => {
    const wide = fill(rows, 2 * columns, (i, j) => (j % 2 === 0 ? value(i, j / 2) : 77));
    return restride(b.bind(fromNested(wide, dtype)), [rows, columns], [2 * columns, 2], 0);
  },
};

export function dotContract(device: Device): void {
  it('multiplies matrices of every type', async () => {
    for (const dtype of reals)
      expectElements(
        await product(
          device,
          dtype,
          [
            [1, 2, 3],
            [4, 5, 6],
          ],
          [
            [1, 2],
            [3, 4],
            [5, 6],
          ],
          [2, 2],
        ),
        [22, 28, 49, 64],
      );
    for (const dtype of [d.complex64, d.complex128]) {
      const a = [
        [
          { re: 1, im: 2 },
          { re: 0, im: -1 },
        ],
      ];
      const b = [[{ re: 3, im: 1 }], [{ re: 2, im: 2 }]];
      expectElements(await product(device, dtype, a, b, [1, 1]), [{ re: 3, im: 5 }]);
    }
  });

  it('wraps integers', async () => {
    expectElements(await product(device, d.int8, [[100, 2]], [[2], [50]], [1, 1]), [44]);
    expectElements(await product(device, d.int32, [[65536, 1]], [[65536], [7]], [1, 1]), [7]);
    expectElements(await product(device, d.int64, [[2n ** 62n, 3n]], [[4n], [5n]], [1, 1]), [15]);
    expectElements(await product(device, d.uint32, [[3e9]], [[2]], [1, 1]), [6e9 - 2 ** 32]);
  });

  it('gives zeros for an empty sum and nothing for empty results', async () => {
    const b = new SegmentBuilder();
    const a = restride(b.input([1], d.float32), [2, 0], [0, 1]);
    const right = restride(b.input([1], d.float32), [0, 3], [3, 1]);
    const output = b.bind(
      fromNested(
        [
          [5, 5, 5],
          [5, 5, 5],
        ],
        d.float32,
      ),
    );
    const none = b.output(d.float32, [0, 3]);
    b.add({ kind: 'dot', a, b: right, output });
    b.add({ kind: 'dot', a: restride(a, [0, 0], [0, 1]), b: right, output: none });
    const read = await b.run(device);
    expectElements(await read(output), [0, 0, 0, 0, 0, 0]);
    expect((await read(none)).size).toBe(0);
  });

  it('passes NaN and infinities on', async () => {
    const { NaN: nan, POSITIVE_INFINITY: inf } = Number;
    expectElements(
      await product(
        device,
        d.float32,
        [[nan, 0]],
        [
          [0, 1],
          [1, 1],
        ],
        [1, 2],
      ),
      [nan, nan],
    );
    expectElements(
      await product(
        device,
        d.float32,
        [[inf, 1]],
        [
          [0, 2],
          [1, 1],
        ],
        [1, 2],
      ),
      [nan, inf],
    );
  });

  for (const dtype of [d.float32, d.float64, d.int32, d.complex64, d.bfloat16])
    it(`takes every layout of ${dtype}`, async () => {
      const [m, k, n] = [5, 7, 6];
      const left = (i: number, j: number) => ((i * 3 + j * 5) % 7) - 3;
      const right = (i: number, j: number) => ((i * 2 + j * 3) % 5) - 2;
      const expected = fill(m, n, (i, j) =>
        Array.from({ length: k }, (_, x) => left(i, x) * right(x, j)).reduce((p, q) => p + q),
      ).flat();
      for (const [, a] of Object.entries(layouts))
        for (const [, b] of Object.entries(layouts))
          for (const turned of [false, true]) {
            const builder = new SegmentBuilder();
            const whole = builder.output(dtype, turned ? [n, m] : [m, n]);
            const output = turned ? transpose(whole, [1, 0]) : whole;
            builder.add({ kind: 'dot', a: a(builder, m, k, left, dtype), b: b(builder, k, n, right, dtype), output });
            const got = await (await builder.run(device))(whole);
            const want = turned ? fill(n, m, (i, j) => expected[j * n + i]!).flat() : expected;
            expect(got.numbers().map((x) => x + 0)).toEqual(want.map((x) => x + 0));
          }
    });

  it('broadcasts batches through zero strides', async () => {
    const b = new SegmentBuilder();
    const a = broadcast(
      b.input(
        [
          [1, 2],
          [3, 4],
        ],
        d.float32,
      ),
      [2, 3, 2, 2],
    );
    const right = b.bind(
      fromNested(
        Array.from({ length: 12 }, (_, i) => i),
        d.float32,
      ).reshape([2, 1, 2, 3]),
    );
    const output = b.output(d.float32, [2, 3, 2, 3]);
    b.add({ kind: 'dot', a, b: broadcast(right, [2, 3, 2, 3]), output });
    const first = [6, 9, 12, 12, 19, 26].map((_, i) => {
      const [row, column] = [Math.floor(i / 3), i % 3];
      return row === 0 ? column + 2 * (3 + column) : 3 * column + 4 * (3 + column);
    });
    const second = first.map((x, i) => x + (i < 3 ? 3 : 7) * 6);
    expectElements(await (await b.run(device))(output), [first, first, first, second, second, second].flat());
  });

  it('multiplies batches with swapped axes', async () => {
    const b = new SegmentBuilder();
    // [2, 2 rows, 3] laid out with the batch in the middle, as attention heads are.
    const a = transpose(
      b.bind(
        fromNested(
          Array.from({ length: 12 }, (_, i) => i),
          d.float32,
        ).reshape([2, 2, 3]),
      ),
      [1, 0, 2],
    );
    const right = transpose(a, [0, 2, 1]);
    const whole = b.output(d.float32, [2, 2, 2]);
    b.add({ kind: 'dot', a, b: right, output: transpose(whole, [1, 0, 2]) });
    const row = (i: number, g: number) => [0, 1, 2].map((k) => i * 6 + g * 3 + k);
    const dot = (x: number[], y: number[]) => x.reduce((sum, v, k) => sum + v * y[k]!, 0);
    const expected = [0, 1].flatMap((i) => [0, 1].flatMap((g) => [0, 1].map((j) => dot(row(i, g), row(j, g)))));
    expectElements(await (await b.run(device))(whole), expected);
  });

  it('agrees with a plain loop on sizes around block edges', async () => {
    const wave = (seed: number) => (i: number, j: number) => Math.sin(i * 12.9898 + j * 78.233 + seed);
    for (const [m, k, n] of [
      [1, 1, 1],
      [1, 64, 1],
      [3, 257, 2],
      [17, 5, 33],
      [64, 64, 64],
      [65, 31, 129],
      [1, 100, 200],
      [130, 1, 50],
    ] as const)
      for (const dtype of [d.float32, d.float64]) {
        const b = new SegmentBuilder();
        const a = fromNested(fill(m, k, wave(1)), dtype);
        const right = fromNested(fill(k, n, wave(2)), dtype);
        const output = b.output(dtype, [m, n]);
        b.add({ kind: 'dot', a: b.bind(a), b: b.bind(right), output });
        const got = await (await b.run(device))(output);
        let worst = 0;
        for (let i = 0; i < m; i++)
          for (let j = 0; j < n; j++) {
            let sum = 0;
            for (let x = 0; x < k; x++) sum += a.numberAt(i * k + x) * right.numberAt(x * n + j);
            worst = Math.max(worst, Math.abs(sum - got.numberAt(i * n + j)));
          }
        expect(worst).toBeLessThanOrEqual(k * toleranceOf(dtype));
      }
  });

  it('runs a map on the product: bias and relu, an update in place, several results', async () => {
    const wave = (seed: number) => (i: number, j: number) => Math.sin(i * 12.9898 + j * 78.233 + seed);
    for (const [batch, m, k, n] of [
      [1, 1, 3, 1],
      [3, 4, 5, 1],
      [2, 1, 5, 700],
      [2, 5, 3, 130],
      [1, 40, 5, 1100],
    ] as const)
      for (const dtype of [d.float32, d.float64, d.int32, d.bfloat16]) {
        const whole = dtype.isInteger ? 4 : 1;
        const matrix = (rows: number, columns: number, seed: number) =>
          fromNested(
            fill(rows, columns, (i, j) => (dtype.isInteger ? Math.round(whole * wave(seed)(i, j)) : wave(seed)(i, j))),
            dtype,
          );
        const b = new SegmentBuilder();
        const shape = [batch, m, n];
        const a = b.bind(matrix(batch * m, k, 1).reshape([batch, m, k]));
        const right = broadcast(b.bind(matrix(k, n, 2)), [batch, k, n]);
        const bias = broadcast(b.bind(matrix(1, n, 3)), shape);
        const old = b.bind(matrix(batch * m, n, 4).reshape(shape));
        const product = b.temp(dtype, shape);
        const [activated, plain] = [b.output(dtype, shape), b.output(dtype, shape)];
        const [x, y, z] = [e.input(0, dtype), e.input(1, dtype), e.input(2, dtype)];
        const dot = { kind: 'dot', a, b: right, output: product } as const;
        b.add({ ...dot, output: plain });
        b.add({
          ...dot,
          after: {
            kind: 'map',
            shape,
            inputs: [product, bias, old],
            outputs: [old, activated],
            results: [e.sub(z, x), e.max(e.add(x, y), 0)],
          },
        });
        const before = matrix(batch * m, n, 4).numbers();
        const biases = matrix(1, n, 3).numbers();
        const read = await b.run(device);
        const products = (await read(plain)).numbers();
        const round = (value: number) => fromNested([value], dtype).numberAt(0);
        expectElements(
          await read(activated),
          products.map((p, i) => Math.max(round(p + biases[i % n]!), 0)),
        );
        expectElements(
          await read(old),
          products.map((p, i) => round(before[i]! - p)),
        );
      }
  });
}
