/** @file Instance and group normalization of `tf.contrib.layers`: each example by itself, channel by channel or in groups of them. */
import { checkOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { reshape, shape } from '../../ops/array/index.ts';
import { rsqrt } from '../../ops/math/index.ts';
import {
  moments,
  batchNormalization as normalize,
  normalizeMoments,
  sufficientStatistics,
} from '../../ops/nn/index.ts';
import { onesInitializer, zerosInitializer } from '../initializers.ts';
import type { Activation } from '../layers/biasedLayer.ts';
import { getVariable } from '../variableScope.ts';
import type { VariableInitializer } from '../variableStore.ts';
import { addArgScope } from './argScope.ts';
import { collect, type ModelOptions, modelNames, modelVariables, output, scopeOf } from './model.ts';

interface NormOptions extends ModelOptions {
  /** Adds a trained `beta`; true unless given. */
  readonly center?: boolean | undefined;
  /** Multiplies by a trained `gamma`; true unless given. */
  readonly scale?: boolean | undefined;
  /** Added to the variance; 1e-6 unless given. */
  readonly epsilon?: number | undefined;
  readonly activationFn?: Activation | null | undefined;
  readonly paramInitializers?: Readonly<Partial<Record<'beta' | 'gamma', VariableInitializer>>> | undefined;
}
const normNames = {
  ...modelNames,
  center: true,
  scale: true,
  epsilon: true,
  activationFn: true,
  paramInitializers: true,
} as const;

export interface InstanceNormOptions extends NormOptions {
  readonly dataFormat?: 'NHWC' | 'NCHW' | undefined;
}

/** `beta` and `gamma`, where they are wanted, in a shape that fits the inputs. */
function parameters(channels: number, x: Tensor, options: NormOptions, dims: readonly number[] | null) {
  const { center = true, scale = true, paramInitializers = {}, trainable } = options;
  const make = (name: 'beta' | 'gamma', usual: VariableInitializer): Tensor => {
    const initializer = paramInitializers[name] ?? usual;
    const variable = getVariable(name, [channels], { dtype: x.dtype, initializer, trainable });
    collect(variable, options.variablesCollections, name);
    return dims ? reshape(variable, dims) : convertToTensor(variable);
  };
  return {
    beta: center ? make('beta', zerosInitializer()) : null,
    gamma: scale ? make('gamma', onesInitializer()) : null,
  };
}

function done(outputs: Tensor, { activationFn, outputsCollections }: NormOptions): Tensor {
  return output(activationFn ? activationFn(outputs) : outputs, outputsCollections);
}

/**
 * Brings each channel of each example to mean 0 and variance 1. Adds the variables `InstanceNorm/beta` and `…/gamma`.
 *
 * @example const y = tf.contrib.layers.instanceNorm(images);
 */
export const instanceNorm = addArgScope(function instanceNorm(
  inputs: TensorLike,
  options: InstanceNormOptions = {},
): Tensor {
  checkOptions('tf.contrib.layers.instanceNorm', options, { ...normNames, dataFormat: true });
  const { dataFormat = 'NHWC', epsilon = 1e-6 } = options;
  if (dataFormat !== 'NHWC' && dataFormat !== 'NCHW') throw userError('dataFormat has to be either NCHW or NHWC.');
  const x = convertToTensor(inputs);
  if (x.shape === null) throw userError(`Inputs ${x.name} has undefined rank.`);
  const rank = x.shape.length;
  return scopeOf(options, 'InstanceNorm', modelVariables(), () => {
    const isFirst = dataFormat === 'NCHW';
    const channelAxis = isFirst ? 1 : rank - 1;
    const channels = x.shape![channelAxis] ?? null;
    if (channels === null) throw userError(`Inputs ${x.name} has undefined channels dimension.`);
    const along = x.shape!.map((_, i) => (i === channelAxis ? channels : 1));
    const { beta, gamma } = parameters(channels, x, options, isFirst ? along : null);
    const axes = x.shape!.map((_, i) => i).filter((i) => i !== 0 && i !== channelAxis);
    const [mean, variance] = moments(x, axes, { keepDims: true });
    return done(normalize(x, mean, variance, beta, gamma, epsilon, { name: 'instancenorm' }), options);
  });
});

export interface GroupNormOptions extends NormOptions {
  /** How many groups the channels are in; 32 unless given. */
  readonly groups?: number | undefined;
  /** The last axis unless given. */
  readonly channelsAxis?: number | undefined;
  /** The axes that are normalized together with a group; `[-3, -2]` unless given. */
  readonly reductionAxes?: readonly number[] | undefined;
  /** Computes the variance from sums, which is fast but exact only where means are near zero. */
  readonly meanCloseToZero?: boolean | undefined;
}

/**
 * Brings groups of channels of each example to mean 0 and variance 1. Adds the variables `GroupNorm/beta` and `…/gamma`.
 *
 * @example const y = tf.contrib.layers.groupNorm(images, { groups: 4 });
 */
export const groupNorm = addArgScope(function groupNorm(inputs: TensorLike, options: GroupNormOptions = {}): Tensor {
  const more = { groups: true, channelsAxis: true, reductionAxes: true, meanCloseToZero: true } as const;
  checkOptions('tf.contrib.layers.groupNorm', options, { ...normNames, ...more });
  const { groups = 32, channelsAxis = -1, reductionAxes = [-3, -2], epsilon = 1e-6, meanCloseToZero } = options;
  const x = convertToTensor(inputs);
  if (x.shape === null) throw userError(`Inputs ${x.name} has undefined rank.`);
  const rank = x.shape.length;
  const place = (axis: number) => {
    if (axis >= rank || axis < -rank) throw userError(`Axis ${axis} is out of bounds for inputs of rank ${rank}.`);
    return axis < 0 ? rank + axis : axis;
  };
  const at = place(channelsAxis);
  const channels = x.shape[at] ?? null;
  if (channels === null) throw userError(`Inputs ${x.name} has undefined channel dimension: ${at}.`);
  const reduced = reductionAxes.map(place);
  for (const axis of reduced) {
    if (axis === at) throw userError('reductionAxes must be mutually exclusive with channelsAxis');
    if (x.shape[axis] === null) throw userError(`Inputs ${x.name} has undefined dimensions ${axis}.`);
  }
  if (groups > channels) throw userError(`Invalid groups ${groups} for ${channels} channels.`);
  if (channels % groups !== 0) throw userError(`${channels} channels is not commensurate with ${groups} groups.`);
  const sizes = x.shape.map((size, i) => size ?? shape(x).slice(`${i}`));
  const each = channels / groups;
  const inGroups = reshape(x, [...sizes.slice(0, at), groups, each, ...sizes.slice(at + 1)]);
  const axes = [at + 1, ...reduced.map((axis) => (axis > at ? axis + 1 : axis))];
  return scopeOf(options, 'GroupNorm', modelVariables(), () => {
    const along = [...sizes.slice(0, at).map(() => 1), groups, each, ...sizes.slice(at + 1).map(() => 1)];
    const { beta, gamma } = parameters(channels, x, options, along);
    const [mean, variance] = meanCloseToZero ? fromSums(inGroups, axes) : moments(inGroups, axes, { keepDims: true });
    const inverse = rsqrt(variance.add(epsilon));
    const shift = mean.neg().mul(inverse);
    const gain = gamma ? inverse.mul(gamma) : inverse;
    const scaled = gamma ? shift.mul(gamma) : shift;
    const outputs = inGroups.mul(gain).add(beta ? scaled.add(beta) : scaled);
    const result = reshape(outputs, sizes);
    result.setShape(x.shape);
    return done(result, options);
  });
});

function fromSums(x: Tensor, axes: readonly number[]): readonly [mean: Tensor, variance: Tensor] {
  const [counts, sum, squares] = sufficientStatistics(x, axes, { keepDims: true });
  return normalizeMoments(counts, sum, squares, null);
}
