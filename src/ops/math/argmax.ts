/** @file ArgMax and ArgMin: where along an axis the largest or smallest element is. */

import * as d from '../../core/dtypes.ts';
import { type DType, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, showRuntime } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { AxisIn, KnownShape, Reduce, ShapeOf } from '../../graph/staticShapes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { attr, realNumberTypes } from '../../op/attrs.ts';
import type { Case } from '../../op/cases.ts';
import { isSymbolic } from '../../op/convert.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';
import { withAxis } from '../array/common.ts';
import { cast } from './cast.ts';

const T = attr('type', {
  allowed: [...realNumberTypes, d.qint8, d.quint8, d.qint32, d.qint16, d.quint16, d.bool],
});

function outputDims(input: Dims, axis: number | null | undefined): Dims {
  if (input === null) return null;
  if (axis == null) return input.slice(1).map(() => null);
  if (axis < -input.length || axis >= input.length)
    throw new InvalidArgumentError(
      `Dimension (${axis}) must be in the range [${-input.length}, ${input.length}), where ${input.length} is the number of dimensions in the input.`,
    );
  return input.filter((_, i) => i !== (axis < 0 ? axis + input.length : axis));
}

function position(
  p: ProgramBuilder,
  op: 'argmax' | 'argmin',
  input: Value,
  dimension: Value,
  outputType: DType,
): Value {
  const rank = input.shape.length;
  const [given] = p.demandInts(dimension) as [number]; // a scalar
  if (given < -rank || given >= rank)
    throw new InvalidArgumentError(
      `Expected dimension in the range [${-rank}, ${rank}), but got ${given}`.replace('[-0', '[0'),
    );
  const axis = given < 0 ? given + rank : given;
  if (input.shape[axis] === 0)
    throw new InvalidArgumentError(`Reduction axis ${axis} is empty in shape ${showRuntime(input.shape)}`);
  // NaN never wins, wherever it stands.
  const worst = op === 'argmax' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  const comparable = (x: e.Expr): e.Expr => {
    if (x.dtype.isFloating) return e.select(e.isnan(x), worst, x);
    return x.dtype.isBool ? e.cast(x, d.uint8) : x;
  };
  const dtype = outputType === d.int32 || outputType === d.int64 ? outputType : d.int32;
  return p.cast(p.reduce(op, input, [axis], { of: comparable, dtype }), outputType);
}

const axis = (value: number) => ({ dtype: 'int32' as const, value });
const int64s = (...value: number[]) => ({ dtype: 'int64' as const, value });

const sharedCases: readonly Case<'input' | 'dimension', 'output'>[] = [
  { shape: '[2, ?, 4], [] -> [2, 4]', given: { dimension: axis(1) } },
  { shape: '[2, 3], [] -> [?]' },
  { shape: '?, [] -> ?', given: { dimension: axis(0) } },
  { shape: '[2, 3], []', given: { dimension: axis(2) }, rejects: /must be in the range \[-2, 2\)/ },
  {
    given: { input: { dtype: 'float32', value: [[], []], shape: [2, 0] }, dimension: axis(1) },
    fails: /Reduction axis 1 is empty in shape \[2,0\]/,
  },
];

export const ArgMax = defineOp({
  name: 'ArgMax',
  inputs: { input: 'T', dimension: 'Tidx' },
  outputs: { output: 'output_type' },
  attrs: {
    T,
    Tidx: attr('type', { allowed: [d.int16, d.int32, d.int64], default: d.int32 }),
    output_type: attr('type', { allowed: [d.int16, d.uint16, d.int32, d.int64], default: d.int64 }),
  },
  hostInputs: ['dimension'],
  shape: ({ input }, _, context) => ({ output: outputDims(input, context.partial('dimension')?.[0]) }),
  grad: notDifferentiable,
  lower: (p, { input, dimension }, { output_type }) => ({
    output: position(p, 'argmax', input, dimension, output_type),
  }),
  cases: () => [
    ...sharedCases,
    {
      given: {
        input: [
          [1, 5, 5],
          [9, 2, 3],
        ],
        dimension: axis(1),
      },
      expect: { output: int64s(1, 0) },
    },
    {
      given: {
        input: [
          [1, 5, 5],
          [9, 2, 3],
        ],
        dimension: axis(-2),
      },
      expect: { output: int64s(1, 0, 0) },
    },
    { given: { input: [Number.NaN, 1, 2], dimension: axis(0) }, expect: { output: { dtype: 'int64', value: 2 } } },
    { given: { input: [false, true, true], dimension: axis(0) }, expect: { output: { dtype: 'int64', value: 1 } } },
    {
      given: { input: { dtype: 'uint8', value: [3, 200] }, dimension: axis(0) },
      attrs: { output_type: d.int32 },
      expect: { output: { dtype: 'int32', value: 1 } },
    },
  ],
});

