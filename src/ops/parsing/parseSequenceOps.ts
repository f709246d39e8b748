/** @file ParseSequenceExample, its second version, and ParseSingleSequenceExample: serialized sequence examples as arrays. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, showRuntime } from '../../core/shape.ts';
import { SequenceExample } from '../../io/example.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import type { Value } from '../../program/value.ts';
import { bytesOf } from '../string/text.ts';
import { checkAttrs, commonShapes, parsed, specOf } from './sequenceLowering.ts';
import {
  countOrNone,
  featureTypesOrNone,
  keys,
  needRank,
  needRankAtMost,
  raggedShapes,
  shapesOrNone,
  splitTypesOrNone,
} from './shapes.ts';

const none = gradientPending('TensorFlow has none');
const encoder = new TextEncoder();
const encoded = (list: readonly string[]) => list.map((key) => encoder.encode(key));

// Cases.
const strings = (value: readonly (string | Uint8Array)[] | string | Uint8Array, shape?: readonly number[]) =>
  ({ dtype: 'string', value, ...(shape && { shape }) }) as const;
const noStrings = strings([], [0]);
const int64 = (value: unknown, shape?: readonly number[]) =>
  ({ dtype: 'int64', value: value as number[], ...(shape && { shape }) }) as const; // nested numbers in the cases below

const sequences = () => {
  const int = (...value: number[]) => ({ int64List: { value } });
  const float = (...value: number[]) => ({ floatList: { value } });
  return {
    long: new SequenceExample({
      context: { feature: { c: int(5), w: float(0.5, 1.5) } },
      featureLists: {
        featureList: {
          x: { feature: [int(1, 2), int(3, 4)] },
          y: { feature: [float(1), {}, float(2, 3)] },
        },
      },
    }).serialize(),
    short: new SequenceExample({
      context: { feature: { c: int(6) } },
      featureLists: { featureList: { x: { feature: [int(9, 8)] } } },
    }).serialize(),
  };
};
const types = {
  Ncontext_sparse: 1,
  Nfeature_list_sparse: 1,
  Nfeature_list_dense: 1,
  Tcontext_dense: [d.int64],
  context_sparse_types: [d.float32],
  context_dense_shapes: [[]],
  feature_list_dense_types: [d.int64],
  feature_list_sparse_types: [d.float32],
  feature_list_dense_shapes: [[2]],
};
// biome-ignore format: a table reads better in rows
const batch = () => ({
  context_sparse_indices: [int64([[0, 0], [0, 1]])],
  context_sparse_values: [[0.5, 1.5]],
  context_sparse_shapes: [int64([2, 2])],
  context_dense_values: [int64([5, 6])],
  feature_list_sparse_indices: [int64([[0, 0, 0], [0, 2, 0], [0, 2, 1]])],
  feature_list_sparse_values: [[1, 2, 3]],
  feature_list_sparse_shapes: [int64([2, 3, 2])],
  feature_list_dense_values: [int64([[[1, 2], [3, 4]], [[9, 8], [0, 0]]])],
  feature_list_dense_lengths: [int64([2, 1])],
});

export const ParseSequenceExampleV2 = defineOp({
  name: 'ParseSequenceExampleV2',
  inputs: {
    serialized: 'string',
    debug_name: 'string',
    context_sparse_keys: 'string',
    context_dense_keys: 'string',
    context_ragged_keys: 'string',
    feature_list_sparse_keys: 'string',
    feature_list_dense_keys: 'string',
    feature_list_ragged_keys: 'string',
    feature_list_dense_missing_assumed_empty: 'bool',
    context_dense_defaults: 'Tcontext_dense',
  },
  outputs: {
    context_sparse_indices: 'Ncontext_sparse * int64',
    context_sparse_values: 'context_sparse_types',
    context_sparse_shapes: 'Ncontext_sparse * int64',
    context_dense_values: 'Tcontext_dense',
    context_ragged_values: 'context_ragged_value_types',
    context_ragged_row_splits: 'context_ragged_split_types',
    feature_list_sparse_indices: 'Nfeature_list_sparse * int64',
    feature_list_sparse_values: 'feature_list_sparse_types',
    feature_list_sparse_shapes: 'Nfeature_list_sparse * int64',
    feature_list_dense_values: 'feature_list_dense_types',
    feature_list_dense_lengths: 'Nfeature_list_dense * int64',
    feature_list_ragged_values: 'feature_list_ragged_value_types',
    feature_list_ragged_outer_splits: 'feature_list_ragged_split_types',
    feature_list_ragged_inner_splits: 'feature_list_ragged_split_types',
  },
  attrs: {
    Ncontext_sparse: countOrNone,
    Tcontext_dense: featureTypesOrNone,
    context_sparse_types: featureTypesOrNone,
    context_ragged_value_types: featureTypesOrNone,
    context_ragged_split_types: splitTypesOrNone,
    context_dense_shapes: shapesOrNone,
    Nfeature_list_sparse: countOrNone,
    Nfeature_list_dense: countOrNone,
    feature_list_dense_types: featureTypesOrNone,
    feature_list_sparse_types: featureTypesOrNone,
    feature_list_ragged_value_types: featureTypesOrNone,
    feature_list_ragged_split_types: splitTypesOrNone,
    feature_list_dense_shapes: shapesOrNone,
  },
  hostInputs: [
    'context_sparse_keys',
    'context_dense_keys',
    'context_ragged_keys',
    'feature_list_sparse_keys',
    'feature_list_dense_keys',
    'feature_list_ragged_keys',
    'feature_list_dense_missing_assumed_empty',
  ],
  shape({ serialized, debug_name }, attrs) {
    needRankAtMost('serialized', serialized, 1);
    needRankAtMost('debug_name', debug_name, 1);
    const context = raggedShapes(attrs.context_ragged_value_types.length, serialized);
    const lists = raggedShapes(attrs.feature_list_ragged_value_types.length, serialized);
    return {
      ...commonShapes(serialized, attrs),
      context_ragged_values: context.values,
      context_ragged_row_splits: context.splits,
      feature_list_dense_lengths: new Array<Dims>(attrs.Nfeature_list_dense).fill(serialized),
      feature_list_ragged_values: lists.values,
      feature_list_ragged_outer_splits: lists.splits,
      feature_list_ragged_inner_splits: lists.values,
    };
  },
  grad: none,
  lower(p, inputs, attrs) {
    checkAttrs(attrs);
    const given = (value: Value) => bytesOf(p.demand(value));
    const context = specOf(attrs, 'context', {
      sparse: given(inputs.context_sparse_keys),
      dense: given(inputs.context_dense_keys),
      ragged: given(inputs.context_ragged_keys),
    });
    const lists = specOf(attrs, 'feature_list', {
      sparse: given(inputs.feature_list_sparse_keys),
      dense: given(inputs.feature_list_dense_keys),
      ragged: given(inputs.feature_list_ragged_keys),
    });
    const mayBeMissing = p.demand(inputs.feature_list_dense_missing_assumed_empty).numbers().map(Boolean);
    if (mayBeMissing.length !== attrs.Nfeature_list_dense)
      throw new InvalidArgumentError(
        'Expected len(feature_list_dense_missing_assumed_empty to match Nfeature_list_dense',
      );
    const { serialized, debug_name, context_dense_defaults } = inputs;
    return parsed(p, serialized, debug_name, context_dense_defaults, context, { ...lists, mayBeMissing });
  },
  cases() {
    const { long, short } = sequences();
    const given = {
      debug_name: noStrings,
      context_sparse_keys: ['w'],
      context_dense_keys: ['c'],
      context_ragged_keys: noStrings,
      feature_list_sparse_keys: ['y'],
      feature_list_dense_keys: ['x'],
      feature_list_ragged_keys: noStrings,
      feature_list_dense_missing_assumed_empty: [false],
      context_dense_defaults: [int64([], [0])],
    };
    const ragged = {
      context_ragged_value_types: [d.float32],
      context_ragged_split_types: [d.int64],
      feature_list_ragged_value_types: [d.int64],
      feature_list_ragged_split_types: [d.int32],
    };
    const empty = {
      ...given,
      context_sparse_keys: noStrings,
      context_dense_keys: noStrings,
      feature_list_sparse_keys: noStrings,
      feature_list_dense_keys: noStrings,
      context_dense_defaults: [],
      feature_list_dense_missing_assumed_empty: { dtype: 'bool', value: [], shape: [0] },
    } as const;
    // biome-ignore format: a table reads better in rows
    return [
      { shape: '[4], [0], [1], [1], [0], [1], [1], [0], [1], [0] -> [?, 2], [?], [2], [4], [?, 3], [?], [3], [4, ?, 2], [4]', attrs: types },
      { shape: '[], [], [1], [1], [0], [1], [1], [0], [1], [0] -> [?, 1], [?], [1], [], [?, 2], [?], [2], [?, 2], []', attrs: types },
      { shape: '?, ?, [0], [0], [1], [0], [0], [1], [0] -> [?], [?], [?], [?], [?]', attrs: ragged },
      { shape: '[3], [0], [0], [0], [1], [0], [0], [1], [0] -> [?], [4], [?], [4], [?]', attrs: ragged },
      { shape: '[3, 1], [0], [0], [0], [1], [0], [0], [1], [0]', attrs: ragged, rejects: /at most rank 1/ },
      { shape: '[3], [0], [0], [0], [1], [0], [0], [1], [0]', attrs: { ...ragged, Ncontext_sparse: 1 }, rejects: /num_context_sparse \(1\) must match the size of context_sparse_types \(0\)/ },
      { given: { ...given, serialized: strings([long, short]) }, attrs: types, expect: batch() },
      {
        given: { ...given, serialized: strings(long) },
        attrs: types,
        expect: {
          context_sparse_indices: [int64([[0], [1]])],
          context_sparse_shapes: [int64([2])],
          context_dense_values: [int64(5)],
          feature_list_sparse_indices: [int64([[0, 0], [2, 0], [2, 1]])],
          feature_list_sparse_shapes: [int64([3, 2])],
          feature_list_dense_values: [int64([[1, 2], [3, 4]])],
          feature_list_dense_lengths: [int64(2)],
        },
      },
      {
        given: { ...empty, context_ragged_keys: ['w'], feature_list_ragged_keys: ['x'], serialized: strings([long, short]) },
        attrs: ragged,
        expect: {
          context_ragged_values: [[0.5, 1.5]],
          context_ragged_row_splits: [int64([0, 2, 2])],
          feature_list_ragged_values: [int64([1, 2, 3, 4, 9, 8])],
          feature_list_ragged_outer_splits: [{ dtype: 'int32', value: [0, 2, 3] }],
          feature_list_ragged_inner_splits: [{ dtype: 'int32', value: [0, 2, 4, 6] }],
        },
      },
      { given: { ...given, feature_list_dense_keys: ['z'], feature_list_dense_missing_assumed_empty: [true], serialized: strings([short]) }, attrs: types, expect: { feature_list_dense_values: [int64([], [1, 0, 2])], feature_list_dense_lengths: [int64([0])] } },
      { given: { ...given, feature_list_dense_keys: ['z'], debug_name: ['n'], serialized: strings([short]) }, attrs: types, fails: /Name: n, Feature list 'z' is required but could not be found\. {2}Did you mean to include it/ },
      { given: { ...given, context_dense_keys: ['z'], context_dense_defaults: [int64(3)], serialized: strings([short]) }, attrs: types, expect: { context_dense_values: [int64([3])] } },
      { given: { ...given, context_dense_keys: ['z'], serialized: strings([short]) }, attrs: { ...types, context_dense_shapes: [[0]] }, fails: /Feature: z \(data type: int64\) is required but could not be found\./ },
      { given: { ...given, context_sparse_keys: ['c'], context_dense_keys: ['z'], context_dense_defaults: [int64(3)], serialized: strings([short]) }, attrs: types, fails: /Name: <unknown>, Context feature: c\. {2}Data types don't match\. Expected type: float/ },
      { given: { ...given, feature_list_sparse_keys: ['x'], feature_list_dense_keys: ['z'], feature_list_dense_missing_assumed_empty: [true], serialized: strings([short]) }, attrs: types, fails: /Feature list: x, Index: 0\. {2}Data types don't match\. Expected type: float/ },
      { given: { ...given, serialized: strings([long]) }, attrs: { ...types, feature_list_dense_shapes: [[3]] }, fails: /Feature list 'x' has an unexpected number of values\. {2}Total values size: 4 is not consistent with output shape: \[\?,3\]/ },
      { given: { ...given, serialized: strings([long]) }, attrs: { ...types, feature_list_dense_shapes: [[4]] }, fails: /Key: x, Index: 0\. {2}Number of values != expected\. {2}values size: 2 but output shape: \[4\]/ },
      { given: { ...given, serialized: strings([Uint8Array.of(10, 9, 1)]) }, attrs: types, fails: /Invalid protocol message input, example id: <unknown>/ },
    ];
  },
});

export const ParseSequenceExample = defineOp({
  name: 'ParseSequenceExample',
  inputs: { serialized: 'string', debug_name: 'string', context_dense_defaults: 'Tcontext_dense' },
  outputs: {
    context_sparse_indices: 'Ncontext_sparse * int64',
    context_sparse_values: 'context_sparse_types',
    context_sparse_shapes: 'Ncontext_sparse * int64',
    context_dense_values: 'Tcontext_dense',
    feature_list_sparse_indices: 'Nfeature_list_sparse * int64',
    feature_list_sparse_values: 'feature_list_sparse_types',
    feature_list_sparse_shapes: 'Nfeature_list_sparse * int64',
    feature_list_dense_values: 'feature_list_dense_types',
    feature_list_dense_lengths: 'Nfeature_list_dense * int64',
  },
  attrs: {
    feature_list_dense_missing_assumed_empty: keys,
    context_sparse_keys: keys,
    context_dense_keys: keys,
    feature_list_sparse_keys: keys,
    feature_list_dense_keys: keys,
    Ncontext_sparse: countOrNone,
    Ncontext_dense: countOrNone,
    Nfeature_list_sparse: countOrNone,
    Nfeature_list_dense: countOrNone,
    context_sparse_types: featureTypesOrNone,
    Tcontext_dense: featureTypesOrNone,
    feature_list_dense_types: featureTypesOrNone,
    context_dense_shapes: shapesOrNone,
    feature_list_sparse_types: featureTypesOrNone,
    feature_list_dense_shapes: shapesOrNone,
  },
  shape({ serialized, debug_name }, attrs) {
    needRank('serialized', serialized, 1);
    needRank('debug_name', debug_name, 1);
    const input = serialized ?? [null];
    return {
      ...commonShapes(input, attrs),
      feature_list_dense_lengths: new Array<Dims>(attrs.Nfeature_list_dense).fill(input),
    };
  },
  grad: none,
  lower(p, { serialized, debug_name, context_dense_defaults }, attrs) {
    checkAttrs(attrs);
    const context = specOf(attrs, 'context', {
      sparse: encoded(attrs.context_sparse_keys),
      dense: encoded(attrs.context_dense_keys),
      ragged: [],
    });
    const lists = specOf(attrs, 'feature_list', {
      sparse: encoded(attrs.feature_list_sparse_keys),
      dense: encoded(attrs.feature_list_dense_keys),
      ragged: [],
    });
    const allowed = attrs.feature_list_dense_missing_assumed_empty;
    const mayBeMissing = attrs.feature_list_dense_keys.map((key) => allowed.includes(key));
    return parsed(p, serialized, debug_name, context_dense_defaults, context, { ...lists, mayBeMissing });
  },
  cases() {
    const { long, short } = sequences();
    const attrs = {
      ...types,
      Ncontext_dense: 1,
      feature_list_dense_missing_assumed_empty: [],
      context_sparse_keys: ['w'],
      context_dense_keys: ['c'],
      feature_list_sparse_keys: ['y'],
      feature_list_dense_keys: ['x'],
    };
    const given = { debug_name: noStrings, context_dense_defaults: [int64([], [0])] };
    return [
      { shape: '[?], [?], [0] -> [?, 2], [?], [2], [?], [?, 3], [?], [3], [?, ?, 2], [?]', attrs },
      { shape: '[], [?], [0]', attrs, rejects: /must be rank 1 but is rank 0/ },
      { given: { ...given, serialized: strings([long, short]) }, attrs, expect: batch() },
    ];
  },
});

export const ParseSingleSequenceExample = defineOp({
  name: 'ParseSingleSequenceExample',
  inputs: {
    serialized: 'string',
    feature_list_dense_missing_assumed_empty: 'string',
    context_sparse_keys: 'Ncontext_sparse * string',
    context_dense_keys: 'Ncontext_dense * string',
    feature_list_sparse_keys: 'Nfeature_list_sparse * string',
    feature_list_dense_keys: 'Nfeature_list_dense * string',
    context_dense_defaults: 'Tcontext_dense',
    debug_name: 'string',
  },
  outputs: {
    context_sparse_indices: 'Ncontext_sparse * int64',
    context_sparse_values: 'context_sparse_types',
    context_sparse_shapes: 'Ncontext_sparse * int64',
    context_dense_values: 'Tcontext_dense',
    feature_list_sparse_indices: 'Nfeature_list_sparse * int64',
    feature_list_sparse_values: 'feature_list_sparse_types',
    feature_list_sparse_shapes: 'Nfeature_list_sparse * int64',
    feature_list_dense_values: 'feature_list_dense_types',
  },
  attrs: {
    Ncontext_sparse: countOrNone,
    Ncontext_dense: countOrNone,
    Nfeature_list_sparse: countOrNone,
    Nfeature_list_dense: countOrNone,
    context_sparse_types: featureTypesOrNone,
    Tcontext_dense: featureTypesOrNone,
    feature_list_dense_types: featureTypesOrNone,
    context_dense_shapes: shapesOrNone,
    feature_list_sparse_types: featureTypesOrNone,
    feature_list_dense_shapes: shapesOrNone,
  },
  hostInputs: [
    'feature_list_dense_missing_assumed_empty',
    'context_sparse_keys',
    'context_dense_keys',
    'feature_list_sparse_keys',
    'feature_list_dense_keys',
  ],
  shape({ serialized, feature_list_dense_missing_assumed_empty }, attrs) {
    needRank('serialized', serialized, 0);
    needRank('feature_list_dense_missing_assumed_empty', feature_list_dense_missing_assumed_empty, 1);
    return commonShapes([], attrs);
  },
  grad: none,
  lower(p, inputs, attrs) {
    checkAttrs(attrs);
    const { serialized, debug_name, context_dense_defaults } = inputs;
    if (serialized.shape.length !== 0)
      throw new InvalidArgumentError(`Expected serialized to be a scalar, got shape: ${showRuntime(serialized.shape)}`);
    const given = (values: readonly Value[]) => values.map((value) => bytesOf(p.demand(value))[0]!);
    const context = specOf(attrs, 'context', {
      sparse: given(inputs.context_sparse_keys),
      dense: given(inputs.context_dense_keys),
      ragged: [],
    });
    const lists = specOf(attrs, 'feature_list', {
      sparse: given(inputs.feature_list_sparse_keys),
      dense: given(inputs.feature_list_dense_keys),
      ragged: [],
    });
    const allowed = bytesOf(p.demand(inputs.feature_list_dense_missing_assumed_empty));
    const mayBeMissing = lists.dense.map(({ key }) => allowed.some((other) => Buffer.compare(key, other) === 0));
    return parsed(p, serialized, debug_name, context_dense_defaults, context, { ...lists, mayBeMissing });
  },
  cases() {
    const { long } = sequences();
    const attrs = { ...types, Ncontext_dense: 1 };
    const given = {
      feature_list_dense_missing_assumed_empty: noStrings,
      context_sparse_keys: ['w'],
      context_dense_keys: ['c'],
      feature_list_sparse_keys: ['y'],
      feature_list_dense_keys: ['x'],
      context_dense_defaults: [int64([], [0])],
      debug_name: 'n',
    };
    // biome-ignore format: a table reads better in rows
    return [
      { shape: '[], [0], [], [], [], [], [0], [] -> [?, 1], [?], [1], [], [?, 2], [?], [2], [?, 2]', attrs },
      { shape: '[?], [0], [], [], [], [], [0], []', attrs, rejects: /must be rank 0 but is rank 1/ },
      {
        given: { ...given, serialized: strings(long) },
        attrs,
        expect: {
          context_sparse_indices: [int64([[0], [1]])],
          context_sparse_values: [[0.5, 1.5]],
          context_sparse_shapes: [int64([2])],
          context_dense_values: [int64(5)],
          feature_list_sparse_indices: [int64([[0, 0], [2, 0], [2, 1]])],
          feature_list_sparse_values: [[1, 2, 3]],
          feature_list_sparse_shapes: [int64([3, 2])],
          feature_list_dense_values: [int64([[1, 2], [3, 4]])],
        },
      },
    ];
  },
});
