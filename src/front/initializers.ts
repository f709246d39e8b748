/** @file Initializers: functions from a shape to the first value of a variable. */

import { type DType, float32 } from '../core/dtypes.ts';
import { fromElements, type NDArray, type Nested } from '../core/ndarray.ts';
import { type Shape, showTuple, sizeOf } from '../core/shape.ts';
import { onlyOptions } from '../graph/options.ts';
import { nameScope } from '../graph/scopes.ts';
import type { Tensor, TensorLike } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { toArray } from '../op/convert.ts';
import { constant } from '../ops/array/constant.ts';
import { DiagPart } from '../ops/array/diag.ts';
import { ones, zeros } from '../ops/array/fill.ts';
import { MatrixDiagV3 } from '../ops/array/matrixDiag.ts';
import { MatrixSetDiagV3 } from '../ops/array/matrixSetDiag.ts';
import { reshape } from '../ops/array/reshape.ts';
import { slice } from '../ops/array/slice.ts';
import { matrixTranspose } from '../ops/array/transpose.ts';
import { Qr } from '../ops/math/factorizations.ts';
import { sign } from '../ops/math/neg.ts';
import { times } from '../ops/math/operators.ts';
import { randomNormal, randomUniform, truncatedNormal } from '../ops/random/distributions.ts';

/** The part of a partitioned variable that is being initialized. */
export interface PartitionInfo {
  readonly fullShape: Shape;
  readonly varOffset: readonly number[];
}

export interface InitializerCall {
  readonly dtype?: DType | undefined;
  readonly partitionInfo?: PartitionInfo | undefined;
}

/** Gives the first value of a variable of that shape. */
export type InitializerFunction = (shape: Shape, options?: InitializerCall) => TensorLike;

/** An initializer that can say how it was made. */
export interface Initializer {
  (shape: Shape, options?: InitializerCall): Tensor;
  getConfig(): Record<string, unknown>;
}

type Config = Readonly<Record<string, unknown>>;

function initializer(
  config: Config & { dtype?: DType | undefined },
  make: (shape: Shape, dtype: DType, part: PartitionInfo | undefined) => Tensor,
): Initializer {
  const { dtype = float32, ...rest } = config;
  const call = (shape: Shape, options: InitializerCall = {}) =>
    make(shape, options.dtype ?? dtype, options.partitionInfo);
  return Object.assign(call, { getConfig: () => ({ ...rest, dtype: dtype.name }) });
}

function checkFloat(dtype: DType | undefined): void {
  if (dtype !== undefined && !dtype.isFloating)
    throw userError(`Argument dtype is expected to be floating point. Received: ${dtype}.`);
}

interface Typed {
  readonly dtype?: DType | undefined;
}
interface Seeded extends Typed {
  readonly seed?: number | undefined;
}
interface UniformBounds extends Seeded {
  readonly minval?: TensorLike | undefined;
  readonly maxval?: TensorLike | undefined;
}
interface NormalMoments extends Seeded {
  readonly mean?: TensorLike | undefined;
  readonly stddev?: TensorLike | undefined;
}

/**
 * Zeros.
 *
 * @example tf.getVariable('b', [3], { initializer: tf.zerosInitializer() })
 */
export function zerosInitializer(options: Typed = {}): Initializer {
  const { dtype } = onlyOptions('tf.zerosInitializer', options, 'dtype');
  return initializer({ dtype }, (shape, type) => zeros(shape, { dtype: type }));
}

/** Ones. */
export function onesInitializer(options: Typed = {}): Initializer {
  const { dtype } = onlyOptions('tf.onesInitializer', options, 'dtype');
  return initializer({ dtype }, (shape, type) => ones(shape, { dtype: type }));
}

