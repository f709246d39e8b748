/** @file ResizeBilinear and ResizeNearestNeighbor with their gradients: images in another size. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Shape, showRuntime } from '../../core/shape.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, gradientPending, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';
import { getItem } from '../array/getItem.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { shape as shapeOf } from '../array/shape.ts';
import {
  accumulated,
  checkCount,
  demandSize,
  imageDims,
  nearest,
  neighbours,
  pick,
  pixels,
  type Sampling,
  sampleAttrs,
  sizeDims,
} from './sampling.ts';

const imageTypes = attr('type', {
  allowed: [
    d.int8, d.uint8, d.int16, d.uint16, d.int32, d.int64, d.float16, d.float32, d.float64, d.bfloat16,
  ], // biome-ignore format: a table reads better in rows
});

function checkSampling({ align_corners, half_pixel_centers }: Sampling): void {
  if (align_corners && half_pixel_centers)
    throw new InvalidArgumentError('If half_pixel_centers is True, align_corners must be False.');
}

/** The size asked for, after TensorFlow's checks. */
function checkedSize(p: ProgramBuilder, images: Shape, size: Value): [number, number] {
  if (images.length !== 4) throw new InvalidArgumentError(`input must be 4-dimensional${showRuntime(images)}`);
  if (images[3] === 0) throw new InvalidArgumentError('image must have at least one channel');
  if (images[1] === 0 || images[2] === 0) throw new InvalidArgumentError('input image must be of non-zero size');
  const [height, width] = demandSize(p, size);
  if (height <= 0 || width <= 0) throw new InvalidArgumentError('output dimensions must be positive');
  checkCount([images[0]!, height, width, images[3]!]);
  return [height, width];
}

const column = (p: ProgramBuilder, value: Value) => p.reshape(value, [value.shape[0]!, 1]);
const row = (p: ProgramBuilder, value: Value) => p.reshape(value, [value.shape[0]!, 1, 1]);

/** Between two images: `a + (b - a) * share`, in float32. */
function between(p: ProgramBuilder, a: Value, b: Value, share: Value): Value {
  return p.map([a, b, share], (x, y, s) => {
    const [from, to] = [e.cast(x!, d.float32), e.cast(y!, d.float32)];
    return e.add(from, e.mul(e.sub(to, from), s!));
  });
}

const square2 = [[[[1], [2]], [[3], [5]]]]; // biome-ignore format: one image of 2 x 2 pixels
const size = (...value: number[]) => ({ dtype: 'int32' as const, value });

