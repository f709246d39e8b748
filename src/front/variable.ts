/** @file Variables: values that live in a session and keep what was last assigned to them. */

import type { DType } from '../core/dtypes.ts';
import { compatible, type Dims, isFullyDefined, showTuple } from '../core/shape.ts';
import { withContext } from '../graph/context.ts';
import { initScope } from '../graph/funcGraph.ts';
import { getDefaultGraph } from '../graph/graph.ts';
import type { Operation } from '../graph/operation.ts';
import { checkOptions, type OptionNames } from '../graph/options.ts';
import { type FeedLike, type Runner, runnerFor } from '../graph/runner.ts';
import { isInScope, prependNameScope, stripNameScope } from '../graph/scopedNames.ts';
import { attrScope, colocateWith, device, nameScope } from '../graph/scopes.ts';
import { Tensor, type TensorLike } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { convertToTensor } from '../op/convert.ts';
import { outputOf } from '../op/node.ts';
import { identity } from '../ops/array/identity.ts';
import { Assign, AssignVariableOp } from '../ops/state/assign.ts';
import { VarIsInitializedOp } from '../ops/state/variable.ts';
import { AttrList } from '../proto/attr.ts';
import { VariableDef } from '../proto/metaGraph.ts';
import { dtypeFromProto, shapeFromProto } from '../proto/tensorProto.ts';
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

/** A variable whose nodes are in the graph already, because they were imported. */
class Found {
  constructor(
    readonly made: Made,
    readonly saveSliceInfo: SaveSliceInfo | undefined,
  ) {}
}

/**
 * A value that lives in a session: uninitialized until its `initializer` (or `tf.globalVariablesInitializer()`) has run.
 * Adds `v` (VarHandleOp), `v/IsInitialized/VarIsInitializedOp`, `v/Assign` and `v/Read/ReadVariableOp`.
 *
 * @example const W = new tf.Variable(tf.zeros([784, 10]), { name: 'W' });
 */
export class Variable<out D extends DType = DType, out S extends Dims = Dims> extends BaseVariable {
  declare readonly dtype: D;
  private initialization: { readonly op: Operation; readonly value: Tensor };
  readonly isInitializedOp: Operation | undefined;
  readonly trainable: boolean;
  readonly constraint: Constraint | undefined;
  /** How copies of it on several devices go together: numbers of meta graphs, which are kept and handed on. */
  synchronization = 0;
  aggregation = 0;
  /** Set when this is a slice of a partitioned variable. */
  saveSliceInfo: SaveSliceInfo | undefined;
  private readonly validateShape: boolean;

  constructor(
    initialValue: Tensor<D, S> | TensorLike | (() => Tensor<D, S> | TensorLike) | Found,
    options: VariableOptions = {},
  ) {
    checkOptions('tf.Variable', options, optionNames);
    const made = initialValue instanceof Found ? initialValue.made : makeVariable(initialValue, options);
    super(made);
    if (initialValue instanceof Found) this.saveSliceInfo = initialValue.saveSliceInfo;
    this.initialization = { op: made.initializer, value: made.initialValue };
    this.isInitializedOp = made.isInitializedOp;
    this.trainable = options.trainable ?? true;
    this.constraint = options.constraint;
    this.validateShape = options.validateShape ?? true;
    if (initialValue instanceof Found) return;
    const collections = [...(options.collections ?? [GraphKeys.GLOBAL_VARIABLES])];
    if (this.trainable) collections.push(GraphKeys.TRAINABLE_VARIABLES);
    this.graph.addToCollections(collections, this);
  }