export const ArgMin = defineOp({
  name: 'ArgMin',
  inputs: { input: 'T', dimension: 'Tidx' },
  outputs: { output: 'output_type' },
  attrs: {
    T,
    Tidx: attr('type', { allowed: [d.int32, d.int64], default: d.int32 }),
    output_type: attr('type', { allowed: [d.int32, d.int64], default: d.int64 }),
  },
  hostInputs: ['dimension'],
  shape: ({ input }, _, context) => ({ output: outputDims(input, context.partial('dimension')?.[0]) }),
  grad: notDifferentiable,
  lower: (p, { input, dimension }, { output_type }) => ({
    output: position(p, 'argmin', input, dimension, output_type),
  }),
  cases: () => [
    ...sharedCases,
    {
      given: {
        input: [
          [1, 5, 1],
          [9, 2, 3],
        ],
        dimension: axis(1),
      },
      expect: { output: int64s(0, 1) },
    },
  ],
});

export interface ArgOptions {
  /** May stand here, or alone as the second argument. */
  readonly axis?: TensorLike | null | undefined;
  /** int64 unless said otherwise. */
  readonly outputType?: DType | undefined;
  readonly name?: string | undefined;
  /** The older name of the axis argument. */
  readonly dimension?: TensorLike | undefined;
}

function axisOf({ axis, dimension }: ArgOptions): TensorLike {
  if (axis != null && dimension !== undefined) throw userError("Cannot specify both 'axis' and 'dimension'");
  return axis ?? dimension ?? 0;
}

/**
 * The position of the largest element along `axis` (0 unless given); the first one of equals. Adds one `ArgMax` node.
 *
 * @example tf.argmax(tf.constant([[1, 5, 2], [7, 3, 4]]), 1) // runs to [1 0]
 */
export function argmax<X extends TensorLike, const A extends TensorLike | null | ArgOptions = 0>(
  input: X,
  axis?: A,
  options?: ArgOptions,
): Tensor<DType, KnownShape<Reduce<ShapeOf<X>, AxisIn<A, 0>>>>;
export function argmax(input: TensorLike, axis?: TensorLike | null | ArgOptions, last: ArgOptions = {}): Tensor {
  const options = withAxis(axis, last);
  onlyOptions('tf.argmax', options, 'axis', 'outputType', 'name', 'dimension');
  const chosen = axisOf(options);
  const narrow = isSymbolic(chosen) && [d.int8, d.int16, d.uint8, d.uint16].some((t) => t === chosen.dtype);
  const dimension = narrow ? cast(chosen, d.int32) : chosen;
  const output_type = options.outputType ?? int64;
  return ArgMax.build({ input, dimension }, { name: options.name, attrs: { output_type } }).output;
}

/**
 * The position of the smallest element along `axis` (0 unless given); the first one of equals. Adds one `ArgMin` node.
 *
 * @example tf.argmin(tf.constant([[1, 5, 2], [7, 3, 4]]), 1) // runs to [0 1]
 */
export function argmin<X extends TensorLike, const A extends TensorLike | null | ArgOptions = 0>(
  input: X,
  axis?: A,
  options?: ArgOptions,
): Tensor<DType, KnownShape<Reduce<ShapeOf<X>, AxisIn<A, 0>>>>;
export function argmin(input: TensorLike, axis?: TensorLike | null | ArgOptions, last: ArgOptions = {}): Tensor {
  const options = withAxis(axis, last);
  onlyOptions('tf.argmin', options, 'axis', 'outputType', 'name', 'dimension');
  const output_type = options.outputType ?? int64;
  return ArgMin.build({ input, dimension: axisOf(options) }, { name: options.name, attrs: { output_type } }).output;
}
