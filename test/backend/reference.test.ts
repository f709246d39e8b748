/** @file The reference device keeps the device contract. */
import { expect, it } from 'vitest';
import { float32, int32 } from '../../src/core/dtypes.ts';
import { ReferenceDevice } from '../../src/devices/reference/device.ts';
import { add, input, mul } from '../../src/program/expr.ts';
import { SegmentBuilder } from './build.ts';

it('runs a map, a dot and a gather', async () => {
  const b = new SegmentBuilder();
  const x = b.input(
    [
      [1, 2],
      [3, 4],
    ],
    float32,
  );
  const t = b.temp(float32, [2, 2]);
  const y = b.output(float32, [2, 2]);
  const z = b.output(float32, [1, 1, 1, 2]);
  const i0 = input(0, float32);
  b.add({ kind: 'map', shape: [2, 2], inputs: [x], outputs: [t], results: [add(mul(i0, i0), 1)] });
  b.add({ kind: 'dot', a: x, b: t, output: y });
  b.add({
    kind: 'gather',
    params: { ...y, shape: [1, 1, 2, 2], strides: [4, 4, 2, 1] },
    indices: b.input([[[1]]], int32),
    output: z,
    bounds: 'error',
  });
  const read = await b.run(new ReferenceDevice());
  expect((await read(y)).numbers()).toEqual([22, 39, 46, 83]);
  expect((await read(z)).numbers()).toEqual([46, 83]);
});
