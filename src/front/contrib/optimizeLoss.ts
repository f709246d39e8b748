/** @file optimizeLoss: gradients, clipping, noise, learning rate and update in one call. */
import { float32 } from '../../core/dtypes.ts';
import { IndexedSlices } from '../../graph/indexedSlices.ts';
import type { Operation } from '../../graph/operation.ts';
import { checkOptions, type OptionNames } from '../../graph/options.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { withDependencies } from '../../ops/flow/index.ts';
import { clipByGlobalNorm, globalNorm } from '../../ops/math/index.ts';
import { plus, times } from '../../ops/math/operators.ts';
import { truncatedNormal } from '../../ops/random/index.ts';
import { GraphKeys, getCollection } from '../collections.ts';
import { assertGlobalStep, getGlobalStep } from '../globalStep.ts';
import { constantInitializer } from '../initializers.ts';
import { AdagradOptimizer } from '../optimizers/adagrad.ts';
import { AdamOptimizer } from '../optimizers/adam.ts';
import { FtrlOptimizer } from '../optimizers/ftrl.ts';
import { GradientDescentOptimizer } from '../optimizers/gradientDescent.ts';
import { MomentumOptimizer } from '../optimizers/momentum.ts';
import { type Gradient, Optimizer } from '../optimizers/optimizer.ts';
import { RMSPropOptimizer } from '../optimizers/rmsProp.ts';
import { histogram, scalar } from '../summary/summaries.ts';
import type { Variable } from '../variable.ts';
import { getVariable, variableScope } from '../variableScope.ts';
import { trainableVariables } from '../variables.ts';

/** The optimizers that can be asked for by name. */
export const OPTIMIZER_CLS_NAMES = {
  Adagrad: (rate: TensorLike) => new AdagradOptimizer(rate),
  Adam: (rate: TensorLike) => new AdamOptimizer(rate),
  Ftrl: (rate: TensorLike) => new FtrlOptimizer(rate),
  Momentum: (rate: TensorLike) => new MomentumOptimizer(rate, 0.9),
  RMSProp: (rate: TensorLike) => new RMSPropOptimizer(rate),
  SGD: (rate: TensorLike) => new GradientDescentOptimizer(rate),
} as const;
export type OptimizerName = keyof typeof OPTIMIZER_CLS_NAMES;

/** What `optimizeLoss` can make summaries of. */
export const OPTIMIZER_SUMMARIES = [
  'learning_rate',
  'loss',
  'gradients',
  'gradient_norm',
  'global_gradient_norm',
] as const;
export type OptimizerSummary = (typeof OPTIMIZER_SUMMARIES)[number];

type OptimizerClass = new (learningRate: TensorLike) => Optimizer;
/** An optimizer, its name or class, or a function of the learning rate; of nothing where that is null. */
export type OptimizerLike = OptimizerName | Optimizer | OptimizerClass | ((learningRate: TensorLike) => Optimizer);

type Pairs = readonly (readonly [gradient: Gradient | null, variable: Variable])[];

export interface OptimizeLossOptions {
  /** The standard deviation of noise that is added to the gradients. */
  readonly gradientNoiseScale?: TensorLike | undefined;
  /** Factors for the gradients of some variables, by the variable or its name. */
  readonly gradientMultipliers?: ReadonlyMap<Variable | string, TensorLike> | undefined;
  /** The largest norm that all gradients together may have, or a function of gradients and variables. */
  readonly clipGradients?: number | Tensor | ((pairs: Pairs) => Pairs) | undefined;
  /** The learning rate at a step. */
  readonly learningRateDecayFn?: ((learningRate: TensorLike, globalStep: Variable) => Tensor) | undefined;
  /** Run before each step; those of `tf.GraphKeys.UPDATE_OPS` unless given. */
  readonly updateOps?: readonly (Operation | Tensor)[] | undefined;
  /** What is trained; all trainable variables unless given. */
  readonly variables?: readonly Variable[] | undefined;
  readonly name?: string | undefined;
  /** What is shown of the training: the loss, the learning rate and the norm of all gradients unless given. */
  readonly summaries?: readonly OptimizerSummary[] | undefined;
  readonly colocateGradientsWithOps?: boolean | undefined;
  /** Whether a step counts; true unless given. */
  readonly incrementGlobalStep?: boolean | undefined;
}
const optionNames: OptionNames<OptimizeLossOptions> = {
  gradientNoiseScale: true,
  gradientMultipliers: true,
  clipGradients: true,
  learningRateDecayFn: true,
  updateOps: true,
  variables: true,
  name: true,
  summaries: true,
  colocateGradientsWithOps: true,
  incrementGlobalStep: true,
};

