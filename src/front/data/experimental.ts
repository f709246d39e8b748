/** @file tf.data.experimental (tf.contrib.data in 1.x): transformations for `dataset.apply`, and other sources. */
import { type DType, float32, int64 } from '../../core/dtypes.ts';
import type { Dims } from '../../core/shape.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { expandDims } from '../../ops/array/expandDims.ts';
import { squeeze } from '../../ops/array/squeeze.ts';
import { MapAndBatchDataset } from '../../ops/data/batchMore.ts';
import { DirectedInterleaveDataset } from '../../ops/data/combine.ts';
import { LegacyParallelInterleaveDatasetV2 } from '../../ops/data/flatMap.ts';
import { DummySeedGenerator, RandomDatasetV2, RandomDataset as RandomNumbers } from '../../ops/data/random.ts';
import { DatasetCardinality, DatasetToSingleElement } from '../../ops/data/reduce.ts';
import { ShuffleAndRepeatDataset } from '../../ops/data/shuffle.ts';
import { ListDataset } from '../../ops/data/sources.ts';
import { UniqueDataset } from '../../ops/data/unique.ts';
import { AssertCardinalityDataset, IgnoreErrorsDataset } from '../../ops/data/wrappers.ts';
import { log } from '../../ops/math/exp.ts';
import { plus } from '../../ops/math/operators.ts';
import { StatelessMultinomial } from '../../ops/random/stateless.ts';
import { batchSizeOf, choice, type DatasetOptions, metadataOf, number, truth } from './arguments.ts';
import { replicated, seedTensors } from './arranging.ts';
import { type BatchOptions, unbatch as unbatched } from './batching.ts';
import { Dataset, type Inside } from './dataset.ts';
import * as elementwise from './elementwise.ts';
import { traceFunction } from './functions.ts';
import {
  type ElementOf,
  type ElementSpec,
  elementAttrs,
  fromTensors,
  mapSpec,
  normalizeElement,
  TensorComponent,
} from './spec.ts';
import type { LoadOptions, SaveOptions, SnapshotOptions } from './storing.ts';

/** What `dataset.apply` takes. */
export type Transformation<E, R> = (dataset: Dataset<E>) => Dataset<R>;

/** What elements are like that a function takes with these arguments. */
export type OfArguments<A extends readonly unknown[]> = A extends readonly [infer One] ? One : A;

/** Marks a number that the runtime chooses. */
export const AUTOTUNE = -1;
/** What `cardinality` says of datasets without end, and of those whose elements nobody has counted. */
export const INFINITE_CARDINALITY = -1;
export const UNKNOWN_CARDINALITY = -2;

/**
 * Shuffles and repeats in one go, so that rounds are not mixed. Adds `ShuffleAndRepeatDataset`.
 *
 * @example dataset.apply(tf.data.experimental.shuffleAndRepeat(1000, { count: 3, seed: 1 }))
 */
export function shuffleAndRepeat<E>(
  bufferSize: TensorLike,
  options: { readonly count?: TensorLike; readonly seed?: number | undefined } = {},
): Transformation<E, E> {
  const { count: rounds = -1, seed } = onlyOptions('shuffleAndRepeat', options, 'count', 'seed');
  return (dataset) => {
    const buffer_size = number(bufferSize, 'buffer_size');
    const count = number(rounds, 'count');
    const inputs = { input_dataset: dataset.variant, buffer_size, count, ...seedTensors(seed) };
    const attrs = elementAttrs(dataset.elementSpec);
    return new Dataset<E>(ShuffleAndRepeatDataset.build(inputs, { attrs }).handle, dataset.elementSpec);
  };
}

/**
 * `map` and `batch` in one. Adds `MapAndBatchDataset`.
 *
 * @example dataset.apply(tf.data.experimental.mapAndBatch((x) => x.mul(2), 32))
 */
