/** @file SparseTensor: a tensor most of whose elements are zero, as the positions and values of the others. */
import type { DType } from '../core/dtypes.ts';
import type { NDArray } from '../core/ndarray.ts';
import { compatible, type Dims, mergeShapes, showShape } from '../core/shape.ts';
import { type Composite, composite, type Decomposed } from './composite.ts';
import type { Graph } from './graph.ts';
import type { Operation } from './operation.ts';
import { byName, onlyOptions, type Placed } from './options.ts';
import { evaluate, type FeedLike, type Runner, runnerFor } from './runner.ts';
import type { Tensor, TensorLike } from './tensor.ts';
import { userError } from './userError.ts';

/** What needs ops: making tensors of the three parts, and what is known of a shape vector's content. */
export interface SparseTensorParts {
  convert(indices: TensorLike, values: TensorLike, denseShape: TensorLike): readonly [Tensor, Tensor, Tensor];
  staticShape(denseShape: Tensor): Dims;
}
/** The value of a sparse tensor: what a run gives for one, and what can be fed for one. */
export class SparseTensorValue<I = NDArray, V = NDArray, S = NDArray> {
  constructor(
    readonly indices: I,
    readonly values: V,
    readonly denseShape: S,
  ) {}
}

let parts: SparseTensorParts | undefined;
export function setSparseTensorParts(given: SparseTensorParts): void {
  parts = given;
}

interface SparseTensorArguments {
  readonly indices: TensorLike;
  readonly values: TensorLike;
  readonly denseShape: TensorLike;
}

/**
 * The element at `indices[i]` of a tensor of shape `denseShape` is `values[i]`; all others are zero. Positions should be in
 * row-major order. Adds `Const` nodes under `SparseTensor/` for literals.
 *
 * @example new tf.SparseTensor([[0, 0], [1, 2]], [1, 2], [3, 4])
 */
export class SparseTensor implements Composite {
  /** `[N, rank]`, int64. */
  readonly indices: Tensor;
  /** `[N]`. */
  readonly values: Tensor;
  /** `[rank]`, int64. */
  readonly denseShape: Tensor;
  private dims: Dims;

  constructor(...given: Placed<SparseTensorArguments, ['indices', 'values', 'denseShape']>) {
    const args = byName<SparseTensorArguments>('tf.SparseTensor', given, 'indices', 'values', 'denseShape');
    const { indices, values, denseShape } = onlyOptions('tf.SparseTensor', args, 'indices', 'values', 'denseShape');
    if (!parts) throw new Error('the array ops are loaded before any tensor can be made');
    [this.indices, this.values, this.denseShape] = parts.convert(indices, values, denseShape);
    const ranks = [this.indices.rank, this.values.rank, this.denseShape.rank];
    if (ranks.some((rank, i) => rank !== null && rank !== (i === 0 ? 2 : 1)))
      throw userError(
        `A sparse tensor needs indices of shape [N, rank], values of shape [N] and a denseShape of shape [rank]; given were ${showShape(this.indices.shape)}, ${showShape(this.values.shape)} and ${showShape(this.denseShape.shape)}.`,
      );
    const [count, rank] = this.indices.shape ?? [null, null];
    if (!compatible([count!, rank!], [this.values.shape?.[0] ?? null, this.denseShape.shape?.[0] ?? null]))
      throw userError(
        `A sparse tensor needs one value per row of indices and one size per column: indices is ${showShape(this.indices.shape)}, values is ${showShape(this.values.shape)}, denseShape is ${showShape(this.denseShape.shape)}.`,
      );
    this.dims = parts.staticShape(this.denseShape);
  }

  /** The static shape of the whole. */
  get shape(): Dims {
    return this.dims;
  }
  setShape(dims: Dims): void {
    if (!compatible(this.dims, dims))
      throw userError(
        `the sparse tensor has shape ${showShape(this.dims)}, which is not compatible with ${showShape(dims)}`,
      );
    this.dims = mergeShapes(this.dims, dims);
  }
  get dtype(): DType {
    return this.values.dtype;
  }
  get op(): Operation {
    return this.values.op;
  }
  get graph(): Graph {
    return this.indices.graph;
  }

  /** The same positions with other values. */
  withValues(values: TensorLike): SparseTensor {
    return new SparseTensor(this.indices, values, this.denseShape);
  }

  /** Its parts' values in a session, the default one unless given. */
  async eval(feeds?: readonly (readonly [Tensor, FeedLike])[], session?: Runner): Promise<SparseTensorValue> {
    const runner = runnerFor(`evaluate ${this.values.name}`, session);
    const [indices, values, denseShape] = await evaluate(runner, [this.indices, this.values, this.denseShape], feeds);
    return new SparseTensorValue(indices!, values!, denseShape!);
  }

  [composite](): Decomposed {
    return {
      kind: 'SparseTensor',
      parts: [this.indices, this.values, this.denseShape],
      from: ([indices, values, denseShape]) => new SparseTensor(indices!, values!, denseShape!),
      shapesFor: (dims) => [[null, dims?.length ?? null], [null], [dims?.length ?? null]],
    };
  }

  toString(): string {
    return `SparseTensor(indices=${this.indices}, values=${this.values}, dense_shape=${this.denseShape})`;
  }
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}
