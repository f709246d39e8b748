/** @file ScaleAndTranslate and its gradient: images stretched and moved, each new pixel a sum weighed by a sampling kernel. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { showRuntime } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';
import { int32s } from '../../op/cases.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { emptyWeights, type Weights, weighted } from './resizeByWeights.ts';
import { checkCount, imageDims, sizeDims } from './sampling.ts';
import { none } from './suppression.ts';

const f = Math.fround;

/** How much a pixel counts by its distance, and the distance from which on it counts nothing. */
interface SamplingKernel {
  readonly radius: number;
  readonly weight: (distance: number) => number;
}

function lanczos(radius: number): SamplingKernel {
  // Close to zero the quotient is 1 but for rounding, which a division by nearly nothing would blow up.
  const curve = (x: number) =>
    (radius * Math.sin(Math.PI * x) * Math.sin((Math.PI * x) / radius)) / (Math.PI * Math.PI * x * x);
  return { radius, weight: (x) => (x > radius ? 0 : x <= 1e-3 ? 1 : curve(x)) };
}

const kernels: Readonly<Record<string, SamplingKernel>> = {
  lanczos1: lanczos(1),
  lanczos3: lanczos(3),
  lanczos5: lanczos(5),
  gaussian: { radius: 1.5, weight: (x) => (x >= 1.5 ? 0 : Math.exp(-2 * x * x)) },
  box: { radius: 1, weight: (x) => (x < 0.5 ? 1 : x === 0.5 ? 0.5 : 0) },
  triangle: { radius: 1, weight: (x) => Math.max(0, 1 - x) },
  keyscubic: {
    radius: 2,
    weight: (x) => (x >= 2 ? 0 : x >= 1 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : (1.5 * x - 2.5) * x * x + 1),
  },
  mitchellcubic: {
    radius: 2,
    weight: (x) =>
      x >= 2 ? 0 : x >= 1 ? (((-7 / 18) * x + 2) * x - 10 / 3) * x + 16 / 9 : ((7 / 6) * x - 2) * x * x + 8 / 9,
  },
};

interface Kind {
  readonly kernel_type: string;
  readonly antialias: boolean;
}

function kernelOf({ kernel_type }: Kind): SamplingKernel {
  const name = kernel_type.toLowerCase();
  const kernel = Object.hasOwn(kernels, name) ? kernels[name] : undefined;
  if (!kernel) throw new InvalidArgumentError(`Unrecognized kernel type: ${kernel_type}`);
  return kernel;
}

/** Weights `[to, from]` along one axis; a pixel that lies outside of the image when taken back has none. */
function axisWeights(from: number, to: number, scale: number, translation: number, kind: Kind): Weights {
  const { radius, weight } = kernelOf(kind);
  const weights = emptyWeights(from, to);
  const inverse = f(1 / scale);
  const shift = f(-inverse * translation);
  // Of an image that shrinks, more pixels count, lest details between the new pixels be lost or turned into patterns.
  const spread = kind.antialias ? Math.max(inverse, 1) : 1;
  const reach = f(radius * spread);
  for (let i = 0; i < to; i++) {
    const center = f(f((i + 0.5) * inverse) + shift);
    if (!(center >= 0 && center <= from)) continue;
    const first = Math.max(0, Math.min(from - 1, Math.ceil(f(f(center - reach) - 0.5))));
    const last = Math.max(0, Math.min(from - 1, Math.floor(f(f(center + reach) - 0.5))));
    let sum = 0;
    for (let k = first; k <= last; k++) {
      const share = f(weight(Math.abs(f(f(k + 0.5 - center) * f(1 / spread)))));
      weights[i * from + k] = share;
      sum = f(sum + share);
    }
    const factor = Math.abs(sum) >= 1000 * 2 ** -126 ? f(1 / sum) : 0;
    for (let k = first; k <= last; k++) weights[i * from + k] = weights[i * from + k]! * factor;
  }
  return weights;
}

function checkPair(pair: Value): void {
  if (pair.shape.length !== 1) throw new InvalidArgumentError(`t must be 1-dimensional${showRuntime(pair.shape)}`);
  if (pair.shape[0] !== 2) throw new InvalidArgumentError(`t must have two elements${showRuntime(pair.shape)}`);
}

