/** @file Methods of datasets that are functions of `tf.data.experimental` too, as TensorFlow has had them since 1.15. */
import { type DType, int64 } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { SparseTensor } from '../../graph/sparseTensor.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { knownValue } from '../../op/constantValue.ts';
import { convertToTensor } from '../../op/convert.ts';
import { RebatchDatasetV2 } from '../../ops/data/rebatch.ts';
import { type DatasetOptions, truth } from './arguments.ts';
import { type BucketOptions, bucketBySequenceLength } from './bucketing.ts';
import { Dataset, type Inside } from './dataset.ts';
import type { MapOptions } from './elementwise.ts';
import * as experimental from './experimental.ts';
import { denseToRaggedBatch, type RaggedBatchOptions } from './ragged.ts';
import { type ResampleOptions, rejectionResample } from './resampling.ts';
import { denseToSparseBatch } from './sparse.ts';
import { type Arguments, componentsOf, type ElementOf, elementAttrs, mapSpec, type ValueOf } from './spec.ts';

export interface RebatchOptions extends DatasetOptions {
  readonly dropRemainder?: boolean | undefined;
}

declare module './dataset.ts' {
  interface Dataset<E = unknown> {
    /**
     * Gathers elements with the same key (an int64) and makes a dataset of each `windowSize` of them. Adds
     * `GroupByWindowDataset`.
     *
     * @example numbers.groupByWindow((x) => x.mod(2), (_, window) => window.batch(10), { windowSize: 10 })
     */
    groupByWindow<R extends Dataset>(
      keyFunc: (...args: Arguments<E>) => TensorLike,
      reduceFunc: (key: Tensor, window: Dataset<E>) => R,
      options: experimental.GroupByWindowOptions,
    ): Dataset<Inside<R>>;
    /**
     * Batches of elements of similar length, so that little is padded. Adds `GroupByWindowDataset`.
     *
     * @example sentences.bucketBySequenceLength((x) => tf.size(x), [10, 20], [32, 16, 8])
     */
    bucketBySequenceLength(
      elementLengthFunc: (...args: Arguments<E>) => TensorLike,
      bucketBoundaries: readonly number[],
      bucketBatchSizes: readonly number[],
      options?: BucketOptions,
    ): Dataset<E>;
    /**
     * Hands a state from element to element: the function gives the next state and an element. Adds `ScanDataset`.
     *
     * @example numbers.scan(tf.constant(0, { dtype: tf.int64 }), (sum, x) => [sum.add(x), sum])
     */
    scan<const S, R>(
      initialState: S,
      scanFunc: (state: ElementOf<S>, element: E) => readonly [unknown, R],
    ): Dataset<ElementOf<R>>;
    /** The elements before the first of which a function does not give true. Adds `TakeWhileDataset`. */
    takeWhile(predicate: (...args: Arguments<E>) => TensorLike): Dataset<E>;
    /** Each value once. Adds `UniqueDataset`. */
    unique(): Dataset<E>;
    /** Leaves out elements that cannot be made. Adds `IgnoreErrorsDataset`. */
    ignoreErrors(options?: { readonly logWarning?: boolean }): Dataset<E>;
    /** Batches of other sizes, which come in turns where there are several. Adds `MapDataset` and `RebatchDatasetV2`. */
    rebatch(batchSize: TensorLike, options?: RebatchOptions): Dataset<E>;
    /** Batches of elements of different sizes, as sparse tensors. Adds `DenseToSparseBatchDataset`. */
    sparseBatch(
      this: Dataset<Tensor>,
      batchSize: TensorLike,
      rowShape: readonly (number | null)[],
    ): Dataset<SparseTensor>;
    /** Batches of elements of different sizes, as ragged tensors. Adds `MapDataset` and `BatchDatasetV2`. */
    raggedBatch<R = E>(batchSize: TensorLike, options?: RaggedBatchOptions): Dataset<R>;
    /** Leaves out elements so that classes come in the proportions of `targetDist`; gives each beside its class. */
    rejectionResample(
      classFunc: (...args: Arguments<E>) => TensorLike,
      targetDist: TensorLike,
      options?: ResampleOptions,
    ): Dataset<[Tensor, E]>;
    /** The only element. Adds `DatasetToSingleElement`. */
    getSingleElement(): E;
    /** How many elements there are, if that can be told without making them. Adds `DatasetCardinality`. */
    cardinality(): Tensor;
    /** As `map`: there is one kind of functions here. */
    mapWithLegacyFunction<const R>(fn: (...args: Arguments<E>) => R, options?: MapOptions): Dataset<ElementOf<R>>;
    /** As `filter`: there is one kind of functions here. */
    filterWithLegacyFunction(predicate: (...args: Arguments<E>) => TensorLike): Dataset<E>;
    /** The elements as arrays, for `for await`: what the dataset itself gives there. */
    asNumpyIterator(): AsyncIterator<ValueOf<E>>;
  }
  namespace Dataset {
    /** Elements of datasets chosen at random, by weights. As `tf.data.experimental.sampleFromDatasets`. */
    function sampleFromDatasets<E>(datasets: readonly Dataset<E>[], options?: experimental.SampleOptions): Dataset<E>;
    /** Elements of datasets in the order that another dataset gives by number; ends with the first that has no more. */
    function chooseFromDatasets<E>(
      datasets: readonly Dataset<E>[],
      choiceDataset: Dataset<Tensor>,
      options?: experimental.ChooseOptions,
    ): Dataset<E>;
    /** Counts without end. Adds nodes under `counter/`. */
    function counter(start?: TensorLike, step?: TensorLike, options?: { readonly dtype?: DType }): Dataset<Tensor>;
    /** Random int64s without end. Adds `RandomDataset`. */
    function random(options?: experimental.RandomOptions): Dataset<Tensor>;
  }
}

