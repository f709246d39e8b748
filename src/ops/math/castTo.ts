/** @file Casts to one type each, and the cast that saturates. */

import type { DType } from '../../core/dtypes.ts';
import * as d from '../../core/dtypes.ts';
import { type Element, scalar } from '../../core/ndarray.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { constantNode, convertToTensor } from '../../op/convert.ts';
import { cast } from './cast.ts';
import { ClipByValue } from './clip.ts';
import { real } from './complex.ts';
import type { NameOption } from './elementwise.ts';

type CastFunction<D extends DType> = (x: TensorLike, options?: NameOption) => Tensor<D>;
function castFunction<D extends DType>(dtype: D, defaultName: string): CastFunction<D> {
  return (x, options = {}) => cast(x, dtype, { name: options.name ?? defaultName });
}

/**
 * `x` as float32. Adds one `Cast` node named `ToFloat`, or none when it is already.
 *
 * @example tf.toFloat([1, 2]) // runs to [1. 2.]
 */
export const toFloat: CastFunction<typeof d.float32> = castFunction(d.float32, 'ToFloat');
/** `x` as float64. Adds one `Cast` node named `ToDouble`, or none when it is already. */
export const toDouble: CastFunction<typeof d.float64> = castFunction(d.float64, 'ToDouble');
/** `x` as int32. Adds one `Cast` node named `ToInt32`, or none when it is already. */
export const toInt32: CastFunction<typeof d.int32> = castFunction(d.int32, 'ToInt32');
/** `x` as int64. Adds one `Cast` node named `ToInt64`, or none when it is already. */
export const toInt64: CastFunction<typeof d.int64> = castFunction(d.int64, 'ToInt64');
/** `x` as bfloat16. Adds one `Cast` node named `ToBFloat16`, or none when it is already. */
export const toBfloat16: CastFunction<typeof d.bfloat16> = castFunction(d.bfloat16, 'ToBFloat16');
/** `x` as complex64. Adds one `Cast` node named `ToComplex64`, or none when it is already. */
export const toComplex64: CastFunction<typeof d.complex64> = castFunction(d.complex64, 'ToComplex64');
/** `x` as complex128. Adds one `Cast` node named `ToComplex128`, or none when it is already. */
export const toComplex128: CastFunction<typeof d.complex128> = castFunction(d.complex128, 'ToComplex128');

type Limit = bigint | number;

/** The least and greatest value of a real type, exactly. */
function limitsOf(dtype: DType): readonly [least: Limit, greatest: Limit] {
  if (dtype.isBool) return [0, 1];
  if (!dtype.isInteger) return [dtype.min, dtype.max];
  const bits = BigInt(8 * dtype.size);
  return dtype.isUnsigned ? [0n, 2n ** bits - 1n] : [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n];
}

/** `a < b`, also between a bigint and a number, which Math.min does not compare. */
const isBelow = (a: Limit, b: Limit) => a < b;

/** Bits of precision of each float type. */
const precision: Partial<Record<DType['storage'], number>> = { f64: 53, f32: 24, f16: 11, bf16: 8 };

/**
 * The limit as a value of `dtype` that does not go beyond it. A limit that is no float rounds up to a power of two,
 * whose neighbour towards zero is one unit of the lower binade away.
 */
function inType(limit: Limit, dtype: DType): Tensor {
  let value: Element = limit;
  if (dtype.isFloating) {
    const rounded = scalar(dtype, limit).numberAt(0);
    const beyond = limit > 0 ? rounded > limit : rounded < limit;
    value = beyond ? rounded * (1 - 2 ** -precision[dtype.storage]!) : rounded;
  }
  return constantNode(scalar(dtype, value));
}

/**
 * `value` as `dtype`, after values that it cannot hold became its least or greatest. Adds two `Const` nodes, a
 * `ClipByValue` named `clamp` and a `Cast` under `saturate_cast/`.
 *
 * @example tf.saturateCast([-5, 300], tf.uint8) // runs to [  0 255]
 */
export function saturateCast<D extends DType>(value: TensorLike, dtype: D, options: NameOption = {}): Tensor<D> {
  onlyOptions('tf.saturateCast', options, 'name');
  return nameScope(options.name ?? 'saturate_cast', (name) => {
    const input = convertToTensor(value, { name: 'value' });
    if (input.dtype.isComplex && dtype.isComplex) return cast(clampComplex(input, dtype), dtype, { name });
    const x = input.dtype.isComplex ? real(input) : input;
    const [least, greatest] = limitsOf(dtype.realDtype);
    const [ownLeast, ownGreatest] = limitsOf(x.dtype);
    const low = inType(isBelow(ownLeast, least) ? least : ownLeast, x.dtype);
    const high = inType(isBelow(ownGreatest, greatest) ? ownGreatest : greatest, x.dtype);
    const clamped = ClipByValue.build({ t: x, clip_value_min: low, clip_value_max: high }, { name: 'clamp' }).output;
    return cast(clamped, dtype, { name });
  });
}

function clampComplex(x: Tensor, dtype: DType): Tensor {
  const { min, max } = dtype.realDtype;
  if (x.dtype.realDtype.max <= max) return x;
  const bound = (part: number) => constantNode(scalar(x.dtype, { re: part, im: part }));
  const low = bound(min);
  return ClipByValue.build({ t: x, clip_value_min: low, clip_value_max: bound(max) }, { name: 'clamp' }).output;
}
