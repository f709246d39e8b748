/**
 * @file Float32 products and convolutions large enough for a processor's matrix unit, where there is one: numbers are split
 * for it and put together again, and nothing of that may show.
 */
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import * as d from '../../src/core/dtypes.ts';
import { NDArray } from '../../src/core/ndarray.ts';
import { type Shape, sizeOf } from '../../src/core/shape.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import { SegmentBuilder } from './build.ts';

// By fewer products, sums of whole numbers would not come out exactly.
process.env['TF_ENABLE_WINOGRAD_NONFUSED'] = '0';
const cpu = CpuDevice.open();

/** Numbers in (-1, 1) with all bits of float32 in use. */
const wild = (i: number) => {
  const x = Math.sin(i * 1.7 + 1) * 43758.5453;
  return Math.fround(2 * (x - Math.floor(x)) - 1);
};

function floats(shape: Shape, of: (i: number) => number): NDArray {
  return new NDArray(
    d.float32,
    shape,
    Float32Array.from({ length: sizeOf(shape) }, (_, i) => of(i)),
  );
}

async function product(a: NDArray, b: NDArray): Promise<readonly number[]> {
  const builder = new SegmentBuilder();
  const output = builder.output(d.float32, [a.shape[0]!, b.shape[1]!]);
  builder.add({ kind: 'dot', a: builder.bind(a), b: builder.bind(b), output });
  return (await (await builder.run(cpu!))(output)).numbers();
}

describe.runIf(cpu)('large products', () => {
  const n = 210;
  const identity = floats([n, n], (i) => (i % (n + 1) === 0 ? 1 : 0));

  it('keep every bit of their factors', async () => {
    const scales = [1, 2 ** 60, 2 ** -60, 2 ** 120, 2 ** -90];
    const a = floats([n, n], (i) => wild(i) * scales[i % scales.length]!);
    expect(await product(a, identity)).toEqual(a.numbers());
    expect(await product(identity, a)).toEqual(a.numbers());
  });

  it('are as near to the truth as sums in float32 can be', async () => {
    const [m, k] = [200, 700];
    const a = floats([m, k], wild);
    const b = floats([k, n], (i) => wild(i + 12345));
    const [x, y, got] = [a.numbers(), b.numbers(), await product(a, b)];
    let worst = 0;
    for (let i = 0; i < m; i++)
      for (let j = 0; j < n; j++) {
        let [sum, size] = [0, 0];
        for (let p = 0; p < k; p++) {
          const term = x[i * k + p]! * y[p * n + j]!;
          sum += term;
          size += Math.abs(term);
        }
        worst = Math.max(worst, Math.abs(got[i * n + j]! - sum) / size);
      }
    // One rounding of the whole sum is 2^-24 of it.
    expect(worst).toBeLessThan(4 * 2 ** -24);
  });

  it('overflow to infinity, and only beyond the largest number', async () => {
    const [row, column] = [150, 40];
    /** Small numbers, and a large one somewhere. */
    const once = (at: number, value: number) => floats([n, n], (i) => (i === at ? value : wild(i) / n));
    const largest = 3.4028234663852886e38;
    for (const [x, y, want] of [
      [1.234567e25, 1.765432e25, Number.POSITIVE_INFINITY],
      [-1.234567e25, 1.765432e25, Number.NEGATIVE_INFINITY],
      [1.234567e38, 3.3e5, Number.POSITIVE_INFINITY],
      [1.8446743e19, 1.8446e19, Math.fround(1.8446743e19 * 1.8446e19)],
      [1.234567e30, largest / 1.24e30, Math.fround(1.234567e30 * Math.fround(largest / 1.24e30))],
    ] as const) {
      const got = await product(once(row * n + 77, x), once(77 * n + column, y));
      expect(got[row * n + column], `${x} x ${y}`).toBeCloseTo(want, -33);
      expect(got.some((value) => Number.isNaN(value))).toBe(false);
    }
  });

  it('pass on NaN, whatever its bits', async () => {
    const [row, inner] = [37, 101];
    for (const bits of [0x7fffffff, 0xffffffff, 0x7f800001, 0xffc00000]) {
      const numbers = new Float32Array(n * n).fill(0.5);
      new Uint32Array(numbers.buffer)[row * n + inner] = bits;
      const odd = new NDArray(d.float32, [n, n], numbers);
      const zeros = floats([n, n], () => 0);
      const rows = await product(odd, zeros);
      expect(rows).toEqual(rows.map((_, i) => (Math.trunc(i / n) === row ? Number.NaN : 0)));
      const columns = await product(zeros, odd);
      expect(columns).toEqual(columns.map((_, i) => (i % n === inner ? Number.NaN : 0)));
    }
  });

  for (const odd of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 3.4028234663852886e38])
    it(`pass on ${odd}`, async () => {
      const [row, inner, column] = [37, 101, 55];
      const a = floats([n, n], (i) => (i === row * n + inner ? odd : 0.5));
      const b = floats([n, n], (i) => (i % n === column ? 0 : 0.25));
      const got = await product(a, b);
      const plain = n / 8;
      const want = (i: number, j: number) => {
        if (j === column) return Number.isFinite(odd) || i !== row ? 0 : Number.NaN;
        return i === row ? Math.fround(plain - 0.125 + odd * 0.25) : plain;
      };
      expect(got).toEqual(Array.from(got, (_, i) => want(Math.trunc(i / n), i % n)));
      // The same numbers on the other side.
      const turned = (x: NDArray) => {
        const numbers = x.numbers();
        return floats([n, n], (i) => numbers[(i % n) * n + Math.trunc(i / n)]!);
      };
      expect(await product(turned(b), turned(a))).toEqual(Array.from(got, (_, i) => want(i % n, Math.trunc(i / n))));
    });
});