export function mapAndBatch<A extends readonly unknown[], const R>(
  fn: (...args: A) => R,
  batchSize: TensorLike,
  options: Omit<BatchOptions, 'deterministic' | 'name'> & { readonly numParallelBatches?: number | undefined } = {},
): Transformation<OfArguments<A>, ElementOf<R>> {
  const {
    dropRemainder = false,
    numParallelCalls,
    numParallelBatches,
  } = onlyOptions('mapAndBatch', options, 'dropRemainder', 'numParallelCalls', 'numParallelBatches');
  return (dataset) => {
    const transformation = 'tf_data_experimental_map_and_batch';
    const { f, captured, spec } = traceFunction(fn, { transformation, args: [dataset.elementSpec] });
    const batch_size = number(batchSize, 'batch_size');
    const calls = numParallelCalls ?? (numParallelBatches === undefined ? 1 : Number(batchSize) * numParallelBatches);
    const inputs = {
      input_dataset: dataset.variant,
      other_arguments: captured,
      batch_size,
      num_parallel_calls: number(calls, 'num_parallel_calls'),
      drop_remainder: truth(dropRemainder, 'drop_remainder'),
    };
    const batches = mapSpec(spec, (component) => component.batched(batchSizeOf(inputs)));
    const attrs = { f, ...elementAttrs(batches), preserve_cardinality: true };
    return new Dataset<ElementOf<R>>(MapAndBatchDataset.build(inputs, { attrs }).handle, batches);
  };
}

/** As `mapAndBatch`: there is one kind of functions here. */
export const mapAndBatchWithLegacyFunction = mapAndBatch;

/**
 * Elements of datasets in turns, made ahead. Adds `LegacyParallelInterleaveDatasetV2`.
 *
 * @example files.apply(tf.data.experimental.parallelInterleave((f) => new tf.data.TFRecordDataset(f), 4))
 */
export function parallelInterleave<A extends readonly unknown[], R extends Dataset>(
  fn: (...args: A) => R,
  cycleLength: TensorLike,
  options: {
    readonly blockLength?: TensorLike;
    readonly sloppy?: boolean;
    readonly bufferOutputElements?: TensorLike;
    readonly prefetchInputElements?: TensorLike;
  } = {},
): Transformation<OfArguments<A>, Inside<R>> {
  const {
    blockLength = 1,
    sloppy = false,
    bufferOutputElements = -1,
    prefetchInputElements = -1,
  } = onlyOptions(
    'parallelInterleave',
    options,
    'blockLength',
    'sloppy',
    'bufferOutputElements',
    'prefetchInputElements',
  );
  return (dataset) => {
    const transformation = 'tf_data_experimental_parallel_interleave';
    const { f, captured, element } = elementwise.traceToDataset([dataset.elementSpec], fn, transformation);
    const inputs = {
      input_dataset: dataset.variant,
      other_arguments: captured,
      cycle_length: number(cycleLength, 'cycle_length'),
      block_length: number(blockLength, 'block_length'),
      buffer_output_elements: number(bufferOutputElements, 'buffer_output_elements'),
      prefetch_input_elements: number(prefetchInputElements, 'prefetch_input_elements'),
    };
    const attrs = { f, deterministic: choice(!sloppy), ...elementAttrs(element) };
    return new Dataset<Inside<R>>(LegacyParallelInterleaveDatasetV2.build(inputs, { attrs }).handle, element);
  };
}

/** How many elements a window has: a number, or a function of its key. */
export interface GroupByWindowOptions {
  readonly windowSize?: number | undefined;
  readonly windowSizeFunc?: ((key: Tensor) => TensorLike) | undefined;
}

/**
 * Gathers elements with the same key (an int64) and makes a dataset of each `windowSize` of them. Adds
 * `GroupByWindowDataset`.
 *
 * @example dataset.apply(tf.data.experimental.groupByWindow((x) => x.mod(2), (_, window) => window.batch(10), { windowSize: 10 }))
 */