export const ResizeBilinear = defineOp({
  name: 'ResizeBilinear',
  inputs: { images: 'T', size: 'int32' },
  outputs: { resized_images: 'float32' },
  attrs: {
    T: attr('type', {
      allowed: [
        d.int8,
        d.uint8,
        d.int16,
        d.uint16,
        d.int32,
        d.int64,
        d.bfloat16,
        d.float16,
        d.float32,
        d.float64,
        d.bfloat16,
      ],
    }),
    ...sampleAttrs,
  },
  hostInputs: ['size'],
  shape({ images, size }, _, context) {
    const [batch, , , channels] = imageDims(images, 'images');
    return { resized_images: [batch!, ...sizeDims(size, context.partial('size'), 'size'), channels!] };
  },
  grad: ({ inputs, attrs: { align_corners, half_pixel_centers } }, { resized_images: dy }) => ({
    images: ResizeBilinearGrad.build(
      { grads: denseGradient(dy), original_image: inputs.images },
      { attrs: { align_corners, half_pixel_centers } },
    ).output,
  }),
  lower(p, { images, size }, attrs) {
    checkSampling(attrs);
    const [height, width] = checkedSize(p, images.shape, size);
    if (height === images.shape[1] && width === images.shape[2]) return { resized_images: p.cast(images, d.float32) };
    const ys = neighbours(p, images.shape[1]!, height, attrs);
    const xs = neighbours(p, images.shape[2]!, width, attrs);
    const rows = between(p, pick(p, images, 2, xs.lower), pick(p, images, 2, xs.upper), column(p, xs.share));
    return { resized_images: between(p, pick(p, rows, 1, ys.lower), pick(p, rows, 1, ys.upper), row(p, ys.share)) };
  },
  cases: () => [
    { shape: '[?, 4, 4, 3], [2] -> [?, 8, 6, 3]', given: { size: size(8, 6) } },
    { shape: '?, [2] -> [?, ?, ?, ?]' },
    { shape: '[4, 4, 3], [2]', rejects: /rank 4 is needed/ },
    {
      given: { images: [...square2, ...square2, ...square2], size: size(2 ** 31 - 1, 2 ** 31 - 1) },
      fails: /Encountered overflow when multiplying/,
    },
    {
      given: { images: square2, size: size(2, 4) },
      expect: { resized_images: [[[[1], [1.5], [2], [2]], [[3], [4], [5], [5]]]] },
    },
    {
      given: { images: square2, size: size(3, 3) },
      attrs: { align_corners: true },
      expect: { resized_images: [[[[1], [1.5], [2]], [[2], [2.75], [3.5]], [[3], [4], [5]]]] },
    },
    {
      given: { images: square2, size: size(1, 3) },
      attrs: { half_pixel_centers: true },
      expect: { resized_images: [[[[2], [2.75], [3.5]]]] },
    },
    { given: { images: square2, size: size(2, 2) }, expect: { resized_images: square2 } },
    {
      given: { images: { dtype: 'uint8', value: [[[[1, 2, 255], [2, 0, 3]]]] }, size: size(1, 4) },
      expect: { resized_images: [[[[1, 2, 255], [1.5, 1, 129], [2, 0, 3], [2, 0, 3]]]] },
    },
    { given: { images: square2, size: size(0, 2) }, fails: /output dimensions must be positive/ },
    {
      given: { images: square2, size: size(3, 3) },
      attrs: { align_corners: true, half_pixel_centers: true },
      fails: /If half_pixel_centers is True, align_corners must be False/,
    },
  ], // biome-ignore format: images read better in rows
});

export const ResizeBilinearGrad = defineOp({
  name: 'ResizeBilinearGrad',
  inputs: { grads: 'float32', original_image: 'T' },
  outputs: { output: 'T' },
  attrs: { T: attr('type', { allowed: [d.float32, d.bfloat16, d.float16, d.float64] }), ...sampleAttrs },
  shape: ({ original_image }) => ({ output: original_image }),
  grad: notDifferentiable,
  lower(p, { grads, original_image }, { T, ...attrs }) {
    checkSampling(attrs);
    if (grads.shape.length !== 4)
      throw new InvalidArgumentError(`input_grad must be 4-dimensional${showRuntime(grads.shape)}`);
    const [batch, height, width, channels] = grads.shape as [number, number, number, number]; // rank checked
    if (height === 0 || width === 0) throw new InvalidArgumentError('resized dimensions must be positive');
    const original = original_image.shape;
    if (original.length !== 4)
      throw new InvalidArgumentError(`original_image must be 4-dimensional${showRuntime(original)}`);
    if (original[1] === 0 || original[2] === 0) throw new InvalidArgumentError('original dimensions must be positive');
    const ys = neighbours(p, original[1]!, height, attrs);
    const xs = neighbours(p, original[2]!, width, attrs);
    const images = p.generate([batch, 1, 1], (b) => b!);
    const sum = e.computeType(T);
    const corner = (y: 'lower' | 'upper', x: 'lower' | 'upper') => ({
      tuples: pixels(p, [batch, height, width], images, column(p, ys[y]), xs[x]),
      updates: p.map([grads, row(p, ys.share), column(p, xs.share)], (g, sy, sx) => {
        const weight = (share: e.Expr, side: string) => (side === 'upper' ? share : e.sub(1, share));
        return e.cast(e.mul(e.mul(g!, weight(sy!, y)), weight(sx!, x)), sum);
      }),
    });
    const corners = [
      corner('lower', 'lower'),
      corner('lower', 'upper'),
      corner('upper', 'lower'),
      corner('upper', 'upper'),
    ];
    return { output: p.cast(accumulated(p, [batch, original[1]!, original[2]!, channels], corners), T) };
  },
  cases: () => [
    { shape: '[2, 8, 8, 3], [2, ?, 4, 3] -> [2, ?, 4, 3]' },
    {
      given: { grads: [[[[1], [2], [3], [4]], [[5], [6], [7], [8]]]], original_image: square2 },
      expect: { output: [[[[2], [8]], [[8], [18]]]] },
    },
    {
      given: { grads: [[[[1], [2], [4]]]], original_image: square2 },
      attrs: { half_pixel_centers: true },
      expect: { output: [[[[1], [2.5]], [[1], [2.5]]]] },
    },
    {
      given: { grads: [[[[1], [2], [4]]]], original_image: { dtype: 'float64', value: square2 } },
      attrs: { align_corners: true },
      expect: { output: { dtype: 'float64', value: [[[[2], [5]], [[0], [0]]]] } },
    },
  ], // biome-ignore format: images read better in rows
});

