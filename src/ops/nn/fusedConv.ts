/** @file FusedPadConv2D and FusedResizeAndPadConv2D: convolutions that first resize and mirror the borders of their images. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, sizeOf } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import type { LoweredNode } from '../../op/registry.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { MirrorPad } from '../array/mirrorPad.ts';
import { paddedDims } from '../array/pad.ts';
import { ResizeBilinear } from '../image/resize.ts';
import { sizeDims } from '../image/sampling.ts';
import { Conv2D } from './conv2dOps.ts';
import { ramp } from './convCases.ts';
import { type ConvAttrs, checkConvAttrs, groupsOf, imageAxes, ranked, staticSizes } from './convSizes.ts';

const attrs = {
  mode: attr('string', { choices: ['REFLECT', 'SYMMETRIC'] }),
  strides: attr('list(int)'),
  padding: attr('string', { choices: ['SAME', 'VALID'] }),
} as const;

interface FusedAttrs {
  readonly mode: string;
  readonly strides: readonly number[];
  readonly padding: string;
}

const convAttrs = ({ strides, padding }: FusedAttrs): ConvAttrs => ({
  strides,
  padding,
  dilations: [1, 1, 1, 1],
  data_format: 'NHWC',
});

function convolvedDims(padded: Dims, filter: Dims, a: FusedAttrs): Dims {
  const given = convAttrs(a);
  checkConvAttrs(given, 4);
  const image = ranked('input', padded, 4);
  const taps = ranked('filter', filter, 4);
  const groups = groupsOf(image[3]!, taps[2]!, taps[3]!);
  if (groups !== null && groups !== 1)
    throw new InvalidArgumentError(`input has ${image[3]} channels, but filter takes ${taps[2]}; they must be equal.`);
  return [image[0]!, ...staticSizes(image, taps, given, imageAxes(4, 'NHWC')), taps[3]!];
}

/** The rest of both ops, once the image has its size. */
function padAndConvolve(
  p: ProgramBuilder,
  image: Value,
  paddings: Value,
  filter: Value,
  a: FusedAttrs & { T: d.DType },
  node: LoweredNode,
): Value {
  const pairs = p.demandInts(paddings);
  for (const [axis, what] of [
    [0, 'batches'],
    [3, 'channels'],
  ] as const)
    if (pairs[2 * axis] || pairs[2 * axis + 1])
      throw new InvalidArgumentError(`Fused mirror padding only support spatial padding, not ${what}: [${pairs}]`);
  const pad = { T: a.T, Tpaddings: d.int32, mode: a.mode };
  const [padded] = MirrorPad.lower(p, [image, paddings], pad, node);
  const conv = { T: a.T, use_cudnn_on_gpu: true, explicit_paddings: [], ...convAttrs(a) };
  return Conv2D.lower(p, [padded!, filter], conv, node)[0]!;
}

function checkNotEmpty(input: Value): void {
  if (sizeOf(input.shape) === 0) throw new InvalidArgumentError("Input tensor can't be empty");
}

const pending = gradientPending('TensorFlow registers no gradient for it; use the ops that it is made of');
const noPaddings = [
  [0, 0],
  [0, 0],
  [0, 0],
  [0, 0],
];
const someBorder = [
  [0, 0],
  [1, 2],
  [2, 0],
  [0, 0],
];

