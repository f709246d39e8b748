/** @file NDArray to TensorProto and back, in the two flavours TensorFlow writes, and in all that it reads. */
import {
  bool,
  complex64,
  complex128,
  type DType,
  dtypeFromNumber,
  resource,
  string,
  type TypedArray,
  uint16,
  variant,
} from '../core/dtypes.ts';
import { InvalidArgumentError, ResourceExhaustedError } from '../core/errors.ts';
import { NDArray } from '../core/ndarray.ts';
import { type Dims, type Shape, showShape, sizeOf } from '../core/shape.ts';
import type { Init } from './message.ts';
import { decodeStringList, encodeStringList } from './stringList.ts';
import { DataType, ResourceHandleProto, TensorProto, type TensorShapeProto, VariantTensorDataProto } from './tensor.ts';

/** A message may claim any shape; no value of more elements than this is made of it. */
const maxElements = 2 ** 31;
/** Object arrays cost far more per element than numbers, and a claimed size is not yet a reason to spend that. */
const maxObjects = 2 ** 26;
/** Contents from this size on are not copied when they can be used where they are. */
const shareFrom = 4096;

/** The types that Python's constants never write as raw bytes. */
const listedTypes: ReadonlySet<DType> = new Set<DType>([
  bool,
  uint16,
  complex64,
  complex128,
  string,
  resource,
  variant,
]);

/** A static shape as a message; `null` is unknown. */
export function shapeToProto(dims: Dims): TensorShapeProto {
  if (dims === null) return { dim: [], unknown_rank: true };
  return { dim: dims.map((size) => ({ size: size ?? -1, name: '' })), unknown_rank: false };
}

/** The static shape in a message; a missing message is a scalar, as in a TensorProto without a shape. */
export function shapeFromProto(proto: TensorShapeProto | undefined): Dims {
  if (proto === undefined) return [];
  if (proto.unknown_rank) return null;
  return proto.dim.map(({ size }) => {
    if (size < -1) throw new InvalidArgumentError(`a shape has the size ${size}; sizes are -1 (unknown) or more`);
    return size === -1 ? null : size;
  });
}

/** The dtype of a `DataType` number; a reference type gives its base type. */
export function dtypeFromProto(number: number): DType {
  const dtype = dtypeFromNumber(number);
  if (dtype) return dtype;
  throw new InvalidArgumentError(`the element type ${DataType.names.get(number) ?? number} is not supported`);
}

/** The value in a message. Large contents share memory with the message when their alignment allows. */
export function tensorFromProto(proto: TensorProto): NDArray {
  const dtype = dtypeFromProto(proto.dtype);
  const shape = checkedShape(proto);
  const count = sizeOf(shape);
  if (dtype.isObject) return new NDArray(dtype, shape, objectsOf(proto, dtype, count));
  if (proto.tensor_content.length > 0) return new NDArray(dtype, shape, fromContent(proto, dtype, shape, count));
  const values = valuesOf(proto, dtype);
  const data = allocate(dtype, shape, count);
  fill(dtype, data, values);
  return new NDArray(dtype, shape, data);
}

function checkedShape(proto: TensorProto): Shape {
  const dims = proto.tensor_shape?.unknown_rank ? null : (proto.tensor_shape?.dim ?? []).map((d) => d.size);
  if (dims === null) throw new InvalidArgumentError('a TensorProto must have a known shape, but its rank is unknown');
  let count = 1;
  for (const size of dims) {
    if (size < 0)
      throw new InvalidArgumentError(
        `a TensorProto must have a known shape, but ${showShape(dims)} has the size ${size}`,
      );
    count *= size;
  }
  // Infinity times zero is no number, so sizes that overflow are caught even when another is zero.
  if (!(count <= maxElements) || dims.some((size) => size > maxElements))
    throw new InvalidArgumentError(`a TensorProto of shape ${showShape(dims)} has more than 2^31 elements`);
  return dims;
}

function allocate(dtype: DType, shape: Shape, count: number): TypedArray {
  try {
    return dtype.allocate(count);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ResourceExhaustedError(
      `there is no memory for a ${dtype} tensor of shape ${showShape(shape)} (${((count * dtype.size) / 2 ** 30).toFixed(1)} GiB)`,
      { cause: error },
    );
  }
}

function fromContent(proto: TensorProto, dtype: DType, shape: Shape, count: number): TypedArray {
  const content = proto.tensor_content;
  if (content.length !== count * dtype.size)
    throw new InvalidArgumentError(
      `a ${dtype} TensorProto of shape ${showShape(shape)} needs ${count * dtype.size} bytes of tensor_content, but has ${content.length}`,
    );
  const entrySize = dtype.size / dtype.entries;
  const share = content.length >= shareFrom && content.byteOffset % entrySize === 0;
  const { buffer, byteOffset } = share ? content : content.slice();
  const data = dtype.over(buffer, byteOffset, count);
  return dtype === bool ? normalizeBools(data) : data;
}

/** Booleans are 0 or 1 in memory; a byte from outside may be anything. */
function normalizeBools(data: TypedArray): TypedArray {
  return data.some((x) => x !== 0 && x !== 1) ? Uint8Array.from(data as Uint8Array, (x) => (x ? 1 : 0)) : data; // bools are stored as bytes
}

/** The `*_val` list in which values of a dtype are kept. */
function valuesOf(proto: TensorProto, dtype: DType): readonly (number | bigint | boolean)[] {
  switch (dtype.storage) {
    case 'f16':
    case 'bf16':
      return proto.half_val;
    case 'f32':
      return proto.float_val;
    case 'f64':
      return proto.double_val;
    case 'c64':
      return proto.scomplex_val;
    case 'c128':
      return proto.dcomplex_val;
    case 'i64':
      return proto.int64_val;
    case 'u64':
      return proto.uint64_val;
    case 'u32':
      return proto.uint32_val;
    default:
      return dtype === bool ? proto.bool_val : proto.int_val;
  }
}

