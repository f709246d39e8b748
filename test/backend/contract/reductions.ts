/** @file Contract: `reduce`, `scan` and `topk`. */
import { describe, expect, it } from 'vitest';
import * as d from '../../../src/core/dtypes.ts';
import { fromNested, type NDArray, type Nested } from '../../../src/core/ndarray.ts';
import type { Shape } from '../../../src/core/shape.ts';
import type { Device } from '../../../src/devices/device.ts';
import * as e from '../../../src/program/expr.ts';
import type { ReduceOp, ScanInstruction } from '../../../src/program/instructions.ts';
import { broadcast, reverse, SegmentBuilder, transpose } from '../build.ts';
import { reals } from './dtypes.ts';
import { expectElements, toleranceOf } from './expect.ts';

const nan = Number.NaN;
const inf = Number.POSITIVE_INFINITY;

/** Reduces an array over some axes, as it is stored. */
async function reduced(
  device: Device,
  op: ReduceOp,
  x: NDArray,
  axes: readonly number[],
  outDtype = x.dtype,
): Promise<NDArray> {
  const b = new SegmentBuilder();
  const view = b.bind(x);
  const kept = x.shape.filter((_, axis) => !axes.includes(axis));
  const output = b.output(outDtype, kept);
  b.add({ kind: 'reduce', op, shape: x.shape, axes, inputs: [view], result: e.input(0, x.dtype), output });
  return (await b.run(device))(output);
}

