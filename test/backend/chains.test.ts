/** @file Instructions whose rows threads compute without meeting after each: the same bits as on one thread, whatever rows they read. */
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import * as d from '../../src/core/dtypes.ts';
import { NDArray } from '../../src/core/ndarray.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import * as e from '../../src/program/expr.ts';
import type { View } from '../../src/program/instructions.ts';
import { broadcast, restride, reverse, SegmentBuilder, transpose, viewOf } from './build.ts';

const cpu = CpuDevice.open();

const width = 128;
const [x, y] = [e.input(0, d.float32), e.input(1, d.float32)];

/** What follows the product of a step: `product` are its rows, `next` those that the next step multiplies. */
type Between = (b: SegmentBuilder, step: number, product: View, next: View) => void;

/** A number of threads, and one that makes the inputs others. */
type Run = (threads: number, seed: number) => Promise<readonly number[]>;

const recurrence =
  (rows: number, steps: number, between: Between, side = width, isTurned = false): Run =>
  async (threads, seed) => {
    const b = new SegmentBuilder();
    const array = (shape: readonly [number, number], of: (i: number) => number) =>
      new NDArray(
        d.float32,
        shape,
        Float32Array.from({ length: shape[0] * shape[1] }, (_, i) => of(i)),
      );
    const numbers = b.constant(array([side, side], (i) => Math.sin(i * 0.7) / 5));
    const factor = isTurned ? transpose(numbers, [1, 0]) : numbers;
    const output = b.output(d.float32, [rows, side]);
    // The product of a step lies where half of the one before it is, which other rows have read.
    const products = b.temp(d.float32, [2 * rows, side]);
    let left = b.bind(array([rows, side], (i) => Math.sin(i * 0.3 + seed)));
    for (let step = 0; step < steps; step++) {
      const product = restride(products, [rows, side], [side, 1], (step % 2) * Math.floor(rows / 2) * side);
      const next = step + 1 < steps ? b.temp(d.float32, [rows, side]) : output;
      b.add({ kind: 'dot', a: left, b: factor, output: product });
      between(b, step, product, next);
      left = next;
    }
    return (await (await b.run(cpu!.withThreads(threads)))(output)).numbers();
  };

/** Threads are seldom as far apart as they could be, so there are several runs; each finds the memory as the one before left it. */
async function expectSame(run: Run, what: string): Promise<void> {
  const alone: (readonly number[])[] = [];
  for (let seed = 0; seed < 10; seed++) alone.push(await run(1, seed));
  for (const threads of [2, 3, 5])
    for (const [seed, want] of alone.entries()) {
      const shared = await run(threads, seed);
      expect(
        shared.findIndex((v, k) => v !== want[k]),
        `${what}, on ${threads} threads`,
      ).toBe(-1);
    }
}

