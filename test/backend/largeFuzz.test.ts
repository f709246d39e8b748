/**
 * @file Random products and convolutions large enough for blocks, tiles and threads, in views with gaps, on one to three threads.
 * Small whole numbers have exact sums, so results are compared exactly; around the views lies NaN, which must not be read, and a
 * number that must not be overwritten.
 */
import { describe, expect, it } from 'vitest';
import * as d from '../../src/core/dtypes.ts';
import { NDArray } from '../../src/core/ndarray.ts';
import { type Shape, sizeOf } from '../../src/core/shape.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import * as e from '../../src/program/expr.ts';
import type { ConvInstruction, MapInstruction, View } from '../../src/program/instructions.ts';
import { broadcast, restride, SegmentBuilder } from './build.ts';
import { Chance } from './fuzz/chance.ts';

const cpu = CpuDevice.open();
type Float = typeof d.float32 | typeof d.float64;
/** What outputs and all that lies around them hold before they are written. */
const untouched = 777;

/** A view, and its elements in row-major order. */
interface Filled {
  readonly view: View;
  readonly values: Float64Array;
}

/** A view whose axes lie in memory in the given order, outermost first, now and then with gaps. */
function layOut(chance: Chance, shape: Shape, order: readonly number[]) {
  const strides = shape.map(() => 0);
  let step = 1;
  for (const axis of [...order].reverse()) {
    strides[axis] = step;
    step *= shape[axis]! + (chance.happens(0.15) ? chance.integer(1, 3) : 0);
  }
  const offset = chance.integer(0, 20);
  return { strides, offset, elements: step + offset + chance.integer(0, 20) };
}

function* placesOf({ shape, strides, offset }: Pick<View, 'shape' | 'strides' | 'offset'>): Generator<number> {
  const index = shape.map(() => 0);
  let place = offset;
  for (let i = sizeOf(shape); i > 0; i--) {
    yield place;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      place += strides[axis]!;
      if (++index[axis]! < shape[axis]!) break;
      place -= strides[axis]! * shape[axis]!;
      index[axis] = 0;
    }
  }
}

class Maker {
  readonly builder = new SegmentBuilder();
  constructor(
    readonly chance: Chance,
    readonly dtype: Float,
  ) {}

  input(shape: Shape, order: readonly number[], like?: View): Filled {
    const { strides, offset, elements } = like
      ? { ...like, elements: like.buffer.bytes / this.dtype.size }
      : layOut(this.chance, shape, order);
    const data = this.#array(elements).fill(Number.NaN);
    const values = Float64Array.from(placesOf({ shape, strides, offset }), (place) => {
      data[place] = this.chance.integer(-5, 5);
      return data[place]!;
    });
    return { view: this.#bind(data, shape, strides, offset), values };
  }

  output(shape: Shape, order: readonly number[]): View {
    const { strides, offset, elements } = layOut(this.chance, shape, order);
    return this.#bind(this.#array(elements).fill(untouched), shape, strides, offset);
  }

  /** Rows after rows, or columns after columns. */
  matrixOrder(): readonly number[] {
    return this.chance.happens(0.5) ? [0, 1] : [1, 0];
  }

  #array(elements: number): Float32Array<ArrayBuffer> | Float64Array<ArrayBuffer> {
    return this.dtype === d.float32 ? new Float32Array(elements) : new Float64Array(elements);
  }
  #bind(
    data: Float32Array<ArrayBuffer> | Float64Array<ArrayBuffer>,
    shape: Shape,
    strides: readonly number[],
    offset: number,
  ) {
    return restride(this.builder.bind(new NDArray(this.dtype, [data.length], data)), shape, strides, offset);
  }
}

/** What is wrong with a result, or ''. */
function faultOf(got: readonly number[], view: View, want: (i: number) => number): string {
  const seen = new Set<number>();
  let i = 0;
  for (const place of placesOf(view)) {
    seen.add(place);
    const [x, y] = [got[place]!, want(i)];
    if (x !== y) return `element ${i} is ${x}, not ${y}`;
    i++;
  }
  const beside = got.findIndex((x, place) => x !== untouched && !seen.has(place));
  return beside < 0 ? '' : `place ${beside}, outside of the result, became ${got[beside]}`;
}

