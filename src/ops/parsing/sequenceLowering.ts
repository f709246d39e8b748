/** @file What the ops that parse sequence examples share: their static shapes, the features they ask for, their lowering. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { type Dims, isFullyDefined, sameShape, showRuntime } from '../../core/shape.ts';
import { parseSequencesLater, type SequenceResult, type SequenceSpec } from '../../io/examples/parseSequences.ts';
import type { ExampleSpec } from '../../io/examples/spec.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { bytesOf } from '../string/text.ts';
import { cut, joined, resultOf, sparseShapes } from './shapes.ts';

/** The attributes that the three ops have in common; those about ragged features only the second version has. */
interface Attrs {
  readonly Ncontext_sparse: number;
  readonly Nfeature_list_sparse: number;
  readonly Nfeature_list_dense: number;
  readonly Tcontext_dense: readonly d.DType[];
  readonly context_sparse_types: readonly d.DType[];
  readonly context_dense_shapes: readonly Dims[];
  readonly feature_list_dense_types: readonly d.DType[];
  readonly feature_list_sparse_types: readonly d.DType[];
  readonly feature_list_dense_shapes: readonly Dims[];
  readonly context_ragged_value_types?: readonly d.DType[];
  readonly context_ragged_split_types?: readonly d.DType[];
  readonly feature_list_ragged_value_types?: readonly d.DType[];
  readonly feature_list_ragged_split_types?: readonly d.DType[];
}

export function checkAttrs(attrs: Attrs): void {
  const must = (name: string, wanted: number, ...lists: readonly (readonly [string, readonly unknown[]])[]) => {
    if (lists.every(([, list]) => list.length === wanted)) return;
    const sizes = lists.map(([list, values]) => `${list} (${values.length})`).join(' and ');
    throw new InvalidArgumentError(`num_${name} (${wanted}) must match the size of ${sizes}`);
  };
  must('context_sparse', attrs.Ncontext_sparse, ['context_sparse_types', attrs.context_sparse_types]);
  must('context_dense', attrs.Tcontext_dense.length, ['context_dense_shapes', attrs.context_dense_shapes]);
  must('feature_list_sparse', attrs.Nfeature_list_sparse, [
    'feature_list_sparse_types',
    attrs.feature_list_sparse_types,
  ]);
  must(
    'feature_list_dense',
    attrs.Nfeature_list_dense,
    ['feature_list_dense_types', attrs.feature_list_dense_types],
    ['feature_list_dense_shapes', attrs.feature_list_dense_shapes],
  );
  for (const list of ['context', 'feature_list'] as const) {
    const values = attrs[`${list}_ragged_value_types`] ?? [];
    const splits = attrs[`${list}_ragged_split_types`] ?? [];
    must(`${list}_ragged`, values.length, [`${list}_ragged_split_types`, splits]);
  }
}

/** The static shapes that the ops have in common. */
export function commonShapes(input: Dims, attrs: Attrs) {
  checkAttrs(attrs);
  const context = sparseShapes(attrs.Ncontext_sparse, input, 1);
  const lists = sparseShapes(attrs.Nfeature_list_sparse, input, 2);
  return {
    context_sparse_indices: context.indices,
    context_sparse_values: context.values,
    context_sparse_shapes: context.shapes,
    context_dense_values: attrs.context_dense_shapes.map((dims) => joined(input, dims)),
    feature_list_sparse_indices: lists.indices,
    feature_list_sparse_values: lists.values,
    feature_list_sparse_shapes: lists.shapes,
    feature_list_dense_values: attrs.feature_list_dense_shapes.map((dims) => joined(joined(input, [null]), dims)),
  };
}

interface Keys {
  readonly sparse: readonly Uint8Array[];
  readonly dense: readonly Uint8Array[];
  readonly ragged: readonly Uint8Array[];
}

export function specOf(attrs: Attrs, list: 'context' | 'feature_list', given: Keys): ExampleSpec {
  const denseTypes = list === 'context' ? attrs.Tcontext_dense : attrs.feature_list_dense_types;
  const sparseTypes = attrs[`${list}_sparse_types`];
  const raggedTypes = attrs[`${list}_ragged_value_types`] ?? [];
  const splitTypes = attrs[`${list}_ragged_split_types`] ?? [];
  const counts =
    list === 'context' ? ['len(Tcontext_dense)', 'Ncontext_sparse'] : ['Nfeature_list_dense', 'Nfeature_list_sparse'];
  const must = (kind: keyof Keys, types: readonly unknown[], what: string) => {
    if (given[kind].length !== types.length)
      throw new InvalidArgumentError(`Expected len(${list}_${kind}_keys) to match ${what}`);
  };
  must('dense', denseTypes, counts[0]!);
  must('sparse', sparseTypes, counts[1]!);
  must('ragged', raggedTypes, `len(${list}_ragged_value_types)`);
  return {
    dense: given.dense.map((key, i) => ({
      key,
      dtype: denseTypes[i]!,
      shape: knownShape(attrs[`${list}_dense_shapes`][i]!),
    })),
    sparse: given.sparse.map((key, i) => ({ key, dtype: sparseTypes[i]! })),
    ragged: given.ragged.map((key, i) => ({
      key,
      dtype: raggedTypes[i]!,
      splits: splitTypes[i] === d.int64 ? d.int64 : d.int32,
    })),
  };
}

