/** @file TopKV2, TopK, InTopK, InTopKV2 and NthElement: the largest elements, and where an element stands among them. */
import * as d from '../../core/dtypes.ts';
import { type DType, int32, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, type Shape, showRuntime, showShape } from '../../core/shape.ts';
import { type NamedTuple, namedTuple } from '../../graph/namedTuple.ts';
import { isOptions, onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr, realNumbers } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';
import { expandDims } from '../array/expandDims.ts';
import { zeros } from '../array/fill.ts';
import { gather } from '../array/gather.ts';
import { getItem } from '../array/getItem.ts';
import { range } from '../array/range.ts';
import { reshape } from '../array/reshape.ts';
import { scatterNd } from '../array/scatterNd.ts';
import { shape, size } from '../array/shape.ts';
import { stack } from '../array/stack.ts';
import { cast } from './cast.ts';
import { equal } from './compare.ts';
import { minus, over, plus, times } from './operators.ts';
import { reduceProd, reduceSum } from './reductions.ts';

// Top k.
function topDims(input: Dims, k: number | null): Dims {
  if (input === null) return null;
  if (input.length === 0) throw new InvalidArgumentError('input is a scalar, but rank 1 or more is needed.');
  const columns = input.at(-1)!;
  if (k !== null && k < 0) throw new InvalidArgumentError(`Need k >= 0, got ${k}`);
  if (k !== null && columns !== null && columns < k)
    throw new InvalidArgumentError(`input is ${showShape(input)} and k is ${k}: input must have last dimension >= k.`);
  return [...input.slice(0, -1), k];
}

function checkTop(input: Shape, k: number): void {
  if (k < 0) throw new InvalidArgumentError(`Need k >= 0, got ${k}`);
  if (input.length < 1) throw new InvalidArgumentError(`input must be >= 1-D, got shape ${showRuntime(input)}`);
  if (input.at(-1)! < k)
    throw new InvalidArgumentError(`input must have at least k columns. Had ${input.at(-1)}, needed ${k}`);
}

/** Scatters the gradient back to where the largest elements came from. */
function topGradient(input: Tensor, indices: Tensor, dy: Gradient): Tensor {
  const inputShape = shape(input);
  const indicesShape = shape(indices);
  const lastOf = (sizes: Tensor) => gather(cast(sizes, int64), minus(size(sizes), 1));
  const picked = lastOf(indicesShape);
  const flat = reshape(indices, stack([-1, picked]));
  const columns = lastOf(inputShape);
  const rows = getItem(shape(flat), [0]);
  const starts = range(0, times(cast(rows, int64), columns), columns);
  const positions = reshape(plus(flat, cast(expandDims(starts, -1), int32)), [-1]);
  const scattered = scatterNd(expandDims(positions, -1), reshape(dy, [-1]), [reduceProd(inputShape)]);
  return reshape(scattered, inputShape);
}

export const TopKV2 = defineOp({
  name: 'TopKV2',
  inputs: { input: 'T', k: 'Tk' },
  outputs: { values: 'T', indices: 'index_type' },
  attrs: {
    sorted: attr('bool', { default: true }),
    T: realNumbers,
    Tk: attr('type', { allowed: [d.int16, d.int32, d.int64], default: d.int32 }),
    index_type: attr('type', { allowed: [d.int16, d.int32, d.int64], default: d.int32 }),
  },
  hostInputs: ['k'],
  shape({ input, k }, _, context) {
    if (k !== null && k.length !== 0) throw new InvalidArgumentError(`k is ${showShape(k)}, but must be a scalar.`);
    const dims = topDims(input, context.partial('k')?.[0] ?? null);
    return { values: dims, indices: dims };
  },
  grad: ({ inputs, outputs }, dy) => ({
    input: topGradient(inputs.input, outputs.indices, dy.values),
    k: zeros([], { dtype: int32 }),
  }),
  lower(p, { input, k }, { index_type }) {
    if (k.shape.length !== 0) throw new InvalidArgumentError(`k must be scalar, got shape ${showRuntime(k.shape)}`);
    const [count] = p.demandInts(k) as [number]; // a scalar
    checkTop(input.shape, count);
    const { values, indices } = p.topk(input, count);
    return { values, indices: p.cast(indices, index_type) };
  },
  cases: () => [
    { shape: '[2, ?], [] -> [2, 3], [2, 3]', given: { k: { dtype: 'int32', value: 3 } } },
    { shape: '[2, 5], [] -> [2, ?], [2, ?]' },
    { shape: '[2, 2], []', given: { k: { dtype: 'int32', value: 3 } }, rejects: /must have last dimension >= k/ },
    {
      given: {
        input: [
          [1, 5, 3],
          [4, 4.5, 0],
        ],
        k: { dtype: 'int32', value: 2 },
      },
      expect: {
        values: [
          [5, 3],
          [4.5, 4],
        ],
        indices: {
          dtype: 'int32',
          value: [
            [1, 2],
            [1, 0],
          ],
        },
      },
    },
    {
      given: { input: { dtype: 'int32', value: [2, 7, 7, 1] }, k: { dtype: 'int32', value: 3 } },
      expect: { values: { dtype: 'int32', value: [7, 7, 2] }, indices: { dtype: 'int32', value: [1, 2, 0] } },
    },
  ],
});

