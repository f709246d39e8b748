/** @file FusedBatchNorm in its three forms: normalization by the moments of a batch, or by given ones. */

import type { DType } from '../../core/dtypes.ts';
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { zeros } from '../../core/ndarray.ts';
import { type Dims, sizeOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { attr } from '../../op/attrs.ts';
import type { ValueCase } from '../../op/cases.ts';
import { constantNode, convertToTensor } from '../../op/convert.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { transpose } from '../array/transpose.ts';
import {
  allFormats,
  alongChannels,
  channelAxisOf,
  checkChannels,
  epsilon,
  halfOrFloat,
  normalizedShape,
  onlyFloat,
  pixelAxes,
  planarFormats,
  training,
  wide,
} from './batchNormChannels.ts';
import { FusedBatchNormGrad, FusedBatchNormGradV2, FusedBatchNormGradV3 } from './batchNormGrad.ts';

const factor = attr('float', { default: 1 });

interface Ports<X> {
  readonly x: X;
  readonly scale: X;
  readonly offset: X;
  readonly mean: X;
  readonly variance: X;
}
interface Attrs {
  readonly epsilon: number;
  readonly exponential_avg_factor: number;
  readonly data_format: string;
  readonly is_training: boolean;
}

/** Whether the given moments take part: for inference, and to be averaged with those of the batch. */
const usesGiven = ({ is_training, exponential_avg_factor }: Attrs) => !is_training || exponential_avg_factor !== 1;

function forwardShape({ x, scale, offset, mean, variance }: Ports<Dims>, attrs: Attrs) {
  const moments = usesGiven(attrs) ? ([['mean', mean], ['variance', variance]] as const) : []; // biome-ignore format: pairs
  const { image, channels } = normalizedShape(
    ['x', x],
    [['scale', scale], ['offset', offset], ...moments],
    attrs.data_format,
  );
  const vector = [channels];
  return {
    y: image,
    batch_mean: vector,
    batch_variance: vector,
    reserve_space_1: vector,
    reserve_space_2: vector,
  };
}

function checkMoments({ mean, variance }: Ports<Value>, channels: number, attrs: Attrs): void {
  if (!usesGiven(attrs)) return;
  for (const [name, vector] of [['mean', mean], ['variance', variance]] as const) // biome-ignore format: pairs
    if (vector.shape[0] !== channels)
      throw new InvalidArgumentError(
        `When ${attrs.is_training ? 'exponential_avg_factor != 1' : 'is_training=false'}, ${name} must have the same number of elements as the channels of x, got ${vector.shape[0] ?? 1} and ${channels}`,
      );
}

function batchMoments(p: ProgramBuilder, x: Value, count: number, format: string) {
  const axes = pixelAxes(format);
  const mean = p.map([p.reduce('sum', x, axes, { of: (v) => e.cast(v, d.float32) })], (sum) => e.div(sum!, count));
  const centered = p.map([x, alongChannels(p, mean, format)], (v, m) => e.sub(e.cast(v!, d.float32), m!));
  const variance = p.map([p.reduce('sum', centered, axes, { of: e.square })], (sum) => e.div(sum!, count));
  return { mean, variance };
}

function lowerForward(p: ProgramBuilder, inputs: Ports<Value>, attrs: Attrs) {
  const { x, scale, offset, mean, variance } = inputs;
  const { data_format: format, is_training, exponential_avg_factor: share } = attrs;
  const channels = checkChannels(x.shape, [['scale', scale], ['offset', offset]], format); // biome-ignore format: pairs
  checkMoments(inputs, channels, attrs);
  const count = sizeOf(x.shape) / channels;
  const unit = scale.dtype;
  if (sizeOf(x.shape) === 0) return emptyBatch(p, x, channels, unit);
  const used = is_training ? batchMoments(p, x, count, format) : { mean: wide(p, mean), variance: wide(p, variance) };
  const columns = [used.mean, used.variance, wide(p, scale), wide(p, offset)].map((v) => alongChannels(p, v, format));
  const y = p.map([x, ...columns], (v, m, s, gain, shift) => {
    const slope = e.mul(e.rsqrt(e.add(s!, Math.fround(attrs.epsilon))), gain!);
    return e.cast(e.add(e.mul(e.sub(e.cast(v!, d.float32), m!), slope), shift!), x.dtype);
  });
  const [reserve_space_1, reserve_space_2] = [p.cast(used.mean, unit), p.cast(used.variance, unit)];
  if (!is_training)
    return { y, batch_mean: reserve_space_1, batch_variance: reserve_space_2, reserve_space_1, reserve_space_2 };
  // The running variance is an estimate for the population, hence n / (n - 1).
  const unbiased = p.map([used.variance], (s) => e.mul(s!, Math.fround(count / Math.max(count - 1, 1))));
  const averaged = (old: Value, fresh: Value) =>
    share === 1
      ? p.cast(fresh, unit)
      : p.map([old, fresh], (a, b) =>
          e.cast(e.add(e.mul(e.cast(a!, d.float32), Math.fround(1 - share)), e.mul(b!, Math.fround(share))), unit),
        );
  return {
    y,
    batch_mean: averaged(mean, used.mean),
    batch_variance: averaged(variance, unbiased),
    reserve_space_1,
    reserve_space_2,
  };
}

/** No pixel has no moments: they are NaN, and what the gradient reads is zero. */
function emptyBatch(p: ProgramBuilder, x: Value, channels: number, unit: DType) {
  const unknown = p.fill(unit, [channels], Number.NaN);
  const nothing = p.fill(unit, [channels], 0);
  return {
    y: x,
    batch_mean: unknown,
    batch_variance: unknown,
    reserve_space_1: nothing,
    reserve_space_2: nothing,
  };
}

interface GradPorts {
  readonly y_backprop: TensorLike;
  readonly x: TensorLike;
  readonly scale: TensorLike;
  readonly reserve_space_1: TensorLike;
  readonly reserve_space_2: TensorLike;
}
interface GradOutputs {
  readonly x_backprop: Tensor;
  readonly scale_backprop: Tensor;
  readonly offset_backprop: Tensor;
}
interface Built {
  readonly inputs: Ports<Tensor>;
  readonly outputs: { readonly reserve_space_1: Tensor; readonly reserve_space_2: Tensor };
  readonly attrs: Attrs;
}

/** The gradient with the moments that the forward op used; for given ones, channels come last. */
function gradient(
  { inputs: { x, scale, mean, variance }, outputs, attrs }: Built,
  dy: Gradient,
  build: (ports: GradPorts, attrs: Omit<Attrs, 'exponential_avg_factor'>) => GradOutputs,
) {
  const { epsilon, data_format, is_training } = attrs;
  const grad = denseGradient(dy);
  if (is_training) {
    const { reserve_space_1, reserve_space_2 } = outputs;
    const found = build({ y_backprop: grad, x, scale, reserve_space_1, reserve_space_2 }, attrs);
    return { x: found.x_backprop, scale: found.scale_backprop, offset: found.offset_backprop };
  }
  const rank = data_format.length;
  const first = channelAxisOf(data_format) === 1;
  const spatial = Array.from({ length: rank - 2 }, (_, i) => i);
  const last = (t: Tensor) => (first ? transpose(t, [0, ...spatial.map((i) => i + 2), 1]) : t);
  const image = last(x);
  const found = build(
    { y_backprop: last(grad), x: image, scale, reserve_space_1: mean, reserve_space_2: variance },
    { epsilon, data_format: rank === 4 ? 'NHWC' : 'NDHWC', is_training },
  );
  const dx = found.x_backprop;
  return {
    x: first ? transpose(dx, [0, rank - 1, ...spatial.map((i) => i + 1)]) : dx,
    scale: found.scale_backprop,
    offset: found.offset_backprop,
  };
}

const gradAttrs = ({ epsilon, data_format, is_training }: Omit<Attrs, 'exponential_avg_factor'>) => ({
  epsilon,
  data_format,
  is_training,
});

const ramp = [[[[1, 5]], [[2, 2]]], [[[3, 8]], [[4, 1]]]]; // biome-ignore format: two pixels of two channels, twice
const none: readonly number[] = [];
const batch = { x: ramp, scale: [1, 2], offset: [0.5, -1], mean: none, variance: none };
const given = { ...batch, mean: [1, 2], variance: [4, 0.25] };

type Port = 'x' | 'scale' | 'offset' | 'mean' | 'variance';
type Output = 'y' | 'batch_mean' | 'batch_variance' | 'reserve_space_1' | 'reserve_space_2';

/** The cases that the three forms share. */
function sharedCases(): readonly ValueCase<Port, Output>[] {
  return [
    {
      given: batch,
      gradientOf: ['y'],
      expect: {
        batch_mean: [2.5, 4],
        batch_variance: [1.6666666, 10],
        reserve_space_1: [2.5, 4],
        reserve_space_2: [1.25, 7.5],
      },
    },
    {
      given,
      attrs: { exponential_avg_factor: 0.25, epsilon: 0.001 },
      gradientOf: ['y'],
      expect: { batch_mean: [1.375, 2.5], batch_variance: [3.4166667, 2.6875] },
    },
    {
      given,
      attrs: { is_training: false },
      gradientOf: ['y'],
      unspecified: ['reserve_space_1', 'reserve_space_2'],
      expect: { batch_mean: [1, 2], batch_variance: [4, 0.25] },
    },
    {
      given: {
        ...batch,
        x: [
          [
            [[1], [5]],
            [[2], [2]],
          ],
        ],
      },
      attrs: { data_format: 'NCHW' },
      gradientOf: ['y'],
    },
    {
      given: {
        ...given,
        x: [
          [
            [[1], [5]],
            [[2], [2]],
          ],
        ],
      },
      attrs: { data_format: 'NCHW', is_training: false },
      gradientOf: ['y'],
      unspecified: ['reserve_space_1', 'reserve_space_2'],
    },
    { given: { ...batch, x: [[[[1, 5]]]] }, gradientOf: ['y'], expect: { batch_variance: [0, 0] } },
    {
      given: { ...batch, x: { dtype: 'float32', value: [], shape: [0, 2, 1, 2] } },
      differentiable: false,
      unspecified: ['reserve_space_1', 'reserve_space_2'],
      expect: { batch_mean: [Number.NaN, Number.NaN], reserve_space_1: [0, 0] },
    },
    { given: { ...batch, scale: [1] }, fails: /scale has 1 entries|scale must have the same number of elements/ },
  ];
}

const forwardPorts = { x: 'T', scale: 'U', offset: 'U', mean: 'U', variance: 'U' } as const;
const forwardOutputs = {
  y: 'T',
  batch_mean: 'U',
  batch_variance: 'U',
  reserve_space_1: 'U',
  reserve_space_2: 'U',
} as const;

export const FusedBatchNorm = defineOp({
  name: 'FusedBatchNorm',
  inputs: { x: 'T', scale: 'T', offset: 'T', mean: 'T', variance: 'T' },
  outputs: { y: 'T', batch_mean: 'T', batch_variance: 'T', reserve_space_1: 'T', reserve_space_2: 'T' },
  attrs: {
    T: onlyFloat,
    epsilon,
    exponential_avg_factor: factor,
    data_format: planarFormats,
    is_training: training,
  },
  shape: forwardShape,
  grad: (built, dy) =>
    gradient(built, dy.y, (ports, attrs) => FusedBatchNormGrad.build(ports, { attrs: gradAttrs(attrs) })),
  lower: lowerForward,
  cases: () => [
    { shape: '[?, 4, 4, ?], [3], [3], [0], [0] -> [?, 4, 4, 3], [3], [3], [3], [3]' },
    { shape: '[2, 3], [3], [3], [0], [0]', rejects: /NHWC means rank 4/ },
    ...sharedCases(),
  ],
});

export const FusedBatchNormV2 = defineOp({
  name: 'FusedBatchNormV2',
  inputs: forwardPorts,
  outputs: forwardOutputs,
  attrs: {
    T: halfOrFloat,
    U: onlyFloat,
    epsilon,
    exponential_avg_factor: factor,
    data_format: planarFormats,
    is_training: training,
  },
  shape: forwardShape,
  grad: (built, dy) =>
    gradient(built, dy.y, (ports, attrs) => FusedBatchNormGradV2.build(ports, { attrs: gradAttrs(attrs) })),
  lower: lowerForward,
  cases: () => [
    {
      shape: '?, [3], [3], [?], [3] -> [?, ?, ?, 3], [3], [3], [3], [3]',
      attrs: { is_training: false },
    },
    ...sharedCases(),
  ],
});

export const FusedBatchNormV3 = defineOp({
  name: 'FusedBatchNormV3',
  inputs: forwardPorts,
  outputs: { ...forwardOutputs, reserve_space_3: 'U' },
  attrs: {
    T: halfOrFloat,
    U: attr('type', { allowed: [d.bfloat16, d.float32] }),
    epsilon,
    exponential_avg_factor: factor,
    data_format: allFormats,
    is_training: training,
  },
  shape: (ports, attrs) => ({ ...forwardShape(ports, attrs), reserve_space_3: null }),
  grad: (built, dy) =>
    gradient(built, dy.y, (ports, attrs) =>
      FusedBatchNormGradV3.build(
        { ...ports, reserve_space_3: built.outputs.reserve_space_3 },
        { attrs: gradAttrs(attrs) },
      ),
    ),
  // The third space is cuDNN's. TensorFlow's CPU kernels disagree: oneDNN's leaves it empty, the plain one makes a scalar.
  lower: (p, inputs, attrs) => ({
    ...lowerForward(p, inputs, attrs),
    reserve_space_3: p.constant(zeros(attrs.U, [0])),
  }),
  cases: () => [
    {
      shape: '[2, ?, 4, 4], [3], [3], [0], [0] -> [2, 3, 4, 4], [3], [3], [3], [3], ?',
      attrs: { data_format: 'NCHW' },
    },
    { shape: '[2, 3, 4, 4], [5], [3], [0], [0]', rejects: /scale has 5 entries, but there are 4 channels/ },
    ...sharedCases().map(({ unspecified = [], ...c }) => ({
      ...c,
      unspecified: [...unspecified, 'reserve_space_3'] as const,
    })),
    {
      given: { ...batch, x: [ramp] },
      attrs: { data_format: 'NDHWC' },
      gradientOf: ['y'],
      unspecified: ['reserve_space_3'],
    },
    {
      given: { ...batch, x: [ramp] },
      attrs: { data_format: 'NCDHW' },
      gradientOf: ['y'],
      unspecified: ['reserve_space_3'],
    },
    {
      given: { ...given, x: [ramp] },
      attrs: { data_format: 'NCDHW', is_training: false },
      gradientOf: ['y'],
      unspecified: ['reserve_space_1', 'reserve_space_2', 'reserve_space_3'],
    },
  ],
});

export interface FusedBatchNormOptions {
  /** The given moments: needed for inference, and when `exponentialAvgFactor` is not 1. */
  readonly mean?: TensorLike | null | undefined;
  readonly variance?: TensorLike | null | undefined;
  readonly epsilon?: number | undefined;
  readonly dataFormat?: 'NHWC' | 'NCHW' | 'NDHWC' | 'NCDHW' | undefined;
  readonly isTraining?: boolean | undefined;
  /** The weight of the batch's moments in the running ones. */
  readonly exponentialAvgFactor?: number | undefined;
  readonly name?: string | undefined;
}
/** The normalized image, then the running mean and variance. */
export type FusedBatchNormResult = readonly [y: Tensor, mean: Tensor, variance: Tensor];

/**
 * Batch normalization in one op: by the batch's own moments, or by given ones. Adds one `FusedBatchNormV3` node.
 *
 * @example const [y, mean, variance] = tf.nn.fusedBatchNorm(images, scale, offset)
 */
export function fusedBatchNorm(
  x: TensorLike,
  scale: TensorLike,
  offset: TensorLike,
  options: FusedBatchNormOptions = {},
): FusedBatchNormResult {
  onlyOptions(
    'tf.nn.fusedBatchNorm',
    options,
    'mean',
    'variance',
    'epsilon',
    'dataFormat',
    'isTraining',
    'exponentialAvgFactor',
    'name',
  );
  const { isTraining = true, exponentialAvgFactor = 1, epsilon = 0.001, dataFormat = 'NHWC', name } = options;
  if ((!isTraining || exponentialAvgFactor !== 1) && (options.mean == null || options.variance == null))
    throw userError(
      'mean and variance must be given as vectors when isTraining is false or exponentialAvgFactor is not 1.',
    );
  const image = convertToTensor(x, { name: 'input' });
  const gain = convertToTensor(scale, { name: 'scale' });
  const shift = convertToTensor(offset, { name: 'offset' });
  const mean = options.mean ?? constantNode(zeros(d.float32, [0]));
  const variance = options.variance ?? constantNode(zeros(d.float32, [0]));
  const attrs = {
    epsilon,
    exponential_avg_factor: exponentialAvgFactor,
    data_format: dataFormat,
    is_training: isTraining,
  };
  const { y, batch_mean, batch_variance } = FusedBatchNormV3.build(
    { x: image, scale: gain, offset: shift, mean, variance },
    { name, attrs },
  );
  return [y, batch_mean, batch_variance];
}
