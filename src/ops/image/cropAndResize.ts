/** @file CropAndResize and its gradients: boxes cut out of images and brought to one size. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError, OutOfRangeError } from '../../core/errors.ts';
import { isFullyDefined, type Shape, showRuntime, showShape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';
import { dimsFrom, mergeDim, ofRank } from '../array/common.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { shape as shapeOf } from '../array/shape.ts';
import { accumulated, demandSize, imageDims, pixels, sizeDims } from './sampling.ts';

const imageTypes = attr('type', {
  allowed: [d.uint8, d.uint16, d.int8, d.int16, d.int32, d.int64, d.float16, d.float32, d.float64],
});
const methods = attr('string', { choices: ['bilinear', 'nearest'], default: 'bilinear' });
const floatTypes: readonly d.DType[] = [d.float16, d.float32, d.float64];

/** The number of boxes, after TensorFlow's checks; `batch` is how many images they may name. */
function checkBoxes(p: ProgramBuilder, boxes: Value, boxInd: Value, batch: number): number {
  if (boxes.shape.includes(0) && boxInd.shape.includes(0)) return 0;
  if (boxes.shape.length !== 2) throw new InvalidArgumentError(`boxes must be 2-D${showRuntime(boxes.shape)}`);
  if (boxes.shape[1] !== 4) throw new InvalidArgumentError('boxes must have 4 columns');
  if (boxInd.shape.length !== 1) throw new InvalidArgumentError(`box_index must be 1-D${showRuntime(boxInd.shape)}`);
  if (boxInd.shape[0] !== boxes.shape[0]) throw new InvalidArgumentError('box_index has incompatible shape');
  p.check(
    p.map([boxInd], (i) => e.or(e.lt(i!, 0), e.ge(i!, batch))),
    () => new OutOfRangeError('box_index has values outside [0, batch_size)'),
  );
  return boxes.shape[0]!;
}

/** Source positions along one axis, `[boxes, count]`, and whether they lie outside the image. */
interface Axis {
  readonly at: Value;
  readonly outside: Value;
}

function axisOf(p: ProgramBuilder, boxes: Value, axis: 0 | 1, from: number, to: number): Axis {
  const count = boxes.shape[0]!;
  const edge = (i: number) => p.slice(boxes, [0, i], [count, 1]);
  const last = from - 1;
  const [at] = p.mapAll(
    [edge(axis), edge(axis + 2)],
    (begin, end) => {
      const [a, b] = [begin!, end!];
      if (to === 1) {
        const middle = e.mul(e.mul(e.cast(e.add(a, b), d.float64), 0.5), last);
        return [e.cast(middle, d.float32)];
      }
      const scale = e.div(e.mul(e.sub(b, a), last), to - 1);
      return [e.add(e.mul(a, last), e.mul(e.cast(e.index(1), d.float32), scale))];
    },
    [count, to],
  );
  return { at: at!, outside: p.map([at!], (x) => e.or(e.lt(x!, 0), e.gt(x!, last))) };
}

type Rounding = (x: e.Expr) => e.Expr;

/** The sampled pixels of all boxes: index tuples of corners, shares, and which pixels lie outside the image. */
class Samples {
  readonly outside: Value;
  readonly shareY: Value;
  readonly shareX: Value;
  private readonly grid: Shape;
  constructor(
    private readonly p: ProgramBuilder,
    private readonly boxInd: Value,
    private readonly y: Axis,
    private readonly x: Axis,
  ) {
    const [count, rows] = y.at.shape as [number, number]; // [boxes, rows]
    this.grid = [count, rows, x.at.shape[1]!];
    this.outside = p.map([this.tall(y.outside), this.wide(x.outside)], (a, b) => e.or(a!, b!));
    const share = (at: Value) => p.map([at], (v) => e.sub(v!, e.floor(v!)));
    this.shareY = p.reshape(share(y.at), [count, rows, 1, 1]);
    this.shareX = p.reshape(share(x.at), [count, 1, this.grid[2]!, 1]);
  }

  private tall(value: Value): Value {
    return this.p.reshape(value, [this.grid[0]!, this.grid[1]!, 1]);
  }
  private wide(value: Value): Value {
    return this.p.reshape(value, [this.grid[0]!, 1, this.grid[2]!]);
  }