/** The size of all batches, where it is known and none can be smaller. */
function knownSize(dataset: Dataset, sizes: Tensor, dropRemainder: boolean): number | null {
  const given = knownValue(sizes)?.numbers();
  const [size] = given ?? [];
  if (size === undefined || given!.some((other) => other !== size)) return null;
  if (dropRemainder) return size;
  // Batches that are whole multiples leave no remainder.
  const rows = componentsOf(dataset.elementSpec).map(({ shape }) => shape?.[0]);
  return rows.every((count) => count != null && count % size === 0) ? size : null;
}

function rebatch<E>(dataset: Dataset<E>, batchSize: TensorLike, options: RebatchOptions): Dataset<E> {
  const { dropRemainder = false } = onlyOptions('Dataset.rebatch', options, 'dropRemainder', 'name');
  if (componentsOf(dataset.elementSpec).some(({ shape }) => shape?.length === 0))
    throw userError('Dataset.rebatch takes batches, but the elements are scalars; use batch first.');
  const batch_sizes = convertToTensor(batchSize, { dtype: int64, name: 'batch_sizes' });
  const size = knownSize(dataset, batch_sizes, dropRemainder);
  const spec = mapSpec(dataset.elementSpec, (component) => component.unbatched().batched(size));
  const inputs = {
    input_dataset: dataset.variant,
    batch_sizes,
    drop_remainder: truth(dropRemainder, 'drop_remainder'),
  };
  return new Dataset<E>(RebatchDatasetV2.build(inputs, { attrs: elementAttrs(spec) }).handle, spec);
}

/** What functions of any number of arguments take. */
type Tuples = Dataset<readonly unknown[]>;

const methods = {
  groupByWindow(this: Tuples, ...args: Parameters<typeof experimental.groupByWindow>) {
    return this.apply(experimental.groupByWindow(...args));
  },
  bucketBySequenceLength(this: Tuples, ...args: Parameters<typeof bucketBySequenceLength>) {
    return this.apply(bucketBySequenceLength(...args));
  },
  scan(this: Dataset, ...args: Parameters<typeof experimental.scan>) {
    return this.apply(experimental.scan(...args));
  },
  takeWhile(this: Tuples, ...args: Parameters<typeof experimental.takeWhile>) {
    return this.apply(experimental.takeWhile(...args));
  },
  unique(this: Dataset) {
    return this.apply(experimental.unique());
  },
  ignoreErrors(this: Dataset, options?: { readonly logWarning?: boolean }) {
    return this.apply(experimental.ignoreErrors(options));
  },
  rebatch(this: Dataset, batchSize: TensorLike, options: RebatchOptions = {}) {
    return rebatch(this, batchSize, options);
  },
  sparseBatch(this: Dataset<Tensor>, ...args: Parameters<typeof denseToSparseBatch>) {
    return this.apply(denseToSparseBatch(...args));
  },
  raggedBatch(this: Dataset, ...args: Parameters<typeof denseToRaggedBatch>) {
    return this.apply(denseToRaggedBatch(...args));
  },
  rejectionResample(this: Tuples, ...args: Parameters<typeof rejectionResample>) {
    return this.apply(rejectionResample(...args));
  },
  getSingleElement(this: Dataset) {
    return experimental.getSingleElement(this);
  },
  cardinality(this: Dataset) {
    return experimental.cardinality(this);
  },
  mapWithLegacyFunction: Dataset.prototype.map,
  filterWithLegacyFunction: Dataset.prototype.filter,
  asNumpyIterator(this: Dataset) {
    return this[Symbol.asyncIterator]();
  },
};
Object.assign(Dataset.prototype, methods);

Object.assign(Dataset, {
  sampleFromDatasets: experimental.sampleFromDatasets,
  chooseFromDatasets: (
    datasets: readonly Dataset[],
    choices: Dataset<Tensor>,
    options: experimental.ChooseOptions = {},
  ) => experimental.chooseFromDatasets(datasets, choices, { stopOnEmptyDataset: true, ...options }),
  counter: experimental.Counter,
  random: (options?: experimental.RandomOptions) => new experimental.RandomDataset(options),
});
