/**
 * @file Float32 convolutions of three by three and five by five taps, which large ones compute by fewer products: results stay near
 * the truth, whatever the sizes, and numbers that are not finite come out where they should.
 */
import { existsSync, readFileSync } from 'node:fs';
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import * as d from '../../src/core/dtypes.ts';
import { NDArray } from '../../src/core/ndarray.ts';
import { type Shape, sizeOf } from '../../src/core/shape.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import { SegmentBuilder, transpose } from './build.ts';

const cpu = CpuDevice.open();
const status = '/proc/self/status';

/** Numbers in (-1, 1) with all bits of float32 in use. */
const wild = (i: number) => {
  const x = Math.sin(i * 1.7 + 1) * 43758.5453;
  return Math.fround(2 * (x - Math.floor(x)) - 1);
};

interface Case {
  readonly image: Shape;
  readonly filter: Shape;
  readonly padding?: 'SAME' | 'VALID';
}
/** What is not as `Case` says: numbers of the image by their positions, all numbers, the type, the threads. */
interface Changes {
  readonly odd?: ReadonlyMap<number, number>;
  readonly change?: (x: number) => number;
  readonly dtype?: typeof tf.float32 | typeof tf.float64;
  readonly threads?: number;
}

/** The results of a convolution and its two gradients. */
async function convolve({ image, filter, padding = 'SAME' }: Case, changes: Changes = {}): Promise<number[][]> {
  const { odd, change = (x) => x, dtype = tf.float32, threads = 0 } = changes;
  const numbers = (shape: Shape, seed: number, special?: ReadonlyMap<number, number>) => {
    const data = new (dtype === tf.float32 ? Float32Array : Float64Array)(sizeOf(shape));
    for (let i = 0; i < data.length; i++) data[i] = change(special?.get(i) ?? wild(i + seed));
    return new NDArray(dtype, shape, data);
  };
  const graph = new tf.Graph();
  const [feeds, fetches] = graph.asDefault(() => {
    const [x, w] = [tf.placeholder(dtype, image), tf.placeholder(dtype, filter)];
    const y = tf.nn.conv2d(x, w, { strides: [1, 1], padding });
    const dy = tf.placeholder(dtype, y.shape);
    const gradients = tf.gradients(y, [x, w], { gradYs: [dy] }).map((g) => tf.convertToTensor(g!));
    const given: [tf.Tensor, NDArray][] = [
      [x, numbers(image, 0, odd)],
      [w, numbers(filter, 9999)],
      [dy, numbers(y.shape as Shape, 31)],
    ];
    return [given, [y, ...gradients]];
  });
  const sess = new tf.Session({ graph, config: { intraOpParallelismThreads: threads } });
  try {
    const results = (await sess.run(fetches, feeds)) as NDArray[]; // a list of tensors is fetched as a list
    return results.map((result) => [...result.numbers()]);
  } finally {
    await sess.close();
  }
}

/**
 * The largest difference from the truth, in halves of a unit in the last place of the largest sum, signs left out: at the edges of an
 * image sums are shorter than others that their patches have.
 */
async function errorOf(c: Case, changes: Changes = {}): Promise<number> {
  const { change = (x) => x } = changes;
  const got = await convolve(c, changes);
  const truth = await convolve(c, { ...changes, dtype: tf.float64 });
  const sizes = await convolve(c, { dtype: tf.float64, change: (x) => Math.abs(change(x)) });
  const largest = (values: readonly number[]) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const errors = got.map((values, i) => largest(values.map((value, j) => value - truth[i]![j]!)) / largest(sizes[i]!));
  return Math.max(...errors) * 2 ** 24;
}

/** Sums product by product are at up to 17 as well, where all numbers are positive and products are rounded before they are added. */
const bound = 20;

