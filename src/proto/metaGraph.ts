/** @file Messages of saved graphs: MetaGraphDef with its collections, signatures and saver; SavedModel; variables. */
import { GraphDef } from './graph.ts';
import {
  bool,
  bytes,
  enumeration,
  enumField,
  float,
  int32,
  int64,
  int64Number,
  type MessageType,
  map,
  message,
  msg,
  oneof,
  repeated,
  str,
} from './message.ts';
import { OpList } from './opDef.ts';
import { DataType, TensorProto, TensorShapeProto } from './tensor.ts';

/** A message of any type, by the address of its type. */
export const AnyProto = message('google.protobuf.Any', { type_url: str(1), value: bytes(2) });
export type AnyProto = MessageType<typeof AnyProto>;

export const CheckpointFormatVersion = enumeration('SaverDef.CheckpointFormatVersion', { LEGACY: 0, V1: 1, V2: 2 });

export const SaverDef = message('SaverDef', {
  filename_tensor_name: str(1),
  save_tensor_name: str(2),
  restore_op_name: str(3),
  max_to_keep: int32(4),
  sharded: bool(5),
  keep_checkpoint_every_n_hours: float(6),
  version: enumField(7, CheckpointFormatVersion),
});
export type SaverDef = MessageType<typeof SaverDef>;

export const NodeList = message('CollectionDef.NodeList', { value: repeated(str(1)) });
export type NodeList = MessageType<typeof NodeList>;

export const CollectionBytesList = message('CollectionDef.BytesList', { value: repeated(bytes(1)) });
export type CollectionBytesList = MessageType<typeof CollectionBytesList>;

export const CollectionInt64List = message('CollectionDef.Int64List', { value: repeated(int64(1)) });
export type CollectionInt64List = MessageType<typeof CollectionInt64List>;

export const CollectionFloatList = message('CollectionDef.FloatList', { value: repeated(float(1)) });
export type CollectionFloatList = MessageType<typeof CollectionFloatList>;

export const AnyList = message('CollectionDef.AnyList', { value: repeated(msg(1, () => AnyProto)) });
export type AnyList = MessageType<typeof AnyList>;

export const CollectionDef = message('CollectionDef', {
  ...oneof({
    node_list: msg(1, () => NodeList),
    bytes_list: msg(2, () => CollectionBytesList),
    int64_list: msg(3, () => CollectionInt64List),
    float_list: msg(4, () => CollectionFloatList),
    any_list: msg(5, () => AnyList),
  }),
});
export type CollectionDef = MessageType<typeof CollectionDef>;

export const CooSparse = message('TensorInfo.CooSparse', {
  values_tensor_name: str(1),
  indices_tensor_name: str(2),
  dense_shape_tensor_name: str(3),
});
export type CooSparse = MessageType<typeof CooSparse>;

export const TensorInfo = message('TensorInfo', {
  dtype: enumField(2, DataType),
  tensor_shape: msg(3, () => TensorShapeProto),
  ...oneof({ name: str(1), coo_sparse: msg(4, () => CooSparse) }),
});
export type TensorInfo = MessageType<typeof TensorInfo>;

export const SignatureDef = message('SignatureDef', {
  inputs: map(1, () => TensorInfo),
  outputs: map(2, () => TensorInfo),
  method_name: str(3),
  defaults: map(4, () => TensorProto),
});
export type SignatureDef = MessageType<typeof SignatureDef>;

export const AssetFileDef = message('AssetFileDef', { tensor_info: msg(1, () => TensorInfo), filename: str(2) });
export type AssetFileDef = MessageType<typeof AssetFileDef>;

export const MetaInfoDef = message('MetaGraphDef.MetaInfoDef', {
  meta_graph_version: str(1),
  stripped_op_list: msg(2, () => OpList),
  any_info: msg(3, () => AnyProto),
  tags: repeated(str(4)),
  tensorflow_version: str(5),
  tensorflow_git_version: str(6),
  stripped_default_attrs: bool(7),
  function_aliases: map(8, str(2)),
});
export type MetaInfoDef = MessageType<typeof MetaInfoDef>;

export const MetaGraphDef = message('MetaGraphDef', {
  meta_info_def: msg(1, () => MetaInfoDef),
  graph_def: msg(2, () => GraphDef),
  saver_def: msg(3, () => SaverDef),
  collection_def: map(4, () => CollectionDef),
  signature_def: map(5, () => SignatureDef),
  asset_file_def: repeated(msg(6, () => AssetFileDef)),
});
export type MetaGraphDef = MessageType<typeof MetaGraphDef>;

export const SavedModel = message('SavedModel', {
  saved_model_schema_version: int64Number(1),
  meta_graphs: repeated(msg(2, () => MetaGraphDef)),
});
export type SavedModel = MessageType<typeof SavedModel>;

export const SaveSliceInfoDef = message('SaveSliceInfoDef', {
  full_name: str(1),
  full_shape: repeated(int64Number(2)),
  var_offset: repeated(int64Number(3)),
  var_shape: repeated(int64Number(4)),
});
export type SaveSliceInfoDef = MessageType<typeof SaveSliceInfoDef>;

export const VariableSynchronization = enumeration('VariableSynchronization', {
  VARIABLE_SYNCHRONIZATION_AUTO: 0,
  VARIABLE_SYNCHRONIZATION_NONE: 1,
  VARIABLE_SYNCHRONIZATION_ON_WRITE: 2,
  VARIABLE_SYNCHRONIZATION_ON_READ: 3,
});

export const VariableAggregation = enumeration('VariableAggregation', {
  VARIABLE_AGGREGATION_NONE: 0,
  VARIABLE_AGGREGATION_SUM: 1,
  VARIABLE_AGGREGATION_MEAN: 2,
  VARIABLE_AGGREGATION_ONLY_FIRST_REPLICA: 3,
});

export const VariableDef = message('VariableDef', {
  variable_name: str(1),
  initializer_name: str(2),
  snapshot_name: str(3),
  save_slice_info_def: msg(4, () => SaveSliceInfoDef),
  is_resource: bool(5),
  initial_value_name: str(6),
  trainable: bool(7),
  synchronization: enumField(8, VariableSynchronization),
  aggregation: enumField(9, VariableAggregation),
});
export type VariableDef = MessageType<typeof VariableDef>;
