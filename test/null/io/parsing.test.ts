/** @file Parsing functions make TensorFlow's nodes and values; tf.train.Example writes and reads its bytes. */
import { readFileSync } from 'node:fs';
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import { SparseTensorValue } from '../../../src/graph/sparseTensor.ts';

interface Golden {
  readonly serialized: Readonly<Record<string, string>>;
  readonly cases: Readonly<Record<string, { readonly nodes: readonly string[]; readonly values: unknown }>>;
}
const golden = JSON.parse(readFileSync(new URL('../../golden/io/parsing.json', import.meta.url), 'utf8')) as Golden; // written by tools/golden/parsing.py

const bytes = (name: string) => new Uint8Array(Buffer.from(golden.serialized[name]!, 'base64'));
const batch = ['one', 'two', 'empty'].map(bytes);
const sequences = ['steps', 'short'].map(bytes);

const features = () => ({
  age: new tf.FixedLenFeature([], tf.int64, -1),
  name: new tf.VarLenFeature(tf.string),
  scores: new tf.FixedLenSequenceFeature([2], tf.float32, { allowMissing: true }),
  padded: tf.fixedLenSequenceFeature([], tf.float32, { allowMissing: true, defaultValue: 7 }),
  pair: tf.fixedLenFeature([2], tf.string, ['p', 'q']),
  line: new tf.SparseFeature('ix', 'value', tf.float32, 10),
  plane: tf.sparseFeature(['ix', 'iy'], 'value', tf.float32, [10, 3], { alreadySorted: true }),
});
const sparse = () => new tf.SparseTensor([[0, 1], [2, 0]], Float32Array.of(5, 6), [3, 4]); // biome-ignore format: a matrix

type Fetches = Readonly<Record<string, unknown>>;
const numbered = (list: readonly unknown[]): Fetches => Object.fromEntries(list.entries());

/** The cases of tools/golden/parsing.py. */
const cases: Readonly<Record<string, () => Fetches>> = {
  example: () => tf.parseExample(batch, features()),
  named: () =>
    tf.parseExample(
      batch.slice(0, 1),
      { age: tf.fixedLenFeature([], tf.int64) },
      { name: 'mine', exampleNames: ['first'] },
    ),
  single: () => tf.parseSingleExample(bytes('one'), features()),
  ofUnknownRank: () =>
    tf.parseSingleExample(tf.placeholderWithDefault(tf.constant(bytes('one')), null), {
      big: tf.varLenFeature(tf.int64),
    }),
  sequences: () =>
    numbered(
      tf.io.parseSequenceExample(sequences, {
        contextFeatures: { id: tf.fixedLenFeature([], tf.int64), tags: tf.varLenFeature(tf.string) },
        sequenceFeatures: {
          x: tf.fixedLenSequenceFeature([2], tf.float32),
          words: tf.varLenFeature(tf.string),
          none: tf.fixedLenSequenceFeature([3], tf.int64, { allowMissing: true }),
        },
      }),
    ),
  oneSequence: () =>
    numbered(
      tf.parseSingleSequenceExample(bytes('steps'), {
        contextFeatures: { id: tf.fixedLenFeature([], tf.int64) },
        sequenceFeatures: { x: tf.fixedLenSequenceFeature([2], tf.float32), words: tf.varLenFeature(tf.string) },
      }),
    ),
  raw: () => ({
    a: tf.decodeRaw(['abcd', 'efgh'], tf.uint16),
    b: tf.decodeRaw('ab', tf.int16, { littleEndian: false, name: 'turned' }),
  }),
  csv: () => numbered(tf.decodeCsv(['1,2.5,x', ',,"y ""z"""'], [[7], tf.constant([0.5]), ['']], { name: 'rows' })),
  selected: () =>
    numbered(
      tf.decodeCsv(tf.constant('1;NA;3'), [['?'], ['!']], { fieldDelim: ';', naValue: 'NA', selectCols: [1, 2] }),
    ),
  tensor: () => ({ a: tf.parseTensor(tf.serializeTensor([[1.5, 2]]), tf.float32) }),
  sparse: () => ({
    a: tf.deserializeManySparse(tf.serializeManySparse(sparse()), tf.float32, { rank: 1 }),
    b: tf.serializeSparse(sparse(), { name: 'whole' }),
  }),
  text: () => ({
    a: tf.encodeBase64(['a', 'bc'], { pad: true }),
    b: tf.decodeBase64('_-8'),
    c: tf.decodeJsonExample('{"features":{"feature":{"a":{"int64List":{"value":[1]}}}}}'),
    d: tf.decodeCompressed('plain'),
  }),
};

