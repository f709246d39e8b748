/** @file SampleDistortedBoundingBox, with and without state: a random part of an image that shows enough of an object. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { fromElements, type NDArray } from '../../core/ndarray.ts';
import { type Dims, showRuntime } from '../../core/shape.ts';
import { type NamedTuple, namedTuple } from '../../graph/namedTuple.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { int32s } from '../../op/cases.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import { Philox } from '../../program/philox.ts';
import type { Value } from '../../program/value.ts';
import { ofRank } from '../array/common.ts';
import { seedAttrs } from '../random/distributions.ts';
import { hostGenerator } from '../random/hostGenerator.ts';
import { initialState, type Seeds } from '../random/seed.ts';
import { checkSeed, stateFromSeed } from '../random/stateless.ts';
import { none } from './suppression.ts';

const f = Math.fround;

/** Whole numbers from `left`, `top` to `right`, `bottom`. */
interface Rectangle {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

const areaOf = (r: Rectangle) => f((r.right - r.left) * (r.bottom - r.top));

/** A number below `n`, every one as likely as the others: words that would favour small ones are thrown away. */
function below(random: Philox, n: number): number {
  if ((n & (n - 1)) === 0) return (random.next() & (n - 1)) >>> 0;
  const skewed = (0xffffffff % n) + 1;
  for (;;) {
    const word = random.next();
    if (word >= skewed) return word % n;
  }
}

/** A number from 0 to 1 with 23 bits, as TensorFlow makes one of a word. */
const unit = (random: Philox) => f((random.next() & 0x7fffff) / 0x800000);

/** C's lrintf: to the nearest whole number, halves to the even one. */
function nearest(x: number): number {
  const low = Math.floor(x);
  const rest = x - low;
  return rest > 0.5 || (rest === 0.5 && low % 2 !== 0) ? low + 1 : low;
}

/** A random part of an image of a shape and size within limits; undefined when there is none. */
function randomCrop(
  width: number,
  height: number,
  area: readonly number[],
  ratio: number,
  random: Philox,
): Rectangle | undefined {
  if (area[1]! <= 0 || ratio <= 0 || width <= 0 || height <= 0 || area[0]! > area[1]!) return undefined;
  const [least, most] = area.map((share) => f(f(share * width) * height)) as [number, number]; // a pair
  let tall = nearest(f(Math.sqrt(f(least / ratio))));
  let tallest = nearest(f(Math.sqrt(f(most / ratio))));
  const across = (rows: number) => nearest(f(rows * ratio));
  if (across(tallest) > width) {
    tallest = Math.trunc((width + 0.5 - f(0.0000001)) / ratio);
    if (across(tallest) > width) tallest--;
  }
  tallest = Math.min(tallest, height);
  tall = Math.min(tall, tallest);
  if (tall < tallest) tall += below(random, tallest - tall + 1);
  let wide = across(tall);
  if (wide * tall < least) wide = across(++tall);
  if (wide * tall > most) wide = across(--tall);
  const size = wide * tall;
  if (size < least || size > most || wide > width || tall > height || wide <= 0 || tall <= 0) return undefined;
  const top = tall < height ? below(random, height - tall) : 0;
  const left = wide < width ? below(random, width - wide) : 0;
  return { left, top, right: left + wide, bottom: top + tall };
}

/** Whether a part of an image shows enough of at least one of the objects. */
function showsEnough(crop: Rectangle, share: number, objects: readonly Rectangle[]): boolean {
  if (areaOf(crop) < 1) return false;
  return objects.some((object) => {
    const area = areaOf(object);
    if (area < 1) return false;
    const common = {
      left: Math.max(crop.left, object.left),
      top: Math.max(crop.top, object.top),
      right: Math.min(crop.right, object.right),
      bottom: Math.min(crop.bottom, object.bottom),
    };
    const seen = common.left > common.right || common.top > common.bottom ? 0 : areaOf(common);
    return f(seen / area) >= share;
  });
}

interface Limits {
  readonly aspect_ratio_range: readonly number[];
  readonly area_range: readonly number[];
  readonly max_attempts: number;
  readonly use_image_if_no_bounding_boxes: boolean;
}

function checkLimits({ aspect_ratio_range: ratios, area_range: areas, max_attempts }: Limits): void {
  const pair = ([a, b]: readonly number[]) => `[${a}, ${b}]`;
  if (ratios.length !== 2) throw new InvalidArgumentError('Aspect ratio range field must specify 2 dimensions');
  if (!ratios.every((r) => r > 0))
    throw new InvalidArgumentError(`Aspect ratio range must be non-negative: ${pair(ratios)}`);
  if (areas.length !== 2) throw new InvalidArgumentError('Area range field must specify 2 dimensions');
  if (!areas.every((a) => a > 0)) throw new InvalidArgumentError(`Area range must be non-negative: ${pair(areas)}`);
  if (!areas.every((a) => a <= 1))
    throw new InvalidArgumentError(`Area range must be less then or equal to 1.0: ${pair(areas)}`);
  if (max_attempts <= 0) throw new InvalidArgumentError(`Max attempts must be non-negative: ${max_attempts}`);
}

function checkCovered(share: number): void {
  if (!(share >= 0)) throw new InvalidArgumentError(`Min object covered must be non-negative: ${share}`);
}

/** The objects in an image as rectangles of pixels. */
function objectsOf(boxes: NDArray, width: number, height: number): Rectangle[] {
  const flat = boxes.numbers();
  const wrong = flat.find((share) => !(share >= 0 && share <= 1));
  if (wrong !== undefined)
    throw new InvalidArgumentError(`All bounding box coordinates must be in [0.0, 1.0]: ${wrong}`);
  const place = (share: number, length: number) => Math.trunc(f(share * length));
  return Array.from({ length: flat.length / 4 }, (_, i) => {
    const [top, left, bottom, right] = flat.slice(4 * i, 4 * i + 4) as [number, number, number, number]; // four numbers each
    return {
      left: place(left, width),
      top: place(top, height),
      right: place(right, width),
      bottom: place(bottom, height),
    };
  });
}

/** `generator` gives the state to draw from; it is called when the rest has been checked. */
function lowerSample(
  p: ProgramBuilder,
  size: Value,
  boxes: Value,
  covered: Value | number,
  limits: Limits,
  generator: () => Value,
) {
  checkLimits(limits);
  if (size.shape.length !== 1)
    throw new InvalidArgumentError(`image_size must be 1-dimensional${showRuntime(size.shape)}`);
  if (size.shape[0] !== 3)
    throw new InvalidArgumentError(`image_size must contain 3 elements${showRuntime(size.shape)}`);
  if (boxes.shape.length !== 3) {
    throw new InvalidArgumentError(
      `input boxes must be 3-dimensional [batch, num_boxes, coords]: ${showRuntime(boxes.shape)}`,
    );
  }
  if (boxes.shape[2] !== 4) {
    throw new InvalidArgumentError(`bounding boxes must have shape [4] or [*, 4], got ${showRuntime(boxes.shape)}`);
  }
  const given = [generator(), size, boxes, ...(typeof covered === 'object' ? [covered] : [])];
  const results = [
    { dtype: size.dtype, shape: [3] },
    { dtype: size.dtype, shape: [3] },
    { dtype: d.float32, shape: [1, 1, 4] },
  ];
  const [begin, extent, bboxes] = p.host(given, results, (arrays) => {
    const [state, sizes, corners, least] = arrays as [NDArray, NDArray, NDArray, NDArray?]; // one for each of `given`
    const [height, width] = [sizes.numberAt(0), sizes.numberAt(1)];
    const share = typeof covered === 'number' ? covered : least!.numberAt(0);
    checkCovered(share);
    const objects = objectsOf(corners, width, height);
    const whole = { left: 0, top: 0, right: width, bottom: height };
    if (objects.length === 0 && !limits.use_image_if_no_bounding_boxes) {
      throw new InvalidArgumentError(
        'No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if you wish to not provide any bounding boxes.',
      );
    }
    const { bytes } = state;
    const random = new Philox(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), 0);
    const crop = sample(width, height, share, objects.length > 0 ? objects : [whole], limits, random) ?? whole;
    const shares = [crop.top / height, crop.left / width, crop.bottom / height, crop.right / width];
    return [
      fromElements(size.dtype, [3], numbersOf(size.dtype, [crop.top, crop.left, 0])),
      fromElements(size.dtype, [3], numbersOf(size.dtype, [crop.bottom - crop.top, crop.right - crop.left, -1])),
      fromElements(d.float32, [1, 1, 4], shares),
    ];
  });
  return { begin: begin!, size: extent!, bboxes: bboxes! };
}

