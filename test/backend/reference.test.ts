/** @file The reference device keeps the device contract. */
import { expect, it } from 'vitest';
import * as d from '../../src/core/dtypes.ts';
import { ReferenceDevice } from '../../src/devices/reference/device.ts';
import * as e from '../../src/program/expr.ts';
import { SegmentBuilder } from './build.ts';
import { deviceContract } from './contract.ts';

deviceContract('reference', () => new ReferenceDevice());

it('computes expressions of any depth', async () => {
  const b = new SegmentBuilder();
  const [x, output] = [b.input([1, -2], d.float64), b.output(d.float64, [2])];
  const value = e.input(0, d.float64);
  let sum: e.Expr = value;
  for (let i = 0; i < 50_000; i++) sum = e.add(sum, value);
  b.add({ kind: 'map', shape: [2], inputs: [x], outputs: [output], results: [sum] });
  expect((await (await b.run(new ReferenceDevice()))(output)).numbers()).toEqual([50_001, -100_002]);
});
