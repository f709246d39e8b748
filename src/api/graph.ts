/** @file `tf.graph`: looking at graphs, and editing them. */
export { type Replacement, replace } from '../graph/replace.ts';
export { explain } from '../runtime/explain.ts';
