/** @file Adadelta: steps in the units of the variable, without a learning rate to choose. */
import { onlyOptions, withArgument } from '../../graph/options.ts';
import type { Variable } from '../variable.ts';
import { type Hyperparameter, type OptimizerOptions, RuleOptimizer } from './optimizer.ts';

export interface AdadeltaOptions extends OptimizerOptions {
  /** May stand here, or alone as the first argument. */
  readonly learningRate?: Hyperparameter | undefined;
  readonly rho?: Hyperparameter | undefined;
  readonly epsilon?: Hyperparameter | undefined;
}

/** Zeiler's Adadelta. */
export class AdadeltaOptimizer extends RuleOptimizer {
  protected override readonly rule = 'Adadelta';
  protected override readonly ruleSlots = { accum: 'accum', accum_update: 'accum_update' };
  private readonly learningRate: Hyperparameter;
  private readonly options: AdadeltaOptions;
  constructor(given?: Hyperparameter | AdadeltaOptions, last: AdadeltaOptions = {}) {
    const options = withArgument('learningRate', given, last);
    const { learningRate = 0.001 } = options;
    super(options.name ?? 'Adadelta', options, { learningRate });
    onlyOptions('tf.train.AdadeltaOptimizer', options, 'learningRate', 'useLocking', 'name', 'rho', 'epsilon');
    this.learningRate = learningRate;
    this.options = options;
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
