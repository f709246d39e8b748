/** @file What every device must do with `conv`: all three arrays, strides, dilations, padding, groups, layouts, types. */
import { expect, it } from 'vitest';
import * as d from '../../../src/core/dtypes.ts';
import { type Element, fromElements, fromNested, type NDArray } from '../../../src/core/ndarray.ts';
import { type Shape, sizeOf, stridesOf } from '../../../src/core/shape.ts';
import type { Device } from '../../../src/devices/device.ts';
import type { ConvGeometry, ConvInstruction, View } from '../../../src/program/instructions.ts';
import { restride, SegmentBuilder, transpose } from '../build.ts';
import { expectElements, toleranceOf } from './expect.ts';

/** Sizes of a convolution: images are [batch, groups, channels, …], spatial sizes one per axis. */
export interface ConvSizes extends ConvGeometry {
  readonly batch: number;
  readonly groups: number;
  readonly channels: number;
  readonly features: number;
  readonly input: Shape;
  readonly taps: Shape;
  readonly output: Shape;
}

type Role = ConvInstruction['result'];
const roles: readonly Role[] = ['output', 'input', 'filter'];

export function shapesOf(s: ConvSizes): Record<Role, Shape> {
  return {
    input: [s.batch, s.groups, s.channels, ...s.input],
    filter: [s.groups, s.features, s.channels, ...s.taps],
    output: [s.batch, s.groups, s.features, ...s.output],
  };
}

/** How many output positions fit. */
const fitting = (input: number, taps: number, stride: number, dilation: number, before: number, after: number) =>
  Math.max(0, Math.floor((input + before + after - (taps - 1) * dilation - 1) / stride) + 1);

function sizes(
  [batch, groups, channels, features]: readonly [number, number, number, number],
  input: Shape,
  taps: Shape,
  rest: { strides?: Shape; dilations?: Shape; before?: Shape; after?: Shape } = {},
): ConvSizes {
  const ones = input.map(() => 1);
  const { strides = ones, dilations = ones, before = input.map(() => 0), after = before } = rest;
  const output = input.map((n, i) => fitting(n, taps[i]!, strides[i]!, dilations[i]!, before[i]!, after[i]!));
  return { batch, groups, channels, features, input, taps, output, strides, dilations, before };
}

/** Every index of a shape. */
function* indicesOf(shape: Shape): Generator<number[]> {
  for (let i = 0; i < sizeOf(shape); i++) {
    let rest = i;
    yield shape.map((_, axis) => {
      const step = sizeOf(shape.slice(axis + 1));
      const at = Math.floor(rest / step);
      rest -= at * step;
      return at;
    });
  }
}

/** Where output positions, taps and input positions meet, as positions in each array's spatial axes laid out in a row. */
function meetings(s: ConvSizes): Record<Role, number>[] {
  const flat = (index: readonly number[], shape: Shape) => index.reduce((at, i, axis) => at * shape[axis]! + i, 0);
  const found: Record<Role, number>[] = [];
  for (const y of indicesOf(s.output))
    for (const k of indicesOf(s.taps)) {
      const x = y.map((yi, i) => yi * s.strides[i]! + k[i]! * s.dilations[i]! - s.before[i]!);
      if (x.every((xi, i) => xi >= 0 && xi < s.input[i]!))
        found.push({ input: flat(x, s.input), filter: flat(k, s.taps), output: flat(y, s.output) });
    }
  return found;
}

/** The convolution straight from its definition: each product is added where it belongs. */
function expected(s: ConvSizes, role: Role, values: Record<Role, readonly number[]>): number[] {
  const [p, q] = roles.filter((name) => name !== role) as [Role, Role]; // there are three
  const sum = new Array<number>(sizeOf(shapesOf(s)[role])).fill(0);
  const [inputs, taps, outputs] = [sizeOf(s.input), sizeOf(s.taps), sizeOf(s.output)];
  const met = meetings(s);
  for (const [n, g, f, c] of indicesOf([s.batch, s.groups, s.features, s.channels]) as Iterable<number[]>) {
    const start = {
      input: ((n! * s.groups + g!) * s.channels + c!) * inputs,
      filter: ((g! * s.features + f!) * s.channels + c!) * taps,
      output: ((n! * s.groups + g!) * s.features + f!) * outputs,
    };
    for (const at of met) sum[start[role] + at[role]]! += values[p][start[p] + at[p]]! * values[q][start[q] + at[q]]!;
  }
  return sum;
}

/** How the arrays lie in memory. */
type Layout = (b: SegmentBuilder, array: NDArray) => View;

