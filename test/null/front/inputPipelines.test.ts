/** @file Input pipelines of queues add the nodes that TensorFlow's add, under the same names. */
import { readFileSync } from 'node:fs';
import * as tf from 'tensorloom';
import { beforeEach, describe, expect, it } from 'vitest';

interface GoldenNode {
  readonly name: string;
  readonly op: string;
  readonly inputs: readonly string[];
  readonly shapes: readonly (readonly (number | null)[] | null)[];
}
const golden = JSON.parse(
  readFileSync(new URL('../../golden/front/inputPipelines.json', import.meta.url), 'utf8'),
) as Record<string, readonly GoldenNode[]>;

const element = () => [tf.constant([1, 2], { dtype: tf.float32, name: 'x' }), tf.constant(3, { name: 'y' })] as const;
const rows = (name: string) => tf.constant([[1], [2]], { dtype: tf.float32, name });

const builders: Record<string, () => unknown> = {
  string_producer: () => tf.train.stringInputProducer(['a', 'b'], { numEpochs: 2, seed: 1 }),
  plain_producer: () => tf.train.inputProducer(rows('rows'), { shuffle: false }),
  reading() {
    const queue = tf.train.stringInputProducer(['a', 'b'], { shuffle: false, name: 'files' });
    const [, line] = new tf.TextLineReader({ skipHeaderLines: 1 }).read(queue);
    tf.train.batch([line], { batchSize: 3 });
  },
  slices() {
    const [x, y] = tf.train.sliceInputProducer([rows('a'), tf.constant([3, 4], { name: 'b' })], { numEpochs: 1 });
    const options = { batchSize: 2, numThreads: 2, allowSmallerFinalBatch: true, name: 'pairs' };
    tf.train.batch({ x: x!, y: y! }, options);
  },
  range_producer: () => tf.train.rangeInputProducer(5, { capacity: 8, name: 'numbers' }),
  shuffled: () => tf.train.shuffleBatch(element(), { batchSize: 4, capacity: 20, minAfterDequeue: 10, seed: 7 }),
  many: () => tf.train.batch([rows('x')], { batchSize: 4, enqueueMany: true, capacity: 16 }),
  padded: () =>
    tf.train.batch([tf.placeholder(tf.float32, [null, 3], { name: 'x' })], { batchSize: 4, dynamicPad: true }),
  joined() {
    tf.train.batchJoin([element(), element()], { batchSize: 4 });
    tf.train.shuffleBatchJoin([element(), element()], { batchSize: 4, capacity: 20, minAfterDequeue: 10 });
  },
  kept_rows() {
    const x = rows('x');
    tf.train.maybeBatch([x], tf.constant([true, false], { name: 'keep' }), { batchSize: 4, enqueueMany: true });
  },
  kept() {
    const tensors = element();
    tf.train.maybeBatch(tensors, tf.placeholder(tf.bool, [], { name: 'keep' }), { batchSize: 4 });
  },
  sparse() {
    const sparse = new tf.SparseTensor(
      tf.constant([[0, 1]], { dtype: tf.int64, name: 'i' }),
      tf.constant([5], { dtype: tf.float32, name: 'v' }),
      tf.constant([2, 3], { dtype: tf.int64, name: 's' }),
    );
    tf.train.batch([sparse, tf.constant(1, { name: 'd' })], { batchSize: 2 });
  },
  queues() {
    const q = new tf.RandomShuffleQueue(10, 2, tf.int32, { shapes: [[]], seed: 3 });
    q.enqueue([1]);
    new tf.PaddingFIFOQueue(10, tf.int32, [[null]]).dequeueMany(2);
    new tf.PriorityQueue(10, tf.string, { shapes: [[]] }).dequeue();
    tf.QueueBase.fromList(0, [q, new tf.RandomShuffleQueue(10, 2, tf.int32, { shapes: [[]], sharedName: 'shared' })]);
    const reader = new tf.WholeFileReader();
    reader.numRecordsProduced();
    reader.reset();
  },
};

beforeEach(() => tf.resetDefaultGraph());

describe('input pipelines', () => {
  for (const [name, nodes] of Object.entries(golden))
    it(`build ${name}`, () => {
      builders[name]!();
      const built = tf.getDefaultGraph().operations.map(({ name, type, inputs, controlInputs, outputs }) => ({
        name,
        op: type,
        inputs: [...inputs.map((t) => t.name), ...controlInputs.map((op) => `^${op.name}`)],
        shapes: outputs.map((t) => t.shape),
      }));
      expect(built).toEqual(nodes);
    });
});
