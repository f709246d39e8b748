/** @file PNG files: read (every colour kind, depth and interlacing) and written (8 and 16 bits, 1 to 4 channels). */
import { promisify } from 'node:util';
import { deflate, inflate } from 'node:zlib';
import { InvalidArgumentError } from '../core/errors.ts';
import { crc32 } from './image/crc32.ts';
import { checkResult, nativeCodecs } from './image/nativeCodecs.ts';
import { largestImage, type Pixels, sampleCount } from './image/pixels.ts';
import { filterRows, unfilter } from './image/pngFilters.ts';
import {
  convertSamples,
  naturalChannels,
  type PngHeader,
  type PngTables,
  samplesPerPixel,
} from './image/pngSamples.ts';

const inflateLater = promisify(inflate);
const deflateLater = promisify(deflate);

const signature = [137, 80, 78, 71, 13, 10, 26, 10];

/** Deflate makes at most this many bytes of one, so a file too short for its claimed size is known before any memory is taken. */
const largestExpansion = 1032;

/** The first column and row, and the steps to the next ones, of the seven passes of an interlaced image. */
const passes = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

/** Whether some bytes begin as a PNG file does. */
export function isPng(bytes: Uint8Array): boolean {
  return bytes.length >= 8 && signature.every((value, i) => bytes[i] === value);
}

interface PngFile {
  readonly header: PngHeader;
  readonly tables: PngTables;
  /** The compressed rows, in pieces. */
  readonly pieces: readonly Uint8Array[];
}

/** A file that is not one, in the words of TensorFlow's kernel and with the reason. */
const invalid = (why: string) => new InvalidArgumentError(`Invalid PNG. Failed to initialize decoder. ${why}`);
const broken = (bytes: Uint8Array, why: string, cause?: unknown) =>
  new InvalidArgumentError(`Invalid PNG data, size ${bytes.length}: ${why}`, { cause });

/** Takes a file apart; nothing is decompressed yet, and checksums are left to the decoder unless they are asked for. */
function readChunks(bytes: Uint8Array, checksums: boolean): PngFile {
  if (!isPng(bytes)) throw invalid('The bytes do not begin with its signature.');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let header: PngHeader | undefined;
  let palette: Uint8Array | undefined;
  let transparency: Uint8Array | undefined;
  const parts: Uint8Array[] = [];
  for (let at = 8; ; ) {
    if (at + 12 > bytes.length) throw broken(bytes, 'the file ends before its last chunk.');
    const length = view.getUint32(at);
    const end = at + 8 + length;
    if (end + 4 > bytes.length) throw broken(bytes, 'the file ends inside a chunk.');
    const kind = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    const body = bytes.subarray(at + 8, end);
    const needed = kind === 'IHDR' || kind === 'PLTE' || kind === 'IDAT' || kind === 'IEND' || kind === 'tRNS';
    const intact = !checksums || crc32(bytes, at + 4, end) === view.getUint32(end);
    if (!intact && needed && kind !== 'tRNS') throw invalid(`The checksum of chunk ${kind} is wrong.`);
    if (!header && kind !== 'IHDR') throw invalid('The first chunk is not IHDR.');
    if (kind === 'IHDR') header = readHeader(body, header);
    else if (kind === 'PLTE') palette = body;
    else if (kind === 'tRNS' && intact) transparency = body;
    else if (kind === 'IDAT') parts.push(body);
    else if (kind === 'IEND') break;
    // A chunk whose name begins with a capital letter may not be passed over.
    else if (!needed && kind < 'a') throw invalid(`The chunk ${JSON.stringify(kind)} is not known.`);
    at = end + 4;
  }
  if (!header) throw invalid('It has no header.');
  if (parts.length === 0) throw broken(bytes, 'it has no pixels.');
  if (header.colour === 3 && !palette) throw invalid('Its palette is missing.');
  if (header.colour === 4 || header.colour === 6) transparency = undefined;
  if (transparency && header.colour !== 3 && transparency.length < 2 * samplesPerPixel[header.colour]!) {
    transparency = undefined;
  }
  return { header, tables: { palette, transparency }, pieces: parts };
}

