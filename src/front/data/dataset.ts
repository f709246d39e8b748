/** @file tf.data.Dataset: elements described by a graph, transformed, and taken one by one by iterators. */
import { type DType, int64, variant } from '../../core/dtypes.ts';
import type { NDArray } from '../../core/ndarray.ts';
import type { Dims } from '../../core/shape.ts';
import type { Graph } from '../../graph/graph.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions, withArgument } from '../../graph/options.ts';
import { sessionFor } from '../../graph/runner.ts';
import { colocateWith } from '../../graph/scopes.ts';
import type { SparseTensor } from '../../graph/sparseTensor.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { DeleteIterator, IteratorV2, MakeIterator, OneShotIterator } from '../../ops/data/iteratorOps.ts';
import { OptionsDataset } from '../../ops/data/options.ts';
import { RangeDataset, TensorDataset, TensorSliceDataset } from '../../ops/data/sources.ts';
import { OptionalNone } from '../../ops/flow/optional.ts';
import { flatten } from '../nest.ts';
import { type DatasetOptions, isOptions, metadataOf, number, valuesUntilEnd } from './arguments.ts';
import * as arranging from './arranging.ts';
import * as batching from './batching.ts';
import { factoryOf } from './byValue.ts';
import * as elementwise from './elementwise.ts';
import { fromGenerator, type GeneratorOptions, type Values } from './generators.ts';
import { Iterator } from './iterator.ts';
import { type ListFilesOptions, listFiles } from './listFiles.ts';
import { Options, optionsOf } from './options.ts';
import { fromSparseTensorSlices } from './sparse.ts';
import {
  type Arguments,
  addComponentKind,
  type Component,
  type Declared,
  type ElementOf,
  type ElementSpec,
  elementAttrs,
  type IsDataset,
  legacy,
  mapSpec,
  normalizeElement,
  shownSpec,
  TensorComponent,
  type TypesOf,
  type ValueOf,
  withStructure,
} from './spec.ts';
import * as storing from './storing.ts';

export interface RangeOptions extends DatasetOptions {
  readonly outputType?: DType | undefined;
}

export interface EnumerateOptions extends DatasetOptions {
  /** The first number; 0 unless given. */
  readonly start?: TensorLike | undefined;
}

/** The elements of datasets side by side. */
export type Zipped<T> =
  T extends Dataset<infer E> ? E : T extends object ? { -readonly [K in keyof T]: Zipped<T[K]> } : never;
/** The elements of the datasets that a function makes. */
export type Inside<R> = R extends Dataset<infer E> ? E : unknown;

/**
 * Elements, each a structure of tensors, described by nodes of a graph: sources, and transformations of other datasets.
 * Iterators take elements in runs; in TypeScript, `for await` does.
 */
export class Dataset<E = unknown> implements IsDataset, AsyncIterable<ValueOf<E>> {
  readonly isDataset = true;
  constructor(
    /** The tensor that holds the dataset. */
    readonly variant: Tensor,
    readonly elementSpec: ElementSpec,
  ) {}

  /**
   * One element: these tensors, in their structure. Adds `TensorDataset`.
   *
   * @example for await (const x of tf.data.Dataset.fromTensors([1, 2])) console.log(x); // [1 2]
   */
  static fromTensors<const T>(tensors: T, options: DatasetOptions = {}): Dataset<ElementOf<T>> {
    const { tensors: components, spec } = normalizeElement(tensors);
    const attrs = { output_shapes: elementAttrs(spec).output_shapes, metadata: metadataOf('fromTensors', options) };
    return new Dataset<ElementOf<T>>(TensorDataset.build({ components }, { attrs }).handle, spec);
  }

  /**
   * The rows of these tensors, which must have equally many. Adds `TensorSliceDataset`.
   *
   * @example for await (const x of tf.data.Dataset.fromTensorSlices([1, 2])) console.log(x); // 1, then 2
   */
  static fromTensorSlices<const T>(tensors: T, options: DatasetOptions = {}): Dataset<ElementOf<T>> {
    const { tensors: components, spec } = normalizeElement(tensors, true);
    const rows = mapSpec(spec, (component) => component.unbatched());
    checkRows(components);
    const { output_shapes } = elementAttrs(rows);
    const attrs = { output_shapes, metadata: metadataOf('fromTensorSlices', options) };
    return new Dataset<ElementOf<T>>(TensorSliceDataset.build({ components }, { attrs }).handle, rows);
  }