  /** Gives the variable its first value when it runs. */
  get initializer(): Operation {
    return this.initialization.op;
  }
  get initialValue(): Tensor {
    return this.initialization.value;
  }
  /** Lets the variable begin with another value: one from a checkpoint. */
  initializeFrom(op: Operation, value: Tensor): void {
    this.initialization = { op, value };
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

  /**
   * The variable as meta graphs describe it: the names of its nodes, without `exportScope`; undefined where it lies outside of
   * that scope.
   */
  toProto(exportScope?: string): VariableDef | undefined {
    if (!isInScope(this.target.name, exportScope)) return undefined;
    const named = (element: Tensor | Operation) => stripNameScope(element.name, exportScope);
    const slice = this.saveSliceInfo;
    return VariableDef.create({
      variable_name: named(this.target),
      initial_value_name: named(this.initialValue),
      initializer_name: named(this.initializer),
      snapshot_name: named(this.cached ?? this.snapshot),
      is_resource: this.handle !== undefined,
      trainable: this.trainable,
      synchronization: this.synchronization,
      aggregation: this.aggregation,
      save_slice_info_def: slice && {
        full_name: stripNameScope(slice.fullName, exportScope),
        full_shape: slice.fullShape,
        var_offset: slice.varOffset,
        var_shape: slice.varShape,
      },
    });
  }

  /** The variable whose nodes a description names; they are in the default graph, under `importScope`. */
  static fromProto(def: VariableDef, importScope?: string): Variable {
    // It is listed in no collection: who imports it knows in which it was.
    const variable = new Variable(findVariable(def, importScope), { trainable: def.trainable });
    variable.synchronization = def.synchronization;
    variable.aggregation = def.aggregation;
    return variable;
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

function makeVariable(initial: Initial, options: VariableOptions): Made {
  const make = usesResource(options.useResource) ? makeResource : makeReference;
  if (initial instanceof Tensor && initial.graph.outer)
    throw userError(
      `Tensor-typed variable initializers must be functions, as in new tf.Variable(() => tf.zeros([2])), inside ${initial.graph}: the variable is made outside of it.`,
    );
  return initScope(() => nameScope(options.name ?? 'Variable', (scope) => make(scope, initial, options)));
}

/** The nodes of an imported variable, by the names its description has for them. */
function findVariable(def: VariableDef, importScope: string | undefined): Found {
  const graph = getDefaultGraph();
  const tensor = (name: string) => graph.getTensorByName(prependNameScope(name, importScope));
  const target = tensor(def.variable_name);
  const { dtype, shape } = target.op.attrs;
  if (dtype?.type === undefined)
    throw userError(`'${target.name}' is listed as a variable, but ${target.op.type} is not a kind of variable`);
  const initializer = graph.getOperationByName(prependNameScope(def.initializer_name, importScope));
  // Descriptions by old versions lack names that can be told from the nodes.
  const initialValue = def.initial_value_name === '' ? initializer.inputs[1]! : tensor(def.initial_value_name);
  const read = tensor(def.snapshot_name || `${def.variable_name.replace(/:0$/, '')}/Read/ReadVariableOp:0`);
  let snapshot = read;
  if (def.is_resource) while (snapshot.op.type !== 'ReadVariableOp') snapshot = snapshot.op.inputs[0]!;
  const slice = def.save_slice_info_def;
  return new Found(
    {
      ...(def.is_resource ? { handle: target } : { ref: target }),
      dtype: dtypeFromProto(dtype.type),
      shape: shapeFromProto(shape?.shape),
      snapshot,
      cached: def.is_resource && read !== snapshot ? read : undefined,
      initializer,
      initialValue,
    },
    slice && {
      fullName: prependNameScope(slice.full_name, importScope),
      fullShape: slice.full_shape,
      varOffset: slice.var_offset,
      varShape: slice.var_shape,
    },
  );
}
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
  const isInitializedOp = nameScope('IsInitialized', () => VarIsInitializedOp.node({ resource: handle }));
  const onItsDevice = <T>(body: () => T): T => (handle.device === '' ? body() : device(handle.device, body));
  const initializer = nameScope('Assign', (own) =>
    withContext({ colocation: [], devices: [] }, () =>
      onItsDevice(() => AssignVariableOp.node({ resource: handle, value: initialValue }, { name: own })),
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
  const initializer = colocateWith(ref, () => Assign.node({ ref, value: initialValue }, { attrs }));
  const read = () => identity(ref, { name: 'read' });
  const snapshot = cachingDevice === undefined ? colocateWith(ref, read) : device(cachingDevice, read);
  const shape = validateShape ? initialValue.shape : shapeFor(initialValue);
  return { ref, dtype: initialValue.dtype, shape, snapshot, initializer, initialValue };
}
