/** @file Adadelta: steps in the units of the variable, without a learning rate to choose. */
import { onlyOptions } from '../../graph/options.ts';
import type { Variable } from '../variable.ts';
import { type Hyperparameter, type OptimizerOptions, RuleOptimizer } from './optimizer.ts';

export interface AdadeltaOptions extends OptimizerOptions {
  readonly rho?: Hyperparameter | undefined;
  readonly epsilon?: Hyperparameter | undefined;
}

/** Zeiler's Adadelta. */
export class AdadeltaOptimizer extends RuleOptimizer {
  protected override readonly rule = 'Adadelta';
  protected override readonly ruleSlots = { accum: 'accum', accum_update: 'accum_update' };
  constructor(
    private readonly learningRate: Hyperparameter = 0.001,
    private readonly options: AdadeltaOptions = {},
  ) {
    super(options.name ?? 'Adadelta', options, { learningRate });
    onlyOptions('tf.train.AdadeltaOptimizer', options, 'useLocking', 'name', 'rho', 'epsilon');
  }

  protected override createSlots(variables: readonly Variable[]): void {
    for (const v of variables) {
      this.zerosSlot(v, 'accum');
      this.zerosSlot(v, 'accum_update');
    }
  }
  protected override prepare(): void {
    this.hyper('lr', 'lr', this.learningRate);
    this.hyper('rho', 'rho', this.options.rho ?? 0.95);
    this.hyper('epsilon', 'epsilon', this.options.epsilon ?? 1e-8);
  }
}
