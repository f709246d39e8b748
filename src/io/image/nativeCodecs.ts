/** @file The decoders of the native library: they run on libuv's threads, beside the event loop, where it is not about a few pixels. */
import { type InvalidArgumentError, ResourceExhaustedError } from '../../core/errors.ts';
import { nativeFamily } from '../native.ts';

/** A function of the library that fills memory. */
type Decode<Options extends unknown[]> = (
  file: Uint8Array,
  options: Options,
  out: Uint8Array | Uint16Array,
) => Promise<number>;

export interface NativeCodecs {
  readonly png: Decode<[channels: number, bits: number]>;
  readonly jpeg: Decode<[options: Int32Array]>;
}

/**
 * Files no longer than this, and no more bytes of pixels, are decoded in less time (25 microseconds) than it takes to wake another
 * thread and to hear from it. JPEG files have more pixels to the byte.
 */
const quick = { png: { file: 2 ** 12, pixels: 2 ** 12 }, jpeg: { file: 2 ** 11, pixels: 3 * 2 ** 12 } };

/** How to call a function for an image: at once, or beside the event loop. */
const wayFor = (kind: keyof typeof quick, file: Uint8Array, out: ArrayBufferView): 'now' | 'later' =>
  file.length <= quick[kind].file && out.byteLength <= quick[kind].pixels ? 'now' : 'later';

/** The decoders, or undefined where there is no library (and then the ones in TypeScript do the work). */
export const nativeCodecs = nativeFamily(({ later, now }): NativeCodecs | null => {
  if (process.env['TENSORLOOM_IMAGES'] === 'typescript') return null;
  const decodePng =
    'int32_t tl_png_decode(int64_t file, int64_t length, int32_t channels, int32_t bits, int64_t out, int64_t room)';
  const decodeJpeg = 'int32_t tl_jpeg_decode(int64_t file, int64_t length, int64_t options, int64_t out, int64_t room)';
  const png = { now: now(decodePng), later: later(decodePng) };
  const jpeg = { now: now(decodeJpeg), later: later(decodeJpeg) };
  return {
    png: async (file, [channels, bits], out) =>
      await png[wayFor('png', file, out)](file, file.length, channels, bits, out, out.byteLength),
    jpeg: async (file, [options], out) =>
      await jpeg[wayFor('jpeg', file, out)](file, file.length, options, out, out.byteLength),
  };
});

const reasons = [
  '',
  'it is not what it should be, or of a kind that is not supported.',
  'its data make no sense.',
  'it ends too early.',
];

/** Throws for a result of a decoder that is not success; `fail` makes the error of a reason. */
export function checkResult(result: number, fail: (why: string) => InvalidArgumentError): void {
  if (result === 0) return;
  const reason = reasons[result];
  if (reason === undefined) throw new ResourceExhaustedError('There is no memory to decode an image.');
  throw fail(reason);
}
