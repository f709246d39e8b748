/** @file Only the columns of a product that someone looks at are computed. */

import { describe, expect, it } from 'vitest';
import { float32 } from '../../../src/core/dtypes.ts';
import { finish } from '../../../src/core/eventLoop.ts';
import * as e from '../../../src/program/expr.ts';
import { Buffer, type DeviceInstruction, type DotInstruction, type View } from '../../../src/program/instructions.ts';
import { narrowProducts } from '../../../src/program/narrow.ts';
import { dense } from '../../../src/program/value.ts';

const dot: DotInstruction = {
  kind: 'dot',
  a: dense(new Buffer('bound', 4 * 8 * 3), float32, [8, 3]),
  b: dense(new Buffer('bound', 4 * 3 * 96), float32, [3, 96]),
  output: dense(new Buffer('temp', 4 * 8 * 96), float32, [8, 96]),
};
const window = (shape: number[], strides: number[], offset: number): View => ({
  ...dot.output,
  shape,
  strides,
  offset,
});
const reader = (view: View): DeviceInstruction => ({
  kind: 'map',
  shape: view.shape,
  inputs: [view],
  outputs: [dense(new Buffer('bound', 4 * 8 * 96), float32, view.shape)],
  results: [e.neg(e.input(0, float32))],
});

/** The columns that are computed when these views are read, as [first, count]. */
function computed(views: readonly View[], keep: Buffer[] = []): number[] {
  const [product] = finish(narrowProducts([dot, ...views.map(reader)], new Set(keep))) as [DotInstruction];
  expect(product.b.offset).toBe(product.output.offset);
  expect(product.b.shape).toEqual([3, product.output.shape[1]]);
  expect(product.output.strides).toEqual([96, 1]);
  return [product.output.offset, product.output.shape[1]!];
}

describe('narrow products', () => {
  it('leave out columns before and behind, in bundles', () => {
    expect(computed([window([8, 30], [96, 1], 33)])).toEqual([32, 32]);
    expect(computed([window([8, 16], [96, 1], 80)])).toEqual([80, 16]);
    expect(computed([window([8, 16], [96, 1], 64), window([8], [96], 20)])).toEqual([16, 64]);
    // Rows from behind, and every second column.
    expect(computed([window([4, 8], [-192, 2], 7 * 96 + 48)])).toEqual([48, 16]);
  });

  it('are whole where all is read, or who knows what', () => {
    const all = [0, 96];
    expect(computed([dot.output])).toEqual(all);
    expect(computed([window([8, 90], [96, 1], 3)])).toEqual(all);
    expect(computed([window([768], [1], 0)])).toEqual(all);
    expect(computed([window([8], [97], 0)])).toEqual(all);
    expect(computed([window([8, 16], [96, -1], 40)])).toEqual(all);
    expect(computed([window([8, 16], [96, 1], 0)], [dot.output.buffer])).toEqual(all);
  });

  it('are left alone when someone else writes there too', () => {
    const other = { ...dot };
    const program = [dot, other, reader(window([8, 16], [96, 1], 0))];
    expect(finish(narrowProducts(program, new Set()))).toEqual(program);
  });
});
