/** @file JPEG files as TensorFlow writes them; GIF and BMP files as TensorFlow reads them. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodeBmp, decodeBmpHere } from '../../../src/io/bmp.ts';
import { decodeGif, decodeGifHere } from '../../../src/io/gif.ts';
import { decodeJpeg, decodeJpegHere } from '../../../src/io/jpeg.ts';
import { encodeJpeg, encodeJpegHere } from '../../../src/io/jpegEncode.ts';

interface Outcome {
  readonly shape?: readonly number[];
  readonly sha256?: string;
  readonly fails?: string;
}
interface Golden {
  readonly written: readonly {
    readonly shape: readonly [number, number, number];
    readonly pixels: string;
    readonly options: Readonly<Record<string, number | boolean | string>>;
    readonly sha256: string;
    readonly bytes: number;
  }[];
  readonly gif: readonly {
    readonly name: string;
    readonly file: string;
    readonly all: Outcome;
    readonly first: Outcome;
  }[];
  readonly bmp: readonly { readonly name: string; readonly file: string; readonly results: readonly Outcome[] }[];
}
const golden = JSON.parse(readFileSync(new URL('../../golden/io/images.json', import.meta.url), 'utf8')) as Golden;
const bytesOf = (text: string) => new Uint8Array(Buffer.from(text, 'base64'));
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

describe('encodeJpeg', () => {
  for (const { shape, pixels, options, sha256: expected, bytes } of golden.written) {
    const [height, width, channels] = shape;
    const image = { height, width, channels, data: bytesOf(pixels) };
    it(`${shape} ${JSON.stringify(options)}`, async () => {
      const wanted = {
        quality: Number(options['quality'] ?? 95),
        chromaDownsampling: options['chroma_downsampling'] !== false,
        optimizeSize: options['optimize_size'] === true,
        densityUnit: options['density_unit'] === 'cm' ? ('cm' as const) : ('in' as const),
        xDensity: Number(options['x_density'] ?? 300),
        yDensity: Number(options['y_density'] ?? 300),
        xmpMetadata: Buffer.from(String(options['xmp_metadata'] ?? '')),
      };
      for (const file of [encodeJpegHere(image, wanted), await encodeJpeg(image, wanted)])
        expect([file.length, sha256(file)]).toEqual([bytes, expected]);
    });
  }

  it('gives the same file beside the event loop, whatever the size and the options', async () => {
    for (const [width, height] of [[1, 1], [7, 9], [16, 16], [17, 40], [130, 33]] as const) // biome-ignore format: a table
      for (const channels of [1, 3])
        for (const options of [
          {},
          { quality: 100, chromaDownsampling: false },
          { quality: 1 },
          { progressive: true },
          { optimizeSize: true },
        ]) {
          // Some of it smooth, and some of it noise, which needs more bytes than pixels.
          const data = new Uint8Array(width * height * channels).map((_, i) =>
            i % 300 < 150 ? i / 7 : i * i * 31 + (i >> 3),
          );
          const image = { width, height, channels, data };
          expect(await encodeJpeg(image, options)).toEqual(encodeJpegHere(image, options));
        }
  });

  it('gives a file that is decoded to the same pixels beside the event loop, whatever its width and its codes', async () => {
    for (let width = 1; width < 140; width += width < 70 ? 1 : 11)
      for (const options of [{}, { chromaDownsampling: false }, { optimizeSize: true }]) {
        const data = new Uint8Array(width * 20 * 3).map((_, i) => (i % 300 < 150 ? i / 7 : i * i * 31 + (i >> 3)));
        const file = encodeJpegHere({ width, height: 20, channels: 3, data }, options);
        const [found, expected] = [await decodeJpeg(file), decodeJpegHere(file)];
        expect(Buffer.compare(found.data, expected.data), `a width of ${width}`).toBe(0);
      }
  });

  it('gives the same pixels when it is progressive', () => {
    for (const { shape, pixels } of golden.written) {
      const [height, width, channels] = shape;
      const image = { height, width, channels, data: bytesOf(pixels) };
      expect(decodeJpegHere(encodeJpegHere(image, { progressive: true }))).toEqual(
        decodeJpegHere(encodeJpegHere(image)),
      );
    }
  });
});

async function check(
  expected: Outcome,
  decode: () => Promise<{ shape: readonly number[]; data: Uint8Array }>,
): Promise<void> {
  if (expected.fails !== undefined) {
    await expect(decode()).rejects.toThrow(expected.fails);
    return;
  }
  const { shape, data } = await decode();
  expect([shape, sha256(data)]).toEqual([expected.shape, expected.sha256]);
}

describe.each([
  ['decodeGif', decodeGif],
  ['decodeGifHere', decodeGifHere],
])('%s', (_, decodeFrames) => {
  for (const { name, file, all, first } of golden.gif) {
    it(name, async () => {
      const decode = (every: boolean) => async () => {
        const { count, width, height, data } = await decodeFrames(bytesOf(file), every);
        return { shape: every ? [count, height, width, 3] : [height, width, 3], data };
      };
      await check(all, decode(true));
      await check(first, decode(false));
    });
  }
});

describe('decodeBmp', () => {
  for (const { name, file, results } of golden.bmp) {
    it(name, async () => {
      for (const [i, expected] of results.entries()) {
        await check(expected, async () => {
          const { height, width, channels, data } = await decodeBmp(bytesOf(file), [0, 3, 4][i]!);
          return { shape: [height, width, channels], data };
        });
      }
    });
  }

  it('gives the same for large files, which are decoded elsewhere', async () => {
    const [width, height, headerSize] = [211, 199, 54];
    for (const own of [1, 3, 4])
      for (const isTopDown of [true, false]) {
        const file = new Uint8Array(headerSize + Math.ceil((own * width) / 4) * 4 * height).map(
          (_, i) => i * 7 + (i >> 8),
        );
        const header = new DataView(file.buffer);
        header.setInt32(10, headerSize, true);
        header.setInt32(18, width, true);
        header.setInt32(22, isTopDown ? -height : height, true);
        header.setInt16(28, 8 * own, true);
        for (const channels of [0, 3, 4]) {
          const [beside, here] = [await decodeBmp(file, channels), decodeBmpHere(file, channels)];
          expect([beside.width, beside.height, beside.channels]).toEqual([here.width, here.height, here.channels]);
          expect(sha256(beside.data)).toBe(sha256(here.data));
        }
      }
  });
});
