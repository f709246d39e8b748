/** @file Layer: what all layers share. It owns variables under a scope of its own and can be applied to several inputs. */
import { type DType, float32 } from '../../core/dtypes.ts';
import { type Dims, showTuple } from '../../core/shape.ts';
import { type Graph, getDefaultGraph } from '../../graph/graph.ts';
import type { Operation } from '../../graph/operation.ts';
import { nameScope } from '../../graph/scopes.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { shape } from '../../ops/array/index.ts';
import { cast } from '../../ops/math/index.ts';
import { GraphKeys, getCollectionRef } from '../collections.ts';
import type { Variable } from '../variable.ts';
import { type GetVariableOptions, getVariable, type VariableScope, variableScope } from '../variableScope.ts';
import type { Reuse } from '../variableStore.ts';
import { globalVariables } from '../variables.ts';

/** A penalty on what a layer gives out, or `null` for none. */
export type ActivityRegularizer = (outputs: Tensor) => Tensor | null;

export interface LayerOptions {
  /** Whether optimizers change its variables. */
  readonly trainable?: boolean | undefined;
  readonly name?: string | undefined;
  /** The type of its variables; that of the first input unless given. */
  readonly dtype?: DType | undefined;
  readonly activityRegularizer?: ActivityRegularizer | undefined;
  /** Share the variables of an earlier layer of the same scope. */
  readonly reuse?: Reuse | undefined;
  /** The variable scope to use, as it is, in place of one made from the name. */
  readonly scope?: string | VariableScope | undefined;
}

export const layerOptionNames = ['trainable', 'name', 'dtype', 'activityRegularizer', 'reuse', 'scope'] as const;

export type WeightOptions = Pick<
  GetVariableOptions,
  'dtype' | 'initializer' | 'regularizer' | 'constraint' | 'trainable'
>;

/** What a layer asks of its input. */
export interface InputSpec {
  readonly minRank?: number | undefined;
  readonly rank?: number | undefined;
  /** Sizes that some axes must have; negative ones count from the end. */
  readonly axes?: Readonly<Record<number, number>> | undefined;
}

/** How many layers of each kind a graph has named. */
const layersNamed = new WeakMap<Graph, Map<string, number>>();

function uniqueLayerName(base: string): string {
  const graph = getDefaultGraph();
  let counts = layersNamed.get(graph);
  if (!counts) layersNamed.set(graph, (counts = new Map()));
  const count = (counts.get(base) ?? 0) + 1;
  counts.set(base, count);
  return `${base}_${count}`;
}

/** `MaxPooling2D` becomes `max_pooling2d`. */
function snakeCase(name: string): string {
  return name
    .replace(/(.)([A-Z][a-z0-9]+)/g, '$1_$2')
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase();
}

/**
 * A part of a model with variables of its own. Subclasses make their variables in `build`, with `addWeight`, and say in `call`
 * what they compute. The variables are made when the layer is first applied, under a scope named after the layer.
 *
 * @example const layer = new tf.layers.Dense(10); const y1 = layer.apply(x1), y2 = layer.apply(x2); // one kernel
 */
export abstract class Layer<Call = object, Result = Tensor> {
  readonly name: string;
  readonly trainable: boolean;
  built = false;
  dtype: DType | undefined;
  protected inputSpec: InputSpec = {};
  private readonly baseName: string;
  private readonly reuse: Reuse | undefined;
  private readonly activityRegularizer: ActivityRegularizer | undefined;
  private scope: VariableScope | undefined;
  private readonly ownLosses: Tensor[] = [];
  private readonly ownUpdates: (Tensor | Operation)[] = [];
  private readonly ownTrainable: Variable[] = [];
  private readonly ownFixed: Variable[] = [];

  constructor(options: LayerOptions = {}) {
    const kind = snakeCase(this.constructor.name);
    this.baseName = options.name ?? kind;
    this.name = options.name ?? uniqueLayerName(kind);
    this.trainable = options.trainable ?? true;
    this.dtype = options.dtype;
    this.activityRegularizer = options.activityRegularizer;
    this.reuse = options.reuse;
    if (options.scope !== undefined) this.scope = variableScope(options.scope, (scope) => scope);
  }

  /** Makes the variables. Called once, before the first `call`. */
  build(_inputShape: Dims): void {
    this.built = true;
  }

  /** The shape of what the layer gives for inputs of a shape, without any nodes; null where the layer does not say. */
  computeOutputShape(_inputShape: Dims): Dims {
    return null;
  }

  /** What the layer computes. */
  abstract call(inputs: Tensor, options: Call): Result;

  /** The layer's output for an input; the first time, its variables are made. */
  apply(inputs: TensorLike, options: Partial<Call> = {}): Result {
    const scope = this.ownScope();
    const reuse = this.built ? true : this.reuse;
    return variableScope(scope, { reuse, auxiliaryNameScope: false }, () =>
      nameScope(scope.originalNameScope, () => {
        const x = convertToTensor(inputs, { hint: this.dtype ?? float32 });
        this.checkInput(x);
        if (!this.built) {
          this.dtype ??= x.dtype;
          this.build(x.shape);
          this.built = true;
        }
        const outputs = this.call(x, options as Call); // every option of a layer's call can be left out
        if (outputs instanceof Tensor) this.penalizeActivity(outputs);
        return outputs;
      }),
    );
  }

