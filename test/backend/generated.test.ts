/** @file Loops that the cpu device generates give the bits that the same expressions give node by node, and the rows of the reference. */
import { describe, expect, it } from 'vitest';
import * as d from '../../src/core/dtypes.ts';
import { NDArray } from '../../src/core/ndarray.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import { ReferenceDevice } from '../../src/devices/reference/device.ts';
import * as e from '../../src/program/expr.ts';
import { Buffer, type MapInstruction, type ReduceInstruction, type View } from '../../src/program/instructions.ts';
import { broadcast, restride, reverse, SegmentBuilder, viewOf } from './build.ts';
import { Chance } from './fuzz/chance.ts';

const cpu = CpuDevice.open();
const { NaN: nan, POSITIVE_INFINITY: inf } = Number;
const awkward = [0, -0, 1, -1, 0.1, -3.7, 1e-30, 1e30, inf, -inf, nan, 2 ** -126, 3e38, 88, -87.5, 0.62, -0.63];

/** Awkward numbers among some that are nothing special. */
function numbers(shape: readonly number[], chance: Chance): NDArray {
  const length = shape.reduce((a, b) => a * b, 1);
  const value = () => (chance.happens(0.3) ? chance.pick(awkward) : chance.integer(-4000, 4000) / 1000);
  return new NDArray(d.float32, shape, Float32Array.from({ length }, value));
}

/** Bits, in which all NaN are one: which of them comes out is not said anywhere. */
function bitsOf({ bytes }: NDArray): Uint32Array {
  const floats = new Float32Array(bytes.slice().buffer).map((x) => (Number.isNaN(x) ? nan : x));
  return new Uint32Array(floats.buffer);
}

/** What an expression's inputs are: float32 of four kinds, an integer and a truth value. */
const [dense, row, column, scalar] = [0, 1, 2, 3].map((i) => e.input(i, d.float32)) as [e.Expr, e.Expr, e.Expr, e.Expr];
const integer = e.input(4, d.int32);
const truth = e.input(5, d.bool);

/** Results over [rows, columns]; where memory between them is not left alone, a loop cannot be generated. */
async function results(expressions: readonly e.Expr[], rows: number, columns: number, generated: boolean) {
  const chance = new Chance(7);
  const b = new SegmentBuilder();
  const shape = [rows, columns];
  const whole = Int32Array.from({ length: rows * columns }, () => chance.integer(-3, 3));
  const truths = Uint8Array.from({ length: rows * columns }, () => Number(chance.happens(0.5)));
  const inputs = [
    b.bind(numbers(shape, chance)),
    broadcast(b.bind(numbers([columns], chance)), shape),
    broadcast(b.bind(numbers([rows, 1], chance)), shape),
    broadcast(b.bind(numbers([], chance)), shape),
    b.bind(new NDArray(d.int32, shape, whole)),
    b.bind(new NDArray(d.bool, shape, truths)),
  ];
  const step = generated ? 1 : 2;
  const outputs = expressions.map((x) => b.output(x.dtype, [rows, columns, step]));
  const views = outputs.map((view) => restride(view, shape, [columns * step, step]));
  b.add({ kind: 'map', shape, inputs, outputs: views, results: expressions });
  const read = await b.run(cpu!);
  return Promise.all(
    outputs.map(async (view, i) => {
      const array = await read(view);
      const every = (_: unknown, k: number) => k % step === 0;
      return expressions[i]!.dtype === d.bool ? array.bytes.filter(every) : bitsOf(array).filter(every);
    }),
  );
}

const sizes = [
  [1, 1],
  [1, 37],
  [5, 8],
  [3, 15],
  [40, 16],
  [7, 100],
  [2, 1500],
] as const;

async function expectSame(expressions: readonly e.Expr[]): Promise<void> {
  for (const [rows, columns] of sizes)
    expect(await results(expressions, rows, columns, true)).toEqual(await results(expressions, rows, columns, false));
}

const unary = [
  'neg',
  'abs',
  'floor',
  'ceil',
  'rint',
  'sqrt',
  'rsqrt',
  'reciprocal',
  'square',
  'exp',
  'tanh',
  'sigmoid',
] as const;
const binary = ['add', 'sub', 'mul', 'div', 'max', 'min'] as const;
const compare = ['eq', 'ne', 'lt', 'le', 'gt', 'ge'] as const;

