/** @file JPEG files are written: sequential or progressive, with the coefficients that libjpeg computes. */
import { InvalidArgumentError } from '../core/errors.ts';
import { BitWriter, putAc, putDc, SymbolCounter, type SymbolSink } from './image/jpegBits.ts';
import { transformBlock } from './image/jpegFdct.ts';
import { zigzag } from './image/jpegFrame.ts';
import {
  chrominanceQuantization,
  type HuffmanCode,
  luminanceQuantization,
  scaledQuantization,
  standardCodes,
} from './image/jpegTables.ts';
import { nativeJpegWork } from './image/nativeJpegWork.ts';
import { largestImage, type Pixels } from './image/pixels.ts';

export interface JpegEncodeOptions {
  /** 0 to 100; 95 unless given. */
  readonly quality?: number;
  readonly progressive?: boolean;
  /** Whether codes are made to measure. */
  readonly optimizeSize?: boolean;
  /** Whether colours have half the resolution; true unless given. */
  readonly chromaDownsampling?: boolean;
  readonly densityUnit?: 'in' | 'cm';
  readonly xDensity?: number;
  readonly yDensity?: number;
  /** Metadata in Adobe's format, put into the file as it is. */
  readonly xmpMetadata?: Uint8Array;
}

/** The heavy parts of the work: done at once, or promised. */
export interface JpegWork {
  components(pixels: Pixels<Uint8Array>, plans: readonly ComponentPlan[]): Component[] | Promise<Component[]>;
  /** The symbols of a scan. */
  count(plan: ScanPlan): SymbolCounter | Promise<SymbolCounter>;
  /** The bytes of a scan. */
  write(out: BitWriter, plan: ScanPlan): void | Promise<void>;
}

/** How many blocks a component has, by itself and in whole units. */
export interface ComponentPlan {
  readonly channel: number;
  readonly sampling: number;
  /** The highest sampling of all components. */
  readonly most: number;
  readonly across: number;
  readonly down: number;
  readonly ownAcross: number;
  readonly ownDown: number;
  readonly quantization: Uint16Array;
  /** Quantization and Huffman tables: 0 for brightness, 1 for colours. */
  readonly tables: 0 | 1;
}

/** A component with its coefficients, padded to whole units with blocks that only repeat the mean before them. */
export interface Component extends ComponentPlan {
  readonly coefficients: Int16Array;
}

/** A scan of these components, in units if it has more than one of them. */
export interface ScanPlan {
  readonly components: readonly Component[];
  readonly first: number;
  readonly last: number;
  readonly unitsAcross: number;
  readonly unitsDown: number;
}

/** A scan: all components' means, or some coefficients of one component, or everything. */
interface Scan {
  readonly components: readonly number[];
  readonly first: number;
  readonly last: number;
}

/** The bytes of a JPEG file with 1 or 3 channels; made beside the event loop where the native library is there. */
export async function encodeJpeg(pixels: Pixels<Uint8Array>, options: JpegEncodeOptions = {}): Promise<Uint8Array> {
  const encoder = encoding(pixels, options, nativeJpegWork() ?? workHere);
  let step = encoder.next();
  while (!step.done) step = encoder.next((await step.value) as never); // it gets back what it gave
  return step.value;
}

/** The bytes of a JPEG file, at once. */
export function encodeJpegHere(pixels: Pixels<Uint8Array>, options: JpegEncodeOptions = {}): Uint8Array {
  const encoder = encoding(pixels, options, workHere);
  let step = encoder.next();
  while (!step.done) step = encoder.next(step.value as never); // as above, and nothing is promised here
  return step.value;
}