  /** Index tuples after rounding both positions; those outside the image name no image. */
  tuples(roundY: Rounding, roundX: Rounding): Value {
    const { p } = this;
    const images = p.map([p.reshape(this.boxInd, [this.grid[0]!, 1, 1]), this.outside], (b, out) =>
      e.select(out!, -1, e.cast(b!, d.int64)),
    );
    const row = p.map([this.tall(this.y.at)], (v) => e.cast(roundY(v!), d.int64));
    const columns = p.map([this.wide(this.x.at)], (v) => e.cast(roundX(v!), d.int64));
    return pixels(p, this.grid, images, row, columns);
  }

  /** Pixels of the images in float32, zero outside. */
  read(image: Value, roundY: Rounding, roundX: Rounding): Value {
    const { p } = this;
    const tuples = this.tuples(roundY, roundX);
    const found = p.gather(p.reshape(image, [1, 1, ...image.shape]), p.reshape(tuples, [1, ...tuples.shape]), {
      bounds: 'zero',
    });
    return p.cast(p.reshape(found, [...this.grid, image.shape[3]!]), d.float32);
  }
}

function samplesOf(
  p: ProgramBuilder,
  boxes: Value,
  boxInd: Value,
  image: Shape,
  crop: readonly [number, number],
): Samples {
  const y = axisOf(p, boxes, 0, image[1]!, crop[0]);
  const x = axisOf(p, boxes, 1, image[2]!, crop[1]);
  return new Samples(p, boxInd, y, x);
}

/** C's `roundf`: halves go up, which is away from zero for the positions inside an image. */
const round = (x: e.Expr): e.Expr => e.floor(e.add(x, 0.5));

function checkImage(image: Shape): void {
  if (image.length !== 4) throw new InvalidArgumentError(`input image must be 4-D${showRuntime(image)}`);
  if (image[1]! <= 0 || image[2]! <= 0) throw new InvalidArgumentError('image dimensions must be positive');
}

const pixels9 = [[[[1], [2], [3]], [[4], [5], [7]], [[6], [8], [9]]]]; // biome-ignore format: one image of 3 x 3 pixels
const someBoxes = [[0.1, 0.2, 0.8, 0.9], [0.9, 0.8, 0.3, 0.1], [-0.4, 0.2, 0.7, 1.3]]; // biome-ignore format: rows
const ints = (...value: number[]) => ({ dtype: 'int32' as const, value });
const three = { image: pixels9, boxes: someBoxes, box_ind: ints(0, 0, 0) };