/** An expression of float32 with about so many operations, of all that can be generated. */
function randomExpression(chance: Chance, operations: number): e.Expr {
  const known: e.Expr[] = [dense, row, column, scalar, e.cast(integer, d.float32), e.constant(0.3, d.float32)];
  const truths: e.Expr[] = [truth];
  for (let i = 0; i < operations; i++) {
    const [x, y] = [chance.pick(known.slice(-12)), chance.pick(known)];
    const kind = chance.integer(0, 9);
    if (kind < 6) known.push(e[chance.pick(binary)](x, y));
    else if (kind < 8) known.push(e[chance.pick(unary)](x));
    else if (kind === 8) truths.push(e[chance.pick(compare)](x, y));
    else known.push(e.select(chance.pick(truths.slice(-3)), x, y));
  }
  return known.slice(-9).reduce((x, y) => e.max(x, y));
}

describe.runIf(cpu)('generated loops', () => {
  it.each(unary)('%s', (op) => expectSame([dense, row, column, scalar].map((x) => e[op](x))));
  it.each(binary)('%s', (op) =>
    expectSame([
      e[op](dense, row),
      e[op](column, dense),
      e[op](scalar, column),
      e[op](dense, 0.5),
      e[op](2, row),
      e[op](dense, dense),
    ]),
  );
  it.each(compare)('%s', (op) =>
    expectSame([
      e[op](dense, row),
      e[op](integer, 1),
      e.cast(e[op](column, dense), d.float32),
      e.select(e[op](integer, -2), row, column),
    ]),
  );
  it.each(['max', 'min'] as const)('%s of a constant that is NaN', (op) =>
    expectSame([e[op](e.constant(nan, d.float32), dense), e[op](dense, e.constant(nan, d.float32)), e[op](inf, dense)]),
  );
  it('truth values', () =>
    expectSame([
      e.not(truth),
      e.and(truth, e.gt(dense, 0)),
      e.or(truth, e.isnan(dense)),
      e.xor(e.isfinite(dense), truth),
      e.select(truth, dense, 0),
      e.cast(dense, d.bool),
      truth,
    ]));
  it('integers', () => expectSame([e.cast(integer, d.float32), e.select(truth, integer, 7), integer]));
  it('more truth values at once than registers for them', () => {
    const all = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => e.gt(dense, n / 4 - 1));
    const odd = all.reduce((x, y) => e.xor(x, y));
    const some = all.reduceRight((x, y) => e.or(x, y));
    return expectSame([e.and(odd, some), ...all]);
  });
  it('more operands than registers for their addresses', () => {
    const all = Array.from({ length: 14 }, (_, i) => e.add(e.mul(dense, i), row));
    return expectSame(all);
  });
  it('chains of all operations, which need more registers than there are', async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const chance = new Chance(seed);
      const expressions = Array.from({ length: chance.integer(1, 4) }, () =>
        randomExpression(chance, chance.integer(3, 60)),
      );
      await expectSame(expressions);
    }
  });
  it.each(['exp', 'tanh', 'sigmoid'] as const)('%s of more values than there are registers', (op) => {
    const values = Array.from({ length: 40 }, (_, i) => e.add(e.mul(dense, i - 20.5), row));
    return expectSame([
      values.map((x) => e[op](x)).reduce((x, y) => e.add(x, y)),
      values.reduce((x, y) => e.max(x, y)),
    ]);
  });
  it.each([300, 700, 5000])('%i values at once, with or without room for them on the stack', async (count) => {
    const values = Array.from({ length: count }, (_, i) => e.mul(dense, i + 0.1));
    const sum = [...values, ...values].reduce((x, y) => e.add(e.mul(x, 0.5), y));
    expect(await results([sum], 40, 10, true)).toEqual(await results([sum], 40, 10, false));
  });
  it.each([
    ['a sum of a number and a truth value', { ...e.add(dense, row), args: [dense, truth] }],
    ['a choice by a number', { ...e.select(truth, dense, row), args: [row, dense, dense] }],
    ['a choice between types', { ...e.select(truth, dense, row), args: [truth, dense, integer] }],
  ] as [string, e.Expr][])('refuses a program that the library finds inconsistent: %s', async (_, mistyped) => {
    await expect(results([mistyped], 3, 40, true)).rejects.toThrow(/the arguments of an operation differ in type/);
  });
  it('quotients by powers of two whose inverse counts as zero, and by others', () =>
    expectSame([127, 120, 99, -99, -126].map((exponent) => e.div(dense, 2 ** exponent))));
  it('inputs with room between their elements', async () => {
    const b = new SegmentBuilder();
    const x = b.bind(
      new NDArray(
        d.float32,
        [60],
        Float32Array.from({ length: 60 }, (_, i) => i),
      ),
    );
    const y = b.output(d.float32, [30]);
    b.add({ kind: 'map', shape: [30], inputs: [restride(x, [30], [2])], outputs: [y], results: [e.add(dense, 1)] });
    expect((await (await b.run(cpu!))(y)).numbers()).toEqual(Array.from({ length: 30 }, (_, i) => 2 * i + 1));
  });
  it('rows backwards', async () => {
    const b = new SegmentBuilder();
    const shape = [4, 30];
    const values = Float32Array.from({ length: 120 }, (_, i) => i);
    const x = b.bind(new NDArray(d.float32, shape, values));
    const y = b.output(d.float32, [4, 50]);
    const inputs = [reverse(x, 0), x];
    const output = reverse(restride(y, shape, [50, 1]), 0);
    b.add({ kind: 'map', shape, inputs, outputs: [output], results: [e.sub(dense, row)] });
    const found = (await (await b.run(cpu!))(y)).numbers();
    const expected = Array.from({ length: 200 }, (_, i) => (i % 50 < 30 ? 30 * (2 * Math.floor(i / 50) - 3) : 0));
    expect(found).toEqual(expected);
  });
  it('results written over their input', async () => {
    const b = new SegmentBuilder();
    const values = Float32Array.from({ length: 100 }, (_, i) => i - 50);
    const x = b.bind(new NDArray(d.float32, [100], values));
    const y = b.output(d.float32, [100]);
    const input = e.input(0, d.float32);
    b.add({ kind: 'map', shape: [100], inputs: [x], outputs: [x, y], results: [e.mul(input, 2), e.add(input, 1)] });
    const read = await b.run(cpu!);
    expect((await read(x)).numbers()).toEqual([...values.map((v) => v * 2)]);
    expect((await read(y)).numbers()).toEqual([...values.map((v) => v + 1)]);
  });
});

