/** @file Damaged image files: of every kind that the tests have, for the native decoders and for those in TypeScript. */
import { readFileSync } from 'node:fs';
import { decodeBmp } from '../../src/io/bmp.ts';
import { decodeGif, decodeGifHere } from '../../src/io/gif.ts';
import { crc32 } from '../../src/io/image/crc32.ts';
import { decodeJpeg, decodeJpegHere, jpegSize } from '../../src/io/jpeg.ts';
import { encodeJpegHere } from '../../src/io/jpegEncode.ts';
import { decodePng, decodePngHere } from '../../src/io/png.ts';
import type { Target } from './target.ts';

/** The files in a golden file of the tests. `npm` runs scripts in the folder of the package. */
function goldenFiles(name: string, list?: string): Uint8Array[] {
  const golden = JSON.parse(readFileSync(`test/golden/io/${name}.json`, 'utf8'));
  const cases: readonly { file: string }[] = list ? golden[list] : Array.isArray(golden) ? golden : golden.cases;
  return cases.map(({ file }) => new Uint8Array(Buffer.from(file, 'base64')));
}

/** The checksums of all chunks that their lengths lead to. */
function repairPng(bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 8; at + 12 <= bytes.length; ) {
    const end = at + 8 + view.getUint32(at);
    if (end + 4 > bytes.length) break;
    view.setUint32(end, crc32(bytes, at + 4, end));
    at = end + 4;
  }
  return bytes;
}

const picture = {
  width: 7,
  height: 5,
  channels: 3,
  data: Uint8Array.from({ length: 105 }, (_, i) => (i * 37) % 256),
};

/** Options that lead to other code, by turns. */
function jpegOptions(bytes: Uint8Array) {
  const turn = bytes.length % 8;
  return {
    ratio: [1, 2, 4, 8][turn % 4]!,
    tryRecoverTruncated: turn > 5,
    accurate: turn === 4,
    channels: turn === 5 ? 1 : 0,
  };
}

export function imageTargets(): Target[] {
  const [pngs, gifs] = [goldenFiles('png'), goldenFiles('images', 'gif')];
  const jpegs = [...goldenFiles('jpeg'), encodeJpegHere(picture, { progressive: true }), encodeJpegHere(picture)];
  return [
    { name: 'PNG', seeds: pngs, repair: repairPng, read: (bytes) => decodePng(bytes, { channels: bytes.length % 5 }) },
    {
      name: 'PNG in TypeScript',
      seeds: pngs,
      repair: repairPng,
      read: (bytes) => decodePngHere(bytes, { channels: bytes.length % 5 }),
    },
    {
      name: 'JPEG',
      seeds: jpegs,
      async read(bytes) {
        jpegSize(bytes);
        await decodeJpeg(bytes, jpegOptions(bytes));
      },
    },
    { name: 'JPEG in TypeScript', seeds: jpegs, read: (bytes) => decodeJpegHere(bytes, jpegOptions(bytes)) },
    { name: 'GIF', seeds: gifs, read: (bytes) => decodeGif(bytes, bytes.length % 2 === 0) },
    { name: 'GIF in TypeScript', seeds: gifs, read: (bytes) => decodeGifHere(bytes, bytes.length % 2 === 0) },
    {
      name: 'BMP',
      seeds: goldenFiles('images', 'bmp'),
      read: (bytes) => decodeBmp(bytes, [0, 3, 4][bytes.length % 3]),
    },
  ];
}
