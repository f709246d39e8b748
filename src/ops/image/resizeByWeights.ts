/** @file ResizeArea and ResizeBicubic: every pixel of the result is a weighted sum of pixels, along rows and along columns. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError, ResourceExhaustedError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Shape, showRuntime } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, gradientPending, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { checkCount, demandSize, imageDims, type Sampling, sampleAttrs, scaleOf, sizeDims } from './sampling.ts';

const imageTypes = attr('type', {
  allowed: [
    d.int8, d.uint8, d.int16, d.uint16, d.int32, d.int64, d.float16, d.float32, d.float64, d.bfloat16,
  ], // biome-ignore format: a table reads better in rows
});
const f = Math.fround;
const bound = (place: number, limit: number) => Math.min(limit - 1, Math.max(0, place));

/** Weights `[to, from]` that make the pixels of the result from those of the image, along one axis. */
export type Weights = Float32Array;

/** A matrix of weights must fit in memory with room to spare. */
export function emptyWeights(from: number, to: number): Weights {
  if (from * to > 2 ** 28) {
    throw new ResourceExhaustedError(`OOM: ${from} pixels cannot be resized to ${to} along one side in this way`);
  }
  return new Float32Array(from * to);
}

/** Shares of the pixels that a pixel of the result covers, times how much of it one covers. */
function areaWeights(from: number, to: number, sampling: Sampling): Weights {
  const weights = emptyWeights(from, to);
  const scale = scaleOf(from, to, sampling);
  for (let i = 0; i < to; i++) {
    const [begin, end] = [f(i * scale), f((i + 1) * scale)];
    for (let k = Math.floor(begin); k < Math.ceil(end); k++) {
      const share = k < begin ? (k + 1 > end ? scale : k + 1 - begin) : k + 1 > end ? end - k : 1;
      const at = i * from + bound(k, from);
      weights[at] = weights[at]! + share / scale;
    }
  }
  return weights;
}

/** How finely TensorFlow tabulates the cubic curve. */
const steps = 1024;

/** The cubic curve at a distance of up to 1, and at one more. */
function cubic(a: number, step: number): readonly [near: number, far: number] {
  const x = f(step / steps);
  const y = f(x + 1);
  return [f(((a + 2) * x - (a + 3)) * x * x + 1), f(((a * y - 5 * a) * y + 8 * a) * y - 4 * a)];
}

/** C's lrintf: halves go to the even number. */
function toEven(x: number): number {
  const low = Math.floor(x);
  return x - low > 0.5 || (x - low === 0.5 && low % 2 === 1) ? low + 1 : low;
}

function cubicWeights(from: number, to: number, sampling: Sampling): Weights {
  const weights = emptyWeights(from, to);
  const scale = scaleOf(from, to, sampling);
  const keys = sampling.half_pixel_centers;
  const a = keys ? -0.5 : -0.75;
  for (let i = 0; i < to; i++) {
    const place = keys ? f(f((i + 0.5) * scale) - 0.5) : f(i * scale);
    const first = Math.floor(place);
    const offset = toEven(f(f(place - first) * steps));
    const [near, far] = cubic(a, offset);
    const [nearAfter, farAfter] = cubic(a, steps - offset);
    let taps = [far, near, nearAfter, farAfter];
    if (keys) {
      // Pixels outside the image count for nothing, and the others for more.
      taps = taps.map((weight, k) => (bound(first - 1 + k, from) === first - 1 + k ? weight : 0));
      const sum = taps.reduce((total, weight) => f(total + weight), 0);
      if (Math.abs(sum) >= 1000 * 2 ** -126) taps = taps.map((weight) => f(weight * f(1 / sum)));
    }
    for (const [k, weight] of taps.entries()) {
      const at = i * from + bound(first - 1 + k, from);
      weights[at] = weights[at]! + weight;
    }
  }
  return weights;
}

/** The images times weights along their columns and then along their rows, in float32. */
export function weighted(p: ProgramBuilder, images: Value, rows: Value, columns: Value): Value {
  const [batch, height, width, channels] = images.shape as readonly [number, number, number, number]; // of rank 4
  const [newHeight, newWidth] = [rows.shape[0]!, columns.shape[0]!];
  const tall = p.dot(rows, p.reshape(images, [batch, height, width * channels]));
  const wide = p.dot(columns, p.reshape(tall, [batch * newHeight, width, channels]));
  return p.reshape(wide, [batch, newHeight, newWidth, channels]);
}