type Step = MapInstruction | ReduceInstruction;

/** Steps over the rows of one array, with memory that only they use. */
class Rows {
  readonly builder = new SegmentBuilder();
  readonly locals = new Set<Buffer>();
  readonly steps: Step[] = [];
  readonly outputs: View[] = [];

  constructor(
    readonly rows: number,
    readonly columns: number,
  ) {}

  get shape(): number[] {
    return [this.rows, this.columns];
  }
  local(shape: readonly number[]): View {
    const buffer = new Buffer(
      'temp',
      shape.reduce((a, b) => a * b, 4),
    );
    this.locals.add(buffer);
    return viewOf(buffer, d.float32, shape);
  }
  output(shape: readonly number[]): View {
    const view = this.builder.output(d.float32, shape);
    this.outputs.push(view);
    return view;
  }
  /** A result of each row, for all of its columns. */
  spread(view: View): View {
    return restride(view, this.shape, [1, 0]);
  }
  map(result: e.Expr, inputs: readonly View[], output: View): View {
    this.steps.push({ kind: 'map', shape: output.shape, inputs, outputs: [output], results: [result] });
    return output;
  }
  fold(op: 'sum' | 'max' | 'min' | 'prod', axis: number, result: e.Expr, inputs: readonly View[], output: View): View {
    this.steps.push({ kind: 'reduce', op, shape: this.shape, axes: [axis], inputs, result, output });
    return output;
  }
  async expectLikeReference(digits: number): Promise<void> {
    this.builder.add({ kind: 'blocks', rows: this.rows, steps: this.steps, locals: this.locals });
    const [mine, others] = [await this.builder.run(cpu!), await this.builder.run(new ReferenceDevice())];
    for (const view of this.outputs) {
      const [found, expected] = [(await mine(view)).numbers(), (await others(view)).numbers()];
      const isNear = (x: number, y: number) =>
        Object.is(x, y) || x === y || Math.abs(x - y) < 10 ** -digits * Math.max(1, Math.abs(y));
      expect(expected.flatMap((x, i) => (isNear(found[i]!, x) ? [] : [[i, found[i], x]]))).toEqual([]);
    }
  }
}

