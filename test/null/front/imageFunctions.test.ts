/** @file Functions on images and files: nodes and values as real TensorFlow's. */
import * as tf from 'tensorloom';
import { describe, it } from 'vitest';
import { type Built, expectAsInTensorFlow, readGolden } from './golden.ts';

/** Whole numbers that repeat, as in tools/golden/imageFunctions.py. */
function pattern(
  shape: readonly number[],
  factor: number,
  modulus: number,
  divisor: number,
): tf.NDArray<typeof tf.float32> {
  const count = shape.reduce((a, b) => a * b, 1);
  return new tf.NDArray(
    tf.float32,
    shape,
    Float32Array.from({ length: count }, (_, i) => ((i * factor) % modulus) / divisor),
  );
}

const image = pattern([4, 5, 3], 7, 11, 16);
const batch = pattern([2, 26, 25, 2], 37, 101, 101);

/** The first rows and columns of the batch. */
function corner(height: number, width: number): tf.NDArray {
  const at = (i: number) => {
    const [c, x, y, b] = [
      i % 2,
      Math.floor(i / 2) % width,
      Math.floor(i / 2 / width) % height,
      Math.floor(i / 2 / width / height),
    ];
    return batch.data[((b * 26 + y) * 25 + x) * 2 + c]!;
  };
  const data = Float32Array.from({ length: 2 * height * width * 2 }, (_, i) => Number(at(i)));
  return new tf.NDArray(tf.float32, [2, height, width, 2], data);
}

/** Images one after the other, each changed in its way. */
function stacked(...changes: readonly ((x: number) => number)[]): tf.NDArray {
  const parts = changes.map((change) => Float32Array.from(image.data as Float32Array, change)); // float32 as above
  return new tf.NDArray(tf.float32, [changes.length, 4, 5, 3], Float32Array.from(parts.flatMap((part) => [...part])));
}

const scaled = (factor: number) =>
  new tf.NDArray(
    tf.float32,
    image.shape,
    Float32Array.from(image.data as Float32Array, (x) => x * factor),
  ); // float32 as above

const same = (x: number) => x;
const negative = (x: number) => 1 - x;
const rows = [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 0.5, 1, 0.6]]; // biome-ignore format: a row for each box
const boxes = new tf.NDArray(tf.float32, [3, 4], Float32Array.from(rows.flat()));
const scores = [0.5, 0.75, 0.25];

function of(
  apply: (x: tf.Tensor) => tf.Tensor | readonly tf.Tensor[],
  array: tf.NDArray,
  shape: readonly (number | null)[] = array.shape,
): () => Built {
  return () => {
    tf.setRandomSeed(1);
    const x = tf.placeholder(tf.float32, shape, { name: 'x' });
    const y = apply(x);
    return { fetches: y instanceof tf.Tensor ? [y] : y, feeds: [[x, array]] };
  };
}

const times = (x: tf.Tensor, factor: number) => x.mul(factor);
const nearest = tf.image.ResizeMethod.NEAREST_NEIGHBOR;

const cases: Record<string, () => Built> = {
  randomFlipLeftRight: of((x) => tf.image.randomFlipLeftRight(x, { seed: 3 }), image),
  randomFlipUpDownBatch: of(
    (x) => tf.image.randomFlipUpDown(x, { seed: 5 }),
    stacked(same, negative, (x) => x / 2),
  ),
  rot90: of((x) => tf.image.rot90(x), image),
  rot90Batch: of((x) => tf.image.rot90(x, { k: 3, name: 'turn' }), stacked(same, negative)),
  resizeImageWithPad: of((x) => tf.image.resizeImageWithPad(x, 6, 10), image),
  resizeImageWithPadUnknown: of((x) => tf.image.resizeImageWithPad(x, 2, 4, { method: nearest }), stacked(same), [
    null,
    null,
    null,
    3,
  ]),
  psnr: of((x) => tf.image.psnr(x, times(x, 0.5), 1.0), batch),
  ssim: of((x) => tf.image.ssim(x, times(x, 0.75), 1.0), batch, [2, null, 25, null]),
  ssimMap: of((x) => tf.image.ssim(x, times(x, 0.75), 1.0, { filterSize: 7, returnIndexMap: true }), corner(9, 8), [
    null,
    9,
    8,
    null,
  ]),
  ssimMultiscale: of((x) => tf.image.ssimMultiscale(x, times(x, 0.75), 1.0, { powerFactors: [0.3, 0.7] }), batch, [
    2,
    26,
    25,
    null,
  ]),
  sobelEdges: of((x) => tf.image.sobelEdges(x), corner(4, 5)),
  resizeBicubic: of((x) => tf.image.resizeImages(x, [7, 3], { method: tf.image.ResizeMethod.BICUBIC }), image),
  resizeArea: of((x) => tf.image.resizeImages(x, [2, 7], { method: tf.image.ResizeMethod.AREA }), image),
  nonMaxSuppression: of((x) => tf.image.nonMaxSuppression(x, scores, 3), boxes),
  nonMaxSuppressionPadded: of(
    (x) => tf.image.nonMaxSuppressionPadded(x, scores, 5, { padToMaxOutputSize: true }),
    boxes,
  ),
  nonMaxSuppressionWithScores: of(
    (x) => tf.image.nonMaxSuppressionWithScores(x, scores, 3, { softNmsSigma: 0.5 }),
    boxes,
  ),
  nonMaxSuppressionOverlaps: of(
    (x) => tf.image.nonMaxSuppressionOverlaps(x, scores, 3),
    new tf.NDArray(tf.float32, [3, 3], Float32Array.from([1, 0, 0, 0, 1, 0, 0, 0, 1])),
  ),
  combinedNonMaxSuppression: of(
    (x) => {
      const found = tf.image.combinedNonMaxSuppression(x, [[[0.5, 0.1], [0.75, 0.2], [0.25, 0.3]]], 2, 3); // biome-ignore format: a row for each box
      return [found.nmsedBoxes, found.nmsedScores, found.nmsedClasses, found.validDetections];
    },
    boxes.reshape([1, 3, 1, 4]),
  ),
  drawBoundingBoxes: of(
    (x) => tf.image.drawBoundingBoxes(x, [[[0.1, 0.2, 0.8, 0.9]]], { colors: [[1.0, 0.5, 0.25]] }),
    stacked(same),
  ),
  sampleDistortedBoundingBox: of(
    (x) => Object.values(tf.image.sampleDistortedBoundingBox([40, 50, 3], x, { seed: 3, seed2: 4 })),
    new tf.NDArray(tf.float32, [1, 1, 4], Float32Array.from(rows[2]!)),
  ),
  adjustJpegQuality: of((x) => tf.image.adjustJpegQuality(x, 75), image),
  decodeImage: of(
    (x) => tf.image.decodeImage(tf.image.encodePng(tf.cast(x, tf.uint8)), { dtype: tf.float32 }),
    scaled(100),
  ),
  isJpeg: of((x) => tf.image.isJpeg(tf.image.encodeJpeg(tf.cast(x, tf.uint8))), image),
  extractJpegShape: of((x) => tf.image.extractJpegShape(tf.image.encodeJpeg(tf.cast(x, tf.uint8))), image),
  readFile: of((x) => [tf.readFile('/dev/null'), tf.matchingFiles('/dev/nul?'), tf.size(x)], image),
};

describe('functions on images', () => {
  const golden = readGolden('imageFunctions');
  for (const [name, make] of Object.entries(cases)) it(name, () => expectAsInTensorFlow(golden[name]!, make));
});
