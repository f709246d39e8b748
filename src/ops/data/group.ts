/** @file Grouping: elements with the same key together, reduced by functions. */

import { int64 } from '../../core/dtypes.ts';
import { InternalError, InvalidArgumentError, OpError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { attr } from '../../op/attrs.ts';

import { Dataset, datasetIn, type Element, type ElementIterator, type Iteration, unknown } from './dataset.ts';
import { argumentTypes, datasetOp, elementAttrs, type GraphFunction, inScope, metadata } from './kit.ts';
import { type Saved, savedAll, savedElements, savedNumber, savedRecord } from './saved.ts';
import { datasetOf } from './window.ts';

const keyArray = (key: bigint) => new NDArray(int64, [], BigInt64Array.of(key));

/** The int64 scalar that a function gives. */
function int64In(result: Element, what: string): bigint {
  const [array] = result;
  if (result.length !== 1 || array!.dtype !== int64 || array!.rank !== 0)
    throw new InvalidArgumentError(`\`${what}\` must return a scalar int64.`);
  return array!.data[0] as bigint; // as just checked
}

/** The code of an error as TensorFlow writes it: `INVALID_ARGUMENT`. */
const codeName = ({ name }: OpError) =>
  name
    .replace(/Error$/, '')
    .replace(/(?<=[a-z])(?=[A-Z])/g, '_')
    .toUpperCase();

const lowestFirst = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0);

interface WindowFunctions {
  readonly key: GraphFunction;
  readonly reduce: GraphFunction;
  readonly size: GraphFunction;
}

/** Gathers elements by key; a group that has its size becomes a dataset of its own. */
class GroupIterator implements ElementIterator {
  private readonly groups = new Map<bigint, Element[]>();
  private readonly sizes = new Map<bigint, bigint>();
  private current:
    | { readonly key: bigint; readonly elements: readonly Element[]; readonly iterator: ElementIterator }
    | undefined;
  private hasEnded = false;
  constructor(
    private readonly input: ElementIterator,
    private readonly source: Dataset,
    private readonly scope: Iteration,
    private readonly functions: WindowFunctions,
    private readonly reduceName: string,
  ) {}

  async next(): Promise<Element | undefined> {
    for (;;) {
      this.scope.check();
      const element = await this.current?.iterator.next();
      if (element) return element;
      this.current = undefined;
      while (!this.hasEnded && !this.current) await this.gather();
      if (this.current) continue;
      const [first] = [...this.groups.keys()].sort(lowestFirst);
      if (first === undefined) return undefined;
      await this.start(first);
    }
  }

  private async gather(): Promise<void> {
    const element = await this.input.next();
    if (!element) {
      this.hasEnded = true;
      return;
    }
    const key = int64In(await this.functions.key(element), 'key_func');
    let size = this.sizes.get(key);
    if (size === undefined) {
      size = int64In(await this.functions.size([keyArray(key)]), 'window_size_func');
      if (size <= 0n) throw new InvalidArgumentError(`Window size must be greater than zero, but got ${size}.`);
      this.sizes.set(key, size);
    }
    const group = this.groups.get(key) ?? [];
    this.groups.set(key, group);
    group.push(element);
    if (BigInt(group.length) === size) await this.start(key);
  }

  /** Makes a group the one whose elements come next. */
  private async start(key: bigint): Promise<void> {
    const elements = this.groups.get(key)!;
    this.groups.delete(key);
    this.current = { key, elements, iterator: await this.reduced(key, elements) };
  }

  private async reduced(key: bigint, elements: readonly Element[]): Promise<ElementIterator> {
    const group = datasetOf(elements, this.source.types, this.source.shapes, 'Group');
    try {
      const [result] = await this.functions.reduce([keyArray(key), group.asArray()]);
      return datasetIn(result!).iterate(this.scope);
    } catch (error) {
      if (!(error instanceof OpError)) throw error;
      // As TensorFlow does, lest a function that is out of range be taken for the end.
      throw new InternalError(`The reduce function ${this.reduceName} failed: ${codeName(error)}: ${error.message}`, {
        cause: error,
      });
    }
  }

  async save(): Promise<Saved> {
    const current = this.current
      ? { key: String(this.current.key), elements: this.current.elements, state: await this.current.iterator.save() }
      : null;
    return await savedAll({
      input: this.input.save(),
      groups: [...this.groups].map(([key, elements]) => [String(key), elements]),
      sizes: [...this.sizes].map(([key, size]) => [String(key), String(size)]),
      current,
      hasEnded: this.hasEnded,
    });
  }

  async restore(saved: Saved): Promise<void> {
    const { input, groups, sizes, current, hasEnded } = savedRecord(saved);
    this.hasEnded = hasEnded === true;
    this.groups.clear();
    for (const [key, elements] of groups as readonly (readonly [string, Saved])[]) // as saved
      this.groups.set(BigInt(key), [...savedElements(elements)]);
    for (const [key, size] of sizes as readonly (readonly [string, string])[]) // as saved
      this.sizes.set(BigInt(key), BigInt(size));
    await this.input.restore(input!);
    if (current === null) return;
    const { key, elements, state } = savedRecord(current!);
    const group = savedElements(elements);
    const iterator = await this.reduced(BigInt(key as string), group); // as saved
    await iterator.restore(state!);
    this.current = { key: BigInt(key as string), elements: group, iterator };
  }
}

