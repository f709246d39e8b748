/** @file Ragged features of Examples and sequence examples, divided in every way, as TensorFlow gives them. */
import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import * as tf from '../../../src/api/index.ts';

interface Golden {
  readonly examples: readonly Record<string, number[]>[];
  readonly cases: Record<string, Case>;
  /** Partitions that do not fit, and what is said of them; rows where nothing is. */
  readonly wrong: readonly { kind: string; numbers: number[]; batch: unknown; single: unknown }[];
}
interface Case {
  readonly partitions: [string, never][];
  readonly batch: unknown;
  readonly single: unknown;
  /** Of a batch of sequence examples, and of the first of them. */
  readonly context: readonly [unknown, unknown];
  readonly steps: readonly [unknown, unknown];
}
const golden: Golden = JSON.parse(
  readFileSync(new URL('../../golden/io/raggedFeatures.json', import.meta.url), 'utf8'),
);
const { RaggedFeature } = tf.io;
const { Example, Feature } = tf.train;
const featuresOf = (example: Record<string, number[]>) =>
  Object.fromEntries(Object.entries(example).map(([key, value]) => [key, new Feature({ int64List: { value } })]));
const recordOf = (example: Record<string, number[]>) =>
  new Example({ features: { feature: featuresOf(example) } }).serializeToString();
const records = golden.examples.map(recordOf);

/** As in tools/golden/raggedFeatures.py: examples as the steps of a sequence example. */
const sequenceOf = (steps: typeof golden.examples) => {
  const [first] = golden.examples;
  const lists = Object.keys(first!).map((key) => [key, { feature: steps.map((step) => featuresOf(step)[key]!) }]);
  const featureLists = { featureList: Object.fromEntries(lists) };
  return new tf.train.SequenceExample({ context: { feature: featuresOf(first!) }, featureLists }).serialize();
};
const sequences = [sequenceOf(golden.examples.slice(0, 2)), sequenceOf([]), sequenceOf(golden.examples.slice(2))];

beforeEach(() => tf.resetDefaultGraph());

describe('a ragged feature', () => {
  it.each(Object.entries(golden.cases))(
    'divided by %s',
    async (name, { partitions, batch, single, context, steps }) => {
      const feature = new RaggedFeature(tf.int64, {
        valueKey: 'v',
        partitions: partitions.map(([kind, argument]) => Reflect.get(RaggedFeature, kind)(argument)),
        rowSplitsDtype: name === 'ids' ? tf.int64 : tf.int32,
      });
      using session = new tf.Session();
      const many = await session.run(tf.parseExample(tf.constant(records), { x: feature }).x);
      expect(many.toArray()).toEqual(batch);
      const one = await session.run(tf.parseSingleExample(tf.constant(records[0]!), { x: feature }).x);
      expect(one.toArray()).toEqual(single);
      const batches = tf.data.Dataset.fromTensorSlices(tf.constant(records))
        .batch(3)
        .apply(tf.data.experimental.parseExampleDataset({ x: feature }));
      const ofDataset: unknown[] = [];
      for await (const { x } of batches) ofDataset.push((x as tf.ragged.RaggedTensorValue).toArray());
      expect(ofDataset).toEqual([batch]);
      const asked = { contextFeatures: { x: feature }, sequenceFeatures: { x: feature } };
      const all = tf.io.parseSequenceExample(tf.constant(sequences), asked);
      const alone = tf.io.parseSingleSequenceExample(tf.constant(sequences[0]!), asked);
      const found = await session.run([all[0].x, alone[0].x, all[1].x, alone[1].x]);
      expect(found.map((x) => (x as tf.ragged.RaggedTensorValue).toArray())).toEqual([...context, ...steps]);
    },
  );

  it.each(golden.wrong)('of $kind $numbers is checked where that is asked for', async (wrong) => {
    const partitions = [Reflect.get(RaggedFeature, wrong.kind)('p')];
    const x = new RaggedFeature(tf.int64, { valueKey: 'v', partitions, validate: true });
    const record = recordOf({ v: [7, 8], p: wrong.numbers });
    using session = new tf.Session();
    const outcome = (parsed: tf.RaggedTensor) =>
      session.run(parsed).then(
        (rows) => rows.toArray(),
        (error: Error) => /Arguments to \w+ do not form a valid [\w:]+/.exec(error.message)?.[0] ?? error.message,
      );
    expect(await outcome(tf.parseExample(tf.constant([record]), { x }).x)).toEqual(wrong.batch);
    expect(await outcome(tf.parseSingleExample(tf.constant(record), { x }).x)).toEqual(wrong.single);
  });

  it('of steps must have as many of them as its partitions', async () => {
    const x = new RaggedFeature(tf.int64, {
      valueKey: 'v',
      partitions: [RaggedFeature.RowLengths('lengths')],
      validate: true,
    });
    const step = (...value: number[]) => new Feature({ int64List: { value } });
    const featureList = { v: { feature: [step(1, 2), step(3)] }, lengths: { feature: [step(2), step(1), step()] } };
    const record = new tf.train.SequenceExample({ featureLists: { featureList } }).serialize();
    const [, steps] = tf.io.parseSequenceExample(tf.constant([record]), { sequenceFeatures: { x } });
    using session = new tf.Session();
    await expect(session.run(steps.x)).rejects.toThrow('Feature x: values and partitions are not aligned');
  });

  it('beside others, of values that several share', async () => {
    using session = new tf.Session();
    const { a, v, lengths } = tf.parseExample(tf.constant(records), {
      a: new RaggedFeature(tf.int64, { valueKey: 'v', partitions: [RaggedFeature.RowLengths('lengths')] }),
      v: new RaggedFeature(tf.int64),
      lengths: new RaggedFeature(tf.int64),
    });
    const found = await session.run([a, v, lengths]);
    expect(found.map((x) => (x as tf.ragged.RaggedTensorValue).toArray())).toEqual([
      golden.cases['lengths']!.batch,
      golden.cases['none']!.batch,
      golden.examples.map((example) => example['lengths']),
    ]);
  });

  it('cannot be asked for in two ways', () => {
    const parse = (features: Parameters<typeof tf.parseExample>[1]) => () =>
      tf.parseExample(tf.constant(records), features);
    expect(parse({ v: new tf.VarLenFeature(tf.int64), x: new RaggedFeature(tf.int64, { valueKey: 'v' }) })).toThrow(
      "Ragged and sparse keys must not intersect; 'v'",
    );
    expect(parse({ v: new RaggedFeature(tf.float32), x: new RaggedFeature(tf.int64, { valueKey: 'v' }) })).toThrow(
      /Conflicting type .*float32.* vs .*int64.* for feature v/,
    );
    expect(
      parse({
        v: new RaggedFeature(tf.int64),
        x: new RaggedFeature(tf.int64, { valueKey: 'v', rowSplitsDtype: tf.int64 }),
      }),
    ).toThrow(/Conflicting partition type/);
    expect(() => RaggedFeature.UniformRowLength(0)).toThrow('a row length is at least 1');
  });
});
