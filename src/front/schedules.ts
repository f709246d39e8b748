/** @file Learning-rate schedules: a rate that depends on the global step, as a tensor. */

import { type DType, float32 } from '../core/dtypes.ts';
import { onlyOptions } from '../graph/options.ts';
import { nameScope } from '../graph/scopes.ts';
import type { Tensor, TensorLike } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { convertToTensor, isSymbolic } from '../op/convert.ts';
import { constant } from '../ops/array/constant.ts';
import { add } from '../ops/math/add.ts';
import { Cast, cast } from '../ops/math/cast.ts';
import { equal, greater, lessEqual } from '../ops/math/compare.ts';
import { divide } from '../ops/math/divide.ts';
import { exp, log } from '../ops/math/exp.ts';
import { logicalAnd } from '../ops/math/logical.ts';
import { minimum } from '../ops/math/maximum.ts';
import { multiply } from '../ops/math/multiply.ts';
import { Neg } from '../ops/math/neg.ts';
import { minus, over, plus, times, toThe } from '../ops/math/operators.ts';
import { pow } from '../ops/math/pow.ts';
import { ceil, floor } from '../ops/math/round.ts';
import { whereV2 } from '../ops/math/select.ts';
import { sqrt } from '../ops/math/sqrt.ts';
import { cos } from '../ops/math/trig.ts';
import { randomNormal } from '../ops/random/distributions.ts';

interface Named {
  readonly name?: string | undefined;
}
export interface StaircaseOptions extends Named {
  /** True lets the rate fall at whole multiples of `decaySteps` only. */
  readonly staircase?: boolean | undefined;
}

/** A parameter in the type of the rate. A plain number stands for a float, also when it is whole, as in Python's 1.0. */
function parameter(value: TensorLike, dtype: DType): Tensor {
  if (typeof value !== 'number') return cast(value, dtype);
  return nameScope('Cast', (name) => {
    const x = convertToTensor(value, { name: 'x', dtype: float32 });
    return x.dtype === dtype ? x : Cast.build({ x }, { name, attrs: { DstT: dtype } }).y;
  });
}

/** What the formula of a schedule is written with. */
interface Terms {
  /** The rate to begin with; everything else takes its type. */
  readonly initial: Tensor;
  /** Name of the node that gives the rate. */
  readonly name: string;
  typed(value: TensorLike): Tensor;
  parameter(value: TensorLike): Tensor;
}

/** A schedule's formula inside its name scope. */
function schedule(scope: string, learningRate: TensorLike, rate: (terms: Terms) => Tensor): Tensor {
  return nameScope(scope, (name) => {
    const initial = convertToTensor(learningRate, { name: 'initial_learning_rate', hint: float32 });
    const { dtype } = initial;
    return rate({ initial, name, typed: (v) => cast(v, dtype), parameter: (v) => parameter(v, dtype) });
  });
}

/** The decay rate, and how many times `decaySteps` has passed: whole times only on a staircase. */
function decaying(
  { typed, parameter }: Terms,
  globalStep: TensorLike,
  decaySteps: TensorLike,
  decayRate: TensorLike,
  { staircase }: StaircaseOptions,
): { rate: Tensor; passed: Tensor } {
  const steps = typed(decaySteps);
  const rate = parameter(decayRate);
  const passed = over(typed(globalStep), steps);
  return { rate, passed: staircase ? floor(passed) : passed };
}

/**
 * `learningRate * decayRate ^ (globalStep / decaySteps)`.
 *
 * @example const rate = tf.train.exponentialDecay(0.1, globalStep, 1000, 0.96, { staircase: true });
 */
export function exponentialDecay(
  learningRate: TensorLike,
  globalStep: TensorLike,
  decaySteps: TensorLike,
  decayRate: TensorLike,
  options: StaircaseOptions = {},
): Tensor {
  onlyOptions('tf.train.exponentialDecay', options, 'name', 'staircase');
  return schedule(options.name ?? 'ExponentialDecay', learningRate, (terms) => {
    const { rate, passed } = decaying(terms, globalStep, decaySteps, decayRate, options);
    return multiply(terms.initial, pow(rate, passed), { name: terms.name });
  });
}

/** `learningRate * exp(-decayRate * globalStep / decaySteps)`. */
export function naturalExpDecay(
  learningRate: TensorLike,
  globalStep: TensorLike,
  decaySteps: TensorLike,
  decayRate: TensorLike,
  options: StaircaseOptions = {},
): Tensor {
  // A plain number stands for a float, also when it is whole.
  const attrs = typeof decayRate === 'number' ? { attrs: { T: float32 } } : {};
  const rate = exp(Neg.build({ x: decayRate }, attrs).y);
  return exponentialDecay(learningRate, globalStep, decaySteps, rate, options);
}

