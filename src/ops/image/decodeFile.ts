/** @file What all decoding ops do at run time: find out what kind of file some bytes are, and decode it. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import type { Shape } from '../../core/shape.ts';
import { decodeBmp, isBmp } from '../../io/bmp.ts';
import { decodeGif, isGif } from '../../io/gif.ts';
import { decodeJpeg, isJpeg, type JpegOptions } from '../../io/jpeg.ts';
import { decodePng, isPng } from '../../io/png.ts';

/** What an op asks for. */
export interface DecodeRequest {
  /** The op, which decides what kinds of files it takes and what shape it gives. */
  readonly op: 'DecodeJpeg' | 'DecodeAndCropJpeg' | 'DecodePng' | 'DecodeGif' | 'DecodeBmp' | 'DecodeImage';
  readonly channels: number;
  readonly dtype: d.DType;
  readonly expandAnimations: boolean;
  readonly jpeg: JpegOptions;
}

type Kind = 'JPEG' | 'PNG' | 'GIF' | 'BMP';

function kindOf(bytes: Uint8Array): Kind {
  if (bytes.length === 0) throw new InvalidArgumentError('Input is empty.');
  if (isJpeg(bytes)) return 'JPEG';
  if (isPng(bytes)) return 'PNG';
  if (isGif(bytes)) return 'GIF';
  if (isBmp(bytes)) return 'BMP';
  throw new InvalidArgumentError('Unknown image file format. One of JPEG, JPEG XL, PNG, GIF, BMP, WebP required.');
}

/** Which op takes which kind of file is TensorFlow's choice: all but BMP are taken by most. */
function checkKind(op: DecodeRequest['op'], kind: Kind): void {
  if (op === 'DecodeAndCropJpeg' && kind !== 'JPEG') {
    throw new InvalidArgumentError(`DecodeAndCropJpeg operation can run on JPEG only, but detected ${kind}.`);
  }
  if (op === 'DecodeBmp' && kind !== 'BMP') {
    const better = `decode_${kind.toLowerCase()}`;
    throw new InvalidArgumentError(
      `Trying to decode ${kind} format using DecodeBmp op. Use \`${better}\` or \`decode_image\` instead.`,
    );
  }
  if (kind === 'BMP' && op !== 'DecodeBmp' && op !== 'DecodeImage') {
    throw new InvalidArgumentError(
      `Trying to decode BMP format using a wrong op. Use \`decode_bmp\` or \`decode_image\` instead. Op used: ${op}`,
    );
  }
}

/** The image in some bytes as an array of the type that is asked for. */
export async function decodeFile(bytes: Uint8Array, request: DecodeRequest): Promise<NDArray> {
  const { op, channels } = request;
  const kind = kindOf(bytes);
  if (kind === 'JPEG' && channels === 4) throw new InvalidArgumentError('JPEG does not support 4 channels');
  if (kind === 'GIF' && channels !== 0 && channels !== 3) {
    throw new InvalidArgumentError(`channels must be 0 or 3 for GIF, got ${channels}`);
  }
  if (kind === 'BMP' && channels === 1) {
    throw new InvalidArgumentError(`\`channels\` must be 0, 3 or 4 for BMP, but got ${channels}`);
  }
  checkKind(op, kind);
  if (kind === 'GIF') return decodeFrames(bytes, request);
  const image = await decodeStill(bytes, kind, request);
  const shape = [image.height, image.width, image.channels];
  return convert(op === 'DecodeGif' ? [1, ...shape] : shape, image.data, request.dtype);
}

async function decodeStill(bytes: Uint8Array, kind: Exclude<Kind, 'GIF'>, { channels, dtype, jpeg }: DecodeRequest) {
  if (kind === 'PNG') return decodePng(bytes, { channels, bits: dtype === d.uint8 ? 8 : 16 });
  if (kind === 'BMP') return decodeBmp(bytes, channels);
  try {
    return await decodeJpeg(bytes, { ...jpeg, channels });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new InvalidArgumentError(`jpeg::Uncompress failed. Invalid JPEG data or crop window. ${why}`, {
      cause: error,
    });
  }
}

async function decodeFrames(bytes: Uint8Array, { op, dtype, expandAnimations }: DecodeRequest): Promise<NDArray> {
  const { count, width, height, data } = await decodeGif(bytes, expandAnimations);
  const asStill = op === 'DecodePng' || op === 'DecodeJpeg';
  if (asStill && count !== 1) {
    throw new InvalidArgumentError(
      `Got ${count} frames, but animated gifs can only be decoded by tf.io.decode_gif or tf.io.decode_image`,
    );
  }
  const still = asStill || !expandAnimations;
  return convert(still ? [height, width, 3] : [count, height, width, 3], data, dtype);
}

/** Samples in another type: 8 bits become 16 by a factor of 256, floats lie between 0 and 1. */
function convert(shape: Shape, data: Uint8Array | Uint16Array, dtype: d.DType): NDArray {
  const wide = data instanceof Uint16Array;
  if (dtype === d.float32) {
    const scale = Math.fround(1 / (wide ? 65535 : 255));
    return new NDArray(
      dtype,
      shape,
      Float32Array.from(data, (value) => value * scale),
    );
  }
  if (dtype === d.uint16 && !wide)
    return new NDArray(
      dtype,
      shape,
      Uint16Array.from(data, (value) => value * 256),
    );
  return new NDArray(dtype, shape, data);
}
