/** @file JPEG files: pixel for pixel what TensorFlow makes of them. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodeJpeg, decodeJpegHere, type JpegOptions } from '../../../src/io/jpeg.ts';

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

/** The decoder that is used, native where it can be, and the one in TypeScript. */
const decoders = {
  decodeJpeg,
  decodeJpegHere: async (file: Uint8Array, options: JpegOptions) => decodeJpegHere(file, options),
};

describe.each(Object.entries(decoders))('%s', (_, run) => {
  for (const { name, file, results } of golden) {
    it(name, async () => {
      for (const { options, fails, shape, sha256 } of results) {
        const { channels = 0, ratio = 1, fancy_upscaling: fancyUpscaling = true } = options;
        const accurate = options.dct_method === 'INTEGER_ACCURATE';
        const decode = () => run(bytesOf(file), { channels, ratio, fancyUpscaling, accurate });
        if (fails) {
          await expect(decode(), JSON.stringify(options)).rejects.toThrow(/Invalid JPEG/);
          continue;
        }
        const pixels = await decode();
        expect([pixels.height, pixels.width, pixels.channels], JSON.stringify(options)).toEqual(shape);
        expect(createHash('sha256').update(pixels.data).digest('hex'), JSON.stringify(options)).toBe(sha256);
      }
    });
  }
});
