/** @file ParseExample, ParseExampleV2 and ParseSingleExample: features of serialized examples as arrays. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { compatible, type Dims, type Shape, showRuntime } from '../../core/shape.ts';
import { Example } from '../../io/example.ts';
import { ExampleParser } from '../../io/examples/parseExamples.ts';
import { type ExampleResult, type ExampleSpec, isVariable } from '../../io/examples/spec.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { bytesOf } from '../string/text.ts';
import {
  checkDenseShapes,
  count,
  cut,
  featureTypes,
  joined,
  keys,
  needRank,
  needRankAtMost,
  raggedShapes,
  resultOf,
  shapes,
  sparseShapes,
  splitTypes,
} from './shapes.ts';

const none = gradientPending('TensorFlow has none');
const encoder = new TextEncoder();

/** The types and shapes of an op's features, as its attributes have them. */
interface Types {
  readonly sparse: readonly d.DType[];
  readonly dense: readonly d.DType[];
  readonly shapes: readonly Dims[];
  readonly ragged?: readonly d.DType[];
  readonly splits?: readonly d.DType[];
}

function checkTypes({ sparse, dense, shapes: dims, ragged = [], splits = [] }: Types, numSparse: number): void {
  if (numSparse !== sparse.length) throw new InvalidArgumentError('len(sparse_keys) != len(sparse_types)');
  if (dense.length !== dims.length) throw new InvalidArgumentError('len(dense_keys) != len(dense_shapes)');
  if (ragged.length !== splits.length) throw new InvalidArgumentError('len(ragged_keys) != len(ragged_split_types)');
  checkDenseShapes(dims);
}

/** The static shapes of what is parsed from `input`. */
function parsedShapes(input: Dims, types: Types, numSparse: number) {
  checkTypes(types, numSparse);
  const sparse = sparseShapes(numSparse, input, 1);
  return {
    sparse_indices: sparse.indices,
    sparse_values: sparse.values,
    sparse_shapes: sparse.shapes,
    dense_values: types.shapes.map((dims) => joined(input, dims)),
  };
}

interface Keys {
  readonly sparse: readonly Uint8Array[];
  readonly dense: readonly Uint8Array[];
  readonly ragged?: readonly Uint8Array[];
}

function specOf(names: Keys, types: Types): ExampleSpec {
  const checkCount = (what: string, given: number, wanted: number, type: string) => {
    if (given !== wanted)
      throw new InvalidArgumentError(`Expected len(${what}) == ${type} but got: ${given} vs. ${wanted}`);
  };
  checkCount('dense_keys', names.dense.length, types.dense.length, 'len(dense_types)');
  checkCount('sparse_keys', names.sparse.length, types.sparse.length, 'num_sparse');
  checkCount('ragged_keys', names.ragged?.length ?? 0, types.ragged?.length ?? 0, 'len(ragged_value_types)');
  return {
    dense: names.dense.map((key, i) => ({ key, dtype: types.dense[i]!, shape: types.shapes[i]! })),
    sparse: names.sparse.map((key, i) => ({ key, dtype: types.sparse[i]! })),
    ragged: (names.ragged ?? []).map((key, i) => ({
      key,
      dtype: types.ragged![i]!,
      splits: types.splits![i] === d.int64 ? d.int64 : d.int32,
    })),
  };
}

/** The defaults of dense features must fit them: one padding value, nothing, or all of the feature. */
function checkFallbacks(fallbacks: readonly Value[], dims: readonly Dims[]): void {
  for (const [i, { shape }] of fallbacks.entries()) {
    const size = shape.reduce((a, b) => a * b, 1);
    if (isVariable(dims[i]!)) {
      if (size !== 1)
        throw new InvalidArgumentError(
          `dense_shape[${i}] is a variable length shape: ${showRuntime(dims[i]!)}, therefore def_value[${i}] must contain a single element (the padding element).  But its shape is: ${showRuntime(shape)}`,
        );
    } else if (size > 0 && !compatible(dims[i]!, shape))
      throw new InvalidArgumentError(
        `def_value[${i}].shape() == ${showRuntime(shape)} is not compatible with dense_shapes_[${i}] == ${showRuntime(dims[i]!)}`,
      );
  }
}

