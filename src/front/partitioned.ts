/** @file Partitioned variables: one large variable kept as several slices, and the functions that decide the slices. */
import { type DType, string } from '../core/dtypes.ts';
import { type Shape, showTuple, sizeOf } from '../core/shape.ts';
import type { Operation } from '../graph/operation.ts';
import { onlyOptions } from '../graph/options.ts';
import { controlDependencies, nameScope } from '../graph/scopes.ts';
import type { ConvertibleToTensor, Tensor, TensorLike } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { convertToTensor } from '../op/convert.ts';
import { concat } from '../ops/array/concat.ts';
import { identity } from '../ops/array/identity.ts';
import { split } from '../ops/array/split.ts';
import type { AssignOptions, Updated } from './baseVariable.ts';
import type { Variable } from './variable.ts';

/** Says into how many slices each axis is cut; only one axis may be cut. */
export type Partitioner = (shape: Shape, dtype: DType) => readonly number[];

/** Several variables that together are one. */
export class PartitionedVariable implements ConvertibleToTensor, Iterable<Variable> {
  private readonly slices: readonly Variable[];
  constructor(
    readonly name: string,
    readonly shape: Shape,
    readonly dtype: DType,
    slices: readonly Variable[],
    readonly partitions: readonly number[],
  ) {
    const offset = (v: Variable) => v.saveSliceInfo?.varOffset[this.axis] ?? 0;
    this.slices = [...slices].sort((a, b) => offset(a) - offset(b));
  }

  /** The axis that is cut. */
  get axis(): number {
    return Math.max(
      0,
      this.partitions.findIndex((n) => n > 1),
    );
  }
  get length(): number {
    return this.slices.length;
  }
  [Symbol.iterator](): Iterator<Variable> {
    return this.slices[Symbol.iterator]();
  }

  /** The slices put together. Adds a `ConcatV2` and an `Identity` named like the variable. */
  asTensor(): Tensor {
    return controlDependencies(null, () => {
      const only = this.slices.length === 1 ? this.slices[0] : undefined;
      const whole = only ?? nameScope(`${this.name}/ConcatPartitions/`, () => concat([...this.slices], this.axis));
      return nameScope(null, () => identity(whole, { name: this.name }));
    });
  }

  toTensor(options: { dtype?: DType | undefined } = {}): Tensor {
    if (options.dtype !== undefined && options.dtype !== this.dtype)
      throw userError(
        `Incompatible type conversion requested to type '${options.dtype}' for variable of type '${this.dtype}'`,
      );
    return this.asTensor();
  }

  assign(value: TensorLike, options: AssignOptions = {}): (Updated | Operation)[] {
    return this.each(value, (v, part) => v.assign(part, options));
  }
  assignAdd(value: TensorLike, options: AssignOptions = {}): (Updated | Operation)[] {
    return this.each(value, (v, part) => v.assignAdd(part, options));
  }
  assignSub(value: TensorLike, options: AssignOptions = {}): (Updated | Operation)[] {
    return this.each(value, (v, part) => v.assignSub(part, options));
  }

  private each<T>(value: TensorLike, change: (v: Variable, part: TensorLike) => T): T[] {
    const sizes = this.slices.map((v) => v.shape![this.axis]!);
    const parts =
      value instanceof PartitionedVariable
        ? [...value]
        : split(convertToTensor(value, { hint: this.dtype }), sizes, { axis: this.axis });
    return this.slices.map((v, i) => change(v, parts[i]!));
  }

  toString(): string {
    return `<tf.PartitionedVariable '${this.name}' shape=${showTuple(this.shape)} dtype=${this.dtype} with ${this.length} parts>`;
  }
}