  /**
   * The rows of a sparse tensor, each as its indices, values and dense shape. Adds `SparseTensorSliceDataset`.
   *
   * @example tf.data.Dataset.fromSparseTensorSlices(new tf.SparseTensor([[0, 0], [1, 2]], [1, 2], [3, 4]))
   */
  static fromSparseTensorSlices(sparseTensor: SparseTensor): Dataset<[Tensor, Tensor, Tensor]> {
    return fromSparseTensorSlices(sparseTensor);
  }

  /**
   * Numbers one after the other, as `range` in Python: up to a number, or from one to another by a step. Adds
   * `RangeDataset`.
   *
   * @example for await (const x of tf.data.Dataset.range(2, 6, 2)) console.log(x); // 2, then 4
   */
  static range(stop: TensorLike, options?: RangeOptions): Dataset<Tensor>;
  static range(start: TensorLike, stop: TensorLike, options?: RangeOptions): Dataset<Tensor>;
  static range(start: TensorLike, stop: TensorLike, step: TensorLike, options?: RangeOptions): Dataset<Tensor>;
  static range(...args: readonly (TensorLike | RangeOptions | undefined)[]): Dataset<Tensor> {
    const last = args.at(-1);
    const options = isOptions(last) ? (last as RangeOptions) : {};
    const { outputType = int64 } = onlyOptions('tf.data.Dataset.range', options, 'outputType', 'name');
    const numbers = (options === last ? args.slice(0, -1) : args).filter((x) => x !== undefined) as TensorLike[]; // no options left
    if (numbers.length === 0 || numbers.length > 3)
      throw userError(`tf.data.Dataset.range takes one to three numbers, but ${numbers.length} were given.`);
    const [start, stop, step] =
      numbers.length === 1 ? [0, numbers[0]!, 1] : [numbers[0]!, numbers[1]!, numbers[2] ?? 1];
    const inputs = { start: number(start, 'start'), stop: number(stop, 'stop'), step: number(step, 'step') };
    const spec = new TensorComponent(outputType, []);
    const attrs = { ...elementAttrs(spec), metadata: metadataOf('range', { name: options.name }) };
    return new Dataset<Tensor>(RangeDataset.build(inputs, { attrs }).handle, spec);
  }

  /**
   * The values that a generator of this program yields, each in the structure of the types. Every time through the dataset
   * begins the generator anew. Adds `TensorDataset` and `FlatMapDataset`.
   *
   * @example tf.data.Dataset.fromGenerator(function* () { yield 1; yield 2; }, tf.int64)
   */
  static fromGenerator<E = never, const T = unknown>(
    generator: (...args: NDArray[]) => Values,
    outputTypes: T,
    outputShapes?: unknown,
    options: GeneratorOptions = {},
  ): Dataset<Declared<E, T>> {
    const given = withStructure('outputShapes', outputTypes, outputShapes, options, 'outputShapes', 'args', 'name');
    return fromGenerator(generator, outputTypes, given) as Dataset<Declared<E, T>>; // as the user declares
  }

  /**
   * One element of each dataset, side by side in the structure given; ends with the shortest. Adds `ZipDataset`.
   *
   * @example for await (const [x, y] of tf.data.Dataset.zip([a, b])) console.log(x, y);
   */
  static zip<const T>(datasets: T, options: DatasetOptions = {}): Dataset<Zipped<T>> {
    const flat = flatten(datasets);
    for (const dataset of flat)
      if (!(dataset instanceof Dataset)) throw userError('Dataset.zip takes datasets, in an array or a record.');
    return arranging.zip(datasets, flat as Dataset[], options) as Dataset<Zipped<T>>; // same structure
  }

  /**
   * The names of files that match patterns, in random order unless `shuffle` is false. Adds nodes under `list_files/`.
   *
   * @example tf.data.Dataset.listFiles('images/*.png', { shuffle: false })
   */
  static listFiles(filePattern: TensorLike, options: ListFilesOptions = {}): Dataset<Tensor> {
    return listFiles(filePattern, options);
  }

  /**
   * The results of a function of each element; the parts of a tuple are its arguments. With `numParallelCalls` several calls
   * are under way at once. Adds `MapDataset`, or `ParallelMapDatasetV2`.
   *
   * @example for await (const x of tf.data.Dataset.range(3).map((x) => x.mul(10))) console.log(x); // 0, then 10, then 20
   */
  map<const R>(fn: (...args: Arguments<E>) => R, options: elementwise.MapOptions = {}): Dataset<ElementOf<R>> {
    return elementwise.map(this, fn, options) as Dataset<ElementOf<R>>; // what the function gives
  }

