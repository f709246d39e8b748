/** @file Plain gradient descent and its proximal form. */

import { IndexedSlices } from '../../graph/indexedSlices.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { node } from '../../op/node.ts';
import type { Waitable } from '../../ops/flow/group.ts';
import { minusOf, times } from '../../ops/math/operators.ts';
import type { Variable } from '../variable.ts';
import { castTo, type Hyperparameter, type OptimizerOptions, RuleOptimizer } from './optimizer.ts';

/** Gradient descent: `var -= learningRate * gradient`. */
export class GradientDescentOptimizer extends RuleOptimizer {
  protected override readonly rule = 'GradientDescent';
  constructor(
    private readonly learningRate: Hyperparameter,
    options: OptimizerOptions = {},
  ) {
    super(options.name ?? 'GradientDescent', options, { learningRate });
    onlyOptions('tf.train.GradientDescentOptimizer', options, 'useLocking', 'name');
  }

  protected override prepare(): void {
    this.hyper('alpha', 'learning_rate', this.learningRate);
  }

  /** Repeated rows simply add up, so nothing need be summed first. */
  protected override applySparseRepeated({ values, indices, denseShape }: IndexedSlices, variable: Variable): Waitable {
    const rate = castTo(this.prepared.get('alpha')!, values.dtype);
    if (!variable.handle)
      return variable.scatterSub(new IndexedSlices(times(values, rate), indices, denseShape), {
        useLocking: this.useLocking,
      });
    const updates = times(minusOf(values), rate);
    return node('ResourceScatterAdd', { resource: variable.handle, indices, updates });
  }

  protected override applySparse(values: Tensor, variable: Variable, indices: Tensor): Waitable {
    return this.applySparseRepeated(new IndexedSlices(values, indices), variable);
  }
}

export interface ProximalOptions extends OptimizerOptions {
  readonly l1RegularizationStrength?: number | undefined;
  readonly l2RegularizationStrength?: number | undefined;
}
export const proximalOptionNames = [
  'useLocking',
  'name',
  'l1RegularizationStrength',
  'l2RegularizationStrength',
] as const;

/** Gradient descent followed by a step towards small values, as Duchi and Singer give it. */
export class ProximalGradientDescentOptimizer extends RuleOptimizer {
  protected override readonly rule = 'ProximalGradientDescent';
  constructor(
    private readonly learningRate: Hyperparameter,
    private readonly options: ProximalOptions = {},
  ) {
    super(options.name ?? 'ProximalGradientDescent', options, { learningRate });
    onlyOptions('tf.train.ProximalGradientDescentOptimizer', options, ...proximalOptionNames);
  }

  protected override prepare(): void {
    this.hyper('alpha', 'learning_rate', this.learningRate);
    this.hyper('l1', 'l1_regularization_strength', this.options.l1RegularizationStrength ?? 0);
    this.hyper('l2', 'l2_regularization_strength', this.options.l2RegularizationStrength ?? 0);
  }
}