function knownShape(dims: Dims): Dims {
  if (isFullyDefined(dims)) return dims;
  throw new InvalidArgumentError(`the shapes of dense features must be known, but one is ${showRuntime(dims)}`);
}

/** Lowers any of the ops: a host call that parses, and its results by port. */
export function parsed(
  p: ProgramBuilder,
  serialized: Value,
  debugName: Value,
  fallbacks: readonly Value[],
  context: ExampleSpec,
  lists: SequenceSpec,
) {
  for (const [i, { shape }] of fallbacks.entries()) {
    const wanted = context.dense[i]!.shape!; // knownShape has seen it
    if (!shape.includes(0) && !sameShape(shape, wanted as readonly number[]))
      throw new InvalidArgumentError(
        `default_value[${i}].shape() == ${showRuntime(shape)} != context_dense_shapes[${i}] == ${showRuntime(wanted)}`,
      );
  }
  const { shape } = serialized;
  if (shape.length > 1)
    throw new InvalidArgumentError(`Expected serialized to be a scalar or vector, got shape: ${showRuntime(shape)}`);
  const sparse = (features: ExampleSpec['sparse']) => [
    ...features.map(() => ({ dtype: d.int64 })),
    ...features.map(({ dtype }) => ({ dtype })),
    ...features.map(() => ({ dtype: d.int64 })),
  ];
  const results = [
    ...sparse(context.sparse),
    ...context.dense.map((feature) => resultOf(feature.dtype, joined(shape, feature.shape))),
    ...context.ragged.map(({ dtype }) => ({ dtype })),
    ...context.ragged.map(({ splits }) => ({ dtype: splits })),
    ...sparse(lists.sparse),
    ...lists.dense.map(({ dtype }) => ({ dtype })),
    ...lists.dense.map(() => ({ dtype: d.int64, shape })),
    ...lists.ragged.map(({ dtype }) => ({ dtype })),
    ...lists.ragged.map(({ splits }) => ({ dtype: splits })),
    ...lists.ragged.map(({ splits }) => ({ dtype: splits })),
  ];
  const isBatch = shape.length === 1;
  const flat = p.host([serialized, debugName, ...fallbacks], results, async ([examples, names, ...defaults]) =>
    flatResult(await parseSequencesLater(context, lists, bytesOf(examples!), bytesOf(names!), defaults, isBatch)),
  );
  const [cs, cd, cr] = [context.sparse.length, context.dense.length, context.ragged.length];
  const [fs, fd, fr] = [lists.sparse.length, lists.dense.length, lists.ragged.length];
  const part = cut(flat, [cs, cs, cs, cd, cr, cr, fs, fs, fs, fd, fd, fr, fr, fr]);
  return {
    context_sparse_indices: part[0],
    context_sparse_values: part[1],
    context_sparse_shapes: part[2],
    context_dense_values: part[3],
    context_ragged_values: part[4],
    context_ragged_row_splits: part[5],
    feature_list_sparse_indices: part[6],
    feature_list_sparse_values: part[7],
    feature_list_sparse_shapes: part[8],
    feature_list_dense_values: part[9],
    feature_list_dense_lengths: part[10],
    feature_list_ragged_values: part[11],
    feature_list_ragged_outer_splits: part[12],
    feature_list_ragged_inner_splits: part[13],
  };
}

function flatResult({ context, lists }: SequenceResult): NDArray[] {
  return [
    ...context.sparse.map((s) => s.indices),
    ...context.sparse.map((s) => s.values),
    ...context.sparse.map((s) => s.shape),
    ...context.dense,
    ...context.ragged.map((r) => r.values),
    ...context.ragged.map((r) => r.splits),
    ...lists.sparse.map((s) => s.indices),
    ...lists.sparse.map((s) => s.values),
    ...lists.sparse.map((s) => s.shape),
    ...lists.dense,
    ...lists.lengths,
    ...lists.ragged.map((r) => r.values),
    ...lists.ragged.map((r) => r.outer),
    ...lists.ragged.map((r) => r.inner),
  ];
}
