/** @file Batch normalization: brings each channel to mean 0 and variance 1 within a batch, and remembers both for later. */
import { bfloat16, float16, float32 } from '../../core/dtypes.ts';
import { type Dims, normalizeAxis } from '../../core/shape.ts';
import { colocateWith, nameScope } from '../../graph/graph.ts';
import { onlyOptions } from '../../graph/options.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constantValue } from '../../op/constantValue.ts';
import { convertToTensor } from '../../op/convert.ts';
import { fill, reshape, stopGradient } from '../../ops/array/index.ts';
import { cast, clipByValue, divide, maximum, minimum, onesLike, sqrt, zerosLike } from '../../ops/math/index.ts';
import {
  type FusedBatchNormResult,
  fusedBatchNorm,
  moments,
  batchNormalization as normalize,
} from '../../ops/nn/index.ts';
import { cond } from '../controlFlow/cond.ts';
import { onesInitializer, zerosInitializer } from '../initializers.ts';
import type { Constraint, Variable } from '../variable.ts';
import type { Regularizer, VariableInitializer } from '../variableStore.ts';
import { Layer, type LayerOptions, layerOptionNames } from './layer.ts';

export interface BatchNormalizationOptions extends LayerOptions {
  /** The axis of the channels, or several; the last one unless given. */
  readonly axis?: number | readonly number[] | undefined;
  /** How much of the remembered mean and variance is kept at each step; 0.99 unless given. */
  readonly momentum?: number | undefined;
  /** Added to the variance; 0.001 unless given. */
  readonly epsilon?: number | undefined;
  /** Adds a trained `beta`. */
  readonly center?: boolean | undefined;
  /** Multiplies by a trained `gamma`. */
  readonly scale?: boolean | undefined;
  readonly betaInitializer?: VariableInitializer | undefined;
  readonly gammaInitializer?: VariableInitializer | undefined;
  readonly movingMeanInitializer?: VariableInitializer | undefined;
  readonly movingVarianceInitializer?: VariableInitializer | undefined;
  readonly betaRegularizer?: Regularizer | undefined;
  readonly gammaRegularizer?: Regularizer | undefined;
  readonly betaConstraint?: Constraint | undefined;
  readonly gammaConstraint?: Constraint | undefined;
  /** Batch renormalization: corrects a batch by what is remembered, so that training sees what inference will see. */
  readonly renorm?: boolean | undefined;
  /** Bounds on the corrections of `renorm`. */
  readonly renormClipping?: { readonly rmin?: TensorLike; readonly rmax?: TensorLike; readonly dmax?: TensorLike };
  readonly renormMomentum?: number | undefined;
  /** Whether one node does everything, which is possible for images; it does where it can unless given. */
  readonly fused?: boolean | undefined;
}
const optionNames = [
  'axis',
  'momentum',
  'epsilon',
  'center',
  'scale',
  'betaInitializer',
  'gammaInitializer',
  'movingMeanInitializer',
  'movingVarianceInitializer',
  'betaRegularizer',
  'gammaRegularizer',
  'betaConstraint',
  'gammaConstraint',
  'renorm',
  'renormClipping',
  'renormMomentum',
  'fused',
] as const;

export interface BatchNormalizationCall {
  /** Whether the batch's own statistics are used: a boolean, or a boolean tensor. False unless given. */
  readonly training?: boolean | Tensor | undefined;
}

/** One of two results, chosen while building where that is possible. */
function choose<T extends Tensor | readonly Tensor[]>(training: boolean | Tensor, yes: () => T, no: () => T): T {
  const known = typeof training === 'boolean' ? training : constantValue(training)?.at(0);
  if (known !== undefined) return known ? yes() : no();
  return cond(training as Tensor, yes as never, no as never) as T; // both branches give the same structure
}

/**
 * Batch normalization. In training it uses the mean and variance of the batch and adds operations that remember them to
 * `tf.GraphKeys.UPDATE_OPS`, which must run with each step; otherwise it uses what is remembered.
 *
 * @example
 * const y = new tf.layers.BatchNormalization().apply(x, { training: isTraining });
 * const train = tf.controlDependencies(tf.getCollection(tf.GraphKeys.UPDATE_OPS), () => optimizer.minimize(loss));
 */
export class BatchNormalization extends Layer<BatchNormalizationCall> {
  gamma: Variable | undefined;
  beta: Variable | undefined;
  movingMean: Variable | undefined;
  movingVariance: Variable | undefined;
  private renormMean: Variable | undefined;
  private renormStddev: Variable | undefined;
  private axes: readonly number[] = [];
  private isFused = false;

