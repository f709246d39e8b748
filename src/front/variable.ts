/** @file Variables: values that live in a session and keep what was last assigned to them. */

import type { DType } from '../core/dtypes.ts';
import { compatible, type Dims, isFullyDefined, showTuple } from '../core/shape.ts';
import { withContext } from '../graph/context.ts';
import { initScope } from '../graph/funcGraph.ts';
import { attrScope, colocateWith, device, nameScope } from '../graph/graph.ts';
import type { Operation } from '../graph/operation.ts';
import { checkOptions, type OptionNames } from '../graph/options.ts';
import { type FeedLike, type Runner, runnerFor } from '../graph/runner.ts';
import { Tensor, type TensorLike } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { convertToTensor } from '../op/convert.ts';
import { node, outputOf } from '../op/node.ts';
import { identity } from '../ops/array/identity.ts';
import { AttrList } from '../proto/attr.ts';
import { BaseVariable, type Parts } from './baseVariable.ts';
import { GraphKeys } from './collections.ts';
import { cond } from './controlFlow/cond.ts';
import { usesResource } from './resourceVariables.ts';

/** How a new value is projected after an optimizer has changed the variable. */
export type Constraint = (value: Tensor) => TensorLike;

export interface VariableOptions {
  /** Whether optimizers change it by default; true unless said otherwise. */
  readonly trainable?: boolean | undefined;
  /** Collections to be listed in; `GraphKeys.GLOBAL_VARIABLES` unless given. */
  readonly collections?: readonly string[] | undefined;
  /** False allows values of another shape than the first. */
  readonly validateShape?: boolean | undefined;
  /** Where a copy of the value is kept for reading. */
  readonly cachingDevice?: string | undefined;
  readonly name?: string | undefined;
  readonly dtype?: DType | undefined;
  readonly shape?: Dims | undefined;
  readonly constraint?: Constraint | undefined;
  /** False makes a reference variable, as TensorFlow made them before resources; the scope decides unless given. */
  readonly useResource?: boolean | undefined;
}

const optionNames: OptionNames<VariableOptions> = {
  trainable: true,
  collections: true,
  validateShape: true,
  cachingDevice: true,
  name: true,
  dtype: true,
  shape: true,
  constraint: true,
  useResource: true,
};

/** Where this variable is one slice of a partitioned one. */
export interface SaveSliceInfo {
  readonly fullName: string;
  readonly fullShape: readonly number[];
  readonly varOffset: readonly number[];
  readonly varShape: readonly number[];
}

/** What was decided when a variable was made. */
interface Made extends Parts {
  readonly initializer: Operation;
  readonly initialValue: Tensor;
  readonly isInitializedOp?: Operation | undefined;
}

/**
 * A value that lives in a session: uninitialized until its `initializer` (or `tf.globalVariablesInitializer()`) has run.
 * Adds `v` (VarHandleOp), `v/IsInitialized/VarIsInitializedOp`, `v/Assign` and `v/Read/ReadVariableOp`.
 *
 * @example const W = new tf.Variable(tf.zeros([784, 10]), { name: 'W' });
 */
export class Variable<out D extends DType = DType, out S extends Dims = Dims> extends BaseVariable {
  declare readonly dtype: D;
  readonly initializer: Operation;
  readonly initialValue: Tensor;
  readonly isInitializedOp: Operation | undefined;
  readonly trainable: boolean;
  readonly constraint: Constraint | undefined;
  /** Set when this is a slice of a partitioned variable. */
  saveSliceInfo: SaveSliceInfo | undefined;
  private readonly validateShape: boolean;

  constructor(
    initialValue: Tensor<D, S> | TensorLike | (() => Tensor<D, S> | TensorLike),
    options: VariableOptions = {},
  ) {
    checkOptions('tf.Variable', options, optionNames);
    const make = usesResource(options.useResource) ? makeResource : makeReference;
    if (initialValue instanceof Tensor && initialValue.graph.outer)
      throw userError(
        `Tensor-typed variable initializers must be functions, as in new tf.Variable(() => tf.zeros([2])), inside ${initialValue.graph}: the variable is made outside of it.`,
      );
    const made = initScope(() => nameScope(options.name ?? 'Variable', (scope) => make(scope, initialValue, options)));
    super(made);
    this.initializer = made.initializer;
    this.initialValue = made.initialValue;
    this.isInitializedOp = made.isInitializedOp;
    this.trainable = options.trainable ?? true;
    this.constraint = options.constraint;
    this.validateShape = options.validateShape ?? true;
    const collections = [...(options.collections ?? [GraphKeys.GLOBAL_VARIABLES])];
    if (this.trainable) collections.push(GraphKeys.TRAINABLE_VARIABLES);
    this.graph.addToCollections(collections, this);
  }

