/** @file ImageProjectiveTransform: pixels taken from where a projective map sends their positions. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, type Shape, showRuntime } from '../../core/shape.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import { outputOf } from '../../op/node.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';
import { ofRank } from '../array/common.ts';
import { concat } from '../array/concat.ts';
import { constant } from '../array/constant.ts';
import { ones } from '../array/fill.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { reshape } from '../array/reshape.ts';
import { shape as shapeOf } from '../array/shape.ts';
import { matrixInverse } from '../math/linalg.ts';
import { checkCount, demandSize, imageDims, pixels, sizeDims } from './sampling.ts';

const transformAttrs = {
  dtype: attr('type', { allowed: [d.uint8, d.int32, d.int64, d.float16, d.bfloat16, d.float32, d.float64] }),
  interpolation: attr('string'),
  fill_mode: attr('string', { default: 'CONSTANT' }),
} as const;

/** Positions along an axis brought into the image, in the way of a fill mode. */
const mappings: Readonly<Record<string, (at: e.Expr, length: number) => e.Expr>> = {
  CONSTANT: (at) => at,
  NEAREST: clamped,
  // [abcd] goes on as [dcba|abcd|dcba].
  REFLECT(at, length) {
    if (length <= 1) return e.mul(at, 0);
    const whole = 2 * length;
    const below = e.add(e.mul(e.floor(e.div(e.neg(at), whole)), whole), at);
    const folded = e.select(e.lt(below, -length), e.add(below, whole), e.sub(e.neg(below), 1));
    const above = e.sub(at, e.mul(e.floor(e.div(at, whole)), whole));
    const back = e.select(e.ge(above, length), e.sub(e.sub(e.constant(whole, d.float32), above), 1), above);
    return clamped(e.select(e.lt(at, 0), folded, e.select(e.gt(at, length - 1), back, at)), length);
  },
  // [abcd] goes on as [abcd|abcd|abcd].
  WRAP(at, length) {
    if (length <= 1) return e.mul(at, 0);
    const times = (x: e.Expr) => e.floor(e.div(x, length - 1));
    const below = e.add(at, e.mul(e.add(times(e.neg(at)), 1), length));
    const above = e.sub(at, e.mul(times(at), length));
    return clamped(e.select(e.lt(at, 0), below, e.select(e.gt(at, length - 1), above, at)), length);
  },
};

function clamped(at: e.Expr, length: number): e.Expr {
  return e.min(e.max(at, 0), length - 1);
}

/** C's `round`: halves go away from zero. */
const rounded = (x: e.Expr): e.Expr => e.mul(e.sign(x), e.floor(e.add(e.abs(x), 0.5)));

/** Reads pixels at positions of a grid `[images, rows, columns]`, and the fill value where they lie outside the image. */
function reader(p: ProgramBuilder, images: Value, grid: Shape, fill: Value, dtype: d.DType) {
  const [, height, width, channels] = images.shape as [number, number, number, number]; // checked before
  const [all] = p.mapAll([], () => [e.index(0)], [grid[0]!, 1, 1]);
  const inside = (at: e.Expr, length: number) => e.and(e.ge(at, 0), e.lt(at, length));
  return (y: Value, x: Value): Value => {
    const within = p.map([y, x], (row, column) => e.and(inside(row!, height), inside(column!, width)));
    const place = (at: Value) => p.map([at, within], (v, is) => e.cast(e.select(is!, v!, 0), d.int64));
    const tuples = pixels(p, grid, all!, place(y), place(x));
    const found = p.gather(p.reshape(images, [1, 1, ...images.shape]), p.reshape(tuples, [1, ...tuples.shape]));
    const read = p.cast(p.reshape(found, [...grid, channels]), dtype);
    return p.map([p.reshape(within, [...grid, 1]), read, fill], (is, v, f) => e.select(is!, v!, f!));
  };
}

interface Choices {
  readonly dtype: d.DType;
  readonly interpolation: string;
  readonly fill_mode: string;
}

