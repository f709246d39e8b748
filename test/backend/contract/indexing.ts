/** @file Contract: `gather`, `scatter` and `check`. */
import { describe, expect, it } from 'vitest';
import * as d from '../../../src/core/dtypes.ts';
import { fromNested, type Nested } from '../../../src/core/ndarray.ts';
import type { Shape } from '../../../src/core/shape.ts';
import type { Device } from '../../../src/devices/device.ts';
import type { Combine, GatherInstruction, ScatterInstruction } from '../../../src/program/instructions.ts';
import { broadcast, restride, SegmentBuilder, transpose, viewOf } from '../build.ts';
import { expectElements, failureOf } from './expect.ts';

const anyDtypes = d.allDtypes.filter((dtype) => !dtype.isObject && !dtype.isComplex && !dtype.isBool);

interface Gathering {
  readonly params: Nested;
  readonly paramsShape: Shape;
  readonly indices: Nested;
  readonly dtype?: d.DType;
  readonly indexDtype?: d.DType;
  readonly bounds?: GatherInstruction['bounds'];
}

function gathering({
  params,
  paramsShape,
  indices,
  dtype = d.float32,
  indexDtype = d.int32,
  bounds = 'error',
}: Gathering) {
  const b = new SegmentBuilder();
  const from = b.bind(fromNested(params, dtype).reshape(paramsShape));
  const at = b.input(indices, indexDtype);
  const output = b.output(dtype, [paramsShape[0]!, paramsShape[1]!, at.shape[1]!, paramsShape.at(-1)!]);
  b.add({ kind: 'gather', params: from, indices: at, output, bounds });
  return { b, output };
}

const sequence = (n: number) => Array.from({ length: n }, (_, i) => i);