/** The weights of rows and of columns: worked out now where scale and translation are known, else in every run. */
function bothWeights(
  p: ProgramBuilder,
  scale: Value,
  translation: Value,
  kind: Kind,
  from: readonly number[],
  to: readonly number[],
): readonly [rows: Value, columns: Value] {
  checkPair(scale);
  checkPair(translation);
  kernelOf(kind);
  const make = (scales: NDArray, translations: NDArray): NDArray[] => {
    if (!scales.numbers().every((s) => s > 0)) throw new InvalidArgumentError('Scale must be greater than zero.');
    return [0, 1].map((axis) => {
      const [before, after] = [from[axis]!, to[axis]!];
      const weights = axisWeights(before, after, scales.numberAt(axis), translations.numberAt(axis), kind);
      return new NDArray(d.float32, [after, before], weights);
    });
  };
  const [rows, columns] =
    scale.known && translation.known
      ? make(scale.known, translation.known).map((weights) => p.constant(weights))
      : p.host(
          [scale, translation],
          [0, 1].map((axis) => ({ dtype: d.float32, shape: [to[axis]!, from[axis]!] })),
          ([scales, translations]) => make(scales!, translations!),
        );
  return [rows!, columns!];
}

const kindAttrs = {
  kernel_type: attr('string', { default: 'lanczos3' }),
  antialias: attr('bool', { default: true }),
} as const;

const picture = [[[[1], [2], [4]], [[3], [5], [9]]]]; // biome-ignore format: one image of 2 x 3 pixels
const same = { scale: [1, 1], translation: [0, 0] };

export const ScaleAndTranslate = defineOp({
  name: 'ScaleAndTranslate',
  inputs: { images: 'T', size: 'int32', scale: 'float32', translation: 'float32' },
  outputs: { resized_images: 'float32' },
  attrs: {
    T: attr('type', {
      allowed: [
        d.int8, d.uint8, d.int16, d.uint16, d.int32, d.int64, d.bfloat16, d.float16, d.float32, d.float64,
      ], // biome-ignore format: a table reads better in rows
    }),
    ...kindAttrs,
  },
  hostInputs: ['size'],
  shape({ images, size }, _, context) {
    const [batch, , , channels] = imageDims(images, 'images');
    return { resized_images: [batch!, ...sizeDims(size, context.partial('size'), 'size'), channels!] };
  },
  grad: ({ inputs: { images, scale, translation }, attrs: { kernel_type, antialias } }, { resized_images: dy }) => ({
    images: ScaleAndTranslateGrad.build(
      { grads: denseGradient(dy), original_image: images, scale, translation },
      { attrs: { kernel_type, antialias } },
    ).output,
  }),
  lower(p, { images, size, scale, translation }, { T: _, ...kind }) {
    const { shape } = images;
    if (shape.length !== 4) throw new InvalidArgumentError(`input must be 4-dimensional${showRuntime(shape)}`);
    if (size.shape.length !== 1)
      throw new InvalidArgumentError(`output_shape_t must be 1-dimensional${showRuntime(size.shape)}`);
    if (size.shape[0] !== 2)
      throw new InvalidArgumentError(`output_shape_t must have two elements${showRuntime(size.shape)}`);
    const to = p.demandInts(size);
    if (to.some((n) => n <= 0)) throw new InvalidArgumentError('output dimensions must be positive');
    if (shape[3] === 0) throw new InvalidArgumentError('image must have at least one channel');
    if (shape[1] === 0 || shape[2] === 0) throw new InvalidArgumentError('input image must be of non-zero size');
    checkCount([shape[0]!, to[0]!, to[1]!, shape[3]!]);
    const weights = bothWeights(p, scale, translation, kind, shape.slice(1, 3), to);
    return { resized_images: weighted(p, p.cast(images, d.float32), ...weights) };
  },
  cases: () => [
    { shape: '[?, 4, 4, 3], [2], [2], [2] -> [?, 8, 6, 3]', given: { size: int32s([8, 6]) } },
    { shape: '?, [2], [2], [2] -> [?, ?, ?, ?]' },
    { shape: '[4, 4, 3], [2], [2], [2]', rejects: /rank 4 is needed/ },
    {
      given: { images: picture, size: int32s([2, 3]), ...same },
      attrs: { kernel_type: 'triangle' },
      expect: { resized_images: picture },
    },
    ...Object.keys(kernels).flatMap((kernel_type) => [
      { given: { images: picture, size: int32s([3, 5]), scale: [1.5, 1.7], translation: [0, 0] }, attrs: { kernel_type } },
      { given: { images: picture, size: int32s([1, 2]), scale: [0.4, 0.6], translation: [0.2, -0.1] }, attrs: { kernel_type } },
    ]), // biome-ignore format: rows
    { given: { images: picture, size: int32s([1, 2]), scale: [0.5, 0.66], translation: [0, 0] }, attrs: { kernel_type: 'Triangle', antialias: false } }, // biome-ignore format: as above
    { given: { images: picture, size: int32s([4, 4]), scale: [1, 1], translation: [1, -1] }, attrs: { kernel_type: 'box' }, expect: { resized_images: [[[[0], [0], [0], [0]], [[2], [4], [0], [0]], [[5], [9], [0], [0]], [[0], [0], [0], [0]]]] } }, // biome-ignore format: as above
    { given: { images: { dtype: 'uint8', value: [[[[1, 255], [3, 7]]]] }, size: int32s([1, 3]), scale: [1, 1.5], translation: [0, 0] }, attrs: { kernel_type: 'keyscubic' }, differentiable: false }, // biome-ignore format: as above
    { given: { images: { dtype: 'float32', value: [], shape: [0, 2, 2, 1] }, size: int32s([3, 3]), ...same } },
    { given: { images: picture, size: int32s([2, 3]), scale: [0, 1], translation: [0, 0] }, fails: /Scale must be greater than zero/ }, // biome-ignore format: as above
    { given: { images: picture, size: int32s([2, 0]), ...same }, fails: /output dimensions must be positive/ },
    { given: { images: picture, size: int32s([2, 2]), ...same }, attrs: { kernel_type: 'sharp' }, fails: /Unrecognized kernel type: sharp/ }, // biome-ignore format: as above
  ],
});

