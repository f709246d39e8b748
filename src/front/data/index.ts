/** @file tf.data: datasets and iterators. */
import './methods.ts';

export type { DatasetOptions } from './arguments.ts';
export type { ShuffleOptions, WindowOptions } from './arranging.ts';
export type { BatchOptions, PaddedBatchOptions } from './batching.ts';
export {
  Dataset,
  type EnumerateOptions,
  type Inside,
  type RangeOptions,
  type Windows,
  type Zipped,
} from './dataset.ts';
export type { InterleaveOptions, MapOptions } from './elementwise.ts';
export { AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY } from './experimental.ts';
export {
  type FilesOptions,
  type FixedLengthOptions,
  FixedLengthRecordDataset,
  TextLineDataset,
  TFRecordDataset,
} from './files.ts';
export {
  getOutputClasses,
  getOutputShapes,
  getOutputTypes,
  makeInitializableIterator,
  makeOneShotIterator,
} from './functionsOfDatasets.ts';
export type { GeneratorOptions } from './generators.ts';
export { Iterator, type StructureOptions } from './iterator.ts';
export type { ListFilesOptions } from './listFiles.ts';
export type { RebatchOptions } from './methods.ts';
export { Options, ThreadingOptions } from './options.ts';
export type { Arguments, ElementOf, ElementSpec, ValueOf } from './spec.ts';
export type { LoadOptions, ReaderFunction, SaveOptions, SnapshotOptions } from './storing.ts';