export function reduceContract(device: Device): void {
  const cube = fromNested([[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]], d.float32); // biome-ignore format: a cube
  it.each<[readonly number[], Nested]>([
    [[], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]],
    [[0], [8, 10, 12, 14, 16, 18]],
    [[1], [5, 7, 9, 17, 19, 21]],
    [[2], [6, 15, 24, 33]],
    [
      [0, 1],
      [22, 26, 30],
    ],
    [
      [0, 2],
      [30, 48],
    ],
    [
      [1, 2],
      [21, 57],
    ],
    [[0, 1, 2], [78]],
  ])('sums over axes %j', async (axes, expected) => {
    expectElements(await reduced(device, 'sum', cube, axes), expected);
  });

  it('folds with every operation in every type', async () => {
    for (const dtype of reals) {
      const x = fromNested(
        [
          [3, 1, 2],
          [4, 2, 5],
        ],
        dtype,
      );
      expectElements(await reduced(device, 'sum', x, [1]), [6, 11]);
      expectElements(await reduced(device, 'prod', x, [1]), [6, 40]);
      expectElements(await reduced(device, 'max', x, [0]), [4, 2, 5]);
      expectElements(await reduced(device, 'min', x, [0]), [3, 1, 2]);
      expectElements(await reduced(device, 'argmax', x, [1], d.int64), [0, 2]);
      expectElements(await reduced(device, 'argmin', x, [0], d.int32), [0, 0, 0]);
    }
    const z = fromNested(
      [
        { re: 1, im: 2 },
        { re: 3, im: -1 },
      ],
      d.complex64,
    );
    expectElements(await reduced(device, 'sum', z, [0]), [{ re: 4, im: 1 }]);
    expectElements(await reduced(device, 'prod', z.reshape([2]), [0]), [{ re: 5, im: 5 }]);
    const w = fromNested(
      [
        { re: 1, im: 2 },
        { re: 3, im: -1 },
      ],
      d.complex128,
    );
    expectElements(await reduced(device, 'sum', w, [0]), [{ re: 4, im: 1 }]);
    const bits = fromNested(
      [
        [true, false],
        [true, true],
        [false, false],
      ],
      d.bool,
    );
    expectElements(await reduced(device, 'any', bits, [1]), [true, true, false]);
    expectElements(await reduced(device, 'all', bits, [1]), [false, true, false]);
    expectElements(await reduced(device, 'any', bits, [0, 1]), [true]);
  });

  it('wraps integers', async () => {
    expectElements(await reduced(device, 'sum', fromNested([100, 100, 100], d.int8), [0]), [44]);
    expectElements(await reduced(device, 'sum', fromNested([200, 100], d.uint8), [0]), [44]);
    expectElements(await reduced(device, 'sum', fromNested([2 ** 31 - 1, 1], d.int32), [0]), [-(2 ** 31)]);
    expectElements(await reduced(device, 'prod', fromNested([65537, 65537], d.int32), [0]), [131073]);
    expectElements(await reduced(device, 'sum', fromNested([2n ** 63n - 1n, 2n], d.int64), [0]), [-(2n ** 63n) + 1n]);
    expectElements(await reduced(device, 'prod', fromNested([3037000500n, 3037000500n], d.int64), [0]), [
      -9223372036709301616n,
    ]);
    expectElements(await reduced(device, 'max', fromNested([2n ** 63n, 1n], d.uint64), [0]), [2n ** 63n]);
    expectElements(await reduced(device, 'max', fromNested([3e9, 1], d.uint32), [0]), [3e9]);
  });

  it('gives neutral values for empty folds', async () => {
    const empty = (dtype: d.DType) => fromNested([[], []], dtype);
    for (const dtype of [d.float16, d.bfloat16, d.float32, d.float64]) {
      expectElements(await reduced(device, 'sum', empty(dtype), [1]), [0, 0]);
      expectElements(await reduced(device, 'prod', empty(dtype), [1]), [1, 1]);
      expectElements(await reduced(device, 'max', empty(dtype), [1]), [-inf, -inf]);
      expectElements(await reduced(device, 'min', empty(dtype), [1]), [inf, inf]);
    }
    expectElements(await reduced(device, 'max', empty(d.int8), [1]), [-128, -128]);
    expectElements(await reduced(device, 'min', empty(d.int8), [1]), [127, 127]);
    expectElements(await reduced(device, 'max', empty(d.uint32), [1]), [0, 0]);
    expectElements(await reduced(device, 'min', empty(d.uint32), [1]), [2 ** 32 - 1, 2 ** 32 - 1]);
    expectElements(await reduced(device, 'max', empty(d.int64), [1]), [-(2n ** 63n), -(2n ** 63n)]);
    expectElements(await reduced(device, 'min', empty(d.uint64), [1]), [2n ** 64n - 1n, 2n ** 64n - 1n]);
    expectElements(await reduced(device, 'any', empty(d.bool), [1]), [false, false]);
    expectElements(await reduced(device, 'all', empty(d.bool), [1]), [true, true]);
    expect((await reduced(device, 'sum', empty(d.float32), [0])).shape).toEqual([0]);
  });

  it('passes NaN and infinities on', async () => {
    for (const dtype of [d.float16, d.bfloat16, d.float32, d.float64]) {
      for (const place of [0, 5, 16, 36]) {
        const values: number[] = new Array(37).fill(1);
        values[place] = nan;
        for (const op of ['sum', 'prod', 'max', 'min'] as const)
          expectElements(await reduced(device, op, fromNested(values, dtype), [0]), [nan]);
      }
      expectElements(await reduced(device, 'sum', fromNested([1, inf, 2], dtype), [0]), [inf]);
      expectElements(await reduced(device, 'sum', fromNested([-inf, inf], dtype), [0]), [nan]);
      expectElements(await reduced(device, 'max', fromNested([-inf, -3], dtype), [0]), [-3]);
    }
  });

  it('finds the first extreme, never a NaN', async () => {
    const position = (op: ReduceOp, values: readonly number[], dtype: d.DType = d.float32) =>
      reduced(device, op, fromNested(values, dtype), [0], d.int64);
    expectElements(await position('argmax', [1, 3, 3, 2]), [1]);
    expectElements(await position('argmin', [2, 1, 1, 3]), [1]);
    expectElements(await position('argmax', [nan, 1, 2]), [2]);
    expectElements(await position('argmax', [1, nan, 2]), [2]);
    expectElements(await position('argmax', [2, nan, 2]), [0]);
    expectElements(await position('argmin', [nan, 1, 2], d.float64), [1]);
    expectElements(await position('argmax', [nan, nan]), [0]);
    expectElements(await position('argmax', [-inf, -inf, -5]), [2]);
    expectElements(await position('argmin', [inf, inf]), [0]);
    const long = Array.from({ length: 1000 }, (_, i) => (i * 7919) % 1000);
    expectElements(await position('argmax', long), [long.indexOf(999)]);
    expectElements(await position('argmin', [...long, 0, -1, -1]), [1001]);
    const table = fromNested(
      [
        [1, 9, 3],
        [7, 2, 8],
      ],
      d.int32,
    );
    expectElements(await reduced(device, 'argmax', table, [0], d.int32), [1, 0, 1]);
    expectElements(await reduced(device, 'argmax', table, [1], d.int32), [1, 2]);
  });

  it('sums a million numbers without losing the small ones', async () => {
    const n = 1_000_000;
    const ones = fromNested(1, d.float32);
    const tenths = fromNested(0.1, d.float32);
    const halves = fromNested(1, d.float16);
    for (const [value, op, expected, tolerance] of [
      [ones, 'sum', n, 0],
      [tenths, 'sum', Math.fround(0.1) * n, 1e-5],
    ] as const) {
      const b = new SegmentBuilder();
      const x = b.temp(d.float32, [n]);
      const output = b.output(d.float32, []);
      const fill = broadcast(b.bind(value), [n]);
      b.add({ kind: 'map', shape: [n], inputs: [fill], outputs: [x], results: [e.input(0, d.float32)] });
      b.add({ kind: 'reduce', op, shape: [n], axes: [0], inputs: [x], result: e.input(0, d.float32), output });
      expectElements(await (await b.run(device))(output), [expected], tolerance);
    }
    const b = new SegmentBuilder();
    const output = b.output(d.float16, []);
    const inputs = [broadcast(b.bind(halves), [10_000])];
    b.add({ kind: 'reduce', op: 'sum', shape: [10_000], axes: [0], inputs, result: e.input(0, d.float16), output });
    expectElements(await (await b.run(device))(output), [10_000], 1e-3);
  });

  it('evaluates an expression of several strided inputs in front', async () => {
    const b = new SegmentBuilder();
    const x = transpose(
      b.input(
        [
          [1, 2],
          [3, 4],
          [5, 6],
        ],
        d.float32,
      ),
      [1, 0],
    );
    const y = reverse(broadcast(b.input([10, 20, 30], d.float32), [2, 3]), 1);
    const dot = b.output(d.float32, [2]);
    const count = b.output(d.int64, []);
    const shape: Shape = [2, 3];
    const product = e.mul(e.input(0, d.float32), e.input(1, d.float32));
    b.add({ kind: 'reduce', op: 'sum', shape, axes: [1], inputs: [x, y], result: product, output: dot });
    const weighted = e.mul(e.cast(e.gt(e.input(0, d.float32), 2), d.int64), e.index(1));
    b.add({ kind: 'reduce', op: 'sum', shape, axes: [0, 1], inputs: [x], result: weighted, output: count });
    const read = await b.run(device);
    expectElements(await read(dot), [1 * 30 + 3 * 20 + 5 * 10, 2 * 30 + 4 * 20 + 6 * 10]);
    expectElements(await read(count), [1 + 2 + 1 + 2]);
  });

  it('stores into a strided output', async () => {
    const b = new SegmentBuilder();
    const x = b.input(
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
      d.float32,
    );
    const y = b.output(d.float32, [6]);
    const output = { ...y, shape: [3], strides: [-2], offset: 4 };
    b.add({ kind: 'reduce', op: 'sum', shape: [2, 3], axes: [0], inputs: [x], result: e.input(0, d.float32), output });
    expectElements(await (await b.run(device))(y), [9, 0, 7, 0, 5, 0]);
  });

  it('matches a plain loop on larger shapes, every subset of axes', async () => {
    const shape = [3, 17, 5, 9];
    const values = Array.from({ length: 3 * 17 * 5 * 9 }, (_, i) => ((i * 2654435761) % 1000) / 500 - 1);
    for (const dtype of [d.float32, d.float64, d.int32])
      for (let subset = 0; subset < 16; subset++) {
        const axes = [0, 1, 2, 3].filter((axis) => subset & (1 << axis));
        const x = fromNested(dtype === d.int32 ? values.map((v) => Math.round(v * 100)) : values, dtype).reshape(shape);
        const sums = new Map<string, number>();
        for (let i = 0; i < x.size; i++) {
          const at = [Math.floor(i / 765), Math.floor(i / 45) % 17, Math.floor(i / 9) % 5, i % 9];
          const key = at.filter((_, axis) => !axes.includes(axis)).join();
          sums.set(key, (sums.get(key) ?? 0) + x.numberAt(i));
        }
        const got = await reduced(device, 'sum', x, axes);
        const want = [...sums.values()];
        const off = Math.max(...got.numbers().map((g, i) => Math.abs(g - want[i]!)));
        expect(off).toBeLessThanOrEqual(dtype === d.int32 ? 0 : 1000 * toleranceOf(dtype));
      }
  });
}