const groupByWindowOp = (name: string, extra: object) =>
  datasetOp({
    name,
    inputs: {
      input_dataset: 'variant',
      key_func_other_arguments: 'Tkey_func_other_arguments',
      reduce_func_other_arguments: 'Treduce_func_other_arguments',
      window_size_func_other_arguments: 'Twindow_size_func_other_arguments',
    },
    attrs: {
      key_func: attr('func'),
      reduce_func: attr('func'),
      window_size_func: attr('func'),
      Tkey_func_other_arguments: argumentTypes,
      Treduce_func_other_arguments: argumentTypes,
      Twindow_size_func_other_arguments: argumentTypes,
      ...elementAttrs,
      ...extra,
    },
    make(arrays, attrs, { key_func: key, reduce_func: reduce, window_size_func: size }) {
      const input = datasetIn(arrays.input_dataset);
      const functions = {
        key: key(arrays.key_func_other_arguments),
        reduce: reduce(arrays.reduce_func_other_arguments),
        size: size(arrays.window_size_func_other_arguments),
      };
      return new Dataset({
        kind: 'GroupByWindow',
        types: attrs.output_types,
        shapes: attrs.output_shapes,
        // The function's datasets may give their own memory.
        sharesMemory: true,
        cardinality: () => (input.cardinality < 1 ? input.cardinality : unknown),
        iterate: (scope) =>
          new GroupIterator(input.iterate(scope), input, scope, inScope(functions, scope), attrs.reduce_func.name),
      });
    },
  });

export const GroupByWindowDataset = groupByWindowOp('GroupByWindowDataset', { metadata });
export const ExperimentalGroupByWindowDataset = groupByWindowOp('ExperimentalGroupByWindowDataset', {});

interface Reducer {
  readonly key: GraphFunction;
  readonly init: GraphFunction;
  readonly reduce: GraphFunction;
  readonly finalize: GraphFunction;
}

/** Reduces all elements of a key to one, lowest key first. */
class ReducerIterator implements ElementIterator {
  private readonly states = new Map<bigint, Element>();
  private keys: readonly bigint[] | undefined;
  private position = 0;
  constructor(
    private readonly input: ElementIterator,
    private readonly scope: Iteration,
    private readonly functions: Reducer,
  ) {}

  async next(): Promise<Element | undefined> {
    const { key: keyOf, init, reduce, finalize } = this.functions;
    while (!this.keys) {
      this.scope.check();
      const element = await this.input.next();
      if (!element) {
        this.keys = [...this.states.keys()].sort(lowestFirst);
        break;
      }
      const key = int64In(await keyOf(element), 'key_func');
      const state = this.states.get(key) ?? (await init([keyArray(key)]));
      this.states.set(key, await reduce([...state, ...element]));
    }
    const key = this.keys[this.position++];
    return key === undefined ? undefined : await finalize(this.states.get(key)!);
  }

  save(): Promise<Saved> {
    return savedAll({
      input: this.input.save(),
      states: [...this.states].map(([key, state]) => [String(key), state]),
      isComplete: this.keys !== undefined,
      position: this.position,
    });
  }
  async restore(saved: Saved): Promise<void> {
    const { input, states, isComplete, position } = savedRecord(saved);
    for (const [key, state] of states as readonly (readonly [string, Element])[]) this.states.set(BigInt(key), state); // as saved
    if (isComplete === true) this.keys = [...this.states.keys()].sort(lowestFirst);
    this.position = savedNumber(position);
    await this.input.restore(input!);
  }
}

const groupByReducerOp = (name: string) =>
  datasetOp({
    name,
    inputs: {
      input_dataset: 'variant',
      key_func_other_arguments: 'Tkey_func_other_arguments',
      init_func_other_arguments: 'Tinit_func_other_arguments',
      reduce_func_other_arguments: 'Treduce_func_other_arguments',
      finalize_func_other_arguments: 'Tfinalize_func_other_arguments',
    },
    attrs: {
      key_func: attr('func'),
      init_func: attr('func'),
      reduce_func: attr('func'),
      finalize_func: attr('func'),
      Tkey_func_other_arguments: argumentTypes,
      Tinit_func_other_arguments: argumentTypes,
      Treduce_func_other_arguments: argumentTypes,
      Tfinalize_func_other_arguments: argumentTypes,
      ...elementAttrs,
    },
    stateful: 'repeatable',
    make(arrays, attrs, { key_func: key, init_func: init, reduce_func: reduce, finalize_func: finalize }) {
      const input = datasetIn(arrays.input_dataset);
      const functions = {
        key: key(arrays.key_func_other_arguments),
        init: init(arrays.init_func_other_arguments),
        reduce: reduce(arrays.reduce_func_other_arguments),
        finalize: finalize(arrays.finalize_func_other_arguments),
      };
      return new Dataset({
        kind: 'GroupByReducer',
        types: attrs.output_types,
        shapes: attrs.output_shapes,
        sharesMemory: false,
        cardinality: () => (input.cardinality === 0 ? 0 : unknown),
        iterate: (scope) => new ReducerIterator(input.iterate(scope), scope, inScope(functions, scope)),
      });
    },
  });

export const GroupByReducerDataset = groupByReducerOp('GroupByReducerDataset');
export const ExperimentalGroupByReducerDataset = groupByReducerOp('ExperimentalGroupByReducerDataset');