interface Case {
  readonly image: Shape;
  readonly filter: Shape;
  readonly strides?: readonly [number, number];
  readonly dilations?: readonly [number, number];
  readonly padding?: 'SAME' | 'VALID';
  readonly dataFormat?: 'NHWC' | 'NCHW';
}

/** One tap at so many positions that the result is larger than a cache. */
const tall: Case = { image: [2, 46, 46, 64], filter: [1, 1, 64, 130] };
/** And so many channels and features that the sums of a filter gradient are on the matrix unit too; with fewer features, and with more. */
const long: readonly Case[] = [
  { image: [2, 46, 46, 150], filter: [1, 1, 150, 90] },
  { image: [1, 92, 46, 90], filter: [1, 1, 90, 150] },
];

const cases: readonly Case[] = [
  { image: [2, 14, 14, 32], filter: [5, 5, 32, 64] },
  { image: [3, 9, 17, 20], filter: [3, 3, 20, 23] },
  { image: [2, 16, 16, 48], filter: [3, 3, 48, 16], padding: 'VALID' },
  { image: [2, 17, 33, 16], filter: [3, 2, 16, 33], strides: [2, 2] },
  { image: [2, 20, 19, 32], filter: [3, 3, 32, 16], strides: [2, 1] },
  { image: [2, 20, 19, 32], filter: [3, 3, 32, 40], dilations: [2, 3] },
  { image: [40, 7, 7, 32], filter: [3, 3, 32, 32] },
  { image: [2, 16, 16, 64], filter: [1, 1, 64, 130] },
  { image: [1, 8, 8, 300], filter: [3, 3, 300, 32] },
  { image: [2, 32, 15, 14], filter: [3, 3, 32, 48], dataFormat: 'NCHW' },
  { image: [5, 13, 30, 32], filter: [3, 5, 32, 30], strides: [2, 3] },
  { image: [19, 14, 14, 32], filter: [3, 3, 32, 16], dilations: [2, 1] },
  { image: [3, 12, 40, 16], filter: [1, 7, 16, 32], padding: 'VALID' },
  { image: [3, 40, 12, 16], filter: [7, 1, 16, 32], strides: [3, 2] },
  { image: [2, 6, 9, 15, 32], filter: [2, 3, 3, 32, 16] },
  tall,
  ...long,
];

describe.runIf(cpu)('large convolutions', () => {
  /** The convolution and its gradients; whole numbers, so that float32 and float64 agree to the last bit. */
  async function run(dtype: typeof tf.float32 | typeof tf.float64, c: Case, odd = 0): Promise<tf.NDArray[]> {
    const [graph, numbers] = [new tf.Graph(), (i: number) => Math.round(20 * wild(i))];
    const fetches = graph.asDefault(() => {
      const image = tf.constant(
        Array.from({ length: sizeOf(c.image) }, (_, i) => (i === 77 ? numbers(i) + odd : numbers(i))),
        { dtype, shape: c.image },
      );
      const filter = tf.constant(
        Array.from({ length: sizeOf(c.filter) }, (_, i) => numbers(i + 9999)),
        { dtype, shape: c.filter },
      );
      const { strides = [1, 1], dilations = [1, 1], padding = 'SAME', dataFormat = 'NHWC' } = c;
      const y =
        c.image.length === 5
          ? tf.nn.conv3d(image, filter, { strides: [1, 1, 2, 1, 1], padding })
          : tf.nn.conv2d(image, filter, { strides: [...strides], dilations: [...dilations], padding, dataFormat });
      const dy = tf.reshape(tf.floormod(tf.cast(tf.range(tf.size(y)), dtype), tf.constant(17, { dtype })), tf.shape(y));
      return [y, ...tf.gradients(y, [image, filter], { gradYs: [dy] }).map((g) => tf.convertToTensor(g!))];
    });
    const sess = new tf.Session({ graph });
    try {
      return (await sess.run(fetches)) as tf.NDArray[]; // a list of tensors is fetched as a list
    } finally {
      await sess.close();
    }
  }

  for (const c of cases)
    it(`are right: ${JSON.stringify(c)}`, async () => {
      const [got, want] = [await run(tf.float32, c), await run(tf.float64, c)];
      for (const [i, array] of got.entries()) {
        const [x, y] = [array.numbers(), want[i]!.numbers()];
        const wrong = x.findIndex((value, j) => value !== y[j]);
        expect(wrong < 0 ? '' : `element ${wrong} of result ${i} is ${x[wrong]}, not ${y[wrong]}`).toBe('');
      }
    });

  it('pass on infinities', async () => {
    for (const c of [cases[0]!, tall, ...long]) {
      const [got, want] = [await run(tf.float32, c, Infinity), await run(tf.float64, c, Infinity)];
      for (const [i, array] of got.entries()) {
        const [x, y] = [array.numbers(), want[i]!.numbers()];
        expect(x.findIndex((value, j) => !Object.is(value + 0, y[j]! + 0))).toBe(-1);
      }
    }
  });
});
