/** @file Damaged Examples and SequenceExamples, serialized and as JSON, one by one and in batches. */
import * as d from '../../src/core/dtypes.ts';
import { zeros } from '../../src/core/ndarray.ts';
import { Example, SequenceExample } from '../../src/io/example.ts';
import { ExampleParser } from '../../src/io/examples/parseExamples.ts';
import { parseSequences, parseSequencesLater } from '../../src/io/examples/parseSequences.ts';
import { exampleFromJson, examplesFromJson } from '../../src/io/jsonExample.ts';
import { among, encode, type Target } from './target.ts';

const keyed = (key: string) => ({ key: encode(key) });

const example = () =>
  Example.from({ a: [1, 2], b: [0.5, -1, 3], c: ['x', 'yz', ''], d: 7n, e: 'not asked for'.repeat(5) }).serialize();

const sequence = () =>
  new SequenceExample({
    context: { feature: { c: { int64List: { value: [5] } }, w: { floatList: { value: [0.5, 1.5] } } } },
    featureLists: {
      featureList: {
        x: { feature: [{ int64List: { value: [1, 2] } }, { int64List: { value: [3, 4] } }] },
        y: { feature: [{ bytesList: { value: ['a'] } }, {}, { bytesList: { value: ['b', 'c'] } }] },
      },
    },
  }).serialize();

const parser = new ExampleParser({
  dense: [
    { ...keyed('a'), dtype: d.int64, shape: [2] },
    { ...keyed('v'), dtype: d.float32, shape: [null, 2] },
  ],
  sparse: [
    { ...keyed('b'), dtype: d.float32 },
    { ...keyed('c'), dtype: d.string },
  ],
  ragged: [{ ...keyed('d'), dtype: d.int64, splits: d.int64 }],
});
const defaults = [zeros(d.int64, [2]), zeros(d.float32, [])];

const context = {
  dense: [{ ...keyed('c'), dtype: d.int64, shape: [] }],
  sparse: [{ ...keyed('w'), dtype: d.float32 }],
  ragged: [],
};
const lists = {
  dense: [{ ...keyed('x'), dtype: d.int64, shape: [2] }],
  sparse: [{ ...keyed('y'), dtype: d.string }],
  ragged: [],
  mayBeMissing: [true],
};

const jsonExample = encode(
  '{"features":{"feature":{"a":{"int64List":{"value":["1",2]}},"b":{"bytes_list":{"value":["YWI="]}}}}}',
);
const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

export const exampleTargets: readonly Target[] = [
  {
    name: 'examples',
    seeds: [example()],
    read(bytes) {
      parser.parse([example(), bytes], [], defaults);
      parser.parseOne(bytes, defaults);
      Example.fromString(bytes);
    },
  },
  {
    name: 'sequence examples',
    seeds: [sequence()],
    read(bytes) {
      parseSequences(context, lists, [bytes, sequence()], [], [zeros(d.int64, [0])], true);
      SequenceExample.fromString(bytes);
    },
  },
  {
    name: 'JSON examples',
    seeds: [jsonExample],
    read: (bytes) => exampleFromJson(textOf(bytes)),
  },
  {
    name: 'batches of examples',
    seeds: [example()],
    read: (bytes) => parser.parseLater(among(bytes, example()), [], defaults),
  },
  {
    name: 'batches of sequence examples',
    seeds: [sequence()],
    read: (bytes) => parseSequencesLater(context, lists, among(bytes, sequence()), [], [zeros(d.int64, [0])], true),
  },
  {
    name: 'batches of JSON examples',
    seeds: [jsonExample],
    read: (bytes) => examplesFromJson(among(bytes, jsonExample), textOf),
  },
];
