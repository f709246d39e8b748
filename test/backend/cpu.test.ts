/** @file The cpu device keeps the device contract, agrees with the reference device, and is safe to use concurrently. */
import { describe, expect, it } from 'vitest';
import * as d from '../../src/core/dtypes.ts';
import { InternalError } from '../../src/core/errors.ts';
import { fromElements, fromNested, NDArray } from '../../src/core/ndarray.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import { ReferenceDevice } from '../../src/devices/reference/device.ts';
import * as e from '../../src/program/expr.ts';
import { DeviceFailure, type MapInstruction, type View } from '../../src/program/instructions.ts';
import { broadcast, restride, SegmentBuilder, transpose } from './build.ts';
import { compareDevices } from './compare.ts';
import { deviceContract } from './contract.ts';

const cpu = CpuDevice.open();
if (cpu) {
  deviceContract('cpu', () => cpu);
  describe('cpu against reference', () => compareDevices(cpu, new ReferenceDevice()));
  describe('cpu, large work', () => largeWork(cpu));
  describe('cpu, taking turns', () => takingTurns(cpu));
  describe('cpu, bad segments and buffers', () => refusals(cpu));
} else {
  it.skip('cpu device: build/native has no library; run node tools/buildNative.mjs', () => {});
}

/** Repeatable floats in [-1, 1). */
function noise(n: number, seed = 1): Float32Array {
  const out = new Float32Array(n);
  let state = seed;
  for (let i = 0; i < n; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    out[i] = state / 2 ** 31;
  }
  return out;
}

/** Work big enough for several threads and blocks, where the reference device would be too slow to ask. */
/** An image [batch, height, width, channels] as convolutions want it: with one group, and channels before the axes. */
const imageOf = (view: View): View => withGroup(transpose(view, [0, 3, 1, 2]), 1);
/** The same for a filter [height, width, channels, features]. */
const filterOf = (view: View): View => withGroup(transpose(view, [3, 2, 0, 1]), 0);
const withGroup = (view: View, axis: number): View =>
  restride(view, view.shape.toSpliced(axis, 0, 1), view.strides.toSpliced(axis, 0, 0));

