/** @file Rows about images: files decoded one after the other, and a pipeline that reads, decodes and changes them. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as tf from '../../src/api/index.ts';
import { encodeJpeg } from '../../src/io/jpegEncode.ts';
import { encodePng } from '../../src/io/png.ts';
import { pipeline } from './pipeline.ts';
import { noise, type Row, type Work } from './row.ts';

/** Enough to get warm: what JavaScript does for an image is compiled only after some hundreds of them. */
const perCall = 400;

/** A picture with soft waves and some noise, as photographs have. */
function picture(side: number, channels: number) {
  const grain = noise(side * side * channels);
  const data = Uint8Array.from(grain, (value, i) => {
    const [x, y] = [Math.floor(i / channels) % side, Math.floor(i / channels / side)];
    return 128 + 90 * Math.sin(x / 9 + y / (13 - (i % channels))) + (value & 15);
  });
  return { width: side, height: side, channels, data };
}

/** Decodes one file again and again, fed as a string. */
async function decoding(
  folder: string,
  name: string,
  file: Uint8Array,
  decode: (x: tf.Tensor) => tf.Tensor,
): Promise<Work> {
  writeFileSync(join(folder, `${name}.bin`), file);
  const graph = new tf.Graph();
  const [contents, image] = graph.asDefault(() => {
    const x = tf.placeholder(tf.string, [], { name: 'contents' });
    return [x, decode(x)] as const;
  });
  const session = new tf.Session({ graph, config: { intraOpParallelismThreads: 1, interOpParallelismThreads: 1 } });
  const step = session.makeCallable(image.op, [contents]);
  const feed = new tf.NDArray(tf.string, [], [file]);
  return {
    async run() {
      for (let i = 0; i < perCall; i++) await step(feed);
    },
    close: () => session.close(),
  };
}

const row = (name: string, make: () => Promise<Uint8Array>, decode: (x: tf.Tensor) => tf.Tensor): Row => ({
  name,
  unit: 'images',
  amount: perCall,
  prepare: async (folder) => decoding(folder, name, await make(), decode),
});

const files = 1000;

/** Files read, decoded, flipped at random and scaled, in batches. */
async function augmentation(folder: string): Promise<Work> {
  const own = join(folder, 'pictures');
  mkdirSync(own, { recursive: true });
  const file = await encodePng(picture(64, 3));
  for (let i = 0; i < files; i++) writeFileSync(join(own, `${i}.png`), file);
  return pipeline(() => {
    const names = tf.data.Dataset.fromTensorSlices(Array.from({ length: files }, (_, i) => join(own, `${i}.png`)));
    const images = names.map(
      (name) => {
        const image = tf.image.decodePng(tf.readFile(name as tf.Tensor), { channels: 3 });
        image.setShape([64, 64, 3]);
        return tf.image.randomFlipLeftRight(tf.image.convertImageDtype(image, tf.float32), { seed: 1 });
      },
      { numParallelCalls: 4 },
    );
    return images.batch(32);
  });
}

export const imageRows: readonly Row[] = [
  row(
    'png_of_256_pixels',
    () => encodePng(picture(256, 3)),
    (x) => tf.image.decodePng(x),
  ),
  row(
    'png_of_28_pixels',
    () => encodePng(picture(28, 1)),
    (x) => tf.image.decodePng(x),
  ),
  row(
    'jpeg_of_256_pixels',
    () => encodeJpeg(picture(256, 3), { quality: 90 }),
    (x) => tf.image.decodeJpeg(x),
  ),
  row(
    'jpeg_of_32_pixels',
    () => encodeJpeg(picture(32, 3), { quality: 90 }),
    (x) => tf.image.decodeJpeg(x),
  ),
  { name: 'png_files_augmented', unit: 'images', amount: files, prepare: augmentation },
];