export const ResizeNearestNeighbor = defineOp({
  name: 'ResizeNearestNeighbor',
  inputs: { images: 'T', size: 'int32' },
  outputs: { resized_images: 'T' },
  attrs: { T: imageTypes, ...sampleAttrs },
  hostInputs: ['size'],
  shape({ images, size }, _, context) {
    const [batch, , , channels] = imageDims(images, 'images');
    return { resized_images: [batch!, ...sizeDims(size, context.partial('size'), 'size'), channels!] };
  },
  grad({ inputs: { images }, attrs: { align_corners, half_pixel_centers } }, { resized_images: dy }) {
    const [height, width] = images.shape?.slice(1, 3) ?? [];
    const size = height != null && width != null ? [height, width] : getItem(shapeOf(images), '1:3');
    return {
      images: ResizeNearestNeighborGrad.build(
        { grads: denseGradient(dy), size },
        { attrs: { align_corners, half_pixel_centers } },
      ).output,
    };
  },
  lower(p, { images, size }, attrs) {
    checkSampling(attrs);
    const [height, width] = checkedSize(p, images.shape, size);
    const columns = pick(p, images, 2, nearest(p, images.shape[2]!, width, attrs));
    return { resized_images: pick(p, columns, 1, nearest(p, images.shape[1]!, height, attrs)) };
  },
  cases: () => [
    { shape: '[?, 4, 4, 3], [2] -> [?, 8, 6, 3]', given: { size: size(8, 6) } },
    { shape: '[2, 4, 4, 3], [3]', rejects: /a vector of 2/ },
    {
      given: { images: square2, size: size(3, 3) },
      expect: { resized_images: [[[[1], [1], [2]], [[1], [1], [2]], [[3], [3], [5]]]] },
    },
    {
      given: { images: square2, size: size(3, 3) },
      attrs: { align_corners: true },
      expect: { resized_images: [[[[1], [2], [2]], [[3], [5], [5]], [[3], [5], [5]]]] },
    },
    {
      given: { images: square2, size: size(1, 3) },
      attrs: { half_pixel_centers: true },
      expect: { resized_images: [[[[3], [5], [5]]]] },
    },
    { given: { images: { dtype: 'uint8', value: [[[[1, 2, 255]]]] }, size: size(1, 2) } },
    { given: { images: square2, size: size(3, -1) }, fails: /must be positive|must be non-negative/ },
  ], // biome-ignore format: images read better in rows
});