/** Writes a file. Gives what the heavy work gives, and wants it back when it is there. */
function* encoding(
  pixels: Pixels<Uint8Array>,
  options: JpegEncodeOptions,
  work: JpegWork,
): Generator<unknown, Uint8Array, never> {
  const { width, height, channels } = pixels;
  const { quality = 95, progressive = false, optimizeSize = false, chromaDownsampling = true } = options;
  if (channels !== 1 && channels !== 3)
    throw new InvalidArgumentError(`image must have 1 or 3 channels, got ${channels}`);
  if (width < 1 || height < 1 || width > 65500 || height > 65500 || width * height >= largestImage) {
    throw new InvalidArgumentError(`An image of ${width} by ${height} cannot be a JPEG file.`);
  }
  const tables = [luminanceQuantization, chrominanceQuantization].map((base) => scaledQuantization(base, quality));
  const plans = componentPlans(pixels, chromaDownsampling, tables);
  const components: readonly Component[] = yield work.components(pixels, plans);
  const out = new BitWriter();
  out.marker(0xd8);
  const { densityUnit = 'in', xDensity = 300, yDensity = 300, xmpMetadata } = options;
  const words = (...values: number[]) => values.flatMap((value) => [(value >> 8) & 255, value & 255]);
  const text = (value: string) => [...Buffer.from(value, 'latin1')];
  out.marker(0xe0, [...text('JFIF\0\x01\x01'), densityUnit === 'in' ? 1 : 2, ...words(xDensity, yDensity), 0, 0]);
  if (xmpMetadata?.length) out.marker(0xe1, [...text('http://ns.adobe.com/xap/1.0/\0'), ...xmpMetadata]);
  const used = channels === 1 ? 1 : 2;
  for (let i = 0; i < used; i++)
    out.marker(0xdb, [i, ...Array.from({ length: 64 }, (_, k) => tables[i]![zigzag[k]!]!)]);
  const described = components.flatMap(({ sampling, tables: table }, i) => [i + 1, sampling * 17, table]);
  out.marker(progressive ? 0xc2 : 0xc0, [8, ...words(height, width), channels, ...described]);
  const most = components[0]!.sampling;
  const [unitsAcross, unitsDown] = [Math.ceil(width / (8 * most)), Math.ceil(height / (8 * most))];
  for (const scan of scansOf(channels, progressive)) {
    const parts = scan.components.map((i) => components[i]!);
    const plan: ScanPlan = { ...scan, components: parts, unitsAcross, unitsDown };
    const counter: SymbolCounter | undefined = progressive || optimizeSize ? yield work.count(plan) : undefined;
    putCodes(out, scan, used, counter);
    const named = scan.components.flatMap((i) => [i + 1, components[i]!.tables * 17]);
    out.marker(0xda, [scan.components.length, ...named, scan.first, scan.last, 0]);
    yield work.write(out, plan);
  }
  out.marker(0xd9);
  return out.result();
}

/** Everything at once, or first the means, then the coarse details of the brightness, the colours and the rest. */
function scansOf(channels: number, progressive: boolean): readonly Scan[] {
  const all = channels === 1 ? [0] : [0, 1, 2];
  if (!progressive) return [{ components: all, first: 0, last: 63 }];
  const colours = channels === 1 ? [] : [1, 2].map((i) => ({ components: [i], first: 1, last: 63 }));
  const [coarse, fine] = [
    { components: [0], first: 1, last: 5 },
    { components: [0], first: 6, last: 63 },
  ];
  return [{ components: all, first: 0, last: 0 }, coarse, ...colours, fine];
}

/** Writes the Huffman codes that a scan uses: the standard ones, or such as fit what was counted. */
function putCodes(out: BitWriter, scan: Scan, used: number, counter: SymbolCounter | undefined): void {
  const standard = [
    [standardCodes.luminanceDc, standardCodes.chrominanceDc],
    [standardCodes.luminanceAc, standardCodes.chrominanceAc],
  ];
  for (let i = 0; i < used; i++) {
    for (const kind of [0, 1] as const) {
      const isUsed =
        scan.components.some((c) => (c > 0 ? 1 : 0) === i) && (kind === 0 ? scan.first === 0 : scan.last > 0);
      if (!isUsed) continue;
      const code: HuffmanCode = counter ? counter.codeOf(kind * 2 + i) : standard[kind]![i]!;
      out.setCode(kind * 2 + i, code);
      out.marker(0xc4, [kind * 16 + i, ...code.counts, ...code.symbols]);
    }
  }
}

const workHere: JpegWork = {
  components: (pixels, plans) => plans.map((plan) => ({ ...plan, coefficients: coefficientsOf(pixels, plan) })),
  count(plan) {
    const counter = new SymbolCounter();
    writeScan(counter, plan);
    return counter;
  },
  write(out, plan) {
    writeScan(out, plan);
    out.flush();
  },
};

function writeScan(sink: SymbolSink, { components, first, last, unitsAcross, unitsDown }: ScanPlan): void {
  const lastDc = components.map(() => 0);
  const putBlock = (index: number, at: number) => {
    const { coefficients, tables } = components[index]!;
    if (first === 0) {
      putDc(sink, tables, coefficients[at]! - lastDc[index]!);
      lastDc[index] = coefficients[at]!;
    }
    if (last > 0) putAc(sink, 2 + tables, coefficients, at, Math.max(first, 1), last);
  };
  if (components.length === 1) {
    const { ownAcross, ownDown, across } = components[0]!;
    for (let y = 0; y < ownDown; y++) for (let x = 0; x < ownAcross; x++) putBlock(0, (y * across + x) * 64);
    return;
  }
  for (let y = 0; y < unitsDown; y++) {
    for (let x = 0; x < unitsAcross; x++) {
      for (const [index, { sampling, across }] of components.entries()) {
        for (let j = 0; j < sampling; j++)
          for (let i = 0; i < sampling; i++) putBlock(index, ((y * sampling + j) * across + x * sampling + i) * 64);
      }
    }
  }
}

