/** @file Tensors as bytes, in the form that SerializeTensor and SerializeSparse write. */
import { string } from '../core/dtypes.ts';
import { InvalidArgumentError, OpError, ResourceExhaustedError } from '../core/errors.ts';
import type { NDArray } from '../core/ndarray.ts';
import { TensorProto } from '../proto/tensor.ts';
import { constantToProto, tensorFromProto, tensorToProto } from '../proto/tensorProto.ts';

/** A message of a few bytes can claim to mean a value of any size; no more than this is made of one. */
const mostBytes = 2 ** 30;

/** The serialized TensorProto of an array: numbers as raw bytes, strings in a list. */
export function serializeTensor(array: NDArray): Uint8Array {
  return TensorProto.encode(array.dtype === string ? constantToProto(array) : tensorToProto(array));
}

/** Numbers as raw bytes and strings too. */
export function serializeContent(array: NDArray): Uint8Array {
  return TensorProto.encode(tensorToProto(array));
}

/** The message in serialized bytes; undefined when they are no message. */
export function decodeTensorProto(bytes: Uint8Array): TensorProto | undefined {
  try {
    return TensorProto.decode(bytes);
  } catch (error) {
    if (error instanceof OpError) return undefined;
    throw error;
  }
}

/** The array that a message from outside stands for; what it cannot be is said in an InvalidArgumentError. */
export function arrayFromProto(proto: TensorProto): NDArray {
  const claimed = (proto.tensor_shape?.dim ?? []).reduce((n, { size }) => n * Math.max(1, size), 8);
  if (claimed > mostBytes && proto.tensor_content.length === 0)
    throw new ResourceExhaustedError(`a serialized tensor claims a size of ${claimed / 8} elements, but holds few`);
  try {
    return tensorFromProto(proto);
  } catch (error) {
    if (!(error instanceof OpError)) throw error;
    throw new InvalidArgumentError(`Cannot parse tensor from proto: ${error.text}`, { cause: error });
  }
}
