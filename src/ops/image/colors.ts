/** @file Ops on the colours of images: contrast, hue, saturation, and the HSV colour space. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, type Shape, showRuntime, showShape } from '../../core/shape.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, gradientPending, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { rgbToHsvGradient } from './colorGradient.ts';

type Color = readonly [e.Expr, e.Expr, e.Expr];

const singles = attr('type', { allowed: [d.float16, d.float32], default: d.float32 });
const floats = attr('type', { allowed: [d.float16, d.bfloat16, d.float32, d.float64], default: d.float32 });

function atLeast3(images: Dims): Dims {
  if (images !== null && images.length < 3)
    throw new InvalidArgumentError(
      `images is ${showShape(images)}, but rank 3 or more is needed: [..., height, width, channels].`,
    );
  return images;
}

/** A new colour for every pixel, computed in `dtype`; `rest` are scalars that take part. */
function recolor(
  p: ProgramBuilder,
  images: Value,
  dtype: d.DType,
  body: (color: Color, ...rest: e.Expr[]) => Color,
  rest: readonly Value[] = [],
): Value {
  const pixels: Shape = images.shape.slice(0, -1);
  const result = p.temp(images.dtype, images.shape);
  const channel = (of: Value, i: number) => p.slice(of, [...pixels.map(() => 0), i], [...pixels, 1]);
  p.mapInto(
    [channel(images, 0), channel(images, 1), channel(images, 2), ...rest],
    (r, g, b, ...others) => {
      const wide = [r!, g!, b!].map((x) => e.cast(x, dtype)) as [e.Expr, e.Expr, e.Expr]; // three stay three
      return body(wide, ...others).map((x) => e.cast(x, images.dtype));
    },
    [...pixels, 1],
    [channel(result, 0), channel(result, 1), channel(result, 2)],
  );
  return result;
}

/** TensorFlow's checks of an image and the scalar beside it. */
function checkColors(images: Shape, scalar: Shape, port: string): void {
  if (images.length < 3) throw new InvalidArgumentError(`input must be at least 3-D, got shape${showRuntime(images)}`);
  if (scalar.length !== 0) throw new InvalidArgumentError(`${port} must be scalar: ${showRuntime(scalar)}`);
  if (images.at(-1) !== 3)
    throw new InvalidArgumentError(`input must have 3 channels but instead has ${images.at(-1)} channels.`);
}

const firstOf = (choices: readonly (readonly [e.Expr, e.ExprLike])[], otherwise: e.Expr): e.Expr =>
  [...choices].reverse().reduce((rest, [condition, value]) => e.select(condition, value, rest), otherwise);

/** Hue from 0 to 6, and the smallest and largest part. */
function hueAndRange([r, g, b]: Color): { hue: e.Expr; low: e.Expr; high: e.Expr } {
  const high = e.max(r, e.max(g, b));
  const low = e.min(r, e.min(g, b));
  const mid = firstOf(
    [
      [e.and(e.lt(r, g), e.lt(b, r)), r],
      [e.and(e.lt(r, g), e.gt(b, g)), g],
      [e.lt(r, g), b],
      [e.lt(b, g), g],
      [e.gt(b, r), r],
    ],
    b,
  );
  const ratio = e.div(e.sub(mid, low), e.sub(high, low));
  const falling = e.sub(1, ratio);
  const sector = firstOf(
    [
      [e.and(e.lt(r, g), e.lt(b, r)), e.add(falling, 1)],
      [e.and(e.lt(r, g), e.gt(b, g)), e.add(falling, 3)],
      [e.lt(r, g), e.add(ratio, 2)],
      [e.lt(b, g), ratio],
      [e.gt(b, r), e.add(ratio, 4)],
    ],
    e.add(falling, 5),
  );
  return { hue: e.select(e.eq(high, low), 0, sector), low, high };
}

