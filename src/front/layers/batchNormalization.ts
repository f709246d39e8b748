/** @file Batch normalization: brings each channel to mean 0 and variance 1 within a batch, and remembers both for later. */
import { bfloat16, float16, float32 } from '../../core/dtypes.ts';
import { type Dims, normalizeAxis } from '../../core/shape.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import { colocateWith, controlDependencies, nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constantValue } from '../../op/constantValue.ts';
import { convertToTensor } from '../../op/convert.ts';
import { concat, constant, identity, reshape, shape as shapeOf, stopGradient } from '../../ops/array/index.ts';
import { cast, maximum, minimum, onesLike, reduceMean, sqrt, zerosLike } from '../../ops/math/index.ts';
import { minus, minusOf, over, plus, times } from '../../ops/math/operators.ts';
import { fusedBatchNorm, moments, batchNormalization as normalize, relu } from '../../ops/nn/index.ts';
import type { Updated } from '../baseVariable.ts';
import { cond, smartCond } from '../controlFlow/cond.ts';
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
  /** Whether one node does everything, which is possible for images; it does where it can unless this is false. */
  readonly fused?: boolean | undefined;
  /** Normalizes parts of the batch by themselves, of so many examples; it divides the size of the batch. */
  readonly virtualBatchSize?: number | undefined;
  /** From the shape of the inputs, a factor and a shift of what is normalized, in training only. */
  readonly adjustment?: ((shape: Tensor) => readonly [scale: Tensor, bias: Tensor]) | undefined;
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
  'virtualBatchSize',
  'adjustment',
] as const;

export interface BatchNormalizationCall {
  /** Whether the batch's own statistics are used: a boolean, or a boolean tensor. False unless given. */
  readonly training?: boolean | Tensor | undefined;
}

