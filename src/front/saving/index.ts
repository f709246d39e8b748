/** @file Names of `tf.train` about stored graphs. */
export {
  importMetaGraph,
  importMetaGraphWithReturnElements,
} from './importMetaGraph.ts';
export { type ExportMetaGraphOptions, exportMetaGraph, type ImportScopedOptions } from './metaGraph.ts';
export type { Saveable, SaveableObject, SaveSpec, VarList } from './saveables.ts';
export { writeGraph } from './writeGraph.ts';