describe.runIf(cpu)('instructions that threads go through with their rows', () => {
  const sizes = [32, 48, 160];

  it('read the same rows', async () => {
    for (const rows of sizes)
      await expectSame(
        recurrence(rows, 24, (b, _, product, next) => {
          b.add({ kind: 'map', shape: [rows, width], inputs: [product], outputs: [next], results: [e.tanh(x)] });
        }),
        `${rows} rows`,
      );
  });

  it('read the same rows, of which the last part would have few or one', async () => {
    for (const [rows, side, isTurned] of [
      [49, 128, false],
      [84, 256, true],
    ] as const) {
      const follow: Between = (b, _, product, next) =>
        b.add({ kind: 'map', shape: [rows, side], inputs: [product], outputs: [next], results: [e.tanh(x)] });
      await expectSame(recurrence(rows, 8, follow, side, isTurned), `${rows} rows`);
    }
  });

  it('read rows of other threads', async () => {
    for (const rows of sizes)
      await expectSame(
        recurrence(rows, 24, (b, _, product, next) => {
          const inputs = [product, reverse(product, 0)];
          b.add({ kind: 'map', shape: [rows, width], inputs, outputs: [next], results: [e.tanh(e.add(x, y))] });
        }),
        `${rows} rows`,
      );
  });

  it('read sums over all rows', async () => {
    for (const rows of sizes)
      await expectSame(
        recurrence(rows, 24, (b, _, product, next) => {
          const shape = [rows, width];
          const half = b.temp(d.float32, shape);
          const sum = b.temp(d.float32, [width]);
          b.add({
            kind: 'blocks',
            rows,
            steps: [
              {
                kind: 'map',
                shape,
                inputs: [product],
                outputs: [half],
                results: [e.mul(x, e.constant(0.5, d.float32))],
              },
              { kind: 'reduce', op: 'sum', shape, axes: [0], inputs: [half], result: x, output: sum },
            ],
            locals: new Set(),
          });
          const inputs = [half, broadcast(viewOf(sum.buffer, d.float32, [1, width]), shape)];
          b.add({ kind: 'map', shape, inputs, outputs: [next], results: [e.tanh(e.sub(x, y))] });
        }),
        `${rows} rows`,
      );
  });

  it('multiply by a factor that they have computed on the way', async () => {
    const compute: Run = async (threads, seed) => {
      const b = new SegmentBuilder();
      const shape = [width, width] as const;
      const wave = (scale: number) =>
        new NDArray(
          d.float32,
          shape,
          Float32Array.from({ length: width * width }, (_, i) => Math.sin(i * scale + seed) / 5),
        );
      const left = b.bind(wave(0.3));
      const [product, factor, first, second] = [1, 2, 3, 4].map(() => b.temp(d.float32, shape)) as [
        View,
        View,
        View,
        View,
      ]; // of four
      const output = b.output(d.float32, shape);
      b.add({ kind: 'dot', a: left, b: b.constant(wave(0.7)), output: product });
      b.add({ kind: 'map', shape, inputs: [product], outputs: [factor], results: [e.sin(x)] });
      b.add({ kind: 'dot', a: left, b: factor, output: first });
      b.add({ kind: 'dot', a: first, b: factor, output: second });
      b.add({ kind: 'dot', a: second, b: factor, output });
      return (await (await b.run(cpu!.withThreads(threads)))(output)).numbers();
    };
    await expectSame(compute, 'a factor');
  });

  it('say that a map behind a product has failed', async () => {
    const shape = [width, width] as const;
    const b = new SegmentBuilder();
    const factor = b.constant(new NDArray(d.float32, shape, new Float32Array(width * width).fill(1)));
    const [left, product] = [b.output(d.float32, shape), b.temp(d.float32, shape)];
    const [zeros, quotients] = [b.output(d.int32, shape), b.output(d.int32, shape)];
    const quotient = e.floordiv(e.cast(x, d.int32), e.input(1, d.int32));
    const after = { kind: 'map', shape, inputs: [product, zeros], outputs: [quotients], results: [quotient] } as const;
    b.add({ kind: 'dot', a: left, b: factor, output: product, after });
    b.add({ kind: 'dot', a: product, b: factor, output: b.output(d.float32, shape) });
    for (const threads of [1, 2])
      await expect(b.run(cpu!.withThreads(threads)), `${threads} threads`).rejects.toThrow('divisionByZero');
  });

  it('train a recurrent network', async () => {
    const [batch, steps, inputs] = [32, 12, 32];
    const graph = new tf.Graph();
    const { gradients, init, shift } = graph.asDefault(() => {
      tf.random.setRandomSeed(1);
      const shift = tf.placeholder(tf.float32, []);
      const all = tf.sin(tf.range(0, batch * steps * inputs, 1, { dtype: tf.float32 }).add(shift));
      const sequences = tf.reshape(all, [batch, steps, inputs]);
      const [, { h }] = tf.nn.dynamicRnn(new tf.nn.rnnCell.BasicLSTMCell(64), sequences, { dtype: tf.float32 });
      const variables = tf.trainableVariables();
      return { gradients: tf.gradients(tf.square(h), variables), shift, init: tf.globalVariablesInitializer() };
    });
    const sessions = new Map<number, tf.Session>();
    const train: Run = async (threads, seed) => {
      let sess = sessions.get(threads);
      if (!sess) {
        sess = new tf.Session({ graph, config: { intraOpParallelismThreads: threads } });
        sessions.set(threads, sess);
        await sess.run(init);
      }
      const values = (await sess.run(gradients, [[shift, seed]])) as tf.NDArray[]; // one for each
      return values.flatMap((value) => value.numbers());
    };
    await expectSame(train, 'an LSTM');
    for (const sess of sessions.values()) await sess.close();
  });
});
