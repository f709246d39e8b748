/** @file Batches: elements that come one at a time, joined by a queue, in their order or shuffled. */
import { type DType, float32, int32 } from '../../core/dtypes.ts';
import { type Dims, mergeShapes } from '../../core/shape.ts';
import { IndexedSlices } from '../../graph/indexedSlices.ts';
import { Operation } from '../../graph/operation.ts';
import { byName, onlyOptions, type Placed } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor, convertToTensorOrIndexedSlices } from '../../op/convert.ts';
import { dynamicPartition } from '../../ops/array/dynamicStitch.ts';
import { noOp } from '../../ops/flow/noOp.ts';
import { cast } from '../../ops/math/cast.ts';
import { maximum } from '../../ops/math/maximum.ts';
import { smartCond } from '../controlFlow/cond.ts';
import { scalar as scalarSummary } from '../summary/summaries.ts';
import type { QueueBase } from './queueBase.ts';
import { addQueueRunner, QueueRunner } from './queueRunner.ts';
import { FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue } from './queues.ts';
import { type BatchTensor, restore, type Storage, store, storeAll } from './sparseStorage.ts';

/** What can be batched: dense or sparse. */
export type BatchInput = TensorLike | SparseTensor;
/** Tensors that belong together: a list, or a record. */
export type BatchInputs = readonly BatchInput[] | Readonly<Record<string, BatchInput>>;

/** Batches in the form of what was given: one tensor for a list of one, a list for several, a record for a record. */
export type Batched<T> = T extends readonly unknown[]
  ? number extends T['length']
    ? Tensor[]
    : T extends readonly [infer Only]
      ? BatchedTensor<Only>
      : { -readonly [K in keyof T]: BatchedTensor<T[K]> }
  : { -readonly [K in keyof T]: BatchedTensor<T[K]> };
type BatchedTensor<T> = T extends SparseTensor ? SparseTensor : Tensor;

interface JoinOptions {
  readonly batchSize: TensorLike;
  /** How many elements the queue holds. */
  readonly capacity?: number | undefined;
  /** Whether each tensor is a batch of elements already. */
  readonly enqueueMany?: boolean | undefined;
  /** The shapes of elements, where they are not known from the tensors. */
  readonly shapes?: readonly Dims[] | undefined;
  /** Whether the last batch may be smaller, instead of being left out. */
  readonly allowSmallerFinalBatch?: boolean | undefined;
  readonly sharedName?: string | undefined;
  readonly name?: string | undefined;
}
interface Padded {
  /** Whether elements may differ in size: those of a batch are filled up with zeros. */
  readonly dynamicPad?: boolean | undefined;
}
interface Threaded {
  /** How many tasks fill the queue. */
  readonly numThreads?: number | undefined;
}
interface Shuffled {
  readonly capacity: number;
  /** How many elements stay in the queue to choose from. */
  readonly minAfterDequeue: number;
  readonly seed?: number | null | undefined;
}
export interface BatchOptions extends JoinOptions, Padded, Threaded {}
export interface BatchJoinOptions extends JoinOptions, Padded {}
export interface ShuffleBatchOptions extends JoinOptions, Shuffled, Threaded {
  readonly capacity: number;
}
export interface ShuffleBatchJoinOptions extends JoinOptions, Shuffled {
  readonly capacity: number;
}

const joinNames = [
  'batchSize',
  'capacity',
  'enqueueMany',
  'shapes',
  'allowSmallerFinalBatch',
  'sharedName',
  'name',
] as const;
const shuffleNames = [...joinNames, 'minAfterDequeue', 'seed'] as const;

const isList = (tensors: BatchInputs): tensors is readonly BatchInput[] => Array.isArray(tensors);
/** The tensors in order; those of a record in the order of their names. */
const listOf = (tensors: BatchInputs): readonly BatchInput[] =>
  isList(tensors)
    ? tensors
    : Object.keys(tensors)
        .sort()
        .map((key) => tensors[key]!);

function converted(list: readonly BatchInput[]): BatchTensor[] {
  return list.map((tensor, i) => {
    if (tensor instanceof SparseTensor) return tensor;
    const found = convertToTensorOrIndexedSlices(tensor);
    if (found instanceof IndexedSlices)
      throw userError(`Tensor ${i} is given as indexed slices, which cannot be batched.`);
    return found;
  });
}