/** A value as tools/golden/parsing.py writes it: bytes as latin1 text, long integers as text. */
function plain(value: unknown): unknown {
  if (value instanceof SparseTensorValue) return [value.indices, value.values, value.denseShape].map(plain);
  if (value instanceof tf.NDArray) {
    const { dtype, shape } = value;
    const element = (i: number) =>
      dtype === tf.string ? Buffer.from(value.objects[i] as Uint8Array).toString('latin1') : value.at(i);
    let next = 0;
    const nested = (axis: number): unknown =>
      axis === shape.length
        ? ((x) => (typeof x === 'bigint' ? String(x) : x))(element(next++))
        : Array.from({ length: shape[axis]! }, () => nested(axis + 1));
    return nested(0);
  }
  return Object.fromEntries(Object.entries(value as Fetches).map(([key, x]) => [key, plain(x)])); // a record of results
}

describe('parsing as TensorFlow', () => {
  it('knows all cases', () => expect(Object.keys(cases).sort()).toEqual(Object.keys(golden.cases).sort()));

  for (const [name, make] of Object.entries(cases))
    it(name, async () => {
      const graph = new tf.Graph();
      const fetches = graph.asDefault(make);
      const nodes = graph.operations.map(({ nodeDef: { name, op, input } }) => `${name} = ${op}(${input.join(', ')})`);
      expect(nodes).toEqual(golden.cases[name]!.nodes);
      await using session = new tf.Session({ graph });
      expect(plain(await session.run(fetches as Record<string, tf.Tensor>))).toEqual(golden.cases[name]!.values); // sparse ones too
    });
});

describe('tf.train.Example', () => {
  const { Example, Feature, SequenceExample } = tf.train;
  const ints = (...value: (number | bigint)[]) => new Feature({ int64List: new tf.train.Int64List({ value }) });
  const floats = (...value: number[]) => new Feature({ floatList: { value } });
  const texts = (...value: (string | Uint8Array)[]) => new Feature({ bytesList: { value } });

  it('writes the bytes that Python writes', () => {
    const one = new Example({
      features: {
        feature: {
          age: ints(29),
          name: texts('Ann'),
          scores: floats(0.5, -1.25),
          ix: ints(4, 1),
          iy: ints(0, 2),
          value: floats(10, 20),
          big: ints(2n ** 63n - 1n, -(2n ** 63n)),
        },
      },
    });
    expect(one.serializeToString()).toEqual(bytes('one'));
    expect(new Example().serialize()).toEqual(bytes('empty'));
    const steps = new SequenceExample({
      context: { feature: { id: ints(5), tags: texts('a', 'b') } },
      featureLists: {
        featureList: {
          x: new tf.train.FeatureList({ feature: [floats(1, 2), floats(3, 4)] }),
          words: { feature: [texts('to'), texts(), texts('be', 'or')] },
        },
      },
    });
    expect(steps.serializeToString()).toEqual(bytes('steps'));
  });

  it('reads the bytes that Python writes', () => {
    for (const name of ['one', 'two', 'empty'])
      expect(Example.fromString(bytes(name)).serialize()).toEqual(bytes(name));
    for (const name of ['steps', 'short'])
      expect(SequenceExample.fromString(bytes(name)).serialize()).toEqual(bytes(name));
    const { feature } = Example.fromString(bytes('one')).features;
    expect(feature['big']!.int64List!.value).toEqual([2n ** 63n - 1n, -(2n ** 63n)]);
    expect(feature['age']!.kind).toBe('int64List');
  });

  it('is made of plain values', () => {
    const { feature } = Example.from({
      image: Uint8Array.of(1, 2),
      label: 3,
      weights: [0.5, 2],
      flags: [true, false],
      names: ['a', 'b'],
      whole: Float32Array.of(1),
      long: 5n,
    }).features;
    expect(feature['image']!.bytesList!.value).toEqual([Uint8Array.of(1, 2)]);
    expect(feature['label']!.int64List!.value).toEqual([3]);
    expect(feature['weights']!.floatList!.value).toEqual([0.5, 2]);
    expect(feature['flags']!.int64List!.value).toEqual([1, 0]);
    expect(feature['names']!.bytesList!.value).toHaveLength(2);
    expect(feature['whole']!.floatList!.value).toEqual([1]);
    expect(feature['long']!.int64List!.value).toEqual([5]);
  });

  it('refuses fields that it does not have, such as those of Python, instead of dropping them', () => {
    const { Example, Feature, Features, Int64List } = tf.train;
    // @ts-expect-error Python's name
    expect(() => new Feature({ int64_list: new Int64List({ value: [1] }) })).toThrow(/Did you mean 'int64List'/);
    // @ts-expect-error the list by itself
    expect(() => new Int64List([1, 2])).toThrow(/tf\.train\.Int64List takes its options as an object, but got \[1,2\]/);
    // @ts-expect-error one level is missing
    expect(() => new Example({ feature: {} })).toThrow(/tf\.train\.Example has no option 'feature'/);
    const inner = new Features({ feature: { x: new Feature({ floatList: { value: [1] } }) } });
    expect(new Example({ features: new Features(inner) }).serialize()).toEqual(
      new Example({ features: inner }).serialize(),
    );
  });

  it('refuses what does not fit', () => {
    expect(() => ints(1.5)).toThrow(/1.5 is not a whole number/);
    expect(() => ints(2n ** 63n)).toThrow(/does not fit in an Int64List/);
    expect(() => new Feature({ floatList: {}, int64List: {} })).toThrow(/only one of/);
    expect(() => Example.from({ a: [] })).toThrow(/empty list/);
    expect(() => Example.from({ a: [1, 'b'] })).toThrow(/both numbers and bytes/);
    expect(() => Example.fromString(Uint8Array.of(10, 200))).toThrow(tf.errors.DataLossError);
  });
});

