/** @file Ops that turn images into the bytes of PNG and JPEG files. */
import * as d from '../../core/dtypes.ts';
import { InternalError, InvalidArgumentError } from '../../core/errors.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { type Shape, showRuntime, sizeOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { encodeJpeg as encodeJpegFile, type JpegEncodeOptions } from '../../io/jpegEncode.ts';
import { encodePng as encodePngFile } from '../../io/png.ts';
import { attr } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import { atLeastRank, ofRank } from '../array/common.ts';
import { randomUniform } from '../random/distributions.ts';
import { stringArray } from '../string/text.ts';
import { convertImageDtype } from './adjust.ts';
import { decodeJpeg } from './decode.ts';
import { grey, small } from './exampleFiles.ts';

const none = gradientPending('TensorFlow has none');
const pixels = (value: number[][][], shape?: readonly number[]) => ({
  dtype: 'uint8' as const,
  value,
  ...(shape && { shape }),
});

export const EncodePng = defineOp({
  name: 'EncodePng',
  inputs: { image: 'T' },
  outputs: { contents: 'string' },
  attrs: {
    compression: attr('int', { default: -1 }),
    T: attr('type', { allowed: [d.uint8, d.uint16], default: d.uint8 }),
  },
  shape: ({ image }) => ({ contents: atLeastRank(image, 3, 'image')?.slice(0, -3) ?? null }),
  grad: none,
  lower(p, { image }, { compression }) {
    const { shape } = image;
    if (compression < -1 || compression > 9) {
      throw new InvalidArgumentError(`compression should be in [-1,9], got ${compression}`);
    }
    if (shape.length < 3) throw new InvalidArgumentError(`images must be at least rank 3${showRuntime(shape)}`);
    const [height, width, channels] = shape.slice(-3) as [number, number, number]; // the last three sizes
    if (channels < 1 || channels > 4) {
      throw new InvalidArgumentError(`image must have 1, 2, 3, or 4 channels, got ${channels}`);
    }
    const batch = shape.slice(0, -3);
    const [contents] = p.host([image], [{ dtype: d.string, shape: batch }], async ([array]) => {
      const { data } = array as NDArray<typeof d.uint8 | typeof d.uint16>; // the types that the op admits
      const count = sizeOf(batch);
      if (count > 0 && (width === 0 || height === 0)) {
        const failed = Array.from({ length: count }, (_, i) => i).join(', ');
        throw new InternalError(`PNG encoding failed at the following flattened batch indices: ${failed}`);
      }
      const size = width * height * channels;
      const samples = data as Uint8Array | Uint16Array; // what arrays of these types hold
      const files = Array.from({ length: count }, (_, i) =>
        encodePngFile({ width, height, channels, data: samples.subarray(i * size, (i + 1) * size) }, { compression }),
      );
      return [stringArray(batch, await Promise.all(files))];
    });
    return { contents: contents! };
  },
  cases: () => [
    { shape: '[2, 3, 1] -> []' },
    { shape: '[5, ?, 2, 3, ?] -> [5, ?]' },
    { shape: '? -> ?' },
    { shape: '[2, 3]', rejects: /image/ },
    {
      given: { image: pixels([[[10], [200]]]) },
      attrs: { compression: 0 },
      expect: { contents: grey },
      unspecified: ['contents'],
    },
    { given: { image: pixels([[[1, 2, 3, 4, 5]]]) }, fails: /image must have 1, 2, 3, or 4 channels, got 5/ },
    {
      given: { image: pixels([[[1]]]) },
      attrs: { compression: 10 },
      fails: /compression should be in \[-1,9\], got 10/,
    },
    {
      given: { image: pixels([], [0, 1, 1]) },
      fails: /PNG encoding failed at the following flattened batch indices: 0/,
    },
  ],
});

/** The bytes of a JPEG file of one image, `[height, width, channels]`. */
async function jpegOf(array: NDArray, options: JpegEncodeOptions): Promise<NDArray> {
  const [height, width, channels] = array.shape as [number, number, number]; // checked before
  if (height === 0 || width === 0) throw new InternalError('JPEG encoding failed');
  return stringArray([], [await encodeJpegFile({ height, width, channels, data: array.bytes }, options)]);
}

function checkImage(shape: Shape): void {
  if (shape.length !== 3) throw new InvalidArgumentError(`image must be 3-dimensional${showRuntime(shape)}`);
  if (shape[2] !== 1 && shape[2] !== 3) {
    throw new InvalidArgumentError(`image must have 1 or 3 channels, got ${showRuntime(shape)}`);
  }
}

