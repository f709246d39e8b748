/** @file Dilation2D and the ops of its gradient: the largest of image plus filter in every window. */
import { type DType, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError, UnimplementedError } from '../../core/errors.ts';
import { type Shape, sameShape, showRuntime, sizeOf, stridesOf } from '../../core/shape.ts';
import { attr, realNumbers } from '../../op/attrs.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';
import { distinct, ramp } from './convCases.ts';
import { type ConvAttrs, imageAxes, ranked, runtimeSizes, staticSizes } from './convSizes.ts';

const attrs = {
  T: realNumbers,
  strides: attr('list(int)', { minimum: 4 }),
  rates: attr('list(int)', { minimum: 4 }),
  padding: attr('string', { choices: ['SAME', 'VALID'] }),
} as const;

interface DilationAttrs {
  readonly strides: readonly number[];
  readonly rates: readonly number[];
  readonly padding: string;
}

const axes = imageAxes(4, 'NHWC');

/** The same attributes as those of a convolution, once they have been checked. */
function windowAttrs({ strides, rates, padding }: DilationAttrs): ConvAttrs {
  if (strides.length !== 4) throw new InvalidArgumentError('Sliding window stride field must specify 4 dimensions');
  if (strides[0] !== 1 || strides[3] !== 1)
    throw new UnimplementedError('Stride is only supported across spatial dimensions.');
  if (rates.length !== 4) throw new InvalidArgumentError('Input stride (atrous rate) field must specify 4 dimensions');
  if (rates[0] !== 1 || rates[3] !== 1)
    throw new UnimplementedError('Rate is only supported across spatial dimensions.');
  for (const axis of axes.spatial) {
    if (strides[axis]! <= 0) throw new InvalidArgumentError(`Stride must be > 0, but got ${strides[axis]}`);
    if (rates[axis]! <= 0) throw new InvalidArgumentError(`Dilation rate must be >= 1, but got ${rates[axis]}`);
  }
  return { strides, dilations: rates, padding, data_format: 'NHWC' };
}

/** The windows of an image, each element with the filter's added to it. */
interface Windows {
  /** [batch, rows, columns, filter rows, filter columns, channels]; the lowest number where there is no image. */
  readonly sums: Value;
  /** [batch, rows, columns, channels]. */
  readonly output: Shape;
  readonly before: readonly number[];
}

/** The lowest finite number, which any other replaces. */
const lowest = (dtype: DType) => e.constant(dtype.min, dtype);

function windows(p: ProgramBuilder, input: Value, filter: Value, a: DilationAttrs): Windows {
  const attributes = windowAttrs(a);
  if (input.shape.length !== 4)
    throw new InvalidArgumentError(`input must be 4-dimensional${showRuntime(input.shape)}`);
  if (filter.shape.length !== 3)
    throw new InvalidArgumentError(`filter must be 3-dimensional: ${showRuntime(filter.shape)}`);
  const [batch, rows, columns, channels] = input.shape as [number, number, number, number]; // rank checked
  if (channels !== filter.shape[2])
    throw new InvalidArgumentError(`input and filter must have the same depth: ${channels} vs ${filter.shape[2]}`);
  const { output: sizes, geometry } = runtimeSizes(input.shape, filter.shape, attributes, axes);
  const { strides, dilations, before } = geometry;
  const output = [batch, ...sizes, channels];
  // What the last window reaches beyond the image.
  const after = sizes.map((n, i) => {
    const end = (n - 1) * strides[i]! + (filter.shape[i]! - 1) * dilations[i]! + 1 - before[i]!;
    return Math.max(0, end - input.shape[1 + i]!);
  });
  const padded = p.pad(input, [0, ...before, 0], [0, ...after, 0], 0);
  const [perImage, perRow, perColumn] = stridesOf(padded.shape) as [number, number, number, number]; // rank 4
  const shape = [batch, ...sizes, ...filter.shape];
  if (sizeOf(shape) === 0) return { sums: p.fill(input.dtype, shape, 0), output, before };
  const slides = {
    ...padded,
    shape,
    strides: [
      perImage,
      strides[0]! * perRow,
      strides[1]! * perColumn,
      dilations[0]! * perRow,
      dilations[1]! * perColumn,
      1,
    ],
  };
  const inside = (axis: number, size: number) => {
    const at = position(strides[axis]!, dilations[axis]!, before[axis]!, e.index(1 + axis), e.index(3 + axis));
    return e.and(e.ge(at, 0), e.lt(at, size));
  };
  const isPadded = [...before, ...after].some((n) => n > 0);
  const [sums] = p.mapAll(
    [slides, filter],
    (x, f) => {
      const sum = e.add(x!, f!);
      const counts = e.gt(sum, lowest(input.dtype));
      const valid = isPadded ? e.and(e.and(inside(0, rows), inside(1, columns)), counts) : counts;
      return [e.select(valid, sum, lowest(input.dtype))];
    },
    shape,
  );
  return { sums: sums!, output, before };
}

