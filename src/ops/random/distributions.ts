/** @file RandomUniform, RandomUniformInt, RandomStandardNormal and TruncatedNormal: numbers bit for bit TensorFlow's. */

import * as d from '../../core/dtypes.ts';
import { type DType, float32, int32 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, showShape, sizeOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { attr, floats } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { RandomInstruction } from '../../program/instructions.ts';
import type { Value } from '../../program/value.ts';
import { concreteShape, dimsFrom } from '../array/common.ts';
import { add } from '../math/add.ts';
import { multiply } from '../math/multiply.ts';
import { minus, times } from '../math/operators.ts';
import { getSeed, initialState, type Seeds } from './seed.ts';

/** The attributes every seeded op has. */
export const seedAttrs = { seed: attr('int', { default: 0 }), seed2: attr('int', { default: 0 }) } as const;
export const shapeTypes = attr('type', { allowed: [d.int32, d.int64] });

/** TensorFlow's kernels set this many blocks of the generator aside for every number they give. */
export const blocksPerNumber = 256;

/** Numbers of a distribution in a given shape, from the generator of the node. */
function draw(
  p: ProgramBuilder,
  distribution: RandomInstruction['distribution'],
  dtype: DType,
  shape: Value,
  seeds: Seeds,
  bounds: { low: Value; high: Value } | undefined = undefined,
): Value {
  const dims = concreteShape(p, shape, 'shape');
  return p.random(distribution, dtype, dims, {
    state: () => initialState(seeds),
    reserve: blocksPerNumber * sizeOf(dims),
    ...bounds,
  });
}

function defineFloats(name: string, distribution: 'uniform' | 'normal' | 'truncatedNormal') {
  return defineOp({
    name,
    inputs: { shape: 'T' },
    outputs: { output: 'dtype' },
    attrs: { ...seedAttrs, dtype: floats, T: shapeTypes },
    stateful: true,
    effects: 'draws',
    hostInputs: ['shape'],
    shape: (_, __, context) => ({ output: dimsFrom(context.partial('shape')) }),
    grad: notDifferentiable,
    lower: (p, { shape }, { dtype, seed, seed2 }) => ({ output: draw(p, distribution, dtype, shape, { seed, seed2 }) }),
    cases: () => [
      { shape: '[2] -> [2, 3]', given: { shape: { dtype: 'int32', value: [2, 3] } }, attrs: { dtype: float32 } },
      { shape: '[2] -> [?, ?]', attrs: { dtype: float32 } },
      {
        given: { shape: { dtype: 'int32', value: [2, -1] } },
        attrs: { dtype: float32 },
        fails: /Dimension -1 must be >= 0/,
      },
      ...seededCases[distribution].map(({ dtype, value }) => ({
        given: { shape: { dtype: 'int32' as const, value: [3] } },
        attrs: { dtype, seed: 1, seed2: 2 },
        expect: { output: { dtype: dtype.name, value } },
      })),
    ],
  });
}

/** What TensorFlow 2.21 gives for the seeds (1, 2). */
const seededCases = {
  uniform: [
    { dtype: d.float32, value: [0.406396746635437, 0.8575996160507202, 0.05539584159851074] },
    { dtype: d.float64, value: [0.2511744980841868, 0.44316677020093853, 0.2972296290781924] },
    { dtype: d.float16, value: [0.2021484375, 0.4560546875, 0.802734375] },
  ],
  normal: [
    { dtype: d.float32, value: [-1.0467792749404907, 0.8397045731544495, 1.235836386680603] },
    { dtype: d.float64, value: [0.58105877128258, -1.557429113677359, 1.555896998265924] },
  ],
  truncatedNormal: [
    { dtype: d.float32, value: [-1.0467792749404907, 0.8397045731544495, 1.235836386680603] },
    { dtype: d.float64, value: [0.58105877128258, -1.557429113677359, -1.1295845092323191] },
  ],
} as const;

export const RandomUniform = defineFloats('RandomUniform', 'uniform');
export const RandomStandardNormal = defineFloats('RandomStandardNormal', 'normal');
export const TruncatedNormal = defineFloats('TruncatedNormal', 'truncatedNormal');

function checkScalar(port: string, dims: Dims): void {
  if (dims !== null && dims.length !== 0)
    throw new InvalidArgumentError(`${port} must be a scalar; got a tensor of shape ${showShape(dims)}`);
}

export const RandomUniformInt = defineOp({
  name: 'RandomUniformInt',
  inputs: { shape: 'T', minval: 'Tout', maxval: 'Tout' },
  outputs: { output: 'Tout' },
  attrs: { ...seedAttrs, Tout: attr('type', { allowed: [d.int32, d.int64] }), T: shapeTypes },
  stateful: true,
  effects: 'draws',
  hostInputs: ['shape'],
  shape({ minval, maxval }, _, context) {
    checkScalar('minval', minval);
    checkScalar('maxval', maxval);
    return { output: dimsFrom(context.partial('shape')) };
  },
  grad: notDifferentiable,
  lower(p, { shape, minval, maxval }, { Tout, seed, seed2 }) {
    // Nothing is drawn into an empty tensor, so any limits will do.
    if (p.demandInts(shape).includes(0)) return { output: p.fill(Tout, p.demandInts(shape), 0) };
    if (minval.known && maxval.known && minval.known.numberAt(0) >= maxval.known.numberAt(0))
      throw new InvalidArgumentError(`Need minval < maxval, got ${minval.known.item()} >= ${maxval.known.item()}`);
    p.check(
      p.map([minval, maxval], (low, high) => e.ge(low!, high!)),
      () => new InvalidArgumentError('Need minval < maxval'),
    );
    return { output: draw(p, 'uniformInt', Tout, shape, { seed, seed2 }, { low: minval, high: maxval }) };
  },
  cases: () => [
    {
      shape: '[2], [], [] -> [2, 3]',
      given: {
        shape: { dtype: 'int32', value: [2, 3] },
        minval: { dtype: 'int32', value: 0 },
        maxval: { dtype: 'int32', value: 9 },
      },
    },
    {
      shape: '[1], [1], []',
      given: {
        shape: { dtype: 'int32', value: [2] },
        minval: { dtype: 'int32', value: [0] },
        maxval: { dtype: 'int32', value: 9 },
      },
      rejects: /minval must be a scalar/,
    },
    {
      given: {
        shape: { dtype: 'int32', value: [4] },
        minval: { dtype: 'int32', value: -5 },
        maxval: { dtype: 'int32', value: 100 },
      },
      attrs: { seed: 1, seed2: 2 },
      expect: { output: { dtype: 'int32', value: [84, 75, 22, 54] } },
    },
    {
      given: {
        shape: { dtype: 'int64', value: [3] },
        minval: { dtype: 'int64', value: 0 },
        maxval: { dtype: 'int64', value: 1000000007 },
      },
      attrs: { seed: 1, seed2: 2 },
      expect: { output: { dtype: 'int64', value: [613122600, 767726289, 55414716] } },
    },
    {
      given: {
        shape: { dtype: 'int32', value: [1] },
        minval: { dtype: 'int32', value: 5 },
        maxval: { dtype: 'int32', value: 5 },
      },
      fails: /Need minval < maxval/,
    },
  ],
});

export interface RandomOptions {
  /** float32 unless said otherwise. */
  readonly dtype?: DType | undefined;
  /** The op's own seed; see `setRandomSeed` for the graph's. */
  readonly seed?: number | null | undefined;
  readonly name?: string | undefined;
}
export interface UniformOptions extends RandomOptions {
  /** Least value, 0 unless given. */
  readonly minval?: TensorLike | undefined;
  /** Upper bound, never reached; 1 for floats unless given. */
  readonly maxval?: TensorLike | undefined;
}
export interface NormalOptions extends RandomOptions {
  readonly mean?: TensorLike | undefined;
  readonly stddev?: TensorLike | undefined;
}

/** A shape argument as a tensor; whole numbers are int32. */
export function shapeTensor(shape: TensorLike): Tensor {
  return convertToTensor(shape, { hint: int32, name: 'shape', ...(isEmptyList(shape) ? { dtype: int32 } : {}) });
}
const isEmptyList = (shape: TensorLike) => Array.isArray(shape) && shape.length === 0;

/**
 * Numbers spread evenly over [minval, maxval): floats, or integers when `dtype` says so. Adds one `RandomUniform` node and
 * what moves it to the range, or one `RandomUniformInt` node.
 *
 * @example tf.randomUniform([2, 3], { minval: -1, maxval: 1, seed: 7 })
 */
export function randomUniform(shape: TensorLike, options: UniformOptions = {}): Tensor {
  onlyOptions('tf.randomUniform', options, 'dtype', 'seed', 'name', 'minval', 'maxval');
  const dtype = options.dtype ?? float32;
  const { minval = 0 } = options;
  if (!dtype.isFloating && dtype !== d.int32 && dtype !== d.int64)
    throw userError(`dtype is ${dtype}, but uniform numbers are floats, int32 or int64.`);
  if (dtype.isInteger && options.maxval === undefined)
    throw userError(`Must specify maxval for integer dtype ${dtype}`);
  const maxval = options.maxval ?? 1;
  return nameScope(options.name ?? 'random_uniform', (name) => {
    const dims = shapeTensor(shape);
    if (!dtype.isInteger && minval === 0 && maxval === 1)
      return RandomUniform.build({ shape: dims }, { attrs: { dtype, ...getSeed(options.seed) } }).output;
    const low = convertToTensor(minval, { dtype, name: 'min' });
    const high = convertToTensor(maxval, { dtype, name: 'max' });
    const seeds = getSeed(options.seed);
    if (dtype.isInteger)
      return RandomUniformInt.build({ shape: dims, minval: low, maxval: high }, { name, attrs: seeds }).output;
    const unit = RandomUniform.build({ shape: dims }, { attrs: { dtype, ...seeds } }).output;
    return minval === 0 ? multiply(unit, high) : add(times(unit, minus(high, low)), low, { name });
  });
}

const normalOptionNames = ['mean', 'stddev', 'dtype', 'seed', 'name'] as const;

function normal(
  op: typeof RandomStandardNormal,
  scope: string,
  shape: TensorLike,
  { mean = 0, stddev = 1, dtype = float32, seed, name }: NormalOptions,
): Tensor {
  return nameScope(name ?? scope, (full) => {
    const dims = shapeTensor(shape);
    const center = convertToTensor(mean, { dtype, name: 'mean' });
    const width = convertToTensor(stddev, { dtype, name: 'stddev' });
    const unit = op.build({ shape: dims }, { attrs: { dtype, ...getSeed(seed) } }).output;
    return add(times(unit, width), center, { name: full });
  });
}

/**
 * Normally distributed numbers. Adds `RandomStandardNormal`, `mul` and the sum with the mean.
 *
 * @example tf.randomNormal([2, 3], { stddev: 0.1, seed: 7 })
 */
export function randomNormal(shape: TensorLike, options: NormalOptions = {}): Tensor {
  onlyOptions('tf.randomNormal', options, ...normalOptionNames);
  return normal(RandomStandardNormal, 'random_normal', shape, options);
}

/**
 * Normally distributed numbers no further than two standard deviations from the mean. Adds `TruncatedNormal`, `mul` and the
 * sum with the mean.
 *
 * @example tf.truncatedNormal([2, 3], { stddev: 0.1, seed: 7 })
 */
export function truncatedNormal(shape: TensorLike, options: NormalOptions = {}): Tensor {
  onlyOptions('tf.truncatedNormal', options, ...normalOptionNames);
  return normal(TruncatedNormal, 'truncated_normal', shape, options);
}