export const ScaleAndTranslateGrad = defineOp({
  name: 'ScaleAndTranslateGrad',
  inputs: { grads: 'T', original_image: 'T', scale: 'float32', translation: 'float32' },
  outputs: { output: 'T' },
  attrs: { T: attr('type', { allowed: [d.float32] }), ...kindAttrs },
  shape: ({ original_image }) => ({ output: original_image }),
  grad: none,
  lower(p, { grads, original_image, scale, translation }, { T: _, ...kind }) {
    if (grads.shape.length !== 4)
      throw new InvalidArgumentError(`input_grad must be 4-dimensional${showRuntime(grads.shape)}`);
    if (original_image.shape.length !== 4)
      throw new InvalidArgumentError(`original_image must be 4-dimensional${showRuntime(original_image.shape)}`);
    const [from, to] = [original_image.shape.slice(1, 3), grads.shape.slice(1, 3)];
    const [rows, columns] = bothWeights(p, scale, translation, kind, from, to);
    return { output: weighted(p, grads, p.transpose(rows, [1, 0]), p.transpose(columns, [1, 0])) };
  },
  cases: () => [
    { shape: '[2, 8, 8, 3], [2, ?, 4, 3], [2], [2] -> [2, ?, 4, 3]' },
    {
      given: { grads: picture, original_image: picture, ...same },
      attrs: { kernel_type: 'box' },
      expect: { output: picture },
    },
    { given: { grads: [[[[1], [2], [3], [4]], [[5], [6], [7], [8]]]], original_image: picture, scale: [1, 1.33], translation: [0, 0.1] }, attrs: { kernel_type: 'mitchellcubic' } }, // biome-ignore format: as above
    { given: { grads: [[[[1, 2], [3, 5]]]], original_image: [[[[0, 0], [0, 0], [0, 0]]]], scale: [1, 0.6], translation: [0, 0] } }, // biome-ignore format: as above
    { given: { grads: [[[[1], [2]]]], original_image: picture, scale: [1, -1], translation: [0, 0] }, fails: /Scale must be greater than zero/ }, // biome-ignore format: as above
  ],
});