type MakeWeights = (from: number, to: number, sampling: Sampling) => Weights;

function lowerResize(p: ProgramBuilder, images: Value, size: Value, sampling: Sampling, make: MakeWeights): Value {
  const { shape } = images;
  if (sampling.align_corners && sampling.half_pixel_centers) {
    throw new InvalidArgumentError('If half_pixel_centers is True, align_corners must be False.');
  }
  if (shape.length !== 4) throw new InvalidArgumentError(`input must be 4-dimensional${showRuntime(shape)}`);
  if (shape[3] === 0) throw new InvalidArgumentError('image must have at least one channel');
  if (shape[1] === 0 || shape[2] === 0) throw new InvalidArgumentError('input image must be of non-zero size');
  const [height, width] = demandSize(p, size);
  if (height <= 0 || width <= 0) throw new InvalidArgumentError('output dimensions must be positive');
  checkCount([shape[0]!, height, width, shape[3]!]);
  const matrix = (from: number, to: number) => p.constant(new NDArray(d.float32, [to, from], make(from, to, sampling)));
  const rows = matrix(shape[1]!, height);
  const columns = shape[2] === shape[1] && width === height ? rows : matrix(shape[2]!, width);
  return weighted(p, p.cast(images, d.float32), rows, columns);
}

const square2 = [[[[1], [2]], [[3], [5]]]]; // biome-ignore format: one image of 2 x 2 pixels
const size = (...value: number[]) => ({ dtype: 'int32' as const, value });

export const ResizeArea = defineOp({
  name: 'ResizeArea',
  inputs: { images: 'T', size: 'int32' },
  outputs: { resized_images: 'float32' },
  attrs: { T: imageTypes, align_corners: attr('bool', { default: false }) },
  hostInputs: ['size'],
  shape({ images, size }, _, context) {
    const [batch, , , channels] = imageDims(images, 'images');
    return { resized_images: [batch!, ...sizeDims(size, context.partial('size'), 'size'), channels!] };
  },
  grad: gradientPending('TensorFlow has none'),
  lower: (p, { images, size }, { align_corners }) => ({
    resized_images: lowerResize(p, images, size, { align_corners, half_pixel_centers: false }, areaWeights),
  }),
  cases: () => [
    { shape: '[?, 4, 4, 3], [2] -> [?, 8, 6, 3]', given: { size: size(8, 6) } },
    { given: { images: square2, size: size(1, 1) }, expect: { resized_images: [[[[2.75]]]] } },
    { given: { images: square2, size: size(1, 2) }, expect: { resized_images: [[[[2], [3.5]]]] } },
    { given: { images: square2, size: size(3, 4) }, expect: { resized_images: [[[[1], [1], [2], [2]], [[2], [2], [3.5], [3.5]], [[3], [3], [5], [5]]]] } }, // biome-ignore format: rows
    { given: { images: square2, size: size(3, 3) }, attrs: { align_corners: true }, expect: { resized_images: [[[[1], [1], [2]], [[1], [1], [2]], [[3], [3], [5]]]] } }, // biome-ignore format: rows
    { given: { images: [[[[1], [4], [3], [7]]]], size: size(2, 2) }, expect: { resized_images: [[[[2.5], [5]], [[2.5], [5]]]] } }, // biome-ignore format: rows
    { given: { images: square2, size: size(0, 2) }, fails: /output dimensions must be positive/ },
  ],
});

