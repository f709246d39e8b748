/** @file Normalization layers of `tf.contrib.layers`: over the batch, and within each example. */
import { float16 } from '../../core/dtypes.ts';
import { isFullyDefined } from '../../core/shape.ts';
import { checkOptions } from '../../graph/options.ts';
import { controlDependencies } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constantValue } from '../../op/constantValue.ts';
import { convertToTensor } from '../../op/convert.ts';
import { constant, identity, reshape, shape as shapeOf } from '../../ops/array/index.ts';
import { fusedBatchNorm, moments, batchNormalization as normalize, weightedMoments } from '../../ops/nn/index.ts';
import { addToCollections, GraphKeys } from '../collections.ts';
import { cond, smartCond } from '../controlFlow/cond.ts';
import { onesInitializer, zerosInitializer } from '../initializers.ts';
import { BatchNormalization, type BatchNormalizationOptions } from '../layers/batchNormalization.ts';
import type { Activation } from '../layers/biasedLayer.ts';
import { assignMovingAverage } from '../movingAverages.ts';
import type { Variable } from '../variable.ts';
import { getVariable } from '../variableScope.ts';
import type { Regularizer, VariableInitializer } from '../variableStore.ts';
import { addArgScope } from './argScope.ts';
import { type Collections, collect, type ModelOptions, modelNames, modelVariables, output, scopeOf } from './model.ts';

type Parameter = 'beta' | 'gamma' | 'moving_mean' | 'moving_variance';

export interface BatchNormOptions extends ModelOptions {
  /** How much of the remembered mean and variance is kept at each step; 0.999 unless given. */
  readonly decay?: number | undefined;
  /** Adds a trained `beta`; true unless given. */
  readonly center?: boolean | undefined;
  /** Multiplies by a trained `gamma`; false unless given. */
  readonly scale?: boolean | undefined;
  /** Added to the variance; 0.001 unless given. */
  readonly epsilon?: number | undefined;
  readonly activationFn?: Activation | null | undefined;
  readonly paramInitializers?: Readonly<Partial<Record<Parameter, VariableInitializer>>> | undefined;
  readonly paramRegularizers?: Readonly<Partial<Record<'beta' | 'gamma', Regularizer>>> | undefined;
  /** Where the operations go that remember the batch; with `null` they run with the layer itself. */
  readonly updatesCollections?: Collections | null | undefined;
  /** True unless given; a boolean tensor is looked at in each run. */
  readonly isTraining?: boolean | Tensor | undefined;
  /** How often each example counts, [batch]. */
  readonly batchWeights?: TensorLike | undefined;
  /** Whether one node does everything; it does where it can unless this is false. */
  readonly fused?: boolean | undefined;
  readonly dataFormat?: 'NHWC' | 'NCHW' | undefined;
  /** Makes up for the mean's beginning at zero. */
  readonly zeroDebiasMovingMean?: boolean | undefined;
  readonly renorm?: boolean | undefined;
  readonly renormClipping?: BatchNormalizationOptions['renormClipping'];
  /** 0.99 unless given. */
  readonly renormDecay?: number | undefined;
}
const batchNormNames = {
  ...modelNames,
  decay: true,
  center: true,
  scale: true,
  epsilon: true,
  activationFn: true,
  paramInitializers: true,
  paramRegularizers: true,
  updatesCollections: true,
  isTraining: true,
  batchWeights: true,
  fused: true,
  dataFormat: true,
  zeroDebiasMovingMean: true,
  renorm: true,
  renormClipping: true,
  renormDecay: true,
} as const;

/**
 * Batch normalization. Adds the variables `BatchNorm/beta`, `…/gamma` where it scales, `…/moving_mean` and
 * `…/moving_variance`, and the operations in `tf.GraphKeys.UPDATE_OPS` that must run with each step.
 *
 * @example const y = tf.contrib.layers.batchNorm(x, { isTraining, updatesCollections: null });
 */
