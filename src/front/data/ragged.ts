/** @file Ragged tensors as components of elements: they travel as variants. Batches of elements of different sizes. */
import { type DType, int32, int64, variant } from '../../core/dtypes.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { type Dims, isFullyDefined, showTuple } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { concat } from '../../ops/array/concat.ts';
import { getItem } from '../../ops/array/getItem.ts';
import { range } from '../../ops/array/range.ts';
import { reshape } from '../../ops/array/reshape.ts';
import { shape as shapeOf } from '../../ops/array/shape.ts';
import { reduceProd } from '../../ops/math/index.ts';
import { RaggedTensor, RaggedTensorValue } from '../../ops/ragged/raggedTensor.ts';
import { decoded, RaggedTensorFromVariant, RaggedTensorToVariant } from '../../ops/ragged/variants.ts';
import { flatten, packSequenceAs } from '../nest.ts';
import type { DatasetOptions } from './arguments.ts';
import { Dataset } from './dataset.ts';
import { map } from './elementwise.ts';
import type { Transformation } from './experimental.ts';
import {
  addComponentKind,
  type Component,
  commonShape,
  componentsOf,
  type ElementSpec,
  mapSpec,
  TensorComponent,
} from './spec.ts';

type SplitType = typeof int32 | typeof int64;

/** A ragged tensor of a type, a shape, and a number of axes with rows of different lengths; of none it is a tensor. */
export class RaggedComponent implements Component {
  readonly dtype = variant;
  readonly shape: Dims = null;
  readonly known: Component['known'];
  constructor(
    readonly valueType: DType,
    readonly raggedShape: Dims,
    readonly raggedRank: number,
    readonly splitType: SplitType,
  ) {
    this.known = { kind: this, dtype: valueType, shape: raggedShape };
  }
  fromTensor(tensor: Tensor): Tensor | RaggedTensor {
    const rank = this.checkedRank();
    const { output_nested_splits: splits, output_dense_values: values } = RaggedTensorFromVariant.build(
      { encoded_ragged: tensor },
      {
        attrs: { input_ragged_rank: -1, output_ragged_rank: rank, Tvalues: this.valueType, Tsplits: this.splitType },
      },
    );
    if (this.raggedShape) values.setShape(rank === 0 ? this.raggedShape : [null, ...this.raggedShape.slice(rank + 1)]);
    return rank === 0 ? values : RaggedTensor.fromNestedRowSplits(values, splits);
  }
  fromArray(array: NDArray): NDArray | RaggedTensorValue {
    const rank = this.checkedRank();
    // Without ragged axes it was a tensor like any other when it was fetched.
    if (array.dtype !== variant) return array;
    const { splits, values } = decoded(array, -1, rank, { values: this.valueType, splits: this.splitType });
    return rank === 0 ? values : new RaggedTensorValue(splits, values);
  }
  /** Batches that were taken apart are less than tensors until they are put together again. */
  private checkedRank(): number {
    if (this.raggedRank < 0) throw userError(`ragged_rank must be non-negative; got ${this.raggedRank}.`);
    return this.raggedRank;
  }
  toRows(value: unknown): Tensor {
    return toVariant(value as Tensor | RaggedTensor, this.splitType, true); // a value of this component
  }
  batched(size: number | null): Component {
    const shape = this.raggedShape && [size, ...this.raggedShape];
    return new RaggedComponent(this.valueType, shape, this.raggedRank + 1, this.splitType);
  }
  unbatched(): Component {
    if (this.raggedShape?.length === 0) throw userError('Cannot unbatch a ragged tensor of rank 0.');
    const shape = this.raggedShape?.slice(1) ?? null;
    return new RaggedComponent(this.valueType, shape, this.raggedRank - 1, this.splitType);
  }
  merged(other: Component): Component | undefined {
    const isLike =
      other instanceof RaggedComponent &&
      other.valueType === this.valueType &&
      other.raggedRank === this.raggedRank &&
      other.splitType === this.splitType;
    if (!isLike) return undefined;
    const shape = commonShape(this.raggedShape, other.raggedShape);
    return new RaggedComponent(this.valueType, shape, this.raggedRank, this.splitType);
  }
  toString(): string {
    const { valueType, raggedShape, raggedRank, splitType } = this;
    return `RaggedTensorSpec(TensorShape(${showTuple(raggedShape)}), tf.${valueType}, ${raggedRank}, tf.${splitType})`;
  }
}