async function scanned(
  device: Device,
  x: NDArray,
  options: Omit<ScanInstruction, 'kind' | 'input' | 'output'>,
): Promise<NDArray> {
  const b = new SegmentBuilder();
  const view = b.bind(x);
  const output = b.output(x.dtype, x.shape);
  b.add({ kind: 'scan', input: view, output, ...options });
  return (await b.run(device))(output);
}

export function scanContract(device: Device): void {
  const row = (values: readonly number[], dtype: d.DType) => fromNested(values, dtype).reshape([1, values.length, 1]);
  const forward = { exclusive: false, reverse: false };

  it('runs sums and products both ways, with and without the element itself', async () => {
    for (const dtype of reals) {
      const x = row([2, 3, 4], dtype);
      const scan = (op: 'sum' | 'prod', exclusive: boolean, reverse: boolean) =>
        scanned(device, x, { op, exclusive, reverse });
      expectElements(await scan('sum', false, false), [2, 5, 9]);
      expectElements(await scan('sum', true, false), [0, 2, 5]);
      expectElements(await scan('sum', false, true), [9, 7, 4]);
      expectElements(await scan('sum', true, true), [7, 4, 0]);
      expectElements(await scan('prod', false, false), [2, 6, 24]);
      expectElements(await scan('prod', true, false), [1, 2, 6]);
      expectElements(await scan('prod', false, true), [24, 12, 4]);
      expectElements(await scan('prod', true, true), [12, 4, 1]);
    }
    const z = fromNested(
      [
        { re: 1, im: 1 },
        { re: 0, im: 2 },
      ],
      d.complex64,
    ).reshape([1, 2, 1]);
    expectElements(await scanned(device, z, { op: 'prod', ...forward }), [{ re: 1, im: 1 }, { re: -2, im: 2 }]); // biome-ignore format: one row
  });

  it('scans the middle axis', async () => {
    const x = fromNested([[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]], d.int32); // biome-ignore format: a cube
    expectElements(await scanned(device, x, { op: 'sum', ...forward }), [1, 2, 4, 6, 9, 12, 7, 8, 16, 18, 27, 30]);
  });

  it('keeps what is too small for a float32 sum until it is enough', async () => {
    const x = fromNested([[2 ** 24, 1, 1].map((value) => [value, -value])], d.float32);
    const columns = [1, -1].map((sign) => [2 ** 24, 2 ** 24, 2 ** 24 + 2].map((value) => sign * value));
    const pairs = columns[0]!.flatMap((value, i) => [value, columns[1]![i]!]);
    expectElements(await scanned(device, x, { op: 'sum', ...forward }), pairs);
    const alone = row([2 ** 24, 1, 1], d.float32);
    expectElements(await scanned(device, alone, { op: 'sum', ...forward }), columns[0]!);
  });

  it('wraps integers and scans nothing', async () => {
    expectElements(await scanned(device, row([100, 100, 100], d.int8), { op: 'sum', ...forward }), [100, -56, 44]);
    const empty = fromNested([], d.float32).reshape([2, 0, 3]);
    expect((await scanned(device, empty, { op: 'sum', ...forward })).size).toBe(0);
  });

  it('runs log-sum-exp', async () => {
    for (const dtype of [d.float32, d.float64]) {
      const x = row([1, 2, 3], dtype);
      const tolerance = toleranceOf(dtype);
      const [one, two, three] = [
        1,
        Math.log(Math.exp(1) + Math.exp(2)),
        Math.log(Math.exp(1) + Math.exp(2) + Math.exp(3)),
      ];
      expectElements(await scanned(device, x, { op: 'logsumexp', ...forward }), [one, two, three], tolerance);
      const exclusive = { op: 'logsumexp', exclusive: true, reverse: false } as const;
      expectElements(await scanned(device, x, exclusive), [-inf, one, two], tolerance);
      const large = row([1000, 1000, -inf], dtype);
      const sum = 1000 + Math.LN2;
      expectElements(await scanned(device, large, { op: 'logsumexp', ...forward }), [1000, sum, sum], tolerance);
      expectElements(await scanned(device, row([-inf, -inf, 1], dtype), { op: 'logsumexp', ...forward }), [
        -inf,
        -inf,
        1,
      ]);
    }
  });
}