/**
 * A tensor with the loss whose every run is a training step. Adds nodes under `OptimizeLoss/`, and the variable
 * `OptimizeLoss/learning_rate` where the rate is a number. `globalStep: null` takes that of the graph, if it has one.
 * Summaries go to `tf.GraphKeys.SUMMARIES`, those named by the option `summaries`.
 *
 * @example const train = tf.contrib.layers.optimizeLoss(loss, step, 0.01, 'Adam', { clipGradients: 5 });
 */
export function optimizeLoss(
  loss: TensorLike,
  globalStep: Variable | null,
  learningRate: number | Tensor | null,
  optimizer: OptimizerLike,
  options: OptimizeLossOptions = {},
): Tensor {
  checkOptions('tf.contrib.layers.optimizeLoss', options, optionNames);
  const given = convertToTensor(loss);
  if (given.rank !== 0 && given.rank !== null) throw userError(`Expected a scalar loss, but got ${given}.`);
  const { summaries = ['loss', 'learning_rate', 'global_gradient_norm'] } = options;
  for (const name of summaries)
    if (!OPTIMIZER_SUMMARIES.includes(name))
      throw userError(`Summaries should be one of [${OPTIMIZER_SUMMARIES.join(', ')}], you provided ${name}.`);
  const showsNorm = summaries.includes('global_gradient_norm') || summaries.includes('gradient_norm');
  const showNorm = (name: string, pairs: Pairs) => {
    if (showsNorm) scalar(`global_norm/${name}`, globalNorm(pairs.map(([gradient]) => gradient)));
  };
  const step = globalStep ?? getGlobalStep();
  if (globalStep) assertGlobalStep(globalStep);
  return variableScope(options.name ?? null, { defaultName: 'OptimizeLoss' }, () => {
    const updates = options.updateOps ?? [...new Set(getCollection<Operation | Tensor>(GraphKeys.UPDATE_OPS))];
    const target = updates.length > 0 ? withDependencies(updates, given) : given;
    const rate = rateOf(learningRate, step, options);
    if (rate !== undefined && options.learningRateDecayFn && summaries.includes('learning_rate'))
      scalar('learning_rate', rate);
    const opt = optimizerOf(optimizer, rate);
    const variables = options.variables ?? trainableVariables();
    const { colocateGradientsWithOps } = options;
    let pairs: Pairs = opt.computeGradients(target, variables, { colocateGradientsWithOps });
    if (options.gradientNoiseScale !== undefined) pairs = noisy(pairs, options.gradientNoiseScale);
    if (options.gradientMultipliers) pairs = multiplied(pairs, options.gradientMultipliers);
    showNorm('gradient_norm', pairs);
    pairs = clipped(pairs, options.clipGradients);
    if (summaries.includes('loss')) scalar('loss', target);
    showGradients(pairs, summaries);
    if (options.clipGradients !== undefined) showNorm('clipped_gradient_norm', pairs);
    const counts = (options.incrementGlobalStep ?? true) && step !== null;
    const train = opt.applyGradients(pairs, { globalStep: counts ? step : undefined, name: 'train' });
    return withDependencies([train], target);
  });
}