function largeWork(device: CpuDevice): void {
  const sumOf = async (array: NDArray, axes: readonly number[], result: e.Expr) => {
    const b = new SegmentBuilder();
    const x = b.bind(array);
    const output = b.output(
      result.dtype,
      array.shape.filter((_, axis) => !axes.includes(axis)),
    );
    b.add({ kind: 'reduce', op: 'sum', shape: array.shape, axes, inputs: [x], result, output });
    return (await b.run(device))(output);
  };

  it('sums a hundred million ones exactly in float32', async () => {
    const ones = new NDArray(d.uint8, [100_000_000], new Uint8Array(100_000_000).fill(1));
    expect((await sumOf(ones, [0], e.cast(e.input(0, d.uint8), d.float32))).item()).toBe(100_000_000);
  });

  it('sums long columns exactly in float32', async () => {
    const ones = new NDArray(d.uint8, [20_000_000, 3], new Uint8Array(60_000_000).fill(1));
    expect((await sumOf(ones, [0], e.cast(e.input(0, d.uint8), d.float32))).numbers()).toEqual([2e7, 2e7, 2e7]);
  });

  it('gives the same bits with any number of threads', async () => {
    const values = new NDArray(d.float32, [1000, 700], noise(700_000));
    const run = async (threads: number) => {
      device.threads = threads;
      const b = new SegmentBuilder();
      const x = b.bind(values);
      const across = { ...x, shape: [700, 1000], strides: [1, 700] };
      const [mapped, product, rows, columns, all] = [
        b.output(d.float32, [1000, 700]),
        b.output(d.float32, [1000, 1000]),
        b.output(d.float32, [1000]),
        b.output(d.float32, [700]),
        b.output(d.float32, []),
      ];
      const input = e.input(0, d.float32);
      const sum = { kind: 'reduce', op: 'sum', shape: [1000, 700], inputs: [x], result: e.exp(input) } as const;
      b.add({ kind: 'map', shape: [1000, 700], inputs: [x], outputs: [mapped], results: [e.tanh(input)] });
      b.add({ kind: 'dot', a: x, b: across, output: product });
      b.add({ ...sum, axes: [1], output: rows });
      b.add({ ...sum, axes: [0], output: columns });
      b.add({ ...sum, axes: [0, 1], output: all });
      const read = await b.run(device);
      return Promise.all([mapped, product, rows, columns, all].map(read));
    };
    try {
      const alone = await run(1);
      for (const threads of [2, 3, 7]) {
        const together = await run(threads);
        for (const [i, array] of alone.entries()) expect(array.equals(together[i]!)).toBe(true);
      }
      const total = values.numbers().reduce((sum, x) => sum + Math.exp(x), 0);
      expect(alone[4]!.numberAt(0)).toBeCloseTo(total, -1);
    } finally {
      device.threads = 0;
    }
  });

  it('spreads the gradient of one image with the same bits for any number of threads', async () => {
    const image = [1, 60, 50, 3] as const;
    const filter = new NDArray(d.float32, [5, 5, 3, 16], noise(5 * 5 * 3 * 16));
    const dy = new NDArray(d.float32, [1, 60, 50, 16], noise(60 * 50 * 16, 7));
    const run = async (threads: number) => {
      const b = new SegmentBuilder();
      const result = b.output(d.float32, image);
      b.add({
        kind: 'conv',
        result: 'input',
        input: imageOf(result),
        filter: filterOf(b.bind(filter)),
        output: imageOf(b.bind(dy)),
        strides: [1, 1],
        dilations: [1, 1],
        before: [2, 2],
      });
      return (await b.run(device.withThreads(threads)))(result);
    };
    const alone = await run(1);
    for (const threads of [2, 3, 16]) expect(alone.equals(await run(threads)), `${threads} threads`).toBe(true);
  });

  it.each([2, 3])(
    'pools windows of %d and spreads gradients with the same bits for any number of threads',
    async (size) => {
      const [image, pooled] = [
        [3, 41, 40, 33],
        [3, 20, 19, 33],
      ] as const;
      const run = async (threads: number) => {
        device.threads = threads;
        const b = new SegmentBuilder();
        const x = b.bind(new NDArray(d.float32, image, noise(3 * 41 * 40 * 33)));
        const dy = b.bind(new NDArray(d.float32, pooled, noise(3 * 20 * 19 * 33, 5)));
        const spans = [20, 19].map((n) =>
          b.input(
            Array.from({ length: n }, (_, i) => [2 * i, 2 * i + size]),
            d.int64,
          ),
        );
        // What lies in no window has no gradient, whatever was there before.
        const before = new NDArray(d.float32, image, new Float32Array(3 * 41 * 40 * 33).fill(7));
        const outputs = [b.output(d.float32, pooled), b.bind(before), b.bind(before)];
        for (const [i, op] of (['mean', 'maxGradient', 'meanGradient'] as const).entries())
          b.add({ kind: 'window', op, inputs: [[x], [x, dy], [dy]][i]!, spans, output: outputs[i]! });
        const read = await b.run(device);
        return Promise.all(outputs.map(read));
      };
      try {
        const alone = await run(1);
        for (const threads of [2, 3, 16]) {
          const together = await run(threads);
          for (const [i, array] of alone.entries()) expect(array.equals(together[i]!)).toBe(true);
        }
        expect(alone[1]!.numbers().reduce((a, x) => a + x, 0)).toBeCloseTo(
          noise(3 * 20 * 19 * 33, 5).reduce((a, x) => a + x, 0),
          1,
        );
      } finally {
        device.threads = 0;
      }
    },
  );

  it('gives the same for large products with what surrounds them as for one after the other', async () => {
    for (const [batch, m, k, n] of [
      [1, 700, 64, 600],
      [1, 300, 700, 130],
      [3, 130, 40, 1100],
      [1, 150, 64, 700], // cut by columns
      [1, 2000, 16, 20],
      [1, 300, 260, 10],
    ] as const) {
      const values = (count: number, seed: number, shape: readonly number[]) =>
        new NDArray(d.float32, shape, noise(count, seed));
      const run = async (joined: boolean, threads: number) => {
        const b = new SegmentBuilder();
        const shape = [batch, m, n];
        const a = b.bind(values(batch * m * k, 1, [batch, m, k]));
        const right = broadcast(b.bind(values(k * n, 2, [k, n])), [batch, k, n]);
        const bias = broadcast(b.bind(values(n, 3, [n])), shape);
        const old = b.bind(values(batch * m * n, 4, shape));
        const sum = b.bind(values(batch * m * n, 5, shape));
        const [product, result] = [b.temp(d.float32, shape), b.output(d.float32, shape)];
        const [x, y, z] = [e.input(0, d.float32), e.input(1, d.float32), e.input(2, d.float32)];
        const after: MapInstruction = {
          kind: 'map',
          shape,
          inputs: [product, bias, old],
          outputs: [result, old],
          results: [e.tanh(e.add(x, y)), e.sub(z, e.mul(x, 0.5))],
        };
        const dot = { kind: 'dot', a, b: right, output: product } as const;
        const add: MapInstruction = { ...after, inputs: [sum, product], outputs: [sum], results: [e.add(x, y)] };
        if (joined) b.add({ ...dot, after, passing: true }).add({ ...dot, plus: sum, output: sum });
        else b.add(dot).add(after).add(dot).add(add);
        const read = await b.run(device.withThreads(threads));
        return Promise.all([result, old, sum].map(read));
      };
      const apart = await run(false, 1);
      // A product in several passes is added to pass by pass, which rounds differently.
      for (const threads of [1, 2, 3])
        for (const [i, array] of (await run(true, threads)).entries())
          if (i < 2 || k < 320) expect(array.equals(apart[i]!)).toBe(true);
          else for (let j = 0; j < array.size; j += 7) expect(array.numberAt(j)).toBeCloseTo(apart[i]!.numberAt(j), 3);
    }
  });

  it('runs maps on pieces of the columns of a product, whether or not a loop is generated for them', async () => {
    const [m, k] = [60, 500];
    for (const n of [90, 100, 128, 161])
      for (const dtype of [d.float32, d.float64])
        for (const follow of [e.neg, e.lgamma]) {
          const array = (rows: number, columns: number, seed: number) =>
            fromElements(dtype, [rows, columns], [...noise(rows * columns, seed)]);
          const run = async (threads: number) => {
            const b = new SegmentBuilder();
            const [product, output] = [b.temp(dtype, [m, n]), b.output(dtype, [m, n])];
            const inputs = [product, broadcast(b.bind(array(1, n, 3)), [m, n]), b.bind(array(m, n, 4))];
            const [x, y, z] = inputs.map((_, i) => e.input(i, dtype));
            const results = [follow(e.add(e.mul(x!, y!), z!))];
            const after = { kind: 'map', shape: [m, n], inputs, outputs: [output], results } as const;
            const [left, right] = [b.bind(array(m, k, 1)), b.bind(array(k, n, 2))];
            b.add({ kind: 'dot', a: left, b: right, output: product, after, passing: true });
            return (await b.run(device.withThreads(threads)))(output);
          };
          const alone = await run(1);
          for (const threads of [2, 3]) expect((await run(threads)).equals(alone), `${dtype}, ${n} columns`).toBe(true);
        }
  });

  it('finds large constants, which have slots of their own, behind a product without memory', async () => {
    const [m, k, n] = [130, 20, 140];
    const array = (rows: number, columns: number, seed: number) =>
      new NDArray(d.float32, [rows, columns], noise(rows * columns, seed));
    const constants = Array.from({ length: 20 }, (_, i) => array(m, n, i));
    const run = async (passing: boolean) => {
      const b = new SegmentBuilder();
      const product = b.temp(d.float32, [m, n]);
      const output = b.output(d.float32, [m, n]);
      const inputs = [product, ...constants.map((c) => b.constant(c))];
      const results = [inputs.map((_, i) => e.input(i, d.float32)).reduce(e.add)];
      const after = { kind: 'map', shape: [m, n], inputs, outputs: [output], results } as const;
      const dot = { kind: 'dot', a: b.bind(array(m, k, 1)), b: b.bind(array(k, n, 2)), output: product } as const;
      if (passing) b.add({ ...dot, after, passing });
      else b.add(dot).add(after);
      return (await b.run(device))(output);
    };
    expect((await run(true)).equals(await run(false))).toBe(true);
  });

  it('keeps the memory of products apart from that of what follows them', async () => {
    // Sizes around those for which all of the first factor is packed, in sums of one pass and of several.
    for (const [m, k, n, pairs] of [
      [278, 206, 278, 1],
      [181, 100, 180, 2],
      [300, 300, 40, 1],
      [171, 192, 250, 1],
    ] as const) {
      const array = (rows: number, columns: number, seed: number) =>
        fromElements(d.float64, [rows, columns], [...noise(rows * columns, seed)]);
      const b = new SegmentBuilder();
      const factors = Array.from({ length: pairs }, (_, i) => ({
        a: b.bind(array(m, k, 2 * i + 1)),
        b: b.bind(array(k, n, 2 * i + 2)),
      }));
      const [x, y] = [e.input(0, d.float64), e.input(1, d.float64)];
      const [alone, followed, result] = [0, 0, 0].map(() => b.output(d.float64, [m, n]));
      // Across the product, so that it needs memory of its own.
      const other = restride(b.bind(array(n, m, 9)), [m, n], [1, m]);
      const inputs = [followed!, other];
      const after = {
        kind: 'map',
        shape: [m, n],
        inputs,
        outputs: [result!],
        results: [e.lgamma(e.add(x, y))],
      } as const;
      const dot = { kind: 'dot', ...factors[0]!, more: factors.slice(1) } as const;
      b.add({ ...dot, output: alone! }).add({ ...dot, output: followed!, after });
      const read = await b.run(device.withThreads(1));
      expect((await read(followed!)).equals(await read(alone!)), `${m} x ${k} x ${n}, ${pairs} of them`).toBe(true);
    }
  });

  it('shares a factor among pieces of a product, and gives the same as on one thread', async () => {
    const special = [undefined, Number.NaN, Number.POSITIVE_INFINITY] as const;
    for (const [m, k, n, pairs] of [
      [700, 64, 210, 1], // cut by rows
      [150, 300, 700, 1], // by columns
      [200, 32, 520, 5], // a sum of products
    ] as const)
      for (const [inA, inB] of special.flatMap((x) => [[x, undefined] as const, [undefined, x] as const])) {
        const matrix = (rows: number, columns: number, seed: number, odd: number | undefined) => {
          const values = noise(rows * columns, seed);
          if (odd !== undefined) values[(rows * columns) >> 1] = odd;
          return new NDArray(d.float32, [rows, columns], values);
        };
        const run = async (threads: number) => {
          const b = new SegmentBuilder();
          const factors = Array.from({ length: pairs }, (_, i) => ({
            a: b.bind(matrix(m, k, 2 * i + 1, inA)),
            b: b.bind(matrix(k, n, 2 * i + 2, inB)),
          }));
          const output = b.output(d.float32, [m, n]);
          b.add({ kind: 'dot', ...factors[0]!, more: factors.slice(1), output });
          return (await b.run(device.withThreads(threads)))(output);
        };
        const alone = await run(1);
        for (const threads of [2, 5]) {
          const shared = await run(threads);
          if (inA === inB) expect(shared.equals(alone)).toBe(true);
          // Which of the other rows are multiplied without the matrix unit depends on how the product is cut.
          const isNear = (x: number, y: number) => Object.is(x, y) || Math.abs(x - y) < 1e-4;
          expect(shared.numbers().every((x, i) => isNear(x, alone.numberAt(i)))).toBe(true);
        }
      }
  });

  it('transposes and broadcasts inside an expression over many blocks', async () => {
    const [n, m] = [517, 389];
    const b = new SegmentBuilder();
    const x = b.bind(new NDArray(d.float32, [m, n], noise(m * n)));
    const row = b.bind(new NDArray(d.float32, [m], noise(m, 2)));
    const column = b.bind(new NDArray(d.float32, [n, 1], noise(n, 3)));
    const output = b.output(d.float32, [n, m]);
    const inputs: View[] = [transpose(x, [1, 0]), broadcast(row, [n, m]), broadcast(column, [n, m])];
    const [p, q, r] = [e.input(0, d.float32), e.input(1, d.float32), e.input(2, d.float32)];
    b.add({ kind: 'map', shape: [n, m], inputs, outputs: [output], results: [e.add(e.mul(p, q), r)] });
    const got = (await (await b.run(device))(output)).data as Float32Array;
    const [xs, qs, rs] = [noise(m * n), noise(m, 2), noise(n, 3)];
    for (let i = 0; i < n; i += 7)
      for (let j = 0; j < m; j++) {
        const want = Math.fround(Math.fround(xs[j * n + i]! * qs[j]!) + rs[i]!);
        if (got[i * m + j] !== want) expect(got[i * m + j]).toBe(want);
      }
  });
}

