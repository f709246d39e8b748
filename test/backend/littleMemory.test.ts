/** @file Products where there is no memory left to keep a factor packed. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import * as d from '../../src/core/dtypes.ts';
import { NDArray } from '../../src/core/ndarray.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import { SegmentBuilder } from './build.ts';

const device = CpuDevice.open();
const canLimit = spawnSync('prlimit', ['--version']).status === 0;
const megabyte = 2 ** 20;

/** Calls `body` while this process, which runs no other tests, can have only so many bytes more. */
async function withBytesLeft(bytes: number, body: () => Promise<void>): Promise<void> {
  const limit = (value: string) => execFileSync('prlimit', ['--pid', `${process.pid}`, `--as=${value}`]);
  const kilobytes = Number(/VmSize:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))![1]); // Linux has it, as prlimit
  limit(`${kilobytes * 1024 + bytes}:`);
  try {
    await body();
  } finally {
    limit('unlimited:');
  }
}

it.runIf(device && canLimit)('are computed as if it would not last', async () => {
  const [m, k, n] = [64, 6144, 6144];
  const builder = new SegmentBuilder();
  const filled = (shape: readonly [number, number], value: number) =>
    new NDArray(d.float32, shape, new Float32Array(shape[0] * shape[1]).fill(value));
  const weights = builder.bind(filled([k, n], 0.5), {});
  builder.add({
    kind: 'dot',
    a: builder.bind(filled([m, k], 1)),
    b: weights,
    output: builder.output(d.float32, [m, n]),
  });
  const kernel = device!.compile(builder.segment);
  const buffers = builder.values.map((array) => device!.fromHost(array));
  // The first run keeps nothing, as it is not known yet whether the factor will be the same; packed it takes 216 MB.
  await kernel.run(buffers);
  await withBytesLeft(192 * megabyte, async () => {
    for (const run of [1, 2, 3]) {
      const product = new Float32Array(buffers[2]!.host!.buffer).fill(0);
      await kernel.run(buffers);
      expect(
        product.findIndex((x) => x !== k / 2),
        `run ${run}`,
      ).toBe(-1);
    }
  });
  await kernel.run(buffers);
});
