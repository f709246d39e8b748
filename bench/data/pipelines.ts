/** @file Rows about tf.data: elements through pipelines, in batches so that runs cost little, and one by one. */
import * as tf from '../../src/api/index.ts';
import { pipeline } from './pipeline.ts';
import type { Row } from './row.ts';

const row = (name: string, amount: number, make: () => tf.data.Dataset): Row => ({
  name,
  unit: 'elements',
  amount,
  prepare: async () => pipeline(make),
});

const { Dataset } = tf.data;

export const pipelineRows: readonly Row[] = [
  row('data_one_by_one', 5000, () => Dataset.range(5000)),
  row('data_range_batch', 200_000, () => Dataset.range(200_000).batch(1000)),
  row('data_map', 20_000, () =>
    Dataset.range(20_000)
      .map((x) => x.mul(2))
      .batch(1000),
  ),
  row('data_map_in_parallel', 20_000, () =>
    Dataset.range(20_000)
      .map((x) => x.mul(2), { numParallelCalls: 4 })
      .batch(1000),
  ),
  row('data_filter', 20_000, () =>
    Dataset.range(20_000)
      .filter((x) => tf.equal(tf.floormod(x, 2), 0))
      .batch(1000),
  ),
  row('data_shuffled_images', 20_000, () =>
    Dataset.fromTensorSlices(tf.zeros([2000, 784]))
      .repeat(10)
      .shuffle(5000, { seed: 1 })
      .batch(128),
  ),
];