type Size = readonly [m: number, k: number, n: number];

function anySize(chance: Chance): Size {
  const side = () => chance.pick([chance.integer(1, 40), chance.integer(60, 140), chance.integer(160, 330)]);
  return [side(), side(), side()];
}

/** Few rows, and a second factor that is taken for one in memory. */
function fewRows(chance: Chance): Size {
  return [
    chance.pick([chance.integer(43, 48), chance.integer(49, 100)]),
    4 * chance.integer(180, 200),
    chance.integer(730, 1100),
  ];
}

/** A sum of products, added to something or not, with a map behind it or not. */
async function productFault(seed: number, sizeOf: (chance: Chance) => Size): Promise<string> {
  const chance = new Chance(seed);
  const dtype = chance.pick([d.float32, d.float32, d.float64]);
  const make = new Maker(chance, dtype);
  const [m, k, n] = sizeOf(chance);
  const [a, b] = [make.input([m, k], make.matrixOrder()), make.input([k, n], make.matrixOrder())];
  const pairs = Array.from({ length: chance.pick([0, 0, 1, 3]) }, () => ({
    a: make.input([m, k], [], a.view),
    b: make.input([k, n], [], b.view),
  }));
  const plus = chance.happens(0.3) ? make.input([m, n], make.matrixOrder()) : undefined;
  const output = make.output([m, n], chance.happens(0.7) ? [0, 1] : [1, 0]);
  const bias = chance.happens(0.5) ? make.input([n], [0]) : undefined;
  const result = make.output([m, n], make.matrixOrder());
  const after: MapInstruction | undefined = bias && {
    kind: 'map',
    shape: [m, n],
    inputs: [output, broadcast(bias.view, [m, n])],
    outputs: [result],
    results: [e.sub(e.mul(e.input(0, dtype), 2), e.input(1, dtype))],
  };
  make.builder.add({
    ...{ kind: 'dot', a: a.view, b: b.view, output },
    more: pairs.map((pair) => ({ a: pair.a.view, b: pair.b.view })),
    ...(plus ? { plus: plus.view } : {}),
    ...(after ? { after } : {}),
  });
  const read = await make.builder.run(cpu!.withThreads(1 + (seed % 3)));
  const want = Float64Array.from({ length: m * n }, (_, i) => plus?.values[i] ?? 0);
  for (const [left, right] of [[a, b], ...pairs.map((pair) => [pair.a, pair.b])] as [Filled, Filled][])
    for (let i = 0; i < m; i++)
      for (let p = 0; p < k; p++) {
        const x = left.values[i * k + p]!;
        for (let j = 0; j < n; j++) want[i * n + j]! += x * right.values[p * n + j]!;
      }
  const name = `${dtype} ${m} x ${k} x ${n}, ${1 + pairs.length} of them${plus ? ', added to something' : ''}`;
  const fault = faultOf((await read(output)).numbers(), output, (i) => want[i]!);
  if (fault) return `${name}: ${fault}`;
  const behind = bias && faultOf((await read(result)).numbers(), result, (i) => 2 * want[i]! - bias.values[i % n]!);
  return behind ? `${name}, the map behind: ${behind}` : '';
}

