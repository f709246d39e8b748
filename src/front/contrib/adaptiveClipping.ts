/** @file adaptiveClippingFn: clips gradients by what their norm has been so far. */
import { float32 } from '../../core/dtypes.ts';
import { IndexedSlices } from '../../graph/indexedSlices.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import { cast, exp, globalNorm, log, maximum, minimum, onesLike, sqrt, square, where } from '../../ops/math/index.ts';
import { over } from '../../ops/math/operators.ts';
import { zerosInitializer } from '../initializers.ts';
import { assignMovingAverage } from '../movingAverages.ts';
import type { Gradient } from '../optimizers/optimizer.ts';
import { scalar } from '../summary/summaries.ts';
import type { Variable } from '../variable.ts';
import { getVariable, variableScope } from '../variableScope.ts';

type Pairs = readonly (readonly [gradient: Gradient | null, variable: Variable])[];

export interface AdaptiveClippingOptions {
  /** How many standard deviations above the mean a norm may be; 2 unless given. */
  readonly stdFactor?: TensorLike | undefined;
  /** How much of the averages is kept at each step; 0.95 unless given. */
  readonly decay?: number | undefined;
  /** The largest norm in any case. */
  readonly staticMaxNorm?: TensorLike | undefined;
  /** With it, the averages follow sooner in the first steps. */
  readonly globalStep?: Variable | undefined;
  /** Adds a summary of the largest norm. */
  readonly reportSummary?: boolean | undefined;
  /** Keeps the variance above zero; 1e-8 unless given. */
  readonly epsilon?: number | undefined;
  readonly name?: string | undefined;
}

/**
 * A function for `optimizeLoss`'s `clipGradients`: gradients whose norm is unusually large for this training are scaled down to
 * its mean. Adds the variables `AdaptiveMaxNorm/mean` and `…/sq_mean`.
 *
 * @example optimizeLoss(loss, step, 0.1, 'SGD', { clipGradients: tf.contrib.layers.adaptiveClippingFn() })
 */
export function adaptiveClippingFn(options: AdaptiveClippingOptions = {}): (pairs: Pairs) => Pairs {
  const names = ['stdFactor', 'decay', 'staticMaxNorm', 'globalStep', 'reportSummary', 'epsilon', 'name'] as const;
  onlyOptions('tf.contrib.layers.adaptiveClippingFn', options, ...names);
  return (pairs) => {
    const norm = globalNorm(pairs.map(([gradient]) => gradient));
    const [largest, logMean] = usualNorm(norm, options);
    if (options.reportSummary) scalar('global_norm/adaptive_max_gradient_norm', largest);
    let factor = where(norm.less(largest), onesLike(norm), exp(logMean).div(norm));
    if (options.staticMaxNorm !== undefined) factor = minimum(over(options.staticMaxNorm, norm), factor);
    return pairs.map(([gradient, variable]) => {
      if (gradient instanceof IndexedSlices)
        return [new IndexedSlices(gradient.values.mul(factor), gradient.indices, gradient.denseShape), variable];
      return [gradient?.mul(factor) ?? null, variable];
    });
  };
}

/** The largest norm that is usual, and the logarithm of the mean. */
function usualNorm(norm: Tensor, options: AdaptiveClippingOptions): [largest: Tensor, logMean: Tensor] {
  const { stdFactor = 2, decay = 0.95, epsilon = 1e-8, globalStep } = options;
  return variableScope(options.name ?? null, { defaultName: 'AdaptiveMaxNorm' }, () => {
    const logNorm = log(norm.add(epsilon));
    const steps = globalStep && cast(globalStep, float32);
    const kept = steps ? minimum(decay, steps.div(steps.add(1))) : decay;
    const average = (name: string, value: Tensor) => {
      const variable = getVariable(name, [], { dtype: value.dtype, initializer: zerosInitializer(), trainable: false });
      return convertToTensor(assignMovingAverage(variable, value, kept, { zeroDebias: false }));
    };
    const mean = average('mean', logNorm);
    const variance = average('sq_mean', square(logNorm)).sub(square(mean));
    return [exp(mean.add(sqrt(maximum(epsilon, variance)).mul(stdFactor))), mean];
  });
}
