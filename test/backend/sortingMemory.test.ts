/** @file Sorting a long row leaves none of the memory that it took. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import * as d from '../../src/core/dtypes.ts';
import { NDArray } from '../../src/core/ndarray.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import { SegmentBuilder } from './build.ts';

const device = CpuDevice.open();
const status = '/proc/self/status';
const megabyte = 2 ** 20;

it.runIf(device && existsSync(status))(
  'a row of eight million numbers is sorted in memory that goes back',
  async () => {
    const n = 8 * megabyte;
    const builder = new SegmentBuilder();
    const row = new NDArray(
      d.float32,
      [1, n],
      Float32Array.from({ length: n }, (_, i) => (i * 7919) % n),
    );
    const [values, indices] = [builder.output(d.float32, [1, n]), builder.output(d.int32, [1, n])];
    builder.add({ kind: 'topk', input: builder.bind(row), values, indices });
    const kernel = device!.compile(builder.segment);
    const buffers = builder.values.map((array) => device!.fromHost(array));
    const held = () => (Number(/VmRSS:\s+(\d+)/.exec(readFileSync(status, 'utf8'))![1]) * 1024) / megabyte; // Linux has it
    const before = held();
    await kernel.run(buffers);
    // Two results of 32 MB are there for the first time; the sorting took 128 MB.
    expect(held() - before).toBeLessThan(64 + 48);
  },
);
