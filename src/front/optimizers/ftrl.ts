/** @file FTRL-Proximal: follows the regularized leader; made for sparse, online problems. */

import { float32 } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { outputOf } from '../../op/node.ts';
import { ones } from '../../ops/array/fill.ts';
import { over, plus, times } from '../../ops/math/operators.ts';
import type { InitializerFunction } from '../initializers.ts';
import type { Variable } from '../variable.ts';
import { type ProximalOptions, proximalOptionNames } from './gradientDescent.ts';
import { RuleOptimizer } from './optimizer.ts';

export interface FtrlOptions extends ProximalOptions {
  /** At most 0; -0.5 makes rates fall as in Adagrad. */
  readonly learningRatePower?: number | undefined;
  readonly initialAccumulatorValue?: number | undefined;
  /** Names of the slots, where they must not be the optimizer's. */
  readonly accumName?: string | undefined;
  readonly linearName?: string | undefined;
  readonly l2ShrinkageRegularizationStrength?: number | undefined;
  readonly beta?: number | undefined;
}

/** McMahan's FTRL-Proximal. */
export class FtrlOptimizer extends RuleOptimizer {
  protected override readonly rule: string;
  protected override readonly ruleSlots = { accum: 'accum', linear: 'linear' };
  constructor(
    private readonly learningRate: TensorLike,
    private readonly options: FtrlOptions = {},
  ) {
    super(options.name ?? 'Ftrl', options, { learningRate });
    onlyOptions(
      'tf.train.FtrlOptimizer',
      options,
      ...proximalOptionNames,
      'learningRatePower',
      'initialAccumulatorValue',
      'accumName',
      'linearName',
      'l2ShrinkageRegularizationStrength',
      'beta',
    );
    const atLeastZero = {
      initial_accumulator_value: options.initialAccumulatorValue,
      l1_regularization_strength: options.l1RegularizationStrength,
      l2_regularization_strength: options.l2RegularizationStrength,
      l2_shrinkage_regularization_strength: options.l2ShrinkageRegularizationStrength,
    };
    for (const [name, value = 0] of Object.entries(atLeastZero))
      if (value < 0) throw userError(`${name} ${value.toFixed(6)} needs to be positive or zero`);
    if ((options.learningRatePower ?? -0.5) > 0)
      throw userError(`learning_rate_power ${options.learningRatePower!.toFixed(6)} needs to be negative or zero`);
    this.rule = (options.l2ShrinkageRegularizationStrength ?? 0) > 0 ? 'FtrlV2' : 'Ftrl';
  }

  protected override createSlots(variables: readonly Variable[]): void {
    const { initialAccumulatorValue = 0.1, accumName = this.name, linearName = this.name } = this.options;
    const initial: InitializerFunction = (shape, call = {}) =>
      times(ones(shape, { dtype: call.dtype ?? float32 }), initialAccumulatorValue);
    for (const v of variables) {
      this.slotWith(v, initial, 'accum', accumName);
      this.zerosSlot(v, 'linear', linearName);
    }
  }

  protected override prepare(): void {
    const { options } = this;
    this.hyper('lr', 'learning_rate', this.learningRate);
    this.hyper('l1', 'l1_regularization_strength', options.l1RegularizationStrength ?? 0);
    this.hyper('l2', 'adjusted_l2_regularization_strength', this.adjustedL2());
    convertToTensor(options.beta ?? 0, { name: 'beta', dtype: float32 });
    this.hyper('l2_shrinkage', 'l2_shrinkage_regularization_strength', options.l2ShrinkageRegularizationStrength ?? 0);
    this.hyper('lr_power', 'learning_rate_power', options.learningRatePower ?? -0.5);
  }

  /** `l2 + beta / (2 * learningRate)`, safe for a rate of zero. */
  private adjustedL2(): Tensor {
    const { l2RegularizationStrength = 0, beta = 0 } = this.options;
    // A plain number stands for a float, also when it is whole.
    const floor = outputOf(
      'Maximum',
      { x: this.learningRate, y: 1e-36 },
      typeof this.learningRate === 'number' ? { attrs: { T: float32 } } : {},
    );
    return plus(l2RegularizationStrength, over(beta, times(2, floor)));
  }
}