export const CropAndResize = defineOp({
  name: 'CropAndResize',
  inputs: { image: 'T', boxes: 'float32', box_ind: 'int32', crop_size: 'int32' },
  outputs: { crops: 'float32' },
  attrs: { T: imageTypes, method: methods, extrapolation_value: attr('float', { default: 0 }) },
  hostInputs: ['crop_size'],
  shape({ image, boxes, box_ind, crop_size }, _, context) {
    const [, , , channels] = imageDims(image, 'image');
    const [count, four] = ofRank(boxes, 2, 'boxes');
    if (four !== null && four !== 4)
      throw new InvalidArgumentError(`boxes is ${showShape(boxes)}, but has to have 4 columns: y1, x1, y2, x2.`);
    const all = mergeDim(count!, ofRank(box_ind, 1, 'box_ind')[0]!, 'the numbers of boxes and of box_ind');
    return { crops: [all, ...sizeDims(crop_size, context.partial('crop_size'), 'crop_size'), channels!] };
  },
  grad({ inputs: { image, boxes, box_ind }, attrs: { T, method } }, { crops: dy }) {
    const grads = denseGradient(dy);
    // Python makes the size inside the gradient op when it is known, and looks it up otherwise, whoever needs it.
    const size = isFullyDefined(image.shape) ? image.shape : shapeOf(image);
    const onImage = floatTypes.includes(T)
      ? CropAndResizeGradImage.build({ grads, boxes, box_ind, image_size: size }, { attrs: { T, method } }).output
      : null;
    return { image: onImage, boxes: CropAndResizeGradBoxes.build({ grads, image, boxes, box_ind }).output };
  },
  lower(p, { image, boxes, box_ind, crop_size }, { method, extrapolation_value }) {
    checkImage(image.shape);
    if (boxes.shape.length !== 2) throw new InvalidArgumentError(`boxes must be 2-D, got: ${showRuntime(boxes.shape)}`);
    if (box_ind.shape.length !== 1)
      throw new InvalidArgumentError(`box_indices must be rank 1 but is shape ${showRuntime(box_ind.shape)}`);
    if (crop_size.shape.length !== 1)
      throw new InvalidArgumentError(`crop_size must be 1-D${showRuntime(crop_size.shape)}`);
    const crop = demandSize(p, crop_size, 'crop_size');
    if (crop[0] <= 0 || crop[1] <= 0) throw new InvalidArgumentError('crop dimensions must be positive');
    const count = checkBoxes(p, boxes, box_ind, image.shape[0]!);
    if (count === 0) return { crops: p.fill(d.float32, [0, ...crop, image.shape[3]!], 0) };
    p.check(
      p.map([boxes], (x) => e.not(e.isfinite(x!))),
      () => new InvalidArgumentError('Boxes contains at least one element that is not finite'),
    );
    const samples = samplesOf(p, boxes, box_ind, image.shape, crop);
    const outside = p.reshape(samples.outside, [count, ...crop, 1]);
    const filler = Math.fround(extrapolation_value);
    if (method === 'nearest')
      return { crops: p.map([samples.read(image, round, round), outside], (x, out) => e.select(out!, filler, x!)) };
    const corners = [
      samples.read(image, e.floor, e.floor),
      samples.read(image, e.floor, e.ceil),
      samples.read(image, e.ceil, e.floor),
      samples.read(image, e.ceil, e.ceil),
    ];
    const crops = p.map(
      [...corners, samples.shareY, samples.shareX, outside],
      (topLeft, topRight, bottomLeft, bottomRight, sy, sx, out) => {
        const between = (a: e.Expr, b: e.Expr, share: e.Expr) => e.add(a, e.mul(e.sub(b, a), share));
        const top = between(topLeft!, topRight!, sx!);
        return e.select(out!, filler, between(top, between(bottomLeft!, bottomRight!, sx!), sy!));
      },
    );
    return { crops };
  },
  cases: () => [
    { shape: '[?, 8, 8, 3], [5, 4], [?], [2] -> [5, 2, 3, 3]', given: { crop_size: ints(2, 3) } },
    { shape: '?, ?, [5], [2] -> [5, ?, ?, ?]' },
    { shape: '[1, 8, 8, 3], [5, 3], [5], [2]', rejects: /4 columns/ },
    {
      given: { ...three, crop_size: ints(2, 2) },
      attrs: { extrapolation_value: -1 },
      expect: { crops: [[[[2], [3.56]], [[5.84], [7.92]]], [[[8.12], [5.96]], [[4.76], [3]]], [[[-1], [-1]], [[5.36], [-1]]]] },
    },
    { given: { ...three, crop_size: ints(3, 4) }, attrs: { method: 'nearest', extrapolation_value: 7 }, differentiable: false },
    { given: { ...three, crop_size: ints(1, 1) }, expect: { crops: [[[[4.89]]], [[[5.48]]], [[[3.55]]]] } },
    {
      given: { ...three, boxes: { dtype: 'float32', value: [], shape: [0, 4] }, box_ind: { dtype: 'int32', value: [], shape: [0] }, crop_size: ints(2, 2) },
      expect: { crops: { dtype: 'float32', value: [], shape: [0, 2, 2, 1] } },
    },
    { given: { ...three, box_ind: ints(0, 0, 1), crop_size: ints(2, 2) }, fails: /box_index has values outside \[0, batch_size\)/ },
    { given: { ...three, crop_size: ints(0, 2) }, fails: /crop dimensions must be positive/ },
    {
      given: { ...three, boxes: [[0, 0, Number.NaN, 1], [0, 0, 1, 1], [0, 0, 1, 1]], crop_size: ints(2, 2) },
      fails: /at least one element that is not finite/,
    },
  ], // biome-ignore format: boxes read better in rows
});

const incoming = [[[[1], [2]], [[3], [4]]], [[[5], [6]], [[7], [8]]], [[[-1], [0.5]], [[2], [-3]]]]; // biome-ignore format: 2 x 2 crops