function checkedKeep(keepInput: TensorLike, enqueueMany: boolean): Tensor {
  const keep = convertToTensor(keepInput);
  const rank = keep.shape?.length;
  if (rank === undefined) throw userError('`keepInput` dimensions must be known at graph construction.');
  if (!enqueueMany && rank === 1) throw userError('`keepInput` cannot be a vector when `enqueueMany` is false.');
  if (rank > 1) throw userError('`keepInput` must be 0 or 1 dimensions.');
  return keep;
}

function typesOf([first, ...others]: readonly (readonly Tensor[])[]): DType[] {
  const types = first!.map((tensor) => tensor.dtype);
  for (const list of others)
    if (list.map((tensor) => tensor.dtype).join() !== types.join())
      throw userError(
        `Expected types to be consistent: ${types.join(', ')} vs. ${list.map((tensor) => tensor.dtype).join(', ')}.`,
      );
  return types;
}

/** The shapes of elements, from all lists. */
function shapesOf(
  lists: readonly (readonly Tensor[])[],
  given: readonly Dims[] | undefined,
  enqueueMany: boolean,
): Dims[] {
  if (given) return [...given];
  return lists[0]!.map((_, i) => {
    const shapes = lists.map((list) => {
      const { shape } = list[i]!;
      if (shape === null) throw userError(`Cannot infer the rank of ${list[i]}. Set its shape, or give shapes.`);
      if (enqueueMany && shape.length === 0)
        throw userError(`${list[i]} is a scalar; with enqueueMany each tensor has a row per element.`);
      return enqueueMany ? shape.slice(1) : shape;
    });
    // The others must be compatible; elements have the shape of the first.
    for (const shape of shapes) mergeShapes(shapes[0]!, shape);
    return shapes[0]!;
  });
}

/** The element of a list whose row is to be kept, in a batch of elements. */
function selected(tensors: readonly Tensor[], keepInput: Tensor): Tensor[] {
  const which = cast(keepInput, int32);
  return tensors.map((tensor) => dynamicPartition(tensor, which, 2)[1]!);
}

function enqueueOp(
  queue: QueueBase<unknown>,
  tensors: readonly Tensor[],
  enqueueMany: boolean,
  keepInput: Tensor,
): Operation {
  const enqueue = (values: readonly Tensor[]) => (enqueueMany ? queue.enqueueMany(values) : queue.enqueue(values));
  if (keepInput.shape?.length === 1) return enqueue(selected(tensors, keepInput));
  // Either branch is run for what it does; with control flow in the graph the result is the node that chooses.
  const result: unknown = smartCond(
    keepInput,
    () => enqueue(tensors),
    () => noOp(),
  );
  return result instanceof Operation ? result : (result as Tensor).op;
}

interface Made {
  readonly queue: QueueBase<unknown>;
  readonly kept: Storage['kept'];
}

/** Takes batches out, in the form in which the elements were given. */
function dequeued({ queue, kept }: Made, like: BatchInputs, options: JoinOptions, name: string): unknown {
  const found = options.allowSmallerFinalBatch
    ? queue.dequeueUpTo(options.batchSize, { name })
    : queue.dequeueMany(options.batchSize, { name });
  const tensors = restore((Array.isArray(found) ? found : [found]) as Tensor[], kept); // queues here have no names
  if (!isList(like))
    return Object.fromEntries(
      Object.keys(like)
        .sort()
        .map((key, i) => [key, tensors[i]!]),
    );
  return tensors.length === 1 ? tensors[0] : tensors;
}

function fullness(queue: QueueBase<unknown>, capacity: number): void {
  scalarSummary(`fraction_of_${capacity}_full`, cast(queue.size(), float32).mul(1 / capacity));
}

function fullnessOver(queue: QueueBase<unknown>, capacity: number, least: number): void {
  const over = capacity - least;
  const part = cast(maximum(0, queue.size().sub(least)), float32).mul(1 / over);
  scalarSummary(`fraction_over_${least}_of_${over}_full`, part);
}