export function gatherContract(device: Device): void {
  const gathered = async (options: Gathering) => {
    const { b, output } = gathering(options);
    return (await b.run(device))(output);
  };

  it('takes rows, in every type', async () => {
    for (const dtype of anyDtypes)
      for (const indexDtype of [d.int32, d.int64]) {
        const options = { params: [1, 2, 3, 4, 5, 6], paramsShape: [1, 1, 3, 2], indices: [[[2], [0], [2]]] };
        expectElements(await gathered({ ...options, dtype, indexDtype }), [5, 6, 1, 2, 5, 6]);
      }
    const bools = { params: [true, false], paramsShape: [1, 1, 2, 1], indices: [[[1], [0]]], dtype: d.bool };
    expectElements(await gathered(bools), [false, true]);
    const complex = [
      { re: 1, im: 2 },
      { re: 3, im: 4 },
    ];
    for (const dtype of [d.complex64, d.complex128])
      expectElements(await gathered({ params: complex, paramsShape: [1, 1, 2, 1], indices: [[[1]]], dtype }), [
        complex[1]!,
      ]);
  });

  it('copies the ids of objects', async () => {
    const b = new SegmentBuilder();
    const params = viewOf(b.input([7, 8, 9], d.int32).buffer, d.string, [1, 1, 3, 1]);
    const y = b.output(d.int32, [2]);
    const output = viewOf(y.buffer, d.string, [1, 1, 2, 1]);
    b.add({ kind: 'gather', params, indices: b.input([[[2], [1]]], d.int32), output, bounds: 'error' });
    expectElements(await (await b.run(device))(y), [9, 8]);
  });

  it('takes along a middle axis, in batches, by several coordinates', async () => {
    expectElements(
      await gathered({ params: sequence(12), paramsShape: [1, 2, 3, 2], indices: [[[2], [1]]] }),
      [4, 5, 2, 3, 10, 11, 8, 9],
    );
    const batched = { params: sequence(12), paramsShape: [2, 1, 3, 2], indices: [[[0]], [[2]]] };
    expectElements(await gathered(batched), [0, 1, 10, 11]);
    const outer = {
      params: sequence(12),
      paramsShape: [2, 2, 3, 1],
      indices: [
        [[0], [2]],
        [[1], [1]],
      ],
    };
    expectElements(await gathered(outer), [0, 2, 3, 5, 7, 7, 10, 10]);
    const pairs = {
      params: sequence(12),
      paramsShape: [1, 1, 2, 3, 2],
      indices: [
        [
          [1, 2],
          [0, 1],
        ],
      ],
    };
    expectElements(await gathered(pairs), [10, 11, 2, 3]);
    const whole = { params: sequence(3), paramsShape: [1, 1, 3], indices: [[[], []]] };
    expectElements(await gathered(whole), [0, 1, 2, 0, 1, 2]);
  });

  it('gathers nothing', async () => {
    expect((await gathered({ params: sequence(4), paramsShape: [1, 1, 2, 2], indices: [[]] })).size).toBe(0);
    expect((await gathered({ params: [], paramsShape: [1, 1, 2, 0], indices: [[[1]]] })).size).toBe(0);
  });

  it('fails with the first bad index, its position and value', async () => {
    const failing = (indices: Nested, paramsShape: Shape, indexDtype: d.DType = d.int32) =>
      failureOf(gathering({ params: sequence(12), paramsShape, indices, indexDtype }).b, device);
    const base = { code: 'index', instruction: 0 } as const;
    expect(await failing([[[0], [5], [-9]]], [1, 1, 3, 4])).toEqual({ ...base, position: 1, value: 5 });
    expect(await failing([[[2], [1], [-1]]], [1, 1, 3, 4])).toEqual({ ...base, position: 2, value: -1 });
    expect(await failing([[[3n ** 30n]]], [1, 1, 3, 4], d.int64)).toEqual({ ...base, position: 0, value: 3 ** 30 });
    expect(
      await failing(
        [
          [
            [0, 0],
            [1, 3],
          ],
        ],
        [1, 1, 2, 3, 2],
      ),
    ).toEqual({ ...base, position: 3, value: 3 });
    expect(
      await failing(
        [
          [[0], [1]],
          [[2], [3]],
        ],
        [2, 1, 3, 2],
      ),
    ).toEqual({ ...base, position: 3, value: 3 });
  });

  it('takes many rows, narrow and wide, and fails with the first of many bad indices', async () => {
    for (const width of [1, 2, 3, 70]) {
      const [rows, count] = [500, 40_000];
      const params = sequence(rows * width);
      const at = sequence(count).map((i) => (i * 7919) % rows);
      const options = { params, paramsShape: [1, 1, rows, width] };
      const got = (await gathered({ ...options, indices: [at.map((i) => [i])] })).numbers();
      expect(got.findIndex((value, i) => value !== at[Math.floor(i / width)]! * width + (i % width))).toBe(-1);
      const bad = at.map((i, row) => [row % 9973 === 9972 ? rows + row : i]);
      const { b } = gathering({ ...options, indices: [bad] });
      expect(await failureOf(b, device)).toMatchObject({ position: 9972, value: rows + 9972 });
    }
  });

  it('fails on any index into nothing', async () => {
    const { b } = gathering({ params: [], paramsShape: [1, 1, 0, 2], indices: [[[0]]] });
    expect(await failureOf(b, device)).toMatchObject({ code: 'index', position: 0, value: 0 });
  });

  it('stores zero for a bad index when asked', async () => {
    const options = {
      params: [1, 2, 3, 4],
      paramsShape: [1, 1, 2, 2],
      indices: [[[7], [1], [-1]]],
      bounds: 'zero',
    } as const;
    expectElements(await gathered(options), [0, 0, 3, 4, 0, 0]);
  });
}

interface Scattering {
  readonly target: Nested;
  readonly indices: Nested;
  readonly updates: Nested;
  readonly combine?: Combine;
  readonly bounds?: ScatterInstruction['bounds'];
  readonly dtype?: d.DType;
  readonly indexDtype?: d.DType;
}

function scattering(options: Scattering) {
  const { combine = 'update', bounds = 'error', dtype = d.float32, indexDtype = d.int32 } = options;
  const b = new SegmentBuilder();
  const target = b.input(options.target, dtype);
  const indices = b.input(options.indices, indexDtype);
  b.add({ kind: 'scatter', combine, target, indices, updates: b.input(options.updates, dtype), bounds });
  return { b, target };
}

