/** @file DrawBoundingBoxes: frames drawn into images. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { type NDArray, storeElement } from '../../core/ndarray.ts';
import { type Dims, showRuntime } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { HostCall } from '../../program/instructions.ts';
import type { Value } from '../../program/value.ts';
import { ofRank } from '../array/common.ts';
import { none } from './suppression.ts';

const halfOrFloat = attr('type', { allowed: [d.float16, d.float32], default: d.float32 });

/** Yellow, blue, red, lime, purple, olive, maroon, navy blue, aqua and fuchsia, by turns. */
const defaultColors = [
  [1, 1, 0, 1],
  [0, 0, 1, 1],
  [1, 0, 0, 1],
  [0, 1, 0, 1],
  [0.5, 0, 0.5, 1],
  [0.5, 0.5, 0, 1],
  [0.5, 0, 0, 1],
  [0, 0, 0.5, 1],
  [0, 1, 1, 1],
  [1, 0, 1, 1],
];

function shapeOf(images: Dims, boxes: Dims): Dims {
  const dims = ofRank(images, 4, 'images');
  ofRank(boxes, 3, 'boxes');
  return dims;
}

/** Draws the frame of one box; parts of it may lie outside the image. */
function draw(
  image: d.TypedArray,
  shape: readonly [number, number, number],
  box: readonly number[],
  color: readonly number[],
  dtype: d.DType,
): void {
  const [height, width, depth] = shape;
  const place = (share: number, length: number) => Math.trunc(Math.fround(share * (length - 1)));
  const [top, left] = [place(box[0]!, height), place(box[1]!, width)];
  const [bottom, right] = [place(box[2]!, height), place(box[3]!, width)];
  if (top > bottom || left > right || top >= height || bottom < 0 || left >= width || right < 0) return;
  const paint = (y: number, x: number) => {
    for (let c = 0; c < depth; c++) storeElement(dtype, image, (y * width + x) * depth + c, color[c]!);
  };
  const [from, to] = [Math.max(left, 0), Math.min(right, width - 1)];
  for (const y of [top, bottom]) if (y >= 0 && y < height) for (let x = from; x <= to; x++) paint(y, x);
  const [first, last] = [Math.max(top, 0), Math.min(bottom, height - 1)];
  for (const x of [left, right]) if (x >= 0 && x < width) for (let y = first; y <= last; y++) paint(y, x);
}

function lowerDrawing(p: ProgramBuilder, images: Value, boxes: Value, colors: Value | undefined): Value {
  const { shape, dtype } = images;
  if (shape.length !== 4) throw new InvalidArgumentError('The rank of the images should be 4');
  if (boxes.shape.length !== 3) throw new InvalidArgumentError('The rank of the boxes tensor should be 3');
  if (shape[0] !== boxes.shape[0]) throw new InvalidArgumentError('The batch sizes should be the same');
  const [count, height, width, depth] = shape as readonly [number, number, number, number]; // of rank 4
  if (depth !== 1 && depth !== 3 && depth !== 4) {
    throw new InvalidArgumentError('Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)');
  }
  if (boxes.shape[2] !== 4) {
    throw new InvalidArgumentError(`The size of the third dimension of the box must be 4. Received: ${boxes.shape[2]}`);
  }
  if (colors && colors.shape.length !== 2) {
    throw new InvalidArgumentError(`colors must be a 2-D matrix${showRuntime(colors.shape)}`);
  }
  if (colors && colors.shape[1]! < depth) {
    throw new InvalidArgumentError(
      `colors must have equal or more channels than the image provided: ${showRuntime(colors.shape)}`,
    );
  }
  const given = [images, boxes, ...(colors ? [colors] : [])];
  const draws: HostCall = async (arrays) => {
    const [pictures, corners, palette] = arrays as [NDArray, NDArray, NDArray?]; // one for each of `given`
    const own = palette && palette.size > 0 ? palette : undefined;
    const table = own
      ? Array.from({ length: own.shape[0]! }, (_, i) =>
          Array.from({ length: depth }, (_, c) => own.numberAt(i * own.shape[1]! + c)),
        )
      : defaultColors.map((color) => (depth === 1 ? [1] : color));
    const drawn = pictures.copy();
    const pixels = drawn.data;
    const flat = corners.numbers();
    const perImage = boxes.shape[1]!;
    const size = height * width * depth;
    const drawBox = (at: number) => {
      const image = Math.floor(at / perImage);
      const color = table[(at % perImage) % table.length]!;
      const own = pixels.subarray(image * size, (image + 1) * size);
      draw(own, [height, width, depth], flat.slice(4 * at, 4 * at + 4), color, dtype);
    };
    await eachInTurns(count * perImage, drawBox, 4);
    return [drawn];
  };
  return p.host(given, [{ dtype, shape }], draws, { borrows: true, isFresh: true })[0]!;
}

