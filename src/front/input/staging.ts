/** @file Staging areas: values put aside in one run for a later one, so that loading overlaps with computing. */
import { type DType, int64 } from '../../core/dtypes.ts';
import type { Dims } from '../../core/shape.ts';
import { getDefaultGraph } from '../../graph/graph.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import { colocateWith, nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { identity } from '../../ops/array/identity.ts';
import { noOp } from '../../ops/flow/noOp.ts';
import { orderedMap, unorderedMap } from '../../ops/queue/mapStagingOps.ts';
import { Stage, StageClear, StagePeek, StageSize, Unstage } from '../../ops/queue/stagingOps.ts';

interface Named {
  readonly name?: string | undefined;
}

export interface StagingAreaOptions {
  readonly shapes?: readonly Dims[] | undefined;
  /** Names of components: elements are records then. */
  readonly names?: readonly string[] | undefined;
  readonly sharedName?: string | undefined;
  /** How many elements there may be; any number unless given. */
  readonly capacity?: number | undefined;
  /** How many bytes all elements together may have; any number unless given. */
  readonly memoryLimit?: number | undefined;
}
const optionNames = ['shapes', 'names', 'sharedName', 'capacity', 'memoryLimit'] as const;

/** Tensors in order, or by the names of components. */
export type StagedValues = TensorLike | readonly TensorLike[] | Readonly<Record<string, TensorLike>>;
export type Unstaged = Tensor[] | Record<string, Tensor>;

const isRecord = (values: StagedValues): values is Readonly<Record<string, TensorLike>> =>
  Object.getPrototypeOf(values) === Object.prototype;

/** What areas in order and by key share. */
class BaseStagingArea {
  readonly name: string;
  readonly shapes: readonly Dims[];
  readonly names: readonly string[] | undefined;
  readonly capacity: number;
  readonly memoryLimit: number;
  /** All operations on the area are placed with this one. */
  protected readonly root: Operation;

  constructor(
    kind: string,
    readonly dtypes: readonly DType[],
    options: StagingAreaOptions,
  ) {
    const { shapes, names, sharedName } = options;
    if (shapes && shapes.length !== dtypes.length)
      throw userError('StagingArea shapes must be the same length as dtypes');
    if (names && names.length !== dtypes.length) throw userError('StagingArea names must be the same length as dtypes');
    this.name = sharedName ?? getDefaultGraph().uniqueName(kind);
    this.shapes = shapes ?? dtypes.map(() => null);
    this.names = names;
    this.capacity = options.capacity ?? 0;
    this.memoryLimit = options.memoryLimit ?? 0;
    this.root = nameScope(`${this.name}_root`, () => noOp());
  }

  /** The attributes of every op of the area. */
  protected attrs<T extends readonly DType[]>(dtypes: T) {
    return { dtypes, shared_name: this.name, capacity: this.capacity, memory_limit: this.memoryLimit };
  }

  protected here<T>(body: () => T): T {
    return colocateWith(this.root, body);
  }

  /** Values to put in, and which components they are. */
  protected components(values: StagedValues, given?: readonly number[]): { tensors: Tensor[]; indices: number[] } {
    let list: readonly TensorLike[];
    let indices: readonly number[];
    if (isRecord(values)) {
      const { names } = this;
      if (!names) throw userError('Staging areas must have names to enqueue a dictionary');
      const strange = Object.keys(values).filter((key) => !names.includes(key));
      if (strange.length > 0)
        throw userError(`Keys in dictionary to put do not match names of staging area: ${strange.join(', ')}`);
      indices = names.flatMap((key, i) => (key in values ? [i] : []));
      list = indices.map((i) => values[names[i]!]!);
    } else {
      if (this.names) throw userError('You must enqueue a dictionary in a staging area with names');
      list = Array.isArray(values) ? (values as readonly TensorLike[]) : [values as TensorLike]; // told apart by the test
      if (given === undefined) throw userError('Indices must be supplied when inserting a list of tensors');
      if (given.length !== list.length)
        throw userError(`Number of indices ${given.length} doesn't match number of values ${list.length}`);
      indices = given;
    }
    if (list.length > this.dtypes.length)
      throw userError(`Unexpected number of inputs ${list.length} vs ${this.dtypes.length}`);
    const tensors = list.map((value, k) => {
      const i = indices[k]!;
      const tensor = convertToTensor(value, { dtype: this.dtypes[i]!, name: `component_${i}` });
      tensor.setShape(this.shapes[i]!);
      return tensor;
    });
    return { tensors, indices: [...indices] };
  }

