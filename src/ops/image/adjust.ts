/** @file Images made brighter, darker, more or less colourful; their types and colour spaces. */

import type { DType } from '../../core/dtypes.ts';
import * as d from '../../core/dtypes.ts';
import { showTuple } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { concat } from '../array/concat.ts';
import { expandDims } from '../array/expandDims.ts';
import { ones } from '../array/fill.ts';
import { getItem } from '../array/getItem.ts';
import { identity } from '../array/identity.ts';
import { rank, shape } from '../array/shape.ts';
import { tile } from '../array/tile.ts';
import { assertEqual, assertGreaterEqual } from '../flow/checkOps.ts';
import { withDependencies } from '../flow/group.ts';
import { add } from '../math/add.ts';
import { cast } from '../math/cast.ts';
import { saturateCast } from '../math/castTo.ts';
import { greaterEqual } from '../math/compare.ts';
import { divide } from '../math/divide.ts';
import { maximum } from '../math/maximum.ts';
import { multiply } from '../math/multiply.ts';
import { floorOver, minus, times, toThe } from '../math/operators.ts';
import { reduceMean, reduceProd, reduceStd } from '../math/reductions.ts';
import { rsqrt } from '../math/sqrt.ts';
import { tensordot } from '../math/tensordot.ts';
import { randomUniform } from '../random/distributions.ts';
import { checkedImage, requirement } from './checks.ts';
import { AdjustContrastv2, AdjustHue, AdjustSaturation } from './colors.ts';

/** How many values above and with zero an integer type has. */
function levels(dtype: DType): bigint {
  return 2n ** BigInt(8 * dtype.size - (dtype.isUnsigned ? 0 : 1));
}

export interface ConvertImageOptions {
  /** Cut values that the type cannot hold to its least and greatest. */
  readonly saturate?: boolean | undefined;
  readonly name?: string | undefined;
}

/**
 * An image in another type, its values scaled: integers use their whole range, floats lie between 0 and 1. Adds nodes
 * under `convert_image/`, or one `Identity` when the type is the same.
 *
 * @example tf.image.convertImageDtype(tf.constant([0, 51, 255], tf.uint8), tf.float32) // runs to [0.  0.2 1. ]
 */
export function convertImageDtype(image: TensorLike, dtype: DType, options: ConvertImageOptions = {}): Tensor {
  onlyOptions('tf.image.convertImageDtype', options, 'saturate', 'name');
  const input = convertToTensor(image, { name: 'image' });
  for (const [what, type] of [['dtype', dtype], ['image dtype', input.dtype]] as const) // biome-ignore format: pairs
    if (!type.isFloating && !type.isInteger)
      throw userError(`${what} must be either floating point or integer, but is ${type}`);
  if (dtype === input.dtype) return identity(input, { name: options.name });
  const { saturate = false } = options;
  return nameScope(options.name ?? 'convert_image', (name) => {
    const into = (x: Tensor, as: { name?: string } = {}): Tensor =>
      saturate ? saturateCast(x, dtype, as) : cast(x, dtype, as);
    if (input.dtype.isInteger && dtype.isInteger) {
      const [own, wanted] = [levels(input.dtype), levels(dtype)];
      if (own > wanted) return into(floorOver(input, own / wanted), { name });
      return multiply(into(input), wanted / own, { name });
    }
    if (input.dtype.isFloating && dtype.isFloating) return cast(input, dtype, { name });
    if (input.dtype.isInteger) {
      const converted = cast(input, dtype);
      return multiply(converted, 1 / Number(levels(input.dtype) - 1n), { name });
    }
    // Half a step more than the greatest value, so that rounding down gives every value the same share.
    const scaled = multiply(input, Number(levels(dtype) - 1n) + 0.5);
    return into(scaled, { name });
  });
}

/** The image as a float16 or float32 one, to be adjusted. */
function asFloat(image: Tensor): Tensor {
  return image.dtype === d.float16 || image.dtype === d.float32 ? image : convertImageDtype(image, d.float32);
}

/**
 * Images with `delta` added to every value, on the scale from 0 to 1. Adds nodes under `adjust_brightness/`.
 *
 * @example tf.image.adjustBrightness([0.25, 0.5], 0.125) // runs to [0.375 0.625]
 */
export function adjustBrightness(image: TensorLike, delta: TensorLike): Tensor {
  return nameScope('adjust_brightness', (name) => {
    const input = convertToTensor(image, { name: 'image' });
    const float = asFloat(input);
    const adjusted = add(float, cast(delta, float.dtype), { name });
    return convertImageDtype(adjusted, input.dtype, { saturate: true });
  });
}

