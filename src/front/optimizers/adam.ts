/** @file Adam: running means of gradients and of their squares, corrected for having begun at zero. */

import type { Operation } from '../../graph/operation.ts';
import { onlyOptions, withArgument } from '../../graph/options.ts';
import { colocateWith, controlDependencies } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import { node } from '../../op/node.ts';
import { group, type Waitable } from '../../ops/flow/group.ts';
import { minus, over, plus, times } from '../../ops/math/operators.ts';
import { sqrt } from '../../ops/math/sqrt.ts';
import { BaseVariable } from '../baseVariable.ts';
import type { Variable } from '../variable.ts';
import { castTo, type Hyperparameter, Optimizer, type OptimizerOptions } from './optimizer.ts';

export interface AdamOptions extends OptimizerOptions {
  /** May stand here, or alone as the first argument. */
  readonly learningRate?: Hyperparameter | undefined;
  readonly beta1?: Hyperparameter | undefined;
  readonly beta2?: Hyperparameter | undefined;
  readonly epsilon?: Hyperparameter | undefined;
}

const call = (value: Hyperparameter): TensorLike => (typeof value === 'function' ? value() : value);

/** A variable's value as operators read it: a node of its own, before the operator's. */
const read = (value: TensorLike): TensorLike => (value instanceof BaseVariable ? value.value() : value);

/**
 * Kingma and Ba's Adam.
 *
 * @example const train = new tf.train.AdamOptimizer(1e-3, { beta1: 0.9 }).minimize(loss);
 */
export class AdamOptimizer extends Optimizer {
  private readonly learningRate: Hyperparameter;
  private readonly beta1: Hyperparameter;
  private readonly beta2: Hyperparameter;
  private readonly epsilon: Hyperparameter;
  constructor(given?: Hyperparameter | AdamOptions, last: AdamOptions = {}) {
    const options = withArgument('learningRate', given, last);
    const { learningRate = 0.001 } = options;
    super(options.name ?? 'Adam', options, { learningRate });
    onlyOptions('tf.train.AdamOptimizer', options, 'learningRate', 'useLocking', 'name', 'beta1', 'beta2', 'epsilon');
    this.learningRate = learningRate;
    this.beta1 = options.beta1 ?? 0.9;
    this.beta2 = options.beta2 ?? 0.999;
    this.epsilon = options.epsilon ?? 1e-8;
  }

  protected override createSlots(variables: readonly Variable[]): void {
    // The first by name, so that every worker of a cluster chooses the same.
    const first = variables.reduce((a, b) => (b.name < a.name ? b : a));
    this.nonSlotVariable(call(this.beta1), 'beta1_power', first);
    this.nonSlotVariable(call(this.beta2), 'beta2_power', first);
    for (const v of variables) {
      this.zerosSlot(v, 'm');
      this.zerosSlot(v, 'v');
    }
  }

  protected override prepare(): void {
    this.hyper('lr', 'learning_rate', this.learningRate);
    this.hyper('beta1', 'beta1', this.beta1);
    this.hyper('beta2', 'beta2', this.beta2);
    this.hyper('epsilon', 'epsilon', this.epsilon);
    this.prepared.set('beta1_power', this.getNonSlotVariable('beta1_power'));
    this.prepared.set('beta2_power', this.getNonSlotVariable('beta2_power'));
  }

  protected override applyDense(gradient: Tensor, variable: Variable): Operation {
    return this.applyRule('Adam', { gradient, variable, slots: { m: 'm', v: 'v' } });
  }

  /** There is no update op for rows: the means of all rows decay, and the rows with a gradient get their share. */
  protected override applySparse(values: Tensor, variable: Variable, indices: Tensor): Waitable {
    const { dtype } = variable;
    const hyper = (port: string) => castTo(this.prepared.get(port)!, dtype);
    const [beta1Power, beta2Power] = [hyper('beta1_power'), hyper('beta2_power')];
    const [rate, beta1, beta2, epsilon] = [hyper('lr'), hyper('beta1'), hyper('beta2'), hyper('epsilon')];
    const corrected = over(times(rate, sqrt(minus(1, read(beta2Power)))), minus(1, read(beta1Power)));
    const means = this.decayAndAdd(variable, 'm', beta1, indices, times(values, minus(1, beta1)));
    const squares = this.decayAndAdd(variable, 'v', beta2, indices, times(times(values, values), minus(1, beta2)));
    const root = sqrt(squares);
    const step = over(times(corrected, means), plus(root, epsilon));
    const update = variable.assignSub(step, { useLocking: this.useLocking });
    return group([update, means, squares]);
  }

  /** `slot = slot * decay`, then the rows are added; gives the new content. */
  private decayAndAdd(variable: Variable, name: string, decay: TensorLike, indices: Tensor, rows: Tensor): Tensor {
    const slot = this.getSlot(variable, name)!;
    const decayed = slot.assign(times(slot.value(), decay), { useLocking: this.useLocking });
    return controlDependencies([decayed], () => {
      if (!slot.handle)
        return convertToTensor(slot.scatter('ScatterAdd', indices, rows, { useLocking: this.useLocking }));
      const added = node('ResourceScatterAdd', { resource: slot.handle, indices, updates: rows });
      return controlDependencies([added], () => slot.value());
    });
  }

  protected override finish(updates: readonly Waitable[], name: string): Operation {
    const [power1, power2] = controlDependencies([...updates], () => {
      const beta1Power = this.getNonSlotVariable('beta1_power');
      const beta2Power = this.getNonSlotVariable('beta2_power');
      const next = (power: Variable, beta: string) =>
        power.assign(times(power.value(), this.prepared.get(beta)!), { useLocking: this.useLocking });
      return colocateWith(beta1Power, () => [next(beta1Power, 'beta1'), next(beta2Power, 'beta2')] as const);
    });
    return group([...updates, power1, power2], { name });
  }
}
