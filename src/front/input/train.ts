/** @file Names of `tf.train` for input pipelines of queues. */
export {
  type BatchInput,
  type BatchInputs,
  type BatchJoinOptions,
  type BatchOptions,
  batch,
  batchJoin,
  maybeBatch,
  maybeBatchJoin,
  maybeShuffleBatch,
  maybeShuffleBatchJoin,
  type ShuffleBatchJoinOptions,
  type ShuffleBatchOptions,
  shuffleBatch,
  shuffleBatchJoin,
} from './batches.ts';
export {
  type InputProducerOptions,
  inputProducer,
  limitEpochs,
  type ProducerOptions,
  rangeInputProducer,
  sliceInputProducer,
  stringInputProducer,
} from './producers.ts';
export {
  addQueueRunner,
  QueueRunner,
  type QueueRunnerOptions,
  type StartQueueRunnersOptions,
  startQueueRunners,
} from './queueRunner.ts';