export const FusedPadConv2D = defineOp({
  name: 'FusedPadConv2D',
  inputs: { input: 'T', paddings: 'int32', filter: 'T' },
  outputs: { output: 'T' },
  attrs: { T: attr('type', { allowed: [d.float16, d.bfloat16, d.float32, d.float64] }), ...attrs },
  hostInputs: ['paddings'],
  shape({ input, paddings, filter }, a, context) {
    const padded = paddedDims(input, paddings, context.value('paddings')?.numbers());
    return { output: convolvedDims(padded, filter, a) };
  },
  grad: pending,
  lower(p, { input, paddings, filter }, a, node) {
    checkNotEmpty(input);
    return { output: padAndConvolve(p, input, paddings, filter, a, node) };
  },
  cases: () => [
    {
      shape: '[?, 4, 5, 2], [4, 2], [2, 2, 2, 3] -> [?, 6, 6, 3]',
      given: { paddings: { dtype: 'int32', value: someBorder } },
      attrs: { mode: 'REFLECT', strides: [1, 1, 1, 1], padding: 'VALID' },
    },
    {
      given: {
        input: ramp([1, 4, 5, 2]),
        paddings: { dtype: 'int32', value: someBorder },
        filter: ramp([2, 2, 2, 3], 1),
      },
      attrs: { mode: 'REFLECT', strides: [1, 1, 1, 1], padding: 'VALID' },
    },
    {
      given: {
        input: ramp([1, 4, 5, 2]),
        paddings: { dtype: 'int32', value: someBorder },
        filter: ramp([2, 2, 2, 3], 1),
      },
      attrs: { mode: 'SYMMETRIC', strides: [1, 2, 2, 1], padding: 'SAME' },
    },
  ],
});

export const FusedResizeAndPadConv2D = defineOp({
  name: 'FusedResizeAndPadConv2D',
  inputs: { input: 'T', size: 'int32', paddings: 'int32', filter: 'T' },
  outputs: { output: 'T' },
  attrs: {
    T: attr('type', { allowed: [d.float16, d.float32, d.float64] }),
    resize_align_corners: attr('bool', { default: false }),
    ...attrs,
  },
  hostInputs: ['size', 'paddings'],
  shape({ input, size, paddings, filter }, a, context) {
    const image = ranked('input', input, 4);
    const resized = [image[0]!, ...sizeDims(size, context.partial('size'), 'size'), image[3]!];
    return { output: convolvedDims(paddedDims(resized, paddings, context.value('paddings')?.numbers()), filter, a) };
  },
  grad: pending,
  lower(p, { input, size, paddings, filter }, a, node) {
    checkNotEmpty(input);
    const [height, width] = p.demandInts(size) as [number, number]; // a vector of two
    const elements = input.shape[0]! * height * width * (input.shape[3] ?? 1);
    if (elements >= 2 ** 63)
      throw new InvalidArgumentError(
        `Encountered overflow when multiplying ${input.shape[0]! * height} with ${width}, result: ${elements}`,
      );
    const resize = { T: a.T, align_corners: a.resize_align_corners, half_pixel_centers: false };
    const [resized] = ResizeBilinear.lower(p, [input, size], resize, node);
    return { output: padAndConvolve(p, p.cast(resized!, a.T), paddings, filter, a, node) };
  },
  cases: () => [
    {
      shape: '[?, 4, 5, 2], [2], [4, 2], [2, 2, 2, 3] -> [?, 8, 6, 3]',
      given: { size: { dtype: 'int32', value: [6, 5] }, paddings: { dtype: 'int32', value: someBorder } },
      attrs: { mode: 'REFLECT', strides: [1, 1, 1, 1], padding: 'VALID' },
    },
    {
      given: {
        input: ramp([1, 3, 4, 2]),
        size: { dtype: 'int32', value: [6, 5] },
        paddings: { dtype: 'int32', value: someBorder },
        filter: ramp([2, 2, 2, 3], 1),
      },
      attrs: { mode: 'REFLECT', strides: [1, 1, 1, 1], padding: 'VALID' },
    },
    {
      given: {
        input: ramp([1, 3, 4, 2]),
        size: { dtype: 'int32', value: [5, 7] },
        paddings: { dtype: 'int32', value: noPaddings },
        filter: ramp([3, 3, 2, 2], 1),
      },
      attrs: { mode: 'SYMMETRIC', strides: [1, 2, 1, 1], padding: 'SAME', resize_align_corners: true },
    },
    {
      given: {
        input: ramp([3, 3, 1, 4]),
        size: { dtype: 'int32', value: [1879048192, 1879048192] },
        paddings: { dtype: 'int32', value: noPaddings },
        filter: ramp([1, 3, 4, 1]),
      },
      attrs: { mode: 'REFLECT', strides: [1, 1, 1, 1], padding: 'SAME' },
      fails: /Encountered overflow when multiplying/,
    },
  ],
});
