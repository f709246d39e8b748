/** @file `tf.graph`: looking at graphs. */
export { explain } from '../runtime/explain.ts';
