/** @file Transformations that put elements together and take them apart. */
import { type DType, int64, string } from '../../core/dtypes.ts';
import { type Element, scalar } from '../../core/ndarray.ts';
import type { Dims } from '../../core/shape.ts';
import { TensorShape } from '../../core/tensorShape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { knownValue } from '../../op/constantValue.ts';
import { convertToTensor } from '../../op/convert.ts';
import { BatchDatasetV2, ParallelBatchDataset } from '../../ops/data/batch.ts';
import { UnbatchDataset } from '../../ops/data/batchMore.ts';
import { PaddedBatchDatasetV2 } from '../../ops/data/padded.ts';
import { flatten, isNested, packSequenceAs } from '../nest.ts';
import { batchSizeOf, choice, type DatasetOptions, metadataOf, number, truth } from './arguments.ts';
import { Dataset } from './dataset.ts';
import { type MapOptions, map } from './elementwise.ts';
import { componentsOf, type ElementSpec, elementAttrs, mapSpec, TensorComponent, withStructure } from './spec.ts';

export interface BatchOptions extends MapOptions {
  /** Whether a last batch that is too small is left out. */
  readonly dropRemainder?: TensorLike | undefined;
}

export function batch<E>(dataset: Dataset<E>, batchSize: TensorLike, options: BatchOptions): Dataset<E> {
  const {
    dropRemainder = false,
    numParallelCalls,
    deterministic,
    name,
  } = onlyOptions('Dataset.batch', options, 'dropRemainder', 'numParallelCalls', 'deterministic', 'name');
  const inputs = {
    input_dataset: dataset.variant,
    batch_size: number(batchSize, 'batch_size'),
    drop_remainder: truth(dropRemainder, 'drop_remainder'),
  };
  const calls =
    numParallelCalls === undefined ? undefined : { num_parallel_calls: number(numParallelCalls, 'num_parallel_calls') };
  const size = batchSizeOf(inputs);
  const spec = mapSpec(dataset.elementSpec, (component) => component.batched(size));
  const attrs = { ...elementAttrs(spec), metadata: metadataOf('batch', { name }) };
  if (!calls) return new Dataset<E>(BatchDatasetV2.build(inputs, { attrs }).handle, spec);
  const more = { ...attrs, deterministic: choice(deterministic) };
  return new Dataset<E>(ParallelBatchDataset.build({ ...inputs, ...calls }, { attrs: more }).handle, spec);
}

export interface PaddedBatchOptions extends DatasetOptions {
  /** The shape to pad each component to, in the structure of elements; `null` sizes are as large as the batch needs. */
  readonly paddedShapes?: unknown;
  /** What to pad with, in the structure of elements, or one value for all; zeros and empty strings unless said. */
  readonly paddingValues?: unknown;
  readonly dropRemainder?: TensorLike | undefined;
}

/** A value for each component, from a structure like the elements' whose values may be arrays themselves. */
function perComponent(spec: ElementSpec, given: unknown): unknown[] {
  if (!isNested(spec)) return [given];
  if (Array.isArray(spec)) {
    if (!Array.isArray(given) || given.length !== spec.length)
      throw userError('Dataset.paddedBatch: the structure given is not that of the elements.');
    return spec.flatMap((part, i) => perComponent(part, given[i]));
  }
  const parts = spec as Readonly<Record<string, ElementSpec>>; // the third kind of structure
  const values = given as Readonly<Record<string, unknown>>;
  return Object.keys(parts)
    .sort()
    .flatMap((key) => perComponent(parts[key]!, values[key]));
}

function shapeTensor(shape: unknown): Tensor {
  if (shape instanceof Tensor) return shape;
  const dims = shape instanceof TensorShape ? shape.dims : (shape as Dims); // as users write shapes
  if (dims === null) throw userError('You must provide paddedShapes, because a component has unknown rank.');
  if (dims.some((d) => (d as unknown) instanceof Tensor))
    return convertToTensor(dims.map((d) => d ?? -1) as readonly TensorLike[], { dtype: int64 }); // tensors among sizes
  return convertToTensor(
    dims.map((d) => d ?? -1),
    { dtype: int64 },
  );
}

/** The sizes that a padded component is known to have. */
function knownDims(shape: Tensor): Dims {
  const known = knownValue(shape);
  if (known) return known.numbers().map((d) => (d < 0 ? null : d));
  const rank = shape.shape?.[0];
  return rank == null ? null : new Array<null>(rank).fill(null);
}

const zeroOf = (dtype: DType): Element => (dtype === string ? '' : 0);

export function paddedBatch<E>(
  dataset: Dataset<E>,
  batchSize: TensorLike,
  given: unknown,
  last: PaddedBatchOptions,
): Dataset<E> {
  const names = ['paddedShapes', 'paddingValues', 'dropRemainder', 'name'] as const;
  const options = withStructure('paddedShapes', dataset.elementSpec, given, last, ...names);
  const {
    paddedShapes,
    paddingValues,
    dropRemainder = false,
    name,
  } = onlyOptions('Dataset.paddedBatch', options, ...names);
  const components = componentsOf(dataset.elementSpec);
  if (components.some((c) => !(c instanceof TensorComponent)))
    throw userError('Padded batching of components that are no tensors is not supported.');
  const batch_size = number(batchSize, 'batch_size');
  const shapes =
    paddedShapes === undefined ? components.map((c) => c.shape) : perComponent(dataset.elementSpec, paddedShapes);
  const padded_shapes = shapes.map(shapeTensor);
  const isOne = paddingValues === undefined || !isNested(paddingValues);
  const values = isOne ? components.map(() => paddingValues) : perComponent(dataset.elementSpec, paddingValues);
  const padding_values = components.map(
    ({ dtype }, i) =>
      convertToTensor((values[i] ?? scalar(dtype, zeroOf(dtype))) as TensorLike, { dtype, name: 'padding_value' }), // refused there otherwise
  );
  const drop_remainder = truth(dropRemainder, 'drop_remainder');
  const size = batchSizeOf({ batch_size, drop_remainder });
  const spec = packSequenceAs(
    dataset.elementSpec,
    components.map(({ dtype }, i) => {
      const dims = knownDims(padded_shapes[i]!);
      return new TensorComponent(dtype, dims === null ? null : [size, ...dims]);
    }),
  ) as ElementSpec; // same structure
  const inputs = { input_dataset: dataset.variant, batch_size, padded_shapes, padding_values, drop_remainder };
  const attrs = { output_shapes: elementAttrs(spec).output_shapes, metadata: metadataOf('paddedBatch', { name }) };
  return new Dataset<E>(PaddedBatchDatasetV2.build(inputs, { attrs }).handle, spec);
}

export function unbatch<E>(dataset: Dataset<E>, options: DatasetOptions): Dataset<E> {
  const components = componentsOf(dataset.elementSpec);
  const normalize = (...args: unknown[]) => {
    const whole = args.length === 1 ? args[0] : args;
    if (!components.some((component) => component.toRows)) return whole;
    const values = isNested(dataset.elementSpec) ? flatten(whole) : [whole];
    return values.map((value, i) => components[i]!.toRows?.(value) ?? value);
  };
  const normalized = map(dataset, normalize, {});
  const spec = mapSpec(dataset.elementSpec, (component) => component.unbatched());
  const attrs = { ...elementAttrs(spec), metadata: metadataOf('unbatch', options) };
  return new Dataset<E>(UnbatchDataset.build({ input_dataset: normalized.variant }, { attrs }).handle, spec);
}
