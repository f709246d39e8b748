/** @file Where: the coordinates of the true elements. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { zeros } from '../../core/ndarray.ts';
import { sizeOf, stridesOf } from '../../core/shape.ts';
import { attr, numberTypes } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';

/** How many elements of a vector of bools are true, as the size of a value with nothing in it. */
function countTrue(p: ProgramBuilder, isTrue: Value): number {
  const count = p.reduce('sum', isTrue, [0], { of: (x) => e.cast(x, d.int64) });
  const sized = p.host([count], [{ dtype: d.bool }], ([n]) => [zeros(d.bool, [n!.numberAt(0), 0])]);
  return sized[0]!.shape[0]!;
}

/** Positions of the true elements of a vector of bools, in order: each goes to where as many come before it. */
function positionsOf(p: ProgramBuilder, isTrue: Value): Value {
  const size = isTrue.shape[0]!;
  const found = countTrue(p, isTrue);
  const before = p.scan('sum', p.cast(isTrue, d.int64), 0, { exclusive: true, reverse: false });
  const to = p.map([isTrue, before], (x, n) => e.select(x!, n!, -1));
  const positions = p.fill(d.int64, [found, 1], 0);
  const numbers = p.generate([size, 1], (i) => i!);
  p.scatter('update', positions, p.reshape(to, [size, 1]), numbers, { bounds: 'drop' });
  return positions;
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
    const { shape } = input;
    if (sizeOf(shape) === 0) return { index: p.constant(zeros(d.int64, [0, shape.length])) };
    const flat = p.reshape(input, [sizeOf(shape)]);
    const positions = positionsOf(p, input.dtype === d.bool ? flat : p.map([flat], (x) => e.ne(x!, 0)));
    const axes = stridesOf(shape).map((step, axis) =>
      p.map([positions], (x) => e.floormod(e.floordiv(x!, step), shape[axis]!)),
    );
    return { index: axes.length === 1 ? positions : p.concat(axes, 1) };
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
    {
      given: {
        input: {
          dtype: 'complex64',
          value: [
            { re: 0, im: 0 },
            { re: 0, im: 1 },
            { re: 1, im: 0 },
          ],
        },
      },
      expect: { index: { dtype: 'int64', value: [[1], [2]] } },
    },
    {
      given: {
        input: {
          dtype: 'int32',
          value: [
            [
              [0, 1],
              [2, 0],
              [0, 0],
            ],
            [
              [0, 0],
              [0, 3],
              [4, 5],
            ],
          ],
        },
      },
      expect: {
        index: {
          dtype: 'int64',
          value: [
            [0, 0, 1],
            [0, 1, 0],
            [1, 1, 1],
            [1, 2, 0],
            [1, 2, 1],
          ],
        },
      },
    },
    {
      given: { input: { dtype: 'bool', value: [], shape: [0, 2] } },
      expect: { index: { dtype: 'int64', value: [], shape: [0, 2] } },
    },
    { given: { input: [false, false] }, expect: { index: { dtype: 'int64', value: [], shape: [0, 1] } } },
    { given: { input: true }, fails: /Unhandled input dimensions: 0/ },
  ],
});