type Training = boolean | Tensor;
/** Whether it is known while building that the layer trains; undefined where a run decides. */
function knownTraining(training: Training): boolean | undefined {
  return typeof training === 'boolean' ? training : (constantValue(training)?.at(0) as boolean | undefined); // it is a bool
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
  movingMean!: Variable;
  movingVariance!: Variable;
  private renorm: { readonly stddev: Variable; readonly mean: Variable; readonly batchStddev: Variable } | undefined;
  /** What stands for `gamma` and `beta` in the fused operation where the layer has none. */
  private readonly fixed: { gamma?: Tensor; beta?: Tensor } = {};
  private axes: readonly number[] = [];
  private isFused = false;

  constructor(private readonly options: BatchNormalizationOptions = {}) {
    super(options);
    onlyOptions('tf.layers.BatchNormalization', options, ...layerOptionNames, ...optionNames);
    const { virtualBatchSize: part, adjustment } = options;
    if (part !== undefined && !(Number.isInteger(part) && part > 0))
      throw userError(`virtualBatchSize must be a positive integer that divides the size of the batch, not ${part}.`);
    if (part !== undefined && adjustment)
      throw userError('When using virtualBatchSize, adjustment cannot be specified');
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
    const whole = inputShape.map((d, i) => (this.axes.includes(i) ? d : 1));
    const isVirtual = options.virtualBatchSize !== undefined;
    if (isVirtual) {
      if (this.axes.includes(0))
        throw userError(
          `When using virtualBatchSize, the batch must be axis 0 and axis cannot contain 0. Received axis: ${axis}`,
        );
      // The parts of the batch are an axis of their own.
      this.axes = this.axes.map((a) => a + 1);
      whole.splice(1, 0, 1);
    }
    const shape = (sizes.length === 1 && !isVirtual ? sizes : whole) as number[]; // checked above
    if (options.scale ?? true)
      this.gamma = this.addWeight('gamma', shape, {
        dtype,
        initializer: options.gammaInitializer ?? onesInitializer(),
        regularizer: options.gammaRegularizer,
        constraint: options.gammaConstraint,
      });
    else if (this.isFused) this.fixed.gamma = constant(1, { dtype, shape });
    if (options.center ?? true)
      this.beta = this.addWeight('beta', shape, {
        dtype,
        initializer: options.betaInitializer ?? zerosInitializer(),
        regularizer: options.betaRegularizer,
        constraint: options.betaConstraint,
      });
    else if (this.isFused) this.fixed.beta = constant(0, { dtype, shape });
    const { movingMeanInitializer = zerosInitializer(), movingVarianceInitializer = onesInitializer() } = options;
    const remembered = (name: string, initializer: VariableInitializer) =>
      this.addWeight(name, shape, { dtype, initializer, trainable: false });
    this.movingMean = remembered('moving_mean', movingMeanInitializer);
    this.movingVariance = remembered('moving_variance', movingVarianceInitializer);
    if (options.renorm) {
      const root = rootOf(movingVarianceInitializer);
      this.renorm = {
        stddev: remembered('moving_stddev', root),
        mean: remembered('renorm_mean', movingMeanInitializer),
        batchStddev: remembered('renorm_stddev', root),
      };
    }
    super.build(inputShape);
  }

  private canFuse(rank: number): boolean {
    const isImage = rank === 4 && this.axes.length === 1 && (this.axes[0] === 1 || this.axes[0] === 3);
    const { fused = true, renorm, virtualBatchSize, adjustment } = this.options;
    return fused && isImage && !renorm && virtualBatchSize === undefined && !adjustment;
  }

  override computeOutputShape(inputShape: Dims): Dims {
    return inputShape;
  }

  override call(inputs: Tensor, { training = false }: BatchNormalizationCall): Tensor {
    if (this.isFused) return this.fused(inputs, training);
    const { virtualBatchSize } = this.options;
    if (virtualBatchSize === undefined) return this.composed(inputs, training);
    const sizes = shapeOf(inputs);
    const parts = reshape(inputs, concat([[virtualBatchSize, -1], sizes.slice('1:')], 0));
    parts.setShape([virtualBatchSize, null, ...inputs.shape!.slice(1)]);
    const output = reshape(this.composed(parts, training), sizes);
    output.setShape(inputs.shape);
    return output;
  }

  private get epsilon(): number {
    return this.options.epsilon ?? 1e-3;
  }
  private get momentum(): number {
    return this.options.momentum ?? 0.99;
  }

  private fused(inputs: Tensor, training: Training): Tensor {
    const dataFormat = this.axes[0] === 1 ? 'NCHW' : 'NHWC';
    const [movingMean, movingVariance] = [this.movingMean, this.movingVariance];
    const [gamma, beta] = [(this.gamma ?? this.fixed.gamma)!, (this.beta ?? this.fixed.beta)!];
    shapeOf(inputs); // a node that Python makes too
    const given = { epsilon: this.epsilon, dataFormat } as const;
    const moving = { mean: movingMean, variance: movingVariance };
    const [output, mean, variance] = smartCond(
      training,
      () => fusedBatchNorm(inputs, gamma, beta, { ...given, isTraining: true }),
      () => fusedBatchNorm(inputs, gamma, beta, { ...given, ...moving, isTraining: false }),
    );
    const known = knownTraining(training);
    const momentum = () => convertToTensor(this.momentum, { hint: float32 });
    // Outside training nothing is forgotten, so the averages stay as they are.
    const kept =
      known === undefined ? cond(training, momentum, () => convertToTensor(1, { hint: float32 })) : momentum();
    if (known === false) return output;
    this.addUpdate(operationOf(move(movingMean, mean, kept)));
    this.addUpdate(operationOf(move(movingVariance, variance, kept)));
    return output;
  }

  private composed(inputs: Tensor, training: Training): Tensor {
    let [scale, offset] = [this.alongChannels(this.gamma, inputs), this.alongChannels(this.beta, inputs)];
    let [mean, variance]: Statistic[] = [this.movingMean, this.movingVariance];
    if (knownTraining(training) !== false) {
      if (this.options.adjustment) [scale, offset] = composedWith(this.adjusted(inputs, training), scale, offset);
      const batch = this.batchMoments(inputs, training);
      [mean, variance] = batch;
      let remembered = this.overParts(batch);
      if (this.renorm) {
        const { r, d, ...moments } = this.correction(remembered, training);
        remembered = [moments.mean, moments.variance];
        const correction = [this.alongChannels(r, inputs)!, this.alongChannels(d, inputs)!] as const;
        [scale, offset] = composedWith(correction, scale, offset);
      }
      this.remember(remembered, training);
    }
    const output = normalize(
      inputs,
      this.alongChannels(this.typed(mean!), inputs)!,
      this.alongChannels(this.typed(variance!), inputs)!,
      offset ? this.typed(offset) : null,
      scale ? this.typed(scale) : null,
      this.epsilon,
    );
    output.setShape(inputs.shape);
    return output;
  }

  /** The mean and variance to normalize with: of the batch, or what is remembered. */
  private batchMoments(inputs: Tensor, training: Training): readonly [mean: Tensor, variance: Tensor] {
    const isVirtual = this.options.virtualBatchSize !== undefined;
    const reduced = inputs.shape!.map((_, i) => i).filter((i) => !this.axes.includes(i) && !(isVirtual && i === 1));
    const keepDims = isVirtual || this.axes.length > 1;
    const [mean, variance] = moments(cast(inputs, this.movingMean.dtype), reduced, { keepDims });
    const either = (batch: Tensor, moving: Variable) =>
      smartCond(
        training,
        () => batch,
        () => convertToTensor(moving),
      );
    return [either(mean, this.movingMean), either(variance, this.movingVariance)];
  }

  /** The means over the parts of a batch that are normalized by themselves. */
  private overParts(batch: readonly [Tensor, Tensor]): readonly [mean: Tensor, variance: Tensor] {
    if (this.options.virtualBatchSize === undefined) return batch;
    const [mean, variance] = batch;
    return [reduceMean(mean, 1, { keepdims: true }), reduceMean(variance, 1, { keepdims: true })];
  }

  /** The factor and shift of `adjustment`, which do nothing outside training. */
  private adjusted(inputs: Tensor, training: Training): readonly [Tensor, Tensor] {
    const [scale, bias] = this.options.adjustment!(shapeOf(inputs));
    const factor = smartCond(
      training,
      () => scale,
      () => onesLike(scale),
    );
    const shift = smartCond(
      training,
      () => bias,
      () => zerosLike(bias),
    );
    return [factor, shift];
  }

  private typed(value: Statistic): Statistic {
    const dtype = this.dtype ?? float32;
    return value.dtype === dtype ? value : cast(value, dtype);
  }

  /** A vector of channels in the shape that broadcasts over the inputs. */
  private alongChannels(v: Statistic | undefined, inputs: Tensor): Statistic | undefined {
    const rank = inputs.shape!.length;
    const isLast = this.axes.length === 1 && this.axes[0] === rank - 1;
    if (!v || isLast || v.shape?.length === rank) return v;
    return reshape(
      v,
      inputs.shape!.map((size, i) => (this.axes.includes(i) ? size! : 1)),
    );
  }

  /**
   * Renormalization: the factor and shift that bring a batch to what is remembered of batches (Ioffe, 2017). The result waits
   * for the operations that remember this one.
   */
  private correction([mean, variance]: readonly [Tensor, Tensor], training: Training) {
    const { renormClipping = {}, renormMomentum = 0.99 } = this.options;
    const remembered = this.renorm!;
    const stddev = sqrt(plus(variance, this.epsilon));
    // Early on the average may be near zero.
    const average = maximum(remembered.batchStddev, sqrt(this.epsilon));
    let r = over(stddev, average);
    let d = over(minus(mean, remembered.mean), average);
    // The corrections use the averages of before this batch.
    const [meanAfter, stddevAfter] = controlDependencies([r, d], () => [identity(mean), identity(stddev)] as const);
    const { rmin, rmax, dmax } = renormClipping;
    if (rmin !== undefined) r = maximum(r, rmin);
    if (rmax !== undefined) r = minimum(r, rmax);
    if (dmax !== undefined) d = minimum(maximum(d, typeof dmax === 'number' ? -dmax : minusOf(dmax)), dmax);
    const idle = { r: () => onesLike(r), d: () => zerosLike(d) };
    const [factor, shift] = [smartCond(training, () => r, idle.r), smartCond(training, () => d, idle.d)];
    const moved = (variable: Variable, value: Tensor) => {
      const copy = identity(value);
      return whileTraining(
        training,
        () => move(variable, copy, renormMomentum),
        () => identity(variable),
      );
    };
    const updates = [moved(remembered.mean, meanAfter), moved(remembered.batchStddev, stddevAfter)];
    const after = controlDependencies(updates, () => ({ mean: identity(meanAfter), variance: identity(variance) }));
    return { r: stopGradient(factor, { name: 'renorm_r' }), d: stopGradient(shift, { name: 'renorm_d' }), ...after };
  }

  /** Adds the operations that move what is remembered towards a batch's statistics. */
  private remember([mean, variance]: readonly [Tensor, Tensor], training: Training): void {
    const { momentum, epsilon, renorm } = this;
    const [movingMean, movingVariance] = [this.movingMean, this.movingVariance];
    const moveVariance = () => {
      if (!renorm) return move(movingVariance, variance, momentum);
      const stddev = move(renorm.stddev, sqrt(plus(variance, epsilon)), momentum);
      const square = relu(minus(times(stddev, stddev), epsilon));
      return nameScope('AssignNewValue', (name) =>
        colocateWith(movingVariance.op, () => movingVariance.assign(square, { name })),
      );
    };
    const updates = [
      whileTraining(
        training,
        () => move(movingMean, mean, momentum),
        () => convertToTensor(movingMean),
      ),
      whileTraining(training, moveVariance, () => convertToTensor(movingVariance)),
    ];
    for (const update of updates) this.addUpdate(update);
  }
}