/** Where a window position and a tap meet in the image. */
const position = (stride: number, rate: number, before: number, y: e.Expr, k: e.Expr): e.Expr =>
  e.sub(e.add(e.mul(y, stride), e.mul(k, rate)), before);

/**
 * Adds every element of `dy` to the element of `target` that `place` works out from its batch entry, row, column, channel
 * and the tap of its window that was the largest; places below 0 are left out.
 */
function scatterToWinners(
  p: ProgramBuilder,
  { sums, output }: Windows,
  dy: Value,
  target: Shape,
  place: (at: {
    batch: e.Expr;
    row: e.Expr;
    column: e.Expr;
    channel: e.Expr;
    tapRow: e.Expr;
    tapColumn: e.Expr;
  }) => e.Expr,
): Value {
  const [tapRows, tapColumns] = sums.shape.slice(3, 5) as [number, number]; // rank 6
  const result = p.fill(dy.dtype, [sizeOf(target), 1], 0);
  if (sizeOf(sums.shape) === 0) return p.reshape(result, target);
  const candidates = p.reshape(p.transpose(sums, [0, 1, 2, 5, 3, 4]), [...output, tapRows * tapColumns]);
  const winners = p.reduce('argmax', candidates, [4], { dtype: int64 });
  const places = p.map([winners], (tap) => {
    const [batch, row, column, channel] = [e.index(0), e.index(1), e.index(2), e.index(3)];
    const [tapRow, tapColumn] = [e.floordiv(tap!, tapColumns), e.floormod(tap!, tapColumns)];
    return place({ batch, row, column, channel, tapRow, tapColumn });
  });
  const count = sizeOf(output);
  p.scatter('add', result, p.reshape(places, [count, 1]), p.reshape(dy, [count, 1]), { bounds: 'drop' });
  return p.reshape(result, target);
}

function checkGradient(dy: Value, output: Shape): void {
  if (dy.shape.length !== 4)
    throw new InvalidArgumentError(`out_backprop must be 4-dimensional${showRuntime(dy.shape)}`);
  if (!sameShape(dy.shape, output)) throw new InvalidArgumentError('out_backprop has incompatible size.');
}

const unregistered = gradientPending('TensorFlow registers no second derivative of Dilation2D');