export const CropAndResizeGradImage = defineOp({
  name: 'CropAndResizeGradImage',
  inputs: { grads: 'float32', boxes: 'float32', box_ind: 'int32', image_size: 'int32' },
  outputs: { output: 'T' },
  attrs: { T: attr('type', { allowed: [d.float32, d.float16, d.float64] }), method: methods },
  hostInputs: ['image_size'],
  shape: (_, __, context) => ({ output: ofRank(dimsFrom(context.partial('image_size')), 4, 'the image') }),
  grad: gradientPending('TensorFlow has none'),
  lower(p, { grads, boxes, box_ind, image_size }, { T, method }) {
    if (grads.shape.length !== 4) throw new InvalidArgumentError(`grads image must be 4-D${showRuntime(grads.shape)}`);
    const [count, height, width, channels] = grads.shape as [number, number, number, number]; // rank checked
    if (height === 0 || width === 0) throw new InvalidArgumentError('grads dimensions must be positive');
    if (image_size.shape.length !== 1)
      throw new InvalidArgumentError(`image_size must be 1-D${showRuntime(image_size.shape)}`);
    if (image_size.shape[0] !== 4)
      throw new InvalidArgumentError(`image_size must have 4 elements${showRuntime(image_size.shape)}`);
    const image = p.demandInts(image_size);
    if (checkBoxes(p, boxes, box_ind, image[0]!) !== count)
      throw new InvalidArgumentError('boxes and grads have incompatible shape');
    checkImage(image);
    if (image[3] !== channels) throw new InvalidArgumentError('image_size and grads are incompatible');
    if (count === 0) return { output: p.fill(T, image, 0) };
    const samples = samplesOf(p, boxes, box_ind, image, [height, width]);
    if (method === 'nearest')
      return { output: accumulated(p, image, [{ tuples: samples.tuples(round, round), updates: p.cast(grads, T) }]) };
    const corner = (y: Rounding, x: Rounding) => ({
      tuples: samples.tuples(y, x),
      updates: p.map([grads, samples.shareY, samples.shareX], (g, sy, sx) => {
        const weight = (share: e.Expr, side: Rounding) => (side === e.ceil ? share : e.sub(1, share));
        return e.cast(e.mul(weight(sx!, x), e.mul(weight(sy!, y), g!)), T);
      }),
    });
    const corners = [
      corner(e.floor, e.floor),
      corner(e.floor, e.ceil),
      corner(e.ceil, e.floor),
      corner(e.ceil, e.ceil),
    ];
    return { output: accumulated(p, image, corners) };
  },
  cases: () => {
    const given = { grads: incoming, boxes: someBoxes, box_ind: ints(0, 0, 0), image_size: ints(1, 3, 3, 1) };
    return [
      { shape: '[5, 2, 2, 3], [5, 4], [5], [4] -> [1, 8, 8, 3]', given: { image_size: ints(1, 8, 8, 3) }, attrs: { T: d.float32 } },
      { shape: '[5, 2, 2, 3], [5, 4], [5], [4] -> [?, ?, ?, ?]', attrs: { T: d.float32 } },
      { given, attrs: { T: d.float32 }, expect: { output: [[[[3.04], [2.4], [2.96]], [[6.36], [4.72], [4.72]], [[5.4], [4.08], [4.32]]]] } },
      { given, attrs: { T: d.float64, method: 'nearest' } },
      { given: { ...given, image_size: ints(1, 3, 3, 2) }, attrs: { T: d.float32 }, fails: /image_size and grads are incompatible/ },
    ]; // biome-ignore format: a table reads better in rows
  },
});

