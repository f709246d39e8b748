/** @file tf.data: images in records are parsed, decoded, shuffled and batched while a network learns from them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from 'tensorloom';
import { runDirectly } from './runDirectly.ts';

const size = 8;
const shapes = ['bar', 'beam', 'cross', 'frame'] as const;

/** Whether a shape has ink at a place. */
function hasInk(shape: (typeof shapes)[number], row: number, column: number): boolean {
  const isMiddle = (at: number) => at === 3 || at === 4;
  if (shape === 'bar') return isMiddle(column);
  if (shape === 'beam') return isMiddle(row);
  if (shape === 'cross') return isMiddle(row) || isMiddle(column);
  return Math.min(row, column) === 0 || Math.max(row, column) === size - 1;
}

/** Writes noisy pictures of shapes as PNG images in tf.train.Examples. */
async function writePictures(path: string, count: number, seed: number): Promise<void> {
  let state = seed;
  const random = () => {
    state = (state * 16807) % 2147483647;
    return state / 2147483647;
  };
  const pixels = tf.placeholder(tf.uint8, [size, size, 1]);
  const png = tf.image.encodePng(pixels);
  using sess = new tf.Session();
  const writer = new tf.io.TFRecordWriter(path);
  for (let i = 0; i < count; i++) {
    const label = i % shapes.length;
    const picture = Uint8Array.from({ length: size * size }, (_, k) => {
      const ink = hasInk(shapes[label]!, Math.floor(k / size), k % size) ? 180 : 40;
      return Math.max(0, Math.min(255, ink + 120 * (random() - 0.5)));
    });
    const image = await sess.run(png, [[pixels, new tf.NDArray(tf.uint8, [size, size, 1], picture)]]);
    const bytes = image.objects[0] as Uint8Array; // strings are bytes
    await writer.write(tf.train.Example.from({ image: bytes, label }).serialize());
  }
  await writer.close();
}

/** A record as a picture of numbers from 0 to 1 and the number of its shape. */
function parse(record: tf.Tensor) {
  const { image, label } = tf.parseSingleExample(record, {
    image: tf.fixedLenFeature([], tf.string),
    label: tf.fixedLenFeature([], tf.int64),
  });
  const pixels = tf.image.decodePng(image, { channels: 1 });
  pixels.setShape([size, size, 1]);
  return [tf.image.convertImageDtype(pixels, tf.float32), label] as const;
}

export async function main({ pictures = 200, epochs = 6, batchSize = 20 } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'tensorloom-record-pipeline-'));
  try {
    const [trainFile, testFile] = [join(folder, 'train.tfrecords'), join(folder, 'test.tfrecords')];
    await writePictures(trainFile, pictures, 1);
    await writePictures(testFile, pictures / 2, 2);

    const train = new tf.data.TFRecordDataset([trainFile])
      .map(parse, { numParallelCalls: 4 })
      .shuffle(pictures, { seed: 1 })
      .repeat(epochs)
      .batch(batchSize, { dropRemainder: true })
      .prefetch(2);
    const test = new tf.data.TFRecordDataset([testFile]).map(parse).batch(batchSize, { dropRemainder: true });

    // One network; each run says by a string whose elements it takes.
    const handle = tf.placeholder(tf.string, []);
    const iterator = tf.data.Iterator.fromStringHandle<[tf.Tensor, tf.Tensor]>(handle, train.outputTypes, {
      outputShapes: train.outputShapes,
    });
    const [images, labels] = iterator.getNext();
    const logits = tf.layers.dense(tf.reshape(images, [-1, size * size]), shapes.length, { name: 'shape' });
    const loss = tf.reduceMean(tf.nn.sparseSoftmaxCrossEntropyWithLogits({ labels, logits }));
    const step = new tf.train.AdamOptimizer(0.02).minimize(loss);
    const hits = tf.reduceMean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32));
    const [training, testing] = [train.makeOneShotIterator(), test.makeInitializableIterator()];

    using sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    const [fromTrain, fromTest] = (await sess.run([training.stringHandle(), testing.stringHandle()])).map((text) =>
      String(text.item()),
    );
    const losses: number[] = [];
    const untilEnd = async (run: () => Promise<void>) => {
      try {
        for (;;) await run();
      } catch (error) {
        if (!(error instanceof tf.errors.OutOfRangeError)) throw error;
      }
    };
    await untilEnd(async () => {
      const [value] = await sess.run([loss, step], [[handle, fromTrain!]]);
      losses.push(Number(value));
    });
    await sess.run(testing.initializer);
    const parts: number[] = [];
    await untilEnd(async () => void parts.push(Number(await sess.run(hits, [[handle, fromTest!]]))));
    const accuracy = parts.reduce((a, b) => a + b) / parts.length;
    console.log(
      `${losses.length} batches: the loss went from ${losses[0]!.toFixed(2)} to ${losses.at(-1)!.toFixed(2)}`,
    );
    console.log(`${(100 * accuracy).toFixed(0)}% of ${parts.length * batchSize} other pictures are told right`);
    return { losses, accuracy, batches: parts.length };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

await runDirectly(import.meta.url, () => main());
