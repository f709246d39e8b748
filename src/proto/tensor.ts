/** @file Messages of tensors: element types, shapes, values, resource handles. */
import {
  bool,
  bytes,
  double,
  enumeration,
  enumField,
  float,
  int32,
  int64,
  int64Number,
  type Message,
  type MessageType,
  message,
  msg,
  optional,
  repeated,
  str,
  uint32,
  uint64,
} from './message.ts';

const baseTypes = {
  DT_FLOAT: 1,
  DT_DOUBLE: 2,
  DT_INT32: 3,
  DT_UINT8: 4,
  DT_INT16: 5,
  DT_INT8: 6,
  DT_STRING: 7,
  DT_COMPLEX64: 8,
  DT_INT64: 9,
  DT_BOOL: 10,
  DT_QINT8: 11,
  DT_QUINT8: 12,
  DT_QINT32: 13,
  DT_BFLOAT16: 14,
  DT_QINT16: 15,
  DT_QUINT16: 16,
  DT_UINT16: 17,
  DT_COMPLEX128: 18,
  DT_HALF: 19,
  DT_RESOURCE: 20,
  DT_VARIANT: 21,
  DT_UINT32: 22,
  DT_UINT64: 23,
  DT_FLOAT8_E5M2: 24,
  DT_FLOAT8_E4M3FN: 25,
  DT_FLOAT8_E4M3FNUZ: 26,
  DT_FLOAT8_E4M3B11FNUZ: 27,
  DT_FLOAT8_E5M2FNUZ: 28,
  DT_INT4: 29,
  DT_UINT4: 30,
  DT_INT2: 31,
  DT_UINT2: 32,
  DT_FLOAT4_E2M1FN: 33,
} as const;

type BaseTypes = typeof baseTypes;
type RefTypes = { readonly [K in keyof BaseTypes as `${K}_REF`]: number };

const refTypes = Object.fromEntries(
  Object.entries(baseTypes).map(([name, number]) => [`${name}_REF`, number + 100]),
) as RefTypes; // built from the keys of baseTypes

/** TensorFlow's element types; a reference to a variable's memory is its type plus 100. */
export const DataType = enumeration('DataType', { DT_INVALID: 0, ...baseTypes, ...refTypes });

/** One dimension; a size of -1 is unknown. */
export const TensorShapeDim = message('TensorShapeProto.Dim', { size: int64Number(1), name: str(2) });
export type TensorShapeDim = MessageType<typeof TensorShapeDim>;

export const TensorShapeProto = message('TensorShapeProto', {
  dim: repeated(msg(2, () => TensorShapeDim)),
  unknown_rank: bool(3),
});
export type TensorShapeProto = MessageType<typeof TensorShapeProto>;

export const DtypeAndShape = message('ResourceHandleProto.DtypeAndShape', {
  dtype: enumField(1, DataType),
  shape: msg(2, () => TensorShapeProto),
});
export type DtypeAndShape = MessageType<typeof DtypeAndShape>;

export const ResourceHandleProto = message('ResourceHandleProto', {
  device: str(1),
  container: str(2),
  name: str(3),
  hash_code: uint64(4),
  maybe_type_name: str(5),
  dtypes_and_shapes: repeated(msg(6, () => DtypeAndShape)),
});
export type ResourceHandleProto = MessageType<typeof ResourceHandleProto>;

/** A tensor's value: either raw bytes in `tensor_content`, or elements in the `*_val` list of its type. */
export interface TensorProto {
  readonly dtype: number;
  readonly tensor_shape?: TensorShapeProto;
  readonly version_number: number;
  readonly tensor_content: Uint8Array;
  readonly float_val: readonly number[];
  readonly double_val: readonly number[];
  readonly int_val: readonly number[];
  readonly string_val: readonly Uint8Array[];
  readonly scomplex_val: readonly number[];
  readonly int64_val: readonly bigint[];
  readonly bool_val: readonly boolean[];
  readonly dcomplex_val: readonly number[];
  readonly half_val: readonly number[];
  readonly resource_handle_val: readonly ResourceHandleProto[];
  readonly variant_val: readonly VariantTensorDataProto[];
  readonly uint32_val: readonly number[];
  readonly uint64_val: readonly bigint[];
  readonly float8_val: Uint8Array;
}

export const TensorProto: Message<TensorProto> = message('TensorProto', {
  dtype: enumField(1, DataType),
  tensor_shape: msg(2, () => TensorShapeProto),
  version_number: int32(3),
  tensor_content: bytes(4),
  float_val: repeated(float(5)),
  double_val: repeated(double(6)),
  int_val: repeated(int32(7)),
  string_val: repeated(bytes(8)),
  scomplex_val: repeated(float(9)),
  int64_val: repeated(int64(10)),
  bool_val: repeated(bool(11)),
  dcomplex_val: repeated(double(12)),
  half_val: repeated(int32(13)),
  resource_handle_val: repeated(msg(14, () => ResourceHandleProto)),
  variant_val: repeated(msg(15, () => VariantTensorDataProto)),
  uint32_val: repeated(uint32(16)),
  uint64_val: repeated(uint64(17)),
  float8_val: bytes(18),
});

/** A variant's type, its own bytes, and the tensors inside it. */
export interface VariantTensorDataProto {
  readonly type_name: string;
  readonly metadata: Uint8Array;
  readonly tensors: readonly TensorProto[];
}

export const VariantTensorDataProto: Message<VariantTensorDataProto> = message('VariantTensorDataProto', {
  type_name: str(1),
  metadata: bytes(2),
  tensors: repeated(msg(3, () => TensorProto)),
});

export const NamedTensorProto = message('NamedTensorProto', { name: str(1), tensor: msg(2, () => TensorProto) });
export type NamedTensorProto = MessageType<typeof NamedTensorProto>;

/** A part of one axis; without a length it is the whole axis. */
export const TensorSliceExtent = message('TensorSliceProto.Extent', {
  start: int64Number(1),
  length: optional(int64Number(2)),
});
export type TensorSliceExtent = MessageType<typeof TensorSliceExtent>;

export const TensorSliceProto = message('TensorSliceProto', { extent: repeated(msg(1, () => TensorSliceExtent)) });
export type TensorSliceProto = MessageType<typeof TensorSliceProto>;
