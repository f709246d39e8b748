/** @file Many normals of the cpu device are TensorFlow's, bit for bit: enough for rare arguments, for vectors and what is left of them. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as d from '../../src/core/dtypes.ts';
import { NDArray } from '../../src/core/ndarray.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import { philoxState } from '../../src/program/philoxState.ts';
import { SegmentBuilder } from './build.ts';

const cpu = CpuDevice.open();
const path = new URL('../golden/randomDigests.json', import.meta.url);
/** Written by tools/golden/randomDigests.py. */
const golden = JSON.parse(readFileSync(path, 'utf8')) as {
  readonly count: number;
  readonly seed: number;
  readonly seed2: number;
  readonly normal: string;
  readonly truncatedNormal: string;
};

async function draw(distribution: 'normal' | 'truncatedNormal', dtype: d.DType, count: number): Promise<Uint8Array> {
  const b = new SegmentBuilder();
  const state = b.bind(new NDArray(d.uint8, [24], philoxState(golden.seed, golden.seed2)));
  const output = b.output(dtype, [count]);
  b.add({ kind: 'random', distribution, state, reserve: 0, output });
  return (await (await b.run(cpu!))(output)).bytes;
}

describe.runIf(cpu)('normals of the cpu device', () => {
  for (const distribution of ['normal', 'truncatedNormal'] as const) {
    it(`${distribution} are TensorFlow's`, async () => {
      const bytes = await draw(distribution, d.float32, golden.count);
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(golden[distribution]);
    });

    it.each([d.float32, d.float64])(`fewer ${distribution} of $name are the first of many`, async (dtype) => {
      const many = await draw(distribution, dtype, 3000);
      for (const count of [1, 2, 3, 5, 15, 16, 17, 31, 1023, 1025, 2047])
        expect(await draw(distribution, dtype, count)).toEqual(many.slice(0, count * dtype.size));
    });
  }
});