export function groupByWindow<A extends readonly unknown[], R extends Dataset>(
  keyFunc: (...args: A) => TensorLike,
  reduceFunc: (key: Tensor, window: Dataset<OfArguments<A>>) => R,
  options: GroupByWindowOptions,
): Transformation<OfArguments<A>, Inside<R>> {
  const { windowSize, windowSizeFunc } = onlyOptions('groupByWindow', options, 'windowSize', 'windowSizeFunc');
  if ((windowSize === undefined) === (windowSizeFunc === undefined))
    throw userError('Either the windowSize argument or the windowSizeFunc argument must be specified.');
  const size = windowSizeFunc ?? (() => convertToTensor(windowSize!, { dtype: int64 }));
  const functions = { key: keyFunc, reduce: reduceFunc, size };
  return (dataset) => elementwise.groupByWindow(dataset, functions, {}) as Dataset<Inside<R>>; // what the function's datasets give
}

/** A reduction: the state to begin with, from the key; the next state; what becomes of the last one. */
export class Reducer implements elementwise.Reducer {
  constructor(
    readonly initFunc: elementwise.Reducer['initFunc'],
    readonly reduceFunc: elementwise.Reducer['reduceFunc'],
    readonly finalizeFunc: elementwise.Reducer['finalizeFunc'],
  ) {}
}

/** Reduces all elements with the same key (an int64) to one. Adds `ExperimentalGroupByReducerDataset`. */
export function groupByReducer<A extends readonly unknown[], R = unknown>(
  keyFunc: (...args: A) => TensorLike,
  reducer: elementwise.Reducer,
): Transformation<OfArguments<A>, R> {
  return (dataset) => elementwise.groupByReducer(dataset, keyFunc, reducer) as Dataset<R>; // as the user declares
}

/** The rows of each element as elements. Adds `MapDataset` and `UnbatchDataset`. */
export function unbatch<E>(): Transformation<E, E> {
  return (dataset) => unbatched(dataset, {});
}

/** Elements beside their numbers. Adds `RangeDataset`, `RewriteDataset` and `ZipDataset`. */
export function enumerateDataset<E>(start: TensorLike = 0): Transformation<E, [Tensor, E]> {
  return (dataset) => dataset.enumerate(start);
}

/**
 * Hands a state from element to element: the function gives the next state and an element. Adds `ScanDataset`.
 *
 * @example dataset.apply(tf.data.experimental.scan(0, (sum, x) => [sum.add(x), sum]))
 */
export function scan<E, const S, R>(
  initialState: S,
  fn: (state: ElementOf<S>, element: E) => readonly [unknown, R],
): Transformation<E, ElementOf<R>> {
  return (dataset) => elementwise.scan(dataset, initialState, fn, {}) as Dataset<ElementOf<R>>; // what the function gives
}

/** The elements before the first of which a function does not give true. Adds `TakeWhileDataset`. */
export function takeWhile<A extends readonly unknown[]>(
  predicate: (...args: A) => TensorLike,
): Transformation<OfArguments<A>, OfArguments<A>> {
  return (dataset) => elementwise.takeWhile(dataset, predicate, {});
}

/** Each value once. Adds `UniqueDataset`. */
export function unique<E>(): Transformation<E, E> {
  return (dataset) => {
    const attrs = elementAttrs(dataset.elementSpec);
    const { handle } = UniqueDataset.build({ input_dataset: dataset.variant }, { attrs });
    return new Dataset<E>(handle, dataset.elementSpec);
  };
}

/** Leaves out elements that cannot be made. Adds `IgnoreErrorsDataset`. */
export function ignoreErrors<E>(options: { readonly logWarning?: boolean } = {}): Transformation<E, E> {
  const { logWarning = false } = onlyOptions('ignoreErrors', options, 'logWarning');
  return (dataset) => {
    const attrs = { ...elementAttrs(dataset.elementSpec), log_warning: logWarning };
    const { handle } = IgnoreErrorsDataset.build({ input_dataset: dataset.variant }, { attrs });
    return new Dataset<E>(handle, dataset.elementSpec);
  };
}