/** In the order of the axes. */
const channelsFirst: Layout = (b, array) => b.bind(array);
/** With groups and channels innermost, as NHWC images and HWIO filters are. */
const channelsLast: Layout = (b, array) => {
  const { shape } = array;
  const spatial = shape.slice(3).map((_, i) => i + 3);
  const order = [0, ...spatial, 1, 2];
  const stored = order.map((axis) => shape[axis]!);
  const view = b.bind(fromElements(array.dtype, stored, new Array<Element>(array.size).fill(7)));
  const back = shape.map((_, axis) => order.indexOf(axis));
  const turned = transpose(view, back);
  fillView(b, turned, array);
  return turned;
};
/** Backwards, with gaps. */
const backwards: Layout = (b, array) => {
  const whole = b.bind(fromElements(array.dtype, [2 * array.size + 3], new Array<Element>(2 * array.size + 3).fill(7)));
  const strides = stridesOf(array.shape).map((s) => -2 * s);
  const view = restride(whole, array.shape, strides, 2 * Math.max(0, array.size - 1) + 1);
  fillView(b, view, array);
  return view;
};
const layouts = [channelsFirst, channelsLast, backwards];

/** Puts an array's elements where a view of a bound buffer has them. */
function fillView(b: SegmentBuilder, view: View, array: NDArray): void {
  const stored = b.values.at(-1)!;
  let i = 0;
  for (const index of indicesOf(array.shape)) {
    const at = index.reduce((sum, x, axis) => sum + x * view.strides[axis]!, view.offset);
    const from = fromElements(array.dtype, [], [array.at(i++)]);
    stored.bytes.set(from.bytes, at * array.dtype.size);
  }
}

/** A view's elements in row-major order. */
function readView(stored: NDArray, view: View): NDArray {
  const elements: Element[] = [];
  for (const index of indicesOf(view.shape))
    elements.push(stored.at(index.reduce((sum, x, axis) => sum + x * view.strides[axis]!, view.offset)));
  return fromElements(stored.dtype, view.shape, elements);
}

/** Repeatable values that are exact in every type. */
const wave = (n: number, seed: number) => Array.from({ length: n }, (_, i) => ((i * 7 + seed * 5 + (i >> 3)) % 9) - 4);

async function convolve(
  device: Device,
  dtype: d.DType,
  s: ConvSizes,
  role: Role,
  values: Record<Role, readonly Element[]>,
  layout: Layout = channelsFirst,
): Promise<NDArray> {
  const b = new SegmentBuilder();
  const shapes = shapesOf(s);
  // What is computed begins with other content, which must not be seen again.
  const views = Object.fromEntries(
    roles.map((name) => [
      name,
      layout(b, fromElements(dtype, shapes[name], name === role ? values[name].map(() => 3) : values[name])),
    ]),
  ) as Record<Role, View>; // one entry per role
  const { strides, dilations, before } = s;
  b.add({ kind: 'conv', result: role, ...views, strides, dilations, before });
  const read = await b.run(device);
  return readView(await read(views[role]), views[role]);
}

/** Checks all three arrays, or some of them, in some types and layouts. */
async function check(
  device: Device,
  s: ConvSizes,
  dtypes: readonly d.DType[] = [d.float32],
  used: readonly Layout[] = [channelsFirst],
  checked: readonly Role[] = roles,
): Promise<void> {
  const all = shapesOf(s);
  const values = {
    input: wave(sizeOf(all.input), 1),
    filter: wave(sizeOf(all.filter), 2),
    output: wave(sizeOf(all.output), 3),
  };
  for (const role of checked) {
    const want = expected(s, role, values).map((x) => x + 0);
    for (const dtype of dtypes)
      for (const layout of used) {
        const got = await convolve(device, dtype, s, role, values, layout);
        const numbers = got.numbers().map((x) => x + 0);
        expect(numbers, `${dtype} ${role} of ${JSON.stringify(s)}`).toEqual(want);
      }
  }
}

