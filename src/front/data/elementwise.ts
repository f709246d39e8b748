/** @file Transformations by functions of elements. */
import { bool, int64 } from '../../core/dtypes.ts';
import { mergeShapes } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { FlatMapDataset, InterleaveDataset, ParallelInterleaveDatasetV4 } from '../../ops/data/flatMap.ts';
import { ExperimentalGroupByReducerDataset, GroupByWindowDataset } from '../../ops/data/group.ts';
import { FilterDataset, MapDataset, ParallelMapDatasetV2, ScanDataset, TakeWhileDataset } from '../../ops/data/map.ts';
import { ReduceDataset } from '../../ops/data/reduce.ts';
import { packSequenceAs } from '../nest.ts';
import { choice, type DatasetOptions, metadataOf, number, typesOf } from './arguments.ts';
import { Dataset, DatasetComponent } from './dataset.ts';
import { type TracedFunction, traceFunction } from './functions.ts';
import {
  type Component,
  commonShape,
  componentsOf,
  type ElementSpec,
  elementAttrs,
  fromTensors,
  normalizeElement,
  TensorComponent,
} from './spec.ts';

type UserFunction = (...args: never[]) => unknown;

export interface MapOptions extends DatasetOptions {
  /** How many calls may be under way at once; -1 leaves it to the runtime. */
  readonly numParallelCalls?: TensorLike | undefined;
  /** False allows results in another order than the elements'. */
  readonly deterministic?: boolean | undefined;
}

export interface MapDetails {
  /** Whether there are as many results as elements, whatever the function says. */
  readonly preserveCardinality?: boolean;
  readonly useInterOpParallelism?: boolean;
}

export function map(dataset: Dataset, fn: UserFunction, options: MapOptions, details: MapDetails = {}): Dataset {
  const { numParallelCalls, deterministic, name } = onlyOptions(
    'Dataset.map',
    options,
    'numParallelCalls',
    'deterministic',
    'name',
  );
  const { f, captured, spec } = traceFunction(fn, { transformation: 'Dataset_map', args: [dataset.elementSpec] });
  const inputs = { input_dataset: dataset.variant, other_arguments: captured };
  const attrs = {
    f,
    ...elementAttrs(spec),
    metadata: metadataOf('map', { name }),
    preserve_cardinality: details.preserveCardinality ?? false,
    use_inter_op_parallelism: details.useInterOpParallelism ?? true,
  };
  if (numParallelCalls === undefined) return new Dataset(MapDataset.build(inputs, { attrs }).handle, spec);
  const num_parallel_calls = number(numParallelCalls, 'num_parallel_calls');
  const more = { ...attrs, deterministic: choice(deterministic) };
  return new Dataset(ParallelMapDatasetV2.build({ ...inputs, num_parallel_calls }, { attrs: more }).handle, spec);
}

/** A function that says yes or no. */
function tracePredicate(dataset: Dataset, fn: UserFunction, transformation: string): TracedFunction {
  const traced = traceFunction(fn, { transformation, args: [dataset.elementSpec] });
  const [result, ...others] = componentsOf(traced.spec);
  if (others.length > 0 || result!.dtype !== bool || (result!.shape?.length ?? 0) > 0)
    throw userError(
      `The predicate must return one scalar bool tensor, but it returns ${componentsOf(traced.spec).join(', ')}.`,
    );
  return traced;
}

export function filter<E>(dataset: Dataset<E>, fn: UserFunction, { name }: DatasetOptions): Dataset<E> {
  const { f, captured } = tracePredicate(dataset, fn, 'Dataset_filter');
  const inputs = { input_dataset: dataset.variant, other_arguments: captured };
  const attrs = { predicate: f, ...elementAttrs(dataset.elementSpec), metadata: metadataOf('filter', { name }) };
  return new Dataset<E>(FilterDataset.build(inputs, { attrs }).handle, dataset.elementSpec);
}

export function takeWhile<E>(dataset: Dataset<E>, fn: UserFunction, { name }: DatasetOptions): Dataset<E> {
  const { f, captured } = tracePredicate(dataset, fn, 'Dataset_take_while');
  const inputs = { input_dataset: dataset.variant, other_arguments: captured };
  const attrs = { predicate: f, ...elementAttrs(dataset.elementSpec), metadata: metadataOf('takeWhile', { name }) };
  return new Dataset<E>(TakeWhileDataset.build(inputs, { attrs }).handle, dataset.elementSpec);
}

/** A function that makes a dataset, and what is in that. */
export function traceToDataset(
  args: readonly ElementSpec[],
  fn: UserFunction,
  transformation: string,
  name?: string,
): TracedFunction & { readonly element: ElementSpec } {
  const traced = traceFunction(fn, { transformation, args, name });
  if (!(traced.spec instanceof DatasetComponent))
    throw userError(`The function must return a Dataset, but it returns ${String(traced.spec)}.`);
  return { ...traced, element: traced.spec.element };
}

