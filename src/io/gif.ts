/** @file GIF files: every frame of an animation as red, green and blue. */
import { InvalidArgumentError } from '../core/errors.ts';
import { largestImage, unfilled } from './image/pixels.ts';
import { nativeFamily } from './native.ts';

/** Frames of one size, one after the other; each pixel is red, green and blue. */
export interface Frames {
  readonly count: number;
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

interface Frame {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** Red, green and blue of each colour; undefined when neither the frame nor the file has any. */
  readonly colours: Uint8Array | undefined;
  /** The colour that leaves what was there before; -1 for none. */
  readonly transparent: number;
  /** An index of a colour for each pixel. */
  readonly pixels: Uint8Array;
}

/** Where the first row and the next ones of each of the four passes of an interlaced frame are. */
const passes = [
  [0, 8],
  [4, 8],
  [2, 4],
  [1, 2],
] as const;

/** Whether some bytes begin as a GIF file does. */
export function isGif(bytes: Uint8Array): boolean {
  return bytes[0] === 0x47 && bytes[1] === 0x49 && bytes[2] === 0x46 && bytes[3] === 0x38;
}

/** Thrown where a file ends or makes no sense; frames before that are kept. */
class BrokenGif extends Error {}

/** Bytes from front to back. */
class ByteReader {
  at = 0;
  constructor(readonly bytes: Uint8Array) {}

  byte(): number {
    if (this.at >= this.bytes.length) throw new BrokenGif('Failed to read from given file');
    return this.bytes[this.at++]!;
  }

  word(): number {
    return this.byte() | (this.byte() << 8);
  }

  take(count: number): Uint8Array {
    if (this.at + count > this.bytes.length) throw new BrokenGif('Failed to read from given file');
    this.at += count;
    return this.bytes.subarray(this.at - count, this.at);
  }