/** Fails where there are more or fewer elements than this. Adds `AssertCardinalityDataset`. */
export function assertCardinality<E>(expectedCardinality: TensorLike): Transformation<E, E> {
  return (dataset) => {
    const cardinality = number(expectedCardinality, 'expected_cardinality');
    const attrs = elementAttrs(dataset.elementSpec);
    const { handle } = AssertCardinalityDataset.build({ input_dataset: dataset.variant, cardinality }, { attrs });
    return new Dataset<E>(handle, dataset.elementSpec);
  };
}

/**
 * How many elements a dataset has, if that can be told without making them. Adds `DatasetCardinality`.
 *
 * @example tf.data.experimental.cardinality(tf.data.Dataset.range(42)) // runs to 42
 */
export function cardinality(dataset: Dataset): Tensor {
  return DatasetCardinality.build({ input_dataset: dataset.variant }).cardinality;
}

/**
 * The only element of a dataset. Adds `DatasetToSingleElement`.
 *
 * @example tf.data.experimental.getSingleElement(tf.data.Dataset.fromTensors([1, 2])) // runs to [1 2]
 */
export function getSingleElement<E>(dataset: Dataset<E>): E {
  const attrs = elementAttrs(dataset.elementSpec);
  const { components } = DatasetToSingleElement.build({ dataset: dataset.variant }, { attrs });
  return fromTensors(dataset.elementSpec, components) as E; // what the spec describes
}

/** Random int64s without end. Adds `RandomDataset`. */
export class RandomDataset extends Dataset<Tensor> {
  constructor(options: RandomOptions = {}) {
    const { seed, rerandomizeEachIteration = false } = onlyOptions(
      'RandomDataset',
      options,
      'seed',
      'rerandomizeEachIteration',
    );
    const spec = new TensorComponent(int64, []);
    const seeds = seedTensors(seed);
    if (rerandomizeEachIteration) {
      const inputs = { ...seeds, seed_generator: DummySeedGenerator.build({}).handle };
      const attrs = { ...elementAttrs(spec), rerandomize_each_iteration: true };
      super(RandomDatasetV2.build(inputs, { attrs }).handle, spec);
    } else super(RandomNumbers.build(seeds, { attrs: elementAttrs(spec) }).handle, spec);
  }
}

export interface RandomOptions {
  readonly seed?: number | undefined;
  /** Other numbers each time through, for `repeat`; the same each time unless this is true. */
  readonly rerandomizeEachIteration?: boolean | undefined;
}

/**
 * The elements of a list, which may differ in their sizes. Adds `ListDataset`.
 *
 * @example tf.data.experimental.fromList([[1], [2, 3]]) // [1], then [2 3]
 */
export function fromList<const T>(elements: readonly T[], options: DatasetOptions = {}): Dataset<ElementOf<T>> {
  if (elements.length === 0) throw userError('Invalid elements. They should not be empty.');
  const parts = elements.map((element) => normalizeElement(element));
  const spec = parts.reduce<ElementSpec>((all, part) => mergedSpec(all, part.spec), parts[0]!.spec);
  const tensors = parts.flatMap((part) => part.tensors);
  const attrs = { ...elementAttrs(spec), metadata: metadataOf('fromList', options) };
  return new Dataset<ElementOf<T>>(ListDataset.build({ tensors }, { attrs }).handle, spec);
}

/**
 * Counts without end. Adds nodes under `counter/`.
 *
 * @example tf.data.experimental.Counter(3, 2) // 3 5 7 …
 */
