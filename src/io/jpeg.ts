/** @file JPEG files: read with the results of libjpeg, sequential and progressive, at full size or scaled down. */
import { InvalidArgumentError } from '../core/errors.ts';
import { type ColourSpace, convertRow, type Plane, rowReader } from './image/jpegColours.ts';
import { invalidJpeg, type JpegFrame, JpegReader } from './image/jpegFrame.ts';
import { OutOfBytes } from './image/jpegHuffman.ts';
import { accurateQuantization, fastQuantization, transformOfSize } from './image/jpegIdct.ts';
import { type Coefficients, readScan } from './image/jpegScan.ts';
import { checkResult, nativeCodecs } from './image/nativeCodecs.ts';
import { largestImage, type Pixels, unfilled } from './image/pixels.ts';

/** What a decoder is asked for. */
export interface JpegOptions {
  /** 1 or 3, or 0 for as many as the file has. */
  readonly channels?: number;
  /** 1, 2, 4 or 8: how many times smaller the image is to be. */
  readonly ratio?: number;
  /** Whether smaller planes of colour are interpolated; true unless given. */
  readonly fancyUpscaling?: boolean;
  /** Whether what is missing of a file that was cut off is left grey; false unless given. */
  readonly tryRecoverTruncated?: boolean;
  /** Whether the accurate transform is used instead of the fast one. */
  readonly accurate?: boolean;
  /** The part of the image that is wanted. */
  readonly crop?: { readonly y: number; readonly x: number; readonly height: number; readonly width: number };
}

/** Whether some bytes begin as a JPEG file does. */
export function isJpeg(bytes: Uint8Array): boolean {
  return bytes.length >= 3 && bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff;
}

/** Size and number of channels of a JPEG file, from its first markers. */
export function jpegSize(bytes: Uint8Array): { width: number; height: number; channels: number } {
  const reader = new JpegReader(bytes);
  const { width, height, components } = reader.readFrame();
  return { width, height, channels: components.length };
}

function colourSpace(reader: JpegReader, frame: JpegFrame): ColourSpace {
  const { adobeTransform, hasJfif } = reader;
  const ids = frame.components.map(({ id }) => id).join();
  if (frame.components.length === 1) return 'grey';
  if (frame.components.length === 4) return adobeTransform === undefined || adobeTransform === 0 ? 'CMYK' : 'YCCK';
  if (frame.components.length !== 3) throw invalidJpeg('it has two components.');
  if (hasJfif) return 'YCbCr';
  if (adobeTransform !== undefined) return adobeTransform === 0 ? 'RGB' : 'YCbCr';
  return ids === '82,71,66' ? 'RGB' : 'YCbCr';
}

/**
 * A block takes a bit at least, so a file too short for its claimed size is known before any memory is taken; it would have to
 * be cut off, or nearly all grey.
 */
function checkSize(reader: JpegReader, frame: JpegFrame, ratio: number, recover: boolean): void {
  const { width, height, components } = frame;
  if (Math.ceil(width / ratio) * Math.ceil(height / ratio) * components.length >= largestImage) {
    throw invalidJpeg(`the image of ${width} by ${height} is too large.`);
  }
  const blocks = components.reduce((sum, c) => sum + c.ownAcross * c.ownDown, 0);
  if (!recover && blocks > reader.bytes.length * 8) throw invalidJpeg('it has fewer pixels than it says.');
}

/** The pixels of a JPEG file; decoded beside the event loop where the native library is there. */
export async function decodeJpeg(bytes: Uint8Array, options: JpegOptions = {}): Promise<Pixels<Uint8Array>> {
  const native = nativeCodecs();
  if (!native) return decodeJpegHere(bytes, options);
  const { ratio = 1, fancyUpscaling = true, tryRecoverTruncated = false, accurate = false } = options;
  const reader = new JpegReader(bytes);
  const frame = reader.readFrame();
  checkSize(reader, frame, ratio, tryRecoverTruncated);
  const channels = options.channels || Math.min(frame.components.length, 3);
  const crop = cropOf(frame, ratio, options);
  const data = unfilled(crop.width * crop.height * channels);
  const switches = [fancyUpscaling, tryRecoverTruncated, accurate].map(Number);
  const wanted = Int32Array.from([channels, ratio, ...switches, crop.y, crop.x, crop.height, crop.width]);
  checkResult(await native.jpeg(bytes, [wanted], data), invalidJpeg);
  return { width: crop.width, height: crop.height, channels, data };
}

/** The part that is wanted; all of the image unless one is given. */
function cropOf(frame: JpegFrame, ratio: number, options: JpegOptions): NonNullable<JpegOptions['crop']> {
  const [width, height] = [Math.ceil(frame.width / ratio), Math.ceil(frame.height / ratio)];
  const crop = options.crop ?? { x: 0, y: 0, width, height };
  const isInside = crop.x >= 0 && crop.y >= 0 && crop.x + crop.width <= width && crop.y + crop.height <= height;
  if (crop.width < 1 || crop.height < 1 || !isInside) {
    throw new InvalidArgumentError(
      `Invalid crop window: x=${crop.x}, y=${crop.y}, w=${crop.width}, h=${crop.height} for image_width: ${width} and image_height: ${height}`,
    );
  }
  return crop;
}

