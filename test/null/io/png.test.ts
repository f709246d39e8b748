/** @file PNG files: every kind against TensorFlow's pixels, written and read again, and broken in many ways. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { OpError } from '../../../src/core/errors.ts';
import { filterRows } from '../../../src/io/image/pngFilters.ts';
import { decodePng, decodePngHere, encodePng } from '../../../src/io/png.ts';
import { turnsDuring } from '../../turnsDuring.ts';

interface Golden {
  readonly width: number;
  readonly height: number;
  readonly cases: readonly {
    readonly colour: number;
    readonly depth: number;
    readonly interlaced: number;
    readonly transparent: number;
    readonly file: string;
    readonly results: Readonly<Record<string, { readonly channels: number; readonly data: string }>>;
  }[];
}
const golden = JSON.parse(readFileSync(new URL('../../golden/io/png.json', import.meta.url), 'utf8')) as Golden;
const bytesOf = (text: string) => new Uint8Array(Buffer.from(text, 'base64'));

/** The decoder that is used, native where it can be, and the one in TypeScript. */
const decoders = { decodePng, decodePngHere };

describe.each(Object.entries(decoders))('%s', (_, decode) => {
  for (const { colour, depth, interlaced, transparent, file, results } of golden.cases) {
    it(`colour kind ${colour}, ${depth} bits${interlaced ? ', interlaced' : ''}${transparent ? ', tRNS' : ''}`, async () => {
      for (const [asked, expected] of Object.entries(results)) {
        const [channels, dtype] = asked.split(' ');
        const bits = dtype === 'uint16' ? 16 : 8;
        const pixels = await decode(bytesOf(file), { channels: Number(channels), bits });
        expect([pixels.width, pixels.height, pixels.channels]).toEqual([
          golden.width,
          golden.height,
          expected.channels,
        ]);
        const bytes = bytesOf(expected.data);
        expect([...pixels.data], asked).toEqual([...(bits === 16 ? new Uint16Array(bytes.buffer) : bytes)]);
      }
    });
  }

  it('refuses a file that claims to be huge without taking memory for it', async () => {
    const file = bytesOf(golden.cases[0]!.file);
    const grown = await encodePng({ width: 1, height: 1, channels: 1, data: new Uint8Array(1) });
    expect(file.length).toBeGreaterThan(0);
    const { crc32 } = await import('../../../src/io/image/crc32.ts');
    const view = new DataView(grown.buffer, grown.byteOffset);
    for (const side of [20000, 60000]) {
      view.setUint32(16, side);
      view.setUint32(20, side);
      view.setUint32(29, crc32(grown, 12, 29));
      await expect(decode(grown)).rejects.toThrow(/too large|fewer rows/);
    }
  });

  it('answers every truncation with an error of TensorFlow', async () => {
    const file = bytesOf(golden.cases[3]!.file);
    for (let length = 0; length < file.length; length++) {
      await expect(decode(file.subarray(0, length))).rejects.toBeInstanceOf(OpError);
    }
  });
});

describe('encodePng', () => {
  it('small images and large ones come back as they were, whoever decodes them', async () => {
    for (const side of [1, 20, 45, 90]) {
      const data = new Uint8Array(side * side).map((_, i) => (i * i * 37) ^ (i >> 3));
      const file = await encodePng({ width: side, height: side, channels: 1, data });
      expect([...(await decodePng(file, { channels: 1 })).data]).toEqual([...data]);
      const damaged = file.subarray(0, -20);
      await expect(decodePng(damaged)).rejects.toBeInstanceOf(OpError);
    }
  });

  for (const [channels, wide] of [1, 2, 3, 4].flatMap((n) => [[n, false] as const, [n, true] as const])) {
    it(`${channels} channels of ${wide ? 16 : 8} bits come back as they were`, async () => {
      const [width, height] = [13, 7];
      const data = new (wide ? Uint16Array : Uint8Array)(width * height * channels).map(
        (_, i) => (i * i * 37) ^ (i << 5),
      );
      const file = await encodePng({ width, height, channels, data }, { compression: 9 });
      expect(await decodePng(file)).toEqual({ width, height, channels, data });
    });
  }

  it('refuses data that does not fit the size', async () => {
    await expect(encodePng({ width: 2, height: 2, channels: 3, data: new Uint8Array(11) })).rejects.toThrow(
      /12 samples/,
    );
    await expect(encodePng({ width: 1, height: 1, channels: 5, data: new Uint8Array(5) })).rejects.toThrow(/got 5/);
  });
});

it('the rows of a large file are filtered in turns', async () => {
  const turns = await turnsDuring(() => filterRows(new Uint8Array(200_000), 100, 2000, 1));
  expect(turns - 1).toBeGreaterThan(3);
});