/** `learningRate / (1 + decayRate * globalStep / decaySteps)`. */
export function inverseTimeDecay(
  learningRate: TensorLike,
  globalStep: TensorLike,
  decaySteps: TensorLike,
  decayRate: TensorLike,
  options: StaircaseOptions = {},
): Tensor {
  onlyOptions('tf.train.inverseTimeDecay', options, 'name', 'staircase');
  return schedule(options.name ?? 'InverseTimeDecay', learningRate, (terms) => {
    const { rate, passed } = decaying(terms, globalStep, decaySteps, decayRate, options);
    const one = terms.typed(constant(1));
    return divide(terms.initial, add(one, multiply(rate, passed)), { name: terms.name });
  });
}

/** `values[i]`, where i counts the boundaries that `x` has passed. The choice is made by `SelectV2` nodes. */
export function piecewiseConstant(
  x: TensorLike,
  boundaries: readonly TensorLike[],
  values: readonly TensorLike[],
  options: Named = {},
): Tensor {
  onlyOptions('tf.train.piecewiseConstant', options, 'name');
  if (boundaries.length !== values.length - 1)
    throw userError('The length of boundaries should be 1 less than the length of values');
  const isFloat = isSymbolic(x) && x.dtype.isFloating;
  const limits = boundaries.map((b) => convertToTensor(b, isFloat ? { hint: x.dtype } : {}));
  const rates = values.map((v) => convertToTensor(v, { hint: float32 }));
  const type = convertToTensor(x).dtype;
  const typed = limits.map((b) => (b.dtype === type ? b : cast(b, type)));
  for (const v of rates)
    if (v.dtype !== rates[0]!.dtype)
      throw userError(`Values must have elements all with the same dtype (${rates[0]!.dtype} vs ${v.dtype}).`);
  return nameScope(options.name ?? 'PiecewiseConstant', () => {
    const at = convertToTensor(x);
    const cases: [Tensor, Tensor][] = [
      [lessEqual(at, typed[0]!), rates[0]!],
      [greater(at, typed.at(-1)!), rates.at(-1)!],
    ];
    for (const [i, low] of typed.slice(0, -1).entries())
      cases.push([logicalAnd(greater(at, low), lessEqual(at, typed[i + 1]!), { name: 'and' }), rates[i + 1]!]);
    return cases.reduceRight((otherwise, [condition, rate]) => whereV2(condition, rate, otherwise), rates[0]!);
  });
}
/** The same as `piecewiseConstant`. */
export const piecewiseConstantDecay = piecewiseConstant;

export interface PolynomialDecayOptions extends Named {
  readonly endLearningRate?: TensorLike | undefined;
  readonly power?: TensorLike | undefined;
  /** True begins again, more slowly, after `decaySteps`. */
  readonly cycle?: boolean | undefined;
}

/** From `learningRate` to `endLearningRate` along a power of the time left. */
export function polynomialDecay(
  learningRate: TensorLike,
  globalStep: TensorLike,
  decaySteps: TensorLike,
  options: PolynomialDecayOptions = {},
): Tensor {
  onlyOptions('tf.train.polynomialDecay', options, 'name', 'endLearningRate', 'power', 'cycle');
  const { endLearningRate = 0.0001, power = 1, cycle = false } = options;
  return schedule(options.name ?? 'PolynomialDecay', learningRate, ({ initial, name, typed, parameter }) => {
    const end = parameter(endLearningRate);
    const exponent = parameter(power);
    let step = typed(globalStep);
    let steps = typed(decaySteps);
    if (cycle) {
      const rounds = whereV2(equal(step, 0), 1, ceil(over(step, decaySteps)));
      steps = multiply(steps, rounds);
    } else step = minimum(step, steps);
    const p = divide(step, steps);
    return add(multiply(minus(initial, end), pow(minus(1, p), exponent)), end, { name });
  });
}

/** `0.5 * (1 + cos(pi * fraction))`. */
function halfCosine(fraction: Tensor, factor: TensorLike = 0.5): Tensor {
  return times(factor, plus(1, cos(times(constant(Math.PI), fraction))));
}

/** From `learningRate` to `alpha * learningRate` along half a cosine. */
export function cosineDecay(
  learningRate: TensorLike,
  globalStep: TensorLike,
  decaySteps: TensorLike,
  options: Named & { alpha?: number } = {},
): Tensor {
  onlyOptions('tf.train.cosineDecay', options, 'name', 'alpha');
  const { alpha = 0 } = options;
  return schedule(options.name ?? 'CosineDecay', learningRate, ({ initial, typed }) => {
    const steps = typed(decaySteps);
    const step = minimum(typed(globalStep), steps);
    const decayed = plus(times(1 - alpha, halfCosine(over(step, steps))), alpha);
    return multiply(initial, decayed);
  });
}

