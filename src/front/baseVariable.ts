/** @file What every variable can do: be read, assigned to, changed in parts, and used like a tensor. */

import type { DType } from '../core/dtypes.ts';
import type { NDArray } from '../core/ndarray.ts';
import { compatible, type Dims, isFullyDefined, mergeShapes, showTuple } from '../core/shape.ts';
import { withContext } from '../graph/context.ts';
import { type Graph, graphFor } from '../graph/graph.ts';
import type { IndexedSlices } from '../graph/indexedSlices.ts';
import type { Operation } from '../graph/operation.ts';
import { colocateWith, controlDependencies, nameScope } from '../graph/scopes.ts';
import type { Alike, Typed } from '../graph/staticShapes.ts';
import { type ConvertibleToTensor, noNumber, Tensor, type TensorLike } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { convertToTensor } from '../op/convert.ts';
import { GatherV2 } from '../ops/array/gather.ts';
import { GatherNd } from '../ops/array/gatherNd.ts';
import { getItem, type SliceSpec } from '../ops/array/getItem.ts';
import { identity } from '../ops/array/identity.ts';
import { AssignVariableOp } from '../ops/state/assign.ts';
import { ResourceGather, ResourceGatherNd } from '../ops/state/gather.ts';
import { IsVariableInitialized } from '../ops/state/refVariable.ts';
import { ReadVariableOp, VarIsInitializedOp } from '../ops/state/variable.ts';
import '../ops/index.ts';
import { node, outputOf } from '../op/node.ts';

type Feeds = Parameters<Tensor['eval']>[0];
type Session = NonNullable<Parameters<Tensor['eval']>[1]>;
const isSession = (x: Session | Feeds): x is Session =>
  typeof x === 'object' && 'run' in x && typeof x.run === 'function';

export interface UpdateOptions {
  readonly name?: string | undefined;
  readonly useLocking?: boolean | undefined;
}
export interface AssignOptions extends UpdateOptions {
  /** False gives the bare operation instead of the new value. */
  readonly readValue?: boolean | undefined;
}

/** The new value after a change: a tensor, or a variable that is read after the change. */
export type Updated = Tensor | UpdatedVariable;
/** A slice of a variable that can be assigned to. */
export type AssignableSlice = Tensor & { assign(value: TensorLike, options?: { name?: string }): Updated };

/** What the two kinds of variables are made of. */
export interface Parts {
  /** Handle of a resource variable. */
  readonly handle?: Tensor | undefined;
  /** Reference of a reference variable. */
  readonly ref?: Tensor | undefined;
  readonly dtype: DType;
  readonly shape: Dims;
  /** What a session fetches when asked for the variable. */
  readonly snapshot: Tensor;
  readonly cached?: Tensor | undefined;
}