/** A fixed value; when it has fewer elements than the variable, its last element fills the rest. */
export function constantInitializer(
  value: Nested | NDArray = 0,
  options: Typed & { verifyShape?: boolean } = {},
): Initializer {
  const { dtype, verifyShape = false } = onlyOptions('tf.constantInitializer', options, 'dtype', 'verifyShape');
  return initializer({ value, dtype }, (shape, type) => constant(spread(toArray(value, type), shape, verifyShape)));
}

function spread(array: NDArray, shape: Shape, verify: boolean): NDArray {
  const size = sizeOf(shape);
  if (verify && showTuple(array.shape) !== showTuple(shape))
    throw userError(`Expected Tensor's shape: ${showTuple(shape)}, got ${showTuple(array.shape)}.`);
  if (array.size === size) return array.reshape(shape);
  if (array.size > size && array.shape.length > 0)
    throw userError(`Too many elements provided. Needed at most ${size}, but received ${array.size}`);
  const elements = Array.from({ length: size }, (_, i) => array.at(Math.min(i, array.size - 1)));
  return fromElements(array.dtype, shape, elements);
}

/** Options are the only plain objects that can come first. */
function isOptions<T extends object>(first: TensorLike | T | undefined): first is T {
  return typeof first === 'object' && Object.getPrototypeOf(first) === Object.prototype;
}

/**
 * Numbers spread evenly over [minval, maxval), which is [0, 1) unless given.
 *
 * @example tf.getVariable('w', [3], { initializer: tf.randomUniformInitializer({ minval: -1, maxval: 1, seed: 7 }) })
 */
export function randomUniformInitializer(options?: UniformBounds): Initializer;
export function randomUniformInitializer(minval: TensorLike, maxval?: TensorLike, options?: Seeded): Initializer;
export function randomUniformInitializer(
  first: TensorLike | UniformBounds = {},
  second?: TensorLike,
  last: Seeded = {},
): Initializer {
  const options = isOptions(first) ? first : { ...last, minval: first, maxval: second };
  onlyOptions('tf.randomUniformInitializer', options, 'minval', 'maxval', 'seed', 'dtype');
  const { minval = 0, maxval, seed, dtype } = options;
  return initializer({ minval, maxval: maxval ?? null, seed: seed ?? null, dtype }, (shape, type) =>
    randomUniform(shape, { minval, maxval, dtype: type, seed }),
  );
}

type NormalInitializer = {
  (options?: NormalMoments): Initializer;
  (mean: TensorLike, stddev?: TensorLike, options?: Seeded): Initializer;
};

function normalInitializer(name: string, distribution: typeof randomNormal): NormalInitializer {
  return (first: TensorLike | NormalMoments = {}, second?: TensorLike, last: Seeded = {}) => {
    const options = isOptions(first) ? first : { ...last, mean: first, stddev: second };
    const { mean = 0, stddev = 1, seed, dtype } = onlyOptions(name, options, 'mean', 'stddev', 'seed', 'dtype');
    checkFloat(dtype);
    return initializer({ mean, stddev, seed: seed ?? null, dtype }, (shape, type) =>
      distribution(shape, { mean, stddev, dtype: type, seed }),
    );
  };
}

/**
 * Normally distributed numbers, of mean 0 and standard deviation 1 unless given.
 *
 * @example tf.getVariable('w', [3], { initializer: tf.randomNormalInitializer({ stddev: 0.1 }) })
 */
export const randomNormalInitializer: NormalInitializer = normalInitializer('tf.randomNormalInitializer', randomNormal);

/** Normally distributed numbers, none further than two standard deviations from the mean. */
export const truncatedNormalInitializer: NormalInitializer = normalInitializer(
  'tf.truncatedNormalInitializer',
  truncatedNormal,
);