/** Lowers any of these ops: a host call that parses, and its results by port. */
function parsed(
  p: ProgramBuilder,
  serialized: Value,
  names: Value | undefined,
  fallbacks: readonly Value[],
  spec: ExampleSpec,
) {
  checkFallbacks(
    fallbacks,
    spec.dense.map((feature) => feature.shape),
  );
  const { shape } = serialized;
  const isBatch = shape.length === 1;
  if (names !== undefined && !names.shape.includes(0) && !sameSizes(names.shape, shape))
    throw new InvalidArgumentError(
      `Expected names have the same shape as serialized: name.shape=${showRuntime(names.shape)}, serialized.shape=${showRuntime(shape)}`,
    );
  const parser = new ExampleParser(spec);
  const { dense, sparse, ragged } = spec;
  const results = [
    ...sparse.map(() => ({ dtype: d.int64 })),
    ...sparse.map(({ dtype }) => ({ dtype })),
    ...sparse.map(() => ({ dtype: d.int64 })),
    ...dense.map(({ dtype, shape: dims }) => resultOf(dtype, joined(shape, dims))),
    ...ragged.map(({ dtype }) => ({ dtype })),
    ...ragged.map(({ splits }) => ({ dtype: splits })),
  ];
  const inputs = [serialized, ...(names ? [names] : []), ...fallbacks];
  const flat = p.host(
    inputs,
    results,
    async (arrays) => {
      const [examples, ...rest] = arrays;
      const given = names ? bytesOf(rest[0]!) : [];
      const defaults = names ? rest.slice(1) : rest;
      const result = isBatch
        ? await parser.parseLater(bytesOf(examples!), given, defaults)
        : parser.parseOne(bytesOf(examples!)[0]!, defaults);
      return flatResult(result);
    },
    { isFresh: true },
  );
  const n = sparse.length;
  const parts = cut(flat, [n, n, n, dense.length, ragged.length, ragged.length]);
  const [sparse_indices, sparse_values, sparse_shapes, dense_values, ragged_values, ragged_row_splits] = parts;
  return { sparse_indices, sparse_values, sparse_shapes, dense_values, ragged_values, ragged_row_splits };
}

function flatResult({ dense, sparse, ragged }: ExampleResult): NDArray[] {
  return [
    ...sparse.map((s) => s.indices),
    ...sparse.map((s) => s.values),
    ...sparse.map((s) => s.shape),
    ...dense,
    ...ragged.map((r) => r.values),
    ...ragged.map((r) => r.splits),
  ];
}

const sameSizes = (a: Shape, b: Shape) => a.length === b.length && a.every((size, i) => size === b[i]);

/** Examples for the cases. */
const examples = () => ({
  one: Example.from({ a: [1, 2], b: [0.5, -1], c: ['x', 'yz'] }).serialize(),
  two: Example.from({ a: [3, -4], b: [1.5, 2.25, 8], d: 7 }).serialize(),
  nothing: new Example().serialize(),
});
const strings = (value: readonly (string | Uint8Array)[] | string | Uint8Array, shape?: readonly number[]) =>
  ({ dtype: 'string', value, ...(shape && { shape }) }) as const;
const noStrings = strings([], [0]);
const noInts = { dtype: 'int64', value: [], shape: [0] } as const;
const int64 = (value: unknown, shape?: readonly number[]) =>
  ({ dtype: 'int64', value: value as number[], ...(shape && { shape }) }) as const; // nested numbers in the cases below