function transformed(
  p: ProgramBuilder,
  images: Value,
  transforms: Value,
  output_shape: Value,
  fillValue: Value | undefined,
  { dtype, interpolation, fill_mode }: Choices,
): Value {
  if (images.shape.length !== 4) throw new InvalidArgumentError('Input images must have rank 4');
  const [batch, height, width, channels] = images.shape as [number, number, number, number]; // rank 4
  const [count = 0, eight] = transforms.shape;
  if (transforms.shape.length !== 2 || (count !== 1 && count !== batch) || eight !== 8)
    throw new InvalidArgumentError('Input transform should be num_images x 8 or 1 x 8');
  const isNearest = interpolation === 'NEAREST';
  if (!isNearest && interpolation !== 'BILINEAR')
    throw new InvalidArgumentError(`Invalid interpolation ${interpolation}. Supported types: NEAREST, BILINEAR`);
  const mapped = mappings[fill_mode];
  if (!mapped)
    throw new InvalidArgumentError(`Invalid mode ${fill_mode}. Supported types: REFLECT, WRAP, CONSTANT, NEAREST`);
  const [rows, columns] = demandSize(p, output_shape, 'output shape');
  if (rows <= 0 || columns <= 0) throw new InvalidArgumentError('output dimensions must be positive');
  checkCount([batch, rows, columns, channels]);
  const grid = [batch, rows, columns];
  const factors = Array.from({ length: 8 }, (_, k) =>
    p.reshape(p.slice(transforms, [0, k], [count, 1]), [count, 1, 1]),
  );
  const [y, x] = p.mapAll(
    factors,
    (...f) => {
      const column = e.cast(e.index(2), d.float32);
      const row = e.cast(e.index(1), d.float32);
      const sum = (a: number, b: number, c: e.ExprLike) => e.add(e.add(e.mul(f[a]!, column), e.mul(f[b]!, row)), c);
      const projection = sum(6, 7, 1);
      // Where the map goes to infinity there is no pixel.
      const at = (a: number, length: number) =>
        e.select(e.eq(projection, 0), -2, mapped(e.div(sum(a, a + 1, f[a + 2]!), projection), length));
      return [at(3, height), at(0, width)];
    },
    grid,
  );
  const type = isNearest ? dtype : d.float32;
  const fill = fillValue
    ? p.cast(p.cast(p.reshape(fillValue, [1, 1, 1, 1]), dtype), type)
    : p.fill(type, [1, 1, 1, 1], 0);
  const read = reader(p, images, grid, fill, type);
  if (isNearest) return read(p.map([y!], (v) => rounded(v!)), p.map([x!], (v) => rounded(v!))); // biome-ignore format: short
  const [top, left] = [y!, x!].map((at) => p.map([at], (v) => e.floor(v!))) as [Value, Value]; // two for two
  const [bottom, right] = [top, left].map((at) => p.map([at], (v) => e.add(v!, 1))) as [Value, Value]; // two for two
  const beside = (at: Value) => p.reshape(at, [...grid, 1]);
  const corners = [read(top, left), read(top, right), read(bottom, left), read(bottom, right)];
  const result = p.map(
    [...corners, beside(y!), beside(x!)],
    (topLeft, topRight, bottomLeft, bottomRight, row, column) => {
      const share = (v: e.Expr) => e.sub(v, e.floor(v));
      const rest = (v: e.Expr) => e.sub(e.add(e.floor(v), 1), v);
      const between = (a: e.Expr, b: e.Expr, at: e.Expr) => e.add(e.mul(rest(at), a), e.mul(share(at), b));
      return between(between(topLeft!, topRight!, column!), between(bottomLeft!, bottomRight!, column!), row!);
    },
  );
  return p.cast(result, dtype);
}

function resultDims(images: Dims, size: Dims, known: readonly (number | null)[] | undefined) {
  const [batch, , , channels] = imageDims(images, 'images');
  return { transformed_images: [batch!, ...sizeDims(size, known, 'output_shape'), channels!] };
}

/** The transforms that lead back. TensorFlow has them for images of all types but bfloat16. */
function inverse(images: Tensor, transforms: Tensor): Tensor {
  if (images.dtype === d.bfloat16) throw userError(`Images of type ${images.dtype} have no gradient of a transform.`);
  const matrices = nameScope('flat_transforms_to_matrices', () => {
    const flat = reshape(transforms, constant([-1, 8]));
    return reshape(concat([flat, ones([shapeOf(flat).slice('0'), 1])], 1), constant([-1, 3, 3]));
  });
  const back = matrixInverse(matrices);
  return nameScope('matrices_to_flat_transforms', () => {
    const flat = reshape(back, constant([-1, 9]));
    return flat.div(flat.slice(':, 8:9')).slice(':, :8');
  });
}