/** A kernel long enough to leave the event loop, and one short enough not to; both add to the same counter. */
function counters(device: CpuDevice) {
  const build = (size: number, step: number) => {
    const b = new SegmentBuilder();
    const counter = b.output(d.float64, [1]);
    const scratch = b.temp(d.float64, [size]);
    const one: View = restride(scratch, [1], [1]);
    const x = e.input(0, d.float64);
    const spread = broadcast(counter, [size]);
    const wave = e.sin(e.mul(x, e.cast(e.index(0), d.float64)));
    b.add({ kind: 'map', shape: [size], inputs: [spread], outputs: [scratch], results: [wave] });
    b.add({ kind: 'map', shape: [1], inputs: [counter, one], outputs: [counter], results: [e.add(e.mul(x, 3), step)] });
    return device.compile(b.segment);
  };
  return { long: build(500_000, 1), short: build(4, 2) };
}

function takingTurns(device: CpuDevice): void {
  it('does short work at once and long work aside, in the order of the calls', async () => {
    const { long, short } = counters(device);
    const counter = device.allocate(8);
    const value = () => new Float64Array(counter.host!.buffer, counter.host!.byteOffset, 1)[0];
    expect(short.run([counter])).toBeUndefined();
    expect(value()).toBe(2);
    const aside = long.run([device.allocate(8)]);
    expect(aside).toBeInstanceOf(Promise);
    await aside;
    const order: string[] = [];
    const runs = [
      Promise.resolve(long.run([counter])).then(() => order.push('long')),
      Promise.resolve(short.run([counter])).then(() => order.push('short')),
      Promise.resolve(long.run([counter])).then(() => order.push('long again')),
    ];
    await Promise.all(runs);
    expect(order).toEqual(['long', 'short', 'long again']);
    expect(value()).toBe(((2 * 3 + 1) * 3 + 2) * 3 + 1);
    expect(short.run([counter])).toBeUndefined();
  });

  it('reports the failure of long work and goes on with what waits', async () => {
    const size = 3_000_000;
    const b = new SegmentBuilder();
    const x = b.output(d.int32, [size]);
    const y = b.output(d.int32, [size]);
    const [one, two] = [1, 2].map((value) => e.constant(value, d.int32)) as [e.Expr, e.Expr]; // powers take long
    const quotient = e.div(one, e.pow(e.input(0, d.int32), two));
    b.add({ kind: 'map', shape: [size], inputs: [x], outputs: [y], results: [quotient] });
    const failing = device.compile(b.segment).run(b.values.map((array) => device.fromHost(array)));
    const { short } = counters(device);
    const after = short.run([device.allocate(8)]);
    await expect(failing).rejects.toThrow(DeviceFailure);
    await expect(failing).rejects.toMatchObject({ failure: { code: 'divisionByZero', instruction: 0 } });
    await after;
  });
}

