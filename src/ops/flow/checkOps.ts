/** @file The assert family: conditions on values, ranks and types, checked while building where possible, else at run time. */
import { type DType, int32 } from '../../core/dtypes.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { broadcastConcrete, type Shape, showTuple, sizeOf, stridesOf } from '../../core/shape.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constantValue } from '../../op/constantValue.ts';
import { convertToTensor, isSymbolic } from '../../op/convert.ts';
import { rank as rankOf, reshape, shape, size, slice } from '../array/index.ts';
import {
  abs,
  cast,
  equal,
  greater,
  greaterEqual,
  less,
  lessEqual,
  logicalOr,
  notEqual,
  reduceAll,
  subtract,
} from '../math/index.ts';
import { assert } from './assert.ts';
import { withDependencies } from './group.ts';
import { noOp } from './noOp.ts';

export interface CheckOptions {
  /** What to show on failure, in place of the usual text and values. */
  readonly data?: readonly TensorLike[] | undefined;
  /** How many entries of each tensor to show. */
  readonly summarize?: number | undefined;
  /** Put before the usual text. */
  readonly message?: string | undefined;
  readonly name?: string | undefined;
}

const prefix = (message: string | undefined) => (message ? `${message}.  ` : '');

/** A literal beside a tensor takes the tensor's type, as an operand of a comparison would. */
function convertPair(x: TensorLike, y: TensorLike): [Tensor, Tensor] {
  const left = convertToTensor(x, { name: 'x', hint: isSymbolic(y) ? y.dtype : undefined });
  return [left, convertToTensor(y, { name: 'y', hint: left.dtype })];
}

interface Comparison {
  readonly symbol: string;
  readonly scope: string;
  readonly test: (x: TensorLike, y: TensorLike) => Tensor;
  readonly holds: (x: number, y: number) => boolean;
}

/** Index of the element of an array that a position in a larger, broadcast shape sees. */
function seenAt(position: number, space: Shape, array: NDArray): number {
  const steps = stridesOf(space);
  const own = stridesOf(array.shape);
  const lead = space.length - array.rank;
  return own.reduce(
    (at, stride, i) =>
      at + (array.shape[i] === 1 ? 0 : (Math.floor(position / steps[lead + i]!) % space[lead + i]!) * stride),
    0,
  );
}

function holdsEverywhere(x: NDArray, y: NDArray, holds: Comparison['holds']): boolean {
  const space = broadcastConcrete(x.shape, y.shape);
  return Array.from({ length: sizeOf(space) }, (_, i) => i).every((i) =>
    holds(x.numberAt(seenAt(i, space, x)), y.numberAt(seenAt(i, space, y))),
  );
}

/** Fails now when both sides are constants that break the condition. */
function checkStatically(x: Tensor, y: Tensor, holds: Comparison['holds'], data: readonly TensorLike[]): void {
  const left = constantValue(x);
  const right = constantValue(y);
  if (!left || !right || left.dtype.isObject || left.dtype.isComplex || holdsEverywhere(left, right, holds)) return;
  const shown = data.map((item) => (item instanceof Tensor ? (constantValue(item) ?? item.name) : item));
  throw userError(shown.map(String).join('\n'));
}

function compareAll(comparison: Comparison, x: TensorLike, y: TensorLike, options: CheckOptions): Operation {
  const { symbol, scope, test, holds } = comparison;
  return nameScope(options.name ?? scope, () => {
    const [left, right] = convertPair(x, y);
    const own = options.data ?? [
      `Condition x ${symbol} y did not hold element-wise:`,
      `x (${left.name}) = `,
      left,
      `y (${right.name}) = `,
      right,
    ];
    const data = options.message === undefined ? own : [options.message, ...own];
    const condition = reduceAll(test(left, right));
    checkStatically(left, right, holds, data);
    return assert(condition, data, { summarize: options.summarize });
  });
}