const ints = (...value: number[]) => ({ dtype: 'int32', value }) as const;
const bytes = (value: number[][]) => ({ dtype: 'uint8', value: [value.map((row) => row.map((x) => [x]))] }) as const;
const tens = bytes([[0, 10, 20, 30], [40, 50, 60, 70], [80, 90, 100, 110]]); // biome-ignore format: an image
const square = [
  [
    [[1], [2.5]],
    [[3], [4.75]],
  ],
];
const stay = [1, 0, 0, 0, 1, 0, 0, 0];

export const ImageProjectiveTransformV2 = defineOp({
  name: 'ImageProjectiveTransformV2',
  inputs: { images: 'dtype', transforms: 'float32', output_shape: 'int32' },
  outputs: { transformed_images: 'dtype' },
  attrs: transformAttrs,
  hostInputs: ['output_shape'],
  shape: ({ images, output_shape }, _, context) => resultDims(images, output_shape, context.partial('output_shape')),
  grad({ inputs: { images, transforms }, attrs: { interpolation, fill_mode } }, { transformed_images: dy }) {
    const back = inverse(images, transforms);
    const inputs = { images: denseGradient(dy), transforms: back, output_shape: shapeOf(images).slice('1:3') };
    const attrs = { interpolation, fill_mode };
    return { images: outputOf('ImageProjectiveTransformV2', inputs, { attrs }) };
  },
  lower: (p, { images, transforms, output_shape }, attrs) => ({
    transformed_images: transformed(p, images, transforms, output_shape, undefined, attrs),
  }),
  cases: () => [
    {
      shape: '[?, 4, 4, 3], [1, 8], [2] -> [?, 2, 3, 3]',
      given: { output_shape: ints(2, 3) },
      attrs: { interpolation: 'NEAREST' },
    },
    {
      given: { images: square, transforms: [[1, 0, -1, 0, 1, 0, 0, 0]], output_shape: ints(2, 2) },
      attrs: { interpolation: 'NEAREST' },
      expect: {
        transformed_images: [
          [
            [[0], [1]],
            [[0], [3]],
          ],
        ],
      },
    },
    {
      given: {
        images: [...square, ...square],
        transforms: [[1, 0, 0.25, 0, 1, 0, 0, 0], [1, 0, 0, 0, 1, 0.5, 0, 0]], // biome-ignore format: rows
        output_shape: ints(2, 2),
      },
      attrs: { interpolation: 'BILINEAR', fill_mode: 'NEAREST' },
      differentiable: false, // TensorFlow's gradient transforms back, which is the derivative only for whole shifts
      expect: {
        transformed_images: [
          [
            [[1.375], [2.5]],
            [[3.4375], [4.75]],
          ],
          [
            [[2], [3.625]],
            [[3], [4.75]],
          ],
        ],
      },
    },
    // The second column lies at infinity.
    {
      given: { images: square, transforms: [[1, 0, 0, 0, 1, 0, -1, 0]], output_shape: ints(2, 2) },
      attrs: { interpolation: 'BILINEAR' },
      differentiable: false,
      expect: {
        transformed_images: [
          [
            [[1], [0]],
            [[3], [0]],
          ],
        ],
      },
    },
    {
      given: { images: square, transforms: [[1, 0, 0]], output_shape: ints(2, 2) },
      attrs: { interpolation: 'NEAREST' },
      fails: /num_images x 8 or 1 x 8/,
    },
    {
      given: { images: square, transforms: [stay], output_shape: ints(0, 2) },
      attrs: { interpolation: 'NEAREST' },
      fails: /output dimensions must be positive/,
    },
    {
      given: {
        images: [...square, ...square, ...square],
        transforms: [stay],
        output_shape: ints(2 ** 31 - 1, 2 ** 31 - 1),
      },
      attrs: { interpolation: 'NEAREST' },
      fails: /Encountered overflow when multiplying/,
    },
  ],
});

