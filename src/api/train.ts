/** @file The public `tf.train` namespace: only re-exports. */
import '../runtime/sessionFactory.ts';

export { type ClusterLike, ClusterSpec } from '../cluster/clusterSpec.ts';
export { Server, type ServerOptions } from '../cluster/server.ts';
export { matchFilenamesOnce } from '../front/matchFilenamesOnce.ts';
export * from '../front/saving/index.ts';
export * from '../front/train.ts';
export * from '../front/training/index.ts';
export {
  CheckpointReader,
  type ListedVariable,
  listVariables,
  loadCheckpoint,
  loadVariable,
  NewCheckpointReader,
} from '../io/checkpointReader.ts';
export {
  checkpointExists,
  checkpointsIterator,
  type FoundCheckpoints,
  generateCheckpointStateProto,
  getCheckpointMtimes,
  getCheckpointState,
  type LatestFilename,
  latestCheckpoint,
  removeCheckpoint,
  updateCheckpointState,
} from '../io/checkpoints.ts';
export {
  BytesList,
  Example,
  Feature,
  FeatureList,
  FeatureLists,
  Features,
  type FeatureValue,
  FloatList,
  Int64List,
  SequenceExample,
} from '../io/example.ts';
export { SaverDef } from '../proto/metaGraph.ts';
