/** @file Bitcast: the same bytes read as another type. */

import type { DType } from '../../core/dtypes.ts';
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, type Shape, showRuntime, showShape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import { dense, type Value } from '../../program/value.ts';
import type { NameOption } from './elementwise.ts';
import { arithmeticTypes } from './types.ts';

const castable = attr('type', {
  allowed: [...arithmeticTypes, d.qint8, d.quint8, d.qint16, d.quint16, d.qint32],
});

/** The memory of a value under another type; the shape must cover the same bytes. */
export function reinterpret(p: ProgramBuilder, value: Value, dtype: DType, shape: Shape): Value {
  return dense(p.whole(value).buffer, dtype, shape);
}

/** A larger type splits into a new last axis of smaller ones, and the other way round. */
function castShape(input: Dims, from: DType, to: DType): Dims {
  if (input === null) return null;
  if (from.size === to.size) return input;
  if (from.size > to.size) return [...input, from.size / to.size];
  const count = to.size / from.size;
  const last = input.at(-1);
  if (last === undefined || (last !== null && last !== count))
    throw new InvalidArgumentError(
      `input is ${showShape(input)} of type ${from}; to read it as ${to} its last axis must have the size ${count}.`,
    );
  return input.slice(0, -1);
}

export const Bitcast = defineOp({
  name: 'Bitcast',
  inputs: { input: 'T' },
  outputs: { output: 'type' },
  attrs: { T: castable, type: castable },
  shape: ({ input }, { T, type }) => ({ output: castShape(input, T, type) }),
  grad: gradientPending('bits have no derivative; cut it off with tf.stopGradient'),
  lower(p, { input }, { T, type }) {
    const count = type.size / T.size;
    if (count > 1 && input.shape.at(-1) !== count)
      throw new InvalidArgumentError(
        `Cannot bitcast from ${T.runtimeName} to ${type.runtimeName}: the last axis of ${showRuntime(input.shape)} must have the size ${count}`,
      );
    return { output: reinterpret(p, input, type, castShape(input.shape, T, type) as Shape) }; // known sizes stay known
  },
  cases: () => [
    { shape: '[2, ?] -> [2, ?]', attrs: { type: d.int32 } },
    { shape: '[2, ?] -> [2, ?, 4]', attrs: { type: d.uint8 } },
    { shape: '[3, ?] -> [3]', attrs: { type: d.float64 } },
    { shape: '[3] -> [3]', attrs: { type: d.float64 }, rejects: /its last axis must have the size 2/ },
    {
      given: { input: [1, -2] },
      attrs: { type: d.int32 },
      expect: { output: { dtype: 'int32', value: [1065353216, -1073741824] } },
    },
    {
      given: { input: [1] },
      attrs: { type: d.uint8 },
      expect: { output: { dtype: 'uint8', value: [[0, 0, 128, 63]] } },
    },
    { given: { input: { dtype: 'uint8', value: [0, 0, 128, 63] } }, attrs: { type: d.float32 }, expect: { output: 1 } },
  ],
});

/**
 * The bytes of `input` read as another type. Adds one `Bitcast` node.
 *
 * @example tf.bitcast(tf.constant(1.5), tf.int32) // runs to 1069547520
 */
export function bitcast(input: TensorLike, type: DType, options: NameOption = {}): Tensor {
  onlyOptions('tf.bitcast', options, 'name');
  return Bitcast.build({ input }, { name: options.name, attrs: { type } }).output;
}