export const batchNorm = addArgScope(function batchNorm(inputs: TensorLike, options: BatchNormOptions = {}): Tensor {
  checkOptions('tf.contrib.layers.batchNorm', options, batchNormNames);
  const { dataFormat = 'NHWC', updatesCollections = GraphKeys.UPDATE_OPS, batchWeights, renorm } = options;
  if (dataFormat !== 'NHWC' && dataFormat !== 'NCHW') throw userError('dataFormat has to be either NCHW or NHWC.');
  const isPlain =
    batchWeights === undefined && updatesCollections === GraphKeys.UPDATE_OPS && !options.zeroDebiasMovingMean;
  if (renorm && !isPlain)
    throw userError('renorm is not supported with batchWeights, updatesCollections or zeroDebiasMovingMean');
  return scopeOf(options, 'BatchNorm', modelVariables(), (scope) => {
    const x = convertToTensor(inputs);
    const fuses = (options.fused ?? true) && batchWeights === undefined && !renorm && (x.rank === 2 || x.rank === 4);
    // As in Python, vectors are fused here, as images of one pixel; the layer of tf.layers fuses only images.
    if (!isPlain || (fuses && x.rank === 2)) return ownBatchNorm(x, options, fuses);
    const { paramInitializers = {}, paramRegularizers = {}, isTraining = true } = options;
    const layer = new BatchNormalization({
      axis: dataFormat === 'NCHW' ? 1 : -1,
      momentum: options.decay ?? 0.999,
      epsilon: options.epsilon,
      center: options.center,
      scale: options.scale ?? false,
      betaInitializer: paramInitializers.beta,
      gammaInitializer: paramInitializers.gamma,
      movingMeanInitializer: paramInitializers.moving_mean,
      movingVarianceInitializer: paramInitializers.moving_variance,
      betaRegularizer: paramRegularizers.beta,
      gammaRegularizer: paramRegularizers.gamma,
      trainable: options.trainable,
      ...(renorm ? { renorm, renormMomentum: options.renormDecay, renormClipping: options.renormClipping ?? {} } : {}),
      fused: options.fused === false ? false : undefined,
      name: scope.name,
      scope,
      reuse: options.reuse,
    });
    const outputs = layer.apply(x, { training: isTraining });
    collect(layer.movingMean, options.variablesCollections, 'moving_mean');
    collect(layer.movingVariance, options.variablesCollections, 'moving_variance');
    collect(layer.beta, options.variablesCollections, 'beta');
    collect(layer.gamma, options.variablesCollections, 'gamma');
    return activated(outputs, options);
  });
});

function activated(
  outputs: Tensor,
  { activationFn, outputsCollections }: Pick<BatchNormOptions, 'activationFn' | 'outputsCollections'>,
): Tensor {
  return output(activationFn ? activationFn(outputs) : outputs, outputsCollections);
}

interface Parameters {
  readonly beta: Variable | undefined;
  readonly gamma: Variable | undefined;
  readonly movingMean: Variable;
  readonly movingVariance: Variable;
}

function parameters(channels: number, x: Tensor, options: BatchNormOptions): Parameters {
  const { paramInitializers = {}, paramRegularizers = {}, trainable = true, variablesCollections } = options;
  const make = (name: Parameter, initializer: VariableInitializer, trained: boolean, regularizer?: Regularizer) => {
    const given = paramInitializers[name] ?? initializer;
    const variable = getVariable(name, [channels], {
      dtype: x.dtype,
      initializer: given,
      trainable: trained,
      regularizer,
    });
    collect(variable, variablesCollections, name);
    return variable;
  };
  return {
    beta: (options.center ?? true) ? make('beta', zerosInitializer(), trainable, paramRegularizers.beta) : undefined,
    gamma: options.scale ? make('gamma', onesInitializer(), trainable, paramRegularizers.gamma) : undefined,
    movingMean: make('moving_mean', zerosInitializer(), false),
    movingVariance: make('moving_variance', onesInitializer(), false),
  };
}

