/** @file Queues and readers: the input pipelines of TensorFlow 1.x. */

export {
  type AccumulatorOptions,
  ConditionalAccumulator,
  ConditionalAccumulatorBase,
  SparseConditionalAccumulator,
} from './accumulators.ts';
export { Barrier, type BarrierOptions } from './barrier.ts';
export { type Dequeued, QueueBase, type QueueElements } from './queueBase.ts';
export {
  FIFOQueue,
  PaddingFIFOQueue,
  PriorityQueue,
  type QueueOptions,
  RandomShuffleQueue,
  type RandomShuffleQueueOptions,
} from './queues.ts';
export {
  FixedLengthRecordReader,
  type FixedLengthRecordReaderOptions,
  IdentityReader,
  ReaderBase,
  TextLineReader,
  TFRecordReader,
  type TFRecordReaderOptions,
  WholeFileReader,
  type WorkQueue,
} from './readers.ts';