/** Uniform numbers that keep the scale of the input: the bound is `sqrt(3 / inputSize) * factor`. */
export function uniformUnitScalingInitializer(
  first: number | (Seeded & { readonly factor?: number | undefined }) = {},
  last: Seeded = {},
): Initializer {
  const options = typeof first === 'number' ? { ...last, factor: first } : first;
  const {
    factor = 1,
    seed,
    dtype,
  } = onlyOptions('tf.uniformUnitScalingInitializer', options, 'factor', 'seed', 'dtype');
  checkFloat(dtype);
  return initializer({ factor, seed: seed ?? null, dtype }, (shape, type, part) => {
    const inputs = sizeOf((part?.fullShape ?? shape).slice(0, -1));
    const bound = Math.sqrt(3 / Math.max(inputs, 1)) * factor;
    return randomUniform(shape, { minval: -bound, maxval: bound, dtype: type, seed });
  });
}

/** How many numbers go into a unit and come out of it. */
function fans(shape: Shape): { fanIn: number; fanOut: number } {
  if (shape.length < 1) return { fanIn: 1, fanOut: 1 };
  if (shape.length === 1) return { fanIn: shape[0]!, fanOut: shape[0]! };
  const field = sizeOf(shape.slice(0, -2));
  return { fanIn: shape.at(-2)! * field, fanOut: shape.at(-1)! * field };
}

/** The standard deviation of a standard normal that is cut off at two. */
const truncatedDeviation = 0.87962566103423978;

const modes = ['fan_in', 'fan_out', 'fan_avg'] as const;
const distributions = ['normal', 'uniform', 'truncated_normal', 'untruncated_normal'] as const;

export interface VarianceScalingOptions extends Seeded {
  readonly scale?: number | undefined;
  readonly mode?: (typeof modes)[number] | undefined;
  readonly distribution?: (typeof distributions)[number] | undefined;
}

/** Numbers whose variance is `scale / n`, where n counts the inputs, the outputs, or the mean of both. */
export function varianceScalingInitializer(options: VarianceScalingOptions = {}): Initializer {
  onlyOptions('tf.varianceScalingInitializer', options, 'dtype', 'seed', 'scale', 'mode', 'distribution');
  const { scale = 1, mode = 'fan_in', distribution = 'truncated_normal', seed, dtype } = options;
  if (scale <= 0) throw userError(`Argument scale must be a positive float. Received: ${scale}`);
  if (!modes.includes(mode)) throw userError(`Argument mode should be one of (${modes.join(', ')}). Received: ${mode}`);
  if (!distributions.includes(distribution))
    throw userError(`Argument distribution should be one of (${distributions.join(', ')}). Received: ${distribution}`);
  checkFloat(dtype);
  return initializer({ scale, mode, distribution, seed: seed ?? null, dtype }, (shape, type, part) => {
    const { fanIn, fanOut } = fans(part?.fullShape ?? shape);
    const n = mode === 'fan_in' ? fanIn : mode === 'fan_out' ? fanOut : (fanIn + fanOut) / 2;
    const variance = scale / Math.max(1, n);
    if (distribution === 'uniform') {
      const bound = Math.sqrt(3 * variance);
      return randomUniform(shape, { minval: -bound, maxval: bound, dtype: type, seed });
    }
    if (distribution === 'untruncated_normal')
      return randomNormal(shape, { mean: 0, stddev: Math.sqrt(variance), dtype: type, seed });
    return truncatedNormal(shape, { mean: 0, stddev: Math.sqrt(variance) / truncatedDeviation, dtype: type, seed });
  });
}

