/** @file makeBatchedFeaturesDataset: files of Examples as batches of parsed features. */
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import type { FeatureMap } from '../../ops/parsing/features.ts';
import type { Parsed } from '../../ops/parsing/parseExample.ts';
import { Dataset } from './dataset.ts';
import { map } from './elementwise.ts';
import { inTurns, TFRecordDataset } from './files.ts';
import { parseExampleDataset } from './parseExamples.ts';
import { componentsOf } from './spec.ts';

// Their other arguments are `readerArgs`, which only they know.
type RecordReader =
  | ((filename: Tensor, ...args: never[]) => Dataset)
  | (new (
      filename: Tensor,
      ...args: never[]
    ) => Dataset);

export interface BatchedFeaturesOptions {
  /**
   * What reads a file, a function or a class of datasets: gives serialized Examples, or pairs of which the second is one;
   * TFRecordDataset unless said.
   */
  readonly reader?: RecordReader | undefined;
  /** What the reader takes after the name of the file. */
  readonly readerArgs?: readonly unknown[] | undefined;
  /** The feature that stands apart from the others. */
  readonly labelKey?: string | undefined;
  /** How often to go through the files; for ever unless said. */
  readonly numEpochs?: number | undefined;
  readonly shuffle?: boolean | undefined;
  readonly shuffleBufferSize?: number | undefined;
  readonly shuffleSeed?: number | undefined;
  readonly prefetchBufferSize?: TensorLike | undefined;
  readonly readerNumThreads?: number | undefined;
  readonly parserNumThreads?: number | undefined;
  /** Whether records may come in any order. */
  readonly sloppyOrdering?: boolean | undefined;
  readonly dropFinalBatch?: boolean | undefined;
}

const optionNames = [
  'reader',
  'readerArgs',
  'labelKey',
  'numEpochs',
  'shuffle',
  'shuffleBufferSize',
  'shuffleSeed',
  'prefetchBufferSize',
  'readerNumThreads',
  'parserNumThreads',
  'sloppyOrdering',
  'dropFinalBatch',
] as const;

/** Batches of features by their names, with a label beside them where one was named. */
export type FeaturesBatch<F extends FeatureMap> = Parsed<F> | readonly [Parsed<F>, unknown];

/**
 * Batches of the features of serialized Examples in files. Adds `LegacyParallelInterleaveDatasetV2`, `ShuffleDataset`,
 * `RepeatDataset`, `BatchDatasetV2`, `ParseExampleDatasetV2` and `PrefetchDataset`.
 *
 * @example tf.data.experimental.makeBatchedFeaturesDataset('train-*', 32, { x: tf.fixedLenFeature([4], tf.float32) })
 */
export function makeBatchedFeaturesDataset<const F extends FeatureMap>(
  filePattern: TensorLike,
  batchSize: TensorLike,
  features: F,
  options: BatchedFeaturesOptions = {},
): Dataset<FeaturesBatch<F>> {
  const given = onlyOptions('makeBatchedFeaturesDataset', options, ...optionNames);
  const { numEpochs, shuffle = true, shuffleBufferSize = 10000, shuffleSeed: seed, labelKey } = given;
  const { readerNumThreads = 1, parserNumThreads = 2, prefetchBufferSize = -1 } = given;
  if (labelKey !== undefined && !(labelKey in features))
    throw userError(`labelKey must be one of the features: ${Object.keys(features).join(', ')}. It is '${labelKey}'.`);
  const { reader = TFRecordDataset } = given;
  const args = (given.readerArgs ?? []) as readonly never[]; // whatever the reader takes
  const read = (filename: Tensor): Dataset =>
    isClass(reader) ? new reader(filename, ...args) : reader(filename, ...args);
  const files = Dataset.listFiles(filePattern, { shuffle, seed });
  let records = inTurns(files, read, readerNumThreads, given.sloppyOrdering ?? false);
  if (componentsOf(records.elementSpec).length === 2)
    records = map(records, (_: never, value: never) => value, {}, { useInterOpParallelism: false });
  if (shuffle) records = records.shuffle(shuffleBufferSize, { seed });
  if (numEpochs !== 1) records = records.repeat(numEpochs ?? -1);
  const dropRemainder = given.dropFinalBatch === true || numEpochs === undefined;
  const batches = records.batch(batchSize, { dropRemainder }) as Dataset<Tensor>; // of serialized Examples
  let parsed: Dataset = batches.apply(parseExampleDataset(features, { numParallelCalls: parserNumThreads }));
  if (labelKey !== undefined) {
    const apart = ({ [labelKey]: label, ...others }: Record<string, unknown>) => [others, label] as const;
    parsed = map(parsed, apart as (...args: never[]) => unknown, {}); // it takes a record of features
  }
  return parsed.prefetch(prefetchBufferSize) as Dataset<FeaturesBatch<F>>; // a component for each feature
}

const isClass = (reader: RecordReader): reader is Extract<RecordReader, new (...args: never[]) => Dataset> =>
  reader.prototype instanceof Dataset;