async function topped(device: Device, x: NDArray, k: number): Promise<{ values: NDArray; indices: NDArray }> {
  const b = new SegmentBuilder();
  const input = b.bind(x);
  const values = b.output(x.dtype, [x.shape[0]!, k]);
  const indices = b.output(d.int32, [x.shape[0]!, k]);
  b.add({ kind: 'topk', input, values, indices });
  const read = await b.run(device);
  return { values: await read(values), indices: await read(indices) };
}

export function topkContract(device: Device): void {
  it('orders the largest first, equal ones by position, in every type', async () => {
    for (const dtype of reals) {
      const x = fromNested(
        [
          [3, 1, 4, 1, 5],
          [2, 2, 2, 7, 2],
        ],
        dtype,
      );
      const { values, indices } = await topped(device, x, 3);
      expectElements(values, [5, 4, 3, 7, 2, 2]);
      expectElements(indices, [4, 2, 0, 3, 0, 1]);
    }
  });

  it('takes one, all or none', async () => {
    const x = fromNested([[3, 1, 2]], d.int32);
    expectElements((await topped(device, x, 1)).indices, [0]);
    expectElements((await topped(device, x, 3)).indices, [0, 2, 1]);
    expect((await topped(device, x, 0)).values.size).toBe(0);
  });

  it('puts NaN first, infinities and signed numbers in order', async () => {
    for (const dtype of [d.float32, d.float64]) {
      const { values, indices } = await topped(device, fromNested([[1, nan, -inf, inf, nan, -2]], dtype), 6);
      expectElements(values, [nan, nan, inf, 1, -2, -inf]);
      expectElements(indices, [1, 4, 3, 0, 5, 2]);
    }
    expectElements((await topped(device, fromNested([[-0, 0, -0]], d.float32), 3)).indices, [0, 1, 2]);
    expectElements((await topped(device, fromNested([[-(2n ** 63n), 2n ** 62n, -1n]], d.int64), 2)).indices, [1, 2]);
  });

  it('sorts a long row', async () => {
    const mixed = Array.from({ length: 5000 }, (_, i) => (i * 7919) % 1231);
    for (const row of [mixed, mixed.toSorted((a, b) => a - b)]) {
      const order = row.map((_, i) => i).sort((a, b) => row[b]! - row[a]! || a - b);
      for (const dtype of [d.float32, d.int64])
        for (const k of [5, 300, 700, 5000])
          expectElements((await topped(device, fromNested([row], dtype), k)).indices, order.slice(0, k));
    }
  });
}

/** All folds along an axis. */
export function foldContracts(device: Device): void {
  describe('reduce', () => reduceContract(device));
  describe('scan', () => scanContract(device));
  describe('topk', () => topkContract(device));
}