/** Everything a variable can do, whether it is the variable itself or its state after a change. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the methods are copied from Tensor below
export abstract class BaseVariable implements ConvertibleToTensor {
  /** The resource handle; undefined for a reference variable. */
  readonly handle: Tensor | undefined;
  readonly dtype: DType;
  protected readonly ref: Tensor | undefined;
  protected readonly snapshot: Tensor;
  protected readonly cached: Tensor | undefined;
  protected staticShape: Dims;

  constructor(parts: Parts) {
    this.handle = parts.handle;
    this.ref = parts.ref;
    this.dtype = parts.dtype;
    this.staticShape = parts.shape;
    this.snapshot = parts.snapshot;
    this.cached = parts.cached;
  }

  abstract get name(): string;
  abstract get op(): Operation;
  get shape(): Dims {
    return this.staticShape;
  }
  get rank(): number | null {
    return this.staticShape?.length ?? null;
  }
  get graph(): Graph {
    return this.target.graph;
  }
  get device(): string {
    return this.target.device;
  }
  /** The handle or the reference: what ops that change the variable take. */
  get target(): Tensor {
    return (this.handle ?? this.ref)!;
  }
  /** The name without `:0`. */
  get opName(): string {
    return this.target.op.name;
  }

  setShape(shape: Dims): void {
    this.staticShape = mergeShapes(this.staticShape, shape);
  }

  /** The value as a tensor. Adds a `ReadVariableOp` node for a resource variable. */
  value(): Tensor {
    if (this.ref) return this.snapshot;
    return this.cached ?? withContext({ colocation: [], devices: [] }, () => this.readNow());
  }

  /** The value when this runs, as a node of its own. */
  readValue(): Tensor {
    if (this.ref) return identity(this.ref, { name: 'read' });
    return identity(nameScope('Read', () => this.readNow()));
  }

  protected readNow(): Tensor {
    return ReadVariableOp.build({ resource: this.handle! }, { attrs: { dtype: this.dtype } }).value;
  }

  toTensor(
    options: { dtype?: DType | undefined; name?: string | undefined; asRef?: boolean | undefined } = {},
  ): Tensor {
    if (options.dtype !== undefined && options.dtype !== this.dtype)
      throw userError(
        `Incompatible type conversion requested to type ${options.dtype} for variable of type ${this.dtype}. (Variable: ${this})`,
      );
    return options.asRef && this.ref ? this.ref : this.value();
  }

  /** Whether it has a value. Adds one `VarIsInitializedOp` (or `IsVariableInitialized`) node. */
  isInitialized(options: { name?: string } = {}): Tensor {
    const { handle, target } = this;
    if (handle) return VarIsInitializedOp.build({ resource: handle }, options).is_initialized;
    return colocateWith(target, () => IsVariableInitialized.build({ ref: target }, options).is_initialized);
  }

  asGraphElement(): Tensor {
    return this.snapshot;
  }

  /** The variable's value in a session, the default one unless it is given. Feeds may come first, as for tensors. */
  eval(session?: Session): Promise<NDArray>;
  eval(feeds?: Feeds, session?: Session): Promise<NDArray>;
  eval(first?: Session | Feeds, session?: Session): Promise<NDArray> {
    return isSession(first) ? this.snapshot.eval(undefined, first) : this.snapshot.eval(first, session);
  }

  /** Replaces the value. Adds one `AssignVariableOp` (or `Assign`) node. */
  assign<T extends Typed, V extends TensorLike>(
    this: T,
    value: Alike<T, V>,
    options: AssignOptions & { readValue: false },
  ): Operation;
  assign<T extends Typed, V extends TensorLike>(this: T, value: Alike<T, V>, options?: AssignOptions): Updated;
  assign(value: TensorLike, options: AssignOptions = {}): Updated | Operation {
    return this.inGraph(() => {
      if (this.ref) return this.changed(this.refUpdate('Assign', { value }, options), options);
      const tensor = convertToTensor(value, { dtype: this.dtype });
      if (!compatible(this.shape, tensor.shape))
        throw userError(
          `Cannot assign a value of shape ${showTuple(tensor.shape)} to variable '${this.name}', which has shape ${showTuple(this.shape)}.`,
        );
      const attrs = { validate_shape: this.validatesShape && isFullyDefined(this.shape) };
      const op = AssignVariableOp.node({ resource: this.handle!, value: tensor }, { name: options.name, attrs });
      return this.changed(op, options);
    });
  }

  /** Adds to the value. */
  assignAdd<T extends Typed, V extends TensorLike>(
    this: T,
    value: Alike<T, V>,
    options: AssignOptions & { readValue: false },
  ): Operation;
  assignAdd<T extends Typed, V extends TensorLike>(this: T, value: Alike<T, V>, options?: AssignOptions): Updated;
  assignAdd(value: TensorLike, options: AssignOptions = {}): Updated | Operation {
    return this.accumulate('AssignAdd', value, options);
  }

  /** Subtracts from the value. */
  assignSub<T extends Typed, V extends TensorLike>(
    this: T,
    value: Alike<T, V>,
    options: AssignOptions & { readValue: false },
  ): Operation;
  assignSub<T extends Typed, V extends TensorLike>(this: T, value: Alike<T, V>, options?: AssignOptions): Updated;
  assignSub(value: TensorLike, options: AssignOptions = {}): Updated | Operation {
    return this.accumulate('AssignSub', value, options);
  }

  private accumulate(type: string, value: TensorLike, options: AssignOptions): Updated | Operation {
    return this.inGraph(() => {
      if (this.ref) return this.changed(this.refUpdate(type, { value }, options), options);
      const tensor = convertToTensor(value, { dtype: this.dtype });
      const inputs = { resource: this.handle!, value: tensor };
      return this.changed(node(`${type}VariableOp`, inputs, { name: options.name }), options);
    });
  }

  // Parts of the value.
  scatterAdd(delta: IndexedSlices, options: UpdateOptions = {}): Updated {
    return this.scatter('ScatterAdd', delta.indices, delta.values, options);
  }
  scatterSub(delta: IndexedSlices, options: UpdateOptions = {}): Updated {
    return this.scatter('ScatterSub', delta.indices, delta.values, options);
  }
  scatterMul(delta: IndexedSlices, options: UpdateOptions = {}): Updated {
    return this.scatter('ScatterMul', delta.indices, delta.values, options);
  }
  scatterDiv(delta: IndexedSlices, options: UpdateOptions = {}): Updated {
    return this.scatter('ScatterDiv', delta.indices, delta.values, options);
  }
  scatterMin(delta: IndexedSlices, options: UpdateOptions = {}): Updated {
    return this.scatter('ScatterMin', delta.indices, delta.values, options);
  }
  scatterMax(delta: IndexedSlices, options: UpdateOptions = {}): Updated {
    return this.scatter('ScatterMax', delta.indices, delta.values, options);
  }
  scatterUpdate(delta: IndexedSlices, options: UpdateOptions = {}): Updated {
    return this.scatter('ScatterUpdate', delta.indices, delta.values, options);
  }
  scatterNdAdd(indices: TensorLike, updates: TensorLike, options: UpdateOptions = {}): Updated {
    return this.scatter('ScatterNdAdd', indices, updates, options);
  }
  scatterNdSub(indices: TensorLike, updates: TensorLike, options: UpdateOptions = {}): Updated {
    return this.scatter('ScatterNdSub', indices, updates, options);
  }
  scatterNdUpdate(indices: TensorLike, updates: TensorLike, options: UpdateOptions = {}): Updated {
    return this.scatter('ScatterNdUpdate', indices, updates, options);
  }
  scatterNdMax(indices: TensorLike, updates: TensorLike, options: UpdateOptions = {}): Updated {
    return this.scatter('ScatterNdMax', indices, updates, options);
  }
  scatterNdMin(indices: TensorLike, updates: TensorLike, options: UpdateOptions = {}): Updated {
    return this.scatter('ScatterNdMin', indices, updates, options);
  }

  /** Any of the scatter ops, named as for references (`ScatterAdd`). */
  scatter(type: string, indices: TensorLike, updates: TensorLike, options: UpdateOptions = {}): Updated {
    return this.inGraph(() => {
      if (this.ref) return outputOfOp(this.refUpdate(type, { indices, updates }, options));
      const port = type.startsWith('ScatterNd') ? 'ref' : 'resource';
      const values = convertToTensor(updates, { dtype: this.dtype });
      return this.later(
        node(`Resource${type}`, { [port]: this.handle!, indices, updates: values }, { name: options.name }),
      );
    });
  }

  /** Rows of the value, read without reading all of it. Adds one `ResourceGather` node. */
  sparseRead(indices: TensorLike, options: { name?: string | undefined } = {}): Tensor {
    if (this.ref) return GatherV2.build({ params: this.value(), indices, axis: 0 }, { name: options.name }).output;
    const attrs = { dtype: this.dtype };
    return nameScope(
      options.name ?? 'Gather',
      (name) => ResourceGather.build({ resource: this.handle!, indices }, { name, attrs }).output,
    );
  }

  /** Elements of the value picked by index vectors. Adds `ResourceGatherNd` and `Identity` nodes. */
  gatherNd(indices: TensorLike, options: { name?: string | undefined } = {}): Tensor {
    if (this.ref) return GatherNd.build({ params: this.ref, indices }, { name: options.name }).output;
    const attrs = { dtype: this.dtype };
    return identity(
      nameScope(
        options.name ?? 'GatherNd',
        (name) => ResourceGatherNd.build({ resource: this.handle!, indices }, { name, attrs }).output,
      ),
    );
  }

  /** A counter that gives its value and adds one, until `limit`. Adds one `ResourceCountUpTo` node. */
  countUpTo(limit: number, options: { name?: string | undefined } = {}): Tensor {
    if (this.ref) return outputOf('CountUpTo', { ref: this.ref }, { name: options.name, attrs: { limit } });
    const attrs = { limit, T: this.dtype };
    return outputOf('ResourceCountUpTo', { resource: this.handle! }, { name: options.name, attrs });
  }

  /**
   * A numpy-like slice, which can be assigned to.
   *
   * @example v.slice('1:3, :').assign(tf.ones([2, 4]))
   */
  slice(spec: SliceSpec): AssignableSlice {
    const slice = getItem(this.value(), spec);
    const assign = (value: TensorLike, options: { name?: string } = {}) => this.assignSlice(slice, value, options);
    return Object.assign(slice, { assign });
  }

  private assignSlice({ op }: Tensor, value: TensorLike, options: { name?: string }): Updated {
    const [, begin, end, strides] = op.inputs as readonly [Tensor, Tensor, Tensor, Tensor]; // a StridedSlice
    const masks = ['begin_mask', 'end_mask', 'ellipsis_mask', 'new_axis_mask', 'shrink_axis_mask'];
    const attrs = Object.fromEntries(masks.map((mask) => [mask, Number(op.attrs[mask]!.i)]));
    const name = options.name ?? `${op.name}/_assign`;
    return this.inGraph(() => {
      if (this.ref)
        return outputOfOp(this.refUpdate('StridedSliceAssign', { begin, end, strides, value }, { name }, attrs));
      const inputs = { ref: this.handle!, begin, end, strides, value: convertToTensor(value, { dtype: this.dtype }) };
      return this.later(node('ResourceStridedSliceAssign', inputs, { name, attrs }));
    });
  }

  // Shared steps.
  protected get validatesShape(): boolean {
    return true;
  }

  /** Assignments wait for the cached value, so that reads before them see what was there. */
  protected inGraph<T>(body: () => T): T {
    const build = () => (this.cached ? controlDependencies([this.cached], body) : body());
    return graphFor([this.target]).asDefault(build);
  }

  private refUpdate(
    type: string,
    inputs: Record<string, TensorLike>,
    options: UpdateOptions,
    attrs: Record<string, unknown> = {},
  ): Operation {
    const locks =
      type === 'StridedSliceAssign' ? {} : { use_locking: options.useLocking ?? type.startsWith('Scatter') };
    const all = type === 'Assign' ? { ...locks, validate_shape: this.validatesShape } : { ...locks, ...attrs };
    return colocateWith(this.ref!, () => node(type, { ref: this.ref!, ...inputs }, { name: options.name, attrs: all }));
  }

  private changed(op: Operation, { readValue = true }: AssignOptions): Updated | Operation {
    if (!readValue) return op;
    return this.ref ? outputOfOp(op) : this.later(op);
  }

  private later(op: Operation): UpdatedVariable {
    return new UpdatedVariable(this.handle!, this.dtype, this.shape, op);
  }

  /** As for a tensor: `v * 2` would be NaN without a word. */
  [Symbol.toPrimitive](hint: string): string {
    if (hint === 'number') throw noNumber(this.toString());
    return this.toString();
  }
  toString(): string {
    const dtype = this.ref ? `${this.dtype}_ref` : `${this.dtype}`;
    return `<tf.Variable '${this.name}' shape=${showTuple(this.shape)} dtype=${dtype}>`;
  }
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}