/** Sizes around everything that kernels treat differently. */
const shapes: Readonly<Record<string, ConvSizes>> = {
  'one tap': sizes([2, 1, 3, 4], [3, 4], [1, 1]),
  'one tap, strided': sizes([2, 1, 3, 4], [5, 6], [1, 1], { strides: [2, 3] }),
  'one tap at many positions, strided': sizes([2, 1, 20, 33], [9, 10], [1, 1], { strides: [2, 3] }),
  'one tap at positions that end early, strided': sizes([2, 1, 20, 33], [9, 10], [1, 1], {
    strides: [2, 2],
    after: [-4, -3],
  }),
  'one tap at positions of a volume, strided': sizes([1, 1, 20, 33], [5, 6, 7], [1, 1, 1], { strides: [2, 2, 3] }),
  'one tap along a line, strided': sizes([1, 1, 3, 4], [1, 40], [1, 1], { strides: [1, 2] }),
  'a window': sizes([2, 1, 2, 3], [5, 6], [3, 2]),
  'a padded window': sizes([1, 1, 3, 2], [5, 6], [3, 3], { before: [1, 1] }),
  'uneven padding': sizes([1, 1, 1, 2], [4, 5], [4, 3], { before: [2, 0], after: [1, 3] }),
  strides: sizes([2, 1, 2, 3], [7, 8], [3, 3], { strides: [2, 3], before: [1, 1] }),
  'strides beyond the window': sizes([1, 1, 2, 2], [9, 10], [2, 1], { strides: [4, 3] }),
  dilations: sizes([1, 1, 2, 3], [9, 10], [3, 2], { dilations: [2, 3], before: [1, 2] }),
  'strides and dilations': sizes([2, 1, 2, 2], [11, 12], [3, 3], {
    strides: [2, 3],
    dilations: [3, 2],
    before: [2, 2],
  }),
  'strides and dilations with a common factor': sizes([1, 1, 2, 2], [11, 12], [3, 4], {
    strides: [4, 6],
    dilations: [2, 4],
    before: [3, 5],
  }),
  'all padding': sizes([1, 1, 2, 2], [2, 1], [3, 3], { before: [4, 3] }),
  'a window larger than the image': sizes([1, 1, 1, 1], [2, 2], [5, 5], { before: [2, 3] }),
  groups: sizes([2, 3, 2, 4], [4, 5], [2, 3], { before: [0, 1] }),
  depthwise: sizes([2, 5, 1, 1], [5, 6], [3, 3], { before: [1, 1] }),
  'depthwise, strided, two features': sizes([2, 5, 1, 2], [6, 7], [3, 3], { strides: [2, 2], before: [1, 1] }),
  'depthwise, many channels': sizes([1, 37, 1, 1], [4, 19], [3, 3], { before: [1, 1] }),
  'many channels and features': sizes([1, 1, 19, 37], [3, 20], [3, 3], { before: [1, 1] }),
  'a long sum': sizes([1, 1, 150, 33], [3, 3], [3, 3], { before: [1, 1] }),
  'one axis': sizes([2, 1, 3, 4], [9], [3], { strides: [2], before: [1] }),
  'three axes': sizes([1, 1, 2, 3], [4, 3, 5], [2, 3, 2], {
    strides: [1, 2, 2],
    before: [1, 1, 0],
    dilations: [2, 1, 1],
  }),
  'no axes': sizes([3, 1, 4, 5], [], []),
  'few channels': sizes([2, 1, 3, 16], [20, 23], [5, 4], { before: [2, 1], after: [2, 2] }),
  'few channels, strides and dilations': sizes([3, 1, 2, 40], [21, 26], [4, 5], {
    strides: [2, 3],
    dilations: [3, 1],
    before: [5, 6],
    after: [3, 7],
  }),
  'few channels, windows that leave pixels out': sizes([2, 1, 3, 32], [23, 40], [3, 3], {
    strides: [4, 5],
    before: [-1, 0],
  }),
  'one channel, three axes': sizes([2, 1, 1, 16], [6, 9, 20], [3, 3, 3], { before: [1, 1, 1], strides: [1, 2, 1] }),
  'a small image in a large batch': sizes([40, 1, 3, 5], [2, 2], [2, 2], { before: [1, 0], after: [0, 1] }),
};