/** Glorot's (Xavier's) uniform initializer, the default of `tf.getVariable`. */
export function glorotUniformInitializer(options: Seeded = {}): Initializer {
  const { seed, dtype } = onlyOptions('tf.glorotUniformInitializer', options, 'seed', 'dtype');
  return varianceScalingInitializer({ mode: 'fan_avg', distribution: 'uniform', seed, dtype });
}
/** Glorot's (Xavier's) normal initializer. */
export function glorotNormalInitializer(options: Seeded = {}): Initializer {
  const { seed, dtype } = onlyOptions('tf.glorotNormalInitializer', options, 'seed', 'dtype');
  return varianceScalingInitializer({ mode: 'fan_avg', distribution: 'truncated_normal', seed, dtype });
}
/** He's uniform initializer, for layers followed by a relu. */
export function heUniform(options: Pick<Seeded, 'seed'> = {}): Initializer {
  const { seed } = onlyOptions('tf.initializers.heUniform', options, 'seed');
  return varianceScalingInitializer({ scale: 2, distribution: 'uniform', seed });
}
/** He's normal initializer, for layers followed by a relu. */
export function heNormal(options: Pick<Seeded, 'seed'> = {}): Initializer {
  const { seed } = onlyOptions('tf.initializers.heNormal', options, 'seed');
  return varianceScalingInitializer({ scale: 2, distribution: 'truncated_normal', seed });
}
/** LeCun's uniform initializer. */
export function lecunUniform(options: Pick<Seeded, 'seed'> = {}): Initializer {
  const { seed } = onlyOptions('tf.initializers.lecunUniform', options, 'seed');
  return varianceScalingInitializer({ distribution: 'uniform', seed });
}
/** LeCun's normal initializer. */
export function lecunNormal(options: Pick<Seeded, 'seed'> = {}): Initializer {
  const { seed } = onlyOptions('tf.initializers.lecunNormal', options, 'seed');
  return varianceScalingInitializer({ distribution: 'truncated_normal', seed });
}

/** A random matrix with orthonormal rows or columns, from the QR decomposition of a normal one. */
export function orthogonalInitializer(options: Seeded & { gain?: number } = {}): Initializer {
  const { gain = 1, seed, dtype } = onlyOptions('tf.orthogonalInitializer', options, 'gain', 'seed', 'dtype');
  checkFloat(dtype);
  return initializer({ gain, seed: seed ?? null, dtype }, (shape, type) => {
    if (shape.length < 2)
      throw userError(
        `The tensor to initialize, specified by argument shape must be at least two-dimensional. Received shape=${showTuple(shape)}`,
      );
    const rows = sizeOf(shape.slice(0, -1));
    const columns = shape.at(-1)!;
    const flat = rows < columns ? [columns, rows] : [rows, columns];
    const input = randomNormal(flat, { dtype: type, seed });
    const { q, r } = Qr.build({ input }, { attrs: { full_matrices: false } });
    const signed = times(q, sign(DiagPart.build({ input: r }).diagonal));
    return times(gain, reshape(rows < columns ? matrixTranspose(signed) : signed, shape));
  });
}

/** The identity matrix times `gain`. */
export function identityInitializer(options: Typed & { gain?: number } = {}): Initializer {
  const { gain = 1, dtype } = onlyOptions('tf.initializers.identity', options, 'gain', 'dtype');
  checkFloat(dtype);
  return initializer({ gain, dtype }, (shape, type, part) => {
    const whole = part?.fullShape ?? shape;
    if (whole.length !== 2)
      throw userError(
        `The tensor to initialize, specified by argument shape must be at least two-dimensional. Received shape=${showTuple(shape)}`,
      );
    const matrix = eye(whole[0]!, whole[1]!, type);
    return times(gain, part ? slice(matrix, part.varOffset, shape) : matrix);
  });
}

/** A matrix with ones on its diagonal, in the nodes that `tf.eye` makes. */
function eye(rows: number, columns: number, dtype: DType): Tensor {
  return nameScope('eye', () => {
    const diagonal = ones([Math.min(rows, columns)], { dtype });
    if (rows === columns) {
      const inputs = { diagonal, k: 0, num_rows: -1, num_cols: -1, padding_value: 0 };
      return MatrixDiagV3.build(inputs, { name: 'diag' }).output;
    }
    const input = zeros([rows, columns], { dtype });
    return MatrixSetDiagV3.build({ input, diagonal, k: 0 }, { name: 'set_diag' }).output;
  });
}