/**
 * TensorFlow's rule: too few values mean that the last one repeats, none that all are zero; extra ones are ignored.
 * Complex values are pairs, and a pair repeats as one.
 */
function fill(dtype: DType, data: TypedArray, values: readonly (number | bigint | boolean)[]): void {
  const { entries } = dtype;
  const given = Math.min(values.length - (values.length % entries), data.length);
  if (given === 0) return;
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) {
    for (let i = 0; i < given; i++) data[i] = BigInt(values[i]!);
    if (data[given - 1] !== 0n) data.fill(data[given - 1]!, given);
    return;
  }
  for (let i = 0; i < given; i++) data[i] = Number(values[i]);
  if (entries > 1) for (let i = given; i < data.length; i++) data[i] = data[i - entries]!;
  // New memory is zeros already, and costs nothing until it is touched. (Minus zero is not.)
  else if (!Object.is(data[given - 1], 0)) data.fill(data[given - 1]!, given);
}

function objectsOf(proto: TensorProto, dtype: DType, count: number): readonly object[] {
  if (count > maxObjects)
    throw new ResourceExhaustedError(`a TensorProto claims ${count} ${dtype} elements; the most is ${maxObjects}`);
  if (proto.tensor_content.length > 0) {
    const parts = decodeStringList(proto.tensor_content, count, dtype.name);
    if (dtype === string) return parts;
    return parts.map((part) =>
      dtype === resource ? ResourceHandleProto.decode(part) : VariantTensorDataProto.decode(part),
    );
  }
  if (dtype === string) return repeatLast(proto.string_val, count, new Uint8Array(0));
  if (dtype === resource) return repeatLast(proto.resource_handle_val, count, ResourceHandleProto.create());
  return repeatLast(proto.variant_val, count, VariantTensorDataProto.create());
}

function repeatLast<T>(values: readonly T[], count: number, zero: T): readonly T[] {
  if (values.length === count) return values;
  const last = values.at(-1) ?? zero;
  return Array.from({ length: count }, (_, i) => values[i] ?? last);
}

/** The flavour of the wire, as servers and clients send it: always raw bytes, without a copy of the array's memory. */
export function tensorToProto(array: NDArray): TensorProto {
  if (array.dtype === string)
    return protoOf(array.dtype, array.shape, { tensor_content: encodeStringList(bytesOf(array)) });
  if (array.dtype.isObject) return protoOf(array.dtype, array.shape, listOf(array));
  return protoOf(array.dtype, array.shape, { tensor_content: array.bytes });
}

/**
 * The flavour of Python's constants: raw bytes for two and more numbers of most types, else a list of values. When `shape` is
 * larger than the array, the message holds the array's values only and means that the last of them repeats.
 */
export function constantToProto(array: NDArray, shape: Shape = array.shape): TensorProto {
  const size = sizeOf(shape);
  if (array.size > size)
    throw new InvalidArgumentError(
      `a constant of shape ${showShape(shape)} takes at most ${size} values, but ${array.size} were given`,
    );
  const { dtype } = array;
  const raw = size === array.size && size > 1 && !listedTypes.has(dtype);
  // The caller may change the array; a constant stays what it is.
  return protoOf(dtype, shape, raw ? { tensor_content: array.bytes.slice() } : listOf(array));
}

function protoOf(dtype: DType, shape: Shape, value: Init<TensorProto>): TensorProto {
  return { ...TensorProto.create(value), dtype: dtype.number, tensor_shape: shapeToProto(shape) };
}

/** An array's values in the list of its dtype, without type and shape: the flavour of V1 checkpoints. */
export function arrayToValues(array: NDArray): Init<TensorProto> {
  return listOf(array);
}

/** An array's values in the list of its dtype. */
function listOf(array: NDArray): Init<TensorProto> {
  const { dtype } = array;
  if (dtype === string) return { string_val: bytesOf(array) };
  if (dtype === resource) return { resource_handle_val: array.objects.map(handleOf) };
  if (dtype.isObject) return { variant_val: array.objects.map(variantOf) };
  const { data } = array;
  if (data instanceof BigInt64Array) return { int64_val: Array.from(data) };
  if (data instanceof BigUint64Array) return { uint64_val: Array.from(data) };
  const values = Array.from(data);
  switch (dtype.storage) {
    case 'f16':
    case 'bf16':
      return { half_val: values };
    case 'f32':
      return { float_val: values };
    case 'f64':
      return { double_val: values };
    case 'c64':
      return { scomplex_val: values };
    case 'c128':
      return { dcomplex_val: values };
    case 'u32':
      return { uint32_val: values };
    default:
      return dtype === bool ? { bool_val: values.map((x) => x !== 0) } : { int_val: values };
  }
}

const bytesOf = (array: NDArray): readonly Uint8Array[] => array.objects as readonly Uint8Array[]; // what string arrays hold

function handleOf(object: object): ResourceHandleProto {
  if ('container' in object && 'name' in object && 'hash_code' in object)
    return ResourceHandleProto.create(object as Init<ResourceHandleProto>); // these members make it a handle
  throw new InvalidArgumentError('a resource can only be serialized as a ResourceHandleProto record');
}

function variantOf(object: object): VariantTensorDataProto {
  if ('type_name' in object) return VariantTensorDataProto.create(object as Init<VariantTensorDataProto>); // likewise
  throw new InvalidArgumentError('a variant can only be serialized as a VariantTensorDataProto record');
}