// The ops are named inside functions because modules of ops may import each other in a circle.
const comparisons = {
  equal: { symbol: '==', scope: 'assert_equal', test: (x, y) => equal(x, y), holds: (x, y) => x === y },
  noneEqual: { symbol: '!=', scope: 'assert_none_equal', test: (x, y) => notEqual(x, y), holds: (x, y) => x !== y },
  less: { symbol: '<', scope: 'assert_less', test: (x, y) => less(x, y), holds: (x, y) => x < y },
  lessEqual: { symbol: '<=', scope: 'assert_less_equal', test: (x, y) => lessEqual(x, y), holds: (x, y) => x <= y },
  greater: { symbol: '>', scope: 'assert_greater', test: (x, y) => greater(x, y), holds: (x, y) => x > y },
  greaterEqual: {
    symbol: '>=',
    scope: 'assert_greater_equal',
    test: (x, y) => greaterEqual(x, y),
    holds: (x, y) => x >= y,
  },
} satisfies Record<string, Comparison>;

/**
 * Fails unless `x == y` for every pair of (broadcast) elements. Adds the comparison, `All` and an `Assert`.
 *
 * @example tf.controlDependencies([tf.assertEqual(tf.shape(a), tf.shape(b))], () => tf.add(a, b))
 */
export function assertEqual(x: TensorLike, y: TensorLike, options: CheckOptions = {}): Operation {
  const same = nameScope(options.name ?? 'assert_equal', () => (x === y && isSymbolic(x) ? noOp() : undefined));
  return same ?? compareAll(comparisons.equal, x, y, options);
}

/** Fails unless `x != y` for every pair of elements. */
export function assertNoneEqual(x: TensorLike, y: TensorLike, options: CheckOptions = {}): Operation {
  return compareAll(comparisons.noneEqual, x, y, options);
}

/** Fails unless `x < y` for every pair of elements. */
export function assertLess(x: TensorLike, y: TensorLike, options: CheckOptions = {}): Operation {
  return compareAll(comparisons.less, x, y, options);
}

/** Fails unless `x <= y` for every pair of elements. */
export function assertLessEqual(x: TensorLike, y: TensorLike, options: CheckOptions = {}): Operation {
  return compareAll(comparisons.lessEqual, x, y, options);
}

/** Fails unless `x > y` for every pair of elements. */
export function assertGreater(x: TensorLike, y: TensorLike, options: CheckOptions = {}): Operation {
  return compareAll(comparisons.greater, x, y, options);
}

/** Fails unless `x >= y` for every pair of elements. */
export function assertGreaterEqual(x: TensorLike, y: TensorLike, options: CheckOptions = {}): Operation {
  return compareAll(comparisons.greaterEqual, x, y, options);
}

type Sign = '>' | '<' | '>=' | '<=';

/** `x` against zero. Python joins the last two texts for `<=`, and so do we. */
function againstZero(scope: string, sign: Sign, x: TensorLike, options: CheckOptions): Operation {
  return nameScope(options.name ?? scope, () => {
    const value = convertToTensor(x, { name: 'x' });
    const condition = `Condition x ${sign} 0 did not hold element-wise:`;
    const label = `x (${value.name}) = `;
    const texts = sign === '<=' ? [condition + label] : [condition, label];
    const data = options.data ?? [prefix(options.message), ...texts, value];
    const zero = convertToTensor(0, { dtype: value.dtype });
    const rest = { data, summarize: options.summarize };
    if (sign === '<') return assertLess(value, zero, rest);
    if (sign === '>') return assertLess(zero, value, rest);
    return sign === '<=' ? assertLessEqual(value, zero, rest) : assertLessEqual(zero, value, rest);
  });
}

/** Fails unless every element is above zero. */
export function assertPositive(x: TensorLike, options: CheckOptions = {}): Operation {
  return againstZero('assert_positive', '>', x, options);
}

/** Fails unless every element is below zero. */
export function assertNegative(x: TensorLike, options: CheckOptions = {}): Operation {
  return againstZero('assert_negative', '<', x, options);
}

/** Fails unless every element is zero or more. */
export function assertNonNegative(x: TensorLike, options: CheckOptions = {}): Operation {
  return againstZero('assert_non_negative', '>=', x, options);
}

/** Fails unless every element is zero or less. */
export function assertNonPositive(x: TensorLike, options: CheckOptions = {}): Operation {
  return againstZero('assert_non_positive', '<=', x, options);
}