export const ResizeNearestNeighborGrad = defineOp({
  name: 'ResizeNearestNeighborGrad',
  inputs: { grads: 'T', size: 'int32' },
  outputs: { output: 'T' },
  attrs: {
    T: attr('type', { allowed: [d.uint8, d.int8, d.int32, d.float16, d.float32, d.float64, d.bfloat16] }),
    ...sampleAttrs,
  },
  hostInputs: ['size'],
  shape({ grads, size }, _, context) {
    const [batch, , , channels] = imageDims(grads, 'grads');
    return { output: [batch!, ...sizeDims(size, context.partial('size'), 'size'), channels!] };
  },
  grad: gradientPending('TensorFlow has none'),
  lower(p, { grads, size }, attrs) {
    if (grads.shape.length !== 4)
      throw new InvalidArgumentError(`input must be 4-dimensional${showRuntime(grads.shape)}`);
    const [height, width] = demandSize(p, size);
    if (height <= 0 || width <= 0) throw new InvalidArgumentError("shape_t's elements must be positive");
    const [batch, rows, columns, channels] = grads.shape as [number, number, number, number]; // rank checked
    checkCount([batch, height, width, channels]);
    const tuples = pixels(
      p,
      [batch, rows, columns],
      p.generate([batch, 1, 1], (b) => b!),
      column(p, nearest(p, height, rows, attrs)),
      nearest(p, width, columns, attrs),
    );
    return { output: accumulated(p, [batch, height, width, channels], [{ tuples, updates: grads }]) };
  },
  cases: () => [
    { shape: '[?, 8, 8, 3], [2] -> [?, 4, 4, 3]', given: { size: size(4, 4) } },
    {
      given: { grads: [[[[1], [2], [3]], [[4], [5], [6]]]], size: size(2, 2) },
      expect: { output: [[[[3], [3]], [[9], [6]]]] },
    },
    {
      given: { grads: [[[[1], [2], [3]], [[4], [5], [6]]]], size: size(2, 2) },
      attrs: { align_corners: true },
      expect: { output: [[[[1], [5]], [[4], [11]]]] },
    },
    {
      given: { grads: { dtype: 'int32', value: [[[[1], [2], [3]]]] }, size: size(2, 2) },
      attrs: { half_pixel_centers: true },
      expect: { output: { dtype: 'int32', value: [[[[0], [0]], [[1], [5]]]] } },
    },
    {
      given: { grads: [[[[1, 2, 3]]]], size: size(2 ** 31 - 1, 2 ** 31 - 1) },
      fails: /Encountered overflow when multiplying/,
    },
  ], // biome-ignore format: images read better in rows
});

export interface ResizeOptions {
  /** The corner pixels of image and result are the same points. */
  readonly alignCorners?: boolean | undefined;
  /** Positions are those of pixel centres. */
  readonly halfPixelCenters?: boolean | undefined;
  readonly name?: string | undefined;
}

const resizeAttrs = ({ alignCorners = false, halfPixelCenters = false }: ResizeOptions) => ({
  align_corners: alignCorners,
  half_pixel_centers: halfPixelCenters,
});

/**
 * Images in another size, by averages of the four nearest pixels; always float32. Adds one `ResizeBilinear` node.
 *
 * @example tf.image.resizeBilinear([[[[1], [2]]]], [1, 4]) // runs to [[[[1. ] [1.5] [2. ] [2. ]]]]
 */
export function resizeBilinear(images: TensorLike, size: TensorLike, options: ResizeOptions = {}): Tensor {
  return ResizeBilinear.build({ images, size }, { name: options.name, attrs: resizeAttrs(options) }).resized_images;
}

/**
 * Images in another size, each pixel the nearest one. Adds one `ResizeNearestNeighbor` node.
 *
 * @example tf.image.resizeNearestNeighbor([[[[1.5], [2.5]]]], [1, 4]) // runs to [[[[1.5] [1.5] [2.5] [2.5]]]]
 */
export function resizeNearestNeighbor(images: TensorLike, size: TensorLike, options: ResizeOptions = {}): Tensor {
  return ResizeNearestNeighbor.build({ images, size }, { name: options.name, attrs: resizeAttrs(options) })
    .resized_images;
}
