/** @file The public `tf.train` namespace: only re-exports. */
export { type ClusterLike, ClusterSpec } from '../cluster/clusterSpec.ts';
export { Server, type ServerOptions } from '../cluster/server.ts';
export * from '../front/train.ts';
export * from '../front/training/index.ts';
export {
  checkpointExists,
  getCheckpointState,
  latestCheckpoint,
  listVariables,
  loadVariable,
} from '../io/checkpoints.ts';
