/** @file tf.data.experimental: transformations for `dataset.apply`, and other sources of elements. */

export {
  type BatchedFeaturesOptions,
  type FeaturesBatch,
  makeBatchedFeaturesDataset,
} from '../front/data/batchedFeatures.ts';
export { type BucketOptions, bucketBySequenceLength } from '../front/data/bucketing.ts';
export { CsvDataset, type CsvOptions } from '../front/data/csv.ts';
export * from '../front/data/experimental.ts';
export { type CsvBatch, type MakeCsvOptions, makeCsvDataset } from '../front/data/makeCsv.ts';
export { getNextAsOptional, Optional } from '../front/data/optional.ts';
export {
  AutoShardPolicy,
  AutotuneOptions,
  DistributeOptions,
  ExternalStatePolicy,
  OptimizationOptions,
  ThreadingOptions,
} from '../front/data/options.ts';
export { parseExampleDataset } from '../front/data/parseExamples.ts';
export { denseToRaggedBatch, type RaggedBatchOptions } from '../front/data/ragged.ts';
export { type ResampleOptions, rejectionResample } from '../front/data/resampling.ts';
export { makeSaveableFromIterator } from '../front/data/saveable.ts';
export { denseToSparseBatch } from '../front/data/sparse.ts';
export { TFRecordWriter } from '../front/data/storing.ts';
export {
  DatasetInitializer,
  indexTableFromDataset,
  type TableFromDatasetOptions,
  tableFromDataset,
} from '../front/data/tables.ts';
