/** @file Messages of checkpoints: what their index holds. */
import { VersionDef } from './graph.ts';
import {
  enumeration,
  enumField,
  fixed32,
  int32,
  int64Number,
  type MessageType,
  message,
  msg,
  repeated,
} from './message.ts';
import { DataType, TensorShapeProto, TensorSliceProto } from './tensor.ts';

/** How the bytes of numbers are ordered. */
const Endianness = enumeration('BundleHeaderProto.Endianness', { LITTLE: 0, BIG: 1 });

export const BundleHeaderProto = message('BundleHeaderProto', {
  num_shards: int32(1),
  endianness: enumField(2, Endianness),
  version: msg(3, () => VersionDef),
});
export type BundleHeaderProto = MessageType<typeof BundleHeaderProto>;

export const BundleEntryProto = message('BundleEntryProto', {
  dtype: enumField(1, DataType),
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