function checkQuality(quality: number): void {
  if (quality < 0 || quality > 100) throw new InvalidArgumentError(`quality must be in [0,100], got ${quality}`);
}

export const EncodeJpeg = defineOp({
  name: 'EncodeJpeg',
  inputs: { image: 'uint8' },
  outputs: { contents: 'string' },
  attrs: {
    format: attr('string', { choices: ['', 'grayscale', 'rgb'], default: '' }),
    quality: attr('int', { default: 95 }),
    progressive: attr('bool', { default: false }),
    optimize_size: attr('bool', { default: false }),
    chroma_downsampling: attr('bool', { default: true }),
    density_unit: attr('string', { choices: ['in', 'cm'], default: 'in' }),
    x_density: attr('int', { default: 300 }),
    y_density: attr('int', { default: 300 }),
    xmp_metadata: attr('string', { default: '' }),
  },
  shape({ image }) {
    ofRank(image, 3, 'image');
    return { contents: [] };
  },
  grad: none,
  lower(p, { image }, attrs) {
    const { shape } = image;
    checkQuality(attrs.quality);
    if (attrs.format !== '' && shape.length === 3) {
      const wanted = attrs.format === 'rgb' ? 3 : 1;
      if (shape[2] !== wanted) {
        throw new InvalidArgumentError(`format ${attrs.format} expects ${wanted} channels, got ${showRuntime(shape)}`);
      }
    }
    checkImage(shape);
    const options: JpegEncodeOptions = {
      quality: attrs.quality,
      progressive: attrs.progressive,
      optimizeSize: attrs.optimize_size,
      chromaDownsampling: attrs.chroma_downsampling,
      densityUnit: attrs.density_unit === 'cm' ? 'cm' : 'in',
      xDensity: attrs.x_density,
      yDensity: attrs.y_density,
      xmpMetadata: new TextEncoder().encode(attrs.xmp_metadata),
    };
    const [contents] = p.host([image], [{ dtype: d.string, shape: [] }], async ([array]) => [
      await jpegOf(array!, options),
    ]);
    return { contents: contents! };
  },
  cases: () => [
    { shape: '[2, ?, 3] -> []' },
    { shape: '[2, 3]', rejects: /image/ },
    { given: { image: pixels([[[20], [120]], [[220], [20]]]) }, expect: { contents: small } }, // biome-ignore format: two rows of pixels
    { given: { image: pixels([[[1, 2]]]) }, fails: /image must have 1 or 3 channels, got \[1,1,2\]/ },
    {
      given: { image: pixels([[[1]]]) },
      attrs: { format: 'rgb' },
      fails: /format rgb expects 3 channels, got \[1,1,1\]/,
    },
    { given: { image: pixels([[[1]]]) }, attrs: { quality: 101 }, fails: /quality must be in \[0,100\], got 101/ },
  ],
});

export const EncodeJpegVariableQuality = defineOp({
  name: 'EncodeJpegVariableQuality',
  inputs: { images: 'uint8', quality: 'int32' },
  outputs: { contents: 'string' },
  attrs: {},
  shape({ images, quality }) {
    ofRank(images, 3, 'images');
    ofRank(quality, 0, 'quality');
    return { contents: [] };
  },
  grad: none,
  lower(p, { images, quality }) {
    const [contents] = p.host([images, quality], [{ dtype: d.string, shape: [] }], async ([array, number]) => {
      if (quality.shape.length > 0) {
        throw new InvalidArgumentError(`quality must be scalar: ${showRuntime(quality.shape)}`);
      }
      checkQuality(number!.numberAt(0));
      checkImage(array!.shape);
      return [await jpegOf(array!, { quality: number!.numberAt(0) })];
    });
    return { contents: contents! };
  },
  cases: () => [
    { shape: '[2, ?, 3], [] -> []' },
    {
      given: { images: pixels([[[20], [120]], [[220], [20]]]), quality: { dtype: 'int32', value: 95 } }, // biome-ignore format: two rows of pixels
      expect: { contents: small },
    },
    {
      given: { images: pixels([[[1]]]), quality: { dtype: 'int32', value: -1 } },
      fails: /quality must be in \[0,100\], got -1/,
    },
  ],
});