function plainQueue(
  types: readonly DType[],
  shapes: readonly Dims[],
  options: JoinOptions & Padded,
): QueueBase<unknown> {
  const { capacity = 32, sharedName } = options;
  if (options.dynamicPad) return new PaddingFIFOQueue(capacity, types, shapes, { sharedName });
  return new FIFOQueue(capacity, types, { shapes, sharedName });
}

function shufflingQueue(
  types: readonly DType[],
  shapes: readonly Dims[],
  options: JoinOptions & Shuffled,
): QueueBase<unknown> {
  const { capacity, minAfterDequeue, seed, sharedName } = options;
  return new RandomShuffleQueue(capacity, minAfterDequeue, types, { shapes, sharedName, seed });
}

function checkCapacity({ capacity, minAfterDequeue }: Shuffled): void {
  if (capacity <= minAfterDequeue)
    throw userError(`capacity ${capacity} must be bigger than min_after_dequeue ${minAfterDequeue}.`);
}

type MakeQueue = (types: readonly DType[], shapes: readonly Dims[]) => QueueBase<unknown>;

/** A queue that several tasks fill with the same tensors. */
function ofOne(tensors: BatchInputs, keepInput: TensorLike, options: JoinOptions & Threaded, make: MakeQueue): Made {
  const { enqueueMany = false, numThreads = 1 } = options;
  const list = converted(listOf(tensors));
  if (list.length === 0) throw userError('Expected at least one tensor in batch().');
  const keep = checkedKeep(keepInput, enqueueMany);
  const { tensors: stored, kept } = store(list, enqueueMany, keep);
  const queue = make(typesOf([stored]), shapesOf([stored], options.shapes, enqueueMany));
  const op = enqueueOp(queue, stored, enqueueMany, keep);
  addQueueRunner(new QueueRunner(queue, new Array<Operation>(numThreads).fill(op)));
  return { queue, kept };
}

/** A queue that one task per list fills. */
function ofMany(all: readonly BatchInputs[], keepInput: TensorLike, options: JoinOptions, make: MakeQueue): Made {
  const { enqueueMany = false } = options;
  const lists = all.map((tensors) => converted(listOf(tensors)));
  const keep = checkedKeep(keepInput, enqueueMany);
  const { lists: stored, kept } = storeAll(lists, enqueueMany, keep);
  const queue = make(typesOf(stored), shapesOf(stored, options.shapes, enqueueMany));
  const ops = stored.map((tensors) => enqueueOp(queue, tensors, enqueueMany, keep));
  addQueueRunner(new QueueRunner(queue, ops));
  return { queue, kept };
}

function firstOf(all: readonly BatchInputs[]): BatchInputs {
  const [first, ...others] = all;
  if (!first) throw userError('Expected at least one set of tensors');
  const keys = (tensors: BatchInputs) => (isList(tensors) ? '' : Object.keys(tensors).sort().join());
  if (others.some((tensors) => keys(tensors) !== keys(first)))
    throw userError('All records of a join must have the same keys.');
  return first;
}

/**
 * Batches of elements that come one at a time: a task of `tf.train.startQueueRunners` fills a queue, the result takes out of
 * it.
 *
 * @example const [images, labels] = tf.train.batch([image, label], { batchSize: 32 });
 */
export function batch<const T extends BatchInputs>(
  tensors: T,
  ...given: Placed<BatchOptions, ['batchSize']>
): Batched<T> {
  const options = byName<BatchOptions>('tf.train.batch', given, 'batchSize');
  onlyOptions('tf.train.batch', options, ...joinNames, 'dynamicPad', 'numThreads');
  return maybeBatch(tensors, true, options);
}

/** As `batch`, of those elements for which `keepInput` is true. */
export function maybeBatch<const T extends BatchInputs>(
  tensors: T,
  keepInput: TensorLike,
  options: BatchOptions,
): Batched<T> {
  onlyOptions('tf.train.maybeBatch', options, ...joinNames, 'dynamicPad', 'numThreads');
  return nameScope(options.name ?? 'batch', (name) => {
    const made = ofOne(tensors, keepInput, options, (types, shapes) => plainQueue(types, shapes, options));
    fullness(made.queue, options.capacity ?? 32);
    return dequeued(made, tensors, options, name) as Batched<T>; // in the form of the tensors
  });
}

