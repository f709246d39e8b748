/** @file JPEG files as TensorFlow writes them; GIF and BMP files as TensorFlow reads them. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodeBmp } from '../../../src/io/bmp.ts';
import { decodeGif } from '../../../src/io/gif.ts';
import { decodeJpegHere } from '../../../src/io/jpeg.ts';
import { encodeJpegHere } from '../../../src/io/jpegEncode.ts';

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
    it(`${shape} ${JSON.stringify(options)}`, () => {
      const file = encodeJpegHere(image, {
        quality: Number(options['quality'] ?? 95),
        chromaDownsampling: options['chroma_downsampling'] !== false,
        optimizeSize: options['optimize_size'] === true,
        densityUnit: options['density_unit'] === 'cm' ? 'cm' : 'in',
        xDensity: Number(options['x_density'] ?? 300),
        yDensity: Number(options['y_density'] ?? 300),
        xmpMetadata: Buffer.from(String(options['xmp_metadata'] ?? '')),
      });
      expect([file.length, sha256(file)]).toEqual([bytes, expected]);
    });
  }

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

function check(expected: Outcome, decode: () => { shape: readonly number[]; data: Uint8Array }): void {
  if (expected.fails !== undefined) {
    expect(decode).toThrow(expected.fails);
    return;
  }
  const { shape, data } = decode();
  expect([shape, sha256(data)]).toEqual([expected.shape, expected.sha256]);
}

describe('decodeGif', () => {
  for (const { name, file, all, first } of golden.gif) {
    it(name, () => {
      const decode = (every: boolean) => () => {
        const { count, width, height, data } = decodeGif(bytesOf(file), every);
        return { shape: every ? [count, height, width, 3] : [height, width, 3], data };
      };
      check(all, decode(true));
      check(first, decode(false));
    });
  }
});

describe('decodeBmp', () => {
  for (const { name, file, results } of golden.bmp) {
    it(name, () => {
      for (const [i, expected] of results.entries()) {
        check(expected, () => {
          const { height, width, channels, data } = decodeBmp(bytesOf(file), [0, 3, 4][i]!);
          return { shape: [height, width, channels], data };
        });
      }
    });
  }
});