export function flatMap(dataset: Dataset, fn: UserFunction, { name }: DatasetOptions): Dataset {
  const { f, captured, element } = traceToDataset([dataset.elementSpec], fn, 'Dataset_flat_map');
  const inputs = { input_dataset: dataset.variant, other_arguments: captured };
  const attrs = { f, ...elementAttrs(element), metadata: metadataOf('flatMap', { name }) };
  return new Dataset(FlatMapDataset.build(inputs, { attrs }).handle, element);
}

export interface InterleaveOptions extends MapOptions {
  /** How many datasets take turns; as many as there are processors unless said. */
  readonly cycleLength?: TensorLike | undefined;
  /** How many elements a dataset gives when it is its turn. */
  readonly blockLength?: TensorLike | undefined;
}

export function interleave(dataset: Dataset, fn: UserFunction, options: InterleaveOptions): Dataset {
  const {
    cycleLength = -1,
    blockLength = 1,
    numParallelCalls,
    deterministic,
    name,
  } = onlyOptions(
    'Dataset.interleave',
    options,
    'cycleLength',
    'blockLength',
    'numParallelCalls',
    'deterministic',
    'name',
  );
  const { f, captured, element } = traceToDataset([dataset.elementSpec], fn, 'Dataset_interleave');
  const inputs = {
    input_dataset: dataset.variant,
    other_arguments: captured,
    cycle_length: number(cycleLength, 'cycle_length'),
    block_length: number(blockLength, 'block_length'),
  };
  const attrs = { f, ...elementAttrs(element), metadata: metadataOf('interleave', { name }) };
  if (numParallelCalls === undefined) return new Dataset(InterleaveDataset.build(inputs, { attrs }).handle, element);
  const more = {
    ...inputs,
    buffer_output_elements: number(-1, 'buffer_output_elements'),
    prefetch_input_elements: number(-1, 'prefetch_input_elements'),
    num_parallel_calls: number(numParallelCalls, 'num_parallel_calls'),
  };
  const made = ParallelInterleaveDatasetV4.build(more, { attrs: { ...attrs, deterministic: choice(deterministic) } });
  return new Dataset(made.handle, element);
}

/** The function of a reduction, traced until its state has shapes that hold for every step. */
function traceState(
  state: ElementSpec,
  trace: (state: ElementSpec) => { readonly traced: TracedFunction; readonly next: readonly Component[] },
): { readonly traced: TracedFunction; readonly state: ElementSpec } {
  for (let spec = state; ; ) {
    const { traced, next } = trace(spec);
    const before = componentsOf(spec);
    if (next.length !== before.length || next.some((c, i) => c.dtype !== before[i]!.dtype))
      throw userError(
        `The element types for the new state must match the initial state. Expected ${before.join(', ')} but got ${next.join(', ')}.`,
      );
    const weakened = before.map((c, i) =>
      c instanceof TensorComponent ? new TensorComponent(c.dtype, commonShape(c.shape, next[i]!.shape)) : c,
    );
    const isSame = weakened.every((c, i) => JSON.stringify(c.shape) === JSON.stringify(before[i]!.shape));
    if (isSame) return { traced, state: spec };
    spec = packSequenceAs(spec, weakened) as ElementSpec; // same structure
  }
}

export function reduce(dataset: Dataset, initialState: unknown, fn: UserFunction, options: DatasetOptions): unknown {
  const initial = nameScope('initial_state', () => normalizeElement(initialState));
  const { traced, state } = traceState(initial.spec, (spec) => {
    const made = traceFunction(fn, { transformation: 'reduce', args: [spec, dataset.elementSpec] });
    return { traced: made, next: componentsOf(made.spec) };
  });
  const inputs = {
    input_dataset: dataset.variant,
    initial_state: initial.tensors,
    other_arguments: traced.captured,
  };
  const attrs = {
    f: traced.f,
    Tstate: typesOf(initial.tensors),
    Targuments: typesOf(traced.captured),
    ...elementAttrs(state),
    metadata: metadataOf('reduce', options),
  };
  return fromTensors(state, ReduceDataset.build(inputs, { attrs }).components);
}