/** Summaries of single gradients. */
function showGradients(pairs: Pairs, summaries: readonly OptimizerSummary[]): void {
  for (const [gradient, variable] of pairs) {
    if (gradient === null) continue;
    const values = gradient instanceof IndexedSlices ? gradient.values : gradient;
    const name = variable.name.replace(':', '_');
    if (summaries.includes('gradients')) histogram(`gradients/${name}`, values);
    if (summaries.includes('gradient_norm')) scalar(`gradient_norm/${name}`, globalNorm([values]));
  }
}

function rateOf(
  learningRate: number | Tensor | null,
  step: Variable | null,
  { learningRateDecayFn }: OptimizeLossOptions,
): TensorLike | undefined {
  let rate: TensorLike | undefined;
  if (learningRate instanceof Tensor) {
    if (learningRate.rank !== null && learningRate.rank !== 0)
      throw userError(`Invalid learningRate: it must be a scalar, but it is ${learningRate}.`);
    rate = learningRate;
  } else if (learningRate !== null) {
    if (!(learningRate >= 0)) throw userError(`Invalid learningRate ${learningRate}.`);
    const initializer = constantInitializer(learningRate);
    rate = getVariable('learning_rate', [], { dtype: float32, trainable: false, initializer });
  }
  if (!learningRateDecayFn) return rate;
  if (rate === undefined || step === null)
    throw userError('learningRate and globalStep must be given together with learningRateDecayFn.');
  return learningRateDecayFn(rate, step);
}

function isClass(optimizer: OptimizerLike): optimizer is OptimizerClass {
  return typeof optimizer === 'function' && optimizer.prototype instanceof Optimizer;
}

function optimizerOf(optimizer: OptimizerLike, rate: TensorLike | undefined): Optimizer {
  if (optimizer instanceof Optimizer) return optimizer;
  const make = isClass(optimizer)
    ? (learningRate: TensorLike) => new optimizer(learningRate)
    : typeof optimizer === 'function'
      ? optimizer
      : OPTIMIZER_CLS_NAMES[optimizer];
  if (!make)
    throw userError(
      `Optimizer name should be one of [${Object.keys(OPTIMIZER_CLS_NAMES).join(', ')}], you provided ${String(optimizer)}.`,
    );
  const takesNone = typeof optimizer === 'function' && !isClass(optimizer);
  if (rate === undefined && !takesNone)
    throw userError('learningRate must be given unless the optimizer has one already.');
  const made = make(rate as TensorLike); // a function of nothing does not look at it
  if (!(made instanceof Optimizer)) throw userError('the optimizer function must return a tf.train.Optimizer.');
  return made;
}

function noisy(pairs: Pairs, scale: TensorLike): Pairs {
  return pairs.map(([gradient, variable]) => {
    if (gradient === null) return [null, variable];
    const dense = convertToTensor(gradient);
    return [plus(dense, times(truncatedNormal(variable.shape as readonly number[]), scale)), variable]; // a shape is known
  });
}

function multiplied(pairs: Pairs, factors: ReadonlyMap<Variable | string, TensorLike>): Pairs {
  return pairs.map(([gradient, variable]) => {
    const factor = factors.get(variable) ?? factors.get(variable.opName) ?? factors.get(variable.name);
    if (factor === undefined) return [gradient, variable];
    if (gradient === null) throw userError(`Requested multiple of a gradient of ${variable}, which has none.`);
    const scaled = (t: Tensor) => times(t, convertToTensor(factor, { dtype: t.dtype }));
    if (gradient instanceof IndexedSlices)
      return [new IndexedSlices(scaled(gradient.values), gradient.indices, gradient.denseShape), variable];
    return [scaled(gradient), variable];
  });
}

function clipped(pairs: Pairs, clip: OptimizeLossOptions['clipGradients']): Pairs {
  if (clip === undefined) return pairs;
  if (typeof clip === 'function') return clip(pairs);
  const [gradients] = clipByGlobalNorm(
    pairs.map(([gradient]) => gradient),
    clip,
  );
  return pairs.map(([, variable], i) => [(gradients as readonly (Gradient | null)[])[i]!, variable]); // of the same kinds
}
