/** @file Matrix products of the cpu device at sizes around every border of its blocking, in all layouts, to the last bit. */
import { describe, expect, it } from 'vitest';
import * as d from '../../src/core/dtypes.ts';
import { fromElements, NDArray } from '../../src/core/ndarray.ts';
import { type Shape, sizeOf } from '../../src/core/shape.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import * as e from '../../src/program/expr.ts';
import type { View } from '../../src/program/instructions.ts';
import { restride, SegmentBuilder, transpose } from './build.ts';

const cpu = CpuDevice.open();

/** Small whole numbers: their sums of products are exact in any order, so results can be compared exactly. */
const element = (i: number) => ((i * 7919 + 13) % 11) - 5;

type Typed = typeof d.float32 | typeof d.float64;
function arrayOf(
  dtype: Typed,
  n: number,
  of: (i: number) => number,
): Float32Array<ArrayBuffer> | Float64Array<ArrayBuffer> {
  const array = dtype === d.float32 ? new Float32Array(n) : new Float64Array(n);
  for (let i = 0; i < n; i++) array[i] = of(i);
  return array;
}

/** Ways of storing a matrix: its strides, given rows and columns, and how many elements that takes. */
const layouts = {
  n: (_: number, columns: number) => ({ strides: [columns, 1] }),
  t: (rows: number, _: number) => ({ strides: [1, rows] }),
  spaced: (_: number, columns: number) => ({ strides: [2 * columns + 6, 2] }),
} as const;
type Layout = keyof typeof layouts;

/** Rows of the first factor, terms of a sum, columns of the second factor. */
type Sizes = readonly [m: number, k: number, n: number];

interface Product {
  readonly dtype: Typed;
  readonly m: number;
  readonly k: number;
  readonly n: number;
  readonly a: Layout;
  readonly b: Layout;
  readonly c: Layout;
  /** So many such products are added up. */
  readonly pairs?: number;
}

async function check(device: CpuDevice, { dtype, m, k, n, a, b, c, pairs = 1 }: Product): Promise<void> {
  const builder = new SegmentBuilder();
  const matrix = (rows: number, columns: number, layout: Layout, of: (i: number) => number) => {
    const { strides } = layouts[layout](rows, columns);
    const margin = 40; // elements before and behind, which must not be written
    const size = (rows - 1) * strides[0]! + (columns - 1) * strides[1]! + 1;
    const whole = builder.bind(new NDArray(dtype, [size + 2 * margin], arrayOf(dtype, size + 2 * margin, of)));
    const view: View = restride(whole, [rows, columns], strides, margin);
    return { whole, view, at: (i: number, j: number) => margin + i * strides[0]! + j * strides[1]! };
  };
  const factors = Array.from({ length: pairs }, (_, pair) => ({
    pair,
    left: matrix(m, k, a, (i) => element(i + 3 * pair)),
    right: matrix(k, n, b, (i) => element(i + 5 + 7 * pair)),
  }));
  const out = matrix(m, n, c, () => 777);
  const [first, ...more] = factors.map(({ left, right }) => ({ a: left.view, b: right.view }));
  builder.add({ kind: 'dot', ...first!, more, output: out.view }); // there is one product at least
  const read = await builder.run(device);
  const got = (await read(out.whole)).numbers();
  const want = got.map(() => 777);
  for (let i = 0; i < m; i++)
    for (let j = 0; j < n; j++) {
      let sum = 0;
      for (const { pair, left, right } of factors)
        for (let p = 0; p < k; p++) sum += element(left.at(i, p) + 3 * pair) * element(right.at(p, j) + 5 + 7 * pair);
      want[out.at(i, j)] = sum;
    }
  const wrong = got.findIndex((x, i) => x !== want[i]);
  expect(
    wrong < 0 ? '' : `element ${wrong} is ${got[wrong]} instead of ${want[wrong]}`,
    describeProduct({ dtype, m, k, n, a, b, c, pairs }),
  ).toBe('');
}

const describeProduct = ({ dtype, m, k, n, a, b, c, pairs = 1 }: Product) =>
  `${pairs} of ${dtype} ${m} x ${k} x ${n}, a ${a}, b ${b}, c ${c}`;

