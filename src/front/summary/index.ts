/** @file `tf.summary`: what a program records about itself, and the files that TensorBoard reads. */
export { FileWriter, FileWriterCache, type FileWriterOptions, type StepLike, type SummaryLike } from './fileWriter.ts';
export { Event, SessionLog, Summary, SummaryDescription, TaggedRunMetadata } from './messages.ts';
export {
  audio,
  getSummaryDescription,
  histogram,
  image,
  type MergeAllOptions,
  type MergeOptions,
  merge,
  mergeAll,
  type OutputsOptions,
  type SummaryOptions,
  scalar,
  type TensorSummaryOptions,
  tensorSummary,
  text,
} from './summaries.ts';