/** What the layer of `tf.layers` cannot do: weights, other collections, updates at once, vectors in one node. */
function ownBatchNorm(inputs: Tensor, options: BatchNormOptions, fuses: boolean): Tensor {
  const { dataFormat = 'NHWC', isTraining = true } = options;
  if (inputs.shape === null) throw userError(`Inputs ${inputs.name} has undefined rank.`);
  const channelAxis = dataFormat === 'NCHW' ? 1 : inputs.shape.length - 1;
  const channels = inputs.shape[channelAxis] ?? null;
  if (channels === null) throw userError(`Inputs ${inputs.name} has undefined channels dimension.`);
  const params = parameters(channels, inputs, options);
  const known =
    typeof isTraining === 'boolean' ? isTraining : (constantValue(isTraining)?.at(0) as boolean | undefined); // a bool
  const updates = known === false ? undefined : options;
  const outputs = fuses
    ? fusedNorm(inputs, params, options, updates)
    : composedNorm(inputs, params, options, updates, channelAxis);
  outputs.setShape(inputs.shape);
  return activated(outputs, options);
}

function fusedNorm(
  inputs: Tensor,
  { beta, gamma, movingMean, movingVariance }: Parameters,
  { dataFormat = 'NHWC', isTraining = true, epsilon = 0.001 }: BatchNormOptions,
  updates: BatchNormOptions | undefined,
): Tensor {
  const [channels] = movingMean.shape as readonly number[]; // a vector
  const isVector = inputs.rank === 2;
  const pixel = dataFormat === 'NCHW' ? [-1, channels!, 1, 1] : [-1, 1, 1, channels!];
  const images = isVector ? reshape(inputs, pixel) : inputs;
  const offset = beta ?? constant(0, { dtype: inputs.dtype, shape: [channels!] });
  const scale = gamma ?? constant(1, { dtype: inputs.dtype, shape: [channels!] });
  const given = { epsilon, dataFormat } as const;
  const moving = { mean: movingMean, variance: movingVariance };
  const [normal, mean, variance] = smartCond(
    isTraining,
    () => fusedBatchNorm(images, scale, offset, given),
    () => fusedBatchNorm(images, scale, offset, { ...given, ...moving, isTraining: false }),
  );
  const [outputs] = updates ? remembered([normal], mean, variance, moving, updates) : [normal];
  return isVector ? reshape(outputs!, shapeOf(inputs)) : outputs!;
}

function composedNorm(
  inputs: Tensor,
  { beta, gamma, movingMean, movingVariance }: Parameters,
  { isTraining = true, epsilon = 0.001, batchWeights }: BatchNormOptions,
  updates: BatchNormOptions | undefined,
  channelAxis: number,
): Tensor {
  const dims = inputs.shape!;
  const axes = dims.map((_, i) => i).filter((i) => i !== channelAxis);
  const moving = { mean: movingMean, variance: movingVariance };
  let [mean, variance] = [convertToTensor(movingMean), convertToTensor(movingVariance)];
  if (updates) {
    const batch =
      batchWeights === undefined
        ? moments(inputs, axes)
        : weightedMoments(inputs, axes, reshape(batchWeights, [-1, ...dims.slice(1).map(() => 1)]));
    const [batchMean, batchVariance] = remembered([...batch], batch[0], batch[1], moving, updates);
    [mean, variance] = smartCond(
      isTraining,
      () => [batchMean!, batchVariance!] as const,
      () => [convertToTensor(movingMean), convertToTensor(movingVariance)] as const,
    );
  }
  const isLast = channelAxis === dims.length - 1;
  const along = (v: TensorLike | undefined) =>
    v === undefined
      ? null
      : isLast
        ? v
        : reshape(
            v,
            dims.map((d, i) => (i === channelAxis ? d! : 1)),
          );
  return normalize(inputs, along(mean)!, along(variance)!, along(beta), along(gamma), epsilon);
}

