/** @file BMP files without compression: 8, 24 and 32 bits a pixel, from the top or from the bottom. */
import { InvalidArgumentError } from '../core/errors.ts';
import { type Pixels, unfilled } from './image/pixels.ts';
import { nativeFamily } from './native.ts';

/** Whether some bytes begin as a BMP file does. */
export function isBmp(bytes: Uint8Array): boolean {
  return bytes[0] === 0x42 && bytes[1] === 0x4d;
}

function require(condition: boolean, why: string): void {
  if (!condition) throw new InvalidArgumentError(why);
}

/** What the header says, after TensorFlow's checks and in its words. */
function readHeader(bytes: Uint8Array) {
  require(bytes.length >=
    32, `Incomplete bmp content, requires at least 32 bytes to find the header size, width, height, and bpp, got ${bytes.length} bytes`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headerSize = view.getInt32(10, true);
  const width = view.getInt32(18, true);
  const signedHeight = view.getInt32(22, true);
  const own = Math.trunc(view.getInt16(28, true) / 8);
  require(own === 1 ||
    own === 3 ||
    own === 4, `Number of channels inherent in the image must be 1, 3 or 4, was ${own}`);
  require(width > 0, 'Width must be positive');
  require(signedHeight !== 0, 'Height must be nonzero');
  require(headerSize >= 0, 'header size must be nonnegative');
  const height = Math.abs(signedHeight);
  require(width * height < Math.trunc(0x7fffffff / 8), 'Total possible pixel bytes must be less than 2^30');
  const rowSize = Math.ceil((own * width) / 4) * 4;
  const difference = bytes.length - headerSize - rowSize * height;
  require(difference ===
    0, `Input size should match (header_size + row_size * abs_height) but they differ by ${difference}`);
  return { headerSize, width, height, own, rowSize, isTopDown: signedHeight < 0 };
}

const native = nativeFamily(({ later }) =>
  later(
    'int32_t tl_bmp_decode(int64_t pixels, int64_t rowBytes, int32_t own, int32_t wanted, int64_t width, int64_t height, int64_t out)',
  ),
);
/** Smaller files are decoded sooner than they are handed over. */
const worthwhile = 2 ** 15;

/**
 * The pixels of a BMP file; `channels` is 3 or 4, or 0 for as many as the file has. Large ones are decoded beside the event loop
 * where the native library is there.
 */
export async function decodeBmp(bytes: Uint8Array, channels = 0): Promise<Pixels<Uint8Array>> {
  const decode = bytes.length < worthwhile ? undefined : native();
  if (!decode) return decodeBmpHere(bytes, channels);
  const { headerSize, width, height, own, rowSize, isTopDown } = readHeader(bytes);
  const wanted = channels || own;
  const data = unfilled(width * height * wanted);
  await decode(bytes.subarray(headerSize), rowSize, own, wanted, width, isTopDown ? -height : height, data);
  return { width, height, channels: wanted, data };
}

/** The pixels of a BMP file, at once. */
export function decodeBmpHere(bytes: Uint8Array, channels = 0): Pixels<Uint8Array> {
  const { headerSize, width, height, own, rowSize, isTopDown } = readHeader(bytes);
  const wanted = channels || own;
  const data = new Uint8Array(width * height * wanted);
  let to = 0;
  for (let y = 0; y < height; y++) {
    let from = headerSize + (isTopDown ? y : height - 1 - y) * rowSize;
    for (let x = 0; x < width; x++, from += own, to += wanted) {
      if (wanted === 1) {
        data[to] = bytes[from]!;
        continue;
      }
      // Colours stand as blue, green, red; a grey is all three of them.
      data[to] = bytes[own === 1 ? from : from + 2]!;
      data[to + 1] = bytes[own === 1 ? from : from + 1]!;
      data[to + 2] = bytes[from]!;
      if (wanted === 4) data[to + 3] = own === 4 ? bytes[from + 3]! : 255;
    }
  }
  return { width, height, channels: wanted, data };
}
