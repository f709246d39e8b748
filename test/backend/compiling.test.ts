/** @file The cpu device compiles large segments in turns, and makes large programs beside the event loop. */
import { describe, expect, it, vi } from 'vitest';
import * as d from '../../src/core/dtypes.ts';
import { NDArray } from '../../src/core/ndarray.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import * as e from '../../src/program/expr.ts';
import { turnsDuring } from '../turnsDuring.ts';
import { SegmentBuilder } from './build.ts';

const cpu = CpuDevice.open();
const x = e.input(0, d.float32);

/** A number that is counted up so many times. */
function counting(times: number): SegmentBuilder {
  const b = new SegmentBuilder();
  const counter = b.output(d.float32, [1]);
  for (let i = 0; i < times; i++)
    b.add({ kind: 'map', shape: [1], inputs: [counter], outputs: [counter], results: [e.add(x, 1)] });
  return b;
}

describe.skipIf(!cpu)('compiling in turns', () => {
  it.each([
    ['makes a small program at once', 10, 0],
    ['makes a large program beside the event loop', 2000, 1],
  ])('%s', async (_, times, aside) => {
    const create = vi.spyOn(cpu!.library, 'createAside');
    const kernel = await cpu!.compileInTurns(counting(times).segment);
    expect(create).toHaveBeenCalledTimes(aside);
    create.mockRestore();
    const counter = cpu!.fromHost(new NDArray(d.float32, [1], new Float32Array(1)));
    await kernel.run([counter]);
    expect(cpu!.toHost(counter, d.float32, [1]).at(0)).toBe(times);
  });

  it('lets others have their turn between instructions', async () => {
    const { segment } = counting(300); // too few for a program beside the event loop
    expect(await turnsDuring(() => cpu!.compileInTurns(segment))).toBeGreaterThan(100);
  });

  it.each([1, 2000])(
    'refuses one that makes no sense after %i that do, and keeps no room for its factors',
    async (times) => {
      const device = CpuDevice.open()!; // there is one, or this would not run
      const b = counting(times);
      const factor = b.constant(new NDArray(d.float32, [64, 64], new Float32Array(64 * 64)));
      b.add({ kind: 'dot', a: b.output(d.float32, [64, 64]), b: factor, output: b.output(d.float32, [64, 64]) });
      const [number, result] = [b.input([1], d.complex64), b.output(d.complex64, [1])];
      const input = e.input(0, d.complex64);
      b.add({ kind: 'map', shape: [1], inputs: [number], outputs: [result], results: [e.max(input, input)] });
      await expect(device.compileInTurns(b.segment)).rejects.toThrow(/an operation is not defined for its type/);
      expect(device.shared.packRoom.take(2 ** 30)).toBe(true);
    },
  );
});
