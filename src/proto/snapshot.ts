/** @file What a saved dataset says of itself, in `snapshot.metadata`. */
import { bool, int32, int64, type MessageType, message, repeated, str } from './message.ts';

export const SnapshotMetadataRecord = message('SnapshotMetadataRecord', {
  graph_hash: str(1),
  /** The folder with the elements. */
  run_id: str(2),
  /** Microseconds. */
  creation_timestamp: int64(3),
  version: int64(4),
  dtype: repeated(int32(5)),
  num_elements: int64(6),
  /** Whether all elements are there. */
  finalized: bool(1000),
});
export type SnapshotMetadataRecord = MessageType<typeof SnapshotMetadataRecord>;
