/** @file Roll and UnravelIndex. */
import { int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { sizeOf, stridesOf } from '../../core/shape.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, indexTypes } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { cast, floordiv, floormod, ge, lt } from '../../program/map.ts';
import { atLeastRank, int32or64, type Named } from './common.ts';
import { negative } from './neighbours.ts';

export const Roll = defineOp({
  name: 'Roll',
  inputs: { input: 'T', shift: 'Tshift', axis: 'Taxis' },
  outputs: { output: 'T' },
  attrs: { T: anyType, Tshift: int32or64, Taxis: int32or64 },
  hostInputs: ['shift', 'axis'],
  shape: ({ input }) => ({ output: atLeastRank(input, 1, 'input') }),
  grad: ({ inputs: { shift, axis } }, { output: dy }) => ({ input: roll(dy, negative(shift), axis) }),
  lower(p, { input, shift, axis }) {
    if (input.shape.length < 1) throw new InvalidArgumentError('input must be 1-D or higher');
    if (shift.shape.length > 1) throw new InvalidArgumentError('shift must be a scalar or a 1-D vector.');
    if (axis.shape.length > 1) throw new InvalidArgumentError('axis must be a scalar or a 1-D vector.');
    const shifts = p.demandInts(shift);
    const axes = p.demandInts(axis);
    if (shifts.length !== axes.length) throw new InvalidArgumentError('shift and axis must have the same size');
    let output = input;
    for (const [k, given] of axes.entries()) {
      const rank = input.shape.length;
      if (given < -rank || given >= rank) throw new InvalidArgumentError(`axis ${given} is out of range`);
      const at = given < 0 ? given + rank : given;
      const size = input.shape[at]!;
      const by = size === 0 ? 0 : ((shifts[k]! % size) + size) % size;
      if (by === 0) continue;
      const piece = (begin: number, count: number) =>
        p.slice(
          output,
          input.shape.map((_, i) => (i === at ? begin : 0)),
          input.shape.map((d, i) => (i === at ? count : d)),
        );
      output = p.concat([piece(size - by, by), piece(0, size - by)], at);
    }
    return { output };
  },
  cases: () => [
    { shape: '[2, ?], [], [] -> [2, ?]' },
    {
      given: { input: [0, 1, 2, 3, 4], shift: { dtype: 'int32', value: 2 }, axis: { dtype: 'int32', value: 0 } },
      expect: { output: [3, 4, 0, 1, 2] },
    },
    {
      given: {
        input: [
          [0, 1, 2],
          [3, 4, 5],
        ],
        shift: { dtype: 'int64', value: [1, -1] },
        axis: { dtype: 'int64', value: [0, 1] },
      },
      expect: {
        output: [
          [4, 5, 3],
          [1, 2, 0],
        ],
      },
    },
    {
      given: { input: ['a', 'b'], shift: { dtype: 'int32', value: 1 }, axis: { dtype: 'int32', value: -1 } },
      expect: { output: ['b', 'a'] },
    },
  ],
});

/**
 * Elements moved along axes; what falls off one end comes in at the other. Adds one `Roll` node.
 *
 * @example tf.roll(tf.constant([0, 1, 2, 3]), 1, 0) // runs to [3 0 1 2]
 */
export function roll(input: TensorLike, shift: TensorLike, axis: TensorLike, options: Named = {}): Tensor {
  return Roll.build({ input, shift, axis }, options).output;
}

export const UnravelIndex = defineOp({
  name: 'UnravelIndex',
  inputs: { indices: 'Tidx', dims: 'Tidx' },
  outputs: { output: 'Tidx' },
  attrs: { Tidx: indexTypes },
  hostInputs: ['dims'],
  shape({ indices, dims }) {
    const axes = dims?.[0] ?? null;
    if (indices === null) return { output: null };
    return {
      output:
        indices.length === 0
          ? [axes]
          : [axes, indices.reduce<number | null>((n, d) => (n === null || d === null ? null : n * d), 1)],
    };
  },
  grad: notDifferentiable,
  lower(p, { indices, dims }, { Tidx }) {
    const sizes = p.demandInts(dims);
    if (dims.shape.length !== 1) throw new InvalidArgumentError(`The dims must be a 1-D vector.`);
    const total = sizeOf(sizes);
    const outside = () => new InvalidArgumentError('index is out of bound as with dims');
    p.check(
      p.map([indices], (i) => ge(i, total)),
      outside,
    );
    p.check(
      p.map([indices], (i) => lt(i, 0)),
      outside,
    );
    const count = sizeOf(indices.shape);
    const flat = p.reshape(indices, [count]);
    const strides = stridesOf(sizes);
    const rows = sizes.map((size, axis) =>
      p.reshape(
        p.map([flat], (i) => cast(floormod(floordiv(cast(i, int64), strides[axis]!), size), Tidx)),
        [1, count],
      ),
    );
    const all = p.concat(rows, 0);
    return { output: indices.shape.length === 0 ? p.reshape(all, [sizes.length]) : all };
  },
  cases: () => [
    { shape: '[4], [2] -> [2, 4]' },
    {
      given: { indices: { dtype: 'int32', value: [2, 5, 7] }, dims: { dtype: 'int32', value: [3, 3] } },
      expect: {
        output: {
          dtype: 'int32',
          value: [
            [0, 1, 2],
            [2, 2, 1],
          ],
        },
      },
    },
    {
      given: { indices: { dtype: 'int64', value: 22 }, dims: { dtype: 'int64', value: [7, 6] } },
      expect: { output: { dtype: 'int64', value: [3, 4] } },
    },
    {
      given: { indices: { dtype: 'int32', value: [9] }, dims: { dtype: 'int32', value: [3, 3] } },
      fails: /out of bound/,
    },
  ],
});

/**
 * Coordinates of flat positions in an array of shape `dims`: row i of the result is along axis i. Adds one `UnravelIndex` node.
 *
 * @example tf.unravelIndex([2, 5, 7], [3, 3]) // runs to [[0 1 2] [2 2 1]]
 */
export function unravelIndex(indices: TensorLike, dims: TensorLike, options: Named = {}): Tensor {
  return UnravelIndex.build({ indices, dims }, options).output;
}
