/** @file What the ops that save and restore share: names, slices and their complaints. */
import type { DType } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { sameShape, showRuntime } from '../../core/shape.ts';
import type { TensorReader } from '../../io/checkpointReader.ts';
import type { StoredTensor } from '../../io/tensorBundle.ts';
import { parseShapeAndSlice, sliceShape } from '../../io/tensorSlice.ts';
import type { Allocate } from '../../program/instructions.ts';

/** The texts in a tensor of strings. */
export const texts = (array: NDArray): string[] =>
  array.objects.map((bytes) => new TextDecoder().decode(bytes as Uint8Array)); // elements of string arrays are bytes

/** TensorFlow's complaint about lists of different lengths. */
export function checkCounts(names: readonly string[], slices: readonly string[], tensors: number): void {
  if (names.length !== slices.length || names.length !== tensors)
    throw new InvalidArgumentError(
      `Got ${names.length} tensor names and ${slices.length} shapes and slices for ${tensors} tensors; there must be one of each.`,
    );
}

/** Tensors with their names and the slices that they are. */
export function storedTensors(
  names: readonly string[],
  slices: readonly string[],
  arrays: readonly NDArray[],
): StoredTensor[] {
  checkCounts(names, slices, arrays.length);
  return arrays.map((array, i) => {
    const name = names[i]!;
    const text = slices[i]!;
    if (text === '') return { name, array };
    const sliceOf = parseShapeAndSlice(text);
    const wanted = sliceShape(sliceOf.slice, sliceOf.shape);
    if (!sameShape(wanted, array.shape))
      throw new InvalidArgumentError(
        `Slice in shape_and_slice specification does not match the shape of the tensor to save: ${text}, tensor: ${showRuntime(array.shape)}`,
      );
    return { name, array, sliceOf };
  });
}

/** A tensor of a checkpoint, or the slice of it that a text such as `4 3 0,2:-` names. */
export async function restoredTensor(
  reader: TensorReader,
  name: string,
  dtype: DType,
  slice: string,
  allocate?: Allocate,
): Promise<NDArray> {
  const entry = reader.entry(name);
  if (entry.dtype !== dtype)
    throw new InvalidArgumentError(
      `tensor_name = ${name}; expected dtype ${dtype.runtimeName} does not equal original dtype ${entry.dtype.runtimeName}`,
    );
  const part = slice === '' ? undefined : parseShapeAndSlice(slice);
  if (part && !sameShape(part.shape, entry.shape))
    throw new InvalidArgumentError(
      `tensor_name = ${name}; shape in shape_and_slice spec ${showRuntime(part.shape)} does not match the shape stored in checkpoint: ${showRuntime(entry.shape)}`,
    );
  return await reader.read(name, part?.slice, allocate);
}