/**
 * Images with the distance of every value from its channel's mean multiplied. Adds nodes under `adjust_contrast/`.
 *
 * @example tf.image.adjustContrast([[[0.25], [0.75]]], 2) // runs to [[[0.] [1.]]]
 */
export function adjustContrast(images: TensorLike, contrastFactor: TensorLike): Tensor {
  return nameScope('adjust_contrast', (name) => {
    const input = convertToTensor(images, { name: 'images' });
    const adjusted = AdjustContrastv2.build({ images: asFloat(input), contrast_factor: contrastFactor }, { name });
    return convertImageDtype(adjusted.output, input.dtype, { saturate: true });
  });
}

/**
 * `gain * image ** gamma`. Adds nodes under `adjust_gamma/`.
 *
 * @example tf.image.adjustGamma([0.25, 0.5], { gamma: 2 }) // runs to [0.0625 0.25  ]
 */
export function adjustGamma(
  image: TensorLike,
  options: { gamma?: number | Tensor; gain?: number | Tensor } = {},
): Tensor {
  onlyOptions('tf.image.adjustGamma', options, 'gamma', 'gain');
  const { gamma = 1, gain = 1 } = options;
  return nameScope('adjust_gamma', () => {
    const input = convertToTensor(image, { name: 'image' });
    const float = asFloat(input);
    const allowed = gamma instanceof Tensor ? greaterEqual(gamma, 0) : gamma >= 0;
    const checks = requirement(allowed, 'Gamma should be a non-negative real number.');
    const exponent = gamma instanceof Tensor ? withDependencies(checks, gamma) : gamma;
    return convertImageDtype(times(gain, toThe(float, exponent)), input.dtype, { saturate: true });
  });
}

/**
 * Images with every hue turned by `delta` of a full turn. Adds an `AdjustHue` node under `adjust_hue/`.
 *
 * @example tf.image.adjustHue([[[1, 0.5, 0.25]]], 0) // runs to [[[1.   0.5  0.25]]]
 */
export function adjustHue(image: TensorLike, delta: TensorLike, options: { name?: string } = {}): Tensor {
  onlyOptions('tf.image.adjustHue', options, 'name');
  return nameScope(options.name ?? 'adjust_hue', () => {
    const input = convertToTensor(image, { name: 'image' });
    return convertImageDtype(AdjustHue.build({ images: asFloat(input), delta }).output, input.dtype);
  });
}

/**
 * Images with every saturation multiplied. Adds an `AdjustSaturation` node under `adjust_saturation/`.
 *
 * @example tf.image.adjustSaturation([[[1, 0.5, 0.25]]], 0.5) // runs to [[[1.    0.75  0.625]]]
 */
export function adjustSaturation(
  image: TensorLike,
  saturationFactor: TensorLike,
  options: { name?: string } = {},
): Tensor {
  onlyOptions('tf.image.adjustSaturation', options, 'name');
  return nameScope(options.name ?? 'adjust_saturation', () => {
    const input = convertToTensor(image, { name: 'image' });
    const adjusted = AdjustSaturation.build({ images: asFloat(input), scale: saturationFactor });
    return convertImageDtype(adjusted.output, input.dtype);
  });
}

interface Seeded {
  readonly seed?: number | undefined;
}

function between(low: number, high: number, { seed }: Seeded): Tensor {
  return randomUniform([], { minval: low, maxval: high, seed });
}

function checkDelta(maxDelta: number): void {
  if (maxDelta < 0) throw userError(`max_delta must be non-negative, but is ${maxDelta}.`);
}

function checkRange(lower: number, upper: number): void {
  if (upper <= lower) throw userError(`upper must be > lower, but they are ${upper} and ${lower}.`);
  if (lower < 0) throw userError(`lower must be non-negative, but is ${lower}.`);
}

/**
 * `adjustBrightness` by a random amount between `-maxDelta` and `maxDelta`.
 *
 * @example tf.image.randomBrightness(images, 0.2)
 */
export function randomBrightness(image: TensorLike, maxDelta: number, options: Seeded = {}): Tensor {
  checkDelta(maxDelta);
  return adjustBrightness(image, between(-maxDelta, maxDelta, options));
}

/**
 * `adjustContrast` by a random factor between `lower` and `upper`.
 *
 * @example tf.image.randomContrast(images, 0.8, 1.2)
 */