/** Whole numbers as the type holds them; -1 becomes the largest one of a type without a sign. */
function numbersOf(dtype: d.DType, values: readonly number[]): readonly (number | bigint)[] {
  if (dtype === d.int64) return values.map(BigInt);
  return dtype === d.uint8 ? values.map((value) => value & 255) : values;
}

function sample(
  width: number,
  height: number,
  share: number,
  objects: readonly Rectangle[],
  limits: Limits,
  random: Philox,
): Rectangle | undefined {
  const [low, high] = limits.aspect_ratio_range.map(f) as [number, number]; // checked before
  for (let attempt = 0; attempt < limits.max_attempts; attempt++) {
    const ratio = f(f(unit(random) * f(high - low)) + low);
    const crop = randomCrop(width, height, limits.area_range.map(f), ratio, random);
    if (crop && showsEnough(crop, share, objects)) return crop;
  }
  return undefined;
}

function shapes(size: Dims, boxes: Dims) {
  const [count] = ofRank(size, 1, 'image_size');
  ofRank(boxes, 3, 'bounding_boxes');
  if (count !== null && count !== 3) throw new InvalidArgumentError(`image_size has ${count} numbers; it needs 3.`);
  return { begin: [3], size: [3], bboxes: [1, 1, 4] };
}

const limitAttrs = {
  aspect_ratio_range: attr('list(float)', { default: [0.75, 1.33] }),
  area_range: attr('list(float)', { default: [0.05, 1] }),
  max_attempts: attr('int', { default: 100 }),
  use_image_if_no_bounding_boxes: attr('bool', { default: false }),
};
/** The node's own generator; TensorFlow sets a block of four numbers aside for every attempt. */
const ownGenerator = (p: ProgramBuilder, attrs: Limits & Seeds) => () =>
  hostGenerator(p, () => initialState(attrs), attrs.max_attempts);