/** A convolution, or a gradient of one. */
async function convolutionFault(seed: number): Promise<string> {
  const chance = new Chance(seed);
  const make = new Maker(chance, chance.pick([d.float32, d.float32, d.float64]));
  const axes = [chance.integer(4, 14), chance.integer(10, 30)].map((input) => {
    const [taps, stride, dilation] = [chance.integer(1, 5), chance.pick([1, 1, 2, 3]), chance.pick([1, 1, 2])];
    const [before, behind] = [chance.integer(-1, taps), chance.integer(-1, taps)];
    const reach = input + before + behind - (taps - 1) * dilation - 1;
    return { input, taps, stride, dilation, before, output: Math.max(0, Math.floor(reach / stride) + 1) };
  });
  const [batch, groups] = [chance.pick([1, 2, 5]), chance.pick([1, 1, 1, 2, 6])];
  const [channels, features] = [chance.pick([1, 3, 16, 33]), chance.pick(groups === 6 ? [1, 2] : [8, 16, 20, 40])];
  const spatial = (of: 'input' | 'taps' | 'output') => axes.map((axis) => axis[of]);
  const result = chance.pick(['output', 'input', 'filter'] as const);
  const shapes = {
    input: [batch, groups, channels, ...spatial('input')],
    filter: [groups, features, channels, ...spatial('taps')],
    output: [batch, groups, features, ...spatial('output')],
  };
  // As NHWC images and HWIO filters are, or in the order of the axes.
  const orderOf = (name: keyof typeof shapes) =>
    chance.happens(0.25) ? [0, 1, 2, 3, 4] : name === 'filter' ? [3, 4, 0, 2, 1] : [0, 3, 4, 1, 2];
  const values: Partial<Record<keyof typeof shapes, Float64Array>> = {};
  const viewOf = (name: keyof typeof shapes): View => {
    if (name === result) return make.output(shapes[name], orderOf(name));
    const made = make.input(shapes[name], orderOf(name));
    values[name] = made.values;
    return made.view;
  };
  const conv: ConvInstruction = {
    ...{ kind: 'conv', result, input: viewOf('input'), filter: viewOf('filter'), output: viewOf('output') },
    strides: axes.map((axis) => axis.stride),
    dilations: axes.map((axis) => axis.dilation),
    before: axes.map((axis) => axis.before),
  };
  make.builder.add(conv);
  const read = await make.builder.run(cpu!.withThreads(1 + (seed % 3)));
  const want = sumsOf(conv, values);
  const name = `${make.dtype} ${result} of ${JSON.stringify({ batch, groups, channels, features, axes })}`;
  const fault = faultOf((await read(conv[result])).numbers(), conv[result], (i) => want[i]!);
  return fault && `${name}: ${fault}`;
}

/** A convolution of two axes from its definition. */
function sumsOf(conv: ConvInstruction, given: { input?: Float64Array; filter?: Float64Array; output?: Float64Array }) {
  const [batch, groups, channels, height, width] = conv.input.shape as [number, number, number, number, number];
  const [, features, , tapRows, tapColumns] = conv.filter.shape as [number, number, number, number, number];
  const [rows, columns] = conv.output.shape.slice(3) as [number, number];
  const sums = new Float64Array(sizeOf(conv[conv.result].shape));
  const { input = sums, filter = sums, output = sums } = given;
  const meeting = (axis: number, y: number, k: number) =>
    y * conv.strides[axis]! + k * conv.dilations[axis]! - conv.before[axis]!;
  for (let y = 0; y < rows; y++)
    for (let i = 0; i < tapRows; i++) {
      const row = meeting(0, y, i);
      if (row < 0 || row >= height) continue;
      for (let x = 0; x < columns; x++)
        for (let j = 0; j < tapColumns; j++) {
          const column = meeting(1, x, j);
          if (column < 0 || column >= width) continue;
          for (let image = 0; image < batch * groups; image++)
            for (let f = 0; f < features; f++)
              for (let c = 0; c < channels; c++) {
                const atInput = ((image * channels + c) * height + row) * width + column;
                const atFilter = ((((image % groups) * features + f) * channels + c) * tapRows + i) * tapColumns + j;
                const atOutput = ((image * features + f) * rows + y) * columns + x;
                if (conv.result === 'output') sums[atOutput]! += input[atInput]! * filter[atFilter]!;
                else if (conv.result === 'input') sums[atInput]! += output[atOutput]! * filter[atFilter]!;
                else sums[atFilter]! += input[atInput]! * output[atOutput]!;
              }
        }
    }
  return sums;
}

describe.runIf(cpu)('random large work', () => {
  it('multiplies', async () => {
    for (let seed = 1; seed <= 60; seed++) expect(await productFault(seed, anySize), `product ${seed}`).toBe('');
  }, 60_000);

  it('multiplies few rows by large matrices', async () => {
    for (let seed = 1; seed <= 6; seed++) expect(await productFault(seed, fewRows), `product ${seed}`).toBe('');
  }, 60_000);

  it('convolves', async () => {
    for (let seed = 1; seed <= 60; seed++) expect(await convolutionFault(seed), `convolution ${seed}`).toBe('');
  }, 60_000);
});
