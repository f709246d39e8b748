/** @file parseExample and its like: serialized examples as named tensors. */

import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { rank } from '../array/shape.ts';
import { assert } from '../flow/assert.ts';
import { withDependencies } from '../flow/group.ts';
import { equal } from '../math/compare.ts';
import { RaggedTensor } from '../ragged/raggedTensor.ts';
import {
  combined,
  FeatureList,
  type FeatureMap,
  FixedLenFeature,
  FixedLenSequenceFeature,
  SparseFeature,
  VarLenFeature,
} from './features.ts';
import { ParseExampleV2 } from './parseExampleOps.ts';
import { ParseSequenceExampleV2 } from './parseSequenceOps.ts';
import { RaggedFeature } from './raggedFeature.ts';

/**
 * Tensors for the kinds of features asked for: sparse or ragged tensors for those of any length, tensors for the others. The
 * values of one example alone are ragged only where they are divided into rows.
 */
export type Parsed<F extends FeatureMap> = {
  readonly [K in keyof F]: F[K] extends VarLenFeature | SparseFeature
    ? SparseTensor
    : F[K] extends FixedLenFeature | FixedLenSequenceFeature
      ? Tensor
      : F[K] extends RaggedFeature
        ? RaggedTensor
        : Tensor | SparseTensor | RaggedTensor;
};

export interface ParseExampleOptions {
  readonly name?: string | undefined;
  /** Names of the examples, which errors mention. */
  readonly exampleNames?: TensorLike | undefined;
}

/**
 * The features of serialized `tf.train.Example`s, a vector of them, by name. Adds a `ParseExampleV2` node and its arguments,
 * under `ParseExample/`.
 *
 * @example
 * const { image, label } = tf.parseExample(records, {
 *   image: tf.fixedLenFeature([784], tf.float32),
 *   label: tf.fixedLenFeature([], tf.int64),
 * });
 */
export function parseExample<const F extends FeatureMap>(
  serialized: TensorLike,
  features: F,
  options: ParseExampleOptions = {},
): Parsed<F> {
  onlyOptions('tf.parseExample', options, 'name', 'exampleNames');
  return parse(serialized, features, options);
}

function parse<const F extends FeatureMap>(
  serialized: TensorLike,
  features: F,
  { name, exampleNames }: ParseExampleOptions,
): Parsed<F> {
  const asked = withSteps(features);
  const list = new FeatureList(asked, [
    ...[VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature],
    RaggedFeature,
  ]);
  if (list.isEmpty) throw userError('Must provide at least one feature key.');
  const { dense, sparse, ragged } = list;
  const result = nameScope(name ?? 'ParseExample', () => {
    const examples = convertToTensor(serialized, { name: 'serialized' });
    const outputs = ParseExampleV2.build(
      {
        serialized: examples,
        names: exampleNames ?? [],
        sparse_keys: sparse.map(({ key }) => key),
        dense_keys: dense.map(({ key }) => key),
        ragged_keys: ragged.map(({ key }) => key),
        dense_defaults: list.defaults(),
      },
      {
        name,
        attrs: {
          num_sparse: sparse.length,
          sparse_types: sparse.map(({ dtype }) => dtype),
          ragged_value_types: ragged.map(({ dtype }) => dtype),
          ragged_split_types: ragged.map(({ splits }) => splits),
          dense_shapes: dense.map(({ shape }) => shape),
        },
      },
    );
    const { sparse_indices, sparse_values, sparse_shapes, dense_values, ragged_values, ragged_row_splits } = outputs;
    return {
      ...sparseByKey(sparse, sparse_indices, sparse_values, sparse_shapes),
      ...Object.fromEntries(dense.map(({ key }, i) => [key, dense_values[i]!])),
      ...raggedByKey(ragged, examples.rank, ragged_values, ragged_row_splits),
    };
  });
  return combined(asked, result) as Parsed<F>; // of each feature what its kind asks for
}

function sparseByKey(
  features: readonly { readonly key: string }[],
  indices: readonly Tensor[],
  values: readonly Tensor[],
  shapes: readonly Tensor[],
): Record<string, SparseTensor> {
  return Object.fromEntries(features.map(({ key }, i) => [key, new SparseTensor(indices[i]!, values[i]!, shapes[i]!)]));
}

/** Values of one example as they are, and those of several in rows. */
function raggedByKey(
  features: readonly { readonly key: string }[],
  rank: number | null,
  values: readonly (Tensor | RaggedTensor)[],
  splits: readonly Tensor[],
): Record<string, Tensor | RaggedTensor> {
  if (rank === null && features.length > 0)
    throw userError('serialized must have statically-known rank to parse ragged features.');
  const inRows = (i: number) => (rank === 0 ? values[i]! : RaggedTensor.fromRowSplits(values[i]!, splits[i]!));
  return Object.fromEntries(features.map(({ key }, i) => [key, inRows(i)]));
}