  constructor(private readonly options: BatchNormalizationOptions = {}) {
    super(options);
    onlyOptions('tf.layers.BatchNormalization', options, ...layerOptionNames, ...optionNames);
    if (options.fused && options.renorm)
      throw userError('Passing both `fused: true` and `renorm: true` is not supported');
  }

  override build(inputShape: Dims): void {
    if (inputShape === null)
      throw userError('Input has undefined rank. Give the placeholder a shape, or use setShape.');
    const { options } = this;
    const { axis = -1 } = options;
    this.axes = (typeof axis === 'number' ? [axis] : axis).map((a) => normalizeAxis(a, inputShape.length));
    const sizes = this.axes.map((a) => inputShape[a] ?? null);
    if (sizes.includes(null))
      throw userError('Input has undefined `axis` dimension. Give the placeholder a size there, or use setShape.');
    this.isFused = this.canFuse(inputShape.length);
    const isHalf = this.dtype === float16 || this.dtype === bfloat16;
    const dtype = isHalf ? float32 : (this.dtype ?? float32);
    const shape = sizes.length === 1 ? sizes : inputShape.map((d, i) => (this.axes.includes(i) ? d : 1));
    if (options.scale ?? true)
      this.gamma = this.addWeight('gamma', shape, {
        dtype,
        initializer: options.gammaInitializer ?? onesInitializer(),
        regularizer: options.gammaRegularizer,
        constraint: options.gammaConstraint,
      });
    if (options.center ?? true)
      this.beta = this.addWeight('beta', shape, {
        dtype,
        initializer: options.betaInitializer ?? zerosInitializer(),
        regularizer: options.betaRegularizer,
        constraint: options.betaConstraint,
      });
    const remembered = (name: string, initializer: VariableInitializer) =>
      this.addWeight(name, shape, { dtype, initializer, trainable: false });
    this.movingMean = remembered('moving_mean', options.movingMeanInitializer ?? zerosInitializer());
    this.movingVariance = remembered('moving_variance', options.movingVarianceInitializer ?? onesInitializer());
    if (options.renorm) {
      this.renormMean = remembered('renorm_mean', options.movingMeanInitializer ?? zerosInitializer());
      this.renormStddev = remembered('renorm_stddev', options.movingVarianceInitializer ?? onesInitializer());
    }
    super.build(inputShape);
  }

  private canFuse(rank: number): boolean {
    const isImage = rank === 4 && this.axes.length === 1 && (this.axes[0] === 1 || this.axes[0] === 3);
    if (this.options.fused && !isImage)
      throw userError(
        `Batch normalization with fused=True needs images with 4 axes and the channels on axis 1 or 3; here are ${rank} axes and the channels on ${this.axes}.`,
      );
    return (this.options.fused ?? isImage) && !this.options.renorm;
  }

  override call(inputs: Tensor, { training = false }: BatchNormalizationCall): Tensor {
    return this.isFused ? this.fused(inputs, training) : this.composed(inputs, training);
  }

  private get epsilon(): number {
    return this.options.epsilon ?? 1e-3;
  }

  private fused(inputs: Tensor, training: boolean | Tensor): Tensor {
    const dataFormat = this.axes[0] === 1 ? 'NCHW' : 'NHWC';
    const { dtype, shape } = this.movingMean!;
    const filled = (value: number) => fill(shape as readonly number[], convertToTensor(value, { dtype })); // as it was made
    const gamma = this.gamma ?? filled(1);
    const beta = this.beta ?? filled(0);
    const given = { epsilon: this.epsilon, dataFormat } as const;
    const moving = { mean: this.movingMean!, variance: this.movingVariance! };
    const [output, mean, variance] = choose<FusedBatchNormResult>(
      training,
      () => fusedBatchNorm(inputs, gamma, beta, { ...given, isTraining: true }),
      () => fusedBatchNorm(inputs, gamma, beta, { ...given, ...moving, isTraining: false }),
    );
    this.remember(training, mean, variance);
    return output;
  }

