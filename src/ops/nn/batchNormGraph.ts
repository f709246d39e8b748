/** @file The gradient of batch normalization as a graph of simple ops, which can be differentiated again. */
import * as d from '../../core/dtypes.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { stopGradient } from '../array/identity.ts';
import { reshape } from '../array/reshape.ts';
import { size } from '../array/shape.ts';
import { squeeze } from '../array/squeeze.ts';
import { cast } from '../math/cast.ts';
import { minus, plus, times } from '../math/operators.ts';
import { reduceMean, reduceSum } from '../math/reductions.ts';
import { reciprocal, rsqrt } from '../math/sqrt.ts';
import { squaredDifference } from '../math/subtract.ts';
import { channelAxisOf, pixelAxes } from './batchNormChannels.ts';

interface Inputs {
  readonly y_backprop: Tensor;
  readonly x: Tensor;
  readonly scale: Tensor;
  readonly reserve_space_1: Tensor;
  readonly reserve_space_2: Tensor;
}
interface Attrs {
  readonly epsilon: number;
  readonly data_format: string;
  readonly is_training: boolean;
}

/** The gradients for x, scale and offset. */
export function normalizationGradient(inputs: Inputs, attrs: Attrs): readonly [Tensor, Tensor, Tensor] {
  const { dtype } = inputs.x;
  // Half types have too few digits for sums over a batch.
  const [x, dy] =
    dtype === d.float32
      ? [inputs.x, inputs.y_backprop]
      : [cast(inputs.x, d.float32), cast(inputs.y_backprop, d.float32)];
  const [dx, dscale, doffset] = attrs.is_training ? byBatch(x, dy, inputs, attrs) : byGiven(x, dy, inputs, attrs);
  return [cast(dx, dtype), dscale, doffset];
}

/** `[1, channels, 1, 1]`: a vector stood up against images whose channels come first. */
function columnShape(vector: Tensor, format: string): (Tensor | number)[] {
  return [...format].map((_, i) => (i === 1 ? size(vector) : 1));
}

function byBatch(
  x: Tensor,
  dy: Tensor,
  inputs: Inputs,
  { epsilon, data_format: format }: Attrs,
): readonly [Tensor, Tensor, Tensor] {
  const keepdims = channelAxisOf(format) === 1;
  const axes = pixelAxes(format);
  const scale = keepdims ? reshape(inputs.scale, columnShape(inputs.scale, format)) : inputs.scale;
  const meanDy = reduceMean(dy, axes, { keepdims });
  const meanX = reduceMean(x, axes, { keepdims });
  const variance = reduceMean(squaredDifference(x, stopGradient(meanX)), axes, { keepdims });
  const dyOffset = minus(dy, meanDy);
  const xOffset = minus(x, meanX);
  const mean = reduceMean(times(dy, xOffset), axes, { keepdims });
  const slope = times(scale, rsqrt(plus(variance, epsilon)));
  const drift = times(times(reciprocal(plus(variance, epsilon)), mean), xOffset);
  const dx = times(slope, minus(dyOffset, drift));
  const root = rsqrt(plus(variance, epsilon));
  const dscale = times(root, reduceSum(times(dy, xOffset), axes, { keepdims }));
  return [dx, keepdims ? squeeze(dscale) : dscale, reduceSum(dy, axes)];
}

function byGiven(
  x: Tensor,
  dy: Tensor,
  { reserve_space_1, reserve_space_2, scale }: Inputs,
  { epsilon, data_format: format }: Attrs,
): readonly [Tensor, Tensor, Tensor] {
  const axes = pixelAxes(format);
  const shape = channelAxisOf(format) === 1 ? columnShape(reserve_space_1, format) : undefined;
  const [mean, variance, gain] = [reserve_space_1, reserve_space_2, scale].map((v) => (shape ? reshape(v, shape) : v));
  const doffset = reduceSum(dy, axes);
  const root = rsqrt(plus(variance!, epsilon));
  const dscale = reduceSum(times(times(dy, minus(x, mean!)), root), axes);
  return [times(times(dy, gain!), root), dscale, doffset];
}