function readHeader(body: Uint8Array, before: PngHeader | undefined): PngHeader {
  if (before || body.length !== 13) throw invalid('Its header is not one of 13 bytes.');
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const [width, height] = [view.getUint32(0), view.getUint32(4)];
  const [depth, colour, compression, filter, interlace] = body.subarray(8);
  const depths = { 0: [1, 2, 4, 8, 16], 2: [8, 16], 3: [1, 2, 4, 8], 4: [8, 16], 6: [8, 16] }[colour!];
  if (!depths?.includes(depth!)) throw invalid(`Colour kind ${colour} with ${depth} bits does not exist.`);
  if (compression !== 0 || filter !== 0 || interlace! > 1) throw invalid('Its header names methods that do not exist.');
  if (width === 0 || height === 0 || width > 0x7fffffff || height > 0x7fffffff) {
    throw invalid(`Its size is ${width} by ${height}.`);
  }
  return { width, height, depth: depth!, colour: colour!, interlaced: interlace === 1 };
}

/** The parts of an image that are filtered on their own: all of it, or the passes of an interlaced one. */
function partsOf({ width, height, interlaced }: PngHeader) {
  if (!interlaced) return [{ left: 0, top: 0, right: 1, down: 1, columns: width, rows: height }];
  return passes
    .map(([left, top, right, down]) => {
      const [columns, rows] = [Math.ceil((width - left) / right), Math.ceil((height - top) / down)];
      return { left, top, right, down, columns, rows };
    })
    .filter(({ columns, rows }) => columns > 0 && rows > 0);
}

async function decompress(file: Uint8Array, compressed: Uint8Array, size: number): Promise<Uint8Array> {
  try {
    // One byte over: a stream with more than that is cut off by zlib instead of filling the memory.
    const raw = await inflateLater(compressed, { maxOutputLength: size + 1, chunkSize: Math.min(size + 64, 1 << 20) });
    if (raw.length >= size) return raw;
  } catch (error) {
    throw broken(file, 'its pixels cannot be decompressed.', error);
  }
  throw broken(file, 'it has fewer rows than its header says.');
}

/** One number per sample, out of rows that are packed at the file's depth. */
function unpackSamples(header: PngHeader, raw: Uint8Array): Uint8Array | Uint16Array {
  const { width, height, depth, colour } = header;
  const perPixel = samplesPerPixel[colour]!;
  const step = Math.max(1, (perPixel * depth) >> 3);
  const total = width * height * perPixel;
  const samples = depth === 16 ? new Uint16Array(total) : new Uint8Array(total);
  let at = 0;
  for (const { left, top, right, down, columns, rows } of partsOf(header)) {
    const rowBytes = Math.ceil((columns * perPixel * depth) / 8);
    const begin = at;
    at = unfilter(raw, begin, rows, rowBytes, step);
    for (let y = 0; y < rows; y++) {
      const row = begin + y * (rowBytes + 1) + 1;
      const target = ((top + y * down) * width + left) * perPixel;
      if (depth === 8 && right === 1) {
        samples.set(raw.subarray(row, row + rowBytes), target);
        continue;
      }
      for (let x = 0; x < columns; x++) {
        for (let c = 0; c < perPixel; c++) {
          const i = x * perPixel + c;
          let value: number;
          if (depth === 8) value = raw[row + i]!;
          else if (depth === 16) value = (raw[row + 2 * i]! << 8) | raw[row + 2 * i + 1]!;
          else value = (raw[row + ((i * depth) >> 3)]! >> (8 - depth - ((i * depth) & 7))) & (2 ** depth - 1);
          samples[target + x * right * perPixel + c] = value;
        }
      }
    }
  }
  return samples;
}

/** What a decoder is asked for. */
export interface PngOptions {
  /** 1 to 4, or 0 for as many as the file has. */
  readonly channels?: number;
  /** 8 or 16 bits a sample; without it, as many as the file has and at least 8. */
  readonly bits?: 8 | 16;
}