/** In examples a FixedLenSequenceFeature has one more axis, of unknown size, which the op wants to see in its shape. */
export function withSteps(features: FeatureMap): FeatureMap {
  if (!features || Object.keys(features).length === 0)
    throw userError('Argument `features` cannot be empty: name at least one feature.');
  return Object.fromEntries(
    Object.entries(features).map(([key, feature]) => {
      if (!(feature instanceof FixedLenSequenceFeature)) return [key, feature];
      if (!feature.options.allowMissing)
        throw userError('Unsupported: FixedLenSequenceFeature requires allow_missing to be True.');
      return [key, new FixedLenSequenceFeature([null, ...(feature.shape ?? [])], feature.dtype, feature.options)];
    }),
  );
}

/**
 * The features of one serialized `tf.train.Example`, by name. Adds the nodes of `tf.parseExample` under `ParseSingleExample/`.
 *
 * @example
 * const { image } = tf.parseSingleExample(record, { image: tf.fixedLenFeature([], tf.string) });
 */
export function parseSingleExample<const F extends FeatureMap>(
  serialized: TensorLike,
  features: F,
  options: ParseExampleOptions = {},
): Parsed<F> {
  onlyOptions('tf.parseSingleExample', options, 'name', 'exampleNames');
  if (!features || Object.keys(features).length === 0) throw userError('Invalid argument: features cannot be empty.');
  return nameScope(options.name ?? 'ParseSingleExample', () =>
    parse(asScalar(convertToTensor(serialized, { name: 'serialized' })), features, options),
  );
}

/** The tensor, which must be a scalar; where that is not known yet, a node makes sure of it. */
function asScalar(value: Tensor): Tensor {
  if (value.rank === 0) return value;
  if (value.rank !== null) throw userError('Input serialized must be a scalar');
  const check = assert(equal(rank(value), 0), ['Input serialized must be a scalar'], { name: 'SerializedIsScalar' });
  const result = withDependencies([check], value, { name: 'serializedDependencies' });
  result.setShape([]);
  return result;
}

export interface ParseSequenceExampleOptions<C extends FeatureMap, S extends FeatureMap> {
  /** Features that hold for a whole example: `FixedLenFeature`s, `VarLenFeature`s and `RaggedFeature`s. */
  readonly contextFeatures?: C | undefined;
  /** Features of each step: `FixedLenSequenceFeature`s, `VarLenFeature`s and `RaggedFeature`s. */
  readonly sequenceFeatures?: S | undefined;
  /** Names of the examples, which errors mention. */
  readonly exampleNames?: TensorLike | undefined;
  readonly name?: string | undefined;
}

const contextKinds = [VarLenFeature, FixedLenFeature, RaggedFeature];
const sequenceKinds = [VarLenFeature, FixedLenSequenceFeature, RaggedFeature];

function listsOf(context: FeatureMap | undefined, sequence: FeatureMap | undefined) {
  if (Object.keys(context ?? {}).length + Object.keys(sequence ?? {}).length === 0)
    throw userError('Both `contextFeatures` and `sequenceFeatures` are empty, but at least one should have values.');
  return [new FeatureList(context, contextKinds), new FeatureList(sequence, sequenceKinds)] as const;
}

