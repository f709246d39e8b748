/** @file Cumsum, Cumprod and CumulativeLogsumexp: running folds along an axis. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { scalar } from '../../core/ndarray.ts';
import { type Dims, showShape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { type AttrSpec, attr, floats, indexTypes, numbers } from '../../op/attrs.ts';
import type { Case } from '../../op/cases.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import { withAxis } from '../array/common.ts';
import { greater, less } from './compare.ts';
import { divNoNan } from './divide.ts';
import { exp, log } from './exp.ts';
import { minus, minusOf, plus, times } from './operators.ts';
import { whereV2 } from './select.ts';

interface Direction {
  readonly exclusive: boolean;
  readonly reverse: boolean;
}
interface Scan {
  readonly name: string;
  readonly op: 'sum' | 'prod' | 'logsumexp';
  readonly T: AttrSpec<'type'>;
  readonly grad: (node: { x: Tensor; axis: Tensor; out: Tensor; dy: Gradient } & Direction) => Tensor;
  readonly cases: () => readonly Case<'x' | 'axis', 'out'>[];
}

function checkAxis(x: Dims, axis: number | null | undefined): void {
  if (x !== null && axis != null && (axis < -x.length || axis >= x.length))
    throw new InvalidArgumentError(
      `axis is ${axis}, but x is ${showShape(x)}, so it must lie in [${-x.length}, ${x.length}).`,
    );
}

function defineScan({ name, op, T, grad, cases }: Scan) {
  return defineOp({
    name,
    inputs: { x: 'T', axis: 'Tidx' },
    outputs: { out: 'T' },
    attrs: {
      exclusive: attr('bool', { default: false }),
      reverse: attr('bool', { default: false }),
      T,
      Tidx: indexTypes,
    },
    hostInputs: ['axis'],
    shape({ x, axis }, _, context) {
      if (axis !== null && axis.length !== 0)
        throw new InvalidArgumentError(`axis is ${showShape(axis)}, but must be a scalar.`);
      checkAxis(x, context.partial('axis')?.[0]);
      return { out: x };
    },
    grad: ({ inputs, outputs, attrs: { exclusive, reverse } }, dy) => ({
      x: grad({ x: inputs.x, axis: inputs.axis, out: outputs.out, dy: dy.out, exclusive, reverse }),
    }),
    lower(p, { x, axis }, { exclusive, reverse }) {
      if (axis.shape.length !== 0)
        throw new InvalidArgumentError(`ScanOp: axis must be a scalar, not ${showShape(axis.shape)}`);
      const rank = x.shape.length;
      const [given] = p.demandInts(axis) as [number]; // a scalar
      if (given < -rank || given >= rank)
        throw new InvalidArgumentError(`ScanOp: Expected scan axis in the range [${-rank}, ${rank}), but got ${given}`);
      return { out: p.scan(op, x, given < 0 ? given + rank : given, { exclusive, reverse }) };
    },
    cases: () => [
      { shape: '[2, ?], [] -> [2, ?]' },
      { shape: '?, [] -> ?' },
      { shape: '[2, 3], []', given: { axis: { dtype: 'int32', value: 2 } }, rejects: /must lie in \[-2, 2\)/ },
      ...cases(),
    ],
  });
}

const axis = (value: number) => ({ dtype: 'int32' as const, value });

export const Cumsum = defineScan({
  name: 'Cumsum',
  op: 'sum',
  T: numbers,
  grad: ({ axis, dy, exclusive, reverse }) => cumsum(dy, axis, { exclusive, reverse: !reverse }),
  cases: () => [
    { given: { x: [1, 2, 3], axis: axis(0) }, expect: { out: [1, 3, 6] } },
    { given: { x: [1, 2, 3], axis: axis(0) }, attrs: { exclusive: true }, expect: { out: [0, 1, 3] } },
    { given: { x: [1, 2, 3], axis: axis(-1) }, attrs: { reverse: true }, expect: { out: [6, 5, 3] } },
    {
      given: { x: [1, 2, 3], axis: axis(0) },
      attrs: { exclusive: true, reverse: true },
      expect: { out: [5, 3, 0] },
    },
    {
      given: {
        x: [
          [1, 2],
          [3, 4],
        ],
        axis: axis(0),
      },
      expect: {
        out: [
          [1, 2],
          [4, 6],
        ],
      },
    },
    {
      given: { x: { dtype: 'int8', value: [100, 100] }, axis: axis(0) },
      expect: { out: { dtype: 'int8', value: [100, -56] } },
    },
  ],
});

export const Cumprod = defineScan({
  name: 'Cumprod',
  op: 'prod',
  T: numbers,
  grad({ x, axis, dy, exclusive, reverse }) {
    const product = cumprod(x, axis, { exclusive, reverse });
    const sum = cumsum(times(product, dy), axis, { exclusive, reverse: !reverse });
    return divNoNan(sum, x);
  },
  cases: () => [
    { given: { x: [2, 3, 4], axis: axis(0) }, expect: { out: [2, 6, 24] } },
    { given: { x: [2, 3, 4], axis: axis(0) }, attrs: { exclusive: true }, expect: { out: [1, 2, 6] } },
    { given: { x: [2, 3, 4], axis: axis(0) }, attrs: { reverse: true }, expect: { out: [24, 12, 4] } },
  ],
});

export const CumulativeLogsumexp = defineScan({
  name: 'CumulativeLogsumexp',
  op: 'logsumexp',
  T: floats,
  // Sums of exponentials again, with the signs of the incoming gradient taken apart because logarithms have none.
  grad({ x, axis, out, dy, exclusive, reverse }) {
    const lowest = scalar(dy.dtype, dy.dtype.min);
    const positive = whereV2(greater(dy, 0), log(dy), lowest);
    const negative = whereV2(less(dy, 0), log(minusOf(dy)), lowest);
    const back = (logs: Tensor) =>
      exp(plus(cumulativeLogsumexp(minus(logs, out), axis, { reverse: !reverse, exclusive }), x));
    const up = back(positive);
    return minus(up, back(negative));
  },
  cases: () => [
    { given: { x: [0, 0, 0], axis: axis(0) }, expect: { out: [0, Math.LN2, 1.0986123] } },
    { given: { x: [1000, 1000], axis: axis(0) }, expect: { out: [1000, 1000.6931] } },
  ],
});

export interface CumulativeOptions {
  /** May stand here, or alone as the second argument. */
  readonly axis?: TensorLike | undefined;
  /** Leave each element's own value out of its fold. */
  readonly exclusive?: boolean | undefined;
  /** Run from the end. */
  readonly reverse?: boolean | undefined;
  readonly name?: string | undefined;
}

