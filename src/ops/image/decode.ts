/** @file Ops that turn the bytes of PNG, JPEG, GIF and BMP files into images. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { intVector, type NDArray } from '../../core/ndarray.ts';
import { type Dims, type Shape, showRuntime } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { jpegSize } from '../../io/jpeg.ts';
import { attr } from '../../op/attrs.ts';
import { int32s } from '../../op/cases.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import { ofRank } from '../array/common.ts';
import { equal } from '../math/compare.ts';
import { substr } from '../string/substr.ts';
import { bytesOf } from '../string/text.ts';
import { convertImageDtype } from './adjust.ts';
import { type DecodeRequest, decodeFile } from './decodeFile.ts';
import { animation, grey, small } from './exampleFiles.ts';

const none = gradientPending('TensorFlow has none');
const channelsAttr = attr('int', { default: 0 });
const jpegAttrs = {
  channels: channelsAttr,
  ratio: attr('int', { default: 1 }),
  fancy_upscaling: attr('bool', { default: true }),
  try_recover_truncated: attr('bool', { default: false }),
  acceptable_fraction: attr('float', { default: 1 }),
  dct_method: attr('string', { default: '' }),
};

/** The last axis of an image with so many channels, 0 for as many as the file has. */
function depth(channels: number): number | null {
  if (channels < 0) throw new InvalidArgumentError(`channels must be non-negative, got ${channels}`);
  return channels || null;
}

function checkChannels(channels: number): void {
  if (![0, 1, 3, 4].includes(channels)) {
    throw new InvalidArgumentError(`\`channels\` must be 0, 1, 3 or 4 but got ${channels}`);
  }
}

function checkContents(shape: Shape): void {
  if (shape.length > 0)
    throw new InvalidArgumentError(`\`contents\` must be scalar but got shape${showRuntime(shape)}`);
}

const still = (contents: Dims, channels: number) => {
  ofRank(contents, 0, 'contents');
  return { image: [null, null, depth(channels)] };
};

interface JpegAttrs {
  readonly channels: number;
  readonly ratio: number;
  readonly fancy_upscaling: boolean;
  readonly try_recover_truncated: boolean;
  readonly dct_method: string;
}

/** How a JPEG file is to be decoded, after TensorFlow's checks. */
function jpegRequest(op: DecodeRequest['op'], attrs: JpegAttrs): DecodeRequest {
  const { channels, ratio, dct_method: method } = attrs;
  checkChannels(channels);
  if (![1, 2, 4, 8].includes(ratio)) throw new InvalidArgumentError(`ratio must be 1, 2, 4, or 8, got ${ratio}`);
  if (!['', 'INTEGER_FAST', 'INTEGER_ACCURATE'].includes(method)) {
    throw new InvalidArgumentError("dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}");
  }
  const jpeg = {
    ratio,
    fancyUpscaling: attrs.fancy_upscaling,
    tryRecoverTruncated: attrs.try_recover_truncated,
    accurate: method === 'INTEGER_ACCURATE',
  };
  return { op, channels, dtype: d.uint8, expandAnimations: true, jpeg };
}

const contentsOf = (array: NDArray | undefined) => bytesOf(array!)[0]!;
const bytes8 = (value: number[][][]) => ({ dtype: 'uint8' as const, value });