/** As `batch`, with a task for each list of tensors: batches mix what comes from all. */
export function batchJoin<const T extends BatchInputs>(
  tensorsList: readonly T[],
  ...given: Placed<BatchJoinOptions, ['batchSize']>
): Batched<T> {
  const options = byName<BatchJoinOptions>('tf.train.batchJoin', given, 'batchSize');
  onlyOptions('tf.train.batchJoin', options, ...joinNames, 'dynamicPad');
  return maybeBatchJoin(tensorsList, true, options);
}

/** As `batchJoin`, of those elements for which `keepInput` is true. */
export function maybeBatchJoin<const T extends BatchInputs>(
  tensorsList: readonly T[],
  keepInput: TensorLike,
  options: BatchJoinOptions,
): Batched<T> {
  onlyOptions('tf.train.maybeBatchJoin', options, ...joinNames, 'dynamicPad');
  const first = firstOf(tensorsList);
  return nameScope(options.name ?? 'batch_join', (name) => {
    const made = ofMany(tensorsList, keepInput, options, (types, shapes) => plainQueue(types, shapes, options));
    fullness(made.queue, options.capacity ?? 32);
    return dequeued(made, first, options, name) as Batched<T>; // in the form of the tensors
  });
}

/**
 * Batches of elements in random order, chosen among at least `minAfterDequeue` others.
 *
 * @example tf.train.shuffleBatch([image, label], { batchSize: 32, capacity: 2000, minAfterDequeue: 1000 })
 */
export function shuffleBatch<const T extends BatchInputs>(
  tensors: T,
  ...given: Placed<ShuffleBatchOptions, ['batchSize', 'capacity', 'minAfterDequeue']>
): Batched<T> {
  const options = byName<ShuffleBatchOptions>(
    'tf.train.shuffleBatch',
    given,
    'batchSize',
    'capacity',
    'minAfterDequeue',
  );
  onlyOptions('tf.train.shuffleBatch', options, ...shuffleNames, 'numThreads');
  return maybeShuffleBatch(tensors, true, options);
}

/** As `shuffleBatch`, of those elements for which `keepInput` is true. */
export function maybeShuffleBatch<const T extends BatchInputs>(
  tensors: T,
  keepInput: TensorLike,
  options: ShuffleBatchOptions,
): Batched<T> {
  onlyOptions('tf.train.maybeShuffleBatch', options, ...shuffleNames, 'numThreads');
  return nameScope(options.name ?? 'shuffle_batch', (name) => {
    checkCapacity(options);
    const made = ofOne(tensors, keepInput, options, (types, shapes) => shufflingQueue(types, shapes, options));
    fullnessOver(made.queue, options.capacity, options.minAfterDequeue);
    return dequeued(made, tensors, options, name) as Batched<T>; // in the form of the tensors
  });
}

/** As `shuffleBatch`, with a task for each list of tensors. */
export function shuffleBatchJoin<const T extends BatchInputs>(
  tensorsList: readonly T[],
  ...given: Placed<ShuffleBatchJoinOptions, ['batchSize', 'capacity', 'minAfterDequeue']>
): Batched<T> {
  const owner = 'tf.train.shuffleBatchJoin';
  const options = byName<ShuffleBatchJoinOptions>(owner, given, 'batchSize', 'capacity', 'minAfterDequeue');
  onlyOptions('tf.train.shuffleBatchJoin', options, ...shuffleNames);
  return maybeShuffleBatchJoin(tensorsList, true, options);
}

/** As `shuffleBatchJoin`, of those elements for which `keepInput` is true. */
export function maybeShuffleBatchJoin<const T extends BatchInputs>(
  tensorsList: readonly T[],
  keepInput: TensorLike,
  options: ShuffleBatchJoinOptions,
): Batched<T> {
  onlyOptions('tf.train.maybeShuffleBatchJoin', options, ...shuffleNames);
  const first = firstOf(tensorsList);
  return nameScope(options.name ?? 'shuffle_batch_join', (name) => {
    checkCapacity(options);
    const made = ofMany(tensorsList, keepInput, options, (types, shapes) => shufflingQueue(types, shapes, options));
    fullnessOver(made.queue, options.capacity, options.minAfterDequeue);
    return dequeued(made, first, options, name) as Batched<T>; // in the form of the tensors
  });
}
