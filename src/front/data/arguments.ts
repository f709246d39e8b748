/** @file How arguments of dataset functions become inputs and attributes. */
import { bool, type DType, int64, string } from '../../core/dtypes.ts';
import { OutOfRangeError } from '../../core/errors.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { onlyOptions } from '../../graph/options.ts';
import { evaluate, type Runner } from '../../graph/runner.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { knownValue } from '../../op/constantValue.ts';
import { convertToTensor } from '../../op/convert.ts';
import { packSequenceAs } from '../nest.ts';
import { componentsOf, type ElementSpec, toElement } from './spec.ts';

/** The name of a transformation, which TensorFlow keeps beside it. */
export interface DatasetOptions {
  readonly name?: string | undefined;
}

/** A whole number as an input. */
export const number = (value: TensorLike, name: string): Tensor => convertToTensor(value, { dtype: int64, name });
export const truth = (value: TensorLike, name: string): Tensor => convertToTensor(value, { dtype: bool, name });
export const text = (value: TensorLike, name: string): Tensor => convertToTensor(value, { dtype: string, name });

/** The types of a list of inputs, which ops with several lists must be told. */
export const typesOf = (tensors: readonly Tensor[]): DType[] => tensors.map((t) => t.dtype);

/** Whether the order must be that of the elements, as ops are told. */
export function choice(deterministic: boolean | undefined): string {
  return deterministic === undefined ? 'default' : String(deterministic);
}

/** The message in which ops carry a name: field 1. */
export function metadataOf(method: string, options: DatasetOptions): string {
  const { name } = onlyOptions(`Dataset.${method}`, options, 'name');
  return name === undefined ? '' : `\n${String.fromCharCode(name.length)}${name}`;
}

/** Options are plain records; what becomes a tensor is not. */
export function isOptions(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** The number in a tensor, if it is known while building. */
function knownNumber(tensor: Tensor): number | null {
  return knownValue(tensor)?.numberAt(0) ?? null;
}

/** The size of all batches, where none can be smaller. */
export function batchSizeOf(inputs: { readonly batch_size: Tensor; readonly drop_remainder: Tensor }): number | null {
  return knownNumber(inputs.drop_remainder) === 1 ? knownNumber(inputs.batch_size) : null;
}

/** Runs an element again and again until there is none. */
export async function* valuesUntilEnd<V>(runner: Runner, spec: ElementSpec, next: unknown): AsyncGenerator<V> {
  const { tensors } = toElement(next, () => undefined);
  const components = componentsOf(spec);
  for (;;) {
    let arrays: readonly NDArray[];
    try {
      arrays = await evaluate(runner, tensors);
    } catch (error) {
      if (error instanceof OutOfRangeError) return;
      throw error;
    }
    const values = components.map((component, i) => component.fromArray(arrays[i]!));
    yield packSequenceAs(spec, values) as V; // what the spec describes
  }
}