export function scan(dataset: Dataset, initialState: unknown, fn: UserFunction, options: DatasetOptions): Dataset {
  const initial = normalizeElement(initialState);
  const count = componentsOf(initial.spec).length;
  const { traced, state } = traceState(initial.spec, (spec) => {
    const made = traceFunction(fn, { transformation: 'Dataset_scan', args: [spec, dataset.elementSpec] });
    if (!Array.isArray(made.spec) || made.spec.length !== 2)
      throw userError('The function of scan must return a pair: the new state, and the element.');
    return { traced: made, next: componentsOf(made.spec).slice(0, count) };
  });
  const [, element] = traced.spec as readonly [ElementSpec, ElementSpec]; // as just checked
  const inputs = {
    input_dataset: dataset.variant,
    initial_state: initial.tensors,
    other_arguments: traced.captured,
  };
  const attrs = {
    f: traced.f,
    Tstate: elementAttrs(state).output_types,
    Targuments: typesOf(traced.captured),
    ...elementAttrs(element),
    preserve_cardinality: true,
    metadata: metadataOf('scan', options),
  };
  return new Dataset(ScanDataset.build(inputs, { attrs }).handle, element);
}

/** What tells elements apart: an int64 scalar of each. */
function traceKey(
  args: readonly ElementSpec[],
  fn: UserFunction,
  what: string,
  transformation: string,
): TracedFunction {
  const traced = traceFunction(fn, { transformation, args });
  const [key, ...others] = componentsOf(traced.spec);
  if (others.length > 0 || key!.dtype !== int64 || !mergeable(key!))
    throw userError(
      `Invalid ${what}: it must return a single scalar of type int64, but it returns ${componentsOf(traced.spec).join(', ')}.`,
    );
  return traced;
}

function mergeable({ shape }: Component): boolean {
  return shape === null || mergeShapes(shape, shape)?.length === 0;
}

export interface WindowFunctions {
  readonly key: UserFunction;
  readonly reduce: UserFunction;
  readonly size: UserFunction;
}

export function groupByWindow(dataset: Dataset, functions: WindowFunctions, options: DatasetOptions): Dataset {
  const key = traceKey([dataset.elementSpec], functions.key, 'keyFunc', 'Dataset_group_by_window');
  const keySpec = new TensorComponent(int64, []);
  const window = new DatasetComponent(dataset.elementSpec);
  const reduced = traceToDataset([keySpec, window], functions.reduce, 'Dataset_group_by_window');
  const size = traceKey([keySpec], functions.size, 'windowSizeFunc', 'Dataset_group_by_window');
  const inputs = {
    input_dataset: dataset.variant,
    key_func_other_arguments: key.captured,
    reduce_func_other_arguments: reduced.captured,
    window_size_func_other_arguments: size.captured,
  };
  const attrs = {
    key_func: key.f,
    reduce_func: reduced.f,
    window_size_func: size.f,
    Tkey_func_other_arguments: typesOf(key.captured),
    Treduce_func_other_arguments: typesOf(reduced.captured),
    Twindow_size_func_other_arguments: typesOf(size.captured),
    ...elementAttrs(reduced.element),
    metadata: metadataOf('groupByWindow', options),
  };
  return new Dataset(GroupByWindowDataset.build(inputs, { attrs }).handle, reduced.element);
}

/** The functions that reduce the elements of a group to one. */
export interface Reducer {
  /** The state to begin with, from the key. */
  readonly initFunc: UserFunction;
  /** The next state, from the state and an element. */
  readonly reduceFunc: UserFunction;
  /** What becomes of the last state. */
  readonly finalizeFunc: UserFunction;
}

export function groupByReducer(dataset: Dataset, keyFunc: UserFunction, reducer: Reducer): Dataset {
  const transformation = 'tf_data_experimental_group_by_reducer';
  const key = traceKey([dataset.elementSpec], keyFunc, 'keyFunc', transformation);
  const init = traceFunction(reducer.initFunc, { transformation, args: [new TensorComponent(int64, [])] });
  const { traced, state } = traceState(init.spec, (spec) => {
    const made = traceFunction(reducer.reduceFunc, { transformation, args: [spec, dataset.elementSpec] });
    return { traced: made, next: componentsOf(made.spec) };
  });
  const finalized = traceFunction(reducer.finalizeFunc, { transformation, args: [state] });
  const inputs = {
    input_dataset: dataset.variant,
    key_func_other_arguments: key.captured,
    init_func_other_arguments: init.captured,
    reduce_func_other_arguments: traced.captured,
    finalize_func_other_arguments: finalized.captured,
  };
  const attrs = {
    key_func: key.f,
    init_func: init.f,
    reduce_func: traced.f,
    finalize_func: finalized.f,
    Tkey_func_other_arguments: typesOf(key.captured),
    Tinit_func_other_arguments: typesOf(init.captured),
    Treduce_func_other_arguments: typesOf(traced.captured),
    Tfinalize_func_other_arguments: typesOf(finalized.captured),
    ...elementAttrs(finalized.spec),
  };
  return new Dataset(ExperimentalGroupByReducerDataset.build(inputs, { attrs }).handle, finalized.spec);
}