/** A variable or a tensor with a number per channel. */
type Statistic = Variable | Tensor;

/** One factor and shift, and then another, as one. */
function composedWith(
  [factor, shift]: readonly [Statistic, Statistic],
  scale: Statistic | undefined,
  offset: Statistic | undefined,
): [scale: Statistic, offset: Statistic] {
  const scaled = scale ? times(factor, scale) : factor;
  const shifted = scale ? times(shift, scale) : shift;
  return [scaled, offset ? plus(shifted, offset) : shifted];
}

/** The operation behind an update, which is what collections hold. */
function operationOf(update: Updated): Operation {
  return update.op;
}

/** An update that happens in training only, as an operation to run. */
function whileTraining(training: Training, update: () => Updated, otherwise: () => Tensor): Operation {
  if (knownTraining(training) === true) return operationOf(update());
  return cond(training, () => convertToTensor(update()), otherwise).op;
}

/** Moves a variable towards a value, by what `momentum` leaves. */
function move(variable: Variable, value: Tensor, momentum: number | Tensor): Updated {
  return nameScope('AssignMovingAvg', (scope) =>
    colocateWith(variable.op, () => {
      const left = typeof momentum === 'number' ? 1 - momentum : minus(1, momentum);
      const decay = cast(convertToTensor(left, { name: 'decay', hint: float32 }), variable.dtype);
      const delta = times(minus(variable, cast(value, variable.dtype)), decay);
      return variable.assignSub(delta, variable.handle ? {} : { name: scope });
    }),
  );
}

/** Standard deviations that fit an initializer of variances. */
function rootOf(initializer: VariableInitializer): VariableInitializer {
  if (typeof initializer !== 'function') return sqrt(convertToTensor(initializer));
  return (shape, options) => sqrt(convertToTensor(initializer(shape, options)));
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
