/** @file Input producers: queues that are filled with the elements of a tensor, epoch after epoch. */
import { type DType, float32, int64, string } from '../../core/dtypes.ts';
import { type Dims, isFullyDefined, mergeShapes, showShape } from '../../core/shape.ts';
import type { IndexedSlices } from '../../graph/indexedSlices.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import { controlDependencies, nameScope } from '../../graph/scopes.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor, convertToTensorOrIndexedSlices } from '../../op/convert.ts';
import { constant } from '../../ops/array/constant.ts';
import { gather } from '../../ops/array/gather.ts';
import { identity } from '../../ops/array/identity.ts';
import { range } from '../../ops/array/range.ts';
import { shape as shapeOf, size } from '../../ops/array/shape.ts';
import { assert } from '../../ops/flow/assert.ts';
import { cast } from '../../ops/math/cast.ts';
import { greater } from '../../ops/math/compare.ts';
import { randomShuffle } from '../../ops/random/shuffle.ts';
import { GraphKeys } from '../collections.ts';
import { scalar as scalarSummary } from '../summary/summaries.ts';
import { Variable } from '../variable.ts';
import { addQueueRunner, QueueRunner } from './queueRunner.ts';
import { FIFOQueue } from './queues.ts';

export interface ProducerOptions {
  /** How often the elements are given before the queue ends with an OutOfRangeError; for ever unless given. */
  readonly numEpochs?: number | undefined;
  /** Whether the elements come in another order in every epoch. They do unless told otherwise. */
  readonly shuffle?: boolean | undefined;
  readonly seed?: number | null | undefined;
  /** How many elements the queue holds: 32 unless given. */
  readonly capacity?: number | undefined;
  readonly sharedName?: string | undefined;
  readonly name?: string | undefined;
  /** Closes the queue when a stop is requested; made unless given. */
  readonly cancelOp?: Operation | undefined;
}
const producerOptions = ['numEpochs', 'shuffle', 'seed', 'capacity', 'sharedName', 'name', 'cancelOp'] as const;

export interface InputProducerOptions extends ProducerOptions {
  /** The shape of an element, where the tensor's shape does not tell. */
  readonly elementShape?: Dims | undefined;
  /** Adds a summary of this name that tells how full the queue is. */
  readonly summaryName?: string | undefined;
}

/**
 * The tensor, so many times; then an OutOfRangeError. Counts in a local variable, so run `tf.localVariablesInitializer()`.
 *
 * @example tf.train.limitEpochs(tf.constant('a'), 2)
 */
export function limitEpochs(tensor: TensorLike, numEpochs?: number, options: { readonly name?: string } = {}): Tensor {
  onlyOptions('tf.train.limitEpochs', options, 'name');
  if (numEpochs === undefined) return convertToTensor(tensor);
  if (numEpochs <= 0) throw userError(`num_epochs must be > 0 not ${numEpochs}.`);
  return nameScope(options.name ?? 'limit_epochs', (scope) => {
    const zero = constant(0, int64);
    const epochs = new Variable(zero, {
      name: 'epochs',
      trainable: false,
      collections: [GraphKeys.LOCAL_VARIABLES],
    });
    const counter = epochs.countUpTo(numEpochs);
    return controlDependencies([counter], () => identity(tensor, { name: scope }));
  });
}

/** A queue of the rows of a tensor, and a runner in the graph that fills it. */
export function inputProducer(inputTensor: TensorLike, options: InputProducerOptions = {}): FIFOQueue<DType> {
  onlyOptions('tf.train.inputProducer', options, ...producerOptions, 'elementShape', 'summaryName');
  const { capacity = 32, name, shuffle = true, seed, sharedName, cancelOp, summaryName } = options;
  return nameScope(name ?? 'input_producer', () => {
    let input = convertToTensor(inputTensor, { name: 'input_tensor' });
    if (input.shape?.length === 0) throw userError('The input is a scalar; a producer gives the rows of a tensor.');
    const elementShape = mergeShapes(input.shape?.slice(1) ?? null, options.elementShape ?? null);
    if (!isFullyDefined(elementShape))
      throw userError(
        `Either the input must have a fully defined shape or elementShape must be specified; elements have ${showShape(elementShape)}.`,
      );
    if (shuffle) input = randomShuffle(input, { seed: seed ?? null });
    input = limitEpochs(input, options.numEpochs);
    const queue = new FIFOQueue(capacity, input.dtype, {
      shapes: [elementShape],
      sharedName,
      name: name ?? 'FIFOQueueV2',
    });
    const enqueue = queue.enqueueMany([input]);
    addQueueRunner(new QueueRunner(queue, [enqueue], { cancelOp }));
    if (summaryName !== undefined) scalarSummary(summaryName, cast(queue.size(), float32).mul(1 / capacity));
    return queue;
  });
}

/**
 * A queue of strings, usually names of files for a reader.
 *
 * @example tf.train.stringInputProducer(['a.csv', 'b.csv'], { numEpochs: 2 })
 */
export function stringInputProducer(strings: TensorLike, options: ProducerOptions = {}): FIFOQueue<DType> {
  onlyOptions('tf.train.stringInputProducer', options, ...producerOptions);
  const emptiness = 'string_input_producer requires a non-null input tensor';
  if (Array.isArray(strings) && strings.length === 0) throw userError(emptiness);
  const { capacity = 32 } = options;
  return nameScope(options.name ?? 'input_producer', (name) => {
    const tensor = convertToTensor(strings, { dtype: string });
    const isGiven = assert(greater(size(tensor), 0), [emptiness]);
    const checked = controlDependencies([isGiven], () => identity(tensor));
    const summaryName = `fraction_of_${capacity}_full`;
    return inputProducer(checked, { ...options, elementShape: [], capacity, name, summaryName });
  });
}

/** A queue of the numbers below `limit`. */
export function rangeInputProducer(limit: TensorLike, options: ProducerOptions = {}): FIFOQueue<DType> {
  onlyOptions('tf.train.rangeInputProducer', options, ...producerOptions);
  const { capacity = 32 } = options;
  return nameScope(options.name ?? 'input_producer', (name) => {
    const numbers = range(limit);
    const summaryName = `fraction_of_${capacity}_full`;
    return inputProducer(numbers, { ...options, elementShape: [], capacity, name, summaryName });
  });
}

/**
 * One row of each tensor, the same of all.
 *
 * @example const [image, label] = tf.train.sliceInputProducer([images, labels], { numEpochs: 1 });
 */
export function sliceInputProducer(
  tensors: readonly (TensorLike | IndexedSlices)[],
  options: Omit<ProducerOptions, 'cancelOp'> = {},
): Tensor[] {
  onlyOptions('tf.train.sliceInputProducer', options, 'numEpochs', 'shuffle', 'seed', 'capacity', 'sharedName', 'name');
  const { name, ...rest } = options;
  return nameScope(name ?? 'input_producer', () => {
    const list = tensors.map((tensor) => convertToTensorOrIndexedSlices(tensor));
    if (list.length === 0) throw userError('Expected at least one tensor in slice_input_producer().');
    const dense = list.map((tensor) => {
      if (tensor instanceof Tensor) return tensor;
      throw userError('sliceInputProducer takes dense tensors.');
    });
    const rows = shapeOf(dense[0]!).slice('0');
    const index = rangeInputProducer(rows, rest).dequeue();
    return dense.map((tensor) => gather(tensor, index));
  });
}