/** The opposite of `hueAndRange`. */
function fromHueAndRange(hue: e.Expr, low: e.Expr, high: e.Expr): Color {
  const sector = e.floor(hue);
  const rest = e.sub(hue, sector);
  const odd = e.eq(e.floormod(sector, 2), 1);
  const middle = e.add(low, e.mul(e.select(odd, e.sub(1, rest), rest), e.sub(high, low)));
  const at = (...values: readonly e.Expr[]) =>
    firstOf(
      values.slice(0, 5).map((value, i) => [e.eq(sector, i), value] as const),
      values[5]!,
    );
  return [
    at(high, middle, low, low, middle, high),
    at(middle, high, high, middle, low, low),
    at(low, low, middle, high, high, middle),
  ];
}

const turn = 6;
/** An angle brought back to [0, 6), with TensorFlow's roundings for angles near that range. */
function wrapped(angle: e.Expr): e.Expr {
  const far = e.or(e.lt(angle, -turn), e.ge(angle, 2 * turn));
  const near = e.select(far, e.floormod(angle, turn), angle);
  const positive = e.select(e.lt(near, 0), e.add(near, turn), near);
  return e.select(e.ge(positive, turn), e.sub(positive, turn), positive);
}

/** Hue, saturation and value, each from 0 to 1. */
function toHsv([r, g, b]: Color): Color {
  const value = e.max(e.max(r, g), b);
  const range = e.sub(value, e.min(e.min(r, g), b));
  const saturation = e.select(e.gt(value, 0), e.div(range, value), 0);
  const unit = e.mul(e.reciprocal(range), e.constant(1 / 6, range.dtype));
  const raw = firstOf(
    [
      [e.eq(r, value), e.mul(unit, e.sub(g, b))],
      [e.eq(g, value), e.add(e.mul(unit, e.sub(b, r)), 2 / 6)],
    ],
    e.add(e.mul(unit, e.sub(r, g)), 4 / 6),
  );
  const hue = e.select(e.gt(range, 0), raw, 0);
  return [e.select(e.lt(hue, 0), e.add(hue, 1), hue), saturation, value];
}

/** Colour parts from hue, saturation and value. */
function toRgb([h, s, v]: Color): Color {
  const angle = e.mul(h, 6);
  const clamp = (x: e.Expr) => e.min(e.max(x, 0), 1);
  const away = (x: number) => e.abs(e.sub(angle, x));
  const part = (x: e.Expr) => e.mul(e.add(e.sub(1, s), e.mul(s, clamp(x))), v);
  return [part(e.sub(away(3), 1)), part(e.sub(2, away(2))), part(e.sub(2, away(4)))];
}

/** The saturation times a factor, cut to [0, 1]; hue and value stay. */
function saturated(color: Color, factor: e.Expr): Color {
  const [h, s, v] = toHsv(color);
  const chroma = e.mul(e.min(1, e.max(0, e.mul(s, factor))), v);
  const floor = e.sub(v, chroma);
  const angle = e.mul(h, 6);
  const second = e.mul(chroma, e.sub(1, e.abs(e.sub(e.floormod(angle, 2), 1))));
  const sector = e.floor(angle);
  const zero = e.constant(0, d.float32);
  const at = (...values: readonly e.Expr[]) =>
    e.add(
      firstOf(
        values.map((value, i) => [e.eq(sector, i), value] as const),
        zero,
      ),
      floor,
    );
  return [
    at(chroma, second, zero, zero, second, chroma),
    at(second, chroma, chroma, second, zero, zero),
    at(zero, zero, second, chroma, chroma, second),
  ];
}

const dots = [[[1, 0.5, 0.25], [0.25, 1, 0.5]], [[0.5, 0.25, 1], [0.2, 0.9, 0.1]], [[0.3, 0.1, 0.7], [0.6, 0.6, 0.6]]]; // biome-ignore format: 3 x 2 pixels