  /**
   * The elements of which a function gives true. Adds `FilterDataset`.
   *
   * @example for await (const x of tf.data.Dataset.range(4).filter((x) => x.greater(1))) console.log(x); // 2, then 3
   */
  filter(predicate: (...args: Arguments<E>) => TensorLike, options: DatasetOptions = {}): Dataset<E> {
    return elementwise.filter<E>(this, predicate, options);
  }

  /**
   * The elements of the dataset that a function makes of each element, one dataset after the other. Adds `FlatMapDataset`.
   *
   * @example tf.data.Dataset.range(3).flatMap((x) => tf.data.Dataset.fromTensors(x).repeat(2)) // 0 0 1 1 2 2
   */
  flatMap<R extends Dataset>(fn: (...args: Arguments<E>) => R, options: DatasetOptions = {}): Dataset<Inside<R>> {
    return elementwise.flatMap(this, fn, options) as Dataset<Inside<R>>; // what the function's datasets give
  }

  /**
   * As `flatMap`, but `cycleLength` datasets take turns and give `blockLength` elements each time. Adds `InterleaveDataset`,
   * or `ParallelInterleaveDatasetV4` with `numParallelCalls`.
   *
   * @example files.interleave((f) => new tf.data.TextLineDataset(f), { cycleLength: 4 })
   */
  interleave<R extends Dataset>(
    fn: (...args: Arguments<E>) => R,
    options: elementwise.InterleaveOptions = {},
  ): Dataset<Inside<R>> {
    return elementwise.interleave(this, fn, options) as Dataset<Inside<R>>; // as flatMap
  }

  /**
   * What becomes of a state when a function has taken in every element; a tensor, or a structure of them. Adds
   * `ReduceDataset`.
   *
   * @example tf.data.Dataset.range(5).reduce(tf.constant(0, { dtype: tf.int64 }), (sum, x) => sum.add(x)) // runs to 10
   */
  reduce<const S>(
    initialState: S,
    fn: (state: ElementOf<S>, element: E) => unknown,
    options: DatasetOptions = {},
  ): ElementOf<S> {
    return elementwise.reduce(this, initialState, fn, options) as ElementOf<S>; // in the structure of the state
  }

  /** Consecutive elements stacked; the last batch may be smaller unless `dropRemainder`. Adds `BatchDatasetV2`.
   *
   * @example for await (const x of tf.data.Dataset.range(3).batch(2)) console.log(x); // [0 1], then [2]
   */
  batch(batchSize: TensorLike, options: batching.BatchOptions = {}): Dataset<E> {
    return batching.batch<E>(this, batchSize, options);
  }

  /**
   * Consecutive elements brought to one size and stacked. Adds `PaddedBatchDatasetV2`.
   *
   * @example sentences.paddedBatch(32, [null])
   * @example sentences.paddedBatch(32, { paddedShapes: [null], paddingValues: -1 })
   */
  paddedBatch(batchSize: TensorLike, shapes?: unknown, options: batching.PaddedBatchOptions = {}): Dataset<E> {
    return batching.paddedBatch<E>(this, batchSize, shapes, options);
  }

  /** The rows of each element as elements: the opposite of `batch`. Adds `MapDataset` and `UnbatchDataset`. */
  unbatch(options: DatasetOptions = {}): Dataset<E> {
    return batching.unbatch<E>(this, options);
  }

  /**
   * Elements in an order that is drawn from a buffer of `bufferSize` of them; the same as TensorFlow's for the same seeds.
   * Adds `ShuffleDataset`.
   *
   * @example tf.data.Dataset.range(5).shuffle(5, { seed: 1 })
   */
  shuffle(bufferSize: TensorLike, options: arranging.ShuffleOptions = {}): Dataset<E> {
    return arranging.shuffle<E>(this, bufferSize, options);
  }

  /** The dataset so many times, or without end. Adds `RepeatDataset`. */
  repeat(count?: TensorLike | arranging.RepeatOptions, options: arranging.RepeatOptions = {}): Dataset<E> {
    return arranging.repeat<E>(this, withArgument('count', count, options));
  }

  /** The first elements; all of them for -1. Adds `TakeDataset`. */
  take(count: TensorLike, options: DatasetOptions = {}): Dataset<E> {
    return arranging.take<E>(this, count, options);
  }

