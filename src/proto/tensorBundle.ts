/** @file Messages of checkpoints: what their index holds. */
import { VersionDef } from './graph.ts';
import { fixed32, int32, int64Number, type MessageType, message, msg, oneof, repeated } from './message.ts';
import { TensorShapeProto } from './tensor.ts';

export const BundleHeaderProto = message('BundleHeaderProto', {
  num_shards: int32(1),
  /** 0 for little-endian. */
  endianness: int32(2),
  version: msg(3, () => VersionDef),
});
export type BundleHeaderProto = MessageType<typeof BundleHeaderProto>;

/** A range along one axis; without a length it is the whole axis. */
export const SliceExtent = message('TensorSliceProto.Extent', {
  start: int64Number(1),
  ...oneof({ length: int64Number(2) }),
});
export type SliceExtent = MessageType<typeof SliceExtent>;

export const TensorSliceProto = message('TensorSliceProto', { extent: repeated(msg(1, () => SliceExtent)) });
export type TensorSliceProto = MessageType<typeof TensorSliceProto>;

export const BundleEntryProto = message('BundleEntryProto', {
  dtype: int32(1),
  shape: msg(2, () => TensorShapeProto),
  shard_id: int32(3),
  offset: int64Number(4),
  size: int64Number(5),
  /** Masked. */
  crc32c: fixed32(6),
  /** The pieces that a partitioned tensor is stored in. */
  slices: repeated(msg(7, () => TensorSliceProto)),
});
export type BundleEntryProto = MessageType<typeof BundleEntryProto>;