const sizeTypes = attr('type', { allowed: [d.uint8, d.int8, d.int16, d.int32, d.int64] });

const seeds = { seed: 3, seed2: 7 };
const image = { image_size: int32s([40, 50, 3]), bounding_boxes: [[[0.1, 0.2, 0.6, 0.7]]] };

export const SampleDistortedBoundingBox = defineOp({
  name: 'SampleDistortedBoundingBox',
  inputs: { image_size: 'T', bounding_boxes: 'float32' },
  outputs: { begin: 'T', size: 'T', bboxes: 'float32' },
  attrs: { T: sizeTypes, ...seedAttrs, min_object_covered: attr('float', { default: 0.1 }), ...limitAttrs },
  stateful: true,
  effects: 'draws',
  shape: ({ image_size, bounding_boxes }) => shapes(image_size, bounding_boxes),
  grad: none,
  lower(p, { image_size, bounding_boxes }, attrs) {
    checkCovered(attrs.min_object_covered);
    return lowerSample(p, image_size, bounding_boxes, attrs.min_object_covered, attrs, ownGenerator(p, attrs));
  },
  cases: () => [
    { shape: '[3], [1, ?, 4] -> [3], [3], [1, 1, 4]' },
    { given: image, attrs: seeds },
    { given: image, attrs: { ...seeds, area_range: [0.5, 2] }, fails: /Area range must be less then or equal to 1.0/ },
  ],
});

export const SampleDistortedBoundingBoxV2 = defineOp({
  name: 'SampleDistortedBoundingBoxV2',
  inputs: { image_size: 'T', bounding_boxes: 'float32', min_object_covered: 'float32' },
  outputs: { begin: 'T', size: 'T', bboxes: 'float32' },
  attrs: { T: sizeTypes, ...seedAttrs, ...limitAttrs },
  stateful: true,
  effects: 'draws',
  shape({ image_size, bounding_boxes, min_object_covered }) {
    ofRank(min_object_covered, 0, 'min_object_covered');
    return shapes(image_size, bounding_boxes);
  },
  grad: none,
  lower: (p, { image_size, bounding_boxes, min_object_covered }, attrs) =>
    lowerSample(p, image_size, bounding_boxes, min_object_covered, attrs, ownGenerator(p, attrs)),
  cases: () => [
    { shape: '[3], [1, ?, 4], [] -> [3], [3], [1, 1, 4]' },
    { given: { ...image, min_object_covered: 0.1 }, attrs: seeds },
    { given: { ...image, min_object_covered: 0.9 }, attrs: { ...seeds, aspect_ratio_range: [0.5, 2] } },
    { given: { ...image, min_object_covered: 0.5 }, attrs: { seed: 9, seed2: 2, area_range: [0.3, 0.6] } },
    {
      given: {
        image_size: int32s([9, 7, 1]),
        bounding_boxes: { dtype: 'float32', value: [], shape: [0, 0, 4] },
        min_object_covered: 0,
      },
      attrs: { ...seeds, use_image_if_no_bounding_boxes: true },
    },
    { given: { ...image, min_object_covered: -1 }, fails: /Min object covered must be non-negative: -1/ },
    {
      given: { ...image, bounding_boxes: [[[0, 0, 2, 1]]], min_object_covered: 0 },
      fails: /All bounding box coordinates must be in \[0.0, 1.0\]: 2/,
    },
  ],
});

