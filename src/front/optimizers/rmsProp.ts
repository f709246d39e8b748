/** @file RMSProp: gradients divided by a running average of their size. */
import { onlyOptions } from '../../graph/options.ts';
import { onesInitializer } from '../initializers.ts';
import type { Variable } from '../variable.ts';
import { type Hyperparameter, type OptimizerOptions, RuleOptimizer } from './optimizer.ts';

export interface RMSPropOptions extends OptimizerOptions {
  readonly decay?: Hyperparameter | undefined;
  readonly momentum?: Hyperparameter | undefined;
  readonly epsilon?: Hyperparameter | undefined;
  /** Subtracts the running mean of gradients, so that their variance is what divides. */
  readonly centered?: boolean | undefined;
}

/** Tieleman and Hinton's RMSProp. */
export class RMSPropOptimizer extends RuleOptimizer {
  protected override readonly rule: string;
  protected override readonly ruleSlots: Readonly<Record<string, string>>;
  constructor(
    private readonly learningRate: Hyperparameter,
    private readonly options: RMSPropOptions = {},
  ) {
    super(options.name ?? 'RMSProp', options, { learningRate });
    onlyOptions('tf.train.RMSPropOptimizer', options, 'useLocking', 'name', 'decay', 'momentum', 'epsilon', 'centered');
    const { centered = false } = options;
    this.rule = centered ? 'CenteredRMSProp' : 'RMSProp';
    this.ruleSlots = { ms: 'rms', mom: 'momentum', ...(centered ? { mg: 'mg' } : {}) };
  }

  protected override createSlots(variables: readonly Variable[]): void {
    for (const v of variables) {
      this.slotWith(v, onesInitializer({ dtype: v.dtype }), 'rms');
      if (this.options.centered) this.zerosSlot(v, 'mg');
      this.zerosSlot(v, 'momentum');
    }
  }
  protected override prepare(): void {
    this.hyper('lr', 'learning_rate', this.learningRate);
    this.hyper('rho', 'decay', this.options.decay ?? 0.9);
    this.hyper('momentum', 'momentum', this.options.momentum ?? 0);
    this.hyper('epsilon', 'epsilon', this.options.epsilon ?? 1e-10);
  }
}