export const Dilation2D = defineOp({
  name: 'Dilation2D',
  inputs: { input: 'T', filter: 'T' },
  outputs: { output: 'T' },
  attrs,
  shape({ input, filter }, a) {
    const image = ranked('input', input, 4);
    const taps = ranked('filter', filter, 3);
    const [channels, own] = [image[3]!, taps[2]!];
    if (channels !== null && own !== null && channels !== own)
      throw new InvalidArgumentError(`input has ${channels} channels, but filter has ${own}; they must be equal.`);
    return { output: [image[0]!, ...staticSizes(image, taps, windowAttrs(a), axes), own] };
  },
  grad: ({ inputs: { input, filter }, attrs: { strides, rates, padding } }, { output: dy }) => ({
    input: Dilation2DBackpropInput.build({ input, filter, out_backprop: dy }, { attrs: { strides, rates, padding } })
      .in_backprop,
    filter: Dilation2DBackpropFilter.build({ input, filter, out_backprop: dy }, { attrs: { strides, rates, padding } })
      .filter_backprop,
  }),
  lower(p, { input, filter }, a) {
    const { sums } = windows(p, input, filter, a);
    return { output: p.reduce('max', sums, [3, 4]) };
  },
  cases: () => [
    {
      shape: '[?, 4, 5, 2], [2, 3, 2] -> [?, 3, 3, 2]',
      attrs: { strides: [1, 1, 1, 1], rates: [1, 1, 1, 1], padding: 'VALID' },
    },
    {
      shape: '[1, ?, 5, 2], [2, 3, 2] -> [1, ?, 3, 2]',
      attrs: { strides: [1, 1, 2, 1], rates: [1, 1, 1, 1], padding: 'SAME' },
    },
    {
      shape: '[1, 4, 5, 3], [2, 3, 2]',
      attrs: { strides: [1, 1, 1, 1], rates: [1, 1, 1, 1], padding: 'SAME' },
      rejects: /input has 3 channels, but filter has 2/,
    },
    {
      given: {
        input: [
          [
            [[1], [2]],
            [[3], [4]],
          ],
        ],
        filter: [
          [[4], [3]],
          [[1], [0]],
        ],
      },
      attrs: { strides: [1, 1, 1, 1], rates: [1, 1, 1, 1], padding: 'VALID' },
      expect: { output: [[[[5]]]] },
      // Two sums are the largest, so there is no derivative.
      differentiable: false,
    },
    {
      given: {
        input: [
          [
            [[-1], [2]],
            [[3], [4.5]],
          ],
        ],
        filter: [
          [[4], [3]],
          [[1], [0]],
        ],
      },
      attrs: { strides: [1, 1, 1, 1], rates: [1, 1, 1, 1], padding: 'SAME' },
      expect: {
        output: [
          [
            [[5], [6]],
            [[7.5], [8.5]],
          ],
        ],
      },
    },
    {
      given: { input: distinct([2, 5, 6, 2]), filter: distinct([2, 3, 2], 0.37) },
      attrs: { strides: [1, 2, 1, 1], rates: [1, 2, 2, 1], padding: 'SAME' },
    },
    {
      given: { input: distinct([1, 7, 6, 3]), filter: distinct([3, 2, 3], 0.37) },
      attrs: { strides: [1, 1, 2, 1], rates: [1, 1, 3, 1], padding: 'VALID' },
    },
    {
      given: { input: [[[[Number.NaN], [Number.NEGATIVE_INFINITY]]]], filter: [[[1]]] },
      attrs: { strides: [1, 1, 1, 1], rates: [1, 1, 1, 1], padding: 'SAME' },
      expect: { output: [[[[-3.4028234663852886e38], [-3.4028234663852886e38]]]] },
      differentiable: false,
    },
    {
      given: { input: ramp([1, 2, 2, 1]), filter: ramp([4, 4, 1]) },
      attrs: { strides: [1, 1, 1, 1], rates: [1, 1, 1, 1], padding: 'VALID' },
      fails: /Negative dimension|Computed output size would be negative: -1/,
    },
    {
      given: { input: ramp([1, 2, 2, 1]), filter: ramp([1, 1, 1]) },
      attrs: { strides: [1, 1, 1, 2], rates: [1, 1, 1, 1], padding: 'VALID' },
      fails: /Stride is only supported across spatial dimensions/,
    },
  ],
});

/** Four windows over four pixels, and a gradient by which each can be told. */
// biome-ignore format: a row of pixels in a line
const smallGradient = {
  input: [[[[-1], [2]], [[3], [4.5]]]],
  filter: [[[4], [3]], [[1], [0]]],
  out_backprop: [[[[1], [10]], [[100], [1000]]]],
};