export function Counter(
  start: TensorLike = 0,
  step: TensorLike = 1,
  options: { readonly dtype?: DType } = {},
): Dataset<Tensor> {
  const { dtype = int64 } = onlyOptions('Counter', options, 'dtype');
  return nameScope('counter', () => {
    const first = convertToTensor(start, { dtype, name: 'start' });
    const by = convertToTensor(step, { dtype, name: 'step' });
    return Dataset.fromTensors(0)
      .repeat()
      .apply(scan(first, (state) => [plus(state, by), state] as const)) as Dataset<Tensor>; // the state
  });
}

function directed<E>(selector: Dataset, datasets: readonly Dataset<E>[], stopsOnEmpty = false): Dataset<E> {
  const spec = datasets.reduce((all, { elementSpec }) => mergedSpec(all, elementSpec), datasets[0]!.elementSpec);
  const inputs = { selector_input_dataset: selector.variant, data_input_datasets: datasets.map((d) => d.variant) };
  const attrs = { ...elementAttrs(spec), stop_on_empty_dataset: stopsOnEmpty };
  return new Dataset<E>(DirectedInterleaveDataset.build(inputs, { attrs }).handle, spec);
}

function mergedSpec(a: Dataset['elementSpec'], b: Dataset['elementSpec']): Dataset['elementSpec'] {
  let next = 0;
  const others: Dims[] = elementAttrs(b).output_shapes;
  return mapSpec(a, (component) => {
    const both = component.merged(new TensorComponent(elementAttrs(b).output_types[next]!, others[next]!));
    next++;
    if (!both) throw userError('All datasets must have compatible element types.');
    return both;
  });
}

/**
 * Elements of datasets chosen at random, by weights. Adds `RandomDataset`, `MapDataset` and `DirectedInterleaveDataset`.
 *
 * @example tf.data.experimental.sampleFromDatasets([a, b], { weights: [0.9, 0.1], seed: 1 })
 */
export function sampleFromDatasets<E>(datasets: readonly Dataset<E>[], options: SampleOptions = {}): Dataset<E> {
  const { weights, seed, stopOnEmptyDataset, rerandomizeEachIteration } = onlyOptions(
    'sampleFromDatasets',
    options,
    'weights',
    'seed',
    'stopOnEmptyDataset',
    'rerandomizeEachIteration',
  );
  if (datasets.length === 0) throw userError('Invalid datasets. They should not be empty.');
  const random = { seed, rerandomizeEachIteration };
  if (weights instanceof Dataset) return sampleByWeights(datasets, weights, random, stopOnEmptyDataset);
  if (weights && !(weights instanceof Tensor) && weights.length !== datasets.length)
    throw userError(`There are ${weights.length} weights for ${datasets.length} datasets; there must be one of each.`);
  const logits =
    weights && expandDims(log(convertToTensor(weights, { hint: float32, name: 'weights' }), { name: 'logits' }), 0);
  if (datasets.length === 1) return datasets[0]!;
  const select_dataset_constant_logits = (seeds: Tensor) => {
    const given = logits ?? [datasets.map(() => 1.0)];
    const inputs = { logits: given, num_samples: 1, seed: seeds };
    return squeeze(StatelessMultinomial.build(inputs).output, { axis: [0, 1] });
  };
  const selector = elementwise.map(
    new RandomDataset(random).batch(2),
    select_dataset_constant_logits,
    {},
    { preserveCardinality: true, useInterOpParallelism: false },
  );
  return directed(selector, datasets, stopOnEmptyDataset);
}

export interface SampleOptions extends RandomOptions {
  /** How likely each dataset is: numbers, or a dataset of such, one for each draw. All alike unless said. */
  readonly weights?: readonly number[] | Tensor | Dataset<Tensor> | undefined;
  /** Ends with the first dataset that has no more, rather than going on with the others. */
  readonly stopOnEmptyDataset?: boolean | undefined;
}