export const DecodePng = defineOp({
  name: 'DecodePng',
  inputs: { contents: 'string' },
  outputs: { image: 'dtype' },
  attrs: { channels: channelsAttr, dtype: attr('type', { allowed: [d.uint8, d.uint16], default: d.uint8 }) },
  shape: ({ contents }, { channels }) => still(contents, channels),
  grad: none,
  lower(p, { contents }, { channels, dtype }) {
    checkChannels(channels);
    checkContents(contents.shape);
    const request = { op: 'DecodePng', channels, dtype, expandAnimations: true, jpeg: {} } as const;
    const [image] = p.host([contents], [{ dtype }], async ([file]) => [await decodeFile(contentsOf(file), request)]);
    return { image: image! };
  },
  cases: () => [
    { shape: '[] -> [?, ?, ?]' },
    { shape: '[] -> [?, ?, 3]', attrs: { channels: 3 } },
    { shape: '[1]', rejects: /contents/ },
    { shape: '[]', attrs: { channels: -1 }, rejects: /channels must be non-negative, got -1/ },
    { given: { contents: grey }, expect: { image: bytes8([[[10], [200]]]) } },
    { given: { contents: grey }, attrs: { channels: 3 }, expect: { image: bytes8([[[10, 10, 10], [200, 200, 200]]]) } }, // biome-ignore format: one row of pixels
    { given: { contents: grey }, attrs: { channels: 4 }, expect: { image: bytes8([[[10, 10, 10, 255], [200, 200, 200, 255]]]) } }, // biome-ignore format: as above
    { given: { contents: grey }, attrs: { dtype: d.uint16 }, expect: { image: { dtype: 'uint16', value: [[[2570], [51400]]] } } }, // biome-ignore format: as above
    { given: { contents: grey }, attrs: { channels: 2 }, fails: /`channels` must be 0, 1, 3 or 4 but got 2/ },
    { given: { contents: 'no image' }, fails: /Unknown image file format/ },
    { given: { contents: '' }, fails: /Input is empty/ },
    { given: { contents: animation }, fails: /Got 2 frames, but animated gifs/ },
  ],
});

export const DecodeJpeg = defineOp({
  name: 'DecodeJpeg',
  inputs: { contents: 'string' },
  outputs: { image: 'uint8' },
  attrs: jpegAttrs,
  shape: ({ contents }, { channels }) => still(contents, channels),
  grad: none,
  lower(p, { contents }, attrs) {
    const request = jpegRequest('DecodeJpeg', attrs);
    checkContents(contents.shape);
    const [image] = p.host([contents], [{ dtype: d.uint8 }], async ([file]) => [
      await decodeFile(contentsOf(file), request),
    ]);
    return { image: image! };
  },
  cases: () => [
    { shape: '[] -> [?, ?, ?]' },
    { shape: '[] -> [?, ?, 1]', attrs: { channels: 1 } },
    { given: { contents: small }, expect: { image: bytes8([[[23], [122]], [[220], [22]]]) } }, // biome-ignore format: two rows of pixels
    { given: { contents: small }, attrs: { channels: 3, ratio: 2 }, expect: { image: bytes8([[[95, 95, 95]]]) } },
    { given: { contents: small }, attrs: { ratio: 3 }, fails: /ratio must be 1, 2, 4, or 8, got 3/ },
    { given: { contents: small }, attrs: { dct_method: 'x' }, fails: /dct_method must be one of/ },
    { given: { contents: small }, attrs: { channels: 4 }, fails: /JPEG does not support 4 channels/ },
    { given: { contents: small.subarray(0, 150) }, fails: /jpeg::Uncompress failed. Invalid JPEG data or crop window/ },
  ],
});

export const DecodeAndCropJpeg = defineOp({
  name: 'DecodeAndCropJpeg',
  inputs: { contents: 'string', crop_window: 'int32' },
  outputs: { image: 'uint8' },
  attrs: jpegAttrs,
  hostInputs: ['crop_window'],
  shape({ contents, crop_window }, { channels }, context) {
    ofRank(contents, 0, 'contents');
    const [count] = ofRank(crop_window, 1, 'crop_window');
    if (count !== null && count !== 4) throw new InvalidArgumentError(`crop_window has ${count} numbers; it needs 4.`);
    const known = context.partial('crop_window');
    return { image: [known?.[2] ?? null, known?.[3] ?? null, depth(channels)] };
  },
  grad: none,
  lower(p, { contents, crop_window }, attrs) {
    const request = jpegRequest('DecodeAndCropJpeg', attrs);
    checkContents(contents.shape);
    const shape = crop_window.shape;
    if (shape.length !== 1) throw new InvalidArgumentError(`crop_window must be 1-D, got shape ${showRuntime(shape)}`);
    if (shape[0] !== 4) throw new InvalidArgumentError(`crop_size must have four elements ${showRuntime(shape)}`);
    const [y, x, height, width] = p.demandInts(crop_window);
    const crop = { y: y!, x: x!, height: height!, width: width! };
    const [image] = p.host([contents], [{ dtype: d.uint8 }], async ([file]) => [
      await decodeFile(contentsOf(file), { ...request, jpeg: { ...request.jpeg, crop } }),
    ]);
    return { image: image! };
  },
  cases: () => [
    { shape: '[], [4] -> [?, ?, ?]' },
    { shape: '[], [3]', rejects: /crop_window/ },
    { given: { contents: small, crop_window: int32s([0, 1, 2, 1]) }, expect: { image: bytes8([[[122]], [[22]]]) } },
    { given: { contents: small, crop_window: int32s([0, 1, 2, 2]) }, fails: /Invalid JPEG data or crop window/ },
    { given: { contents: grey, crop_window: int32s([0, 0, 1, 1]) }, fails: /can run on JPEG only, but detected PNG/ },
  ],
});