export const AdjustContrastv2 = defineOp({
  name: 'AdjustContrastv2',
  inputs: { images: 'T', contrast_factor: 'float32' },
  outputs: { output: 'T' },
  attrs: { T: singles },
  shape({ images, contrast_factor }) {
    if (contrast_factor !== null && contrast_factor.length !== 0)
      throw new InvalidArgumentError(`contrast_factor is ${showShape(contrast_factor)}, but must be a scalar.`);
    return { output: atLeast3(images) };
  },
  grad: gradientPending('TensorFlow has none'),
  lower(p, { images, contrast_factor }) {
    const rank = images.shape.length;
    if (rank < 3) throw new InvalidArgumentError(`input must be at least 3-D, got shape${showRuntime(images.shape)}`);
    if (contrast_factor.shape.length !== 0)
      throw new InvalidArgumentError(`contrast_factor must be scalar: ${showRuntime(contrast_factor.shape)}`);
    const pixels = images.shape[rank - 3]! * images.shape[rank - 2]!;
    const sum = p.reduce('sum', images, [rank - 3, rank - 2], { of: (x) => e.cast(x, d.float32), keepDims: true });
    const output = p.map([images, sum, contrast_factor], (x, total, factor) => {
      const mean = e.div(total!, pixels);
      return e.cast(e.add(mean, e.mul(e.sub(e.cast(x!, d.float32), mean), factor!)), images.dtype);
    });
    return { output };
  },
  cases: () => [
    { shape: '[?, 4, 4, 3], [] -> [?, 4, 4, 3]' },
    { shape: '[4, 3], []', rejects: /rank 3 or more/ },
    {
      given: { images: [[[1, 2], [3, 6]], [[5, 0], [7, 4]]], contrast_factor: 2 },
      expect: { output: [[[-2, 1], [2, 9]], [[6, -3], [10, 5]]] },
    },
    { given: { images: [[[[1], [3]]], [[[2], [8]]]], contrast_factor: 0.5 }, expect: { output: [[[[1.5], [2.5]]], [[[3.5], [6.5]]]] } },
    { given: { images: { dtype: 'float32', value: [], shape: [0, 2, 2, 3] }, contrast_factor: 0.5 } },
  ], // biome-ignore format: images read better in rows
});

export const AdjustHue = defineOp({
  name: 'AdjustHue',
  inputs: { images: 'T', delta: 'float32' },
  outputs: { output: 'T' },
  attrs: { T: singles },
  shape: ({ images }) => ({ output: atLeast3(images) }),
  grad: gradientPending('TensorFlow has none'),
  lower(p, { images, delta }) {
    checkColors(images.shape, delta.shape, 'delta');
    const shifted = (color: Color, by: e.Expr): Color => {
      const { hue, low, high } = hueAndRange(color);
      return fromHueAndRange(wrapped(e.add(hue, e.mul(by, turn))), low, high);
    };
    return { output: recolor(p, images, d.float32, (color, by) => shifted(color, by!), [delta]) };
  },
  cases: () => [
    { shape: '[?, 4, 4, 3], [] -> [?, 4, 4, 3]' },
    { given: { images: dots, delta: 0.25 } },
    { given: { images: dots, delta: -0.9 } },
    { given: { images: [[[1, 0.5, 0.25]]], delta: 0 }, expect: { output: [[[1, 0.5, 0.25]]] } },
    { given: { images: [[[1, 0.5]]], delta: 0 }, fails: /must have 3 channels but instead has 2 channels/ },
    { given: { images: [[[1, 0.5, 1]]], delta: [0] }, fails: /delta must be scalar/ },
  ],
});

export const AdjustSaturation = defineOp({
  name: 'AdjustSaturation',
  inputs: { images: 'T', scale: 'float32' },
  outputs: { output: 'T' },
  attrs: { T: singles },
  shape: ({ images }) => ({ output: atLeast3(images) }),
  grad: gradientPending('TensorFlow has none'),
  lower(p, { images, scale }) {
    checkColors(images.shape, scale.shape, 'scale');
    return { output: recolor(p, images, d.float32, (color, factor) => saturated(color, factor!), [scale]) };
  },
  cases: () => [
    { shape: '[?, 4, 4, 3], [] -> [?, 4, 4, 3]' },
    { given: { images: [[[1, 0.5, 0.25]]], scale: 0.5 }, expect: { output: [[[1, 0.75, 0.625]]] } },
    { given: { images: dots, scale: 2 } },
    { given: { images: dots, scale: -1 } },
    { given: { images: [[[1, 0.5]]], scale: 0 }, fails: /must have 3 channels but instead has 2 channels/ },
  ],
});