/** Remembers a batch in training: in collections, or before `results` can be had. */
function remembered(
  results: readonly Tensor[],
  mean: Tensor,
  variance: Tensor,
  moving: { readonly mean: Variable; readonly variance: Variable },
  options: BatchNormOptions,
): readonly Tensor[] {
  const { decay = 0.999, zeroDebiasMovingMean = false, updatesCollections, isTraining = true } = options;
  const known = typeof isTraining === 'boolean' ? isTraining : undefined;
  const update = () =>
    [
      assignMovingAverage(moving.mean, mean, decay, { zeroDebias: zeroDebiasMovingMean }),
      assignMovingAverage(moving.variance, variance, decay, { zeroDebias: false }),
    ] as const;
  const after = () => {
    const ops = update().map((u) => u.op);
    return controlDependencies(ops, () => results.map((t) => identity(t)));
  };
  if (updatesCollections === null) return known ? after() : cond(isTraining, after, () => results);
  const collections = updatesCollections ?? GraphKeys.UPDATE_OPS;
  const updates = known
    ? update()
    : cond(
        isTraining,
        () => update().map((u) => convertToTensor(u)),
        () => [convertToTensor(moving.mean), convertToTensor(moving.variance)],
      );
  for (const u of updates) addToCollections(collections, u.op);
  return results;
}

export interface LayerNormOptions extends ModelOptions {
  /** Adds a trained `beta`; true unless given. */
  readonly center?: boolean | undefined;
  /** Multiplies by a trained `gamma`; true unless given. */
  readonly scale?: boolean | undefined;
  readonly activationFn?: Activation | null | undefined;
  /** The first axis that is normalized, with all after it; 1 unless given. */
  readonly beginNormAxis?: number | undefined;
  /** The first axis that has parameters of its own, with all after it; -1 unless given. */
  readonly beginParamsAxis?: number | undefined;
}
const layerNormNames = {
  ...modelNames,
  center: true,
  scale: true,
  activationFn: true,
  beginNormAxis: true,
  beginParamsAxis: true,
} as const;

/**
 * Brings each example to mean 0 and variance 1. Adds the variables `LayerNorm/beta` and `LayerNorm/gamma`.
 *
 * @example const y = tf.contrib.layers.layerNorm(x);
 */
export const layerNorm = addArgScope(function layerNorm(inputs: TensorLike, options: LayerNormOptions = {}): Tensor {
  checkOptions('tf.contrib.layers.layerNorm', options, layerNormNames);
  const { center = true, scale = true, trainable, beginNormAxis = 1, beginParamsAxis = -1 } = options;
  return scopeOf(options, 'LayerNorm', modelVariables(), () => {
    const x = convertToTensor(inputs);
    if (x.shape === null) throw userError(`Inputs ${x.name} has undefined rank.`);
    const rank = x.shape.length;
    const first = beginNormAxis < 0 ? rank + beginNormAxis : beginNormAxis;
    if (beginParamsAxis >= rank || first >= rank)
      throw userError(
        `beginParamsAxis (${beginParamsAxis}) and beginNormAxis (${beginNormAxis}) must be < rank(inputs) (${rank})`,
      );
    const dims = x.shape.slice(beginParamsAxis);
    if (!isFullyDefined(dims))
      throw userError(`Inputs ${x.name}: the sizes of its axes from ${beginParamsAxis} on must be known.`);
    const parameter = (name: 'beta' | 'gamma', initializer: VariableInitializer) => {
      const variable = getVariable(name, dims, { dtype: x.dtype, initializer, trainable });
      collect(variable, options.variablesCollections, name);
      return variable;
    };
    const beta = center ? parameter('beta', zerosInitializer()) : null;
    const gamma = scale ? parameter('gamma', onesInitializer()) : null;
    const axes = Array.from({ length: rank - first }, (_, i) => first + i);
    const [mean, variance] = moments(x, axes, { keepDims: true });
    // float16 cannot hold the smaller one.
    const outputs = normalize(x, mean, variance, beta, gamma, x.dtype === float16 ? 1e-3 : 1e-12);
    outputs.setShape(x.shape);
    return activated(outputs, options);
  });
});