function refusals(device: CpuDevice): void {
  const copying = (change: (view: View) => View) => {
    const b = new SegmentBuilder();
    const x = b.input([1, 2, 3, 4], d.float32);
    const output = b.output(d.float32, [4]);
    b.add({ kind: 'map', shape: [4], inputs: [change(x)], outputs: [output], results: [e.input(0, d.float32)] });
    return b;
  };

  it('refuses views that reach outside their buffer', () => {
    for (const change of [
      (v: View) => restride(v, [4], [2]),
      (v: View) => restride(v, [4], [1], 1),
      (v: View) => restride(v, [4], [-1]),
      (v: View) => restride(v, [4], [0], -1),
    ])
      expect(() => device.compile(copying(change).segment)).toThrow(InternalError);
    expect(() => device.compile(copying((v) => restride(v, [4], [-1], 3)).segment)).not.toThrow();
  });

  it('refuses buffers that are too few, too small or gone', () => {
    const b = copying((v) => v);
    const kernel = device.compile(b.segment);
    const [x, y] = b.values.map((array) => device.fromHost(array.copy()));
    expect(() => kernel.run([x!])).toThrow(/binds 2 buffers, but 1/);
    expect(() => kernel.run([x!, device.allocate(12)])).toThrow(/needs 16 bytes, but has 12/);
    expect(() => kernel.run([{ bytes: 16 }, y!])).toThrow(InternalError);
    const moved = fromNested([1, 2, 3, 4], d.float32);
    const gone = device.fromHost(moved);
    structuredClone(moved.data.buffer, { transfer: [moved.data.buffer as ArrayBuffer] }); // made by a plain constructor
    expect(() => kernel.run([gone, y!])).toThrow(/needs 16 bytes, but has 0/);
    expect(kernel.run([x!, y!])).toBeUndefined();
  });

  it('refuses a program that the library finds inconsistent, in words', () => {
    const b = new SegmentBuilder();
    const [x, y] = [b.input([1], d.complex64), b.output(d.complex64, [1])];
    const input = e.input(0, d.complex64);
    b.add({ kind: 'map', shape: [1], inputs: [x], outputs: [y], results: [e.max(input, input)] });
    expect(() => device.compile(b.segment)).toThrow(/an operation is not defined for its type/);
  });

  it.each([
    ['copies small', 100, 1],
    ['does not copy large', 100_000, 5],
  ])('%s constants', async (_, size, first) => {
    const b = new SegmentBuilder();
    const data = new Float32Array(size).fill(1);
    const [x, y] = [b.constant(new NDArray(d.float32, [size], data)), b.output(d.float32, [size])];
    b.add({ kind: 'map', shape: [size], inputs: [x], outputs: [y], results: [e.neg(e.input(0, d.float32))] });
    const kernel = cpu!.compile(b.segment);
    data[0] = 5; // nobody does such a thing, but it shows where they are
    const result = cpu!.allocate(4 * size);
    await kernel.run([result]);
    expect(cpu!.toHost(result, d.float32, [size]).at(0)).toBe(-first);
    expect(cpu!.toHost(result, d.float32, [size]).at(size - 1)).toBe(-1);
  });

  it('keeps no room for factors of a program that is refused', () => {
    const all = 2 ** 30;
    const withFactor = () => {
      const b = new SegmentBuilder();
      const factor = b.constant(new NDArray(d.float32, [64, 64], noise(64 * 64)));
      return b.add({ kind: 'dot', a: b.output(d.float32, [64, 64]), b: factor, output: b.output(d.float32, [64, 64]) });
    };
    const [one, other] = [CpuDevice.open()!, CpuDevice.open()!]; // there are some, or this would not run
    one.compile(withFactor().segment);
    expect(one.shared.packRoom.take(all)).toBe(false);
    const refused = withFactor();
    const [x, y] = [refused.input([1], d.complex64), refused.output(d.complex64, [1])];
    const input = e.input(0, d.complex64);
    refused.add({ kind: 'map', shape: [1], inputs: [x], outputs: [y], results: [e.max(input, input)] });
    expect(() => other.compile(refused.segment)).toThrow(InternalError);
    expect(other.shared.packRoom.take(all)).toBe(true);
  });
}
