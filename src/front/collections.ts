/** @file Collections of the default graph: the well-known names and the functions that look into them. */
import { getDefaultGraph, type ScopeArgument } from '../graph/graph.ts';
import type { Operation } from '../graph/operation.ts';
import type { Tensor } from '../graph/tensor.ts';
import type { Variable } from './variable.ts';

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

/** What the library itself keeps in collections. */
interface Collected {
  readonly [GraphKeys.GLOBAL_VARIABLES]: Variable;
  readonly [GraphKeys.LOCAL_VARIABLES]: Variable;
  readonly [GraphKeys.METRIC_VARIABLES]: Variable;
  readonly [GraphKeys.MODEL_VARIABLES]: Variable;
  readonly [GraphKeys.TRAINABLE_VARIABLES]: Variable;
  readonly [GraphKeys.MOVING_AVERAGE_VARIABLES]: Variable;
  readonly [GraphKeys.SUMMARIES]: Tensor;
  readonly [GraphKeys.LOSSES]: Tensor;
  readonly [GraphKeys.REGULARIZATION_LOSSES]: Tensor;
  readonly [GraphKeys.UPDATE_OPS]: Operation | Tensor;
}

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
export function getCollection<K extends keyof Collected>(name: K, scope?: ScopeArgument): Collected[K][];
export function getCollection<T = unknown>(name: string, scope?: ScopeArgument): T[];
export function getCollection(name: string, scope?: ScopeArgument): unknown[] {
  return getDefaultGraph().getCollection(name, scope);
}

/** The live list behind a collection of the default graph. */
export function getCollectionRef<T = unknown>(name: string): T[] {
  return getDefaultGraph().getCollectionRef(name) as T[]; // the caller knows what it keeps there
}
