/** @file Momentum: the step follows a running sum of gradients. */
import { onlyOptions } from '../../graph/options.ts';
import type { Variable } from '../variable.ts';
import { type Hyperparameter, type OptimizerOptions, RuleOptimizer } from './optimizer.ts';

export interface MomentumOptions extends OptimizerOptions {
  readonly useNesterov?: boolean | undefined;
}

/** `accum = momentum * accum + gradient; var -= learningRate * accum`. */
export class MomentumOptimizer extends RuleOptimizer {
  protected override readonly rule = 'Momentum';
  protected override readonly ruleSlots = { accum: 'momentum' };
  protected override readonly ruleAttrs: { use_nesterov: boolean };
  constructor(
    private readonly learningRate: Hyperparameter,
    private readonly momentum: Hyperparameter,
    options: MomentumOptions = {},
  ) {
    super(options.name ?? 'Momentum', options, { learningRate, momentum });
    onlyOptions('tf.train.MomentumOptimizer', options, 'useLocking', 'name', 'useNesterov');
    this.ruleAttrs = { use_nesterov: options.useNesterov ?? false };
  }

  protected override createSlots(variables: readonly Variable[]): void {
    for (const v of variables) this.zerosSlot(v, 'momentum');
  }
  protected override prepare(): void {
    this.hyper('lr', 'learning_rate', this.learningRate);
    this.hyper('momentum', 'momentum', this.momentum);
  }
}
