/** @file Softmax and LogSoftmax over the last axis, and their functions for any axis. */

import type { DType } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, showRuntime, showShape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { floats } from '../../op/attrs.ts';
import { constantValue } from '../../op/constantValue.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';
import { withAxis } from '../array/common.ts';
import { concat } from '../array/concat.ts';
import { where } from '../array/index.ts';
import { range } from '../array/range.ts';
import { rank } from '../array/shape.ts';
import { transpose } from '../array/transpose.ts';
import { less } from '../math/compare.ts';
import { exp } from '../math/exp.ts';
import { minus, modulo, plus, times } from '../math/operators.ts';
import { reduceSum } from '../math/reductions.ts';
import { subtract } from '../math/subtract.ts';

function checkLogits(logits: Dims): Dims {
  if (logits !== null && logits.length < 1)
    throw new InvalidArgumentError(
      `logits is ${showShape(logits)}, but rank 1 or more is needed: the last axis holds the classes.`,
    );
  return logits;
}

/** What softmax is made of; half types in float32. */
interface Exponentials {
  /** The largest logit of each row: less that, exponentials are at most 1. */
  readonly largest: Value;
  readonly exponentials: Value;
  /** The sum of each row. */
  readonly total: Value;
}

/** The exponentials of logits less their largest, and their sums. */
export function exponentialsOf(p: ProgramBuilder, logits: Value): Exponentials {
  if (logits.shape.length < 1)
    throw new InvalidArgumentError(`logits must have >= 1 dimension, got ${showRuntime(logits.shape)}`);
  const last = logits.shape.length - 1;
  const largest = p.reduce('max', logits, [last], { keepDims: true });
  const exponentials = p.map([logits, largest], (x, m) => e.exp(differenceOf(x!, m!)));
  const total = p.reduce('sum', exponentials, [last], { keepDims: true });
  return { largest, exponentials, total };
}

/** Exponentials over their sums, one division for each row. */
export function probabilitiesOf(p: ProgramBuilder, { exponentials, total }: Exponentials): Value {
  const inverse = p.map([total], (s) => e.div(1, s!));
  return p.map([exponentials, inverse], (x, i) => e.mul(x!, i!));
}

/** A logit less the largest; half types in float32. */
export function differenceOf(logit: e.Expr, largest: e.Expr): e.Expr {
  const wide = e.computeType(logit.dtype);
  return e.sub(e.cast(logit, wide), e.cast(largest, wide));
}

export const Softmax = defineOp({
  name: 'Softmax',
  inputs: { logits: 'T' },
  outputs: { softmax: 'T' },
  attrs: { T: floats },
  shape: ({ logits }) => ({ softmax: checkLogits(logits) }),
  grad({ outputs: { softmax } }, { softmax: dy }) {
    const sum = reduceSum(times(dy, softmax), -1, { keepdims: true });
    return { logits: times(minus(dy, sum), softmax) };
  },
  lower(p, { logits }, { T }) {
    return { softmax: p.cast(probabilitiesOf(p, exponentialsOf(p, logits)), T) };
  },
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { shape: '? -> ?' },
    { shape: '[]', rejects: /rank 1 or more is needed/ },
    {
      given: {
        logits: [
          [1, 2, 3],
          [1, 1, 1],
        ],
      },
      expect: {
        softmax: [
          [0.09003057, 0.24472848, 0.66524094],
          [1 / 3, 1 / 3, 1 / 3],
        ],
      },
    },
    { given: { logits: [1000, 0, -1000] }, expect: { softmax: [1, 0, 0] } },
    {
      given: { logits: { dtype: 'float16', value: [0, 0] } },
      expect: { softmax: { dtype: 'float16', value: [0.5, 0.5] } },
    },
    {
      given: { logits: { dtype: 'float32', value: [[], []], shape: [2, 0] } },
      expect: { softmax: { dtype: 'float32', value: [[], []], shape: [2, 0] } },
    },
  ],
});

export const LogSoftmax = defineOp({
  name: 'LogSoftmax',
  inputs: { logits: 'T' },
  outputs: { logsoftmax: 'T' },
  attrs: { T: floats },
  shape: ({ logits }) => ({ logsoftmax: checkLogits(logits) }),
  grad({ outputs: { logsoftmax } }, { logsoftmax: dy }) {
    const softmax = exp(logsoftmax);
    return { logits: minus(dy, times(reduceSum(dy, -1, { keepdims: true }), softmax)) };
  },
  lower(p, { logits }, { T }) {
    const { largest, total } = exponentialsOf(p, logits);
    return {
      logsoftmax: p.map([logits, largest, total], (x, m, s) => e.cast(e.sub(differenceOf(x!, m!), e.log(s!)), T)),
    };
  },
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { logits: [1, 2, 3] }, expect: { logsoftmax: [-2.407606, -1.4076059, -0.4076059] } },
    { given: { logits: [1000, 0] }, expect: { logsoftmax: [0, -1000] } },
  ],
});