/** The node, and its results by key. Python makes this scope twice, once in the public function. */
function parseSequences(
  serialized: TensorLike,
  debugName: TensorLike | undefined,
  context: FeatureList,
  lists: FeatureList,
  name: string | undefined,
) {
  return nameScope(name ?? 'ParseSequenceExample', () => {
    for (const { key, defaultValue } of lists.dense)
      if (defaultValue !== undefined && defaultValue !== null)
        throw userError(`Value feature_list.dense_defaults[${key}] must be None`);
    const examples = convertToTensor(serialized, { name: 'serialized' });
    const outputs = ParseSequenceExampleV2.build(
      {
        serialized: examples,
        debug_name: debugName ?? [],
        context_sparse_keys: context.sparse.map(({ key }) => key),
        context_dense_keys: context.dense.map(({ key }) => key),
        context_ragged_keys: context.ragged.map(({ key }) => key),
        feature_list_sparse_keys: lists.sparse.map(({ key }) => key),
        feature_list_dense_keys: lists.dense.map(({ key }) => key),
        feature_list_ragged_keys: lists.ragged.map(({ key }) => key),
        feature_list_dense_missing_assumed_empty: lists.dense.map(({ defaultValue }) => defaultValue === null),
        context_dense_defaults: context.defaults(),
      },
      {
        name,
        attrs: {
          Ncontext_sparse: context.sparse.length,
          Nfeature_list_sparse: lists.sparse.length,
          Nfeature_list_dense: lists.dense.length,
          context_sparse_types: context.sparse.map(({ dtype }) => dtype),
          context_ragged_value_types: context.ragged.map(({ dtype }) => dtype),
          context_ragged_split_types: context.ragged.map(({ splits }) => splits),
          feature_list_dense_types: lists.dense.map(({ dtype }) => dtype),
          feature_list_sparse_types: lists.sparse.map(({ dtype }) => dtype),
          feature_list_ragged_value_types: lists.ragged.map(({ dtype }) => dtype),
          feature_list_ragged_split_types: lists.ragged.map(({ splits }) => splits),
          context_dense_shapes: context.dense.map(({ shape }) => shape),
          feature_list_dense_shapes: lists.dense.map(({ shape }) => shape),
        },
      },
    );
    const byKey = (features: FeatureList['dense'], values: readonly Tensor[]) =>
      Object.fromEntries(features.map(({ key }, i) => [key, values[i]!]));
    const steps = (values: readonly Tensor[], splits: readonly Tensor[]) =>
      values.map((value, i) => RaggedTensor.fromRowSplits(value, splits[i]!));
    return {
      context: {
        ...sparseByKey(
          context.sparse,
          outputs.context_sparse_indices,
          outputs.context_sparse_values,
          outputs.context_sparse_shapes,
        ),
        ...byKey(context.dense, outputs.context_dense_values),
        ...raggedByKey(context.ragged, examples.rank, outputs.context_ragged_values, outputs.context_ragged_row_splits),
      },
      sequences: {
        ...sparseByKey(
          lists.sparse,
          outputs.feature_list_sparse_indices,
          outputs.feature_list_sparse_values,
          outputs.feature_list_sparse_shapes,
        ),
        ...byKey(lists.dense, outputs.feature_list_dense_values),
        ...raggedByKey(
          lists.ragged,
          examples.rank,
          steps(outputs.feature_list_ragged_values, outputs.feature_list_ragged_inner_splits),
          outputs.feature_list_ragged_outer_splits,
        ),
      },
      lengths: byKey(lists.dense, outputs.feature_list_dense_lengths),
    };
  });
}

type None = Record<never, never>;

/**
 * The features of serialized `tf.train.SequenceExample`s, a vector of them: those of the context, those of the steps, and how
 * many steps each example has of each `FixedLenSequenceFeature`. Adds a `ParseSequenceExampleV2` node and its arguments.
 */
export function parseSequenceExample<const C extends FeatureMap = None, const S extends FeatureMap = None>(
  serialized: TensorLike,
  options: ParseSequenceExampleOptions<C, S>,
): readonly [context: Parsed<C>, sequences: Parsed<S>, lengths: Readonly<Record<string, Tensor>>] {
  onlyOptions('tf.parseSequenceExample', options, 'contextFeatures', 'sequenceFeatures', 'exampleNames', 'name');
  const { contextFeatures, sequenceFeatures, exampleNames, name } = options;
  const [context, lists] = listsOf(contextFeatures, sequenceFeatures);
  return nameScope(name ?? 'ParseSequenceExample', () => {
    const result = parseSequences(serialized, exampleNames, context, lists, name);
    const [parsedContext, parsedSteps] = [
      combined(contextFeatures ?? {}, result.context),
      combined(sequenceFeatures ?? {}, result.sequences),
    ];
    return [parsedContext as Parsed<C>, parsedSteps as Parsed<S>, result.lengths] as const; // by the same keys
  });
}

/** The features of one serialized `tf.train.SequenceExample`. Adds nodes as `tf.parseSequenceExample`. */
export function parseSingleSequenceExample<const C extends FeatureMap = None, const S extends FeatureMap = None>(
  serialized: TensorLike,
  options: Omit<ParseSequenceExampleOptions<C, S>, 'exampleNames'> & { readonly exampleName?: TensorLike | undefined },
): readonly [context: Parsed<C>, sequences: Parsed<S>] {
  onlyOptions('tf.parseSingleSequenceExample', options, 'contextFeatures', 'sequenceFeatures', 'exampleName', 'name');
  const { contextFeatures, sequenceFeatures, exampleName, name } = options;
  const [context, lists] = listsOf(contextFeatures, sequenceFeatures);
  return nameScope(name ?? 'ParseSingleSequenceExample', () => {
    const scalar = nameScope(name ?? 'ParseSingleExample', () =>
      asScalar(convertToTensor(serialized, { name: 'serialized' })),
    );
    const result = parseSequences(scalar, exampleName, context, lists, name);
    const [parsedContext, parsedSteps] = [
      combined(contextFeatures ?? {}, result.context),
      combined(sequenceFeatures ?? {}, result.sequences),
    ];
    return [parsedContext as Parsed<C>, parsedSteps as Parsed<S>] as const; // by the same keys
  });
}
