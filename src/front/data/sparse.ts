/** @file Sparse tensors as components of elements: they travel as variants. */
import { type DType, int64, variant } from '../../core/dtypes.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { type Dims, isFullyDefined } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { SparseTensor, SparseTensorValue } from '../../graph/sparseTensor.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { constant } from '../../ops/array/constant.ts';
import { stack, unstack } from '../../ops/array/stack.ts';
import { DenseToSparseBatchDataset } from '../../ops/data/batchMore.ts';
import { SparseTensorSliceDataset } from '../../ops/data/sources.ts';
import { DeserializeSparse, serializeManySparse, serializeSparse } from '../../ops/parsing/serializeSparse.ts';
import { Dataset } from './dataset.ts';
import type { Transformation } from './experimental.ts';
import { addComponentKind, type Component, commonShape, elementAttrs, TensorComponent } from './spec.ts';

/** A sparse tensor of a type and a dense shape. */
export class SparseComponent implements Component {
  readonly dtype = variant;
  readonly shape: Dims = null;
  readonly known: Component['known'];
  constructor(
    readonly valueType: DType,
    readonly denseShape: Dims,
  ) {
    this.known = { kind: SparseTensor, dtype: valueType, shape: denseShape };
  }
  fromTensor(tensor: Tensor): SparseTensor {
    const { sparse_indices, sparse_values, sparse_shape } = DeserializeSparse.build(
      { serialized_sparse: tensor },
      { attrs: { dtype: this.valueType } },
    );
    sparse_indices.setShape([null, this.denseShape?.length ?? null]);
    return new SparseTensor(sparse_indices, sparse_values, this.knownShape(sparse_shape));
  }
  /** The dense shape with the sizes that are known, so that those are known in what is built on it. */
  private knownShape(shape: Tensor): Tensor {
    const dims = this.denseShape;
    if (!dims?.some((size) => size !== null)) {
      shape.setShape([dims?.length ?? null]);
      return shape;
    }
    if (isFullyDefined(dims)) return convertToTensor([...dims], { dtype: int64, name: 'shape' });
    const pieces = unstack(shape, { num: dims.length });
    return stack(pieces.map((piece, i) => (dims[i] == null ? piece : constant(dims[i], { dtype: int64 }))));
  }
  fromArray(array: NDArray): SparseTensorValue {
    const [indices, values, denseShape] = array.objects as [NDArray, NDArray, NDArray]; // how sparse tensors travel
    return new SparseTensorValue(indices, values, denseShape);
  }
  /** Many of them as rows of variants, which can be taken apart again. */
  toRows(value: unknown): Tensor {
    return serializeManySparse(value as SparseTensor, { outType: variant }); // a value of this component
  }
  batched(size: number | null): Component {
    return new SparseComponent(this.valueType, this.denseShape === null ? null : [size, ...this.denseShape]);
  }
  unbatched(): Component {
    if (this.denseShape?.length === 0) throw userError('Cannot unbatch a sparse tensor of rank 0.');
    return new SparseComponent(this.valueType, this.denseShape === null ? null : this.denseShape.slice(1));
  }
  merged(other: Component): Component | undefined {
    if (!(other instanceof SparseComponent) || other.valueType !== this.valueType) return undefined;
    return new SparseComponent(this.valueType, commonShape(this.denseShape, other.denseShape));
  }
  toString(): string {
    return `SparseTensorSpec(TensorShape(${JSON.stringify(this.denseShape)}), tf.${this.valueType})`;
  }
}

function sparseOf(value: SparseTensor | SparseTensorValue): SparseTensor {
  return value instanceof SparseTensor
    ? value
    : new SparseTensor(
        convertToTensor(value.indices, { name: 'SparseTensor/indices' }),
        convertToTensor(value.values, { name: 'SparseTensor/values' }),
        convertToTensor(value.denseShape, { name: 'SparseTensor/dense_shape' }),
      );
}

addComponentKind({
  isComponent: (value) => value instanceof SparseTensor || value instanceof SparseTensorValue,
  toTensor(value: SparseTensor | SparseTensorValue, stacked: boolean) {
    const sparse = sparseOf(value);
    const component = new SparseComponent(sparse.values.dtype, sparse.shape);
    const tensor = stacked ? component.toRows(sparse) : serializeSparse(sparse, { outType: variant });
    return { tensor, component };
  },
  ofClass: (kind, dtype, shape) => (kind === SparseTensor ? new SparseComponent(dtype, shape) : undefined),
});

/** The rows of a sparse tensor, each as its indices, values and dense shape. */
export function fromSparseTensorSlices(sparse: SparseTensor): Dataset<[Tensor, Tensor, Tensor]> {
  if (!(sparse instanceof SparseTensor)) throw userError('Dataset.fromSparseTensorSlices wants a tf.SparseTensor.');
  const { indices, values, denseShape } = sparse;
  const columns = indices.shape?.[1] ?? null;
  const rank = columns === null ? null : columns - 1;
  const spec = [
    new TensorComponent(int64, [null, rank]),
    new TensorComponent(values.dtype, [null]),
    new TensorComponent(int64, [rank]),
  ];
  const { handle } = SparseTensorSliceDataset.build({ indices, values, dense_shape: denseShape });
  return new Dataset<[Tensor, Tensor, Tensor]>(handle, spec);
}

/**
 * Batches of elements of different sizes, as sparse tensors whose rows have the shape given; `null` sizes are as large as the
 * batch needs. Adds `DenseToSparseBatchDataset`.
 *
 * @example dataset.apply(tf.data.experimental.denseToSparseBatch(2, [10]))
 */
export function denseToSparseBatch(
  batchSize: TensorLike,
  rowShape: readonly (number | null)[],
  options: { readonly name?: string | undefined } = {},
): Transformation<Tensor, SparseTensor> {
  onlyOptions('denseToSparseBatch', options, 'name');
  return (dataset) => {
    const { elementSpec: element } = dataset;
    if (!(element instanceof TensorComponent))
      throw userError(`denseToSparseBatch wants elements that are one tensor each, not ${String(element)}.`);
    const spec = new SparseComponent(element.dtype, [null, ...rowShape]);
    const row_shape = convertToTensor(
      rowShape.map((size) => size ?? -1),
      { dtype: int64 },
    );
    const inputs = { input_dataset: dataset.variant, batch_size: batchSize, row_shape };
    return new Dataset<SparseTensor>(
      DenseToSparseBatchDataset.build(inputs, { attrs: elementAttrs(spec) }).handle,
      spec,
    );
  };
}
