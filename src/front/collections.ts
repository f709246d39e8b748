/** @file Collections of the default graph: the well-known names and the functions that look into them. */
import { getDefaultGraph } from '../graph/graph.ts';

/** The names under which the library keeps things in collections. */
export const GraphKeys = {
  GLOBAL_VARIABLES: 'variables',
  /** The old name of `GLOBAL_VARIABLES`. */
  VARIABLES: 'variables',
  LOCAL_VARIABLES: 'local_variables',
  METRIC_VARIABLES: 'metric_variables',
  MODEL_VARIABLES: 'model_variables',
  TRAINABLE_VARIABLES: 'trainable_variables',
  SUMMARIES: 'summaries',
  QUEUE_RUNNERS: 'queue_runners',
  TABLE_INITIALIZERS: 'table_initializer',
  ASSET_FILEPATHS: 'asset_filepaths',
  MOVING_AVERAGE_VARIABLES: 'moving_average_variables',
  REGULARIZATION_LOSSES: 'regularization_losses',
  CONCATENATED_VARIABLES: 'concatenated_variables',
  SAVERS: 'savers',
  WEIGHTS: 'weights',
  BIASES: 'biases',
  ACTIVATIONS: 'activations',
  UPDATE_OPS: 'update_ops',
  LOSSES: 'losses',
  SAVEABLE_OBJECTS: 'saveable_objects',
  RESOURCES: 'resources',
  LOCAL_RESOURCES: 'local_resources',
  TRAINABLE_RESOURCE_VARIABLES: 'trainable_resource_variables',
  INIT_OP: 'init_op',
  LOCAL_INIT_OP: 'local_init_op',
  READY_OP: 'ready_op',
  READY_FOR_LOCAL_INIT_OP: 'ready_for_local_init_op',
  SUMMARY_OP: 'summary_op',
  GLOBAL_STEP: 'global_step',
  EVAL_STEP: 'eval_step',
  TRAIN_OP: 'train_op',
  COND_CONTEXT: 'cond_context',
  WHILE_CONTEXT: 'while_context',
} as const;

/** Adds a value to a collection of the default graph. */
export function addToCollection(name: string, value: unknown): void {
  getDefaultGraph().addToCollection(name, value);
}

/** Adds a value to several collections of the default graph. */
export function addToCollections(names: string | readonly string[], value: unknown): void {
  getDefaultGraph().addToCollections(typeof names === 'string' ? [names] : names, value);
}

/**
 * A copy of a collection of the default graph. With `scope`, only items whose name begins with a match of it.
 *
 * @example tf.getCollection(tf.GraphKeys.TRAINABLE_VARIABLES, 'layer1/')
 */
export function getCollection<T = unknown>(name: string, scope?: string): T[] {
  return getDefaultGraph().getCollection(name, scope) as T[]; // the caller knows what it keeps there
}

/** The live list behind a collection of the default graph. */
export function getCollectionRef<T = unknown>(name: string): T[] {
  return getDefaultGraph().getCollectionRef(name) as T[]; // the caller knows what it keeps there
}