export const TopK = defineOp({
  name: 'TopK',
  inputs: { input: 'T' },
  outputs: { values: 'T', indices: 'int32' },
  attrs: { k: attr('int', { minimum: 0 }), sorted: attr('bool', { default: true }), T: realNumbers },
  deprecatedSince: 7,
  shape({ input }, { k }) {
    const dims = topDims(input, k);
    return { values: dims, indices: dims };
  },
  grad: ({ inputs, outputs }, dy) => ({ input: topGradient(inputs.input, outputs.indices, dy.values) }),
  lower(p, { input }, { k }) {
    checkTop(input.shape, k);
    return p.topk(input, k);
  },
  cases: () => [
    { shape: '[2, ?] -> [2, 3], [2, 3]', attrs: { k: 3 } },
    {
      given: { input: [1, 5, 3] },
      attrs: { k: 2 },
      expect: { values: [5, 3], indices: { dtype: 'int32', value: [1, 2] } },
    },
  ],
});

/** The k largest elements of each row and their positions. */
export type TopKResult = NamedTuple<{ readonly values: Tensor; readonly indices: Tensor }>;

export interface TopKOptions {
  /** How many, 1 unless given; may also be given as the second argument. */
  readonly k?: TensorLike | undefined;
  readonly sorted?: boolean | undefined;
  readonly indexType?: DType | undefined;
  readonly name?: string | undefined;
}

/**
 * The k largest elements along the last axis, largest first, with their positions. Adds one `TopKV2` node.
 *
 * @example tf.nn.topK(tf.constant([1, 5, 3]), { k: 2 }).values // runs to [5 3]
 * @example const [values, indices] = tf.nn.topK(x, 2)
 */
export function topK(input: TensorLike, options?: TopKOptions): TopKResult;
export function topK(input: TensorLike, k: TensorLike, options?: TopKOptions): TopKResult;
export function topK(input: TensorLike, given: TensorLike | TopKOptions = {}, rest: TopKOptions = {}): TopKResult {
  const options = isOptions(given) ? (given as TopKOptions) : rest; // a plain object is never TensorLike
  const k = isOptions(given) ? (options.k ?? 1) : (given as TensorLike); // as above
  onlyOptions('tf.nn.topK', options, 'k', 'sorted', 'indexType', 'name');
  const attrs = { sorted: options.sorted ?? true, index_type: options.indexType ?? int32 };
  return namedTuple(TopKV2.build({ input, k }, { name: options.name, attrs }));
}

// In top k.
function rowDims(predictions: Dims, targets: Dims): Dims {
  if (predictions !== null && predictions.length !== 2)
    throw new InvalidArgumentError(`predictions is ${showShape(predictions)}, but must have rank 2: [batch, classes].`);
  if (targets !== null && targets.length !== 1)
    throw new InvalidArgumentError(`targets is ${showShape(targets)}, but must have rank 1: one class number per row.`);
  const [rows, count] = [predictions?.[0] ?? null, targets?.[0] ?? null];
  if (rows !== null && count !== null && rows !== count)
    throw new InvalidArgumentError(
      `predictions is ${showShape(predictions)} and targets is ${showShape(targets)}; their first sizes must be equal.`,
    );
  return [rows ?? count];
}

/** Fewer than k predictions above the target's; a row with a number that is not finite says no. */
function isInTop(p: ProgramBuilder, predictions: Value, targets: Value, k: Value): Value {
  if (predictions.shape.length !== 2) throw new InvalidArgumentError('predictions must be 2-dimensional');
  if (targets.shape.length !== 1) throw new InvalidArgumentError('targets must be 1-dimensional');
  const [rows, classes] = predictions.shape as [number, number]; // rank checked
  if (rows !== targets.shape[0])
    throw new InvalidArgumentError(
      `First dimension of predictions ${rows} must match length of targets ${targets.shape[0]}`,
    );
  const own = p.gather(p.reshape(predictions, [rows, 1, classes, 1]), p.reshape(targets, [rows, 1, 1]), {
    bounds: 'zero',
  });
  const above = p.map([predictions, p.reshape(own, [rows, 1])], (x, t) => e.cast(e.gt(x!, t!), d.int32));
  const count = p.reduce('sum', above, [1]);
  const finite = p.reduce('all', predictions, [1], { of: e.isfinite });
  return p.map([count, finite, targets, k], (n, ok, target, limit) => {
    const known = e.and(e.ge(target!, 0), e.lt(target!, classes));
    return e.and(e.and(ok!, known), e.lt(e.cast(n!, d.int64), e.cast(limit!, d.int64)));
  });
}

const classNumbers = attr('type', { allowed: [d.int32, d.int64], default: d.int32 });
const rowsOfFour = [
  [0.1, 0.3, 0.2, 0.4],
  [0.1, 0.2, 0.3, 0.4],
  [0.5, 0.5, 0.5, 0.1],
  [Number.POSITIVE_INFINITY, 0.5, 0.5, 0.1],
];
const targetsOfFour = { dtype: 'int32' as const, value: [3, 0, 2, 0] };