/** The pixels of a JPEG file, at once. */
export function decodeJpegHere(bytes: Uint8Array, options: JpegOptions = {}): Pixels<Uint8Array> {
  const { ratio = 1, fancyUpscaling = true, tryRecoverTruncated = false, accurate = false } = options;
  const reader = new JpegReader(bytes);
  const frame = reader.readFrame();
  checkSize(reader, frame, ratio, tryRecoverTruncated);
  const space = colourSpace(reader, frame);
  const channels = options.channels || Math.min(frame.components.length, 3);
  if (channels === 1 && frame.components.length === 4) throw invalidJpeg('four inks are not turned into grey.');
  const coefficients = readScans(reader, frame, tryRecoverTruncated);
  const planes = transformPlanes(reader, frame, coefficients, ratio, accurate);
  const width = Math.ceil(frame.width / ratio);
  const crop = cropOf(frame, ratio, options);
  const data = new Uint8Array(crop.width * crop.height * channels);
  const used = channels === 1 && space !== 'RGB' ? planes.slice(0, 1) : planes;
  const fancy = fancyUpscaling && ratio < 8;
  const readers = used.map((plane) => rowReader(plane, width, fancy));
  const rows = used.map((plane) => new Uint8Array(Math.max(width, plane.width * plane.across) + 1));
  for (let y = 0; y < crop.height; y++) {
    for (const [i, read] of readers.entries()) read(crop.y + y, rows[i]!);
    const parts = crop.x === 0 ? rows : rows.map((row) => row.subarray(crop.x));
    convertRow(
      space,
      channels,
      reader.adobeTransform !== undefined,
      parts,
      data,
      y * crop.width * channels,
      crop.width,
    );
  }
  return { width: crop.width, height: crop.height, channels, data };
}

function readScans(reader: JpegReader, frame: JpegFrame, recover: boolean): readonly Coefficients[] {
  const planes = frame.components.map((c) => new Int16Array(c.blocksAcross * c.blocksDown * 64));
  let scans = 0;
  try {
    for (let scan = reader.nextScan(); scan; scan = reader.nextScan()) {
      readScan(reader, frame, scan, planes, recover);
      scans++;
      if (recover && reader.at >= reader.bytes.length) break;
    }
  } catch (error) {
    const wasCut = error instanceof OutOfBytes || (recover && error instanceof InvalidArgumentError && scans > 0);
    if (!wasCut) throw error;
    if (!recover) throw invalidJpeg('the file ends inside its pixels.');
  }
  if (scans === 0 && !recover) throw invalidJpeg('it has no pixels.');
  return planes;
}

/**
 * The samples of every component. Where the image is made smaller, components that have fewer samples than others are made
 * smaller by less, which saves stretching them.
 */
function transformPlanes(
  reader: JpegReader,
  frame: JpegFrame,
  coefficients: readonly Coefficients[],
  ratio: number,
  accurate: boolean,
): readonly Plane[] {
  const smallest = 8 / ratio;
  return frame.components.map((component, index) => {
    let size = smallest;
    const isWhole = (samples: number, most: number) => (most * smallest) % (samples * size * 2) === 0;
    while (size < 8 && isWhole(component.h, frame.maxH) && isWhole(component.v, frame.maxV)) size *= 2;
    const [across, down] = [
      (frame.maxH * smallest) / (component.h * size),
      (frame.maxV * smallest) / (component.v * size),
    ];
    if (!Number.isInteger(across) || !Number.isInteger(down))
      throw invalidJpeg('its components have sizes that do not divide.');
    const table = reader.quantTables[component.quantTable];
    if (!table) throw invalidJpeg('a quantization table is missing.');
    const isFast = size === 8 && !accurate;
    const transform = transformOfSize(size, isFast);
    const quantization = isFast ? fastQuantization(table) : accurateQuantization(table);
    const stride = component.blocksAcross * size;
    const data = new Uint8Array(stride * component.blocksDown * size);
    for (let y = 0; y < component.blocksDown; y++) {
      for (let x = 0; x < component.blocksAcross; x++) {
        const block = (y * component.blocksAcross + x) * 64;
        transform(coefficients[index]!, block, quantization, data, y * size * stride + x * size, stride);
      }
    }
    const scaled = (length: number, samples: number, most: number) => Math.ceil((length * samples * size) / (most * 8));
    const [width, height] = [
      scaled(frame.width, component.h, frame.maxH),
      scaled(frame.height, component.v, frame.maxV),
    ];
    return { data, stride, width, height, across, down };
  });
}
