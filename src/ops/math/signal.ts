/** @file Transforms of real signals as functions: lengths are found, and short signals padded. */
import { complex64, complex128, float32, float64, int32 } from '../../core/dtypes.ts';
import { type Dims, isFullyDefined } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { knownValue } from '../../op/constantValue.ts';
import { convertToTensor } from '../../op/convert.ts';
import { concat } from '../array/concat.ts';
import { zeros } from '../array/fill.ts';
import { getItem } from '../array/getItem.ts';
import { pad } from '../array/pad.ts';
import { rank as rankOf, shape } from '../array/shape.ts';
import { stack, unstack } from '../array/stack.ts';
import { maximum } from './maximum.ts';
import { floorOver, minus, plus, times } from './operators.ts';
import {
  type InverseRealFourierOp,
  IRFFT,
  IRFFT2D,
  IRFFT3D,
  type RealFourierOp,
  RFFT,
  RFFT2D,
  RFFT3D,
} from './realFourier.ts';
import { zerosLike } from './zerosLike.ts';

interface RealFourierOptions {
  /** The length along each axis of the transform; that of the input unless given. Shorter signals are padded. */
  readonly fftLength?: TensorLike | undefined;
  readonly name?: string | undefined;
}
/** `f(input, { fftLength, name })`. */
export type RealFourierFunction = (input: TensorLike, options?: RealFourierOptions) => Tensor;

/** The size of the signal that has a spectrum of that size: the last axis holds a half. */
function usualLength(x: Tensor, rank: number, isInverse: boolean): Tensor {
  const dims: Dims = x.shape?.slice(-rank) ?? null;
  if (isFullyDefined(dims))
    return convertToTensor(
      dims.map((n, i) => (isInverse && i === rank - 1 ? Math.max(0, 2 * (n - 1)) : n)),
      { dtype: int32 },
    );
  const sizes = getItem(shape(x), [[-rank]]);
  if (!isInverse) return sizes;
  const parts = [...unstack(sizes)];
  parts[rank - 1] = maximum(0, times(2, minus(parts[rank - 1]!, 1)));
  return stack(parts);
}

/** The input with zeros behind it, so that each axis is as long as the transform. */
function padded(x: Tensor, rank: number, fftLength: Tensor, isInverse: boolean): Tensor {
  if (x.shape?.includes(0)) return x;
  const wanted = knownValue(fftLength)?.numbers();
  const dims: Dims = x.shape?.slice(-rank) ?? null;
  if (wanted && isFullyDefined(dims)) {
    const sizes = wanted.map((n, i) => (isInverse && i === rank - 1 ? Math.floor(n / 2) + 1 : n));
    const behind = sizes.map((n, i) => [0, Math.max(n - dims[i]!, 0)]);
    if (behind.every(([, n]) => n === 0)) return x;
    return pad(x, [...x.shape!.slice(0, -rank).map(() => [0, 0]), ...behind]);
  }
  const inputRank = rankOf(x);
  const sizes = getItem(shape(x), [[-rank]]);
  const outer = zeros([maximum(0, minus(inputRank, rank))], { dtype: fftLength.dtype });
  let lengths = fftLength;
  if (isInverse) {
    const others = getItem(fftLength, ':-1');
    lengths = concat([others, plus(floorOver(getItem(fftLength, [[-1]]), 2), 1)], 0);
  }
  const missing = maximum(0, minus(lengths, sizes));
  const behind = concat([outer, missing], 0);
  return pad(x, stack([zerosLike(behind), behind], 1));
}

function prepared(
  input: TensorLike,
  rank: 1 | 2 | 3,
  { fftLength }: RealFourierOptions,
  isInverse: boolean,
): { input: Tensor; fft_length: TensorLike } {
  const x = convertToTensor(input, { hint: isInverse ? complex64 : float32 });
  const types = isInverse ? [complex64, complex128] : [float32, float64];
  if (!types.some((dtype) => dtype === x.dtype))
    throw userError(`input is ${x.dtype}, but must be ${types.join(' or ')}; wrap it in tf.cast.`);
  if (x.rank !== null && x.rank < rank) throw userError(`input is ${x}, but rank ${rank} or more is needed.`);
  const lengths =
    fftLength === undefined ? usualLength(x, rank, isInverse) : convertToTensor(fftLength, { dtype: int32 });
  return { input: padded(x, rank, lengths, isInverse), fft_length: knownValue(lengths) ?? lengths };
}

function real(name: string, rank: 1 | 2 | 3, op: () => RealFourierOp): RealFourierFunction {
  return (input, options = {}) => {
    onlyOptions(`tf.signal.${name}`, options, 'fftLength', 'name');
    return nameScope(options.name ?? name, (scope) => {
      const ports = prepared(input, rank, options, false);
      const Tcomplex = ports.input.dtype === float64 ? complex128 : complex64;
      return op().build(ports, { name: scope, attrs: { Tcomplex } }).output;
    });
  };
}

function inverse(name: string, rank: 1 | 2 | 3, op: () => InverseRealFourierOp): RealFourierFunction {
  return (input, options = {}) => {
    onlyOptions(`tf.signal.${name}`, options, 'fftLength', 'name');
    return nameScope(options.name ?? name, (scope) => {
      const ports = prepared(input, rank, options, true);
      return op().build(ports, { name: scope, attrs: { Treal: ports.input.dtype.realDtype } }).output;
    });
  };
}

/**
 * The Fourier transform of a real signal along the last axis; only the first half, since the rest mirrors it. Adds one
 * `RFFT` node named `rfft`.
 *
 * @example tf.signal.rfft(tf.constant([1.5, 2.5])) // runs to [ 4.+0.j -1.+0.j]
 */
export const rfft: RealFourierFunction = real('rfft', 1, () => RFFT);
/**
 * The inverse of `rfft`: a real signal from half of its spectrum. Adds one `IRFFT` node named `irfft`.
 *
 * @example tf.signal.irfft(tf.signal.rfft(tf.constant([1.5, 2.5]))) // runs to [1.5 2.5]
 */
export const irfft: RealFourierFunction = inverse('irfft', 1, () => IRFFT);
/** As `rfft`, along the last two axes. Adds one `RFFT2D` node. */
export const rfft2d: RealFourierFunction = real('rfft2d', 2, () => RFFT2D);
/** The inverse of `rfft2d`. Adds one `IRFFT2D` node. */
export const irfft2d: RealFourierFunction = inverse('irfft2d', 2, () => IRFFT2D);
/** As `rfft`, along the last three axes. Adds one `RFFT3D` node. */
export const rfft3d: RealFourierFunction = real('rfft3d', 3, () => RFFT3D);
/** The inverse of `rfft3d`. Adds one `IRFFT3D` node. */
export const irfft3d: RealFourierFunction = inverse('irfft3d', 3, () => IRFFT3D);