const sampled = { ...image, min_object_covered: 0.1, seed: int32s([1, 2]) };

export const StatelessSampleDistortedBoundingBox = defineOp({
  name: 'StatelessSampleDistortedBoundingBox',
  inputs: { image_size: 'T', bounding_boxes: 'float32', min_object_covered: 'float32', seed: 'Tseed' },
  outputs: { begin: 'T', size: 'T', bboxes: 'float32' },
  attrs: { T: sizeTypes, Tseed: attr('type', { allowed: [d.int32, d.int64] }), ...limitAttrs },
  shape({ image_size, bounding_boxes, min_object_covered, seed }) {
    ofRank(min_object_covered, 0, 'min_object_covered');
    checkSeed(seed);
    return shapes(image_size, bounding_boxes);
  },
  grad: none,
  lower: (p, { image_size, bounding_boxes, min_object_covered, seed }, attrs) =>
    lowerSample(p, image_size, bounding_boxes, min_object_covered, attrs, () => stateFromSeed(p, seed)),
  cases: () => [
    { shape: '[3], [1, ?, 4], [], [2] -> [3], [3], [1, 1, 4]' },
    { shape: '[3], [1, ?, 4], [], [3]', rejects: /vector of two integers/ },
    {
      given: sampled,
      expect: { begin: int32s([12, 3, 0]), size: int32s([26, 32, -1]), bboxes: [[[0.3, 0.06, 0.95, 0.7]]] },
    },
    { given: { ...sampled, seed: { dtype: 'int64', value: [-7, 2 ** 40] } } },
    { given: { ...sampled, min_object_covered: 0.9 }, attrs: { aspect_ratio_range: [0.5, 2], area_range: [0.3, 0.9] } },
    {
      given: {
        ...sampled,
        image_size: { dtype: 'int64', value: [9, 7, 1] },
        bounding_boxes: { dtype: 'float32', value: [], shape: [0, 0, 4] },
      },
      attrs: { use_image_if_no_bounding_boxes: true },
    },
    { given: sampled, attrs: { max_attempts: 0 }, fails: /Max attempts must be non-negative: 0/ },
  ],
});

export interface SampleBoxOptions {
  readonly seed?: number | undefined;
  readonly seed2?: number | undefined;
  /** How much of an object must be seen; 0.1 unless given. */
  readonly minObjectCovered?: TensorLike | undefined;
  /** Width by height, from and to. */
  readonly aspectRatioRange?: readonly [number, number] | undefined;
  /** The share of the image, from and to. */
  readonly areaRange?: readonly [number, number] | undefined;
  readonly maxAttempts?: number | undefined;
  /** Takes the whole image for the object where there are no boxes. */
  readonly useImageIfNoBoundingBoxes?: boolean | undefined;
  readonly name?: string | undefined;
}

/**
 * A random part of an image that shows enough of one of the boxes: `begin` and `size` for `tf.slice`, and the part as a box
 * itself. Adds a `SampleDistortedBoundingBoxV2` node under `sample_distorted_bounding_box/`.
 */
export function sampleDistortedBoundingBox(
  imageSize: TensorLike,
  boundingBoxes: TensorLike,
  options: SampleBoxOptions = {},
): NamedTuple<{ begin: Tensor; size: Tensor; bboxes: Tensor }> {
  onlyOptions(
    'tf.image.sampleDistortedBoundingBox',
    options,
    ...(['seed', 'seed2', 'minObjectCovered', 'aspectRatioRange', 'areaRange', 'maxAttempts'] as const),
    ...(['useImageIfNoBoundingBoxes', 'name'] as const),
  );
  const attrs = {
    seed: options.seed ?? 0,
    seed2: options.seed2 ?? 0,
    aspect_ratio_range: options.aspectRatioRange ?? [0.75, 1.33],
    area_range: options.areaRange ?? [0.05, 1],
    max_attempts: options.maxAttempts ?? 100,
    use_image_if_no_bounding_boxes: options.useImageIfNoBoundingBoxes ?? false,
  };
  return nameScope(options.name ?? 'sample_distorted_bounding_box', () => {
    const inputs = {
      image_size: imageSize,
      bounding_boxes: boundingBoxes,
      min_object_covered: options.minObjectCovered ?? 0.1,
    };
    return namedTuple(SampleDistortedBoundingBoxV2.build(inputs, { name: options.name, attrs }));
  });
}