  /** The name of the layer's variable scope. */
  get scopeName(): string {
    if (!this.scope)
      throw userError(
        `No name available for layer scope because the layer "${this.name}" has not been used yet. The scope name is determined the first time the layer instance is called; apply the layer first.`,
      );
    return this.scope.name;
  }

  get trainableVariables(): Variable[] {
    return this.trainable ? [...this.ownTrainable] : [];
  }
  get nonTrainableVariables(): Variable[] {
    return this.trainable ? [...this.ownFixed] : [...this.ownTrainable, ...this.ownFixed];
  }
  get variables(): Variable[] {
    return [...this.ownTrainable, ...this.ownFixed];
  }
  get trainableWeights(): Variable[] {
    return this.trainableVariables;
  }
  get nonTrainableWeights(): Variable[] {
    return this.nonTrainableVariables;
  }
  get weights(): Variable[] {
    return this.variables;
  }
  /** How many numbers the layer's variables hold; known once they are made. */
  countParams(): number {
    if (!this.built)
      throw userError(`You tried to call countParams on ${this.name}, but the layer isn't built. Apply it first.`);
    const sizes = this.variables.map((v) => (v.shape ?? []).reduce<number>((n, size) => n * (size ?? 0), 1));
    return sizes.reduce((sum, size) => sum + size, 0);
  }
  get losses(): readonly Tensor[] {
    return this.ownLosses;
  }
  get updates(): readonly (Tensor | Operation)[] {
    return this.ownUpdates;
  }

  /** A variable of this layer, new or, where the scope says so, shared. */
  addWeight(name: string, dims: Dims, options: WeightOptions = {}): Variable {
    const existing = new Set(globalVariables());
    const scope = this.ownScope();
    const reuse = this.built ? true : this.reuse;
    const trainable = (options.trainable ?? true) && this.trainable;
    return variableScope(scope, { reuse, auxiliaryNameScope: false }, (inner) =>
      nameScope(scope.originalNameScope, () => {
        const variable = getVariable(name, dims, {
          dtype: options.dtype ?? this.dtype ?? float32,
          initializer: options.initializer ?? inner.initializer,
          constraint: options.constraint,
          trainable,
        });
        const { regularizer } = options;
        if (regularizer && !existing.has(variable)) {
          const penalty = nameScope(`${name}/Regularizer`, () => regularizer(variable));
          if (penalty) this.addLoss(penalty);
        }
        (trainable && variable.trainable ? this.ownTrainable : this.ownFixed).push(variable);
        return variable;
      }),
    );
  }

  /** Adds a penalty to this layer and to the collection of regularization losses. */
  addLoss(loss: Tensor): void {
    this.ownLosses.push(loss);
    addOnce(GraphKeys.REGULARIZATION_LOSSES, loss);
  }

  /** Adds an operation that is to run with every training step to the collection of update operations. */
  addUpdate(update: Tensor | Operation): void {
    this.ownUpdates.push(update);
    addOnce(GraphKeys.UPDATE_OPS, update);
  }

  /** The scope is settled when the layer is first used; a shared one keeps its name, a new one gets a number if need be. */
  private ownScope(): VariableScope {
    this.scope ??= this.reuse
      ? variableScope(this.baseName, (scope) => scope)
      : variableScope(null, { defaultName: this.baseName }, (scope) => scope);
    return this.scope;
  }

  private checkInput(x: Tensor): void {
    const { minRank, rank, axes } = this.inputSpec;
    const refuse = (why: string): never => {
      throw userError(`Input 0 of layer ${this.name} is incompatible with the layer: ${why}`);
    };
    if (x.rank === null) return;
    const shown = showTuple(x.shape);
    if (minRank !== undefined && x.rank < minRank)
      refuse(`expected min_ndim=${minRank}, found ndim=${x.rank}. Full shape received: ${shown}`);
    if (rank !== undefined && x.rank !== rank)
      refuse(`expected ndim=${rank}, found ndim=${x.rank}. Full shape received: ${shown}`);
    for (const [axis, size] of Object.entries(axes ?? {})) {
      const found = x.shape!.at(Number(axis)) ?? null;
      if (found !== null && found !== size)
        refuse(`expected axis ${axis} of input shape to have value ${size} but received input with shape ${shown}`);
    }
  }

  /** The penalty on the outputs, divided by the number of examples, so that it does not depend on the batch. */
  private penalizeActivity(outputs: Tensor): void {
    const { activityRegularizer } = this;
    if (!activityRegularizer) return;
    nameScope('ActivityRegularizer', () => {
      const penalty = activityRegularizer(outputs);
      if (!penalty) return;
      const examples = cast(shape(outputs).slice('0'), penalty.dtype);
      this.addLoss(penalty.div(examples));
    });
  }
}

function addOnce(collection: string, item: unknown): void {
  const list = getCollectionRef(collection);
  if (!list.includes(item)) list.push(item);
}