export const DecodeGif = defineOp({
  name: 'DecodeGif',
  inputs: { contents: 'string' },
  outputs: { image: 'uint8' },
  attrs: {},
  shape({ contents }) {
    ofRank(contents, 0, 'contents');
    return { image: [null, null, null, 3] };
  },
  grad: none,
  lower(p, { contents }) {
    checkContents(contents.shape);
    const request = { op: 'DecodeGif', channels: 3, dtype: d.uint8, expandAnimations: true, jpeg: {} } as const;
    const [image] = p.host([contents], [{ dtype: d.uint8 }], async ([file]) => [
      await decodeFile(contentsOf(file), request),
    ]);
    return { image: image! };
  },
  cases: () => [
    { shape: '[] -> [?, ?, ?, 3]' },
    { given: { contents: animation }, expect: { image: { dtype: 'uint8', value: [[[[9, 8, 7]]], [[[1, 2, 3]]]] } } },
    { given: { contents: grey }, expect: { image: { dtype: 'uint8', value: [[[[10, 10, 10], [200, 200, 200]]]] } } }, // biome-ignore format: one row of pixels
  ],
});

export const DecodeBmp = defineOp({
  name: 'DecodeBmp',
  inputs: { contents: 'string' },
  outputs: { image: 'uint8' },
  attrs: { channels: channelsAttr },
  shape: ({ contents }, { channels }) => still(contents, channels),
  grad: none,
  lower(p, { contents }, { channels }) {
    checkChannels(channels);
    checkContents(contents.shape);
    const request = { op: 'DecodeBmp', channels, dtype: d.uint8, expandAnimations: true, jpeg: {} } as const;
    const [image] = p.host([contents], [{ dtype: d.uint8 }], async ([file]) => [
      await decodeFile(contentsOf(file), request),
    ]);
    return { image: image! };
  },
  cases: () => [
    { shape: '[] -> [?, ?, ?]' },
    { given: { contents: grey }, fails: /Trying to decode PNG format using DecodeBmp op/ },
    { given: { contents: 'BM' }, fails: /Incomplete bmp content, requires at least 32 bytes/ },
    { given: { contents: 'BM' }, attrs: { channels: 1 }, fails: /`channels` must be 0, 3 or 4 for BMP, but got 1/ },
  ],
});

export const DecodeImage = defineOp({
  name: 'DecodeImage',
  inputs: { contents: 'string' },
  outputs: { image: 'dtype' },
  attrs: {
    channels: channelsAttr,
    dtype: attr('type', { allowed: [d.uint8, d.uint16, d.float32], default: d.uint8 }),
    expand_animations: attr('bool', { default: true }),
  },
  shape: ({ contents }, { channels, expand_animations }) => {
    const { image } = still(contents, channels);
    return { image: expand_animations ? null : image };
  },
  grad: none,
  lower(p, { contents }, { channels, dtype, expand_animations: expandAnimations }) {
    checkChannels(channels);
    checkContents(contents.shape);
    const request = { op: 'DecodeImage', channels, dtype, expandAnimations, jpeg: {} } as const;
    const [image] = p.host([contents], [{ dtype }], async ([file]) => [await decodeFile(contentsOf(file), request)]);
    return { image: image! };
  },
  cases: () => [
    { shape: '[] -> ?' },
    { shape: '[] -> [?, ?, 3]', attrs: { channels: 3, expand_animations: false } },
    { given: { contents: small }, attrs: { dtype: d.uint16 }, expect: { image: { dtype: 'uint16', value: [[[5888], [31232]], [[56320], [5632]]] } } }, // biome-ignore format: two rows of pixels
    { given: { contents: animation }, attrs: { expand_animations: false }, expect: { image: bytes8([[[9, 8, 7]]]) } },
    { given: { contents: animation }, attrs: { channels: 1 }, fails: /channels must be 0 or 3 for GIF, got 1/ },
    { given: { contents: grey }, attrs: { dtype: d.float32 }, expect: { image: [[[0.03921569], [0.78431374]]] } },
  ],
});

