/** @file The Adagrad family: steps shrink with the sum of squared gradients. */

import { fromElements } from '../../core/ndarray.ts';
import { isFullyDefined, sizeOf } from '../../core/shape.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import { colocateWith, device } from '../../graph/scopes.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constant } from '../../ops/array/constant.ts';
import { identity } from '../../ops/array/identity.ts';
import type { Waitable } from '../../ops/flow/group.ts';
import { plus } from '../../ops/math/operators.ts';
import { constantInitializer } from '../initializers.ts';
import type { Variable } from '../variable.ts';
import { type ProximalOptions, proximalOptionNames } from './gradientDescent.ts';
import { type Hyperparameter, type OptimizerOptions, RuleOptimizer } from './optimizer.ts';

function checkPositive(name: string, value: number): void {
  if (value <= 0) throw userError(`${name} must be positive: ${value}`);
}

/** A constant of the variable's shape, placed with it. */
function constantLike(variable: Variable, value: number): Tensor {
  const { shape, dtype } = variable;
  if (!isFullyDefined(shape)) throw userError(`the slots of '${variable.name}' need its shape, which is not known`);
  const array = fromElements(dtype, shape, new Array<number>(sizeOf(shape)).fill(value));
  return constant(array);
}

export interface AdagradOptions extends OptimizerOptions {
  readonly initialAccumulatorValue?: number | undefined;
}

/** `accum += gradient²; var -= learningRate * gradient / sqrt(accum)`. */
export class AdagradOptimizer extends RuleOptimizer {
  protected override readonly rule: string = 'Adagrad';
  protected override readonly ruleSlots = { accum: 'accumulator' };
  private readonly initial: number;
  constructor(
    private readonly learningRate: Hyperparameter,
    options: AdagradOptions = {},
  ) {
    super(options.name ?? 'Adagrad', options, { learningRate });
    onlyOptions('tf.train.AdagradOptimizer', options, 'useLocking', 'name', 'initialAccumulatorValue');
    this.initial = options.initialAccumulatorValue ?? 0.1;
    checkPositive('initial_accumulator_value', this.initial);
  }

  protected override createSlots(variables: readonly Variable[]): void {
    for (const v of variables) this.slotWith(v, constantInitializer(this.initial, { dtype: v.dtype }), 'accumulator');
  }
  protected override prepare(): void {
    this.hyper('lr', 'learning_rate', this.learningRate);
  }
}

/** Adagrad followed by a step towards small values. */
export class ProximalAdagradOptimizer extends RuleOptimizer {
  protected override readonly rule = 'ProximalAdagrad';
  protected override readonly ruleSlots = { accum: 'accumulator' };
  private readonly initial: number;
  constructor(
    private readonly learningRate: Hyperparameter,
    private readonly options: ProximalOptions & AdagradOptions = {},
  ) {
    super(options.name ?? 'ProximalAdagrad', options, { learningRate });
    onlyOptions('tf.train.ProximalAdagradOptimizer', options, ...proximalOptionNames, 'initialAccumulatorValue');
    this.initial = options.initialAccumulatorValue ?? 0.1;
    checkPositive('initial_accumulator_value', this.initial);
  }

  protected override createSlots(variables: readonly Variable[]): void {
    for (const v of variables)
      this.slotFrom(
        v,
        colocateWith(v, () => constantLike(v, this.initial)),
        'accumulator',
      );
  }
  protected override prepare(): void {
    this.hyper('lr', 'learning_rate', this.learningRate);
    this.hyper('l1', 'l1_regularization_strength', this.options.l1RegularizationStrength ?? 0);
    this.hyper('l2', 'l2_regularization_strength', this.options.l2RegularizationStrength ?? 0);
  }
}

export interface AdagradDAOptions extends ProximalOptions {
  readonly initialGradientSquaredAccumulatorValue?: number | undefined;
}

/** Adagrad with dual averaging, which makes sparse models sparse from the start. */
export class AdagradDAOptimizer extends RuleOptimizer {
  protected override readonly rule = 'AdagradDA';
  protected override readonly ruleSlots = {
    gradient_accumulator: 'gradient_accumulator',
    gradient_squared_accumulator: 'gradient_squared_accumulator',
  };
  private readonly initial: number;
  private step: Tensor | undefined;
  constructor(
    private readonly learningRate: Hyperparameter,
    private readonly globalStep: Variable,
    private readonly options: AdagradDAOptions = {},
  ) {
    super(options.name ?? 'AdagradDA', options, { learningRate, globalStep });
    onlyOptions(
      'tf.train.AdagradDAOptimizer',
      options,
      ...proximalOptionNames,
      'initialGradientSquaredAccumulatorValue',
    );
    this.initial = options.initialGradientSquaredAccumulatorValue ?? 0.1;
    checkPositive('initial_gradient_squared_accumulator_value', this.initial);
  }

  protected override createSlots(variables: readonly Variable[]): void {
    for (const v of variables) {
      const [sum, squares] = colocateWith(v, () => [constantLike(v, 0), constantLike(v, this.initial)] as const);
      this.slotFrom(v, sum, 'gradient_accumulator');
      this.slotFrom(v, squares, 'gradient_squared_accumulator');
    }
  }
  protected override prepare(): void {
    const rate = this.hyper('lr', 'learning_rate', this.learningRate);
    this.step = colocateWith(rate, () => plus(identity(this.globalStep), 1));
    this.prepared.set('l1', this.options.l1RegularizationStrength ?? 0);
    this.prepared.set('l2', this.options.l2RegularizationStrength ?? 0);
  }
  private useStep(variable: Variable): void {
    const step = () => identity(this.step!);
    this.prepared.set('global_step', variable.device === '' ? step() : device(variable.device, step));
  }
  protected override applyDense(gradient: Tensor, variable: Variable): Operation {
    this.useStep(variable);
    return super.applyDense(gradient, variable);
  }
  protected override applySparse(gradient: Tensor, variable: Variable, indices: Tensor): Waitable {
    this.useStep(variable);
    return super.applySparse(gradient, variable, indices);
  }
}