export function scatterContract(device: Device): void {
  const scattered = async (options: Scattering) => {
    const { b, target } = scattering(options);
    return (await b.run(device))(target);
  };

  it('combines in every way, duplicates in order', async () => {
    const base = {
      target: [
        [8, 8],
        [6, 6],
        [4, 4],
      ],
      indices: [[2], [0], [2]],
      updates: [
        [2, 1],
        [4, 2],
        [3, 5],
      ],
    };
    const expected: Record<Combine, number[]> = {
      update: [4, 2, 6, 6, 3, 5],
      add: [12, 10, 6, 6, 9, 10],
      sub: [4, 6, 6, 6, -1, -2],
      mul: [32, 16, 6, 6, 24, 20],
      div: [2, 4, 6, 6, 2 / 3, 0.8],
      min: [4, 2, 6, 6, 2, 1],
      max: [8, 8, 6, 6, 4, 5],
    };
    for (const combine of Object.keys(expected) as Combine[]) // the keys of a Record<Combine, …>
      for (const indexDtype of [d.int32, d.int64])
        expectElements(await scattered({ ...base, combine, indexDtype }), expected[combine], 1e-6);
  });

  it('adds in every type', async () => {
    for (const dtype of anyDtypes)
      expectElements(
        await scattered({ target: [[1], [2]], indices: [[1], [1]], updates: [[3], [4]], combine: 'add', dtype }),
        [1, 9],
      );
    const one = { re: 1, im: 2 };
    const options = { target: [[one]], indices: [[0], [0]], updates: [[one], [one]], combine: 'add' } as const;
    for (const dtype of [d.complex64, d.complex128])
      expectElements(await scattered({ ...options, dtype }), [{ re: 3, im: 6 }]);
    const bools = { target: [[false], [true]], indices: [[0], [1]], updates: [[true], [false]], dtype: d.bool };
    expectElements(await scattered(bools), [true, false]);
  });

  it('combines many rows, narrow and wide, in order', async () => {
    const [rows, count] = [50, 20_000];
    for (const width of [1, 5, 16, 150])
      for (const combine of ['add', 'update', 'max'] as const) {
        const at = sequence(count).map((i) => (width === 5 ? Math.floor((i * rows) / count) : (i * 7919) % rows));
        const updates = at.map((_, i) => sequence(width).map((c) => ((i * 31 + c * 7) % 17) - 8));
        const want = sequence(rows).map(() => new Array<number>(width).fill(1));
        for (const [i, row] of at.entries())
          for (let c = 0; c < width; c++) {
            const [x, y] = [want[row]![c]!, updates[i]![c]!];
            want[row]![c] = combine === 'add' ? x + y : combine === 'update' ? y : Math.max(x, y);
          }
        const target = sequence(rows).map(() => new Array<number>(width).fill(1));
        const got = await scattered({ target, indices: at.map((i) => [i]), updates, combine });
        expect(got.numbers()).toEqual(want.flat());
      }
  });

  it('wraps integers and passes NaN on', async () => {
    const wrap = { target: [[100]], indices: [[0]], updates: [[100]], combine: 'add', dtype: d.int8 } as const;
    expectElements(await scattered(wrap), [-56]);
    const nan = { target: [[1], [Number.NaN]], indices: [[0], [1]], updates: [[Number.NaN], [1]] };
    expectElements(await scattered({ ...nan, combine: 'max' }), [Number.NaN, Number.NaN]);
    expectElements(await scattered({ ...nan, combine: 'min' }), [Number.NaN, Number.NaN]);
  });

  it('stores the ids of objects', async () => {
    const b = new SegmentBuilder();
    const y = b.input([1, 2, 3], d.int32);
    const target = viewOf(y.buffer, d.string, [3, 1]);
    const updates = viewOf(b.input([9], d.int32).buffer, d.string, [1, 1]);
    b.add({ kind: 'scatter', combine: 'update', target, indices: b.input([[1]], d.int32), updates, bounds: 'error' });
    expectElements(await (await b.run(device))(y), [1, 9, 3]);
  });

  it('goes by several coordinates, or none', async () => {
    const target = [
      [
        [0, 0],
        [0, 0],
      ],
      [
        [0, 0],
        [0, 0],
      ],
    ];
    const options = {
      target,
      indices: [
        [1, 0],
        [0, 1],
      ],
      updates: [
        [1, 2],
        [3, 4],
      ],
    };
    expectElements(await scattered(options), [0, 0, 3, 4, 1, 2, 0, 0]);
    expectElements(
      await scattered({
        target: [1, 2],
        indices: [[], []],
        updates: [
          [10, 20],
          [1, 1],
        ],
        combine: 'add',
      }),
      [12, 23],
    );
  });

  it('reads strided updates', async () => {
    const b = new SegmentBuilder();
    const target = b.output(d.float32, [3, 2]);
    const indices = b.input([[0], [2], [2]], d.int32);
    const updates = transpose(
      b.input(
        [
          [1, 2, 3],
          [4, 5, 6],
        ],
        d.float32,
      ),
      [1, 0],
    );
    b.add({ kind: 'scatter', combine: 'add', target, indices, updates, bounds: 'error' });
    const one = broadcast(b.input(1, d.float32), [3, 2]);
    b.add({ kind: 'scatter', combine: 'add', target, indices, updates: one, bounds: 'error' });
    expectElements(await (await b.run(device))(target), [2, 5, 0, 0, 7, 13]);
  });

  it('scatters nothing', async () => {
    const b = new SegmentBuilder();
    const target = b.input([[1, 2]], d.float32);
    const indices = viewOf(b.output(d.int32, [0, 1]).buffer, d.int32, [0, 1]);
    const updates = restride(b.input([1], d.float32), [0, 2], [2, 1]);
    b.add({ kind: 'scatter', combine: 'add', target, indices, updates, bounds: 'error' });
    expectElements(await (await b.run(device))(target), [1, 2]);
  });

  it('fails with the first bad index and leaves the target as it was', async () => {
    const { b, target } = scattering({ target: [[1], [2]], indices: [[0], [2], [-1]], updates: [[5], [6], [7]] });
    const kernel = device.compile(b.segment);
    const buffers = b.values.map((array) => device.fromHost(array));
    await expect(async () => kernel.run(buffers)).rejects.toMatchObject({
      failure: { code: 'index', instruction: 0, position: 1, value: 2 },
    });
    expectElements(await device.toHost(buffers[b.segment.bound.indexOf(target.buffer)]!, d.float32, [2, 1]), [1, 2]);
    const pairs = scattering({
      target: [[[0], [0]]],
      indices: [
        [0, 1],
        [0, 2],
      ],
      updates: [[1], [1]],
    });
    expect(await failureOf(pairs.b, device)).toMatchObject({ code: 'index', position: 3, value: 2 });
  });

  it('drops what it is told to drop', async () => {
    const base = { target: [[1], [2]], updates: [[10], [20], [30]], combine: 'add' } as const;
    expectElements(await scattered({ ...base, indices: [[-1], [1], [7]], bounds: 'drop' }), [1, 22]);
    expectElements(await scattered({ ...base, indices: [[-1], [1], [0]], bounds: 'dropNegative' }), [31, 22]);
    const tooLarge = scattering({ ...base, indices: [[-1], [1], [7]], bounds: 'dropNegative' });
    expect(await failureOf(tooLarge.b, device)).toMatchObject({ code: 'index', position: 2, value: 7 });
    const pairs = {
      target: [[[0], [0]]],
      indices: [
        [0, 1],
        [0, -1],
        [3, 0],
      ],
      updates: [[1], [2], [3]],
    };
    expectElements(await scattered({ ...pairs, bounds: 'drop' }), [0, 1]);
  });

  it('fails on integer division by zero', async () => {
    const { b } = scattering({ target: [[1]], indices: [[0]], updates: [[0]], combine: 'div', dtype: d.int32 });
    expect(await failureOf(b, device)).toMatchObject({ code: 'divisionByZero', instruction: 0 });
  });
}