const [x0, x1, x2, x3] = [0, 1, 2, 3].map((i) => e.input(i, d.float32)) as [e.Expr, e.Expr, e.Expr, e.Expr];
const widths = [2, 16, 17, 60, 64, 129, 1000, 7000, 20_000, 40_000];

describe.runIf(cpu)('results that no cache holds', () => {
  /** Runs a map over `shape` in memory of the device, which begins with a line; `input` says what is in the first operand. */
  async function run(
    instruction: MapInstruction,
    threads: number,
    input: (i: number) => number,
  ): Promise<Float32Array[]> {
    const device = cpu!.withThreads(threads);
    const bound = [...new Set([...instruction.inputs, ...instruction.outputs].map(({ buffer }) => buffer))];
    const buffers = bound.map(({ bytes }) => device.allocate(bytes));
    const floats = buffers.map(({ host }) => new Float32Array(host!.buffer, host!.byteOffset, host!.length / 4));
    for (const [k, array] of floats.entries()) for (let i = 0; i < array.length; i++) array[i] = k === 0 ? input(i) : 1;
    await device.compile({ instructions: [instruction], arenaBytes: 0, arena: new Map(), bound }).run(buffers);
    return floats;
  }
  const floatsOf = (shape: readonly number[], more = 0) => {
    const length = shape.reduce((a, b) => a * b, 1) + more;
    return viewOf(new Buffer('bound', 4 * length), d.float32, shape);
  };

  /** x + 1 and x + 2, written from an element of their memory on. */
  async function check(shape: readonly number[], from: number, threads: number): Promise<void> {
    // With a row for all rows these stay rows.
    const inputs = [floatsOf(shape), broadcast(floatsOf(shape.slice(-1)), shape)];
    const outputs = [1, 2].map(() => floatsOf(shape, from)).map((v) => restride(v, shape, v.strides, from));
    const results = [e.add(x0, x1), e.add(x0, 2)];
    const found = await run({ kind: 'map', shape, inputs, outputs, results }, threads, (i) => i % 8191);
    for (const added of [1, 2]) {
      const wrong = found[1 + added]!.findIndex((x, i) => x !== (i < from ? 1 : ((i - from) % 8191) + added));
      expect(wrong, `x + ${added}`).toBe(-1);
    }
  }
  it.each([1, 2])('are whole on %d threads', (threads) => check([8_400_007], 0, threads));
  it('may begin within a line of memory', () => check([8_400_007], 3, 1));
  it('may have rows that begin with lines of memory', () => check([8401, 1008], 0, 2));
  it('may have rows that begin within lines of memory', () => check([8401, 1001], 0, 2));

  it('may be written over what they are made of', async () => {
    const x = floatsOf([8_400_007]);
    const map = { kind: 'map', shape: x.shape, inputs: [x], outputs: [x], results: [e.mul(x0, 3)] } as const;
    const [found] = await run(map, 2, () => 1);
    expect(new Set(found)).toEqual(new Set([3]));
  });
});