export const ParseExampleV2 = defineOp({
  name: 'ParseExampleV2',
  inputs: {
    serialized: 'string',
    names: 'string',
    sparse_keys: 'string',
    dense_keys: 'string',
    ragged_keys: 'string',
    dense_defaults: 'Tdense',
  },
  outputs: {
    sparse_indices: 'num_sparse * int64',
    sparse_values: 'sparse_types',
    sparse_shapes: 'num_sparse * int64',
    dense_values: 'Tdense',
    ragged_values: 'ragged_value_types',
    ragged_row_splits: 'ragged_split_types',
  },
  attrs: {
    Tdense: featureTypes,
    num_sparse: count,
    sparse_types: featureTypes,
    ragged_value_types: featureTypes,
    ragged_split_types: splitTypes,
    dense_shapes: shapes,
  },
  hostInputs: ['sparse_keys', 'dense_keys', 'ragged_keys'],
  shape({ serialized, names }, attrs) {
    needRankAtMost('serialized', serialized, 1);
    needRankAtMost('names', names, 1);
    const ragged = raggedShapes(attrs.ragged_value_types.length, serialized);
    return {
      ...parsedShapes(serialized, typesOf(attrs), attrs.num_sparse),
      ragged_values: ragged.values,
      ragged_row_splits: ragged.splits,
    };
  },
  grad: none,
  lower(p, { serialized, names, sparse_keys, dense_keys, ragged_keys, dense_defaults }, attrs) {
    if (serialized.shape.length > 1)
      throw new InvalidArgumentError(
        `Expected serialized to be a scalar or vector, got shape: ${showRuntime(serialized.shape)}`,
      );
    checkTypes(typesOf(attrs), attrs.num_sparse);
    const names2 = {
      sparse: bytesOf(p.demand(sparse_keys)),
      dense: bytesOf(p.demand(dense_keys)),
      ragged: bytesOf(p.demand(ragged_keys)),
    };
    return parsed(p, serialized, names, dense_defaults, specOf(names2, typesOf(attrs)));
  },
  cases() {
    const { one, two, nothing } = examples();
    const dense = {
      Tdense: [d.int64],
      num_sparse: 0,
      sparse_types: [],
      ragged_value_types: [],
      ragged_split_types: [],
    };
    const keyed = { sparse_keys: noStrings, ragged_keys: noStrings };
    const given = { ...keyed, names: noStrings, dense_keys: ['a'], dense_defaults: [noInts] };
    const fixed = { ...dense, dense_shapes: [[2]] };
    const padded = { ...given, dense_keys: ['b'], dense_defaults: [{ dtype: 'float32', value: -1 }] } as const;
    const lists = {
      ...dense,
      Tdense: [],
      dense_shapes: [],
      num_sparse: 2,
      sparse_types: [d.float32, d.string],
      ragged_value_types: [d.int64],
      ragged_split_types: [d.int32],
    };
    const listed = {
      names: noStrings,
      sparse_keys: ['b', 'c'],
      dense_keys: noStrings,
      ragged_keys: ['a'],
      dense_defaults: [],
    };
    // biome-ignore format: a table reads better in rows
    return [
      { shape: '[5], [0], [0], [1], [0], [0] -> [5, 2]', attrs: fixed },
      { shape: '[], [0], [0], [1], [0], [0] -> [2]', attrs: fixed },
      { shape: '?, ?, [0], [1], [0], [0] -> ?', attrs: fixed },
      { shape: '[?], [?], [0], [1], [0], [] -> [?, ?, 3]', attrs: { ...dense, dense_shapes: [[null, 3]] } },
      {
        shape: '[?], [0], [2], [0], [1] -> [?, 2], [?, 2], [?], [?], [2], [2], [?], [?]',
        attrs: lists,
      },
      { shape: '[1, 5], [0], [0], [1], [0], [0]', attrs: fixed, rejects: /at most rank 1/ },
      { shape: '[5], [0], [0], [1], [0], [0]', attrs: { ...dense, dense_shapes: [[2, null]] }, rejects: /unknown inner dimensions: \[2,\?\]/ },
      { given: { ...given, serialized: strings([one, two]) }, attrs: fixed, expect: { dense_values: [int64([[1, 2], [3, -4]])] } },
      { given: { ...given, serialized: strings(two) }, attrs: fixed, expect: { dense_values: [int64([3, -4])] } },
      { given: { ...given, serialized: strings([], [0]) }, attrs: fixed, expect: { dense_values: [int64([], [0, 2])] } },
      {
        given: { ...given, serialized: strings([nothing, one]), dense_defaults: [int64([8, 9])] },
        attrs: fixed,
        expect: { dense_values: [int64([[8, 9], [1, 2]])] },
      },
      { given: { ...given, serialized: strings([one, nothing]) }, attrs: fixed, fails: /Name: <unknown>, Feature: a \(data type: int64\) is required but could not be found\./ },
      { given: { ...given, serialized: strings(nothing) }, attrs: fixed, fails: /Feature: a \(data type: int64\) is required/ },
      { given: { ...given, names: ['n'], serialized: strings([one]) }, attrs: { ...dense, dense_shapes: [[3]] }, fails: /Name: n, Key: a, Index: 0\. {2}Number of int64 values != expected\. {2}Values size: 2 but output shape: \[3\]/ },
      { given: { ...given, serialized: strings(one) }, attrs: { ...dense, dense_shapes: [[3]] }, fails: /Key: a\. {2}Can't parse serialized Example: Some int64_list slice was not parsed\./ },
      { given: { ...given, dense_keys: ['b'], serialized: strings([one]) }, attrs: fixed, fails: /Key: b, Index: 0\. {2}Data types don't match\. Data type: float but expected type: int64/ },
      { given: { ...given, serialized: strings([Uint8Array.of(10, 3, 10, 1)]) }, attrs: fixed, fails: /Could not parse example input, value: '/ },
      { given: { ...given, names: ['x', 'y'], serialized: strings([one]) }, attrs: fixed, fails: /Expected names have the same shape as serialized/ },
      {
        given: { ...padded, serialized: strings([one, nothing, two]) },
        attrs: { ...dense, Tdense: [d.float32], dense_shapes: [[null]] },
        expect: { dense_values: [[[0.5, -1, -1], [-1, -1, -1], [1.5, 2.25, 8]]] },
      },
      { given: { ...padded, serialized: strings(nothing) }, attrs: { ...dense, Tdense: [d.float32], dense_shapes: [[null, 2]] }, expect: { dense_values: [{ dtype: 'float32', value: [], shape: [0, 2] }] } },
      { given: { ...padded, serialized: strings([two]) }, attrs: { ...dense, Tdense: [d.float32], dense_shapes: [[null, 2]] }, fails: /Number of float values is not a multiple of stride length\. Saw 3 values but output shape is: \[\?,2\]/ },
      { given: { ...padded, serialized: strings(two) }, attrs: { ...dense, Tdense: [d.float32], dense_shapes: [[null, 2]] }, fails: /number of elements should be divisible by 2, found 3 instead/ },
      {
        given: { ...listed, serialized: strings([nothing, two, one]) },
        attrs: lists,
        expect: {
          sparse_indices: [int64([[1, 0], [1, 1], [1, 2], [2, 0], [2, 1]]), int64([[2, 0], [2, 1]])],
          sparse_values: [[1.5, 2.25, 8, 0.5, -1], ['x', 'yz']],
          sparse_shapes: [int64([3, 3]), int64([3, 2])],
          ragged_values: [int64([3, -4, 1, 2])],
          ragged_row_splits: [{ dtype: 'int32', value: [0, 0, 2, 4] }],
        },
      },
      {
        given: { ...listed, serialized: strings(two) },
        attrs: lists,
        expect: {
          sparse_indices: [int64([[0], [1], [2]]), int64([], [0, 1])],
          sparse_values: [[1.5, 2.25, 8], strings([], [0])],
          sparse_shapes: [int64([3]), int64([0])],
          ragged_values: [int64([3, -4])],
          ragged_row_splits: [{ dtype: 'int32', value: [], shape: [0] }],
        },
      },
      { given: { ...listed, sparse_keys: ['a', 'c'], serialized: strings([one]), ragged_keys: ['z'] }, attrs: lists, fails: /Key: a, Index: 0\. {2}Data types don't match\. Expected type: float, Actual type: int64/ },
    ];
  },
});

const typesOf = (attrs: {
  readonly Tdense: readonly d.DType[];
  readonly sparse_types: readonly d.DType[];
  readonly dense_shapes: readonly Dims[];
  readonly ragged_value_types?: readonly d.DType[];
  readonly ragged_split_types?: readonly d.DType[];
}): Types => ({
  sparse: attrs.sparse_types,
  dense: attrs.Tdense,
  shapes: attrs.dense_shapes,
  ragged: attrs.ragged_value_types ?? [],
  splits: attrs.ragged_split_types ?? [],
});

export const ParseExample = defineOp({
  name: 'ParseExample',
  inputs: {
    serialized: 'string',
    names: 'string',
    sparse_keys: 'Nsparse * string',
    dense_keys: 'Ndense * string',
    dense_defaults: 'Tdense',
  },
  outputs: {
    sparse_indices: 'Nsparse * int64',
    sparse_values: 'sparse_types',
    sparse_shapes: 'Nsparse * int64',
    dense_values: 'Tdense',
  },
  attrs: { Nsparse: count, Ndense: count, sparse_types: featureTypes, Tdense: featureTypes, dense_shapes: shapes },
  hostInputs: ['sparse_keys', 'dense_keys'],
  shape({ serialized, names }, attrs) {
    needRank('serialized', serialized, 1);
    needRank('names', names, 1);
    return parsedShapes(serialized ?? [null], typesOf(attrs), attrs.Nsparse);
  },
  grad: none,
  lower(p, { serialized, names, sparse_keys, dense_keys, dense_defaults }, attrs) {
    if (serialized.shape.length !== 1)
      throw new InvalidArgumentError(`Expected serialized to be a vector, got shape: ${showRuntime(serialized.shape)}`);
    const key = (value: Value) => bytesOf(p.demand(value))[0]!;
    const spec = specOf({ sparse: sparse_keys.map(key), dense: dense_keys.map(key) }, typesOf(attrs));
    return parsed(p, serialized, names, dense_defaults, spec);
  },
  cases() {
    const { one, two } = examples();
    const attrs = { Nsparse: 1, Ndense: 1, sparse_types: [d.string], Tdense: [d.int64], dense_shapes: [[2]] };
    const given = { names: noStrings, sparse_keys: ['c'], dense_keys: ['a'], dense_defaults: [noInts] };
    // biome-ignore format: a table reads better in rows
    return [
      { shape: '[?], [?], [], [], [0] -> [?, 2], [?], [2], [?, 2]', attrs },
      { shape: '[], [?], [], [], [0]', attrs, rejects: /must be rank 1 but is rank 0/ },
      {
        given: { ...given, serialized: strings([one, two]) },
        attrs,
        expect: {
          sparse_indices: [int64([[0, 0], [0, 1]])],
          sparse_values: [['x', 'yz']],
          sparse_shapes: [int64([2, 2])],
          dense_values: [int64([[1, 2], [3, -4]])],
        },
      },
    ];
  },
});

export const ParseSingleExample = defineOp({
  name: 'ParseSingleExample',
  inputs: { serialized: 'string', dense_defaults: 'Tdense' },
  outputs: {
    sparse_indices: 'num_sparse * int64',
    sparse_values: 'sparse_types',
    sparse_shapes: 'num_sparse * int64',
    dense_values: 'Tdense',
  },
  attrs: {
    num_sparse: count,
    sparse_keys: keys,
    dense_keys: keys,
    sparse_types: featureTypes,
    Tdense: featureTypes,
    dense_shapes: attr('list(shape)', { minimum: 0 }),
  },
  shape({ serialized }, attrs) {
    needRank('serialized', serialized, 0);
    if (attrs.sparse_keys.length !== attrs.sparse_types.length)
      throw new InvalidArgumentError('len(sparse_keys) != len(sparse_types)');
    if (attrs.dense_keys.length !== attrs.Tdense.length)
      throw new InvalidArgumentError('len(dense_keys) != len(dense_types)');
    return parsedShapes([], typesOf(attrs), attrs.num_sparse);
  },
  grad: none,
  lower(p, { serialized, dense_defaults }, attrs) {
    if (serialized.shape.length !== 0)
      throw new InvalidArgumentError(`Expected serialized to be a scalar, got shape: ${showRuntime(serialized.shape)}`);
    const encoded = (list: readonly string[]) => list.map((key) => encoder.encode(key));
    const spec = specOf({ sparse: encoded(attrs.sparse_keys), dense: encoded(attrs.dense_keys) }, typesOf(attrs));
    return parsed(p, serialized, undefined, dense_defaults, spec);
  },
  cases() {
    const { one } = examples();
    const attrs = {
      num_sparse: 1,
      sparse_keys: ['c'],
      dense_keys: ['a'],
      sparse_types: [d.string],
      Tdense: [d.int64],
      dense_shapes: [[null]],
    };
    // biome-ignore format: a table reads better in rows
    return [
      { shape: '[], [] -> [?, 1], [?], [1], [?]', attrs },
      { shape: '[?], []', attrs, rejects: /must be rank 0 but is rank 1/ },
      {
        given: { serialized: strings(one), dense_defaults: [int64(0)] },
        attrs,
        expect: {
          sparse_indices: [int64([[0], [1]])],
          sparse_values: [['x', 'yz']],
          sparse_shapes: [int64([2])],
          dense_values: [int64([1, 2])],
        },
      },
    ];
  },
});
