/** @file tf.data.Dataset: elements described by a graph, transformed, and taken one by one by iterators. */
import { bool, type DType, int64, variant } from '../../core/dtypes.ts';
import type { NDArray } from '../../core/ndarray.ts';
import type { Dims } from '../../core/shape.ts';
import { colocateWith, type Graph } from '../../graph/graph.ts';
import { onlyOptions } from '../../graph/options.ts';
import { sessionFor } from '../../graph/runner.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { BatchDatasetV2, ParallelBatchDataset } from '../../ops/data/batch.ts';
import { IteratorV2, MakeIterator, OneShotIterator } from '../../ops/data/iteratorOps.ts';
import { FilterDataset, MapDataset, ParallelMapDatasetV2 } from '../../ops/data/map.ts';
import { RangeDataset, TensorDataset, TensorSliceDataset } from '../../ops/data/sources.ts';
import {
  batchSizeOf,
  choice,
  type DatasetOptions,
  isOptions,
  metadataOf,
  number,
  truth,
  valuesUntilEnd,
} from './arguments.ts';
import { factoryOf } from './byValue.ts';
import { traceFunction } from './functions.ts';
import { Iterator } from './iterator.ts';
import {
  type Arguments,
  addComponentKind,
  type Component,
  componentsOf,
  type ElementOf,
  type ElementSpec,
  elementAttrs,
  type IsDataset,
  legacy,
  mapSpec,
  normalizeElement,
  TensorComponent,
  type ValueOf,
} from './spec.ts';

export interface RangeOptions extends DatasetOptions {
  readonly outputType?: DType | undefined;
}

export interface MapOptions extends DatasetOptions {
  /** How many calls may be under way at once; -1 leaves it to the runtime. */
  readonly numParallelCalls?: TensorLike | undefined;
  /** False allows results in another order than the elements'. */
  readonly deterministic?: boolean | undefined;
}

export interface BatchOptions extends MapOptions {
  /** Whether a last batch that is too small is left out. */
  readonly dropRemainder?: TensorLike | undefined;
}

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

  /** The attributes of an op that makes elements like these. */
  private attrs(method: string, options: DatasetOptions, spec: ElementSpec = this.elementSpec) {
    return { ...elementAttrs(spec), metadata: metadataOf(method, options) };
  }

  /**
   * The results of a function of each element; the parts of a tuple are its arguments. With `numParallelCalls` several calls
   * are under way at once. Adds `MapDataset`, or `ParallelMapDatasetV2`.
   *
   * @example for await (const x of tf.data.Dataset.range(3).map((x) => x.mul(10))) console.log(x); // 0, then 10, then 20
   */
  map<const R>(fn: (...args: Arguments<E>) => R, options: MapOptions = {}): Dataset<ElementOf<R>> {
    const { numParallelCalls, deterministic } = onlyOptions(
      'Dataset.map',
      options,
      'numParallelCalls',
      'deterministic',
      'name',
    );
    const { f, captured, spec } = traceFunction(fn, { transformation: 'Dataset_map', args: [this.elementSpec] });
    const inputs = { input_dataset: this.variant, other_arguments: captured };
    const attrs = { f, ...this.attrs('map', { name: options.name }, spec) };
    if (numParallelCalls === undefined)
      return new Dataset<ElementOf<R>>(MapDataset.build(inputs, { attrs }).handle, spec);
    const num_parallel_calls = number(numParallelCalls, 'num_parallel_calls');
    const more = { ...attrs, deterministic: choice(deterministic) };
    return new Dataset<ElementOf<R>>(
      ParallelMapDatasetV2.build({ ...inputs, num_parallel_calls }, { attrs: more }).handle,
      spec,
    );
  }

  /**
   * The elements of which a function gives true. Adds `FilterDataset`.
   *
   * @example for await (const x of tf.data.Dataset.range(4).filter((x) => x.greater(1))) console.log(x); // 2, then 3
   */
  filter(predicate: (...args: Arguments<E>) => TensorLike, options: DatasetOptions = {}): Dataset<E> {
    const traced = traceFunction(predicate, { transformation: 'Dataset_filter', args: [this.elementSpec] });
    const [result] = componentsOf(traced.spec);
    if (
      componentsOf(traced.spec).length !== 1 ||
      result!.dtype !== bool ||
      (result!.shape !== null && result!.shape.length > 0)
    )
      throw userError(
        `Invalid predicate. The predicate of Dataset.filter must return one scalar bool tensor, but its return type is ${String(traced.spec)}.`,
      );
    const inputs = { input_dataset: this.variant, other_arguments: traced.captured };
    const attrs = { predicate: traced.f, ...this.attrs('filter', options) };
    return new Dataset<E>(FilterDataset.build(inputs, { attrs }).handle, this.elementSpec);
  }

  /**
   * Consecutive elements stacked; the last batch may be smaller unless `dropRemainder`. Adds `BatchDatasetV2`.
   *
   * @example for await (const x of tf.data.Dataset.range(3).batch(2)) console.log(x); // [0 1], then [2]
   */
  batch(batchSize: TensorLike, options: BatchOptions = {}): Dataset<E> {
    const {
      dropRemainder = false,
      numParallelCalls,
      deterministic,
      name,
    } = onlyOptions('Dataset.batch', options, 'dropRemainder', 'numParallelCalls', 'deterministic', 'name');
    const inputs = {
      input_dataset: this.variant,
      batch_size: number(batchSize, 'batch_size'),
      drop_remainder: truth(dropRemainder, 'drop_remainder'),
    };
    const parallel =
      numParallelCalls === undefined
        ? undefined
        : { num_parallel_calls: number(numParallelCalls, 'num_parallel_calls') };
    const size = batchSizeOf(inputs);
    const spec = mapSpec(this.elementSpec, (component) => component.batched(size));
    const attrs = this.attrs('batch', { name }, spec);
    if (!parallel) return new Dataset<E>(BatchDatasetV2.build(inputs, { attrs }).handle, spec);
    const more = { ...attrs, deterministic: choice(deterministic) };
    return new Dataset<E>(ParallelBatchDataset.build({ ...inputs, ...parallel }, { attrs: more }).handle, spec);
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
    try {
      const iterator = this.graph.asDefault(() => this.makeInitializableIterator());
      const next = this.graph.asDefault(() => iterator.getNext());
      await runner.run(iterator.initializer);
      yield* valuesUntilEnd<ValueOf<E>>(runner, this.elementSpec, next);
    } finally {
      close();
    }
  }

  get graph(): Graph {
    return this.variant.graph;
  }

  /** The types, shapes and classes of the components of elements, in their structure. */
  get outputTypes(): unknown {
    return legacy(this.elementSpec, 'dtype');
  }
  get outputShapes(): unknown {
    return legacy(this.elementSpec, 'shape');
  }
  get outputClasses(): unknown {
    return legacy(this.elementSpec, 'kind');
  }

  toString(): string {
    return `<Dataset '${this.variant.op.name}'>`;
  }
}

/** Refuses components with different numbers of rows, where those are known. */
function checkRows(components: readonly Tensor[]): void {
  const counts = components.map((t) => t.shape?.[0] ?? null).filter((n) => n !== null);
  if (new Set(counts).size > 1)
    throw userError(`Dataset.fromTensorSlices: the components have different numbers of rows: ${counts.join(', ')}.`);
}

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
