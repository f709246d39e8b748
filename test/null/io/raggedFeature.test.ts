/** @file Ragged features of Examples, divided in every way, as TensorFlow gives them. */
import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import * as tf from '../../../src/api/index.ts';

interface Golden {
  readonly examples: readonly Record<string, number[]>[];
  readonly cases: Record<string, { partitions: [string, never][]; batch: unknown; single: unknown }>;
}
const golden: Golden = JSON.parse(
  readFileSync(new URL('../../golden/io/raggedFeatures.json', import.meta.url), 'utf8'),
);
const { RaggedFeature } = tf.io;
const { Example, Feature } = tf.train;
const records = golden.examples.map((example) => {
  const features = Object.entries(example).map(([key, value]) => [key, new Feature({ int64List: { value } })] as const);
  return new Example({ features: { feature: Object.fromEntries(features) } }).serializeToString();
});

beforeEach(() => tf.resetDefaultGraph());

describe('a ragged feature', () => {
  it.each(Object.entries(golden.cases))('divided by %s', async (name, { partitions, batch, single }) => {
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