  override get shape(): S {
    return super.shape as S; // S is the shape of the initial value, as far as types know it
  }
  override get name(): string {
    return this.target.name;
  }
  override value(): Tensor<D, S> {
    return super.value() as Tensor<D, S>; // as above
  }
  override readValue(): Tensor<D, S> {
    return super.readValue() as Tensor<D, S>; // as above
  }
  override get op(): Operation {
    return this.target.op;
  }
  protected override get validatesShape(): boolean {
    return this.validateShape;
  }

  /**
   * The value of the variable once it has one, and its initial value before: for use in initial values of other variables.
   * Adds an `If` node.
   */
  initializedValue(): Tensor {
    return initScope(() =>
      cond(
        this.isInitialized(),
        (): Tensor => this.readValue(),
        () => this.initialValue,
      ),
    );
  }

  /** Gives the variable a value in a session, without adding operations. */
  async load(value: FeedLike, session?: Runner): Promise<void> {
    await runnerFor(`load a value into '${this.name}'`, session).run(this.initializer, [
      [this.initializer.inputs[1]!, value],
    ]);
  }
}

/** Attributes that place a node with the variable of that name, which need not exist yet. */
const placedWith = (name: string) => ({
  _class: { list: AttrList.create({ s: [new TextEncoder().encode(`loc:@${name}`)] }) },
});

type Initial = TensorLike | (() => TensorLike);
const isThunk = (value: Initial): value is () => TensorLike => typeof value === 'function';

function makeResource(scope: string, initial: Initial, options: VariableOptions): Made {
  const name = scope.slice(0, -1);
  const { initialValue, shape, handle } = attrScope(placedWith(name), () => {
    const initialValue = nameScope('Initializer', () =>
      device(null, () =>
        convertToTensor(isThunk(initial) ? initial() : initial, { name: 'initial_value', dtype: options.dtype }),
      ),
    );
    const shape = options.shape === undefined ? initialValue.shape : options.shape;
    if (!compatible(initialValue.shape, shape))
      throw userError(
        `In this tf.Variable creation, the initial value's shape (${showTuple(initialValue.shape)}) is not compatible with the explicitly supplied shape argument (${showTuple(shape)}).`,
      );
    const attrs = { dtype: initialValue.dtype, shape, shared_name: name, debug_name: scope };
    return { initialValue, shape, handle: outputOf('VarHandleOp', {}, { name: scope, attrs }) };
  });
  const { dtype } = initialValue;
  const isInitializedOp = nameScope('IsInitialized', () => node('VarIsInitializedOp', { resource: handle }));
  const onItsDevice = <T>(body: () => T): T => (handle.device === '' ? body() : device(handle.device, body));
  const initializer = nameScope('Assign', (own) =>
    withContext({ colocation: [], devices: [] }, () =>
      onItsDevice(() => node('AssignVariableOp', { resource: handle, value: initialValue }, { name: own })),
    ),
  );
  const { snapshot, cached } = nameScope('Read', () => {
    const snapshot = onItsDevice(() => outputOf('ReadVariableOp', { resource: handle }, { attrs: { dtype } }));
    const { cachingDevice } = options;
    if (cachingDevice === undefined) return { snapshot, cached: undefined };
    const cached = withContext({ colocation: [], devices: [] }, () => device(cachingDevice, () => identity(snapshot)));
    return { snapshot, cached };
  });
  return { handle, dtype, shape, snapshot, cached, initializer, initialValue, isInitializedOp };
}

function makeReference(scope: string, initial: Initial, options: VariableOptions): Made {
  const { validateShape = true, dtype, cachingDevice } = options;
  const shapeFor = (value: Tensor): Dims =>
    options.shape !== undefined ? options.shape : validateShape ? value.shape : null;
  const variable = (value: Tensor) =>
    outputOf('VariableV2', {}, { name: scope, attrs: { shape: shapeFor(value), dtype: value.dtype } });
  const [initialValue, ref] = isThunk(initial)
    ? attrScope(placedWith(scope.slice(0, -1)), () => {
        const value = nameScope('Initializer', () =>
          device(null, () => convertToTensor(initial(), { name: 'initial_value', dtype })),
        );
        return [value, variable(value)] as const;
      })
    : (() => {
        const value = convertToTensor(initial, { name: 'initial_value', dtype });
        return [value, variable(value)] as const;
      })();
  if (validateShape && !isFullyDefined(initialValue.shape))
    throw userError(`initial_value must have a shape specified: ${initialValue}`);
  const attrs = { validate_shape: validateShape };
  const initializer = colocateWith(ref, () => node('Assign', { ref, value: initialValue }, { attrs }));
  const read = () => identity(ref, { name: 'read' });
  const snapshot = cachingDevice === undefined ? colocateWith(ref, read) : device(cachingDevice, read);
  const shape = validateShape ? initialValue.shape : shapeFor(initialValue);
  return { ref, dtype: initialValue.dtype, shape, snapshot, initializer, initialValue };
}
