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

/** A PNG file no longer than this, and its pixels, are decoded in less time than another thread needs to begin with them. */
const quickBytes = 2 ** 11;

/** The decoders, or undefined where there is no library (and then the ones in TypeScript do the work). */
export const nativeCodecs = nativeFamily(({ later, now }): NativeCodecs | null => {
  if (process.env['TENSORLOOM_IMAGES'] === 'typescript') return null;
  const decodePng =
    'int32_t tl_png_decode(int64_t file, int64_t length, int32_t channels, int32_t bits, int64_t out, int64_t room)';
  const png = { now: now(decodePng), later: later(decodePng) };
  const jpeg = later(
    'int32_t tl_jpeg_decode(int64_t file, int64_t length, int64_t options, int64_t out, int64_t room)',
  );
  return {
    async png(file, [channels, bits], out) {
      const isQuick = file.length <= quickBytes && out.byteLength <= quickBytes;
      return await png[isQuick ? 'now' : 'later'](file, file.length, channels, bits, out, out.byteLength);
    },
    jpeg: (file, [options], out) => jpeg(file, file.length, options, out, out.byteLength),
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