export const ExtractJpegShape = defineOp({
  name: 'ExtractJpegShape',
  inputs: { contents: 'string' },
  outputs: { image_shape: 'output_type' },
  attrs: { output_type: attr('type', { allowed: [d.int32, d.int64], default: d.int32 }) },
  shape({ contents }) {
    ofRank(contents, 0, 'contents');
    return { image_shape: [3] };
  },
  grad: none,
  lower(p, { contents }, { output_type }) {
    if (contents.shape.length > 0) {
      throw new InvalidArgumentError(`contents must be scalar, got shape ${showRuntime(contents.shape)}`);
    }
    const [image_shape] = p.host([contents], [{ dtype: output_type, shape: [3] }], ([file]) => {
      const bytes = contentsOf(file);
      try {
        const { width, height, channels } = jpegSize(bytes);
        return [intVector([height, width, channels], output_type)];
      } catch (error) {
        throw new InvalidArgumentError(`Invalid JPEG data, size ${bytes.length}`, { cause: error });
      }
    });
    return { image_shape: image_shape! };
  },
  cases: () => [
    { shape: '[] -> [3]' },
    { given: { contents: small }, expect: { image_shape: int32s([2, 2, 1]) } },
    { given: { contents: small }, attrs: { output_type: d.int64 }, expect: { image_shape: { dtype: 'int64', value: [2, 2, 1] } } }, // biome-ignore format: like the others
    { given: { contents: 'x' }, fails: /Invalid JPEG data, size 1/ },
  ],
});

export interface DecodePngOptions {
  /** 1, 3 or 4; as many as the file has unless given. */
  readonly channels?: number | undefined;
  /** `tf.uint8` or `tf.uint16`. */
  readonly dtype?: d.DType | undefined;
  readonly name?: string | undefined;
}

/**
 * The image in the bytes of a PNG file, `[height, width, channels]`. Adds one `DecodePng` node.
 *
 * @example tf.image.decodePng(tf.readFile('digit.png'), { channels: 1 })
 */
export function decodePng(contents: TensorLike, options: DecodePngOptions = {}): Tensor {
  const {
    channels = 0,
    dtype = d.uint8,
    name,
  } = onlyOptions('tf.image.decodePng', options, 'channels', 'dtype', 'name');
  return DecodePng.build({ contents }, { name, attrs: { channels, dtype } }).image;
}

export interface DecodeJpegOptions {
  /** 1 or 3; as many as the file has unless given. */
  readonly channels?: number | undefined;
  /** 1, 2, 4 or 8: how many times smaller the image is to be, which costs much less than making it smaller afterwards. */
  readonly ratio?: number | undefined;
  /** Interpolates colours that are stored with half the resolution. */
  readonly fancyUpscaling?: boolean | undefined;
  /** Leaves what is missing of a file that was cut off grey. */
  readonly tryRecoverTruncated?: boolean | undefined;
  readonly acceptableFraction?: number | undefined;
  readonly dctMethod?: '' | 'INTEGER_FAST' | 'INTEGER_ACCURATE' | undefined;
  readonly name?: string | undefined;
}

const jpegOptionNames = [
  ...(['channels', 'ratio', 'fancyUpscaling', 'tryRecoverTruncated', 'acceptableFraction'] as const),
  ...(['dctMethod', 'name'] as const),
];

function jpegOptions(owner: string, options: DecodeJpegOptions) {
  const { channels, ratio, fancyUpscaling, tryRecoverTruncated, acceptableFraction, dctMethod, name } = onlyOptions(
    owner,
    options,
    ...jpegOptionNames,
  );
  return {
    name,
    attrs: {
      channels: channels ?? 0,
      ratio: ratio ?? 1,
      fancy_upscaling: fancyUpscaling ?? true,
      try_recover_truncated: tryRecoverTruncated ?? false,
      acceptable_fraction: acceptableFraction ?? 1,
      dct_method: dctMethod ?? '',
    },
  };
}