/** A tensor with or without ragged axes as a variant, or its rows as a vector of them. */
function toVariant(value: Tensor | RaggedTensor, splitType: DType, batched_input: boolean): Tensor {
  const [rt_nested_splits, rt_dense_values] =
    value instanceof RaggedTensor ? [value.nestedRowSplits, value.flatValues] : [[], value];
  return RaggedTensorToVariant.build(
    { rt_nested_splits, rt_dense_values },
    { attrs: { RAGGED_RANK: rt_nested_splits.length, Tsplits: splitType, batched_input } },
  ).encoded_ragged;
}

function raggedOf(value: RaggedTensor | RaggedTensorValue): RaggedTensor {
  if (value instanceof RaggedTensor) return value;
  const splits = value.nestedRowSplits.map((array) => convertToTensor(array));
  return RaggedTensor.fromNestedRowSplits(convertToTensor(value.flatValues), splits);
}

addComponentKind({
  isComponent: (value) => value instanceof RaggedTensor || value instanceof RaggedTensorValue,
  toTensor(value: RaggedTensor | RaggedTensorValue, stacked: boolean) {
    const ragged = raggedOf(value);
    const splitType = ragged.rowSplits.dtype === int32 ? int32 : int64;
    const component = new RaggedComponent(ragged.dtype, ragged.shape, ragged.raggedRank, splitType);
    return { tensor: toVariant(ragged, splitType, stacked), component };
  },
  ofClass: (kind, dtype, shape) =>
    kind instanceof RaggedComponent ? new RaggedComponent(dtype, shape, kind.raggedRank, kind.splitType) : undefined,
});

/** The tensor with rows down to an axis, all of them equally long. */
function inRows(value: Tensor, raggedRank: number, dtype: SplitType): Tensor | RaggedTensor {
  if (raggedRank === 0) return value;
  const sizes = shapeOf(value, { outType: dtype });
  const countTo = (axis: number) => reduceProd(getItem(sizes, [[null, axis + 1]]));
  const splits = Array.from({ length: raggedRank }, (_, axis) =>
    range(0, countTo(axis).add(1), 1, { dtype }).mul(getItem(sizes, [axis + 1])),
  );
  const flat = reshape(value, concat([reshape(countTo(raggedRank), [1]), getItem(sizes, [[raggedRank + 1]])], 0));
  return RaggedTensor.fromNestedRowSplits(flat, splits);
}

/** What becomes of a component whose sizes may differ: rows down to the last axis of unknown size. */
function raggedComponent(component: Component, splitType: SplitType): Component {
  const { dtype, shape } = component;
  if (!(component instanceof TensorComponent) || shape === null || isFullyDefined(shape)) return component;
  return new RaggedComponent(dtype, shape, shape.lastIndexOf(null), splitType);
}

export interface RaggedBatchOptions extends DatasetOptions {
  readonly dropRemainder?: boolean | undefined;
  /** int64 unless given. */
  readonly rowSplitsDtype?: SplitType | undefined;
}

/**
 * Batches of elements of different sizes, as ragged tensors; components whose size is known are stacked as in `batch`. Adds
 * `MapDataset` and `BatchDatasetV2`.
 *
 * @example dataset.apply(tf.data.experimental.denseToRaggedBatch(2))
 */
export function denseToRaggedBatch<E = unknown, R = E>(
  batchSize: TensorLike,
  options: RaggedBatchOptions = {},
): Transformation<E, R> {
  const {
    dropRemainder,
    rowSplitsDtype = int64,
    name,
  } = onlyOptions('denseToRaggedBatch', options, 'dropRemainder', 'rowSplitsDtype', 'name');
  return (dataset) => {
    const before = componentsOf(dataset.elementSpec);
    const spec: ElementSpec = mapSpec(dataset.elementSpec, (component) => raggedComponent(component, rowSplitsDtype));
    const after = componentsOf(spec);
    const encode = (value: unknown, i: number) => {
      const component = after[i]!;
      if (!(component instanceof RaggedComponent) || component === before[i] || !(value instanceof Tensor))
        return value;
      return toVariant(inRows(value, component.raggedRank, rowSplitsDtype), rowSplitsDtype, false);
    };
    const to_ragged_variant = (...values: unknown[]) => {
      const element = Array.isArray(dataset.elementSpec) ? values : values[0];
      return packSequenceAs(element, flatten(element).map(encode));
    };
    const encoded = map(dataset as Dataset, to_ragged_variant, {});
    return new Dataset<R>(encoded.variant, spec).batch(batchSize, { dropRemainder, name });
  };
}