export const ImageProjectiveTransformV3 = defineOp({
  name: 'ImageProjectiveTransformV3',
  inputs: { images: 'dtype', transforms: 'float32', output_shape: 'int32', fill_value: 'float32' },
  outputs: { transformed_images: 'dtype' },
  attrs: transformAttrs,
  hostInputs: ['output_shape'],
  shape({ images, output_shape, fill_value }, _, context) {
    ofRank(fill_value, 0, 'fill_value');
    return resultDims(images, output_shape, context.partial('output_shape'));
  },
  grad({ inputs: { images, transforms }, attrs: { interpolation, fill_mode } }, { transformed_images: dy }) {
    const back = inverse(images, transforms);
    const output_shape = shapeOf(images).slice('1:3');
    const inputs = { images: denseGradient(dy), transforms: back, output_shape, fill_value: 0 };
    const attrs = { interpolation, fill_mode };
    return { images: outputOf('ImageProjectiveTransformV3', inputs, { attrs }) };
  },
  lower(p, { images, transforms, output_shape, fill_value }, attrs) {
    if (fill_value.shape.length > 0)
      throw new InvalidArgumentError(`fill_value must be a scalar, got shape ${showRuntime(fill_value.shape)}`);
    return { transformed_images: transformed(p, images, transforms, output_shape, fill_value, attrs) };
  },
  cases: () => {
    const given = {
      images: tens,
      transforms: [[1.3, 0.3, -2.3, -0.2, 1.6, -1.4, 0.02, 0.01]],
      output_shape: ints(4, 5),
      fill_value: 77,
    };
    const wanted = [
      ['NEAREST', 'CONSTANT', [[77, 77, 77, 77, 77], [77, 77, 10, 20, 77], [77, 80, 50, 60, 70], [77, 77, 77, 77, 110]]],
      ['NEAREST', 'REFLECT', [[10, 40, 40, 60, 70], [10, 0, 10, 20, 30], [90, 80, 50, 60, 70], [80, 80, 90, 100, 110]]],
      ['NEAREST', 'WRAP', [[100, 70, 40, 60, 110], [20, 30, 90, 100, 110], [100, 110, 50, 60, 40], [30, 30, 10, 20, 0]]],
      ['NEAREST', 'NEAREST', [[0, 0, 0, 20, 30], [0, 0, 10, 20, 30], [80, 80, 50, 60, 70], [80, 80, 90, 100, 110]]],
      ['BILINEAR', 'CONSTANT', [[77, 77, 77, 77, 77], [77, 52, 19, 39, 55], [77, 67, 61, 64, 68], [77, 77, 79, 88, 89]]],
      ['BILINEAR', 'REFLECT', [[29, 22, 32, 50, 68], [17, 0, 5, 17, 29], [77, 61, 61, 64, 66], [71, 78, 91, 102, 110]]],
      ['BILINEAR', 'WRAP', [[81, 87, 53, 59, 106], [28, 30, 85, 97, 109], [93, 91, 61, 64, 36], [38, 31, 11, 22, 0]]],
      ['BILINEAR', 'NEAREST', [[0, 0, 2, 15, 26], [7, 0, 5, 17, 29], [70, 61, 61, 64, 66], [80, 80, 91, 102, 110]]],
    ] as const; // biome-ignore format: an image per line
    return [
      {
        shape: '[?, 4, 4, 3], [1, 8], [2], [] -> [?, 2, 3, 3]',
        given: { output_shape: ints(2, 3) },
        attrs: { interpolation: 'NEAREST' },
      },
      ...wanted.map(([interpolation, fill_mode, rows]) => ({
        given,
        attrs: { interpolation, fill_mode },
        expect: { transformed_images: bytes(rows.map((row) => [...row])) },
      })),
      {
        given: { ...given, images: square, transforms: [stay], fill_value: 0.5 },
        attrs: { interpolation: 'NEAREST' },
        expect: {
          transformed_images: [
            [
              [[1], [2.5], [0.5], [0.5], [0.5]],
              [[3], [4.75], [0.5], [0.5], [0.5]],
              [[0.5], [0.5], [0.5], [0.5], [0.5]],
              [[0.5], [0.5], [0.5], [0.5], [0.5]],
            ],
          ],
        },
      },
    ];
  },
});
