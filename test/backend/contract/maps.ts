/** @file Contract: how `map` walks over views, several outputs, in-place updates, index expressions, failures. */
import { expect, it } from 'vitest';
import {
  bool,
  complex64,
  type DType,
  float16,
  float32,
  float64,
  int32,
  int64,
  uint8,
} from '../../../src/core/dtypes.ts';
import { fromNested } from '../../../src/core/ndarray.ts';
import type { Device } from '../../../src/devices/device.ts';
import * as e from '../../../src/program/expr.ts';
import { broadcast, restride, reverse, SegmentBuilder, transpose } from '../build.ts';
import { expectElements, failureOf, operation } from './expect.ts';

const x0 = e.input(0, float32);
const x1 = e.input(1, float32);
const sequence = (n: number, from = 0) => Array.from({ length: n }, (_, i) => i + from);

export function mapContract(device: Device): void {
  it('broadcasts through zero strides', async () => {
    const b = new SegmentBuilder();
    const row = broadcast(b.input([1, 2, 3], float32), [2, 3]);
    const column = broadcast(b.input([[10], [20]], float32), [2, 3]);
    const y = b.output(float32, [2, 3]);
    b.add({ kind: 'map', shape: [2, 3], inputs: [row, column], outputs: [y], results: [e.add(x0, x1)] });
    expectElements(await (await b.run(device))(y), [11, 12, 13, 21, 22, 23]);
  });

  it('fills from a scalar and from a constant', async () => {
    const b = new SegmentBuilder();
    const y = b.output(float32, [5]);
    const z = b.output(float32, [5]);
    const one = broadcast(b.input(2.5, float32), [5]);
    b.add({ kind: 'map', shape: [5], inputs: [one], outputs: [y], results: [x0] });
    b.add({ kind: 'map', shape: [5], inputs: [], outputs: [z], results: [e.constant(-1.5, float32)] });
    const read = await b.run(device);
    expectElements(await read(y), [2.5, 2.5, 2.5, 2.5, 2.5]);
    expectElements(await read(z), [-1.5, -1.5, -1.5, -1.5, -1.5]);
  });

  it('transposes, reverses and slices inputs', async () => {
    const b = new SegmentBuilder();
    const x = b.input(
      [
        [0, 1, 2],
        [3, 4, 5],
      ],
      float32,
    );
    const transposed = b.output(float32, [3, 2]);
    const reversed = b.output(float32, [2, 3]);
    const sliced = b.output(float32, [2, 2]);
    b.add({ kind: 'map', shape: [3, 2], inputs: [transpose(x, [1, 0])], outputs: [transposed], results: [x0] });
    b.add({ kind: 'map', shape: [2, 3], inputs: [reverse(reverse(x, 0), 1)], outputs: [reversed], results: [x0] });
    const everyOther = restride(x, [2, 2], [3, 2], 0);
    b.add({ kind: 'map', shape: [2, 2], inputs: [everyOther], outputs: [sliced], results: [x0] });
    const read = await b.run(device);
    expectElements(await read(transposed), [0, 3, 1, 4, 2, 5]);
    expectElements(await read(reversed), [5, 4, 3, 2, 1, 0]);
    expectElements(await read(sliced), [0, 2, 3, 5]);
  });

  it('writes strided, reversed and offset outputs and nothing beside them', async () => {
    const b = new SegmentBuilder();
    const x = b.input(
      [
        [1, 2],
        [3, 4],
      ],
      float32,
    );
    const y = b.output(float32, [3, 4]);
    const inside = restride(y, [2, 2], [4, 1], 5);
    b.add({ kind: 'map', shape: [2, 2], inputs: [x], outputs: [reverse(inside, 1)], results: [x0] });
    const z = b.output(float32, [7]);
    b.add({ kind: 'map', shape: [2, 2], inputs: [x], outputs: [restride(z, [2, 2], [1, 2], 1)], results: [x0] });
    const read = await b.run(device);
    expectElements(await read(y), [0, 0, 0, 0, 0, 2, 1, 0, 0, 4, 3, 0]);
    expectElements(await read(z), [0, 1, 3, 2, 4, 0, 0]);
  });

  it('reads and writes views that begin inside a buffer', async () => {
    const b = new SegmentBuilder();
    const x = b.input(sequence(10), float32);
    const y = b.output(float32, [10]);
    const window = restride(x, [4], [1], 3);
    b.add({ kind: 'map', shape: [4], inputs: [window], outputs: [restride(y, [4], [-2], 9)], results: [x0] });
    expectElements(await (await b.run(device))(y), [0, 0, 0, 6, 0, 5, 0, 4, 0, 3]);
  });

  it('handles scalars, empty shapes and rank 6', async () => {
    const b = new SegmentBuilder();
    const s = b.input(3, float32);
    const scalar = b.output(float32, []);
    b.add({ kind: 'map', shape: [], inputs: [s], outputs: [scalar], results: [e.mul(x0, x0)] });
    const empty = b.output(float32, [2, 0, 3]);
    b.add({
      kind: 'map',
      shape: [2, 0, 3],
      inputs: [b.input([[[], []]], float32)].map((v) => restride(v, [2, 0, 3], [0, 3, 1])),
      outputs: [empty],
      results: [x0],
    });
    const shape = [2, 3, 1, 2, 2, 3];
    const deep = b.bind(fromNested(sequence(72), float32).reshape(shape));
    const turned = b.output(float32, [3, 2, 2, 1, 3, 2]);
    const order = [5, 4, 3, 2, 1, 0];
    b.add({ kind: 'map', shape: turned.shape, inputs: [transpose(deep, order)], outputs: [turned], results: [x0] });
    const read = await b.run(device);
    expectElements(await read(scalar), [9]);
    expect((await read(empty)).shape).toEqual([2, 0, 3]);
    const expected: number[] = [];
    for (const i of sequence(3))
      for (const j of sequence(2))
        for (const k of sequence(2))
          for (const m of sequence(3)) for (const n of sequence(2)) expected.push(n * 36 + m * 12 + k * 6 + j * 3 + i);
    expectElements(await read(turned), expected);
  });

  it('handles lengths around the width of vector registers', async () => {
    for (const n of [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 1000, 4099]) {
      const b = new SegmentBuilder();
      const x = b.input(sequence(n), float32);
      const y = b.output(float32, [n]);
      b.add({ kind: 'map', shape: [n], inputs: [x], outputs: [y], results: [e.add(e.mul(x0, 2), 1)] });
      expectElements(
        await (await b.run(device))(y),
        sequence(n).map((i) => 2 * i + 1),
      );
    }
  });

  it('updates in place, several outputs at once', async () => {
    const b = new SegmentBuilder();
    const x = b.input([1, 2, 3, 4, 5], float32);
    const y = b.input([10, 20, 30, 40, 50], float32);
    const sum = b.output(float64, [5]);
    // x and y change places while their sum goes elsewhere: every result is computed from the old values.
    b.add({
      kind: 'map',
      shape: [5],
      inputs: [x, y],
      outputs: [x, y, sum],
      results: [x1, x0, e.cast(e.add(x0, x1), float64)],
    });
    const read = await b.run(device);
    expectElements(await read(x), [10, 20, 30, 40, 50]);
    expectElements(await read(y), [1, 2, 3, 4, 5]);
    expectElements(await read(sum), [11, 22, 33, 44, 55]);
  });

  it('updates a strided view in place', async () => {
    const b = new SegmentBuilder();
    const x = b.input(
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
      float32,
    );
    const turned = transpose(x, [1, 0]);
    b.add({ kind: 'map', shape: [3, 2], inputs: [turned], outputs: [turned], results: [e.neg(x0)] });
    expectElements(await (await b.run(device))(x), [-1, -2, -3, -4, -5, -6]);
  });

  it('gives index expressions the position along each axis', async () => {
    const b = new SegmentBuilder();
    const y = b.output(int64, [2, 3]);
    const mask = b.output(bool, [2, 3]);
    const hot = b.output(float32, [3, 4]);
    const result = e.add(e.mul(e.index(0), 10), e.index(1));
    b.add({
      kind: 'map',
      shape: [2, 3],
      inputs: [],
      outputs: [y, mask],
      results: [result, e.lt(e.index(1), e.index(0))],
    });
    const labels = broadcast(b.input([[2], [0], [5]], int32), [3, 4]);
    const equal = e.eq(e.cast(e.input(0, int32), int64), e.index(1));
    const value = e.select(equal, e.constant(1, float32), e.constant(0, float32));
    b.add({ kind: 'map', shape: [3, 4], inputs: [labels], outputs: [hot], results: [value] });
    const read = await b.run(device);
    expectElements(await read(y), [0, 1, 2, 10, 11, 12]);
    expectElements(await read(mask), [false, false, false, true, false, false]);
    expectElements(await read(hot), [0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
  });

  it('mixes types of different sizes', async () => {
    const b = new SegmentBuilder();
    const inputs = [
      b.input([1, 0, 1, 0, 1], bool),
      b.input([1.5, 2.5, 3.5, 4.5, 5.5], float64),
      b.input([1, 2, 3, 4, 5], uint8),
      b.input([0.5, 0.25, 0.125, 1, 2], float16),
    ];
    const y = b.output(float64, [5]);
    const z = b.output(complex64, [5]);
    const chosen = e.select(e.input(0, bool), e.input(1, float64), e.cast(e.input(2, uint8), float64));
    const small = e.cast(e.input(3, float16), float64);
    const pair = e.complex(e.cast(chosen, float32), e.cast(small, float32), complex64);
    b.add({ kind: 'map', shape: [5], inputs, outputs: [y, z], results: [e.add(chosen, small), pair] });
    const read = await b.run(device);
    expectElements(await read(y), [2, 2.25, 3.625, 5, 7.5]);
    const parts = [[1.5, 0.5], [2, 0.25], [3.5, 0.125], [4, 1], [5.5, 2]] as const; // biome-ignore format: pairs
    expectElements(
      await read(z),
      parts.map(([re, im]) => ({ re, im })),
    );
  });

  it('computes a shared node once and a deep chain at all', async () => {
    // Without sharing this would take 2^40 additions.
    let doubled: e.Expr = x0;
    for (let i = 0; i < 40; i++) doubled = e.mul(e.add(doubled, doubled), 0.5);
    const b = new SegmentBuilder();
    const x = b.input([1, 3], float32);
    const y = b.output(float32, [2]);
    b.add({ kind: 'map', shape: [2], inputs: [x], outputs: [y], results: [doubled] });
    expectElements(await (await b.run(device))(y), [1, 3]);
  });

  it('fails on integer division by zero and says which instruction', async () => {
    const ops = ['div', 'floordiv', 'floormod', 'truncmod'] as const;
    for (const dtype of [int32, int64, uint8] as DType[])
      for (const op of ops) {
        const b = new SegmentBuilder();
        const x = b.input([4, 5, 6], dtype);
        const zeroAtEnd = b.input([1, 2, 0], dtype);
        const y = b.output(dtype, [3]);
        const copy = { kind: 'map', shape: [3], inputs: [x], outputs: [y], results: [e.input(0, dtype)] } as const;
        const result = operation(op)(e.input(0, dtype), e.input(1, dtype));
        b.add(copy).add(copy);
        b.add({ kind: 'map', shape: [3], inputs: [x, zeroAtEnd], outputs: [y], results: [result] });
        expect(await failureOf(b, device)).toMatchObject({ code: 'divisionByZero', instruction: 2 });
      }
  });

  it('fails on a negative integer power, not on a negative float power', async () => {
    for (const dtype of [int32, int64] as DType[]) {
      const b = new SegmentBuilder();
      const y = b.output(dtype, [2]);
      const inputs = [b.input([2, 2], dtype), b.input([3, -1], dtype)];
      const results = [e.pow(e.input(0, dtype), e.input(1, dtype))];
      b.add({ kind: 'map', shape: [2], inputs, outputs: [y], results });
      expect(await failureOf(b, device)).toMatchObject({ code: 'negativePower', instruction: 0 });
    }
  });

  it('runs well again after a failure', async () => {
    const b = new SegmentBuilder();
    b.input(
      [
        [4, 6],
        [8, 10],
      ],
      int32,
    );
    const [x, divisor] = [
      b.input(
        [
          [4, 6],
          [8, 10],
        ],
        int32,
      ),
      b.input(
        [
          [2, 0],
          [4, 5],
        ],
        int32,
      ),
    ];
    const y = b.output(int32, [2, 2]);
    const results = [e.div(e.input(0, int32), e.input(1, int32))];
    b.add({ kind: 'map', shape: [2, 2], inputs: [x, divisor], outputs: [y], results });
    const kernel = device.compile(b.segment);
    const values = b.values.map((array) => array.copy());
    await expect(async () => kernel.run(values.map((array) => device.fromHost(array)))).rejects.toThrow(
      /divisionByZero/,
    );
    values[2] = fromNested(
      [
        [2, 3],
        [4, 5],
      ],
      int32,
    );
    const buffers = values.map((array) => device.fromHost(array));
    await kernel.run(buffers);
    expectElements(await device.toHost(buffers[3]!, int32, [2, 2]), [2, 2, 2, 2]);
  });
}