/** What is to be made of a file, once it is known that there can be as many rows as its header says. */
function planOf(bytes: Uint8Array, { header, tables, pieces }: PngFile, options: PngOptions) {
  const { width, height, depth } = header;
  const channels = options.channels || naturalChannels(header, tables);
  const perPixel = samplesPerPixel[header.colour]!;
  if (width * height >= largestImage) {
    throw new InvalidArgumentError(`PNG size too large for int: ${width} by ${height}`);
  }
  sampleCount('PNG', width, height, Math.max(channels, perPixel));
  const size = partsOf(header).reduce(
    (sum, { columns, rows }) => sum + rows * (1 + Math.ceil((columns * perPixel * depth) / 8)),
    0,
  );
  const compressed = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (compressed * largestExpansion < size) throw broken(bytes, 'it has fewer rows than its header says.');
  const bits: 8 | 16 = options.bits ?? (depth === 16 ? 16 : 8);
  return { channels, bits, size };
}

/** The pixels of a PNG file; decoded beside the event loop, by the native library where it is there. */
export async function decodePng(bytes: Uint8Array, options: PngOptions = {}): Promise<Pixels> {
  const native = nativeCodecs();
  if (!native) return decodePngHere(bytes, options);
  const file = readChunks(bytes, false);
  const { width, height } = file.header;
  const { channels, bits } = planOf(bytes, file, options);
  const data = new (bits === 16 ? Uint16Array : Uint8Array)(width * height * channels);
  checkResult(await native.png(bytes, [channels, bits], data), (why) => broken(bytes, why));
  return { width, height, channels, data };
}

/** The pixels of a PNG file by TypeScript alone; only decompression runs beside the event loop. */
export async function decodePngHere(bytes: Uint8Array, options: PngOptions = {}): Promise<Pixels> {
  const file = readChunks(bytes, true);
  const { header, tables, pieces } = file;
  const { channels, bits, size } = planOf(bytes, file, options);
  const raw = await decompress(bytes, pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces), size);
  return convertSamples(header, tables, unpackSamples(header, raw), channels, bits);
}

function chunk(kind: string, body: Uint8Array): Uint8Array {
  const out = new Uint8Array(body.length + 12);
  const view = new DataView(out.buffer);
  view.setUint32(0, body.length);
  for (let i = 0; i < 4; i++) out[4 + i] = kind.charCodeAt(i);
  out.set(body, 8);
  view.setUint32(8 + body.length, crc32(out, 4, 8 + body.length));
  return out;
}

/** The bytes of a PNG file; `compression` is zlib's level, 0 to 9, or -1 for its default. */
export async function encodePng(pixels: Pixels, options: { compression?: number } = {}): Promise<Uint8Array> {
  const { width, height, channels, data } = pixels;
  const colour = [0, 4, 2, 6][channels - 1];
  if (colour === undefined) throw new InvalidArgumentError(`image must have 1, 2, 3, or 4 channels, got ${channels}`);
  if (sampleCount('PNG', width, height, channels) !== data.length) {
    throw new InvalidArgumentError(
      `An image of ${width} by ${height} pixels with ${channels} channels has ${width * height * channels} samples; ` +
        `the data has ${data.length}.`,
    );
  }
  const wide = data instanceof Uint16Array;
  const header = new Uint8Array(13);
  const view = new DataView(header.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  header.set([wide ? 16 : 8, colour], 8);
  const step = channels * (wide ? 2 : 1);
  const rows = wide ? bigEndian(data) : data;
  const filtered = await filterRows(rows, height, width * step, step);
  const compressed = await deflateLater(filtered, { level: options.compression ?? -1 });
  const chunks = [chunk('IHDR', header), chunk('IDAT', compressed), chunk('IEND', new Uint8Array(0))];
  const file = Buffer.concat([new Uint8Array(signature), ...chunks]);
  return new Uint8Array(file.buffer, file.byteOffset, file.length);
}

function bigEndian(data: Uint16Array): Uint8Array {
  const bytes = new Uint8Array(data.length * 2);
  for (let i = 0; i < data.length; i++) {
    bytes[2 * i] = data[i]! >> 8;
    bytes[2 * i + 1] = data[i]! & 255;
  }
  return bytes;
}
