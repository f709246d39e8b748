/** @file Where: the coordinates of the true elements. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Complex, NDArray } from '../../core/ndarray.ts';
import { stridesOf } from '../../core/shape.ts';
import { attr, numberTypes } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';

/** Row-major coordinates of the elements that are not zero. */
function coordinates(x: NDArray): NDArray {
  const found: number[] = [];
  for (let i = 0; i < x.size; i++) {
    const value = x.at(i);
    const isZero =
      typeof value === 'object' ? (value as Complex).re === 0 && (value as Complex).im === 0 : Number(value) === 0; // objects here are complex numbers
    if (!isZero) found.push(i);
  }
  const strides = stridesOf(x.shape);
  const data = new BigInt64Array(found.length * x.rank);
  for (const [row, flat] of found.entries())
    for (const [axis, step] of strides.entries())
      data[row * x.rank + axis] = BigInt(Math.floor(flat / step) % x.shape[axis]!);
  return new NDArray(d.int64, [found.length, x.rank], data);
}

export const Where = defineOp({
  name: 'Where',
  isSizedByData: true,
  inputs: { input: 'T' },
  outputs: { index: 'int64' },
  attrs: {
    T: attr('type', {
      allowed: [...numberTypes, d.bool],
      default: d.bool,
    }),
  },
  shape: ({ input }) => ({ index: [null, input?.length ?? null] }),
  grad: notDifferentiable,
  lower(p, { input }) {
    if (input.shape.length === 0) throw new InvalidArgumentError('WhereOp : Unhandled input dimensions: 0');
    return { index: p.host([input], [{ dtype: d.int64 }], ([x]) => [coordinates(x!)])[0]! };
  },
  cases: () => [
    { shape: '[2, ?] -> [?, 2]' },
    { shape: '? -> [?, ?]' },
    {
      given: {
        input: [
          [true, false],
          [false, true],
        ],
      },
      expect: {
        index: {
          dtype: 'int64',
          value: [
            [0, 0],
            [1, 1],
          ],
        },
      },
    },
    { given: { input: [0, 1.5, Number.NaN] }, expect: { index: { dtype: 'int64', value: [[1], [2]] } } },
    { given: { input: [false, false] }, expect: { index: { dtype: 'int64', value: [], shape: [0, 1] } } },
    { given: { input: true }, fails: /Unhandled input dimensions: 0/ },
  ],
});