/**
 * The image in the bytes of a JPEG file, `[height, width, channels]`. Adds one `DecodeJpeg` node.
 *
 * @example tf.image.decodeJpeg(tf.readFile('photo.jpg'), { channels: 3, ratio: 2 })
 */
export function decodeJpeg(contents: TensorLike, options: DecodeJpegOptions = {}): Tensor {
  return DecodeJpeg.build({ contents }, jpegOptions('tf.image.decodeJpeg', options)).image;
}

/** A part of a JPEG file: `cropWindow` is its top, left, height and width. Adds one `DecodeAndCropJpeg` node. */
export function decodeAndCropJpeg(
  contents: TensorLike,
  cropWindow: TensorLike,
  options: DecodeJpegOptions = {},
): Tensor {
  const built = jpegOptions('tf.image.decodeAndCropJpeg', options);
  return DecodeAndCropJpeg.build({ contents, crop_window: cropWindow }, built).image;
}

/** The frames of a GIF file, `[frames, height, width, 3]`. Adds one `DecodeGif` node. */
export function decodeGif(contents: TensorLike, options: { readonly name?: string | undefined } = {}): Tensor {
  return DecodeGif.build({ contents }, onlyOptions('tf.image.decodeGif', options, 'name')).image;
}

/** The image in the bytes of a BMP file without compression. Adds one `DecodeBmp` node. */
export function decodeBmp(
  contents: TensorLike,
  options: { readonly channels?: number | undefined; readonly name?: string | undefined } = {},
): Tensor {
  const { channels = 0, name } = onlyOptions('tf.image.decodeBmp', options, 'channels', 'name');
  return DecodeBmp.build({ contents }, { name, attrs: { channels } }).image;
}

export interface DecodeImageOptions {
  readonly channels?: number | undefined;
  /** Any number type; values are scaled as `convertImageDtype` does. */
  readonly dtype?: d.DType | undefined;
  /** Whether animations give all their frames, with one more axis; only the first one where false. */
  readonly expandAnimations?: boolean | undefined;
  readonly name?: string | undefined;
}

/** The image in the bytes of a PNG, JPEG, GIF or BMP file. Adds a `DecodeImage` node under `decode_image/`. */
export function decodeImage(contents: TensorLike, options: DecodeImageOptions = {}): Tensor {
  onlyOptions('tf.image.decodeImage', options, 'channels', 'dtype', 'expandAnimations', 'name');
  const { channels = 0, dtype = d.uint8, expandAnimations = true } = options;
  return nameScope(options.name ?? 'decode_image', () => {
    const isDecoded = dtype === d.uint8 || dtype === d.uint16 || dtype === d.float32;
    const attrs = { channels, dtype: isDecoded ? dtype : d.uint16, expand_animations: expandAnimations };
    const decoded = DecodeImage.build({ contents }, { attrs }).image;
    const image = isDecoded ? decoded : convertImageDtype(decoded, dtype);
    if (!expandAnimations) image.setShape([null, null, channels || null]);
    return image;
  });
}

/** Height, width and channels of a JPEG file, without decoding it. Adds one `ExtractJpegShape` node. */
export function extractJpegShape(
  contents: TensorLike,
  options: { readonly outputType?: d.DType | undefined; readonly name?: string | undefined } = {},
): Tensor {
  const { outputType = d.int32, name } = onlyOptions('tf.image.extractJpegShape', options, 'outputType', 'name');
  return ExtractJpegShape.build({ contents }, { name, attrs: { output_type: outputType } }).image_shape;
}

/** Whether some bytes begin as a JPEG file does. Adds a `Substr` and an `Equal` node under `is_jpeg/`. */
export function isJpeg(contents: TensorLike, options: { readonly name?: string | undefined } = {}): Tensor {
  const { name } = onlyOptions('tf.image.isJpeg', options, 'name');
  return nameScope(name ?? 'is_jpeg', () => {
    const start = substr(contents, 0, 3);
    return equal(start, Uint8Array.of(0xff, 0xd8, 0xff), { name });
  });
}