  /** All but the first elements; none for -1. Adds `SkipDataset`. */
  skip(count: TensorLike, options: DatasetOptions = {}): Dataset<E> {
    return arranging.skip<E>(this, count, options);
  }

  /** Every `numShards`-th element, from the one at `index` on. Adds `ShardDataset`. */
  shard(numShards: TensorLike, index: TensorLike, options: DatasetOptions = {}): Dataset<E> {
    return arranging.shard<E>(this, [numShards, index], options);
  }

  /** Datasets of `size` neighbouring elements each, per component. Adds `WindowDataset`. */
  window(size: TensorLike, options: arranging.WindowOptions = {}): Dataset<Windows<E>> {
    return arranging.window(this, size, options) as Dataset<Windows<E>>; // a dataset in place of each tensor
  }

  /** Keeps the elements of the first time through, in memory or in a file, for later times. Adds `CacheDataset`. */
  cache(filename?: TensorLike | arranging.CacheOptions, options: arranging.CacheOptions = {}): Dataset<E> {
    return arranging.cache<E>(this, withArgument('filename', filename, options));
  }

  /** Makes up to `bufferSize` elements while earlier ones are used; -1 leaves the number to the runtime. Adds `PrefetchDataset`. */
  prefetch(bufferSize: TensorLike, options: DatasetOptions = {}): Dataset<E> {
    return arranging.prefetch<E>(this, bufferSize, options);
  }

  /** The elements of this dataset, then those of another. Adds `ConcatenateDataset`. */
  concatenate(dataset: Dataset<E>, options: DatasetOptions = {}): Dataset<E> {
    return arranging.concatenate<E>(this, dataset, options);
  }

  /** Elements beside their numbers, which begin at `start`. Adds `RangeDataset`, `RewriteDataset` and `ZipDataset`. */
  enumerate(start: TensorLike | EnumerateOptions = 0, options: DatasetOptions = {}): Dataset<[Tensor, E]> {
    const given = (isOptions(start) ? start : { start, ...options }) as EnumerateOptions; // what is no tensor is this
    const { start: first = 0, ...named } = onlyOptions('Dataset.enumerate', given, 'start', 'name');
    const numbers = Dataset.range(first, 2n ** 63n - 1n);
    const pairs = arranging.zip([0, 0], [arranging.replicated(numbers), this], named);
    return pairs as Dataset<[Tensor, E]>; // as it was put together
  }

  /** What a function makes of this dataset, so that transformations can be written one after the other. */
  apply<R>(transformation: (dataset: this) => R): R {
    return transformation(this);
  }

  /** The dataset with something said for all of the pipeline up to here. Adds `OptionsDataset`. */
  withOptions(options = new Options()): Dataset<E> {
    const attrs = { serialized_options: '', ...elementAttrs(this.elementSpec) };
    const made = colocateWith(this.variant, () => OptionsDataset.build({ input_dataset: this.variant }, { attrs }));
    made.handle.op.setAttr('serialized_options', { s: options.serialize() }); // bytes, not text
    return new Dataset<E>(made.handle, this.elementSpec);
  }

  /** What was said by `withOptions`, here and in the datasets that this one is made of. */
  options(): Options {
    return Options.parse(optionsOf(this.variant));
  }

  // In files.
  /**
   * An operation that writes all elements to files under a folder, to be read by `load`. Adds `SaveDataset`.
   *
   * @example await sess.run(dataset.save('/tmp/numbers'));
   */
  save(path: TensorLike, options: storing.SaveOptions = {}): Operation {
    return storing.save(this, path, options);
  }

  /**
   * The elements that `save` has written, which are like those of another dataset or of this spec. Adds `LoadDataset`.
   *
   * @example tf.data.Dataset.load('/tmp/numbers', tf.data.Dataset.range(0).elementSpec)
   */
  static load<E = Tensor>(path: TensorLike, elementSpec: ElementSpec, options: storing.LoadOptions = {}): Dataset<E> {
    return storing.load(path, elementSpec, options) as Dataset<E>; // as the user declares
  }

  /**
   * Writes the elements the first time through, and reads them from there every other time, in other programs too. A pipeline
   * that is changed is written anew. Adds `SnapshotDatasetV2` and others.
   *
   * @example images.map(decode).snapshot('/tmp/decoded').shuffle(1000)
   */
  snapshot(path: TensorLike, options: storing.SnapshotOptions = {}): Dataset<E> {
    return storing.snapshot(this, path, options) as Dataset<E>; // the same elements
  }