  /** The parts of a block that is divided into pieces of at most 255 bytes. */
  pieces(): Uint8Array[] {
    const pieces: Uint8Array[] = [];
    for (let length = this.byte(); length > 0; length = this.byte()) pieces.push(this.take(length));
    return pieces;
  }
}

/** The pixels of a frame, to be decompressed. */
interface Compressed {
  readonly bytes: Uint8Array;
  readonly codeBits: number;
  readonly count: number;
}

interface Read {
  readonly frames: readonly Frame[];
  readonly problem: string | undefined;
}

/** All frames of a file, and what was wrong after the last of them. Who runs it decompresses what it asks for. */
function* readFrames(bytes: Uint8Array): Generator<Compressed, Read, Uint8Array> {
  const reader = new ByteReader(bytes);
  const frames: Frame[] = [];
  let total = 0;
  try {
    reader.take(10);
    const flags = bytes[10] ?? 0;
    reader.take(3);
    const shared = flags & 0x80 ? reader.take(3 << ((flags & 7) + 1)) : undefined;
    let transparent = -1;
    for (;;) {
      const kind = reader.byte();
      if (kind === 0x3b) return { frames, problem: undefined };
      if (kind === 0x21) {
        const label = reader.byte();
        const [control] = reader.pieces();
        if (label === 0xf9 && control?.length === 4) transparent = control[0]! & 1 ? control[3]! : -1;
      } else if (kind === 0x2c) {
        const frame = yield* readFrame(reader, shared, transparent, largestImage - total);
        total += frame.pixels.length;
        frames.push(frame);
        transparent = -1;
      } else throw new BrokenGif('Wrong record type detected');
    }
  } catch (error) {
    if (!(error instanceof BrokenGif)) throw error;
    return { frames, problem: error.message };
  }
}

function* readFrame(
  reader: ByteReader,
  shared: Uint8Array | undefined,
  transparent: number,
  room: number,
): Generator<Compressed, Frame, Uint8Array> {
  const [left, top, width, height] = [reader.word(), reader.word(), reader.word(), reader.word()];
  const flags = reader.byte();
  const colours = flags & 0x80 ? reader.take(3 << ((flags & 7) + 1)) : shared;
  const codeBits = reader.byte();
  if (codeBits < 1 || codeBits > 8) throw new BrokenGif('Image is defective, decoding aborted');
  // A code has three bits at least and stands for 4096 pixels at most, so a frame that the file cannot fill takes no memory.
  const most = Math.ceil(((reader.bytes.length - reader.at) * 8) / 3) * 4096;
  if (width * height > Math.min(room, most)) throw new BrokenGif('Image EOF detected before image complete');
  const pixels = yield { bytes: Buffer.concat(reader.pieces()), codeBits, count: width * height };
  return {
    left,
    top,
    width,
    height,
    colours,
    transparent,
    pixels: flags & 0x40 ? deinterlace(pixels, width, height) : pixels,
  };
}

function deinterlace(pixels: Uint8Array, width: number, height: number): Uint8Array {
  const out = new Uint8Array(pixels.length);
  let from = 0;
  for (const [first, step] of passes) {
    for (let y = first; y < height; y += step, from += width) out.set(pixels.subarray(from, from + width), y * width);
  }
  return out;
}

/** Lempel, Ziv and Welch's compression with codes that grow from `codeBits + 1` to 12 bits. */
function decompress({ bytes, codeBits, count }: Compressed): Uint8Array {
  const out = new Uint8Array(count);
  const clear = 1 << codeBits;
  const before = new Uint16Array(4096);
  const suffix = new Uint8Array(4096);
  const lengths = new Uint16Array(4096);
  for (let i = 0; i < clear; i++) [suffix[i], lengths[i]] = [i, 1];
  let [next, width] = [clear + 2, codeBits + 1];
  let last = -1;
  let [buffer, bits, at] = [0, 0, 0];
  for (let to = 0; to < count; ) {
    while (bits < width) {
      if (at >= bytes.length) throw new BrokenGif('Image EOF detected before image complete');
      buffer |= bytes[at++]! << bits;
      bits += 8;
    }
    const code = buffer & ((1 << width) - 1);
    buffer >>>= width;
    bits -= width;
    if (code === clear) {
      [next, width, last] = [clear + 2, codeBits + 1, -1];
      continue;
    }
    if (code === clear + 1) throw new BrokenGif('Image EOF detected before image complete');
    if (code > next || (code === next && last < 0) || (last < 0 && code >= clear)) {
      throw new BrokenGif('Image is defective, decoding aborted');
    }
    // A code that is just being made is the last one and its own first pixel again.
    const fresh = code === next;
    const known = fresh ? last : code;
    const length = lengths[known]!;
    let place = known;
    for (let i = to + length - 1; i >= to; i--) {
      if (i < count) out[i] = suffix[place]!;
      place = before[place]!;
    }
    const first = out[to]!;
    if (last >= 0 && next < 4096) {
      before[next] = last;
      suffix[next] = first;
      lengths[next] = lengths[last]! + 1;
      next++;
      if (next === 1 << width && width < 12) width++;
    }
    if (fresh && to + length < count) out[to + length] = first;
    to += fresh ? length + 1 : length;
    last = code;
  }
  return out;
}

/** What a file's frames come to, with room for them; throws for a file that has none. */
function layout(bytes: Uint8Array, { frames, problem }: Read, all: boolean) {
  const fail = (why: string) => new InvalidArgumentError(`Invalid GIF data (size ${bytes.length}), ${why}`);
  if (frames.length === 0 && problem) throw fail(`failed to slurp gif file: ${problem}`);
  const count = all ? frames.length : 1;
  const width = frames.reduce((most, frame) => Math.max(most, frame.width), 0);
  const height = frames.reduce((most, frame) => Math.max(most, frame.height), 0);
  if (frames.length === 0 || width === 0 || height === 0) throw fail('gif file does not contain any image');
  if (count * width * height * 3 >= largestImage) throw fail(`${count} frames of ${width} by ${height} are too large`);
  const size = width * height * 3;
  const data = new Uint8Array(count * size);
  /** Where a frame is drawn: over what the frame before left. */
  const canvasOf = (k: number) => {
    const canvas = data.subarray(k * size, (k + 1) * size);
    if (k > 0) canvas.set(data.subarray((k - 1) * size, k * size));
    return canvas;
  };
  const coloursOf = (k: number): Uint8Array => {
    const { colours } = frames[k]!;
    if (!colours) throw fail(`missing color map for frame ${k}`);
    return colours;
  };
  const check = (index: number, colours: Uint8Array) => {
    if (index >= 0) throw fail(`found color index ${index} outside of color map range ${colours.length / 3}`);
  };
  return { result: { count, width, height, data }, canvasOf, coloursOf, check };
}

const native = nativeFamily(({ later }) => ({
  decompress: later(
    'int32_t tl_gif_decompress(int64_t bytes, int64_t length, int32_t codeBits, int64_t out, int64_t count)',
  ),
  draw: later(
    'int32_t tl_gif_draw(int64_t pixels, int64_t place, int64_t colours, int64_t colourBytes, int64_t canvas)',
  ),
}));
/** What the library's decompression says when it fails. */
const defects = ['', 'Image EOF detected before image complete', 'Image is defective, decoding aborted'];

/**
 * The frames of a GIF file, each as it is seen: with what the frames before it left. Without `all`, the first one only. Decoded
 * beside the event loop where the native library is there.
 */
export async function decodeGif(bytes: Uint8Array, all = true): Promise<Frames> {
  const library = native();
  if (!library) return decodeGifHere(bytes, all);
  const reading = readFrames(bytes);
  let step = reading.next();
  while (!step.done) {
    const { bytes: packed, codeBits, count } = step.value;
    const pixels = unfilled(count);
    const problem = count === 0 ? 0 : await library.decompress(packed, packed.length, codeBits, pixels, count);
    step = problem === 0 ? reading.next(pixels) : reading.throw(new BrokenGif(defects[problem]));
  }
  const { frames } = step.value;
  const { result, canvasOf, coloursOf, check } = layout(bytes, step.value, all);
  for (const [k, frame] of frames.slice(0, result.count).entries()) {
    const { left, top, width, height, transparent, pixels } = frame;
    const [colours, canvas] = [coloursOf(k), canvasOf(k)];
    const place = Int32Array.of(left, top, width, height, transparent, result.width, result.height);
    if (pixels.length > 0) check(await library.draw(pixels, place, colours, colours.length, canvas), colours);
  }
  return result;
}

/** The frames of a GIF file, at once. */
export function decodeGifHere(bytes: Uint8Array, all = true): Frames {
  const reading = readFrames(bytes);
  let step = reading.next();
  while (!step.done) step = decompressFor(reading, step.value);
  const { frames } = step.value;
  const { result, canvasOf, coloursOf, check } = layout(bytes, step.value, all);
  for (const [k, frame] of frames.slice(0, result.count).entries()) {
    const [colours, canvas] = [coloursOf(k), canvasOf(k)];
    check(draw(frame, colours, canvas, result.width, result.height), colours);
  }
  return result;
}

function decompressFor(reading: Generator<Compressed, Read, Uint8Array>, packed: Compressed) {
  let pixels: Uint8Array;
  try {
    pixels = decompress(packed);
  } catch (error) {
    return reading.throw(error);
  }
  return reading.next(pixels);
}

/** Draws a frame; returns an index that is not among the colours, or -1. */
function draw(frame: Frame, colours: Uint8Array, canvas: Uint8Array, width: number, height: number): number {
  const right = Math.min(frame.left + frame.width, width);
  const bottom = Math.min(frame.top + frame.height, height);
  for (let y = frame.top; y < bottom; y++) {
    let from = (y - frame.top) * frame.width;
    let to = (y * width + frame.left) * 3;
    for (let x = frame.left; x < right; x++, to += 3) {
      const index = frame.pixels[from++]!;
      if (index === frame.transparent) continue;
      if (index * 3 >= colours.length) return index;
      canvas[to] = colours[index * 3]!;
      canvas[to + 1] = colours[index * 3 + 1]!;
      canvas[to + 2] = colours[index * 3 + 2]!;
    }
  }
  return -1;
}