function scan(
  op: typeof Cumsum,
  x: TensorLike,
  given: TensorLike | CumulativeOptions | undefined,
  last: CumulativeOptions,
): Tensor {
  const options = withAxis(given, last);
  onlyOptions(`tf.${op.name.toLowerCase()}`, options, 'axis', 'exclusive', 'reverse', 'name');
  const { axis = 0, exclusive = false, reverse = false, name } = options;
  return nameScope(name ?? op.name, (scope) => {
    const input = convertToTensor(x, { name: 'x' });
    return op.build({ x: input, axis }, { name: scope, attrs: { exclusive, reverse } }).out;
  });
}

/**
 * Running sums along an axis. Adds one `Cumsum` node.
 *
 * @example tf.cumsum(tf.constant([1, 2, 3])) // runs to [1 3 6]
 */
export function cumsum(x: TensorLike, axis?: TensorLike | CumulativeOptions, options: CumulativeOptions = {}): Tensor {
  return scan(Cumsum, x, axis, options);
}

/**
 * Running products along an axis. Adds one `Cumprod` node.
 *
 * @example tf.cumprod(tf.constant([2, 3, 4])) // runs to [ 2  6 24]
 */
export function cumprod(x: TensorLike, axis?: TensorLike | CumulativeOptions, options: CumulativeOptions = {}): Tensor {
  return scan(Cumprod, x, axis, options);
}

/**
 * Running `log(sum(exp(x)))` along an axis. Adds one `CumulativeLogsumexp` node.
 *
 * @example tf.math.cumulativeLogsumexp(tf.constant([0.5, 0.5])) // runs to [0.5       1.1931472]
 */
export function cumulativeLogsumexp(
  x: TensorLike,
  axis?: TensorLike | CumulativeOptions,
  options: CumulativeOptions = {},
): Tensor {
  return scan(CumulativeLogsumexp, x, axis, options);
}