  // Iterators.
  /**
   * An iterator that needs no initializer and goes through the dataset once. The dataset may not use variables, tables or
   * placeholders. Adds `OneShotIterator`.
   */
  makeOneShotIterator(): Iterator<E> {
    const attrs = { dataset_factory: factoryOf(this.variant), ...elementAttrs(this.elementSpec) };
    return colocateWith(
      this.variant,
      () => new Iterator<E>(OneShotIterator.build({}, { attrs }).handle, undefined, this.elementSpec),
    );
  }

  /** An iterator that begins when its `initializer` is run, each time. Adds `IteratorV2` and `MakeIterator`. */
  makeInitializableIterator(options: { readonly sharedName?: string | undefined } = {}): Iterator<E> {
    const { sharedName = '' } = onlyOptions('makeInitializableIterator', options, 'sharedName');
    const attrs = { container: '', shared_name: sharedName, ...elementAttrs(this.elementSpec) };
    return colocateWith(this.variant, () => {
      const iterator = IteratorV2.build({}, { attrs }).handle;
      const initializer = MakeIterator.node({ dataset: this.variant, iterator });
      return new Iterator<E>(iterator, initializer, this.elementSpec);
    });
  }

  /** The values of the elements, computed by the default session, or else by one of its own. */
  async *[Symbol.asyncIterator](): AsyncGenerator<ValueOf<E>, void, undefined> {
    const { runner, close } = sessionFor(this.graph);
    const { iterator, next, end } = this.graph.asDefault(() => {
      const made = this.makeInitializableIterator();
      const deleter = OptionalNone.build({}).optional;
      return { iterator: made, next: made.getNext(), end: DeleteIterator.node({ handle: made.resource, deleter }) };
    });
    try {
      await runner.run(iterator.initializer);
      yield* valuesUntilEnd<ValueOf<E>>(runner, this.elementSpec, next);
    } finally {
      await runner.run(end);
      close();
    }
  }

  get graph(): Graph {
    return this.variant.graph;
  }

  /** The types, shapes and classes of the components of elements, in their structure. */
  get outputTypes(): TypesOf<E> {
    return legacy(this.elementSpec, 'dtype') as TypesOf<E>; // the spec describes the elements
  }
  get outputShapes(): unknown {
    return legacy(this.elementSpec, 'shape');
  }
  get outputClasses(): unknown {
    return legacy(this.elementSpec, 'kind');
  }

  toString(): string {
    const { elementSpec: spec } = this;
    return `<${this.variant.op.type} shapes: ${shownSpec(spec, 'shape')}, types: ${shownSpec(spec, 'dtype')}>`;
  }
}

/** Refuses components with different numbers of rows, where those are known. */
function checkRows(components: readonly Tensor[]): void {
  const counts = components.map((t) => t.shape?.[0] ?? null).filter((n) => n !== null);
  if (new Set(counts).size > 1)
    throw userError(`Dataset.fromTensorSlices: the components have different numbers of rows: ${counts.join(', ')}.`);
}

/** Elements of windows: a dataset in place of each tensor. */
export type Windows<E> = E extends Tensor
  ? Dataset<E>
  : E extends object
    ? { -readonly [K in keyof E]: Windows<E[K]> }
    : unknown;

/** A dataset as a component of elements: a window of another one. */
export class DatasetComponent implements Component {
  readonly dtype = variant;
  readonly shape: Dims;
  readonly known: Component['known'];
  constructor(
    readonly element: ElementSpec,
    shape: Dims = [],
  ) {
    this.shape = shape;
    this.known = { kind: Dataset, dtype: variant, shape };
  }
  fromTensor(tensor: Tensor): unknown {
    return this.shape?.length === 0 ? new Dataset(tensor, this.element) : tensor;
  }
  fromArray(array: NDArray): NDArray {
    return array;
  }
  batched(size: number | null): Component {
    return new DatasetComponent(this.element, this.shape === null ? null : [size, ...this.shape]);
  }
  unbatched(): Component {
    return new DatasetComponent(this.element, this.shape === null ? null : this.shape.slice(1));
  }
  merged(other: Component): Component | undefined {
    return other instanceof DatasetComponent ? this : undefined;
  }
  toString(): string {
    return `DatasetSpec(${String(this.element)})`;
  }
}

addComponentKind({
  isComponent: (value) => value instanceof Dataset,
  toTensor: (dataset: Dataset) => ({ tensor: dataset.variant, component: new DatasetComponent(dataset.elementSpec) }),
});