/** Ten times the distance from 1 to the next number, the tolerance Python uses. */
const defaultTolerance: Readonly<Record<string, number>> = {
  float16: 10 * 2 ** -10,
  bfloat16: 10 * 2 ** -7,
  float32: 10 * 2 ** -23,
  float64: 10 * 2 ** -52,
  complex64: 10 * 2 ** -23,
  complex128: 10 * 2 ** -52,
};

/** Fails unless `|x - y| < atol + rtol * |y|` for every pair of elements. */
export function assertNear(
  x: TensorLike,
  y: TensorLike,
  options: CheckOptions & { rtol?: TensorLike; atol?: TensorLike } = {},
): Operation {
  onlyOptions('tf.assertNear', options, 'data', 'summarize', 'message', 'name', 'rtol', 'atol');
  return nameScope(options.name ?? 'assert_near', () => {
    const left = convertToTensor(x, { name: 'x' });
    const right = convertToTensor(y, { name: 'y', dtype: left.dtype });
    const dtype = left.dtype.realDtype;
    const tolerance = defaultTolerance[left.dtype.name] ?? 0;
    const rtol = convertToTensor(options.rtol ?? tolerance, { name: 'rtol', dtype });
    const atol = convertToTensor(options.atol ?? tolerance, { name: 'atol', dtype });
    const data = options.data ?? [
      prefix(options.message),
      `x and y not equal to tolerance rtol = ${rtol}, atol = ${atol}`,
      `x (${left.name}) = `,
      left,
      `y (${right.name}) = `,
      right,
    ];
    const allowed = atol.add(rtol.mul(abs(right)));
    const condition = reduceAll(less(abs(left.sub(right)), allowed));
    return assert(condition, data, { summarize: options.summarize });
  });
}

interface RankRule {
  readonly scope: string;
  readonly text: string;
  readonly holds: (actual: number, wanted: readonly number[]) => boolean;
  readonly test: (actual: Tensor, wanted: readonly Tensor[]) => Tensor;
}

function checkRank(rule: RankRule, x: TensorLike, ranks: readonly TensorLike[], options: CheckOptions): Operation {
  return nameScope(options.name ?? rule.scope, () => {
    const value = convertToTensor(x, { name: 'x' });
    const wanted = ranks.map((r) => convertToTensor(r, { name: 'rank' }));
    const message = prefix(options.message);
    const data = options.data ?? [
      message,
      `Tensor ${value.name} must have ${rule.text}`,
      ...wanted,
      'Received shape: ',
      shape(value),
    ];
    for (const r of wanted) assertType(r, int32);
    const known = wanted.map((r) => constantValue(r));
    if (known.some((k) => k !== undefined && k.rank !== 0)) throw userError('Rank must be a scalar.');
    if (known.every((k) => k !== undefined) && value.rank !== null) {
      const numbers = known.map((k) => k.numberAt(0));
      if (!rule.holds(value.rank, numbers)) {
        const list = numbers.length === 1 ? String(numbers[0]) : `(${numbers.join(', ')})`;
        throw userError(
          `${message}Tensor ${value.name} must have ${rule.text} ${list}.  Received rank ${value.rank}, shape ${showTuple(value.shape)}`,
        );
      }
      return noOp({ name: 'static_checks_determined_all_ok' });
    }
    let condition = rule.test(rankOf(value), wanted);
    for (const [i, r] of wanted.entries())
      if (known[i] === undefined) {
        const isScalar = assertRank(r, 0, { data: ['Rank must be a scalar. Received rank: ', r] });
        condition = withDependencies([isScalar], condition);
      }
    return assert(condition, data, { summarize: options.summarize });
  });
}

/**
 * Fails unless `x` has this rank; at once when the rank is known, else by an `Assert` node.
 *
 * @example tf.assertRank(images, 4, { message: 'images are [batch, height, width, channels]' })
 */
export function assertRank(x: TensorLike, rank: TensorLike, options: CheckOptions = {}): Operation {
  const rule: RankRule = {
    scope: 'assert_rank',
    text: 'rank',
    holds: (actual, [wanted]) => actual === wanted,
    test: (actual, [wanted]) => equal(actual, wanted!),
  };
  return checkRank(rule, x, [rank], options);
}

