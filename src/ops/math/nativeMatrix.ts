/** @file Batches of matrices for functions of the native library: little work is done at once, the rest beside the event loop. */
import { bfloat16, complex64, complex128, type DType, float16, float32, float64 } from '../../core/dtypes.ts';
import { ResourceExhaustedError } from '../../core/errors.ts';
import { fromElements, type NDArray, zeros } from '../../core/ndarray.ts';
import { type Shape, showShape } from '../../core/shape.ts';
import type { NativeArgument } from '../../io/native.ts';
import type { NativeCall } from '../../io/nativeStrings.ts';
import type { HostOptions } from '../../program/instructions.ts';

/** The types that the library computes with, in the order of native/linalg/batch.h. */
const kinds: readonly DType[] = [float32, float64, complex64, complex128];

/** So many floating-point operations take about half a millisecond; another thread needs a tenth of that to begin. */
const quick = 2e6;

/** How calls end: see native/linalg/batch.h. */
const outcomes = { singular: 1, outOfMemory: 2 };

/** An array in a type that the library knows. */
function widened(array: NDArray): NDArray {
  const { dtype } = array;
  return dtype === float16 || dtype === bfloat16 ? fromElements(float32, array.shape, array.numbers()) : array;
}

/** What host calls that compute with matrices promise. */
export const promises: HostOptions = { borrows: true, isFresh: true };

/** A call of the library for matrices of one type. */
export interface MatrixCall {
  readonly call: NativeCall;
  /** What it will do, in floating-point operations. */
  readonly work: number;
  readonly inputs: readonly NDArray[];
  readonly wanted: readonly { readonly dtype: DType; readonly shape: Shape }[];
  /** How many threads it may use; 0: as many as there are processors. */
  readonly threads: number;
  /** Its arguments behind the number of the type and that of threads, from the memory of inputs and results. */
  args(inputs: readonly NativeArgument[], results: readonly NativeArgument[]): NativeArgument[];
}

/** The results of a call, in the types that were asked for, and whether one of the matrices was singular. */
export async function computeMatrices({ call, work, inputs, wanted, threads, args }: MatrixCall): Promise<{
  readonly isSingular: boolean;
  readonly results: readonly NDArray[];
}> {
  const given = inputs.map(widened);
  const made = wanted.map(({ dtype, shape }) =>
    zeros(dtype === float16 || dtype === bfloat16 ? float32 : dtype, shape),
  );
  const memory = (arrays: readonly NDArray[]) => arrays.map((array) => (array.size === 0 ? 0 : array.data));
  const all = [kinds.indexOf(given[0]!.dtype), threads, ...args(memory(given), memory(made))];
  const outcome = work <= quick ? call.now(...all) : await call.later(...all);
  if (outcome === outcomes.outOfMemory)
    throw new ResourceExhaustedError(
      `there is no memory to factorize matrices of shape ${showShape(inputs[0]!.shape)}.`,
    );
  const results = made.map((array, i) => {
    const { dtype } = wanted[i]!;
    return array.dtype === dtype ? array : fromElements(dtype, array.shape, array.numbers());
  });
  return { isSingular: outcome === outcomes.singular, results };
}