export function convContract(device: Device): void {
  for (const [name, s] of Object.entries(shapes))
    it(`computes all three arrays: ${name}`, () => check(device, s, [d.float32, d.float64], layouts));

  it('takes integers, which wrap', async () => {
    for (const dtype of [d.int8, d.uint8, d.int16, d.uint16, d.int32, d.int64, d.uint32, d.uint64]) {
      const s = sizes([1, 1, 1, 1], [3], [2]);
      const unsigned = dtype.storage.startsWith('u');
      const values = { input: [1, 2, 3], filter: unsigned ? [4, 5] : [4, -5], output: [0, 0] };
      expectElements(await convolve(device, dtype, s, 'output', values), unsigned ? [14, 23] : [-6, -7]);
    }
    const wide = { input: [100, 100], filter: [2, 1], output: [0] };
    expectElements(await convolve(device, d.int8, sizes([1, 1, 1, 1], [2], [2]), 'output', wide), [44]);
    await check(device, shapes['strides']!, [d.int32], [channelsLast]);
  });

  it('takes complex numbers', async () => {
    const values = {
      input: [
        { re: 1, im: 2 },
        { re: 0, im: 1 },
      ],
      filter: [
        { re: 3, im: 0 },
        { re: 1, im: -1 },
      ],
      output: [{ re: 0, im: 0 }],
    };
    for (const dtype of [d.complex64, d.complex128])
      expectElements(await convolve(device, dtype, sizes([1, 1, 1, 1], [2], [2]), 'output', values), [
        { re: 4, im: 7 },
      ]);
  });

  it('gives zeros for empty sums, and nothing for empty arrays', async () => {
    await check(device, sizes([2, 1, 0, 3], [3, 3], [2, 2]));
    await check(device, sizes([2, 1, 3, 0], [3, 3], [2, 2]));
    await check(device, sizes([0, 1, 2, 3], [3, 3], [2, 2]));
    await check(device, sizes([1, 0, 2, 3], [3, 3], [2, 2]));
    await check(device, sizes([1, 1, 2, 3], [3, 1], [2, 2]));
    await check(device, sizes([1, 1, 2, 3], [0, 3], [1, 2], { before: [1, 0] }));
  });

  it('passes NaN and infinities on', async () => {
    const { NaN: nan, POSITIVE_INFINITY: inf } = Number;
    const s = sizes([1, 1, 1, 1], [4], [2]);
    const values = { input: [1, nan, 2, inf], filter: [1, 1], output: [0, 0, 0] };
    expectElements(await convolve(device, d.float32, s, 'output', values), [nan, nan, inf]);
  });

  it('agrees with the definition on many sizes', async () => {
    const tolerance = 40 * toleranceOf(d.float32);
    for (const [channels, features, width] of [
      [1, 33, 30],
      [17, 16, 15],
      [64, 48, 7],
      [5, 7, 61],
    ] as const)
      for (const stride of [1, 2]) {
        const s = sizes([2, 1, channels, features], [3, width], [3, 5], { before: [1, 2], strides: [stride, stride] });
        const noise = (shape: Shape, seed: number) =>
          Array.from({ length: sizeOf(shape) }, (_, i) => Math.fround(Math.sin(i * 12.9898 + seed)));
        const all = shapesOf(s);
        const values = { input: noise(all.input, 1), filter: noise(all.filter, 2), output: noise(all.output, 3) };
        for (const role of roles) {
          const got = await convolve(device, d.float32, s, role, values, channelsLast);
          const want = expected(s, role, values);
          const worst = Math.max(...want.map((x, i) => Math.abs(x - got.numberAt(i)) / Math.max(1, Math.abs(x))));
          expect(worst, `${role} of ${JSON.stringify(s)}`).toBeLessThanOrEqual(tolerance);
        }
      }
  });

  it.each([
    ['close together', { before: [2, 2] }],
    ['strided', { before: [2, 2], strides: [2, 3] }],
    ['dilated', { before: [4, 2], dilations: [3, 1] }],
    ['beginning within the image', { before: [-2, -1], after: [1, 2] }],
  ] as const)('adds up the windows of one large image, %s', async (_, rest) => {
    await check(device, sizes([1, 1, 3, 8], [60, 50], [5, 5], rest), [d.float32], [channelsLast], ['input']);
  });

  it('adds up many positions for a small filter', async () => {
    const s = sizes([5, 1, 1, 32], [32, 32], [5, 5], { before: [2, 2] });
    const all = shapesOf(s);
    const values = {
      input: wave(sizeOf(all.input), 1),
      filter: wave(sizeOf(all.filter), 2),
      output: wave(sizeOf(all.output), 3),
    };
    const want = expected(s, 'filter', values).map((x) => x + 0);
    // The second time, memory for sums has those of the first in it.
    for (const time of ['first', 'second']) {
      const got = await convolve(device, d.float32, s, 'filter', values, channelsLast);
      expect(
        got.numbers().map((x) => x + 0),
        `the ${time} time`,
      ).toEqual(want);
    }
  });

  it('repeats a filter through zero strides', async () => {
    const b = new SegmentBuilder();
    const input = b.bind(fromNested([[[[1, 2, 3, 4]]]], d.float32));
    const filter = restride(b.input([2], d.float32), [1, 1, 1, 3], [0, 0, 0, 0]);
    const output = b.output(d.float32, [1, 1, 1, 2]);
    b.add({ kind: 'conv', result: 'output', input, filter, output, strides: [1], dilations: [1], before: [0] });
    expectElements(await (await b.run(device))(output), [12, 18]);
  });
}
