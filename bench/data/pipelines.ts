/** @file Rows about tf.data: elements through pipelines, in batches so that runs cost little, and one by one. */
import * as tf from '../../src/api/index.ts';
import type { Row, Work } from './row.ts';

/** Runs a pipeline from its beginning to its end. */
function pipeline(make: () => tf.data.Dataset): Work {
  const graph = new tf.Graph();
  const { iterator, next } = graph.asDefault(() => {
    const made = make().makeInitializableIterator();
    return { iterator: made, next: made.getNext() as tf.Tensor };
  });
  const session = new tf.Session({ graph, config: { intraOpParallelismThreads: 1, interOpParallelismThreads: 1 } });
  const begin = session.makeCallable(iterator.initializer);
  const step = session.makeCallable(next.op);
  return {
    async run() {
      await begin();
      try {
        for (;;) await step();
      } catch (error) {
        if (!(error instanceof tf.errors.OutOfRangeError)) throw error;
      }
    },
    close: () => session.close(),
  };
}

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