  /** Tensors where the caller is: they are copied if that is another device. */
  protected transferred(tensors: readonly Tensor[]): Tensor[] {
    return noOp().device === this.root.device ? [...tensors] : tensors.map((tensor) => identity(tensor));
  }

  /** What was taken out, as the user sees it. */
  protected result(tensors: readonly Tensor[], indices: readonly number[]): Unstaged {
    const found = this.transferred(tensors);
    for (const [k, i] of indices.entries()) found[k]!.setShape(this.shapes[i]!);
    return this.names ? Object.fromEntries(indices.map((i, k) => [this.names![i]!, found[k]!])) : found;
  }
}

/**
 * Values in the order in which they were put in. Runs may be a step apart: one loads the next batch while another computes.
 *
 * @example
 * const area = new tf.contrib.staging.StagingArea([tf.float32]);
 * const [load, [batch]] = [area.put([next]), area.get()];
 */
export class StagingArea extends BaseStagingArea {
  constructor(dtypes: readonly DType[], options: StagingAreaOptions = {}) {
    super('StagingArea', dtypes, onlyOptions('StagingArea', options, ...optionNames));
  }

  private get all(): number[] {
    return this.dtypes.map((_, i) => i);
  }

  /** Puts one element in; waits while the area is full. Adds one `Stage` node. */
  put(values: StagedValues, options: Named = {}): Operation {
    const { name } = onlyOptions('put', options, 'name');
    return nameScope(name ?? `${this.name}_put`, (scope) => {
      const count = isRecord(values) ? Object.keys(values).length : Array.isArray(values) ? values.length : 1;
      const indices = Array.from({ length: count }, (_, i) => i);
      const { tensors } = this.components(values, indices);
      const { dtypes: _, ...attrs } = this.attrs([]);
      return this.here(() => Stage.node({ values: tensors }, { name: scope, attrs }));
    });
  }

  /** Takes the next element out; waits for one. Adds one `Unstage` node. */
  get(options: Named = {}): Unstaged {
    const { name = `${this.name}_get` } = onlyOptions('get', options, 'name');
    const { values } = this.here(() => Unstage.build({}, { name, attrs: this.attrs(this.dtypes) }));
    return this.result(values, this.all);
  }

  /** The element at a position, which stays there; waits until there is one. Adds one `StagePeek` node. */
  peek(index: TensorLike, options: Named = {}): Unstaged {
    const { name = `${this.name}_peek` } = onlyOptions('peek', options, 'name');
    const { values } = this.here(() => StagePeek.build({ index }, { name, attrs: this.attrs(this.dtypes) }));
    return this.result(values, this.all);
  }

  /** How many elements there are. Adds one `StageSize` node. */
  size(options: Named = {}): Tensor {
    const { name = `${this.name}_size` } = onlyOptions('size', options, 'name');
    return StageSize.build({}, { name, attrs: this.attrs(this.dtypes) }).size;
  }

  /** Takes all elements out. Adds one `StageClear` node. */
  clear(options: Named = {}): Operation {
    const { name = `${this.name}_clear` } = onlyOptions('clear', options, 'name');
    return StageClear.node({}, { name, attrs: this.attrs(this.dtypes) });
  }
}

interface Picking extends Named {
  /** Which components, by position or by name; all unless given. */
  readonly indices?: readonly (number | string)[] | undefined;
}

/** Values by key. Components of one key may be put in and taken out separately. */
export class MapStagingArea extends BaseStagingArea {
  private readonly ops: typeof unorderedMap;