/**
 * The bytes of a PNG file for an image of type `tf.uint8` or `tf.uint16`, or of one for every image of a batch. Adds one
 * `EncodePng` node.
 *
 * @example tf.image.encodePng(tf.zeros([28, 28, 1], tf.uint8))
 */
export function encodePng(
  image: TensorLike,
  options: { readonly compression?: number | undefined; readonly name?: string | undefined } = {},
): Tensor {
  const { compression = -1, name } = onlyOptions('tf.image.encodePng', options, 'compression', 'name');
  return EncodePng.build({ image: convertToTensor(image) }, { name, attrs: { compression } }).contents;
}

export interface EncodeJpegOptions {
  /** `'grayscale'` or `'rgb'`; as the image has channels unless given. */
  readonly format?: '' | 'grayscale' | 'rgb' | undefined;
  readonly quality?: number | undefined;
  readonly progressive?: boolean | undefined;
  readonly optimizeSize?: boolean | undefined;
  readonly chromaDownsampling?: boolean | undefined;
  readonly densityUnit?: 'in' | 'cm' | undefined;
  readonly xDensity?: number | undefined;
  readonly yDensity?: number | undefined;
  readonly xmpMetadata?: string | undefined;
  readonly name?: string | undefined;
}

/**
 * The bytes of a JPEG file for an image of type `tf.uint8`. Adds one `EncodeJpeg` node.
 *
 * @example tf.image.encodeJpeg(tf.zeros([28, 28, 1], tf.uint8), { quality: 80 })
 */
export function encodeJpeg(image: TensorLike, options: EncodeJpegOptions = {}): Tensor {
  onlyOptions(
    'tf.image.encodeJpeg',
    options,
    ...(['format', 'quality', 'progressive', 'optimizeSize', 'chromaDownsampling', 'densityUnit'] as const),
    ...(['xDensity', 'yDensity', 'xmpMetadata', 'name'] as const),
  );
  const attrs = {
    format: options.format ?? '',
    quality: options.quality ?? 95,
    progressive: options.progressive ?? false,
    optimize_size: options.optimizeSize ?? false,
    chroma_downsampling: options.chromaDownsampling ?? true,
    density_unit: options.densityUnit ?? 'in',
    x_density: options.xDensity ?? 300,
    y_density: options.yDensity ?? 300,
    xmp_metadata: options.xmpMetadata ?? '',
  };
  return EncodeJpeg.build({ image }, { name: options.name, attrs }).contents;
}

export interface AdjustJpegQualityOptions {
  readonly dctMethod?: '' | 'INTEGER_FAST' | 'INTEGER_ACCURATE' | undefined;
  readonly name?: string | undefined;
}

/** An image as it looks after it was stored as a JPEG file of that quality. Adds nodes under `adjust_jpeg_quality/`. */
export function adjustJpegQuality(
  image: TensorLike,
  jpegQuality: number | Tensor,
  options: AdjustJpegQualityOptions = {},
): Tensor {
  onlyOptions('tf.image.adjustJpegQuality', options, 'dctMethod', 'name');
  return nameScope(options.name ?? 'adjust_jpeg_quality', () => {
    const input = convertToTensor(image, { name: 'image' });
    const channels = input.shape?.at(-1) ?? 0;
    const bytes = convertImageDtype(input, d.uint8, { saturate: true });
    const quality = jpegQuality instanceof Tensor ? jpegQuality : convertToTensor(jpegQuality, { dtype: d.int32 });
    const file = EncodeJpegVariableQuality.build({ images: bytes, quality }).contents;
    const decoded = decodeJpeg(file, { channels, dctMethod: options.dctMethod });
    return convertImageDtype(decoded, input.dtype, { saturate: true });
  });
}

/** An image as it looks after it was stored as a JPEG file of a random quality between two. */
export function randomJpegQuality(
  image: TensorLike,
  minJpegQuality: number,
  maxJpegQuality: number,
  options: { readonly seed?: number | undefined } = {},
): Tensor {
  const { seed } = onlyOptions('tf.image.randomJpegQuality', options, 'seed');
  if ([minJpegQuality, maxJpegQuality].some((quality) => quality < 0 || quality > 100)) {
    throw userError('jpeg encoding range must be between 0 and 100.');
  }
  if (minJpegQuality >= maxJpegQuality) throw userError('`min_jpeg_quality` must be less than `max_jpeg_quality`.');
  const quality = randomUniform([], { minval: minJpegQuality, maxval: maxJpegQuality, seed, dtype: d.int32 });
  return adjustJpegQuality(image, quality);
}
