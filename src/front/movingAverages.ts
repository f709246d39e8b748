/** @file Moving averages of variables and tensors, kept in variables of their own. */

import { bfloat16, type DType, float16, float32, float64 } from '../core/dtypes.ts';
import { isFullyDefined, type Shape } from '../core/shape.ts';
import { currentContext } from '../graph/context.ts';
import type { Operation } from '../graph/operation.ts';
import { onlyOptions } from '../graph/options.ts';
import { colocateWith, controlDependencies, device, nameScope } from '../graph/scopes.ts';
import type { Tensor, TensorLike } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { convertToTensor } from '../op/convert.ts';
import { group } from '../ops/flow/group.ts';
import { cast } from '../ops/math/cast.ts';
import { minimum } from '../ops/math/maximum.ts';
import { minus, over, plus, times } from '../ops/math/operators.ts';
import { pow } from '../ops/math/pow.ts';
import type { Updated } from './baseVariable.ts';
import { addToCollection, GraphKeys } from './collections.ts';
import { zerosInitializer } from './initializers.ts';
import { createSlot, createZerosSlot } from './slots.ts';
import { Variable } from './variable.ts';
import { getVariable, getVariableScope, variableScope } from './variableScope.ts';
import { globalVariables, movingAverageVariables, trainableVariables } from './variables.ts';

const floats: readonly DType[] = [bfloat16, float16, float32, float64];
const variableOps = ['Variable', 'VariableV2', 'VarHandleOp'];

/** Moves a variable towards a value: `variable -= (1 - decay) * (variable - value)`. */
export function assignMovingAverage(
  variable: Variable,
  value: TensorLike,
  decay: TensorLike,
  options: { zeroDebias?: boolean; name?: string } = {},
): Updated {
  const { zeroDebias = true } = options;
  return nameScope(options.name ?? 'AssignMovingAvg', () => {
    const given = typeof decay === 'number' ? 1 - decay : minus(1, decay);
    const rate = convertToTensor(given, { name: 'decay', hint: float32 });
    const fraction = rate.dtype === variable.dtype ? rate : cast(rate, variable.dtype);
    if (zeroDebias) return assignDebiased(variable, value, fraction);
    return variable.assignSub(times(minus(variable.value(), value), fraction));
  });
}

/** Averages that began at zero are scaled up by what is missing from them yet. */
function assignDebiased(variable: Variable, value: TensorLike, fraction: Tensor): Updated {
  const { shape, dtype } = variable;
  if (!isFullyDefined(shape)) throw userError(`the average of '${variable.name}' needs its shape`);
  const [biased, localStep] = variableScope(variable.opName, () =>
    colocateWith(variable, () => {
      const make = (name: string, dims: Shape) =>
        getVariable(unusedName(name), dims, { dtype, initializer: zerosInitializer(), trainable: false });
      return [make('biased', shape), make('local_step', [])] as const;
    }),
  );
  const sum = biased.assignSub(times(minus(biased.value(), value), fraction));
  const steps = localStep.assignAdd(1);
  const missing = minus(1, pow(minus(1, fraction), steps));
  const sumRead = 'value' in sum ? sum.value() : sum;
  return variable.assign(over(sumRead, missing), { name: `${currentContext().scope}/` });
}

/** The name, with a number when the current variable scope has it already. */
function unusedName(name: string): string {
  const scope = getVariableScope();
  if (scope.reuse) return name;
  const taken = new Set(scope.globalVariables().map((v) => v.op.name));
  const full = `${scope.name}/${name}`;
  if (!taken.has(full)) return name;
  let i = 1;
  while (taken.has(`${full}_${i}`)) i++;
  return `${name}_${i}`;
}

export interface MovingAverageOptions {
  /** Makes the first averages move faster: decay is at most `(1 + n) / (10 + n)`. */
  readonly numUpdates?: TensorLike | undefined;
  readonly zeroDebias?: boolean | undefined;
  readonly name?: string | undefined;
}

/**
 * Keeps moving averages of variables, which often do better at test time than the variables themselves.
 *
 * @example const ema = new tf.train.ExponentialMovingAverage(0.999); const update = ema.apply(tf.trainableVariables());
 */
export class ExponentialMovingAverage {
  readonly name: string;
  private readonly averages = new Map<Variable | Tensor, Variable>();
  constructor(
    private readonly decay: TensorLike,
    private readonly options: MovingAverageOptions = {},
  ) {
    onlyOptions('tf.train.ExponentialMovingAverage', options, 'numUpdates', 'zeroDebias', 'name');
    this.name = options.name ?? 'ExponentialMovingAverage';
  }

  /** One operation that moves the averages; they are made when first asked for. */
  apply(varList: readonly (Variable | Tensor)[] = trainableVariables()): Operation {
    const debiased = new Set<Variable>();
    for (const v of varList) {
      if (!floats.includes(v.dtype)) throw userError(`The variables must be half, float, or double: ${v.name}`);
      if (this.averages.has(v)) continue;
      const average = controlDependencies(null, () => this.createAverage(v));
      if (!(v instanceof Variable) && this.options.zeroDebias) debiased.add(average);
      this.averages.set(v, average);
    }
    return nameScope(this.name, (scope) => {
      const decay = this.currentDecay();
      const updates = varList.map((v) => {
        const average = this.averages.get(v)!;
        return assignMovingAverage(average, v, decay, { zeroDebias: debiased.has(average) });
      });
      return group(updates, { name: scope });
    });
  }

  private createAverage(value: Variable | Tensor): Variable {
    if (value instanceof Variable) {
      const present = device(value.device, () => value.initializedValue());
      const average = createSlot(value, present, this.name);
      addToCollection(GraphKeys.MOVING_AVERAGE_VARIABLES, value);
      return average;
    }
    return createZerosSlot(value, this.name, { colocateWithPrimary: variableOps.includes(value.op.type) });
  }

  private currentDecay(): Tensor {
    const decay = convertToTensor(this.decay, { dtype: float32, name: 'decay' });
    const { numUpdates } = this.options;
    if (numUpdates === undefined) return decay;
    const n = cast(numUpdates, float32, { name: 'num_updates' });
    return minimum(decay, over(plus(1, n), plus(10, n)));
  }

  /** The variable that holds an average; null when `apply` was not called for it. */
  average(value: Variable | Tensor): Variable | null {
    return this.averages.get(value) ?? null;
  }

  /** The name of the variable that holds, or would hold, an average. */
  averageName(value: Variable | Tensor): string {
    const average = this.averages.get(value);
    return average ? average.opName : value.graph.uniqueName(`${value.op.name}/${this.name}`, false);
  }

  /** What a saver must be given so that variables are restored from their averages: by name in the checkpoint. */
  variablesToRestore(movingAverages?: readonly Variable[]): Map<string, Variable> {
    const averaged = new Set(movingAverages ?? [...trainableVariables(), ...movingAverageVariables()]);
    const byName = new Map<string, Variable>();
    for (const v of averaged) byName.set(this.averageName(v), v);
    const names = new Set([...averaged].map((v) => v.name));
    for (const v of globalVariables()) if (!names.has(v.name) && !byName.has(v.op.name)) byName.set(v.op.name, v);
    return byName;
  }
}