const five: Case = { image: [2, 14, 14, 32], filter: [5, 5, 32, 64] };
const three: Case = { image: [2, 20, 28, 48], filter: [3, 3, 48, 32] };
const cases: readonly Case[] = [
  five,
  three,
  { image: [1, 13, 27, 16], filter: [5, 5, 16, 16] }, // patches that reach beyond the image
  { image: [3, 14, 18, 16], filter: [3, 3, 16, 48] },
  { image: [2, 16, 23, 80], filter: [3, 3, 80, 16], padding: 'VALID' }, // and channels that are not taken all at once
  { image: [2, 17, 16, 16], filter: [5, 5, 16, 32], padding: 'VALID' },
  { image: [40, 7, 7, 32], filter: [3, 3, 32, 16] },
  { image: [64, 5, 5, 16], filter: [5, 5, 16, 16] },
  { image: [9, 28, 28, 16], filter: [3, 3, 16, 256] }, // several blocks of patches
  { image: [48, 14, 14, 16], filter: [5, 5, 16, 16] }, // and several sums
  { image: [1, 30, 24, 272], filter: [3, 3, 272, 16] },
  { image: [2, 9, 469, 16], filter: [3, 3, 16, 16] }, // lines in several stretches, of which the last reaches beyond the image
  { image: [1, 8, 233, 16], filter: [5, 5, 16, 32], padding: 'VALID' },
];

describe.runIf(cpu)('large convolutions of few taps', () => {
  for (const c of cases)
    it(`are near the truth: ${JSON.stringify(c)}`, async () => expect(await errorOf(c)).toBeLessThan(bound));

  it('of positive numbers lose nothing, and of all magnitudes no more', async () => {
    for (const c of [five, three]) {
      expect(await errorOf(c, { change: Math.abs })).toBeLessThan(bound);
      for (const scale of [2 ** -40, 2 ** 55])
        expect(await errorOf(c, { change: (x) => x * scale })).toBeLessThan(bound);
    }
  });

  it('pass on infinities and NaN to what they belong to, and nothing else', async () => {
    for (const c of [five, three])
      for (const value of [Number.POSITIVE_INFINITY, Number.NaN]) {
        const odd = new Map([[777, value]]);
        const [got, want] = [await convolve(c, { odd }), await convolve(c, { odd, dtype: tf.float64 })];
        for (const [i, values] of got.entries()) {
          const kinds = (all: readonly number[]) => all.map((x) => (Number.isFinite(x) ? 0 : x));
          expect(kinds(values)).toEqual(kinds(want[i]!));
        }
      }
  });

  it('of huge numbers are finite where their sums are', async () => {
    // Points are sums of what they come from: these would overflow.
    const odd = new Map([[777, 3e38]]);
    for (const c of [five, three]) {
      const change = (x: number) => (x === 3e38 ? x : x * 2 ** -8);
      const results = await convolve(c, { odd, change });
      for (const values of results.slice(0, 2)) expect(values.every(Number.isFinite)).toBe(true);
    }
  });

  it('have the same bits on one thread as on several', async () => {
    for (const c of cases.slice(-6))
      expect(await convolve(c, { threads: 1 })).toEqual(await convolve(c, { threads: 3 }));
  });

  it.runIf(existsSync(status))('of very wide images take little memory beside them', async () => {
    const [height, width, channels] = [4, 65536, 16];
    const held = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(status, 'utf8'))![1]) / 1024; // in megabytes; Linux has it
    const filled = (shape: Shape) => new NDArray(d.float32, shape, new Float32Array(sizeOf(shape)).fill(1));
    for (const result of ['output', 'filter'] as const) {
      const b = new SegmentBuilder();
      const image = () => transpose(b.bind(filled([1, 1, height, width, channels])), [0, 1, 4, 2, 3]);
      const filter = transpose(b.bind(filled([1, 3, 3, channels, channels])), [0, 4, 3, 1, 2]);
      const views = { input: image(), filter, output: image() };
      b.add({ kind: 'conv', result, ...views, strides: [1, 1], dilations: [1, 1], before: [1, 1] });
      const kernel = cpu!.withThreads(1).compile(b.segment);
      const buffers = b.values.map((array) => cpu!.fromHost(array));
      const before = held();
      await kernel.run(buffers);
      expect(held() - before, result).toBeLessThan(24);
    }
  });
});