  private composed(inputs: Tensor, training: boolean | Tensor): Tensor {
    const rank = inputs.shape!.length;
    const reduced = Array.from({ length: rank }, (_, i) => i).filter((i) => !this.axes.includes(i));
    const keepDims = this.axes.length > 1;
    const [batchMean, batchVariance] = moments(inputs, reduced, { keepDims });
    const mean = choose<Tensor>(
      training,
      () => batchMean,
      () => convertToTensor(this.movingMean!),
    );
    const variance = choose<Tensor>(
      training,
      () => batchVariance,
      () => convertToTensor(this.movingVariance!),
    );
    let [scale, offset]: (Tensor | Variable | undefined)[] = [this.gamma, this.beta];
    if (this.options.renorm) {
      const { r, d } = this.correction(batchMean, batchVariance, training);
      scale = scale ? r.mul(scale) : r;
      const moved = this.gamma ? d.mul(this.gamma) : d;
      offset = offset ? moved.add(offset) : moved;
    }
    this.remember(training, mean, variance);
    const spread = (v: TensorLike | undefined) => v && this.alongChannels(convertToTensor(v), inputs.shape!);
    const output = normalize(
      inputs,
      spread(mean)!,
      spread(variance)!,
      spread(offset) ?? null,
      spread(scale) ?? null,
      this.epsilon,
    );
    output.setShape(inputs.shape);
    return output;
  }

  /** A vector of channels in the shape that broadcasts over the inputs. */
  private alongChannels(v: Tensor, inputShape: readonly (number | null)[]): Tensor {
    const isLast = this.axes.length === 1 && this.axes[0] === inputShape.length - 1;
    if (isLast || v.rank !== 1) return cast(v, this.dtype ?? float32);
    const shape = inputShape.map((d, i) => (this.axes.includes(i) ? d! : 1));
    return reshape(cast(v, this.dtype ?? float32), shape);
  }

  /** Renormalization's factors, and the operations that remember its own statistics. */
  private correction(mean: Tensor, variance: Tensor, training: boolean | Tensor): { r: Tensor; d: Tensor } {
    const { renormClipping = {}, renormMomentum = 0.99 } = this.options;
    const stddev = sqrt(variance.add(this.epsilon));
    const averageStddev = sqrt(convertToTensor(this.movingVariance!).add(this.epsilon));
    let r = divide(stddev, averageStddev);
    let d = divide(mean.sub(this.movingMean!), averageStddev);
    const { rmin, rmax, dmax } = renormClipping;
    if (rmin !== undefined) r = maximum(r, rmin);
    if (rmax !== undefined) r = minimum(r, rmax);
    if (dmax !== undefined) d = clipByValue(d, convertToTensor(dmax).neg(), dmax);
    r = choose<Tensor>(
      training,
      () => r,
      () => onesLike(r),
    );
    d = choose<Tensor>(
      training,
      () => d,
      () => zerosLike(d),
    );
    this.move(this.renormMean!, mean, renormMomentum, training);
    this.move(this.renormStddev!, stddev, renormMomentum, training);
    return { r: stopGradient(r), d: stopGradient(d) };
  }

  /** Adds the operations that move what is remembered towards a batch's statistics; they are no use outside training. */
  private remember(training: boolean | Tensor, mean: Tensor, variance: Tensor): void {
    const momentum = this.options.momentum ?? 0.99;
    this.move(this.movingMean!, mean, momentum, training);
    this.move(this.movingVariance!, variance, momentum, training);
  }

  private move(variable: Variable, value: Tensor, momentum: number, training: boolean | Tensor): void {
    const known = typeof training === 'boolean' ? training : constantValue(training)?.at(0);
    if (known === false) return;
    const kept =
      known === true
        ? momentum
        : choose<Tensor>(
            training,
            () => convertToTensor(momentum, { dtype: variable.dtype }),
            () => convertToTensor(1, { dtype: variable.dtype }),
          );
    const update = nameScope('AssignMovingAvg', (scope) =>
      colocateWith(variable.op, () => {
        const decay =
          typeof kept === 'number'
            ? convertToTensor(1 - kept, { name: 'decay', dtype: variable.dtype })
            : cast(convertToTensor(1, { dtype: kept.dtype }).sub(kept), variable.dtype);
        const delta = convertToTensor(variable).sub(cast(value, variable.dtype)).mul(decay);
        return variable.assignSub(delta, { name: scope });
      }),
    );
    this.addUpdate(update instanceof Tensor ? update : update.op);
  }
}

/**
 * Batch normalization applied to `inputs`. Adds the variables `gamma`, `beta`, `moving_mean` and `moving_variance`; in training
 * also the operations in `tf.GraphKeys.UPDATE_OPS` that must run with each step.
 *
 * @example const y = tf.layers.batchNormalization(x, { training: isTraining });
 */
export function batchNormalization(
  inputs: TensorLike,
  options: Omit<BatchNormalizationOptions, 'dtype' | 'scope'> & BatchNormalizationCall = {},
): Tensor {
  const { training, ...rest } = options;
  return new BatchNormalization({ ...rest, scope: options.name }).apply(inputs, { training });
}