export interface SoftmaxOptions {
  /** May stand here, or alone as the second argument. */
  readonly axis?: number | Tensor | null | undefined;
  /** The older name of the axis argument. */
  readonly dim?: number | Tensor | undefined;
  readonly name?: string | undefined;
}

/** Swaps an axis with the last one; both may be numbers or tensors. */
function swapAxis(x: Tensor, axis: number | Tensor, last: Tensor, name?: string): Tensor {
  const before = range(axis);
  const between = range(typeof axis === 'number' ? axis + 1 : plus(axis, 1), last);
  return transpose(x, concat([before, [last], between, [axis]], 0), { name });
}

/** Applies an op of the last axis along any other, by transposing before and after. */
function alongAxis(logits: TensorLike, options: SoftmaxOptions, compute: (x: Tensor, name?: string) => Tensor): Tensor {
  if (options.axis != null && options.dim !== undefined) throw userError("Cannot specify both 'axis' and 'dim'");
  let axis = options.axis ?? options.dim ?? -1;
  const x = convertToTensor(logits);
  const dims = x.shape;
  if (axis === -1 || (dims && axis === dims.length - 1)) return compute(x, options.name);
  if (dims === null)
    throw userError(
      `softmax along axis ${axis} needs logits of known rank; ${x} has none. Use tf.ensureShape or setShape.`,
    );
  const known = axis instanceof Tensor ? constantValue(axis)?.numberAt(0) : axis;
  if (known !== undefined && (known < -dims.length || known >= dims.length))
    throw userError(
      `dim must be in the range [${-dims.length}, ${dims.length}) where ${dims.length} is the number of dimensions in the input. Received: dim=${known}`,
    );
  const count = rank(x);
  if (axis instanceof Tensor) axis = where(less(axis, 0), plus(axis, count), axis);
  else if (axis < 0) axis = plus(axis, count);
  const inputRank = rank(x);
  const position = axis instanceof Tensor ? modulo(axis, dims.length) : axis % dims.length;
  const moved = swapAxis(x, position, subtract(inputRank, 1));
  const result = swapAxis(compute(moved), position, subtract(inputRank, 1), options.name);
  result.setShape(dims);
  return result;
}

/**
 * Exponentials divided by their sum along `axis` (the last unless given). Adds one `Softmax` node, and transposes around it
 * for other axes.
 *
 * @example tf.nn.softmax(tf.constant([1.5, 1.5])) // runs to [0.5 0.5]
 */
export function softmax<D extends DType, S extends Dims>(
  logits: Tensor<D, S> | TensorLike,
  axis?: number | Tensor | null | SoftmaxOptions,
  options?: SoftmaxOptions,
): Tensor<D, S>;
export function softmax(
  logits: TensorLike,
  axis?: number | Tensor | null | SoftmaxOptions,
  last: SoftmaxOptions = {},
): Tensor {
  const options = withAxis(axis, last);
  onlyOptions('tf.nn.softmax', options, 'axis', 'dim', 'name');
  return alongAxis(logits, options, (x, name) => Softmax.build({ logits: x }, { name }).softmax);
}

/**
 * The logarithm of the softmax along `axis` (the last unless given). Adds one `LogSoftmax` node, and transposes around it
 * for other axes.
 *
 * @example tf.nn.logSoftmax(tf.constant([1.5, 1.5])) // runs to [-0.6931472 -0.6931472]
 */
export function logSoftmax<D extends DType, S extends Dims>(
  logits: Tensor<D, S> | TensorLike,
  axis?: number | Tensor | null | SoftmaxOptions,
  options?: SoftmaxOptions,
): Tensor<D, S>;
export function logSoftmax(
  logits: TensorLike,
  axis?: number | Tensor | null | SoftmaxOptions,
  last: SoftmaxOptions = {},
): Tensor {
  const options = withAxis(axis, last);
  onlyOptions('tf.nn.logSoftmax', options, 'axis', 'dim', 'name');
  return alongAxis(logits, options, (x, name) => LogSoftmax.build({ logits: x }, { name }).logsoftmax);
}