function colorShape(images: Dims): Dims {
  if (images?.length === 0)
    throw new InvalidArgumentError('images is a scalar, but its last axis must hold 3 channels.');
  const channels = images?.at(-1) ?? null;
  if (channels !== null && channels !== 3)
    throw new InvalidArgumentError(`images is ${showShape(images)}, so it has ${channels} channels; 3 are needed.`);
  return images && [...images.slice(0, -1), 3];
}

function checkThree(images: Shape): void {
  if (images.length < 1) throw new InvalidArgumentError(`input must be at least 1D${showRuntime(images)}`);
  if (images.at(-1) !== 3)
    throw new InvalidArgumentError(`input must have 3 channels but input only has ${images.at(-1)} channels.`);
}

export const RGBToHSV = defineOp({
  name: 'RGBToHSV',
  inputs: { images: 'T' },
  outputs: { output: 'T' },
  attrs: { T: floats },
  shape: ({ images }) => ({ output: colorShape(images) }),
  grad: ({ inputs, outputs }, { output: dy }) => ({
    images: rgbToHsvGradient(inputs.images, outputs.output, denseGradient(dy)),
  }),
  lower(p, { images }, { T }) {
    checkThree(images.shape);
    return { output: recolor(p, images, T, toHsv) };
  },
  cases: () => [
    { shape: '[2, ?] -> [2, 3]' },
    { shape: '[2, 4]', rejects: /it has 4 channels; 3 are needed/ },
    { given: { images: [[1, 0.5, 0.25], [0.1, 0.25, 1]] }, expect: { output: [[0.055555556, 0.75, 1], [0.6388889, 0.9, 1]] }, differentiable: 'once' },
    // TensorFlow's gradient of the hue is that of another arrangement at places; only the values are compared.
    { given: { images: dots }, differentiable: false },
  ], // biome-ignore format: colours read better in rows
});

export const HSVToRGB = defineOp({
  name: 'HSVToRGB',
  inputs: { images: 'T' },
  outputs: { output: 'T' },
  attrs: { T: floats },
  shape: ({ images }) => ({ output: colorShape(images) }),
  grad: notDifferentiable,
  lower(p, { images }, { T }) {
    checkThree(images.shape);
    return { output: recolor(p, images, T, toRgb) };
  },
  cases: () => [
    { shape: '? -> ?' },
    { shape: '[2, ?] -> [2, 3]' },
    { given: { images: [[0.25, 0.5, 1], [0.75, 1, 0.5]] }, expect: { output: [[0.75, 1, 0.5], [0.25, 0, 0.5]] } },
    { given: { images: dots } },
  ], // biome-ignore format: colours read better in rows
});

/**
 * Hue, saturation and value of every pixel; all parts lie between 0 and 1. Adds one `RGBToHSV` node.
 *
 * @example tf.image.rgbToHsv([[1, 0.5, 0.25]]) // runs to [[0.05555556 0.75       1.        ]]
 */
export function rgbToHsv(images: TensorLike, options: { name?: string } = {}): Tensor {
  return RGBToHSV.build({ images }, options).output;
}

/**
 * Red, green and blue of every pixel; all parts lie between 0 and 1. Adds one `HSVToRGB` node.
 *
 * @example tf.image.hsvToRgb([[0.25, 0.5, 1]]) // runs to [[0.75 1.   0.5 ]]
 */
export function hsvToRgb(images: TensorLike, options: { name?: string } = {}): Tensor {
  return HSVToRGB.build({ images }, options).output;
}