  constructor(
    dtypes: readonly DType[],
    options: StagingAreaOptions & { /** Whether keys come out in their order. */ readonly ordered?: boolean } = {},
  ) {
    super('MapStagingArea', dtypes, onlyOptions('MapStagingArea', options, ...optionNames, 'ordered'));
    this.ops = options.ordered ? orderedMap : unorderedMap;
  }

  /** Puts components in under a key. Adds one `MapStage` node. */
  put(
    key: TensorLike,
    values: StagedValues,
    options: Named & { readonly indices?: readonly number[] } = {},
  ): Operation {
    const { name, indices: given } = onlyOptions('put', options, 'indices', 'name');
    return nameScope(name ?? `${this.name}_put`, (scope) => {
      const { tensors, indices } = this.components(values, given);
      const inputs = { key: this.keyOf(key), indices, values: tensors };
      return this.here(() => this.ops.stage.node(inputs, { name: scope, attrs: this.attrs(this.dtypes) }));
    });
  }

  private keyOf(key: TensorLike): TensorLike {
    return typeof key === 'number' || typeof key === 'bigint'
      ? convertToTensor(key, { dtype: int64, name: 'key' })
      : key;
  }

  private picked(given: Picking['indices']): { indices: number[]; dtypes: DType[] } {
    const indices = (given ?? this.dtypes.map((_, i) => i)).map((index) => {
      if (typeof index === 'number') return index;
      const found = this.names?.indexOf(index) ?? -1;
      if (found < 0) throw userError(`'${index}' is not among the names of the staging area: ${this.names ?? 'none'}`);
      return found;
    });
    if (indices.length === 0) throw userError('Empty indices');
    return { indices, dtypes: indices.map((i) => this.dtypes[i]!) };
  }

  /** Components of a key, which stay; waits until the key is complete. */
  peek(key: TensorLike, options: Picking = {}): Unstaged {
    const { name = `${this.name}_pop` } = onlyOptions('peek', options, 'indices', 'name');
    const { indices, dtypes } = this.picked(options.indices);
    const inputs = { key: this.keyOf(key), indices };
    const { values } = this.here(() => this.ops.peek.build(inputs, { name, attrs: this.attrs(dtypes) }));
    return this.result(values, indices);
  }

  /** Takes components of a key out, or with `null` those of the next key; gives the key and the values. */
  get(key: TensorLike | null = null, options: Picking = {}): [key: TensorLike, values: Unstaged] {
    onlyOptions('get', options, 'indices', 'name');
    const { indices, dtypes } = this.picked(options.indices);
    const attrs = this.attrs(dtypes);
    if (key !== null) {
      const name = options.name ?? `${this.name}_get`;
      const inputs = { key: this.keyOf(key), indices };
      const { values } = this.here(() => this.ops.unstage.build(inputs, { name, attrs }));
      return [key, this.result(values, indices)];
    }
    const name = options.name ?? `${this.name}_get_nokey`;
    const next = this.here(() => this.ops.unstageNoKey.build({ indices }, { name, attrs }));
    const [found] = this.transferred([next.key]);
    return [found!, this.result(next.values, indices)];
  }

  /** How many keys are complete. */
  size(options: Named = {}): Tensor {
    const { name = `${this.name}_size` } = onlyOptions('size', options, 'name');
    return this.ops.size.build({}, { name, attrs: this.attrs(this.dtypes) }).size;
  }

  /** How many keys lack components. */
  incompleteSize(options: Named = {}): Tensor {
    const { name = `${this.name}_incomplete_size` } = onlyOptions('incompleteSize', options, 'name');
    return this.ops.incompleteSize.build({}, { name, attrs: this.attrs(this.dtypes) }).size;
  }

  /** Takes all keys out. */
  clear(options: Named = {}): Operation {
    const { name = `${this.name}_clear` } = onlyOptions('clear', options, 'name');
    return this.ops.clear.node({}, { name, attrs: this.attrs(this.dtypes) });
  }
}
