/** @file Contract: the `window` instruction. */
import { expect, it } from 'vitest';
import * as d from '../../../src/core/dtypes.ts';
import { fromNested, NDArray, type Nested } from '../../../src/core/ndarray.ts';
import type { Device } from '../../../src/devices/device.ts';
import type { View, WindowOp } from '../../../src/program/instructions.ts';
import { SegmentBuilder, transpose } from '../build.ts';
import { expectElements } from './expect.ts';

const { NaN: nan, NEGATIVE_INFINITY: minusInfinity } = Number;
const floats = [d.float16, d.bfloat16, d.float32, d.float64];
const integers = d.allDtypes.filter((dtype) => dtype.isInteger);

type Spans = readonly (readonly (readonly [number, number])[])[];

interface Pooling {
  readonly op: WindowOp;
  /** The inputs, each with batch, spatial axes and channels. */
  readonly inputs: readonly Nested[];
  readonly spans: Spans;
  readonly dtype?: d.DType;
  /** Spatial sizes of the image, for gradients. */
  readonly image?: readonly number[];
}

/** Pairs of neighbours: two windows of two along an axis of four. */
const halves: Spans[number] = [
  [0, 2],
  [2, 4],
];

export function windowContract(device: Device): void {
  const pooled = async ({ op, inputs, spans, dtype = d.float32, image }: Pooling, lay = (v: View) => v) => {
    const b = new SegmentBuilder();
    const views = inputs.map((x) => b.input(x, dtype));
    const [first] = views;
    const sizes = image ?? spans.map((s) => s.length);
    const output = b.output(op === 'argmax' ? d.int64 : dtype, [first!.shape[0]!, ...sizes, first!.shape.at(-1)!]);
    const bounds = spans.map((s) => b.bind(fromNested(s as Nested, d.int64).reshape([s.length, 2])));
    b.add({ kind: 'window', op, inputs: views.map(lay), spans: bounds, output });
    return (await b.run(device))(output);
  };

  /** One batch and one channel along one axis. */
  const line = (xs: readonly number[]) => [xs.map((x) => [x])];

  it('folds windows, in every type', async () => {
    const given = { inputs: [line([1, 7, 4, 2])], spans: [halves] };
    for (const dtype of [...floats, ...integers]) {
      expectElements(await pooled({ ...given, op: 'max', dtype }), [7, 4]);
      expectElements(await pooled({ ...given, op: 'argmax', dtype }), [1, 2]);
    }
    for (const dtype of [...floats, d.int32, d.int64]) {
      expectElements(await pooled({ ...given, op: 'sum', dtype }), [8, 6]);
      expectElements(await pooled({ ...given, op: 'mean', dtype }), [4, 3]);
    }
    expectElements(
      await pooled({ inputs: [line([-1, -2, -2, 0])], spans: [halves], op: 'mean', dtype: d.int32 }),
      [-1, -1],
    );
  });

  it('counts only what lies inside the image', async () => {
    const spans: Spans = [
      [
        [-3, 1],
        [-1, 9],
        [2, 5],
        [3, 3],
        [7, 9],
        [2, 1],
      ],
    ];
    const x = line([1, 2, 6]);
    expectElements(await pooled({ op: 'sum', inputs: [x], spans }), [1, 9, 6, 0, 0, 0]);
    expectElements(await pooled({ op: 'mean', inputs: [x], spans }), [1, 3, 6, 0, 0, 0]);
    expectElements(await pooled({ op: 'argmax', inputs: [x], spans }), [0, 2, 2, -1, -1, -1]);
    const lowest = d.float32.min;
    expectElements(await pooled({ op: 'max', inputs: [x], spans }), [1, 6, 6, lowest, lowest, lowest]);
    const dy = line([1, 3, 1, 1, 1, 1]);
    expectElements(await pooled({ op: 'meanGradient', inputs: [dy], spans, image: [3] }), [2, 1, 2]);
    expectElements(await pooled({ op: 'maxGradient', inputs: [x, dy], spans, image: [3] }), [1, 0, 4]);
  });

  it('takes the first of equal maxima, and passes NaN over except in front', async () => {
    const x = line([2, 2, nan, 1, 3, nan]);
    const spans: Spans = [
      [
        [0, 2],
        [2, 4],
        [4, 6],
      ],
    ];
    expectElements(await pooled({ op: 'max', inputs: [x], spans }), [2, 1, 3]);
    expectElements(await pooled({ op: 'argmax', inputs: [x], spans }), [0, 2, 4]);
    const dy = line([1, 2, 3]);
    expectElements(await pooled({ op: 'maxGradient', inputs: [x, dy], spans, image: [6] }), [1, 0, 2, 0, 3, 0]);
    expectElements(await pooled({ op: 'positiveMaxGradient', inputs: [x, dy], spans, image: [6] }), [1, 0, 0, 0, 3, 0]);
    expectElements(await pooled({ op: 'max', inputs: [line([minusInfinity])], spans: [[[0, 1]]] }), [d.float32.min]);
  });

  it('multiplies gradients of what is not above zero by 0', async () => {
    const infinity = Number.POSITIVE_INFINITY;
    const overlapping: Spans[number] = [
      [0, 3],
      [1, 4],
    ];
    const gradient = (x: readonly number[], dy: readonly number[], spans: Spans[number]) =>
      pooled({ op: 'positiveMaxGradient', inputs: [line(x), line(dy)], image: [4], spans: [spans] });
    expectElements(await gradient([-1, -2, 0, -3], [infinity, nan], halves), [nan, 0, nan, 0]);
    expectElements(await gradient([-1, -2, 0, -3], [infinity, nan], overlapping), [0, 0, nan, 0]);
    expectElements(await gradient([1, 0, 2, 0], [infinity, 3], halves), [infinity, 0, 3, 0]);
    const image = (rows: number, columns: number, x: number) =>
      Array.from({ length: rows }, () => Array.from({ length: columns }, () => Array.from({ length: 19 }, () => x)));
    const inputs = [[image(2, 4, -1)], [image(1, 2, infinity)]];
    const squares = await pooled({ op: 'positiveMaxGradient', inputs, image: [2, 4], spans: [[[0, 2]], halves] });
    const firsts = image(2, 4, 0).flatMap((row, h) =>
      row.flatMap((x, w) => x.map(() => (h === 0 && w % 2 === 0 ? nan : 0))),
    );
    expectElements(squares, firsts);
  });

  it('adds up overlapping windows in gradients', async () => {
    const spans: Spans = [
      [
        [0, 3],
        [1, 4],
      ],
    ];
    const [x, dy] = [line([1, 5, 2, 4]), line([1, 10])];
    for (const dtype of floats) {
      expectElements(await pooled({ op: 'maxGradient', inputs: [x, dy], spans, image: [4], dtype }), [0, 11, 0, 0]);
      const above = await pooled({ op: 'positiveMaxGradient', inputs: [x, dy], spans, image: [4], dtype });
      expectElements(above, [0, 11, 0, 0]);
      const below = await pooled({
        op: 'positiveMaxGradient',
        inputs: [line([-1, 0, -2, -3]), dy],
        spans,
        image: [4],
        dtype,
      });
      expectElements(below, [0, 0, 0, 0]);
      const shared = await pooled({ op: 'meanGradient', inputs: [line([3, 30])], spans, image: [4], dtype });
      expectElements(shared, [1, 11, 11, 10], 1e-2);
    }
    for (const dtype of integers)
      expectElements(await pooled({ op: 'maxGradient', inputs: [x, dy], spans, image: [4], dtype }), [0, 11, 0, 0]);
  });

  it('gives all near elements the gradient, and picks at the first equal one', async () => {
    const x = line([5, 5, 4.9999995, 1]);
    const near = { op: 'nearGradient', spans: [[[0, 4]]], image: [4], dtype: d.float64 } as const;
    expectElements(await pooled({ ...near, inputs: [x, line([5]), line([2])] }), [2, 2, 2, 0]);
    const g = line([10, 20, 30, 40]);
    const pick = { op: 'pick', spans: [[...halves, [0, 4] as const]] } as const;
    expectElements(await pooled({ ...pick, inputs: [line([1, 5, 2, 5]), line([5, 5, 5]), g] }), [20, 40, 20]);
    expectElements(await pooled({ ...pick, inputs: [line([1, 5, 2, 5]), line([3, 2, nan]), g] }), [0, 30, 0]);
  });

  it('pools images of several axes, batches and channels, in any layout', async () => {
    // Two images of 2 x 4 with three channels.
    const value = (n: number, h: number, w: number, c: number) => ((n * 31 + h * 17 + w * 7 + c * 5) % 23) - 11;
    const at = (n: number, c: number, h: number, w: number) => value(n, h, w, c);
    const nested = (sizes: readonly number[], f: (...index: number[]) => number, ...before: number[]): Nested =>
      sizes.length === before.length
        ? f(...before)
        : Array.from({ length: sizes[before.length]! }, (_, i) => nested(sizes, f, ...before, i));
    const spans: Spans = [
      [[0, 2]],
      [
        [0, 2],
        [1, 4],
      ],
    ];
    const windows = [0, 1].flatMap((n) =>
      spans[1]!.flatMap(([begin, end]) =>
        [0, 1, 2].map((c) =>
          [0, 1].flatMap((h) => [0, 1, 2, 3].filter((w) => w >= begin && w < end).map((w) => value(n, h, w, c))),
        ),
      ),
    );
    const maxima = windows.map((xs) => Math.max(...xs));
    const sums = windows.map((xs) => xs.reduce((a, x) => a + x, 0));
    for (const dtype of [...floats, d.int32]) {
      const channelsLast = { inputs: [nested([2, 2, 4, 3], value)], spans, dtype };
      const channelsFirst = { inputs: [nested([2, 3, 2, 4], at)], spans, dtype };
      const lay = (v: View) => transpose(v, [0, 2, 3, 1]);
      expectElements(await pooled({ ...channelsLast, op: 'max' }), maxima);
      expectElements(await pooled({ ...channelsLast, op: 'sum' }), sums);
      for (const [op, want] of [['max', maxima] as const, ['sum', sums] as const]) {
        const b = new SegmentBuilder();
        const x = b.input(channelsFirst.inputs[0]!, dtype);
        const output = b.output(dtype, [2, 3, 1, 2]);
        const bounds = spans.map((s) => b.bind(fromNested(s as Nested, d.int64)));
        b.add({ kind: 'window', op, inputs: [lay(x)], spans: bounds, output: lay(output) });
        const got = (await (await b.run(device))(output)).numbers();
        // From [n, w, c] to [n, c, w].
        const order = [0, 1].flatMap((n) => [0, 1, 2].flatMap((c) => [0, 1].map((w) => want[(n * 2 + w) * 3 + c]!)));
        expect(got).toEqual(order);
      }
    }
  });

  it('gives every point its gradient, whatever was there before', async () => {
    const [image, pooled, channels] = [[4, 6], [2, 3], 19] as const;
    const x = Array.from({ length: 4 * 6 * channels }, (_, i) => ((i * 7) % 11) - 8);
    const dy = Array.from({ length: 2 * 3 * channels }, (_, i) => (i % 5) + 1);
    const layouts: Record<string, Spans> = {
      sideBySide: [halves, [...halves, [4, 6]]],
      withGaps: [
        [[0, 1], [2, 4]],
        [[0, 2], [3, 4], [4, 6]],
      ],
      overlapping: [
        [[0, 3], [1, 4]],
        [[0, 2], [1, 4], [2, 6]],
      ],
    }; // biome-ignore format: pairs
    for (const [name, spans] of Object.entries(layouts))
      for (const op of ['maxGradient', 'positiveMaxGradient', 'meanGradient'] as const) {
        const want = x.map(() => 0);
        for (const [i, [top, bottom]] of spans[0]!.entries())
          for (const [j, [left, right]] of spans[1]!.entries())
            for (let c = 0; c < channels; c++) {
              const points: number[] = [];
              for (let h = top; h < bottom; h++)
                for (let w = left; w < right; w++) points.push((h * 6 + w) * channels + c);
              const more = dy[(i * 3 + j) * channels + c]!;
              const best = points.reduce((a, p) => (x[p]! > x[a]! ? p : a));
              if (op === 'meanGradient') for (const p of points) want[p]! += more / points.length;
              else if (op === 'maxGradient' || x[best]! > 0) want[best]! += more;
            }
        const b = new SegmentBuilder();
        const array = (values: readonly number[], shape: readonly number[]) =>
          b.bind(new NDArray(d.float32, [1, ...shape, channels], Float32Array.from(values)));
        const output = array(x.map(() => 9), image); // biome-ignore format: one array
        const given = op === 'meanGradient' ? [array(dy, pooled)] : [array(x, image), array(dy, pooled)];
        const bounds = spans.map((s) => b.bind(fromNested(s as Nested, d.int64)));
        b.add({ kind: 'window', op, inputs: given, spans: bounds, output });
        const got = (await (await b.run(device))(output)).numbers();
        for (const [k, value] of got.entries()) expect(value, `${op} ${name} ${k}`).toBeCloseTo(want[k]!, 5);
      }
  });

  it('works on many channels, wide windows and empty images', async () => {
    const channels = 530;
    const x = [Array.from({ length: 70 }, (_, i) => Array.from({ length: channels }, (_, c) => (i * 13 + c) % 71))];
    const spans: Spans = [
      [
        [0, 70],
        [3, 5],
      ],
    ];
    const at = (i: number, c: number) => (x[0] as number[][])[i]![c]!;
    const column = (c: number, from: number, to: number) =>
      Array.from({ length: to - from }, (_, i) => at(from + i, c));
    for (const dtype of [d.float32, d.float16, d.uint8]) {
      const got = await pooled({ op: 'max', inputs: [x], spans, dtype });
      const argmax = await pooled({ op: 'argmax', inputs: [x], spans, dtype });
      for (let c = 0; c < channels; c += 7) {
        expect(got.numberAt(c)).toBe(Math.max(...column(c, 0, 70)));
        expect(got.numberAt(channels + c)).toBe(Math.max(...column(c, 3, 5)));
        expect(argmax.numberAt(c)).toBe(column(c, 0, 70).indexOf(Math.max(...column(c, 0, 70))));
      }
    }
    const b = new SegmentBuilder();
    const output = b.output(d.float32, [0, 2, 1]);
    const bounds = b.input(halves as Nested, d.int64);
    b.add({ kind: 'window', op: 'max', inputs: [b.output(d.float32, [0, 4, 1])], spans: [bounds], output });
    expect((await (await b.run(device))(output)).size).toBe(0);
  });
}