export const Dilation2DBackpropInput = defineOp({
  name: 'Dilation2DBackpropInput',
  inputs: { input: 'T', filter: 'T', out_backprop: 'T' },
  outputs: { in_backprop: 'T' },
  attrs,
  shape: ({ input }) => ({ in_backprop: input }),
  grad: unregistered,
  lower(p, { input, filter, out_backprop }, a) {
    const found = windows(p, input, filter, a);
    checkGradient(out_backprop, found.output);
    const [, rows, columns, channels] = input.shape as [number, number, number, number]; // rank checked
    const along = (axis: number, y: e.Expr, k: e.Expr) =>
      // A window in which nothing counts gives to its first element inside the image.
      e.max(position(a.strides[1 + axis]!, a.rates[1 + axis]!, found.before[axis]!, y, k), 0);
    const place: Parameters<typeof scatterToWinners>[4] = ({ batch, row, column, channel, tapRow, tapColumn }) => {
      const [y, x] = [along(0, row, tapRow), along(1, column, tapColumn)];
      const flat = e.add(e.mul(e.add(e.mul(e.add(e.mul(batch, rows), y), columns), x), channels), channel);
      return e.select(e.and(e.lt(y, rows), e.lt(x, columns)), flat, -1);
    };
    return { in_backprop: scatterToWinners(p, found, out_backprop, input.shape, place) };
  },
  cases: () => [
    {
      shape: '[?, 4, 5, 2], ?, ? -> [?, 4, 5, 2]',
      attrs: { strides: [1, 1, 1, 1], rates: [1, 1, 1, 1], padding: 'VALID' },
    },
    {
      given: smallGradient,
      attrs: { strides: [1, 1, 1, 1], rates: [1, 1, 1, 1], padding: 'SAME' },
      expect: {
        in_backprop: [
          [
            [[0], [11]],
            [[0], [1100]],
          ],
        ],
      },
    },
    {
      given: {
        input: distinct([2, 5, 6, 2]),
        filter: distinct([2, 3, 2], 0.37),
        out_backprop: distinct([2, 3, 6, 2]),
      },
      attrs: { strides: [1, 2, 1, 1], rates: [1, 2, 2, 1], padding: 'SAME' },
    },
    {
      given: { input: ramp([1, 2, 2, 1]), filter: ramp([1, 1, 1]), out_backprop: ramp([1, 1, 2, 1]) },
      attrs: { strides: [1, 1, 1, 1], rates: [1, 1, 1, 1], padding: 'VALID' },
      fails: /out_backprop has incompatible size/,
    },
  ],
});

export const Dilation2DBackpropFilter = defineOp({
  name: 'Dilation2DBackpropFilter',
  inputs: { input: 'T', filter: 'T', out_backprop: 'T' },
  outputs: { filter_backprop: 'T' },
  attrs,
  shape: ({ filter }) => ({ filter_backprop: filter }),
  grad: unregistered,
  lower(p, { input, filter, out_backprop }, a) {
    const found = windows(p, input, filter, a);
    checkGradient(out_backprop, found.output);
    const [, columns, channels] = filter.shape as [number, number, number]; // rank checked
    const place: Parameters<typeof scatterToWinners>[4] = ({ channel, tapRow, tapColumn }) =>
      e.add(e.mul(e.add(e.mul(tapRow, columns), tapColumn), channels), channel);
    return { filter_backprop: scatterToWinners(p, found, out_backprop, filter.shape, place) };
  },
  cases: () => [
    {
      shape: '?, [2, ?, 2], ? -> [2, ?, 2]',
      attrs: { strides: [1, 1, 1, 1], rates: [1, 1, 1, 1], padding: 'VALID' },
    },
    {
      given: smallGradient,
      attrs: { strides: [1, 1, 1, 1], rates: [1, 1, 1, 1], padding: 'SAME' },
      expect: {
        filter_backprop: [
          [[1010], [101]],
          [[0], [0]],
        ],
      },
    },
    {
      given: {
        input: distinct([1, 7, 6, 3]),
        filter: distinct([3, 2, 3], 0.37),
        out_backprop: distinct([1, 5, 2, 3]),
      },
      attrs: { strides: [1, 1, 2, 1], rates: [1, 1, 3, 1], padding: 'VALID' },
    },
  ],
});