export interface CosineDecayRestartsOptions extends Named {
  /** How much longer each period is than the one before. */
  readonly tMul?: number | undefined;
  /** How much lower each period begins than the one before. */
  readonly mMul?: number | undefined;
  readonly alpha?: number | undefined;
}

/** Half cosines one after the other, each of them longer. */
export function cosineDecayRestarts(
  learningRate: TensorLike,
  globalStep: TensorLike,
  firstDecaySteps: TensorLike,
  options: CosineDecayRestartsOptions = {},
): Tensor {
  onlyOptions('tf.train.cosineDecayRestarts', options, 'name', 'tMul', 'mMul', 'alpha');
  const { tMul = 2, mMul = 1, alpha = 0 } = options;
  return schedule(options.name ?? 'SGDRDecay', learningRate, ({ initial, name, typed, parameter }) => {
    const steps = typed(firstDecaySteps);
    const [low, longer, lower] = [parameter(alpha), parameter(tMul), parameter(mMul)];
    const passed = over(typed(globalStep), steps);
    const { restarts, fraction } = tMul === 1 ? evenPeriods(passed) : growingPeriods(passed, longer);
    const height = toThe(lower, restarts);
    const cosine = halfCosine(fraction, times(0.5, height));
    return multiply(initial, plus(times(minus(1, low), cosine), low), { name });
  });
}

function evenPeriods(passed: Tensor) {
  const restarts = floor(passed);
  return { restarts, fraction: minus(passed, restarts) };
}

function growingPeriods(passed: Tensor, longer: Tensor) {
  const restarts = floor(over(log(minus(1, times(passed, minus(1, longer)))), log(longer)));
  const before = over(minus(1, toThe(longer, restarts)), minus(1, longer));
  return { restarts, fraction: over(minus(passed, before), toThe(longer, restarts)) };
}

export interface LinearCosineDecayOptions extends Named {
  readonly numPeriods?: number | undefined;
  readonly alpha?: number | undefined;
  readonly beta?: number | undefined;
}

/** A line times a cosine: `((alpha + left) * cosine + beta) * learningRate`. */
export function linearCosineDecay(
  learningRate: TensorLike,
  globalStep: TensorLike,
  decaySteps: TensorLike,
  options: LinearCosineDecayOptions = {},
): Tensor {
  onlyOptions('tf.train.linearCosineDecay', options, 'name', 'numPeriods', 'alpha', 'beta');
  return schedule(options.name ?? 'LinearCosineDecay', learningRate, (terms) => {
    const steps = terms.typed(decaySteps);
    return lineTimesCosine(terms, globalStep, steps, options, ({ left }) => left);
  });
}

/** The formula of both; `line` is what falls from 1 to 0, with noise or without. */
function lineTimesCosine(
  { initial, name, typed, parameter }: Terms,
  globalStep: TensorLike,
  steps: Tensor,
  { numPeriods = 0.5, alpha = 0, beta = 0.001 }: LinearCosineDecayOptions,
  line: (time: { step: Tensor; left: Tensor }) => Tensor,
): Tensor {
  const [periods, a, b] = [parameter(numPeriods), parameter(alpha), parameter(beta)];
  const step = minimum(typed(globalStep), steps);
  const height = line({ step, left: over(minus(steps, step), steps) });
  const passed = over(step, steps);
  const cosine = halfCosine(times(times(2, periods), passed));
  return multiply(initial, plus(times(plus(a, height), cosine), b), { name });
}

export interface NoisyLinearCosineDecayOptions extends LinearCosineDecayOptions {
  readonly initialVariance?: number | undefined;
  readonly varianceDecay?: number | undefined;
}

/** `linearCosineDecay` with normal noise on the line, whose variance falls with the step. */
export function noisyLinearCosineDecay(
  learningRate: TensorLike,
  globalStep: TensorLike,
  decaySteps: TensorLike,
  options: NoisyLinearCosineDecayOptions = {},
): Tensor {
  onlyOptions(
    'tf.train.noisyLinearCosineDecay',
    options,
    'name',
    'numPeriods',
    'alpha',
    'beta',
    'initialVariance',
    'varianceDecay',
  );
  const { initialVariance = 1, varianceDecay = 0.55 } = options;
  return schedule(options.name ?? 'NoisyLinearCosineDecay', learningRate, (terms) => {
    const steps = terms.typed(decaySteps);
    const [variance, decay] = [terms.parameter(initialVariance), terms.parameter(varianceDecay)];
    return lineTimesCosine(terms, globalStep, steps, options, ({ step, left }) => {
      const stddev = sqrt(over(variance, pow(plus(1, step), decay)));
      const shape = (left.shape ?? []).map((d) => d ?? 1);
      return plus(left, randomNormal(shape, { stddev }));
    });
  });
}