describe.runIf(cpu)('generated loops over rows', () => {
  it.each(widths)('a norm of rows of %i and its sums across them', async (columns) => {
    for (const rows of columns > 100 ? [9] : [8, 37]) {
      const chance = new Chance(rows);
      const r = new Rows(rows, columns);
      const smooth = (shape: readonly number[]) =>
        r.builder.bind(
          new NDArray(
            d.float32,
            shape,
            Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => chance.integer(-99, 99) / 50),
          ),
        );
      const [x, gain, shift] = [
        smooth(r.shape),
        broadcast(smooth([columns]), r.shape),
        broadcast(smooth([columns]), r.shape),
      ];
      const mean = r.map(e.div(x0, columns), [r.fold('sum', 1, x0, [x], r.local([rows]))], r.output([rows]));
      const apart = r.map(e.sub(x0, x1), [x, r.spread(mean)], r.local(r.shape));
      const power = r.fold('sum', 1, e.square(x0), [apart], r.local([rows]));
      const scale = r.map(e.rsqrt(e.add(e.div(x0, columns), 1e-3)), [power], r.local([rows]));
      const normal = r.map(e.mul(x0, x1), [apart, r.spread(scale)], r.output(r.shape));
      const result = r.map(e.add(e.mul(x0, x1), x2), [normal, gain, shift], r.output(r.shape));
      r.fold('sum', 0, e.mul(x0, x1), [normal, x], r.output([columns]));
      r.fold('max', 0, x0, [result], r.output([columns]));
      r.fold('min', 1, x0, [result], r.output([rows]));
      await r.expectLikeReference(3);
    }
  });

  it.each(widths)('softmax of rows of %i, and its gradient', async (columns) => {
    const rows = columns > 100 ? 9 : 50;
    const chance = new Chance(columns);
    const r = new Rows(rows, columns);
    const x = r.builder.bind(numbers(r.shape, chance));
    const labels = Int32Array.from({ length: rows }, () => chance.integer(0, columns - 1));
    const label = restride(r.builder.bind(new NDArray(d.int32, [rows], labels)), r.shape, [1, 0]);
    const positions = Int32Array.from({ length: columns }, (_, i) => i);
    const position = broadcast(r.builder.bind(new NDArray(d.int32, [columns], positions)), r.shape);
    const largest = r.fold('max', 1, x0, [x], r.local([rows]));
    const power = r.map(e.exp(e.sub(x0, x1)), [x, r.spread(largest)], r.local(r.shape));
    const sum = r.fold('sum', 1, x0, [power], r.local([rows]));
    const share = r.map(
      e.mul(x0, x1),
      [power, r.spread(r.map(e.reciprocal(x0), [sum], r.local([rows])))],
      r.output(r.shape),
    );
    const isLabel = e.eq(e.input(1, d.int32), e.input(2, d.int32));
    const gradient = r.map(e.select(isLabel, e.sub(x0, 1), x0), [share, position, label], r.output(r.shape));
    r.fold('sum', 0, x0, [gradient], r.output([columns]));
    r.fold('prod', 1, e.max(x0, 0.5), [share], r.output([rows]));
    await r.expectLikeReference(5);
  });

  it('rows written over what they were computed from', async () => {
    const r = new Rows(40, 33);
    const x = r.builder.bind(numbers(r.shape, new Chance(3)));
    r.outputs.push(x);
    const sum = r.fold('max', 1, x0, [x], r.output([40]));
    r.map(e.sub(x0, x1), [x, r.spread(sum)], x);
    r.fold('min', 1, x0, [x], r.output([40]));
    r.fold('sum', 0, e.abs(x0), [x], r.output([33]));
    await r.expectLikeReference(5);
  });

  it('rows written over only after a later phase has read them', async () => {
    const r = new Rows(40, 33);
    const x = r.builder.bind(numbers(r.shape, new Chance(6)));
    r.outputs.push(x);
    const largest = r.fold('max', 1, x0, [x], r.output([40]));
    r.map(e.sub(x0, x1), [x, r.spread(largest)], r.output(r.shape));
    r.map(e.add(x0, 1), [x], x);
    await r.expectLikeReference(5);
  });

  it('rows written twice', async () => {
    const r = new Rows(25, 40);
    const x = r.builder.bind(numbers(r.shape, new Chance(4)));
    const [y, z] = [r.output(r.shape), r.output(r.shape)];
    r.map(e.add(x0, 1), [x], y);
    const largest = r.fold('max', 1, x0, [y], r.output([25]));
    r.map(e.sub(x0, x1), [y, r.spread(largest)], z);
    r.map(e.mul(x0, 3), [x], y);
    r.map(e.abs(x0), [y], x);
    r.outputs.push(x);
    await r.expectLikeReference(5);
  });

  it('rows that others want, and that a later phase reads', async () => {
    const r = new Rows(25, 40);
    const x = r.map(e.add(x0, 1), [r.builder.bind(numbers(r.shape, new Chance(4)))], r.output(r.shape));
    const largest = r.fold('max', 1, x0, [x], r.output([25]));
    r.map(e.sub(x0, x1), [x, r.spread(largest)], r.output(r.shape));
    await r.expectLikeReference(5);
  });

  it('steps with more phases than a loop has, and others between them', async () => {
    const r = new Rows(20, 50);
    let x = r.builder.bind(
      new NDArray(
        d.float32,
        r.shape,
        Float32Array.from({ length: 1000 }, (_, i) => Math.sin(i)),
      ),
    );
    for (let i = 0; i < 12; i++) {
      const largest = r.fold('max', 1, x0, [x], i % 3 === 0 ? r.output([20]) : r.local([20]));
      // There is no loop for a logarithm.
      const next = i === 5 ? e.log1p(e.abs(x0)) : e.add(e.mul(x0, 0.9), e.mul(x1, 0.05));
      x = r.map(next, [x, r.spread(largest)], i === 11 ? r.output(r.shape) : r.local(r.shape));
    }
    await r.expectLikeReference(5);
  });

  it('an extreme of zeros is the same zero in all columns of its row', async () => {
    const r = new Rows(20, 70);
    const chance = new Chance(5);
    const zeros = Float32Array.from({ length: 1400 }, () => chance.pick([0, -0]));
    const x = r.builder.bind(new NDArray(d.float32, r.shape, zeros));
    for (const op of ['max', 'min'] as const)
      r.map(e.mul(x1, e.add(e.abs(x0), 1)), [x, r.spread(r.fold(op, 1, x0, [x], r.output([20])))], r.output(r.shape));
    r.builder.add({ kind: 'blocks', rows: 20, steps: r.steps, locals: r.locals });
    const read = await r.builder.run(cpu!);
    const [largest, spread, smallest, spreadToo] = await Promise.all(
      r.outputs.map(async (v) => (await read(v)).numbers()),
    );
    const repeated = (values: readonly unknown[]) => Array.from({ length: 1400 }, (_, i) => values[Math.floor(i / 70)]);
    expect([spread, spreadToo]).toEqual([repeated(largest!), repeated(smallest!)]);
  });

  it('results across more blocks of rows than are collected apart', async () => {
    const r = new Rows(3000, 129);
    const values = Float32Array.from({ length: 3000 * 129 }, (_, i) => (i % 37) - 18);
    const x = r.builder.bind(new NDArray(d.float32, r.shape, values));
    const y = r.map(e.add(x0, 1), [x], r.local(r.shape));
    r.fold('sum', 0, x0, [y], r.output([129]));
    r.fold('max', 0, e.mul(x0, 3), [y], r.output([129]));
    await r.expectLikeReference(6);
  });

  it.each([
    ['one each', [40, 200, 150]],
    ['three, and one in the last', [40, 20, 150]],
  ])('results across rows and along columns at once, in blocks of rows: %s', async (_, shape) => {
    const r = new Rows(shape[0]!, shape[1]! * shape[2]!);
    const values = Float32Array.from({ length: r.rows * r.columns }, (_, i) => (i % 37) - 18);
    const x = r.builder.bind(new NDArray(d.float32, shape, values));
    for (const result of [x0, e.square(x0)])
      r.steps.push({
        kind: 'reduce',
        op: 'sum',
        shape,
        axes: [0, 2],
        inputs: [x],
        result,
        output: r.output([shape[1]!]),
      });
    await r.expectLikeReference(6);
  });

  it('sums of negative zeros are zero', async () => {
    const r = new Rows(20, 37);
    const x = r.builder.bind(new NDArray(d.float32, r.shape, new Float32Array(740).fill(-0)));
    r.fold('sum', 1, x0, [x], r.output([20]));
    r.fold('sum', 0, x0, [x], r.output([37]));
    r.builder.add({ kind: 'blocks', rows: 20, steps: r.steps, locals: r.locals });
    const read = await r.builder.run(cpu!);
    for (const view of r.outputs) expect((await read(view)).numbers().every((sum) => Object.is(sum, 0))).toBe(true);
  });

  it('four sums of one row, and a fifth', async () => {
    const r = new Rows(30, 70);
    const inputs = [1, 2, 3, 4].map((seed) =>
      r.builder.bind(
        new NDArray(
          d.float32,
          r.shape,
          Float32Array.from({ length: 2100 }, (_, i) => Math.sin(i * seed)),
        ),
      ),
    );
    for (const x of [x0, e.mul(x0, x1), e.add(x2, x3), e.square(x3), e.sub(x0, x3)])
      r.fold('sum', 1, x, inputs, r.output([30]));
    await r.expectLikeReference(4);
  });
});