const blank = [[[[0], [0], [0]], [[0], [0], [0]], [[0], [0], [0]]]]; // biome-ignore format: one image of 3 x 3 pixels
const frame = (v: number) => [[[[v], [v], [v]], [[v], [0], [v]], [[v], [v], [v]]]]; // biome-ignore format: as above

export const DrawBoundingBoxes = defineOp({
  name: 'DrawBoundingBoxes',
  inputs: { images: 'T', boxes: 'float32' },
  outputs: { output: 'T' },
  attrs: { T: halfOrFloat },
  shape: ({ images, boxes }) => ({ output: shapeOf(images, boxes) }),
  grad: none,
  lower: (p, { images, boxes }) => ({ output: lowerDrawing(p, images, boxes, undefined) }),
  cases: () => [
    { shape: '[1, 3, 3, 1], [1, ?, 4] -> [1, 3, 3, 1]' },
    { shape: '[3, 3, 1], [1, 1, 4]', rejects: /images/ },
    { given: { images: blank, boxes: [[[0, 0, 1, 1]]] }, expect: { output: frame(1) } },
    { given: { images: blank, boxes: [[[-0.6, 0.5, 0.4, 2]]] }, expect: { output: [[[[0], [1], [1]], [[0], [0], [0]], [[0], [0], [0]]]] } }, // biome-ignore format: as above
    { given: { images: blank, boxes: [[[0.9, 0, 0.1, 1]]] }, expect: { output: blank } },
    { given: { images: blank, boxes: [[[0, 0, 1, 1]], [[0, 0, 1, 1]]] }, fails: /The batch sizes should be the same/ },
  ],
});

export const DrawBoundingBoxesV2 = defineOp({
  name: 'DrawBoundingBoxesV2',
  inputs: { images: 'T', boxes: 'float32', colors: 'float32' },
  outputs: { output: 'T' },
  attrs: { T: halfOrFloat },
  shape: ({ images, boxes }) => ({ output: shapeOf(images, boxes) }),
  grad: none,
  lower: (p, { images, boxes, colors }) => ({ output: lowerDrawing(p, images, boxes, colors) }),
  cases: () => [
    { shape: '[1, 3, 3, 1], [1, ?, 4], [2, 4] -> [1, 3, 3, 1]' },
    { given: { images: blank, boxes: [[[0, 0, 1, 1]]], colors: [[0.5]] }, expect: { output: frame(0.5) } },
    { given: { images: blank, boxes: [[[0, 0, 1, 1]]], colors: [0.5] }, fails: /colors must be a 2-D matrix/ },
  ],
});

/**
 * Images with frames around boxes, each given as top, left, bottom and right from 0 to 1. Adds a `DrawBoundingBoxes` node,
 * or `DrawBoundingBoxesV2` where colors are given.
 *
 * @example tf.image.drawBoundingBoxes(tf.zeros([1, 2, 2, 1]), [[[0, 0, 0, 1]]]) // runs to [[[[1.] [1.]] [[0.] [0.]]]]
 */
export function drawBoundingBoxes(
  images: TensorLike,
  boxes: TensorLike,
  options: { readonly colors?: TensorLike | undefined; readonly name?: string | undefined } = {},
): Tensor {
  const { colors, name } = onlyOptions('tf.image.drawBoundingBoxes', options, 'colors', 'name');
  if (colors === undefined) return DrawBoundingBoxes.build({ images, boxes }, { name }).output;
  return DrawBoundingBoxesV2.build({ images, boxes, colors }, { name }).output;
}
