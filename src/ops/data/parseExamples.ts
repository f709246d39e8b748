/** @file Datasets of batches of serialized Examples, parsed. */
import { type DType, float32, int32, int64, string, variant } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import type { Dims } from '../../core/shape.ts';
import { ExampleParser } from '../../io/examples/parseExamples.ts';
import { attr } from '../../op/attrs.ts';
import { RaggedVariant } from '../ragged/variants.ts';
import { Dataset, datasetIn, type Element } from './dataset.ts';
import { datasetOp, deterministic, elementAttrs, flag, keepsOrder, scalarOf } from './kit.ts';
import { parallelCalls } from './map.ts';
import { ParallelCalls } from './parallel.ts';

const texts = attr('list(string)', { minimum: 0 });
const featureTypes = attr('list(type)', { minimum: 0, allowed: [float32, int64, string] });
const features = {
  sparse_keys: texts,
  dense_keys: texts,
  sparse_types: featureTypes,
  Tdense: featureTypes,
  dense_shapes: attr('list(shape)', { minimum: 0 }),
} as const;
const ragged = {
  ragged_keys: attr('list(string)', { minimum: 0, default: [] }),
  ragged_value_types: attr('list(type)', { minimum: 0, default: [], allowed: [float32, int64, string] }),
  ragged_split_types: attr('list(type)', { minimum: 0, default: [], allowed: [int32, int64] }),
} as const;

interface Features {
  readonly sparse_keys: readonly string[];
  readonly dense_keys: readonly string[];
  readonly sparse_types: readonly DType[];
  readonly Tdense: readonly DType[];
  readonly dense_shapes: readonly Dims[];
  readonly ragged_keys?: readonly string[];
  readonly ragged_value_types?: readonly DType[];
  readonly ragged_split_types?: readonly DType[];
}

const bytes = (text: string) => new TextEncoder().encode(text);

/** Parses a batch: a component per feature, in the order of their keys; sparse and ragged ones as variants. */
function parserOf(asked: Features, defaults: readonly NDArray[]): (batch: Element) => Promise<Element> {
  const { sparse_keys, dense_keys, sparse_types, Tdense, dense_shapes, ragged_keys = [] } = asked;
  const dense = dense_keys.map((key, i) => ({ key: bytes(key), dtype: Tdense[i]!, shape: dense_shapes[i]! }));
  const sparse = sparse_keys.map((key, i) => ({ key: bytes(key), dtype: sparse_types[i]! }));
  const ragged = ragged_keys.map((key, i) => ({
    key: bytes(key),
    dtype: asked.ragged_value_types![i]!,
    splits: asked.ragged_split_types![i] === int32 ? int32 : int64,
  }));
  const parser = new ExampleParser({ dense, sparse, ragged });
  const order = [...dense, ...sparse, ...ragged]
    .map(({ key }, i) => ({ key, i }))
    .sort((a, b) => Buffer.compare(a.key, b.key));
  return async ([serialized]) => {
    if (serialized?.dtype !== string || serialized.rank !== 1)
      throw new InvalidArgumentError('Expected serialized to be a vector of strings; batch the examples first.');
    const parsed = await parser.parseLater(serialized.objects as Uint8Array[], [], defaults); // strings are bytes
    const all = [
      ...parsed.dense,
      ...parsed.sparse.map(({ indices, values, shape }) => new NDArray(variant, [3], [indices, values, shape])),
      ...parsed.ragged.map(({ splits, values }) => new NDArray(variant, [], [new RaggedVariant([splits], values)])),
    ];
    return order.map(({ i }) => all[i]!);
  };
}

const parseOp = (name: string, last: object) =>
  datasetOp({
    name,
    inputs: { input_dataset: 'variant', num_parallel_calls: 'int64', dense_defaults: 'Tdense' },
    attrs: { ...features, ...elementAttrs, ...last },
    make({ input_dataset, num_parallel_calls, dense_defaults }, attrs) {
      const input = datasetIn(input_dataset);
      const room = parallelCalls(scalarOf(num_parallel_calls, 'num_parallel_calls'));
      const parse = parserOf(attrs, dense_defaults);
      return new Dataset({
        kind: 'ParseExample',
        types: attrs.output_types,
        shapes: attrs.output_shapes,
        sharesMemory: false,
        cardinality: () => input.cardinality,
        iterate(scope) {
          const calls = { room, keepsOrder: keepsOrder(attrs, scope) };
          return new ParallelCalls(input.iterate(scope), scope, calls, parse);
        },
      });
    },
  });

export const ParseExampleDatasetV2 = parseOp('ParseExampleDatasetV2', { deterministic, ...ragged });
export const ParseExampleDataset = parseOp('ParseExampleDataset', { sloppy: flag(false), ...ragged });
export const ExperimentalParseExampleDataset = parseOp('ExperimentalParseExampleDataset', { sloppy: flag(false) });
