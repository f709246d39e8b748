/** @file Optimizer: computes gradients of a loss and applies them; what every optimizer shares, slots above all. */

import { inspect } from 'node:util';
import { gradients } from '../../autodiff/gradients.ts';
import { bfloat16, type DType, float16, float32, float64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { isFullyDefined } from '../../core/shape.ts';
import { fromOnePlace, type Graph, getDefaultGraph } from '../../graph/graph.ts';
import { IndexedSlices } from '../../graph/indexedSlices.ts';
import type { Operation } from '../../graph/operation.ts';
import { checkOptions, type OptionNames, onlyOptions, withArgument } from '../../graph/options.ts';
import { colocateWith, controlDependencies, nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor, isSymbolic } from '../../op/convert.ts';
import { node } from '../../op/node.ts';
import { findOp } from '../../op/registry.ts';
import { getItem } from '../../ops/array/getItem.ts';
import { shape } from '../../ops/array/shape.ts';
import { Unique } from '../../ops/array/unique.ts';
import { group, tuple, type Waitable } from '../../ops/flow/group.ts';
import { cast } from '../../ops/math/cast.ts';
import { UnsortedSegmentSum } from '../../ops/math/unsortedSegmentOps.ts';
import { GraphKeys } from '../collections.ts';
import type { InitializerFunction } from '../initializers.ts';
import { createSlot, createSlotWithInitializer, createZerosSlot } from '../slots.ts';
import { Variable } from '../variable.ts';
import { trainableVariables } from '../variables.ts';

/** A number, a tensor, or a function that gives one when the update is built. */
export type Hyperparameter = TensorLike | (() => TensorLike);
export type Gradient = Tensor | IndexedSlices;
/** A gradient, or `null` where the loss does not depend on the variable, and its variable. */
export type GradientAndVariable = readonly [gradient: Gradient | TensorLike | null, variable: Variable];

export interface OptimizerOptions {
  readonly useLocking?: boolean | undefined;
  readonly name?: string | undefined;
}
type VariableList = readonly Variable[] | null;
export interface ComputeOptions {
  /** The variables to differentiate for, the trainable ones unless given. */
  readonly varList?: VariableList | undefined;
  /** `Optimizer.GATE_OP` (the default), `GATE_NONE` or `GATE_GRAPH`: what must be ready before a gradient is used. */
  readonly gateGradients?: 0 | 1 | 2 | undefined;
  readonly aggregationMethod?: NonNullable<Parameters<typeof gradients>[2]>['aggregationMethod'];
  readonly colocateGradientsWithOps?: boolean | undefined;
  readonly gradLoss?: Tensor | undefined;
}
const computeOptionNames: OptionNames<ComputeOptions> = {
  varList: true,
  gateGradients: true,
  aggregationMethod: true,
  colocateGradientsWithOps: true,
  gradLoss: true,
};
export interface ApplyOptions {
  /** Counted up by one after the update. */
  readonly globalStep?: Variable | undefined;
  readonly name?: string | undefined;
}
export interface MinimizeOptions extends ComputeOptions, ApplyOptions {}

const floats: readonly DType[] = [float16, bfloat16, float32, float64];

/** Refuses what was left out, and an object with the arguments' names, as Python's keywords would suggest. */
function isHyperparameter(value: unknown): boolean {
  if (value === undefined || value === null || typeof value === 'string') return false;
  return typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype;
}

/** The value in the type asked for; nothing is added when it has that type already, not even a read. */
export function castTo(value: TensorLike, dtype: DType): TensorLike {
  return isSymbolic(value) && value.dtype === dtype ? value : cast(value, dtype);
}

/** Base class of the optimizers. */
export abstract class Optimizer {
  static readonly GATE_NONE = 0;
  static readonly GATE_OP = 1;
  static readonly GATE_GRAPH = 2;

  protected readonly useLocking: boolean;
  private readonly slots = new Map<string, Map<Operation, Variable>>();
  private readonly nonSlots = new Map<Graph, Map<string, Variable>>();
  /** Hyperparameters as tensors, by the port of the update op that takes them; made anew for each update. */
  protected readonly prepared = new Map<string, TensorLike>();

  /** `hyperparameters` are the constructor's other arguments by name. */
  constructor(
    readonly name: string,
    options: OptimizerOptions,
    hyperparameters: Readonly<Record<string, Hyperparameter>> = {},
  ) {
    this.useLocking = options.useLocking ?? false;
    const names = Object.keys(hyperparameters);
    for (const given of names)
      if (!isHyperparameter(hyperparameters[given]))
        throw userError(
          `${new.target.name} needs a number or tensor for ${given}, but got ${inspect(hyperparameters[given])}. Write new tf.train.${new.target.name}(${names.join(', ')}), and options in an object behind them.`,
        );
  }

  getName(): string {
    return this.name;
  }

  /**
   * One operation that moves the variables to lower the loss.
   *
   * @example const train = new tf.train.GradientDescentOptimizer(0.5).minimize(loss);
   */
  minimize(loss: Tensor, options: MinimizeOptions = {}): Operation {
    const { varList, globalStep, name, ...compute } = options;
    const pairs = this.computeGradients(loss, varList, compute);
    if (pairs.every(([gradient]) => gradient === null))
      throw userError(
        `No gradients provided for any variable, check your graph for ops that do not support gradients, between variables ${pairs.map(([, v]) => String(v))} and loss ${loss}.`,
      );
    return this.applyGradients(pairs, { globalStep, name });
  }

  /** The gradient of the loss for every variable (the trainable ones unless given), as pairs. */
  computeGradients(
    loss: Tensor,
    given?: VariableList | ComputeOptions,
    last: ComputeOptions = {},
  ): [gradient: Gradient | null, variable: Variable][] {
    const options = withArgument('varList', given, last);
    checkOptions('computeGradients', options, computeOptionNames);
    const gate = options.gateGradients ?? Optimizer.GATE_OP;
    if (!isSymbolic(loss)) throw userError(`The loss must be a tensor, but it is ${String(loss)}.`);
    this.checkTypes([loss, ...(options.gradLoss ? [options.gradLoss] : [])]);
    const variables = [...(options.varList ?? trainableVariables())];
    if (variables.length === 0) throw userError('No variables to optimize.');
    const found = gradients(
      loss,
      variables.map((v) => v.target),
      {
        gateGradients: gate === Optimizer.GATE_OP,
        ...(options.gradLoss ? { gradYs: [options.gradLoss] } : {}),
        ...(options.aggregationMethod === undefined ? {} : { aggregationMethod: options.aggregationMethod }),
        ...(options.colocateGradientsWithOps === undefined
          ? {}
          : { colocateGradientsWithOps: options.colocateGradientsWithOps }),
      },
    );
    const gated = gate === Optimizer.GATE_GRAPH ? tuple(found) : found;
    const pairs = variables.map((v, i): [Gradient | null, Variable] => [gated[i] ?? null, v]);
    this.checkTypes(pairs.filter(([g]) => g !== null).map(([, v]) => v));
    return pairs;
  }

  /** One operation that applies gradients to their variables. */
  applyGradients(gradientsAndVariables: readonly GradientAndVariable[], options: ApplyOptions = {}): Operation {
    onlyOptions('applyGradients', options, 'globalStep', 'name');
    if (gradientsAndVariables.length === 0) throw userError('No variables provided.');
    const pairs = gradientsAndVariables.flatMap(([g, v]): [Gradient, Variable][] =>
      g === null ? [] : [[g instanceof IndexedSlices ? g : convertToTensor(g), v]],
    );
    if (pairs.length === 0)
      throw userError(`No gradients provided for any variable: ${gradientsAndVariables.map(([, v]) => String(v))}.`);
    const train = fromOnePlace(() => this.applyPairs(pairs, options));
    const trainOps = getDefaultGraph().getCollectionRef(GraphKeys.TRAIN_OP);
    if (!trainOps.includes(train)) trainOps.push(train);
    return train;
  }

  private applyPairs(pairs: readonly [Gradient, Variable][], { globalStep, name }: ApplyOptions): Operation {
    controlDependencies(null, () => this.createSlots(pairs.map(([, v]) => v)));
    return nameScope(name ?? this.name, (scope) => {
      this.prepare();
      const updates = pairs.map(([g, v]) =>
        nameScope(`update_${v.op.name}`, () => colocateWith(v, () => this.update(g, v))),
      );
      if (!globalStep) return this.finish(updates, scope);
      return controlDependencies([this.finish(updates, 'update')], () =>
        colocateWith(globalStep, () => {
          const one = globalStep.handle ? convertToTensor(1, { dtype: globalStep.dtype }) : 1;
          return globalStep.assignAdd(one, { name: scope, readValue: false });
        }),
      );
    });
  }

  /** The slot of a variable: its momentum, its moving average; null when there is none. */
  getSlot(variable: Variable, name: string): Variable | null {
    return this.slots.get(name)?.get(variable.op) ?? null;
  }
  getSlotNames(): string[] {
    return [...this.slots.keys()].sort();
  }
  /** All variables the optimizer has made in the default graph. */
  variables(): Variable[] {
    const graph = getDefaultGraph().outermost;
    const slots = [...this.slots.values()].flatMap((bySlot) => [...bySlot.values()]);
    return [...(this.nonSlots.get(graph)?.values() ?? []), ...slots]
      .filter((v) => v.graph === graph)
      .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  }

  private checkTypes(values: readonly { dtype: DType; name: string }[]): void {
    for (const { dtype, name } of values)
      if (!floats.includes(dtype))
        throw userError(`Invalid type ${dtype} for ${name}, expected: ${floats.join(', ')}.`);
  }

  // What optimizers fill in.
  protected createSlots(_variables: readonly Variable[]): void {}
  /** Turns hyperparameters into tensors, inside the optimizer's name scope. */
  protected abstract prepare(): void;
  protected abstract applyDense(gradient: Tensor, variable: Variable): Operation;
  /** Rows are unique here, unless an optimizer takes repeated ones itself. */
  protected abstract applySparse(values: Tensor, variable: Variable, indices: Tensor): Waitable;

  protected finish(updates: readonly Waitable[], name: string): Operation {
    return group([...updates], { name });
  }

  /** Repeated rows are summed before they are applied. */
  protected applySparseRepeated(gradient: IndexedSlices, variable: Variable): Waitable {
    const { y: unique, idx: positions } = Unique.build({ x: gradient.indices });
    const count = getItem(shape(unique), '0');
    const inputs = { data: gradient.values, segment_ids: positions, num_segments: count };
    return this.applySparse(UnsortedSegmentSum.build(inputs).output, variable, unique);
  }

  private update(gradient: Gradient, variable: Variable): Waitable {
    const { constraint } = variable;
    if (gradient instanceof IndexedSlices) {
      if (constraint)
        throw new InvalidArgumentError('Cannot use a constraint function on a sparse variable.', {
          node: variable.op.name,
        });
      return this.applySparseRepeated(gradient, variable);
    }
    const op = this.applyDense(gradient, variable);
    if (!constraint) return op;
    return controlDependencies([op], () => variable.assign(constraint(variable.value())));
  }

  // What they build with.
  /** Prepares a hyperparameter: a tensor of that name, for that port of the update op. */
  protected hyper(port: string, name: string, value: Hyperparameter): Tensor {
    const tensor = convertToTensor(typeof value === 'function' ? value() : value, { name, hint: float32 });
    this.prepared.set(port, tensor);
    return tensor;
  }

  /** The update op of a rule, over the variable, its slots and the prepared hyperparameters. */
  protected applyRule(rule: string, { gradient, variable, indices, slots = {}, attrs = {} }: RuleInputs): Operation {
    const form = variable.handle ? 'Resource' : '';
    const type = `${form}${indices ? 'Sparse' : ''}Apply${rule}`;
    const inputs: Record<string, TensorLike> = {};
    for (const { name: port, typeAttr } of findOp(type).inputPorts) {
      const slot = slots[port];
      if (port === 'var') inputs[port] = variable.target;
      else if (slot !== undefined) inputs[port] = this.getSlot(variable, slot)!.target;
      else if (port === 'grad' || port === 'delta') inputs[port] = gradient;
      else if (port === 'indices') inputs[port] = indices!;
      else {
        const value = this.prepared.get(port)!;
        inputs[port] = typeAttr === undefined ? value : castTo(value, variable.dtype);
      }
    }
    return node(type, inputs, { attrs: { use_locking: this.useLocking, ...attrs } });
  }

  private makeSlot(variable: Variable, slot: string, make: () => Variable): void {
    let bySlot = this.slots.get(slot);
    if (!bySlot) this.slots.set(slot, (bySlot = new Map()));
    if (!bySlot.has(variable.op)) bySlot.set(variable.op, make());
  }
  protected zerosSlot(variable: Variable, slot: string, name = this.name): void {
    this.makeSlot(variable, slot, () => createZerosSlot(variable, name));
  }
  protected slotFrom(variable: Variable, value: Tensor, slot: string, name = this.name): void {
    this.makeSlot(variable, slot, () => createSlot(variable, value, name));
  }
  protected slotWith(variable: Variable, initializer: InitializerFunction, slot: string, name = this.name): void {
    if (!isFullyDefined(variable.shape))
      throw userError(`the slots of '${variable.name}' need its shape, which is not known`);
    const { shape: dims, dtype } = variable;
    this.makeSlot(variable, slot, () => createSlotWithInitializer(variable, initializer, dims, dtype, name));
  }

  /** A variable of the optimizer itself, made once per graph and placed with one of the model's. */
  protected nonSlotVariable(initial: TensorLike, name: string, near: Variable): Variable {
    let byName = this.nonSlots.get(near.graph);
    if (!byName) this.nonSlots.set(near.graph, (byName = new Map()));
    let found = byName.get(name);
    if (!found) {
      const useResource = near.handle !== undefined;
      const dtype = isSymbolic(initial) ? undefined : float32;
      found = colocateWith(near, () => new Variable(initial, { name, trainable: false, useResource, dtype }));
      byName.set(name, found);
    }
    return found;
  }
  protected getNonSlotVariable(name: string): Variable {
    return this.nonSlots.get(getDefaultGraph().outermost)!.get(name)!;
  }
}

export interface RuleInputs {
  readonly gradient: Tensor;
  readonly variable: Variable;
  readonly indices?: Tensor | undefined;
  /** Slot names by port. */
  readonly slots?: Readonly<Record<string, string>>;
  readonly attrs?: Readonly<Record<string, unknown>>;
}

/** An optimizer whose whole step is one update op: the rule, its slots and attributes say everything. */
export abstract class RuleOptimizer extends Optimizer {
  protected abstract readonly rule: string;
  protected readonly ruleSlots: Readonly<Record<string, string>> = {};
  protected readonly ruleAttrs: Readonly<Record<string, unknown>> = {};

  protected override applyDense(gradient: Tensor, variable: Variable): Operation {
    return this.applyRule(this.rule, { gradient, variable, slots: this.ruleSlots, attrs: this.ruleAttrs });
  }
  protected override applySparse(gradient: Tensor, variable: Variable, indices: Tensor): Waitable {
    return this.applyRule(this.rule, { gradient, variable, indices, slots: this.ruleSlots, attrs: this.ruleAttrs });
  }
}