function componentPlans(
  { width, height, channels }: Pixels<Uint8Array>,
  downsampled: boolean,
  quantizations: readonly Uint16Array[],
): ComponentPlan[] {
  const most = channels === 3 && downsampled ? 2 : 1;
  const [unitsAcross, unitsDown] = [Math.ceil(width / (8 * most)), Math.ceil(height / (8 * most))];
  return Array.from({ length: channels }, (_, channel): ComponentPlan => {
    const sampling = channel === 0 ? most : 1;
    const tables = channel === 0 ? 0 : 1;
    const [across, down] = [unitsAcross * sampling, unitsDown * sampling];
    const own = (length: number) => Math.ceil((length * sampling) / (8 * most));
    const sizes = { across, down, ownAcross: own(width), ownDown: own(height) };
    return { channel, sampling, most, ...sizes, quantization: quantizations[tables]!, tables };
  });
}

function coefficientsOf(pixels: Pixels<Uint8Array>, plan: ComponentPlan): Int16Array {
  const { width, height } = pixels;
  const { channel, sampling, most, across, down, ownAcross, ownDown, quantization } = plan;
  const full = channelPlane(pixels, channel);
  const plane =
    sampling === most
      ? padded(full, width, height, ownAcross * 8, ownDown * 8)
      : halved(full, width, height, ownAcross * 8, ownDown * 8);
  const coefficients = new Int16Array(across * down * 64);
  for (let y = 0; y < ownDown; y++) {
    for (let x = 0; x < ownAcross; x++) {
      const block = (y * ownAcross * 8 + x) * 8;
      transformBlock(plane, block, ownAcross * 8, quantization, coefficients, (y * across + x) * 64);
    }
    for (let x = ownAcross; x < across; x++) {
      coefficients[(y * across + x) * 64] = coefficients[(y * across + x - 1) * 64]!;
    }
  }
  for (let y = ownDown; y < down; y++) {
    for (let x = 0; x < across; x++) {
      const inUnit = x - (x % sampling) + sampling - 1;
      coefficients[(y * across + x) * 64] = coefficients[((y - 1) * across + inUnit) * 64]!;
    }
  }
  return coefficients;
}

/** One component of the pixels: grey as it is, or brightness and the two colour differences with 16-bit factors. */
function channelPlane({ data, channels }: Pixels<Uint8Array>, channel: number): Uint8Array {
  if (channels === 1) return data;
  const [r, g, b] = [
    [19595, 38470, 7471],
    [-11059, -21709, 32768],
    [32768, -27439, -5329],
  ][channel] as [number, number, number]; // the table has three rows of three numbers
  const offset = channel === 0 ? 32768 : 128 * 65536 + 32767;
  const plane = new Uint8Array(data.length / 3);
  for (let i = 0; i < plane.length; i++) {
    plane[i] = (r * data[3 * i]! + g * data[3 * i + 1]! + b * data[3 * i + 2]! + offset) >> 16;
  }
  return plane;
}

/** A plane made larger by repeating its last column and row. */
function padded(plane: Uint8Array, width: number, height: number, newWidth: number, newHeight: number): Uint8Array {
  if (width === newWidth && height === newHeight) return plane;
  const out = new Uint8Array(newWidth * newHeight);
  for (let y = 0; y < newHeight; y++) {
    const row = Math.min(y, height - 1) * width;
    out.set(plane.subarray(row, row + width), y * newWidth);
    out.fill(plane[row + width - 1]!, y * newWidth + width, (y + 1) * newWidth);
  }
  return out;
}

/** A plane of half the size; the means of four are rounded down and up in turn, so that the whole does not get darker. */
function halved(plane: Uint8Array, width: number, height: number, newWidth: number, newHeight: number): Uint8Array {
  const out = new Uint8Array(newWidth * newHeight);
  const rows = Math.ceil(height / 2);
  for (let y = 0; y < rows; y++) {
    const upper = 2 * y * width;
    const lower = Math.min(2 * y + 1, height - 1) * width;
    for (let x = 0; x < newWidth; x++) {
      const [left, right] = [Math.min(2 * x, width - 1), Math.min(2 * x + 1, width - 1)];
      const sum = plane[upper + left]! + plane[upper + right]! + plane[lower + left]! + plane[lower + right]!;
      out[y * newWidth + x] = (sum + (x & 1 ? 2 : 1)) >> 2;
    }
  }
  for (let y = rows; y < newHeight; y++) out.copyWithin(y * newWidth, (rows - 1) * newWidth, rows * newWidth);
  return out;
}