export const CropAndResizeGradBoxes = defineOp({
  name: 'CropAndResizeGradBoxes',
  inputs: { grads: 'float32', image: 'T', boxes: 'float32', box_ind: 'int32' },
  outputs: { output: 'float32' },
  attrs: { T: imageTypes, method: attr('string', { choices: ['bilinear'], default: 'bilinear' }) },
  shape: ({ boxes }) => ({ output: boxes }),
  grad: gradientPending('TensorFlow has none'),
  lower(p, { grads, image, boxes, box_ind }) {
    if (grads.shape.length !== 4) throw new InvalidArgumentError(`grads image must be 4-D${showRuntime(grads.shape)}`);
    const [count, height, width, channels] = grads.shape as [number, number, number, number]; // rank checked
    if (height === 0 || width === 0) throw new InvalidArgumentError('grads dimensions must be positive');
    checkImage(image.shape);
    if (image.shape[3] !== channels) throw new InvalidArgumentError('image, grads depth differ');
    if (checkBoxes(p, boxes, box_ind, image.shape[0]!) !== count)
      throw new InvalidArgumentError('boxes and grads have incompatible shape');
    if (count === 0) return { output: p.fill(d.float32, [0, 4], 0) };
    const samples = samplesOf(p, boxes, box_ind, image.shape, [height, width]);
    const corners = [
      samples.read(image, e.floor, e.floor),
      samples.read(image, e.floor, e.ceil),
      samples.read(image, e.ceil, e.floor),
      samples.read(image, e.ceil, e.ceil),
    ];
    /** How much of a move of the box's second edge each sampled position along an axis makes; the first edge has the rest. */
    const share = (axis: 1 | 2, size: number, from: number): e.Expr =>
      size === 1
        ? e.constant(0.5 * (from - 1), d.float32)
        : e.mul(e.cast(e.index(axis), d.float32), Math.fround((from - 1) / (size - 1)));
    const [y1, x1, y2, x2] = p
      .mapAll(
        [grads, ...corners, samples.shareY, samples.shareX],
        (g, topLeft, topRight, bottomLeft, bottomRight, sy, sx) => {
          const mix = (a: e.Expr, b: e.Expr, s: e.Expr) => e.add(e.mul(e.sub(1, s), a), e.mul(s, b));
          const slopeY = e.mul(mix(e.sub(bottomLeft!, topLeft!), e.sub(bottomRight!, topRight!), sx!), g!);
          const slopeX = e.mul(mix(e.sub(topRight!, topLeft!), e.sub(bottomRight!, bottomLeft!), sy!), g!);
          const [alongY, alongX] = [share(1, height, image.shape[1]!), share(2, width, image.shape[2]!)];
          return [
            e.mul(slopeY, e.sub(image.shape[1]! - 1, alongY)),
            e.mul(slopeX, e.sub(image.shape[2]! - 1, alongX)),
            e.mul(slopeY, alongY),
            e.mul(slopeX, alongX),
          ];
        },
        grads.shape,
      )
      .map((part) => p.reduce('sum', part, [1, 2, 3]));
    const columns = [y1!, x1!, y2!, x2!].map((v) => p.reshape(v, [count, 1]));
    return { output: p.concat(columns, 1) };
  },
  cases: () => {
    const given = { ...three, grads: incoming };
    return [
      { shape: '[5, 2, 2, 3], [1, 8, 8, 3], [5, 4], [5] -> [5, 4]' },
      {
        given,
        expect: {
          output: [
            [21.2, 11.6, 32, 16],
            [50.4, 34.4, 98.4, 37.6],
            [0, 5.6, 9.6, 0],
          ],
        },
      },
      { given: { ...given, grads: [[[[2]]], [[[3]]], [[[-1]]]] } },
      { given: { ...given, grads: [[[[2, 1]]], [[[3, 1]]], [[[-1, 1]]]] }, fails: /image, grads depth differ/ },
    ];
  },
});

export interface CropAndResizeOptions {
  readonly method?: 'bilinear' | 'nearest' | undefined;
  /** The value of pixels outside the image. */
  readonly extrapolationValue?: number | undefined;
  readonly name?: string | undefined;
}

/**
 * Boxes `[y1, x1, y2, x2]` (0 to 1 across the image) cut out of images and brought to one size. Adds one `CropAndResize`
 * node.
 *
 * @example tf.image.cropAndResize(images, [[0, 0, 0.5, 0.5]], [0], [24, 24])
 */
export function cropAndResize(
  image: TensorLike,
  boxes: TensorLike,
  boxInd: TensorLike,
  cropSize: TensorLike,
  options: CropAndResizeOptions = {},
): Tensor {
  onlyOptions('tf.image.cropAndResize', options, 'method', 'extrapolationValue', 'name');
  const { method = 'bilinear', extrapolationValue = 0, name } = options;
  const attrs = { method, extrapolation_value: extrapolationValue };
  return CropAndResize.build({ image, boxes, box_ind: boxInd, crop_size: cropSize }, { name, attrs }).crops;
}