describe('feature configurations', () => {
  const parse = (features: Parameters<typeof tf.parseExample>[1]) => () =>
    new tf.Graph().asDefault(() => tf.parseExample(batch, features));
  it('are checked', () => {
    expect(parse({})).toThrow(/cannot be empty/);
    expect(parse({ a: tf.fixedLenSequenceFeature([], tf.int64) })).toThrow(/requires allow_missing to be True/);
    expect(
      parse({
        a: tf.varLenFeature(tf.int64),
        b: tf.sparseFeature('a', 'v', tf.float32, 3),
        v: tf.varLenFeature(tf.string),
      }),
    ).toThrow(/Conflicting type/);
    expect(parse({ a: tf.fixedLenFeature([], tf.int64), b: tf.sparseFeature('a', 'v', tf.float32, 3) })).toThrow(
      /Dense and sparse keys must not intersect/,
    );
    const unknown = [null, 2] as readonly (number | null)[] as readonly number[]; // what untyped code may pass
    expect(parse({ a: tf.fixedLenFeature(unknown, tf.int64) })).toThrow(
      /First dimension of shape for feature a unknown/,
    );
    expect(() => tf.io.parseSequenceExample(sequences, {})).toThrow(/at least one should have values/);
  });

  it('take a default by itself or by name, and refuse misspelt options', async () => {
    const one = tf.train.Example.from({ x: 1 }).serialize();
    for (const feature of [
      tf.fixedLenFeature([1], tf.float32, [9]),
      tf.fixedLenFeature([1], tf.float32, { defaultValue: [9] }),
    ]) {
      const { none } = tf.parseSingleExample(one, { none: feature });
      expect((await new tf.Session().run(none)).toArray()).toEqual([9]);
    }
    // @ts-expect-error misspelt
    expect(() => tf.fixedLenFeature([], tf.float32, { defaultvalue: 1 })).toThrow(/Did you mean 'defaultValue'/);
    // @ts-expect-error misspelt
    expect(() => tf.fixedLenSequenceFeature([], tf.float32, { allowMising: true })).toThrow(
      /Did you mean 'allowMissing'/,
    );
  });

  it('of one key twice, the last counts; what is not asked for is not looked at', async () => {
    const { Example } = tf.train;
    const joined = Buffer.concat([Example.from({ a: 1, b: 'x' }).serialize(), Example.from({ a: 2 }).serialize()]);
    const graph = new tf.Graph();
    const { a } = graph.asDefault(() =>
      tf.parseExample([new Uint8Array(joined)], { a: tf.fixedLenFeature([], tf.int64) }),
    );
    await using session = new tf.Session({ graph });
    expect((await session.run(a)).toArray()).toEqual([2]);
  });

  it('are the caller’s own: whoever changes results changes neither a default nor another result', async () => {
    const graph = new tf.Graph();
    const serialized = tf.train.Example.from({ ids: [1, 2] }).serialize();
    const [ids, same, lone] = graph.asDefault(() => {
      const { ids } = tf.parseExample([serialized], { ids: tf.varLenFeature(tf.int64) });
      const { pair } = tf.parseSingleExample(serialized, { pair: tf.fixedLenFeature([2], tf.float32, [5, 6]) });
      return [ids.values, tf.identity(ids.values), pair] as const;
    });
    await using session = new tf.Session({ graph });
    for (let run = 0; run < 2; run++) {
      const [first, second, pair] = await session.run([ids, same, lone]);
      expect([first.toArray(), second.toArray(), pair.toArray()]).toEqual([[1, 2], [1, 2], [5, 6]]); // biome-ignore format: a row
      first.data.fill(9n as never); // int64s are bigints
      expect(second.toArray()).toEqual([1, 2]);
      pair.data.fill(9 as never); // floats are numbers
    }
  });
});