/** Fails unless `x` has at least this rank. */
export function assertRankAtLeast(x: TensorLike, rank: TensorLike, options: CheckOptions = {}): Operation {
  const rule: RankRule = {
    scope: 'assert_rank_at_least',
    text: 'rank at least',
    holds: (actual, [wanted]) => actual >= wanted!,
    test: (actual, [wanted]) => greaterEqual(actual, wanted!),
  };
  return checkRank(rule, x, [rank], options);
}

/** Fails unless the rank of `x` is one of these. */
export function assertRankIn(x: TensorLike, ranks: readonly TensorLike[], options: CheckOptions = {}): Operation {
  const rule: RankRule = {
    scope: 'assert_rank_in',
    text: 'rank in',
    holds: (actual, wanted) => wanted.includes(actual),
    test: (actual, [first, ...others]) =>
      others.reduce((found, r) => logicalOr(found, equal(r, actual)), equal(first!, actual)),
  };
  return checkRank(rule, x, ranks, options);
}

/** Fails now unless the tensor has this type. Adds a `NoOp` to wait for. */
export function assertType(
  tensor: TensorLike,
  dtype: DType,
  options: { message?: string; name?: string } = {},
): Operation {
  onlyOptions('tf.assertType', options, 'message', 'name');
  return nameScope(options.name ?? 'assert_type', () => {
    const value = convertToTensor(tensor, { name: 'tensor' });
    if (value.dtype !== dtype)
      throw userError(`${prefix(options.message)}${value.name} must be of type ${dtype}; got ${value.dtype}`);
    return noOp({ name: 'statically_determined_correct_type' });
  });
}

/** Fails now unless the tensor has an integer type. Adds a `NoOp` to wait for. */
export function assertInteger(x: TensorLike, options: { message?: string; name?: string } = {}): Operation {
  onlyOptions('tf.assertInteger', options, 'message', 'name');
  return nameScope(options.name ?? 'assert_integer', () => {
    const value = convertToTensor(x, { name: 'x' });
    if (!value.dtype.isInteger)
      throw userError(
        `${prefix(options.message)}Expected "x" to be integer type.  Found: ${value.name} of dtype ${value.dtype}`,
      );
    return noOp({ name: 'statically_determined_was_integer' });
  });
}

/** The tensor itself; fails now unless its static shape is a scalar's. */
export function assertScalar(tensor: TensorLike, options: { message?: string; name?: string } = {}): Tensor {
  onlyOptions('tf.assertScalar', options, 'message', 'name');
  return nameScope(options.name ?? 'assert_scalar', (name) => {
    const value = convertToTensor(tensor, { name });
    if (value.rank !== 0)
      throw userError(
        `${prefix(options.message)}Expected scalar shape for ${value.name}, saw shape: ${showTuple(value.shape)}.`,
      );
    return value;
  });
}

/** Whether this is a tensor of numbers. */
export function isNumericTensor(value: unknown): boolean {
  return value instanceof Tensor && (value.dtype.isFloating || value.dtype.isInteger || value.dtype.isComplex);
}

/** Neighbours compared along the flattened tensor; fewer than two elements give nothing to compare. */
function compareNeighbours(x: TensorLike, test: (next: Tensor, before: Tensor) => Tensor): Tensor {
  const flat = reshape(x, [-1]);
  const count = reshape(size(flat), [1]);
  const start = convertToTensor([1], { dtype: int32 });
  // min(n, 1) .. n against 0 .. n - min(n, 1): both empty for an empty tensor.
  const skip = cast(lessEqual(start, count), int32);
  const rest = subtract(count, skip);
  return reduceAll(test(slice(flat, skip, rest), slice(flat, [0], rest)));
}

/** Whether every element is at least the one before it. */
export function isNonDecreasing(x: TensorLike, options: { name?: string } = {}): Tensor {
  onlyOptions('tf.isNonDecreasing', options, 'name');
  return nameScope(options.name ?? 'is_non_decreasing', () => compareNeighbours(x, greaterEqual));
}

/** Whether every element is greater than the one before it. */
export function isStrictlyIncreasing(x: TensorLike, options: { name?: string } = {}): Tensor {
  onlyOptions('tf.isStrictlyIncreasing', options, 'name');
  return nameScope(options.name ?? 'is_strictly_increasing', () => compareNeighbours(x, greater));
}
