/** @file The stateless random ops: the same seed always gives the same numbers. */

import * as d from '../../core/dtypes.ts';
import { type DType, float32, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError, UnimplementedError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Dims, type Shape, showRuntime, showShape, sizeOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { attr, floats, indexTypes, realNumbers } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { RandomInstruction } from '../../program/instructions.ts';
import { Philox } from '../../program/philox.ts';
import type { Value } from '../../program/value.ts';
import { concreteShape, dimsFrom } from '../array/common.ts';
import { add } from '../math/add.ts';
import { minus, times } from '../math/operators.ts';
import { blocksPerNumber, type NormalOptions, shapeTensor, type UniformOptions } from './distributions.ts';
import { sampleClasses } from './multinomial.ts';

export const seedTypes = attr('type', { allowed: [d.int32, d.int64], default: d.int64 });

export function checkSeed(dims: Dims): void {
  if (dims !== null && (dims.length !== 1 || (dims[0] ?? 2) !== 2))
    throw new InvalidArgumentError(`seed is ${showShape(dims)}, but must be a vector of two integers.`);
}

/** A generator's state from two seeds, stirred by one block so that weak seeds do as well as strong ones. */
function stirred(seed: NDArray): NDArray {
  const [first, second] = [0, 1].map((i) => BigInt.asUintN(64, BigInt(seed.data[i]!))) as [bigint, bigint]; // two seeds
  const start = new DataView(new ArrayBuffer(24));
  start.setBigUint64(0, first, true);
  start.setBigUint64(8, second, true);
  start.setUint32(16, 0x3ec8f720, true);
  start.setUint32(20, 0x02461e29, true);
  const [a, b, c, h] = new Philox(start, 0).nextBlock();
  const state = new DataView(new ArrayBuffer(24));
  state.setUint32(8, c!, true);
  state.setUint32(12, h!, true);
  state.setUint32(16, a!, true);
  state.setUint32(20, b!, true);
  return new NDArray(d.int64, [3], new BigInt64Array(state.buffer));
}

export function stateFromSeed(p: ProgramBuilder, seed: Value): Value {
  if (`${seed.shape}` !== '2')
    throw new InvalidArgumentError(`seed must have shape [2], not ${showRuntime(seed.shape)}`);
  return p.host([seed], [{ dtype: d.int64, shape: [3] }], ([s]) => [stirred(s!)])[0]!;
}

/** Numbers from a generator that begins at `state`. */
export function draw(
  p: ProgramBuilder,
  state: Value,
  distribution: RandomInstruction['distribution'],
  dtype: DType,
  shape: Shape,
  bounds: { low: Value; high: Value } | undefined = undefined,
): Value {
  return p.random(distribution, dtype, shape, { state, reserve: blocksPerNumber * sizeOf(shape), ...bounds });
}

type Distribution = 'uniform' | 'normal' | 'truncatedNormal';

const seedOneTwo = { dtype: 'int32' as const, value: [1, 2] };
const five = { dtype: 'int32' as const, value: [5] };

/** What TensorFlow 2.21 gives for the seed [1, 2]. */
const expected: Readonly<Record<Distribution, readonly number[]>> = {
  uniform: [0.8440604209899902, 0.19204533100128174, 0.9962232112884521, 0.16038739681243896, 0.27199018001556396],
  normal: [0.544110119342804, 0.20738030970096588, 0.0735643208026886, 0.04643455147743225, -1.301589846611023],
  truncatedNormal: [
    0.544110119342804, 0.20738030970096588, 0.0735643208026886, 0.04643455147743225, 0.16820591688156128,
  ],
};

function defineStateless(name: string, distribution: Distribution) {
  return defineOp({
    name,
    inputs: { shape: 'T', seed: 'Tseed' },
    outputs: { output: 'dtype' },
    attrs: { dtype: attr('type', { allowed: floats.allowed!, default: float32 }), T: indexTypes, Tseed: seedTypes },
    hostInputs: ['shape'],
    shape({ seed }, _, context) {
      checkSeed(seed);
      return { output: dimsFrom(context.partial('shape')) };
    },
    grad: notDifferentiable,
    lower(p, { shape, seed }, { dtype }) {
      const dims = concreteShape(p, shape, 'shape');
      return { output: draw(p, stateFromSeed(p, seed), distribution, dtype, dims) };
    },
    cases: () => [
      { shape: '[1], [2] -> [5]', given: { shape: five } },
      { shape: '[1], [3]', given: { shape: five }, rejects: /vector of two integers/ },
      { given: { shape: five, seed: seedOneTwo }, expect: { output: expected[distribution] } },
    ],
  });
}

export const StatelessRandomUniform = defineStateless('StatelessRandomUniform', 'uniform');
export const StatelessRandomNormal = defineStateless('StatelessRandomNormal', 'normal');
export const StatelessTruncatedNormal = defineStateless('StatelessTruncatedNormal', 'truncatedNormal');

function checkBounds(p: ProgramBuilder, minval: Value, maxval: Value): void {
  p.check(
    p.map([minval, maxval], (low, high) => e.ge(low!, high!)),
    () => new InvalidArgumentError('Need minval < maxval'),
  );
}

export const StatelessRandomUniformInt = defineOp({
  name: 'StatelessRandomUniformInt',
  inputs: { shape: 'T', seed: 'Tseed', minval: 'dtype', maxval: 'dtype' },
  outputs: { output: 'dtype' },
  attrs: {
    dtype: attr('type', { allowed: [d.int32, d.int64] }),
    T: attr('type', { allowed: [d.int32, d.int64] }),
    Tseed: seedTypes,
  },
  hostInputs: ['shape'],
  shape({ seed }, _, context) {
    checkSeed(seed);
    return { output: dimsFrom(context.partial('shape')) };
  },
  grad: notDifferentiable,
  lower(p, { shape, seed, minval, maxval }, { dtype }) {
    const dims = concreteShape(p, shape, 'shape');
    const state = stateFromSeed(p, seed);
    checkBounds(p, minval, maxval);
    return { output: draw(p, state, 'uniformInt', dtype, dims, { low: minval, high: maxval }) };
  },
  cases: () => [
    { shape: '[1], [2], [], [] -> [5]', given: { shape: five }, attrs: { dtype: d.int32 } },
    {
      given: {
        shape: five,
        seed: seedOneTwo,
        minval: { dtype: 'int32', value: 0 },
        maxval: { dtype: 'int32', value: 100 },
      },
      expect: { output: { dtype: 'int32', value: [40, 49, 94, 79, 27] } },
    },
  ],
});

export const StatelessMultinomial = defineOp({
  name: 'StatelessMultinomial',
  inputs: { logits: 'T', num_samples: 'int32', seed: 'Tseed' },
  outputs: { output: 'output_dtype' },
  attrs: {
    T: realNumbers,
    Tseed: seedTypes,
    output_dtype: attr('type', { allowed: [d.int32, d.int64], default: int64 }),
  },
  hostInputs: ['num_samples'],
  shape({ logits, seed }, _, context) {
    checkSeed(seed);
    if (logits !== null && logits.length !== 2)
      throw new InvalidArgumentError(`logits is ${showShape(logits)}, but must have rank 2: [batch, classes].`);
    return { output: [logits?.[0] ?? null, context.partial('num_samples')?.[0] ?? null] };
  },
  grad: notDifferentiable,
  lower(p, { logits, num_samples, seed }, { output_dtype }) {
    const [samples] = p.demandInts(num_samples) as [number]; // a scalar
    const rows = logits.shape[0]!;
    const words = draw(p, stateFromSeed(p, seed), 'bits', d.uint32, [2 * rows * samples]);
    const [output] = p.host([logits, words], [{ dtype: output_dtype, shape: [rows, samples] }], async ([x, w]) => [
      await sampleClasses(x!, w!, samples, output_dtype),
    ]);
    return { output: output! };
  },
  cases: () => [
    { shape: '[2, ?], [], [2] -> [2, 4]', given: { num_samples: { dtype: 'int32', value: 4 } } },
    {
      given: { logits: [[0, 1, 2]], num_samples: { dtype: 'int32', value: 6 }, seed: seedOneTwo },
      expect: { output: { dtype: 'int64', value: [[2, 2, 1, 2, 2, 2]] } },
    },
  ],
});

// With a key and a counter.
export const StatelessRandomGetKeyCounter = defineOp({
  name: 'StatelessRandomGetKeyCounter',
  inputs: { seed: 'Tseed' },
  outputs: { key: 'uint64', counter: 'uint64' },
  attrs: { Tseed: seedTypes },
  shape({ seed }) {
    checkSeed(seed);
    return { key: [1], counter: [2] };
  },
  grad: notDifferentiable,
  lower(p, { seed }) {
    const state = p.cast(stateFromSeed(p, seed), d.uint64);
    return { key: p.slice(state, [2], [1]), counter: p.slice(state, [0], [2]) };
  },
  cases: () => [
    { shape: '[2] -> [1], [2]' },
    {
      given: { seed: seedOneTwo },
      expect: {
        key: { dtype: 'uint64', value: [10413732777507651514n] },
        counter: { dtype: 'uint64', value: [0, 17830669156045600267n] },
      },
    },
  ],
});

/** Philox, or the choice that a CPU makes. */
const philoxNumbers = [1, 3];

export function stateFromKey(p: ProgramBuilder, key: Value, counter: Value, alg: Value): Value {
  const [algorithm] = p.demandInts(alg) as [number]; // a scalar
  if (!philoxNumbers.includes(algorithm))
    throw new UnimplementedError(
      `Unsupported algorithm id: ${algorithm}; only Philox (1) and the automatic choice (3) are there.`,
    );
  return p.concat([p.cast(counter, d.int64), p.cast(key, d.int64)], 0);
}

/** For cases: what the seed [1, 2] becomes. */
export const keyOneTwo = {
  key: { dtype: 'uint64' as const, value: [10413732777507651514n] },
  counter: { dtype: 'uint64' as const, value: [0, 17830669156045600267n] },
  alg: { dtype: 'int32' as const, value: 1 },
};

function defineKeyed(name: string, distribution: Distribution) {
  return defineOp({
    name,
    inputs: { shape: 'Tshape', key: 'uint64', counter: 'uint64', alg: 'int32' },
    outputs: { output: 'dtype' },
    attrs: { dtype: attr('type', { allowed: floats.allowed!, default: float32 }), Tshape: indexTypes },
    hostInputs: ['shape', 'alg'],
    shape: (_, __, context) => ({ output: dimsFrom(context.partial('shape')) }),
    grad: notDifferentiable,
    lower(p, { shape, key, counter, alg }, { dtype }) {
      const dims = concreteShape(p, shape, 'shape');
      return { output: draw(p, stateFromKey(p, key, counter, alg), distribution, dtype, dims) };
    },
    cases: () => [
      { shape: '[1], [1], [2], [] -> [5]', given: { shape: five } },
      { given: { shape: five, ...keyOneTwo }, expect: { output: expected[distribution] } },
      {
        given: { shape: five, ...keyOneTwo, alg: { dtype: 'int32', value: 2 } },
        fails: /Unsupported algorithm id: 2/,
      },
    ],
  });
}

export const StatelessRandomUniformV2 = defineKeyed('StatelessRandomUniformV2', 'uniform');
export const StatelessRandomNormalV2 = defineKeyed('StatelessRandomNormalV2', 'normal');
export const StatelessTruncatedNormalV2 = defineKeyed('StatelessTruncatedNormalV2', 'truncatedNormal');

export const StatelessRandomUniformIntV2 = defineOp({
  name: 'StatelessRandomUniformIntV2',
  inputs: { shape: 'Tshape', key: 'uint64', counter: 'uint64', alg: 'int32', minval: 'dtype', maxval: 'dtype' },
  outputs: { output: 'dtype' },
  attrs: { dtype: attr('type', { allowed: [d.int32, d.int64, d.uint32, d.uint64] }), Tshape: indexTypes },
  hostInputs: ['shape', 'alg'],
  shape: (_, __, context) => ({ output: dimsFrom(context.partial('shape')) }),
  grad: notDifferentiable,
  lower(p, { shape, key, counter, alg, minval, maxval }, { dtype }) {
    const dims = concreteShape(p, shape, 'shape');
    const state = stateFromKey(p, key, counter, alg);
    checkBounds(p, minval, maxval);
    // The unsigned types have the same bits as the signed ones, and the instruction draws those.
    const signed = dtype === d.uint32 ? d.int32 : dtype === d.uint64 ? d.int64 : dtype;
    const bounds = { low: p.cast(minval, signed), high: p.cast(maxval, signed) };
    return { output: p.cast(draw(p, state, 'uniformInt', signed, dims, bounds), dtype) };
  },
  cases: () => [
    { shape: '[1], [1], [2], [], [], [] -> [5]', given: { shape: five }, attrs: { dtype: d.int32 } },
    {
      given: {
        shape: five,
        ...keyOneTwo,
        minval: { dtype: 'int32', value: 0 },
        maxval: { dtype: 'int32', value: 100 },
      },
      expect: { output: { dtype: 'int32', value: [40, 49, 94, 79, 27] } },
    },
  ],
});

// Functions.
/** Key, counter and algorithm as Python passes them. */
function keyAndCounter(seed: TensorLike): { key: Tensor; counter: Tensor; alg: TensorLike } {
  return { ...StatelessRandomGetKeyCounter.build({ seed }), alg: philoxNumbers[0]! };
}

/**
 * Uniform numbers that depend on nothing but the seed, two integers. Adds nodes under `stateless_random_uniform/`.
 *
 * @example tf.random.statelessUniform([2], [1, 2]) // runs to [0.8440604  0.19204533]
 */
export function statelessUniform(
  shape: TensorLike,
  seed: TensorLike,
  options: Omit<UniformOptions, 'seed'> = {},
): Tensor {
  onlyOptions('tf.random.statelessUniform', options, 'dtype', 'name', 'minval', 'maxval');
  const dtype = options.dtype ?? float32;
  if (dtype.isInteger && options.maxval === undefined)
    throw userError(`Must specify maxval for integer dtype ${dtype}`);
  return nameScope(options.name ?? 'stateless_random_uniform', (name) => {
    const dims = shapeTensor(shape);
    const low = convertToTensor(options.minval ?? 0, { dtype, name: 'min' });
    const high = convertToTensor(options.maxval ?? 1, { dtype, name: 'max' });
    const source = keyAndCounter(seed);
    if (dtype.isInteger)
      return StatelessRandomUniformIntV2.build({ shape: dims, ...source, minval: low, maxval: high }, { name }).output;
    const unit = StatelessRandomUniformV2.build({ shape: dims, ...source }, { attrs: { dtype } }).output;
    return add(times(unit, minus(high, low)), low, { name });
  });
}

function normal(
  op: typeof StatelessRandomNormalV2,
  scope: string,
  shape: TensorLike,
  seed: TensorLike,
  { mean = 0, stddev = 1, dtype = float32, name }: Omit<NormalOptions, 'seed'>,
): Tensor {
  return nameScope(name ?? scope, (full) => {
    const dims = shapeTensor(shape);
    const center = convertToTensor(mean, { dtype, name: 'mean' });
    const width = convertToTensor(stddev, { dtype, name: 'stddev' });
    const unit = op.build({ shape: dims, ...keyAndCounter(seed) }, { attrs: { dtype } }).output;
    return add(times(unit, width), center, { name: full });
  });
}

/**
 * Normal numbers that depend on nothing but the seed, two integers. Adds nodes under `stateless_random_normal/`.
 *
 * @example tf.random.statelessNormal([2], [1, 2]) // runs to [0.5441101 0.2073803]
 */
export function statelessNormal(
  shape: TensorLike,
  seed: TensorLike,
  options: Omit<NormalOptions, 'seed'> = {},
): Tensor {
  return normal(StatelessRandomNormalV2, 'stateless_random_normal', shape, seed, options);
}

/**
 * Truncated normal numbers that depend on nothing but the seed. Adds nodes under `stateless_truncated_normal/`.
 *
 * @example tf.random.statelessTruncatedNormal([2], [1, 2]) // runs to [0.5441101 0.2073803]
 */
export function statelessTruncatedNormal(
  shape: TensorLike,
  seed: TensorLike,
  options: Omit<NormalOptions, 'seed'> = {},
): Tensor {
  return normal(StatelessTruncatedNormalV2, 'stateless_truncated_normal', shape, seed, options);
}

/**
 * Class numbers drawn with probabilities `softmax(logits)`, which depend on nothing but the seed. Adds one
 * `StatelessMultinomial` node under `stateless_categorical/`.
 *
 * @example tf.random.statelessCategorical([[0.5, 0.5]], 4, [1, 2])
 */
export function statelessCategorical(
  logits: TensorLike,
  numSamples: TensorLike,
  seed: TensorLike,
  options: { dtype?: DType; name?: string } = {},
): Tensor {
  onlyOptions('tf.random.statelessCategorical', options, 'dtype', 'name');
  return drawClasses(options.name ?? 'stateless_categorical', logits, numSamples, seed, options.dtype);
}

/**
 * The older form of `statelessCategorical`. Adds one `StatelessMultinomial` node under `stateless_multinomial/`.
 *
 * @example tf.random.statelessMultinomial([[0.5, 0.5]], 4, [1, 2])
 */
export function statelessMultinomial(
  logits: TensorLike,
  numSamples: TensorLike,
  seed: TensorLike,
  options: { outputDtype?: DType; name?: string } = {},
): Tensor {
  onlyOptions('tf.random.statelessMultinomial', options, 'outputDtype', 'name');
  return drawClasses(options.name ?? 'stateless_multinomial', logits, numSamples, seed, options.outputDtype);
}

function drawClasses(
  scope: string,
  logits: TensorLike,
  num_samples: TensorLike,
  seed: TensorLike,
  output_dtype: DType = int64,
): Tensor {
  return nameScope(scope, () => {
    const x = convertToTensor(logits, { name: 'logits' });
    return StatelessMultinomial.build({ logits: x, num_samples, seed }, { attrs: { output_dtype } }).output;
  });
}
