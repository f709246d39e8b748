/** @file Contract: buffers, kernels that run again, the order of instructions, timelines. */
import { expect, it } from 'vitest';
import { bfloat16, complex64, float32, int32, int64, string } from '../../../src/core/dtypes.ts';
import { fromNested } from '../../../src/core/ndarray.ts';
import type { Device } from '../../../src/devices/device.ts';
import { add, input, mul } from '../../../src/program/expr.ts';
import { Buffer } from '../../../src/program/instructions.ts';
import { SegmentBuilder, viewOf } from '../build.ts';
import { expectElements } from './expect.ts';

const x0 = input(0, float32);

export function memoryContract(device: Device): void {
  it('carries arrays to the device and back', async () => {
    for (const array of [
      fromNested(
        [
          [1.5, -2],
          [3, 4],
        ],
        float32,
      ),
      fromNested([1n, -(2n ** 62n)], int64),
      fromNested([{ re: 1, im: 2 }], complex64),
      fromNested([0.5], bfloat16),
      fromNested([], float32),
    ]) {
      const back = await device.toHost(device.fromHost(array), array.dtype, array.shape);
      expect(back.equals(array)).toBe(true);
    }
  });

  it('allocates memory that can be bound', async () => {
    const b = new SegmentBuilder();
    const x = b.input([1, 2, 3], float32);
    const y = b.output(float32, [3]);
    b.add({ kind: 'map', shape: [3], inputs: [x], outputs: [y], results: [add(x0, 1)] });
    const given = b.values.map((array) => device.fromHost(array));
    const out = device.allocate(12);
    expect(out.bytes).toBe(12);
    await device.compile(b.segment).run([given[0]!, out]);
    expectElements(await device.toHost(out, float32, [3]), [2, 3, 4]);
  });

  it('runs a kernel again on other buffers', async () => {
    const b = new SegmentBuilder();
    const x = b.input([0, 0], float32);
    const t = b.temp(float32, [2]);
    const y = b.output(float32, [2]);
    b.add({ kind: 'map', shape: [2], inputs: [x], outputs: [t], results: [mul(x0, x0)] });
    b.add({ kind: 'map', shape: [2], inputs: [t], outputs: [y], results: [add(x0, 1)] });
    const kernel = device.compile(b.segment);
    for (const [given, expected] of [
      [
        [1, 2],
        [2, 5],
      ],
      [
        [-3, 0],
        [10, 1],
      ],
    ] as const) {
      const out = device.allocate(8);
      await kernel.run([device.fromHost(fromNested(given, float32)), out]);
      expectElements(await device.toHost(out, float32, [2]), expected);
    }
  });

  it('keeps the scratch of two kernels apart from what a run leaves behind', async () => {
    const build = (factor: number) => {
      const b = new SegmentBuilder();
      const x = b.input([1, 2, 3], float32);
      const t = b.temp(float32, [3]);
      const u = b.temp(float32, [3]);
      const y = b.output(float32, [3]);
      b.add({ kind: 'map', shape: [3], inputs: [x], outputs: [t], results: [mul(x0, factor)] });
      b.add({ kind: 'map', shape: [3], inputs: [t], outputs: [u], results: [add(x0, 1)] });
      b.add({ kind: 'map', shape: [3], inputs: [t, u], outputs: [y], results: [add(x0, input(1, float32))] });
      return { b, y };
    };
    const first = build(10);
    const second = build(100);
    for (let round = 0; round < 2; round++) {
      expectElements(await (await first.b.run(device))(first.y), [21, 41, 61]);
      expectElements(await (await second.b.run(device))(second.y), [201, 401, 601]);
    }
  });

  it('reads constants, wherever their bytes begin', async () => {
    const bytes = new Uint8Array(13);
    bytes.set(fromNested([1.5, 2.5, 3.5], float32).bytes, 1);
    const b = new SegmentBuilder();
    const constant = viewOf(new Buffer('constant', 12, bytes.subarray(1)), float32, [3]);
    const y = b.output(float32, [3]);
    b.add({ kind: 'map', shape: [3], inputs: [constant], outputs: [y], results: [mul(x0, 2)] });
    expectElements(await (await b.run(device))(y), [3, 5, 7]);
  });

  it('runs an empty segment', async () => {
    await new SegmentBuilder().run(device);
  });

  it('copies the ids of objects', async () => {
    const b = new SegmentBuilder();
    const ids = viewOf(b.input([7, -1, 2 ** 31 - 1, 0], int32).buffer, string, [4]);
    const y = b.output(int32, [4]);
    const results = [input(0, string)];
    b.add({ kind: 'map', shape: [4], inputs: [ids], outputs: [viewOf(y.buffer, string, [4])], results });
    expectElements(await (await b.run(device))(y), [7, -1, 2 ** 31 - 1, 0]);
  });

  it('times every instruction when asked', async () => {
    const b = new SegmentBuilder();
    const x = b.input([1, 2], float32);
    const y = b.output(float32, [2]);
    for (let i = 0; i < 3; i++) b.add({ kind: 'map', shape: [2], inputs: [x], outputs: [y], results: [add(x0, i)] });
    const timeline = { start: new Float64Array(3), end: new Float64Array(3) };
    await device.compile(b.segment).run(
      b.values.map((array) => device.fromHost(array)),
      { timeline },
    );
    for (let i = 0; i < 3; i++) {
      expect(timeline.start[i]).toBeGreaterThan(0);
      expect(timeline.end[i]).toBeGreaterThanOrEqual(timeline.start[i]!);
      if (i > 0) expect(timeline.start[i]).toBeGreaterThanOrEqual(timeline.end[i - 1]!);
    }
  });
}