/** Elements of datasets chosen at random, by weights that may differ each time. */
export function sampleByWeights<E>(
  datasets: readonly Dataset<E>[],
  weights: Dataset,
  random: RandomOptions,
  stopsOnEmpty = false,
): Dataset<E> {
  const logits = elementwise.map(weights, (p: Tensor) => log(p, { name: 'logits' }), {});
  const select_dataset_varying_logits = (given: Tensor, seeds: Tensor) =>
    squeeze(StatelessMultinomial.build({ logits: given, num_samples: 1, seed: seeds }).output, { axis: [0, 1] });
  const seeds = new RandomDataset(random).batch(2);
  const pairs: Dataset = Dataset.zip([logits, seeds]);
  const selector = elementwise.map(pairs, select_dataset_varying_logits, {}, { useInterOpParallelism: false });
  return directed(selector, datasets, stopsOnEmpty);
}

/**
 * Elements of datasets in the order that another dataset gives by number. Adds `DirectedInterleaveDataset`.
 *
 * @example tf.data.experimental.chooseFromDatasets([a, b], tf.data.Dataset.fromTensorSlices(numbers))
 */
export function chooseFromDatasets<E>(
  datasets: readonly Dataset<E>[],
  choiceDataset: Dataset<Tensor>,
  options: ChooseOptions = {},
): Dataset<E> {
  const { stopOnEmptyDataset } = onlyOptions('chooseFromDatasets', options, 'stopOnEmptyDataset');
  if (datasets.length === 0) throw userError('Invalid datasets. They should not be empty.');
  const { elementSpec: choice } = choiceDataset;
  if (!(choice instanceof TensorComponent) || choice.dtype !== int64 || choice.shape?.length !== 0)
    throw userError(`The elements of choiceDataset must be int64 scalars, but they are ${String(choice)}.`);
  return directed(replicated(choiceDataset), datasets, stopOnEmptyDataset);
}

export interface ChooseOptions {
  /** Ends with the first dataset that has no more, rather than passing it by. */
  readonly stopOnEmptyDataset?: boolean | undefined;
}

/** Elements on a device; where there is one, they are there already. Adds nothing. */
export function copyToDevice<E>(_targetDevice: string, _sourceDevice = '/cpu:0'): Transformation<E, E> {
  return (dataset) => dataset;
}

/**
 * Writes elements the first time through, and reads them from there every other time. Adds `SnapshotDatasetV2` and others.
 *
 * @example dataset.apply(tf.data.experimental.snapshot('/tmp/decoded'))
 */
export function snapshot<E>(path: TensorLike, options: SnapshotOptions = {}): Transformation<E, E> {
  return (dataset) => dataset.snapshot(path, options);
}

/** As `dataset.save`. */
export function save(dataset: Dataset, path: TensorLike, options: SaveOptions = {}): Operation {
  return dataset.save(path, options);
}

/** As `Dataset.load`. */
export function load<E = Tensor>(path: TensorLike, elementSpec: ElementSpec, options: LoadOptions = {}): Dataset<E> {
  return Dataset.load<E>(path, elementSpec, options);
}

/** The tensor that holds a dataset. */
export function toVariant(dataset: Dataset): Tensor {
  return dataset.variant;
}

/** The dataset in a tensor, whose elements are like this. */
export function fromVariant<E = unknown>(variant: Tensor, structure: ElementSpec): Dataset<E> {
  return new Dataset<E>(variant, structure);
}

/** What the elements of a dataset or an iterator look like. */
export function getStructure(of: { readonly elementSpec: ElementSpec }): ElementSpec {
  return of.elementSpec;
}

/** Makes elements ahead; where there is one device, that is all there is to do. Adds `PrefetchDataset`. */
export function prefetchToDevice<E>(
  _device: string,
  options: { readonly bufferSize?: TensorLike } = {},
): Transformation<E, E> {
  const { bufferSize = -1 } = onlyOptions('prefetchToDevice', options, 'bufferSize');
  return (dataset) => dataset.prefetch(bufferSize);
}
