/** @file JPEG files: pixel for pixel what TensorFlow makes of them. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodeJpegHere } from '../../../src/io/jpeg.ts';

interface Golden {
  readonly name: string;
  readonly file: string;
  readonly results: readonly {
    readonly options: {
      readonly channels?: number;
      readonly ratio?: number;
      readonly dct_method?: string;
      readonly fancy_upscaling?: boolean;
    };
    readonly fails?: true;
    readonly shape?: readonly [number, number, number];
    readonly sha256?: string;
  }[];
}
const golden = JSON.parse(readFileSync(new URL('../../golden/io/jpeg.json', import.meta.url), 'utf8')) as Golden[];
const bytesOf = (text: string) => new Uint8Array(Buffer.from(text, 'base64'));

describe('decodeJpeg', () => {
  for (const { name, file, results } of golden) {
    it(name, () => {
      for (const { options, fails, shape, sha256 } of results) {
        const { channels = 0, ratio = 1, fancy_upscaling: fancyUpscaling = true } = options;
        const accurate = options.dct_method === 'INTEGER_ACCURATE';
        const decode = () => decodeJpegHere(bytesOf(file), { channels, ratio, fancyUpscaling, accurate });
        if (fails) {
          expect(decode, JSON.stringify(options)).toThrow(/Invalid JPEG/);
          continue;
        }
        const pixels = decode();
        expect([pixels.height, pixels.width, pixels.channels], JSON.stringify(options)).toEqual(shape);
        expect(createHash('sha256').update(pixels.data).digest('hex'), JSON.stringify(options)).toBe(sha256);
      }
    });
  }
});
