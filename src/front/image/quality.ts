/** @file How alike two images are: PSNR, SSIM and SSIM at several scales; and where their edges are. */
import { type DType, float32, int32 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { compatible, showShape } from '../../core/shape.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import { controlDependencies, nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import { concat } from '../../ops/array/concat.ts';
import { constant } from '../../ops/array/constant.ts';
import { expandDims } from '../../ops/array/expandDims.ts';
import { getItem } from '../../ops/array/getItem.ts';
import { identity } from '../../ops/array/identity.ts';
import { pad } from '../../ops/array/pad.ts';
import { range } from '../../ops/array/range.ts';
import { reshape } from '../../ops/array/reshape.ts';
import { shape, shapeN, size } from '../../ops/array/shape.ts';
import { stack } from '../../ops/array/stack.ts';
import { tile } from '../../ops/array/tile.ts';
import { assert } from '../../ops/flow/assert.ts';
import { convertImageDtype } from '../../ops/image/adjust.ts';
import { cast } from '../../ops/math/cast.ts';
import { equal, greaterEqual, notEqual } from '../../ops/math/compare.ts';
import { log } from '../../ops/math/exp.ts';
import { squaredDifference } from '../../ops/math/index.ts';
import { minus, modulo, over, plus, times, toThe } from '../../ops/math/operators.ts';
import { pow } from '../../ops/math/pow.ts';
import { reduceAll, reduceAny, reduceMean, reduceProd } from '../../ops/math/reductions.ts';
import { square } from '../../ops/math/sqrt.ts';
import { subtract } from '../../ops/math/subtract.ts';
import { avgPool, depthwiseConv2d, relu, softmax } from '../../ops/nn/index.ts';
import { cond } from '../controlFlow/index.ts';

/** Checks that two batches of images have images of one size; gives their shapes and the checks of the run. */
function compatibleShapes(a: Tensor, b: Tensor): { shapes: readonly [Tensor, Tensor]; checks: Operation[] } {
  for (const image of [a, b]) {
    if (image.rank !== null && image.rank < 3) {
      throw new InvalidArgumentError(`Shape ${showShape(image.shape)} must have rank at least 3`);
    }
  }
  if (a.shape && b.shape && !compatible(a.shape.slice(-3), b.shape.slice(-3))) {
    throw new InvalidArgumentError(`Shapes ${showShape(a.shape)} and ${showShape(b.shape)} are incompatible`);
  }
  const [shape1, shape2] = shapeN([a, b]) as readonly [Tensor, Tensor]; // one for each
  const checks = [assert(greaterEqual(size(shape1), 3), [shape1, shape2], { summarize: 10 })];
  const same = equal(getItem(shape1, '-3:'), getItem(shape2, '-3:'));
  checks.push(assert(reduceAll(same), [shape1, shape2], { summarize: 10 }));
  return { shapes: [shape1, shape2], checks };
}

/** The range of values of images of a type, as it is once they are converted to float32. */
function largestValue(maxVal: TensorLike, dtype: DType): Tensor {
  // A number is one of the image's own kind: 1 stands for 1.0 where images are floats.
  const isFloat = typeof maxVal === 'number' && dtype.isFloating;
  const value = isFloat ? nameScope('Cast', () => convertToTensor(maxVal, { name: 'x', dtype: float32 })) : maxVal;
  return convertImageDtype(cast(value, dtype), float32);
}

/**
 * The peak signal-to-noise ratio of two images, or of every two of two batches; `maxVal` is the difference between the
 * largest and the smallest value there can be. Adds nodes under `PSNR/`.
 *
 * @example tf.image.psnr(tf.constant([[[0.5]]]), tf.constant([[[0.25]]]), 1) // runs to 12.0412
 */
export function psnr(
  a: Tensor,
  b: Tensor,
  maxVal: TensorLike,
  options: { readonly name?: string | undefined } = {},
): Tensor {
  const { name } = onlyOptions('tf.image.psnr', options, 'name');
  return nameScope(name ?? 'PSNR', () => {
    const most = largestValue(maxVal, a.dtype);
    const [first, second] = [convertImageDtype(a, float32), convertImageDtype(b, float32)];
    const error = reduceMean(squaredDifference(first, second), [-3, -2, -1]);
    const peak = over(times(20, log(most)), log(10.0));
    const value = subtract(peak, times(Math.fround(10 / Math.LN10), log(error)), { name: 'psnr' });
    const { checks } = compatibleShapes(first, second);
    return controlDependencies(checks, () => identity(value));
  });
}

export interface SsimOptions {
  readonly filterSize?: number | undefined;
  readonly filterSigma?: number | undefined;
  readonly k1?: number | undefined;
  readonly k2?: number | undefined;
}

/** Gaussian weights of a window, `[size, size, 1, 1]`, that add up to one. */
function gaussian(count: Tensor, sigma: Tensor): Tensor {
  const width = convertToTensor(count, { dtype: int32 });
  const places = cast(range(width), sigma.dtype);
  const centred = minus(places, over(cast(minus(width, 1), sigma.dtype), 2.0));
  const exponent = times(square(centred), over(-0.5, square(sigma)));
  const sums = plus(reshape(exponent, [1, -1]), reshape(exponent, [-1, 1]));
  return reshape(softmax(reshape(sums, [1, -1])), [width, width, 1, 1]);
}

/** SSIM and its part that compares contrast and structure, for every channel. */
function ssimPerChannel(a: Tensor, b: Tensor, maxVal: Tensor, options: SsimOptions, asMap = false): [Tensor, Tensor] {
  const width = constant(options.filterSize ?? 11, { dtype: int32 });
  const sigma = constant(options.filterSigma ?? 1.5, { dtype: a.dtype });
  const [shape1, shape2] = shapeN([a, b]) as readonly [Tensor, Tensor]; // one for each
  const checks = [shape1, shape2].map((own) =>
    assert(reduceAll(greaterEqual(getItem(own, '-3:-1'), width)), [own, width], { summarize: 8 }),
  );
  const image = controlDependencies(checks, () => identity(a));
  const kernel = tile(gaussian(width, sigma), [1, 1, getItem(shape1, [-1]), 1]);
  const reduce = (x: Tensor): Tensor => {
    const dims = shape(x);
    const flat = reshape(x, concat([[-1], getItem(dims, '-3:')], 0));
    const y = depthwiseConv2d(flat, kernel, { strides: [1, 1, 1, 1], padding: 'VALID' });
    return reshape(y, concat([getItem(dims, ':-3'), getItem(shape(y), '1:')], 0));
  };
  const [luminance, structure] = compared(image, b, reduce, maxVal, options);
  if (asMap) return [times(luminance, structure), structure];
  const axes = constant([-3, -2], { dtype: int32 });
  return [reduceMean(times(luminance, structure), axes), reduceMean(structure, axes)];
}

/** The comparison of brightness, and that of contrast and structure, around every pixel. */
function compared(
  x: Tensor,
  y: Tensor,
  reduce: (x: Tensor) => Tensor,
  maxVal: Tensor,
  options: SsimOptions,
): [Tensor, Tensor] {
  const c1 = toThe(times(options.k1 ?? 0.01, maxVal), 2);
  const c2 = toThe(times(options.k2 ?? 0.03, maxVal), 2);
  const [mean0, mean1] = [reduce(x), reduce(y)];
  const num0 = times(times(mean0, mean1), 2.0);
  const den0 = plus(square(mean0), square(mean1));
  const luminance = over(plus(num0, c1), plus(den0, c1));
  const num1 = times(reduce(times(x, y)), 2.0);
  const den1 = reduce(plus(square(x), square(y)));
  const weighted = times(c2, 1.0);
  const structure = over(plus(minus(num1, num0), weighted), plus(minus(den1, den0), weighted));
  return [luminance, structure];
}

/**
 * How alike two images are to the eye, from -1 to 1, for every two images of two batches. Adds nodes under `SSIM/`.
 */
export function ssim(
  img1: TensorLike,
  img2: TensorLike,
  maxVal: TensorLike,
  options: SsimOptions & { readonly returnIndexMap?: boolean | undefined } = {},
): Tensor {
  onlyOptions('tf.image.ssim', options, 'filterSize', 'filterSigma', 'k1', 'k2', 'returnIndexMap');
  return nameScope('SSIM', () => {
    const { images, most } = prepared(img1, img2, maxVal);
    const [perChannel] = ssimPerChannel(...images, most, options, options.returnIndexMap);
    return reduceMean(perChannel, [-1]);
  });
}

/** Two images as float32 after their checks, and the range of values. */
function prepared(img1: TensorLike, img2: TensorLike, maxVal: TensorLike) {
  const first = convertToTensor(img1, { name: 'img1' });
  const second = convertToTensor(img2, { name: 'img2' });
  const { shapes, checks } = compatibleShapes(first, second);
  const checked = controlDependencies(checks, () => identity(first));
  const most = largestValue(maxVal, checked.dtype);
  const images = [convertImageDtype(checked, float32), convertImageDtype(second, float32)] as const;
  return { images, most, shapes };
}

/** Wang's weights of the scales, the finest first. */
const scaleWeights = [0.0448, 0.2856, 0.3001, 0.2363, 0.1333];

/** SSIM at several scales, each half as large as the one before; from 0 to 1. Adds nodes under `MS-SSIM/`. */
export function ssimMultiscale(
  img1: TensorLike,
  img2: TensorLike,
  maxVal: TensorLike,
  options: SsimOptions & { readonly powerFactors?: readonly number[] | undefined } = {},
): Tensor {
  onlyOptions('tf.image.ssimMultiscale', options, 'powerFactors', 'filterSize', 'filterSigma', 'k1', 'k2');
  const powers = options.powerFactors ?? scaleWeights;
  return nameScope('MS-SSIM', () => {
    const { images: given, most, shapes } = prepared(img1, img2, maxVal);
    let images: readonly [Tensor, Tensor] = given;
    const heads = shapes.map((dims) => getItem(dims, ':-3'));
    let tails = shapes.map((dims) => getItem(dims, '-3:'));
    const divisor = constant([2, 2, 1], { dtype: int32 });
    const structures: Tensor[] = [];
    let last: Tensor | undefined;
    for (let k = 0; k < powers.length; k++) {
      nameScope(`Scale${k}`, () => {
        if (k > 0) [images, tails] = halved(images, heads, tails, divisor);
        const [perChannel, structure] = ssimPerChannel(...images, most, options);
        last = perChannel;
        structures.push(relu(structure));
      });
    }
    const parts = stack([...structures.slice(0, -1), relu(last!)], { axis: -1 });
    return reduceMean(reduceProd(pow(parts, [...powers]), [-1]), [-1]);
  });
}

/** Images of half the size, and the sizes of those; odd ones are first made longer by a copy of their last row or column. */
function halved(
  images: readonly [Tensor, Tensor],
  heads: readonly Tensor[],
  tails: readonly Tensor[],
  divisor: Tensor,
): [readonly [Tensor, Tensor], Tensor[]] {
  const flat = images.map((x, i) => reshape(x, concat([[-1], tails[i]!], 0)));
  const remainder = modulo(tails[0]!, divisor);
  const mustPad = reduceAny(notEqual(remainder, 0));
  const lengthen = () => {
    const amounts = pad(expandDims(remainder, -1), [[1, 0], [1, 0]]); // biome-ignore format: a matrix
    return flat.map((x) => pad(x, amounts, { mode: 'SYMMETRIC' }));
  };
  const padded = cond(mustPad, lengthen, () => flat);
  const smaller = padded.map((x) => avgPool(x, [1, 2, 2, 1], [1, 2, 2, 1], 'VALID'));
  const sizes = shapeN(smaller).map((dims) => getItem(dims, '1:'));
  const made = (i: 0 | 1) => reshape(smaller[i]!, concat([heads[i]!, sizes[i]!], 0));
  return [[made(0), made(1)], sizes];
}

/**
 * The slopes of images, `[batch, height, width, channels]`, downwards and to the right, in one more axis. Adds a
 * `DepthwiseConv2dNative` node and others.
 */
export function sobelEdges(image: Tensor): Tensor {
  const dims = shape(image);
  const kernels = [
    [[[-1, -1]], [[-2, 0]], [[-1, 1]]],
    [[[0, -2]], [[0, 0]], [[0, 2]]],
    [[[1, -1]], [[2, 0]], [[1, 1]]],
  ];
  const filters = tile(constant(kernels, { dtype: image.dtype }), [1, 1, getItem(dims, [-1]), 1], {
    name: 'sobel_filters',
  });
  const padded = pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], { mode: 'REFLECT' }); // biome-ignore format: a matrix
  const slopes = depthwiseConv2d(padded, filters, { strides: [1, 1, 1, 1], padding: 'VALID' });
  const result = reshape(slopes, concat([dims, [2]], 0));
  result.setShape(image.shape && [...image.shape, 2]);
  return result;
}