export const InTopK = defineOp({
  name: 'InTopK',
  inputs: { predictions: 'float32', targets: 'T' },
  outputs: { precision: 'bool' },
  attrs: { k: attr('int'), T: classNumbers },
  shape: ({ predictions, targets }) => ({ precision: rowDims(predictions, targets) }),
  grad: notDifferentiable,
  lower: (p, { predictions, targets }, { k }) => ({
    precision: isInTop(p, predictions, targets, p.fill(d.int64, [], k)),
  }),
  cases: () => [
    { shape: '[?, 4], [3] -> [3]', attrs: { k: 2 } },
    { shape: '[2, 4], [3]', attrs: { k: 2 }, rejects: /first sizes must be equal/ },
    {
      given: { predictions: rowsOfFour, targets: targetsOfFour },
      attrs: { k: 2 },
      expect: { precision: [true, false, true, false] },
    },
  ],
});

export const InTopKV2 = defineOp({
  name: 'InTopKV2',
  inputs: { predictions: 'float32', targets: 'T', k: 'T' },
  outputs: { precision: 'bool' },
  attrs: { T: classNumbers },
  shape: ({ predictions, targets }) => ({ precision: rowDims(predictions, targets) }),
  grad: notDifferentiable,
  lower: (p, { predictions, targets, k }) => ({ precision: isInTop(p, predictions, targets, k) }),
  cases: () => [
    { shape: '[?, 4], [3], [] -> [3]' },
    {
      given: { predictions: rowsOfFour, targets: targetsOfFour, k: { dtype: 'int32', value: 2 } },
      expect: { precision: [true, false, true, false] },
    },
    {
      given: {
        predictions: [[0.1, 0.2]],
        targets: { dtype: 'int64', value: [7] },
        k: { dtype: 'int64', value: 5 },
      },
      expect: { precision: [false] },
    },
  ],
});

/**
 * Whether each row's target is among its k largest predictions. Adds one `InTopKV2` node under `in_top_k/`.
 *
 * @example tf.nn.inTopK([[0.1, 0.9]], [1], 1) // runs to [True]
 */
export function inTopK(
  predictions: TensorLike,
  targets: TensorLike,
  k: TensorLike,
  options: { name?: string } = {},
): Tensor {
  onlyOptions('tf.nn.inTopK', options, 'name');
  return nameScope(
    options.name ?? 'in_top_k',
    () => InTopKV2.build({ predictions, targets, k }, { name: options.name }).precision,
  );
}

// The n-th.
export const NthElement = defineOp({
  name: 'NthElement',
  inputs: { input: 'T', n: 'int32' },
  outputs: { values: 'T' },
  attrs: { reverse: attr('bool', { default: false }), T: realNumbers },
  hostInputs: ['n'],
  shape({ input, n }) {
    if (n !== null && n.length !== 0) throw new InvalidArgumentError(`n is ${showShape(n)}, but must be a scalar.`);
    if (input?.length === 0) throw new InvalidArgumentError('input is a scalar, but rank 1 or more is needed.');
    return { values: input === null ? null : input.slice(0, -1) };
  },
  grad({ inputs: { input }, outputs: { values } }, { values: dy }) {
    const indicators = cast(equal(expandDims(values, -1), input), dy.dtype);
    const grad = expandDims(dy, -1);
    const count = expandDims(reduceSum(indicators, -1), -1);
    return { input: times(over(indicators, count), grad) };
  },
  lower(p, { input, n }, { reverse }) {
    const [rank] = p.demandInts(n) as [number]; // a scalar
    if (rank < 0) throw new InvalidArgumentError(`n must be non-negative but is ${rank}`);
    const last = input.shape.length - 1;
    const columns = input.shape[last];
    if (columns === undefined)
      throw new InvalidArgumentError(`Input must be >= 1-D, got shape ${showRuntime(input.shape)}`);
    if (rank >= columns) throw new InvalidArgumentError(`Input must have last dimension > n = ${rank}`);
    // The n-th smallest is the last of the n - columns largest.
    const k = reverse ? rank + 1 : columns - rank;
    const { values } = p.topk(input, k);
    const begin = input.shape.map((_, i) => (i === last ? k - 1 : 0));
    const rows = input.shape.slice(0, -1);
    return { values: p.reshape(p.slice(values, begin, [...rows, 1]), rows) };
  },
  cases: () => [
    { shape: '[2, ?], [] -> [2]' },
    {
      given: {
        input: [
          [5, 1, 3],
          [2, 9, 4],
        ],
        n: { dtype: 'int32', value: 1 },
      },
      expect: { values: [3, 4] },
    },
    {
      given: { input: [5, 1, 3], n: { dtype: 'int32', value: 0 } },
      attrs: { reverse: true },
      expect: { values: 5 },
    },
    { given: { input: [5, 1, 3], n: { dtype: 'int32', value: 3 } }, fails: /last dimension > n = 3/ },
  ],
});