export const ResizeBicubic = defineOp({
  name: 'ResizeBicubic',
  inputs: { images: 'T', size: 'int32' },
  outputs: { resized_images: 'float32' },
  attrs: { T: imageTypes, ...sampleAttrs },
  hostInputs: ['size'],
  shape({ images, size }, _, context) {
    const [batch, , , channels] = imageDims(images, 'images');
    return { resized_images: [batch!, ...sizeDims(size, context.partial('size'), 'size'), channels!] };
  },
  grad({ inputs, attrs: { align_corners, half_pixel_centers } }, { resized_images: dy }) {
    const { images } = inputs;
    if (images.dtype !== d.float32 && images.dtype !== d.float64) return { images: null };
    const attrs = { align_corners, half_pixel_centers };
    return { images: ResizeBicubicGrad.build({ grads: denseGradient(dy), original_image: images }, { attrs }).output };
  },
  lower: (p, { images, size }, attrs) => ({ resized_images: lowerResize(p, images, size, attrs, cubicWeights) }),
  cases: () => [
    { shape: '[?, 4, 4, 3], [2] -> [?, 8, 6, 3]', given: { size: size(8, 6) } },
    { given: { images: square2, size: size(2, 2) }, expect: { resized_images: square2 } },
    { given: { images: square2, size: size(1, 4) }, expect: { resized_images: [[[[1], [1.5], [2], [2.09375]]]] } },
    {
      given: { images: square2, size: size(1, 3) },
      attrs: { align_corners: true },
      expect: { resized_images: [[[[1], [1.5], [2]]]] },
    },
    { given: { images: square2, size: size(3, 3) }, attrs: { half_pixel_centers: true } },
    { given: { images: [[[[1, 9], [4, 2], [3, 5], [7, 8]]]], size: size(2, 3) }, attrs: { half_pixel_centers: true } }, // biome-ignore format: a row
    { given: { images: square2, size: size(3, 3) }, attrs: { align_corners: true, half_pixel_centers: true }, fails: /align_corners must be False/ }, // biome-ignore format: as above
  ],
});

function checkRank(shape: Shape, what: string): void {
  if (shape.length !== 4) throw new InvalidArgumentError(`${what} must be 4-dimensional${showRuntime(shape)}`);
}

export const ResizeBicubicGrad = defineOp({
  name: 'ResizeBicubicGrad',
  inputs: { grads: 'float32', original_image: 'T' },
  outputs: { output: 'T' },
  attrs: { T: attr('type', { allowed: [d.float32, d.float64] }), ...sampleAttrs },
  shape: ({ original_image }) => ({ output: original_image }),
  grad: notDifferentiable,
  lower(p, { grads, original_image }, { T, ...sampling }) {
    checkRank(grads.shape, 'input_grad');
    checkRank(original_image.shape, 'original_image');
    const matrix = (axis: 1 | 2) => {
      const [from, to] = [original_image.shape[axis]!, grads.shape[axis]!];
      const weights = p.constant(new NDArray(d.float32, [to, from], cubicWeights(from, to, sampling)));
      return p.transpose(weights, [1, 0]);
    };
    return { output: p.cast(weighted(p, grads, matrix(1), matrix(2)), T) };
  },
  cases: () => [
    { shape: '[2, 8, 8, 3], [2, ?, 4, 3] -> [2, ?, 4, 3]' },
    { given: { grads: square2, original_image: square2 }, expect: { output: square2 } },
    { given: { grads: [[[[1], [2], [3], [4]], [[5], [6], [7], [8]]]], original_image: square2 }, attrs: { half_pixel_centers: true } }, // biome-ignore format: rows
  ],
});

/**
 * Images in another size, each pixel the mean of what it covers; always float32. Adds one `ResizeArea` node.
 *
 * @example tf.image.resizeArea([[[[1], [2], [3], [6]]]], [1, 2]) // runs to [[[[1.5] [4.5]]]]
 */
export function resizeArea(
  images: TensorLike,
  size: TensorLike,
  options: { readonly alignCorners?: boolean | undefined; readonly name?: string | undefined } = {},
): Tensor {
  const { alignCorners = false, name } = onlyOptions('tf.image.resizeArea', options, 'alignCorners', 'name');
  return ResizeArea.build({ images, size }, { name, attrs: { align_corners: alignCorners } }).resized_images;
}

/** Images in another size, by cubic curves through sixteen pixels; always float32. Adds one `ResizeBicubic` node. */
export function resizeBicubic(
  images: TensorLike,
  size: TensorLike,
  options: {
    readonly alignCorners?: boolean | undefined;
    readonly halfPixelCenters?: boolean | undefined;
    readonly name?: string | undefined;
  } = {},
): Tensor {
  const names = ['alignCorners', 'halfPixelCenters', 'name'] as const;
  const {
    alignCorners = false,
    halfPixelCenters = false,
    name,
  } = onlyOptions('tf.image.resizeBicubic', options, ...names);
  const attrs = { align_corners: alignCorners, half_pixel_centers: halfPixelCenters };
  return ResizeBicubic.build({ images, size }, { name, attrs }).resized_images;
}