export function checkContract(device: Device): void {
  it('passes when all is false and fails at the first true', async () => {
    for (const [values, position] of [
      [[false, false, false], -1],
      [[], -1],
      [[false, true, true], 1],
    ] as const) {
      const b = new SegmentBuilder();
      const input = b.input(values, d.bool);
      b.add({ kind: 'check', input: b.output(d.bool, []) });
      b.add({ kind: 'check', input });
      if (position < 0) await b.run(device);
      else expect(await failureOf(b, device)).toMatchObject({ code: 'check', instruction: 1, position });
    }
  });

  it('looks through strides', async () => {
    const b = new SegmentBuilder();
    const whole = b.input(
      [
        [false, true],
        [false, true],
        [false, true],
      ],
      d.bool,
    );
    b.add({ kind: 'check', input: restride(whole, [3], [2], 0) });
    b.add({ kind: 'check', input: restride(whole, [2, 3], [1, 2], 0) });
    expect(await failureOf(b, device)).toMatchObject({ code: 'check', instruction: 1, position: 3 });
  });

  it('stops before the instructions behind it', async () => {
    const b = new SegmentBuilder();
    const y = b.output(d.float32, [1]);
    b.add({ kind: 'check', input: b.input([true], d.bool) });
    const one = { op: 'const', dtype: d.float32, value: 1 } as const;
    b.add({ kind: 'map', shape: [1], inputs: [], outputs: [y], results: [one] });
    const buffers = b.values.map((array) => device.fromHost(array));
    const kernel = device.compile(b.segment);
    await expect(async () => kernel.run(buffers)).rejects.toMatchObject({ failure: { code: 'check' } });
    expectElements(await device.toHost(buffers[0]!, d.float32, [1]), [0]);
  });
}

/** Everything that goes by index. */
export function indexingContracts(device: Device): void {
  describe('gather', () => gatherContract(device));
  describe('scatter', () => scatterContract(device));
  describe('check', () => checkContract(device));
}
