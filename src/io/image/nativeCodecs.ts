/** @file The decoders of the native library: they run on libuv's threads, beside the event loop. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type InvalidArgumentError, ResourceExhaustedError } from '../../core/errors.ts';
import { nativeLibraryPath } from '../../core/nativeLibrary.ts';

/** A function of the library that fills memory; addresses cross as numbers. */
type Decode<Options extends unknown[]> = (
  file: Uint8Array,
  options: Options,
  out: Uint8Array | Uint16Array,
) => Promise<number>;

export interface NativeCodecs {
  readonly png: Decode<[channels: number, bits: number]>;
  readonly jpeg: Decode<[options: Int32Array]>;
}

let found: NativeCodecs | null | undefined;

/** The decoders, or undefined where there is no library (and then the ones in TypeScript do the work). */
export function nativeCodecs(): NativeCodecs | undefined {
  if (found === undefined) found = load();
  return found ?? undefined;
}

/** What libuv's callback gives: an error, or the function's result. */
type Callback = (error: Error | null, result: number) => void;
interface AsyncFunction {
  async(...args: [...(number | bigint)[], Callback]): void;
}

function load(): NativeCodecs | null {
  const path = nativeLibraryPath();
  if (path === undefined || !existsSync(path) || process.env['TENSORLOOM_IMAGES'] === 'typescript') return null;
  try {
    // koffi is required, not imported: where its binary is missing, the import would fail the whole package.
    const koffi: typeof import('koffi') = createRequire(import.meta.url)('koffi');
    const library = koffi.load(path);
    const png: AsyncFunction = library.func(
      'int32_t tl_png_decode(int64_t file, int64_t length, int32_t channels, int32_t bits, int64_t out, int64_t room)',
    );
    const jpeg: AsyncFunction = library.func(
      'int32_t tl_jpeg_decode(int64_t file, int64_t length, int64_t options, int64_t out, int64_t room)',
    );
    // The arrays are named in the callback, which keeps their memory until the call is over.
    const call = (decode: AsyncFunction, args: (number | bigint)[], ...kept: readonly ArrayBufferView[]) =>
      new Promise<number>((resolve, reject) => {
        decode.async(...args, (error, result) => (error && kept.length > 0 ? reject(error) : resolve(result)));
      });
    return {
      png: (file, [channels, bits], out) => {
        const args = [koffi.address(file), file.length, channels, bits, koffi.address(out), out.byteLength];
        return call(png, args, file, out);
      },
      jpeg: (file, [options], out) => {
        const args = [koffi.address(file), file.length, koffi.address(options), koffi.address(out), out.byteLength];
        return call(jpeg, args, file, options, out);
      },
    };
  } catch {
    return null; // no koffi for this platform, or a library that is older than these functions
  }
}

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
