/** @file What a saved dataset says of itself, in `snapshot.metadata`. */
import { bool, enumField, int64, type MessageType, message, repeated, str } from './message.ts';
import { DataType } from './tensor.ts';

export const SnapshotMetadataRecord = message('data.experimental.SnapshotMetadataRecord', {
  graph_hash: str(1),
  /** The folder with the elements. */
  run_id: str(2),
  /** Microseconds. */
  creation_timestamp: int64(3),
  version: int64(4),
  dtype: repeated(enumField(5, DataType)),
  num_elements: int64(6),
  /** Whether all elements are there. */
  finalized: bool(1000),
});
export type SnapshotMetadataRecord = MessageType<typeof SnapshotMetadataRecord>;
