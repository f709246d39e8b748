/** @file Names of `tf.train` about stored graphs. */
export {
  importMetaGraph,
  importMetaGraphWithReturnElements,
} from './importMetaGraph.ts';
export { type AssignmentMap, type AssignmentTarget, initFromCheckpoint } from './initFromCheckpoint.ts';
export { type ExportMetaGraphOptions, exportMetaGraph, type ImportScopedOptions } from './metaGraph.ts';
export type { Saveable, SaveableObject, SaveSpec, VarList } from './saveables.ts';
export { VocabInfo, type VocabInfoOptions, type WarmStartOptions, warmStart } from './warmStart.ts';
export { writeGraph } from './writeGraph.ts';