/** Asks a partitioner and checks its answer. */
export function callPartitioner(partitioner: Partitioner, shape: Shape, dtype: DType): readonly number[] {
  if (shape.length < 1) throw userError(`A partitioned Variable must have rank at least 1, shape: ${showTuple(shape)}`);
  const slicing = partitioner(shape, dtype);
  if (slicing.length !== shape.length)
    throw userError(
      `Partitioner returned a partition list that does not match the Variable's rank: ${slicing} vs. ${showTuple(shape)}`,
    );
  if (slicing.some((n) => n < 1)) throw userError(`Partitioner returned zero partitions for some axes: ${slicing}`);
  if (slicing.filter((n) => n > 1).length > 1)
    throw userError(
      `Can only slice a variable along one dimension: shape: ${showTuple(shape)}, partitioning: ${slicing}`,
    );
  return slicing;
}

/** Offset and shape of every slice; the first ones are larger by one where the size does not divide evenly. */
export function slicesOf(shape: Shape, partitions: readonly number[]): { offset: number[]; shape: number[] }[] {
  const axis = Math.max(
    0,
    partitions.findIndex((n) => n > 1),
  );
  const count = partitions[axis]!;
  const least = Math.floor(shape[axis]! / count);
  const excess = shape[axis]! % count;
  let start = 0;
  return Array.from({ length: count }, (_, i) => {
    const size = least + (i < excess ? 1 : 0);
    const offset = shape.map((_d, k) => (k === axis ? start : 0));
    start += size;
    return { offset, shape: shape.map((d, k) => (k === axis ? size : d)) };
  });
}

const along = (shape: Shape, axis: number, count: number) => shape.map((_, i) => (i === axis ? count : 1));
const elementSize = (dtype: DType, perString: number) => (dtype === string ? perString : dtype.size);

/** A fixed number of slices along one axis. */
export function fixedSizePartitioner(numShards: number, options: { axis?: number } = {}): Partitioner {
  onlyOptions('tf.fixedSizePartitioner', options, 'axis');
  const { axis = 0 } = options;
  return (shape) => along(shape, axis, Math.min(numShards, shape[axis]!));
}

/** As many slices along one axis as keep each below a number of bytes. */
export function variableAxisSizePartitioner(
  maxShardBytes: number,
  options: { axis?: number; bytesPerStringElement?: number; maxShards?: number } = {},
): Partitioner {
  onlyOptions('tf.variableAxisSizePartitioner', options, 'axis', 'bytesPerStringElement', 'maxShards');
  const { axis = 0, bytesPerStringElement = 16, maxShards } = options;
  if (maxShardBytes < 1 || bytesPerStringElement < 1)
    throw userError(
      `Both maxShardBytes and bytesPerStringElement must be positive. Currently, maxShardBytes is ${maxShardBytes} and bytesPerStringElement is ${bytesPerStringElement}`,
    );
  if (maxShards !== undefined && maxShards < 1) throw userError('maxShards must be positive.');
  return (shape, dtype) => {
    const bytesPerSlice = (sizeOf(shape) / shape[axis]!) * elementSize(dtype, bytesPerStringElement);
    const slicesPerShard = Math.max(1, Math.floor(maxShardBytes / bytesPerSlice));
    const shards = Math.ceil(shape[axis]! / slicesPerShard);
    return along(shape, axis, Math.min(shards, maxShards ?? shards));
  };
}

/** At most `maxPartitions` slices along one axis, none smaller than `minSliceSize` bytes. */
export function minMaxVariablePartitioner(
  options: { maxPartitions?: number; axis?: number; minSliceSize?: number; bytesPerStringElement?: number } = {},
): Partitioner {
  onlyOptions(
    'tf.minMaxVariablePartitioner',
    options,
    'maxPartitions',
    'axis',
    'minSliceSize',
    'bytesPerStringElement',
  );
  const { maxPartitions = 1, axis = 0, minSliceSize = 256 << 10, bytesPerStringElement = 16 } = options;
  return (shape, dtype) => {
    if (axis >= shape.length)
      throw userError(`Cannot partition variable along axis ${axis} when shape is only ${showTuple(shape)}`);
    const wanted = Math.ceil((sizeOf(shape) * elementSize(dtype, bytesPerStringElement)) / minSliceSize);
    return along(shape, axis, Math.max(1, Math.min(shape[axis]!, maxPartitions, wanted)));
  };
}
