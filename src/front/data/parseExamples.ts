/** @file tf.data.experimental.parseExampleDataset: batches of serialized Examples, parsed. */
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { ParseExampleDatasetV2 } from '../../ops/data/parseExamples.ts';
import {
  combined,
  FeatureList,
  type FeatureMap,
  FixedLenFeature,
  FixedLenSequenceFeature,
  SparseFeature,
  VarLenFeature,
} from '../../ops/parsing/features.ts';
import { type Parsed, withSteps } from '../../ops/parsing/parseExample.ts';
import { RaggedFeature } from '../../ops/parsing/raggedFeature.ts';
import { choice } from './arguments.ts';
import { Dataset } from './dataset.ts';
import { map } from './elementwise.ts';
import type { Transformation } from './experimental.ts';
import { RaggedComponent } from './ragged.ts';
import { SparseComponent } from './sparse.ts';
import { type Component, elementAttrs, TensorComponent } from './spec.ts';

/**
 * Parses batches of serialized `tf.train.Example`s: each becomes a record of tensors by feature. Adds
 * `ParseExampleDatasetV2`.
 *
 * @example records.batch(32).apply(tf.data.experimental.parseExampleDataset({ x: tf.fixedLenFeature([4], tf.float32) }))
 */
export function parseExampleDataset<const F extends FeatureMap>(
  features: F,
  options: { readonly numParallelCalls?: TensorLike; readonly deterministic?: boolean } = {},
): Transformation<Tensor, Parsed<F>> {
  const { numParallelCalls = 1, deterministic } = onlyOptions(
    'parseExampleDataset',
    options,
    'numParallelCalls',
    'deterministic',
  );
  const asked = withSteps(features);
  const list = new FeatureList(asked, [
    ...[VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature],
    RaggedFeature,
  ]);
  return (dataset) => {
    const { dense, sparse, ragged } = list;
    const dense_defaults = list.defaults();
    const batch = dataset.elementSpec instanceof TensorComponent ? (dataset.elementSpec.shape?.[0] ?? null) : null;
    const components: Record<string, Component> = {};
    for (const { key, dtype, shape } of dense)
      components[key] = new TensorComponent(dtype, shape === null ? null : [batch, ...shape]);
    for (const { key, dtype } of sparse) components[key] = new SparseComponent(dtype, [batch, null]);
    for (const { key, dtype, splits } of ragged) components[key] = new RaggedComponent(dtype, [batch, null], 1, splits);
    const inputs = {
      input_dataset: dataset.variant,
      num_parallel_calls: numParallelCalls,
      dense_defaults,
    };
    const attrs = {
      sparse_keys: sparse.map(({ key }) => key),
      dense_keys: dense.map(({ key }) => key),
      sparse_types: sparse.map(({ dtype }) => dtype),
      Tdense: dense.map(({ dtype }) => dtype),
      dense_shapes: dense.map(({ shape }) => shape),
      ragged_keys: ragged.map(({ key }) => key),
      ragged_value_types: ragged.map(({ dtype }) => dtype),
      ragged_split_types: ragged.map(({ splits }) => splits),
      ...elementAttrs(components),
      deterministic: choice(deterministic),
    };
    const parsed = new Dataset(ParseExampleDatasetV2.build(inputs, { attrs }).handle, components);
    const isPlain = !Object.values(asked).some(
      (feature) => feature instanceof SparseFeature || feature instanceof RaggedFeature,
    );
    const put = (found: Parameters<typeof combined>[1]) => combined(asked, found);
    const result = isPlain ? parsed : map(parsed, put, { numParallelCalls });
    return result as Dataset<Parsed<F>>; // a component for each feature
  };
}