export function randomContrast(image: TensorLike, lower: number, upper: number, options: Seeded = {}): Tensor {
  checkRange(lower, upper);
  return adjustContrast(image, between(lower, upper, options));
}

/**
 * `adjustHue` by a random amount between `-maxDelta` and `maxDelta`, which is at most 0.5.
 *
 * @example tf.image.randomHue(images, 0.1)
 */
export function randomHue(image: TensorLike, maxDelta: number, options: Seeded = {}): Tensor {
  if (maxDelta > 0.5) throw userError(`max_delta must be <= 0.5, but is ${maxDelta}.`);
  checkDelta(maxDelta);
  return adjustHue(image, between(-maxDelta, maxDelta, options));
}

/**
 * `adjustSaturation` by a random factor between `lower` and `upper`.
 *
 * @example tf.image.randomSaturation(images, 0.8, 1.2)
 */
export function randomSaturation(image: TensorLike, lower: number, upper: number, options: Seeded = {}): Tensor {
  checkRange(lower, upper);
  return adjustSaturation(image, between(lower, upper, options));
}

/** What the eye sees of red, green and blue. */
const luminance = [0.2989, 0.587, 0.114];

/**
 * Colour images as grey ones with a single channel. Adds nodes under `rgb_to_grayscale/`.
 *
 * @example tf.image.rgbToGrayscale(images)
 */
export function rgbToGrayscale(images: TensorLike, options: { name?: string } = {}): Tensor {
  onlyOptions('tf.image.rgbToGrayscale', options, 'name');
  return nameScope(options.name ?? 'rgb_to_grayscale', (name) => {
    const input = convertToTensor(images, { name: 'images' });
    const float = convertImageDtype(input, d.float32);
    const gray = expandDims(tensordot(float, luminance, [-1, -1]), -1);
    return convertImageDtype(gray, input.dtype, { name });
  });
}

/** The images after the check that they have one channel. */
function checkedGrayscale(images: Tensor): Tensor {
  const dims = images.shape;
  if (dims !== null && dims.length < 2)
    throw userError(`A grayscale image (shape ${showTuple(dims)}) must be at least two-dimensional.`);
  if (dims === null || dims.includes(null))
    return withDependencies(
      [
        assertEqual(getItem(shape(images), [-1]), 1, {
          message: 'Last dimension of a grayscale image should be size 1.',
        }),
        assertGreaterEqual(rank(images), 3, { message: 'A grayscale image must be at least two-dimensional.' }),
      ],
      images,
    );
  if (dims.at(-1) !== 1)
    throw userError(
      `Last dimension of a grayscale image should be size 1, but the image has shape ${showTuple(dims)}.`,
    );
  return withDependencies([], images);
}

/**
 * Grey images with three equal channels. Adds a `Tile` under `grayscale_to_rgb/`.
 *
 * @example tf.image.grayscaleToRgb(images)
 */
export function grayscaleToRgb(images: Tensor, options: { name?: string } = {}): Tensor {
  onlyOptions('tf.image.grayscaleToRgb', options, 'name');
  return nameScope(options.name ?? 'grayscale_to_rgb', (name) => {
    const input = checkedGrayscale(images);
    const leading = expandDims(minus(rank(input), 1), 0);
    const multiples = concat([ones(leading, d.int32), expandDims(3, 0)], 0);
    const rgb = tile(input, multiples, { name });
    if (images.shape !== null) rgb.setShape([...images.shape.slice(0, -1), 3]);
    return rgb;
  });
}

/**
 * Every image with mean 0 and standard deviation 1 (or less for an almost even one). Adds nodes under
 * `per_image_standardization/`.
 *
 * @example tf.image.perImageStandardization([[[1], [3]]]) // runs to [[[-1.] [ 1.]]]
 */
export function perImageStandardization(image: TensorLike): Tensor {
  return nameScope('per_image_standardization', (name) => {
    const given = checkedImage(convertToTensor(image, { name: 'image' }));
    const input = cast(given, d.float32);
    const pixels = reduceProd(getItem(shape(input), '-3:'));
    const axes = [-1, -2, -3];
    const mean = reduceMean(input, axes, { keepdims: true });
    const deviation = reduceStd(input, axes, { keepdims: true });
    // An even image has no deviation to divide by.
    const least = rsqrt(cast(pixels, d.float32));
    const divisor = maximum(deviation, least);
    return divide(minus(input, mean), divisor, { name });
  });
}