const outputOfOp = (op: Operation): Tensor => op.outputs[0]!;

/** A variable as it is after an operation has changed it: every read waits for the change. */
export class UpdatedVariable extends BaseVariable {
  constructor(
    handle: Tensor,
    dtype: DType,
    shape: Dims,
    private readonly after: Operation,
  ) {
    const read = () => ReadVariableOp.build({ resource: handle }, { attrs: { dtype } }).value;
    super({ handle, dtype, shape, snapshot: controlDependencies([after], read) });
  }
  override get name(): string {
    return this.after.name;
  }
  override get op(): Operation {
    return this.after;
  }
  override value(): Tensor {
    return this.readNow();
  }
  override readValue(): Tensor {
    return this.readNow();
  }
  protected override readNow(): Tensor {
    return controlDependencies([this.after], () => super.readNow());
  }
  protected override inGraph<T>(body: () => T): T {
    return super.inGraph(() => controlDependencies([this.after], body));
  }
}

// What tensors can do, variables can do.
/** What a variable says or does in its own way. */
type Own =
  | 'op'
  | 'index'
  | 'dtype'
  | 'isRef'
  | 'shape'
  | 'name'
  | 'graph'
  | 'device'
  | 'rank'
  | 'setShape'
  | 'consumers'
  | 'eval'
  | 'slice'
  | 'toString';
type TensorMethods = Omit<Tensor, Own>;
export interface BaseVariable extends TensorMethods {}

for (const name of Object.getOwnPropertyNames(Tensor.prototype)) {
  const method: unknown = Object.getOwnPropertyDescriptor(Tensor.prototype, name)?.value;
  if (typeof method !== 'function' || name in BaseVariable.prototype || name === 'consumers') continue;
  Object.defineProperty(BaseVariable.prototype, name, {
    value(this: BaseVariable, ...args: unknown[]): unknown {
      return Reflect.apply(method, this.value(), args);
    },
  });
}