describe.runIf(cpu)('matrix products', () => {
  const device = cpu!;
  const both = ['n', 't'] as const;

  it('are right at all small sizes and transposes', async () => {
    for (const dtype of [d.float32, d.float64])
      for (const a of both)
        for (const b of both)
          for (const [m, k, n] of [
            [1, 1, 1],
            [1, 9, 40],
            [40, 9, 1],
            [2, 3, 5],
            [3, 5, 2],
            [7, 16, 8],
            [14, 16, 7],
            [14, 17, 8],
            [14, 16, 9],
            [15, 16, 8],
            [8, 17, 15],
            [13, 10, 17],
            [14, 15, 31],
            [15, 31, 33],
            [29, 33, 10],
            [64, 8, 14],
            [65, 64, 63],
          ] as const)
            await check(device, { dtype, m, k, n, a, b, c: 'n' });
  });

  it('are right where blocks of rows, columns and sums end', async () => {
    for (const dtype of [d.float32, d.float64])
      for (const [m, k, n, a, b] of [
        [127, 330, 40, 'n', 'n'],
        [129, 641, 70, 'n', 't'],
        [131, 33, 1060, 't', 'n'],
        [1061, 33, 9, 't', 't'],
        [300, 321, 33, 't', 'n'],
        [16, 1024, 40, 'n', 't'],
        [541, 70, 530, 'n', 'n'],
        [40, 1024, 130, 'n', 'n'],
        [260, 20, 130, 'n', 't'],
        [37, 256, 10, 'n', 'n'],
        [4, 300, 14, 'n', 't'],
        [8, 1024, 130, 'n', 't'],
        [3, 261, 1030, 'n', 't'],
        [14, 256, 37, 't', 't'],
        [2, 4096, 16, 'n', 't'],
        [5, 700, 30, 't', 't'],
        [22, 4096, 13, 'n', 'n'],
        [5, 389, 3, 'n', 'n'],
        [6, 261, 7, 'n', 't'],
        [33, 400, 2, 'n', 'n'],
        [40, 70, 10, 't', 'n'],
        [90, 1300, 12, 't', 't'],
        [1, 1030, 500, 'n', 'n'],
        [500, 1030, 1, 't', 't'],
      ] as const)
        await check(device, { dtype, m, k, n, a, b, c: 'n' });
  });

  it('are right where sums that threads share end in elements far apart', async () => {
    for (const dtype of [d.float32, d.float64]) {
      await check(device, { dtype, m: 1, k: 1030, n: 500, a: 'n', b: 'n', c: 'spaced' });
      await check(device, { dtype, m: 500, k: 1030, n: 1, a: 't', b: 't', c: 'spaced' });
    }
  });

  it('are right where rows of the first factor are packed or lie side by side, also in tiles that lack a row', async () => {
    for (const dtype of [d.float32, d.float64])
      for (const a of ['n', 't'] as const)
        for (const [m, k, n] of [
          [45, 350, 523],
          [27, 36, 40],
          [27, 36, 530],
          [27, 38, 530],
        ] as const)
          await check(device, { dtype, m, k, n, a, b: 'n', c: 'n' });
  });

  it('are right where a second factor comes from memory, up to its last columns', async () => {
    for (const dtype of [d.float32, d.float64])
      for (const [k, n] of [
        [516, 1025],
        [512, 1076],
      ] as const)
        await check(device, { dtype, m: 43, k, n, a: 'n', b: 'n', c: 'n' });
  });

  it('are right for few rows by a large factor whose columns lie along the sum', async () => {
    for (const [dtype, m, k, n, a] of [
      [d.float32, 16, 648, 811, 'n'],
      [d.float32, 33, 330, 1590, 't'],
      [d.float64, 9, 200, 1311, 't'],
      [d.float64, 17, 330, 811, 'n'],
    ] as const)
      await check(device, { dtype, m, k, n, a, b: 't', c: 'n' });
  });

  it('are right for few rows by a large factor that is read once', async () => {
    for (const [dtype, m, k, n] of [
      [d.float32, 8, 600, 992], // the last tile of a pass fetches for the next one
      [d.float32, 13, 648, 1066],
      [d.float32, 14, 2100, 290],
      [d.float64, 9, 400, 700],
    ] as const)
      for (const a of both) await check(device.withThreads(1), { dtype, m, k, n, a, b: 'n', c: 'n' });
  });

  it.each([
    ['of few rows by a large factor whose columns lie along the sum', [33, 330, 1590], 'n', 't'],
    ['whose first factor is packed, for short sums', [171, 40, 600], 't', 'n'],
    ['whose first factor is packed, for sums in several passes', [171, 700, 330], 't', 'n'],
  ] as const)('hand every number of a product to what follows once: %s', async (_, [m, k, n], a, b) => {
    const dtype = d.float32;
    const builder = new SegmentBuilder();
    const of = (shape: Shape, x: number) =>
      builder.bind(new NDArray(dtype, shape, new Float32Array(sizeOf(shape)).fill(x)));
    const factor = (rows: number, columns: number, layout: 'n' | 't') =>
      layout === 'n' ? of([rows, columns], 1) : transpose(of([columns, rows], 1), [1, 0]);
    // What is updated and what is only read lie equally far apart, or not.
    const [total, other, narrow] = [of([m, n], 1), of([m, n], 2), restride(of([m, n + 9], 4), [m, n], [n + 9, 1])];
    const output = builder.temp(dtype, [m, n]);
    const inputs = [output, total, other, narrow];
    const results = [inputs.map((__, i) => e.input(i, dtype)).reduce((sum, x) => e.add(sum, x))];
    const after = { kind: 'map', shape: [m, n], inputs, outputs: [total], results } as const;
    builder.add({ kind: 'dot', a: factor(m, k, a), b: factor(k, n, b), output, after });
    for (const threads of [1, 2]) {
      const read = await builder.run(device.withThreads(threads));
      expect(new Set((await read(total)).numbers()), `${threads} threads`).toEqual(new Set([7 + k]));
    }
  });

  it('are right where several are added up, some or all of them in a pass', async () => {
    for (const dtype of [d.float32, d.float64])
      for (const a of both)
        for (const b of both)
          for (const [m, k, n, pairs] of [
            [30, 32, 70, 7],
            [30, 32, 70, 23],
            [17, 38, 65, 12], // terms that are no multiple of those that kernels take at once
            [200, 100, 130, 3],
            [5, 16, 40, 3],
            [43, 190, 40, 4],
            [43, 700, 40, 2], // so many terms that each has passes of its own
            [70, 20, 9, 5],
            [1, 40, 50, 3],
            [50, 40, 1, 3],
          ] as const)
            await check(device, { dtype, m, k, n, a, b, c: 'n', pairs });
    await check(device, { dtype: d.float32, m: 50, k: 40, n: 60, a: 't', b: 'n', c: 't', pairs: 4 });
    await check(device, { dtype: d.float32, m: 50, k: 40, n: 1030, a: 't', b: 'n', c: 'spaced', pairs: 11 });
  });

  it('are right for elements far apart and results in any order', async () => {
    for (const dtype of [d.float32, d.float64])
      for (const c of ['n', 't', 'spaced'] as const)
        for (const [a, b] of [
          ['spaced', 'n'],
          ['n', 'spaced'],
          ['t', 'spaced'],
          ['spaced', 't'],
        ] as const)
          for (const [m, k, n] of [
            [5, 7, 6],
            [5, 7, 9],
            [33, 350, 35],
            [140, 20, 37],
            [1, 50, 20],
            [20, 50, 1],
          ] as const)
            await check(device, { dtype, m, k, n, a, b, c });
  });

  it('are right for long vectors', async () => {
    for (const dtype of [d.float32, d.float64])
      for (const [m, n] of [
        [1, 1],
        [1, 3],
        [3, 1],
        [6, 1],
      ] as const)
        for (const a of ['n', 't', 'spaced'] as const)
          for (const b of ['n', 't', 'spaced'] as const)
            for (const k of [4096, 4097, 10_007]) await check(device, { dtype, m, k, n, a, b, c: 'n' });
  });

  it.each([
    ['one long row', 1, 1e7, [0, 1]],
    ['long rows', 4, 1e7, [0, 1]],
    ['many columns', 3, 4e6, [1, 3]],
  ])('of %s and a vector lose little of any term', async (_, m, k, strides) => {
    const builder = new SegmentBuilder();
    const alike = builder.bind(new NDArray(d.float32, [1.2e7], new Float32Array(1.2e7).fill(0.1)));
    const output = builder.output(d.float32, [m, 1]);
    builder.add({ kind: 'dot', a: restride(alike, [m, k], strides), b: restride(alike, [k, 1], [1, 1]), output });
    const sums = (await (await builder.run(device))(output)).numbers();
    const exact = k * Math.fround(0.1) ** 2;
    for (const sum of sums) expect(Math.abs(sum / exact - 1)).toBeLessThan(1e-4);
  });

  it('are right in batches, also where all products share a factor', async () => {
    for (const dtype of [d.float32, d.float64])
      for (const [m, k, n] of [
        [8, 8, 8],
        [3, 5, 2],
        [17, 9, 20],
        [1, 33, 5],
        [6, 21, 1],
        [40, 3, 10],
      ] as const)
        for (const a of both)
          for (const b of both)
            for (const shared of ['none', 'a', 'b'] as const)
              for (const [batch, threads] of [
                [7, 1],
                [300, 3], // so many that they pay for a second thread
              ] as const) {
                const builder = new SegmentBuilder();
                const matrices = (
                  rows: number,
                  columns: number,
                  layout: Layout,
                  share: boolean,
                  of: (i: number) => number,
                ) => {
                  const size = rows * columns * (share ? 1 : batch);
                  const whole = builder.bind(new NDArray(dtype, [size], arrayOf(dtype, size, of)));
                  const strides = [share ? 0 : rows * columns, ...layouts[layout](rows, columns).strides];
                  return restride(whole, [batch, rows, columns], strides, 0);
                };
                const left = matrices(m, k, a, shared === 'a', element);
                const right = matrices(k, n, b, shared === 'b', (i) => element(i + 5));
                const output = builder.output(dtype, [batch, m, n]);
                builder.add({ kind: 'dot', a: left, b: right, output });
                const got = (await (await builder.run(device.withThreads(threads)))(output)).numbers();
                const at = (view: View, index: readonly number[]) =>
                  index.reduce((sum, i, axis) => sum + i * view.strides[axis]!, 0);
                const want = got.map((_, position) => {
                  const [z, i, j] = [Math.floor(position / (m * n)), Math.floor(position / n) % m, position % n];
                  let sum = 0;
                  for (let p = 0; p < k; p++) sum += element(at(left, [z, i, p])) * element(at(right, [z, p, j]) + 5);
                  return sum;
                });
                const wrong = got.findIndex((x, position) => x !== want[position]);
                expect(
                  wrong,
                  `${batch} of ${describeProduct({ dtype, m, k, n, a, b, c: 'n' })}, shared: ${shared}`,
                ).toBe(-1);
              }
  });

  it('are right in every run when a factor is a constant, finite or not', async () => {
    const [m, k, n] = [48, 70, 80];
    for (const [at, special] of [
      [0, 3],
      [5, Number.POSITIVE_INFINITY],
      [7, Number.NaN],
    ] as const) {
      const builder = new SegmentBuilder();
      const right = arrayOf(d.float32, k * n, (i) => (i === at ? special : element(i + 5)));
      const a = builder.output(d.float32, [m, k]);
      const b = builder.constant(new NDArray(d.float32, [k, n], right));
      const output = builder.output(d.float32, [m, n]);
      builder.add({ kind: 'dot', a, b, output });
      const kernel = device.compile(builder.segment);
      const buffers = builder.segment.bound.map((buffer) => device.allocate(buffer.bytes));
      const [left, result] = buffers.map(
        ({ host }) => new Float32Array(host!.buffer, host!.byteOffset, host!.length / 4),
      );
      for (const run of [1, 2, 3]) {
        for (let i = 0; i < m * k; i++) left![i] = element(i * run + run);
        await kernel.run(buffers);
        const want = Float32Array.from({ length: m * n }, (_, i) => {
          let sum = 0;
          for (let p = 0; p < k; p++) sum += left![Math.floor(i / n) * k + p]! * right[p * n + (i % n)]!;
          return sum;
        });
        expect(result, `run ${run} with ${special}`).toEqual(want);
      }
    }
  });

  it('follow a factor that other segments write, with the same bits in every run until then', async () => {
    for (const [m, k, n] of [
      [32, 192, 512],
      [40, 64, 64],
      [64, 700, 90],
      [200, 130, 300],
    ] as const)
      for (const threads of [1, 2]) {
        const [product, change] = [new SegmentBuilder(), new SegmentBuilder()];
        const wave = (scale: number) => (i: number) => Math.sin(i * scale);
        const a = product.bind(new NDArray(d.float32, [m, k], arrayOf(d.float32, m * k, wave(0.37))));
        const b = product.bind(new NDArray(d.float32, [k, n], arrayOf(d.float32, k * n, wave(0.71))), {});
        product.add({ kind: 'dot', a, b, output: product.output(d.float32, [m, n]) });
        const target = change.output(d.float32, [k, n]);
        const results = [e.mul(e.input(0, d.float32), 2)];
        change.add({ kind: 'map', shape: [k, n], inputs: [target], outputs: [target], results });
        const on = device.withThreads(threads);
        const [multiply, double] = [on.compile(product.segment), on.compile(change.segment)];
        const buffers = product.values.map((array) => on.fromHost(array.copy()));
        const bits = async () => {
          await multiply.run(buffers);
          return new Float32Array(buffers[2]!.host!.slice().buffer);
        };
        const first = await bits();
        for (const factor of [1, 2, 4]) {
          if (factor > 1) await double.run([buffers[1]!]);
          for (const run of [1, 2, 3]) {
            const got = await bits();
            const wrong = got.findIndex((x, i) => x !== first[i]! * factor);
            expect(wrong, `${m} x ${k} x ${n} times ${factor}, run ${run}`).toBe(-1);
          }
        }
      }
  });

  it('are right in every run when they share a factor that changes between runs', async () => {
    const [m, k, n] = [32, 64, 96];
    const builder = new SegmentBuilder();
    const b = builder.output(d.float32, [k, n]);
    for (let i = 0; i < 3; i++)
      builder.add({
        kind: 'dot',
        a: builder.bind(new NDArray(d.float32, [m, k], arrayOf(d.float32, m * k, element))),
        b,
        output: builder.output(d.float32, [m, n]),
      });
    const kernel = device.compile(builder.segment);
    const buffers = builder.values.map((array) => device.fromHost(array.copy()));
    const floats = buffers.map(({ host }) => new Float32Array(host!.buffer, host!.byteOffset, host!.length / 4));
    for (const factor of [1, 2]) {
      buffers[0] = device.fromHost(new NDArray(d.float32, [k, n], new Float32Array(k * n).fill(factor)));
      await kernel.run(buffers);
      const sum = Array.from({ length: k }, (_, i) => element(i)).reduce((x, y) => x + y) * factor;
      for (const product of [2, 4, 6]) expect(floats[product]![0], `factor ${factor}`).toBe(sum);
    }
  });

  describe('give the same bits on any number of threads', () => {
    const run = async (dtype: d.DType, [m, k, n]: Sizes, c: 'n' | 't', threads: number) => {
      const builder = new SegmentBuilder();
      const bound = (shape: Shape, of: (i: number) => number) =>
        builder.bind(
          fromElements(
            dtype,
            shape,
            Array.from({ length: sizeOf(shape) }, (_, i) => of(i)),
          ),
        );
      const a = bound([m, k], (i) => Math.sin(i * 0.7));
      const b = bound([k, n], (i) => Math.cos(i * 0.3));
      const output = builder.output(dtype, [m, n]);
      builder.add({ kind: 'dot', a, b, output: restride(output, [m, n], layouts[c](m, n).strides) });
      return (await (await builder.run(device.withThreads(threads)))(output)).numbers();
    };
    const same = async (dtype: d.DType, sizes: Sizes, c: 'n' | 't') => {
      const alone = await run(dtype, sizes, c, 1);
      for (const threads of [2, 3, 5, 40]) {
        const shared = await run(dtype, sizes, c, threads);
        const first = shared.findIndex((x, i) => x !== alone[i]);
        expect(first, `${dtype} ${sizes}, c ${c}, on ${threads} threads`).toBe(-1);
      }
    };

    it.each([
      ['in pieces of many rows and columns', [301, 700, 333]],
      ['with a vector', [1, 1100, 500]],
      ['where a column more than 64 is left', [64, 300, 65]],
      ['where few columns are left', [30, 1500, 70]],
      ['where a row is left', [1123, 300, 64]],
      ['where rows are left that a vector is multiplied by', [1023, 257, 1]],
      ['in passes over long sums, which go on in tiles that are not whole', [100, 2100, 129]],
      ['in pieces that begin within blocks of tiles', [70, 2100, 512]],
      ['of few rows by a matrix from memory', [50, 2100, 1100]],
      ['of few terms with a large result', [2100, 30, 300]],
    ] as const)('%s', async (_, sizes) => {
      for (const dtype of [d.float32, d.float64]) for (const c of both) await same(dtype, sizes, c);
    });

    it('in half precision, whose few rows are not cut into single ones', async () => {
      await same(d.float16, [3, 700, 1000], 'n');
    });
  });
});
