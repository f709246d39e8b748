/** @file Whole input pipelines: files to batches, clean ends, errors that reach the coordinator, sessions closed meanwhile. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from 'tensorloom';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'tensorloom-pipelines-'));
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(() => tf.resetDefaultGraph());

/** Runs until the input is at its end; gives all results. */
async function drain<T>(sess: tf.Session, step: () => Promise<T>): Promise<T[]> {
  const coord = new tf.train.Coordinator();
  await sess.run([tf.globalVariablesInitializer(), tf.localVariablesInitializer()]);
  const threads = tf.train.startQueueRunners({ sess, coord });
  const results: T[] = [];
  try {
    while (!coord.shouldStop()) results.push(await step());
  } catch (error) {
    if (!(error instanceof tf.errors.OutOfRangeError)) throw error;
  } finally {
    coord.requestStop();
  }
  await coord.join(threads);
  for (const thread of threads) expect(thread.isAlive).toBe(false);
  return results;
}

describe('a pipeline of queues', () => {
  it('reads lines of files in epochs, as batches', async () => {
    const names = ['a', 'b'].map((name) => join(folder, `${name}.csv`));
    for (const [i, name] of names.entries()) writeFileSync(name, `x,y\n${i},1\n${i},2\n${i},3\n`);
    const queue = tf.train.stringInputProducer(names, { numEpochs: 2, shuffle: false });
    const [, line] = new tf.TextLineReader({ skipHeaderLines: 1 }).read(queue);
    const batch = tf.train.batch([line], { batchSize: 4 });
    const sess = new tf.Session();
    const batches = await drain(sess, () => sess.run(batch));
    const lines = batches.flatMap((b) => b.toArray() as string[]);
    expect(lines).toEqual(['0,1', '0,2', '0,3', '1,1', '1,2', '1,3', '0,1', '0,2', '0,3', '1,1', '1,2', '1,3']);
  });

  it('shuffles, and gives every element once', async () => {
    const count = 1000;
    const [x] = tf.train.sliceInputProducer([tf.range(count)], { numEpochs: 1, shuffle: false });
    const options = { batchSize: 7, capacity: 100, minAfterDequeue: 50, numThreads: 2, allowSmallerFinalBatch: true };
    const batch = tf.train.shuffleBatch([x!], options);
    const sess = new tf.Session();
    const batches = await drain(sess, () => sess.run(batch));
    const numbers = batches.flatMap((b) => b.numbers());
    expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, i) => i));
    expect(numbers).not.toEqual(numbers.toSorted((a, b) => a - b));
    expect(batches.at(-1)!.shape).toEqual([count % 7]);
  });

  it('joins several sources', async () => {
    const sources = [0, 100].map((start) => {
      const [x] = tf.train.sliceInputProducer([tf.range(start, start + 20)], { numEpochs: 1 });
      return { x: x!, from: tf.constant(start) };
    });
    const { x, from } = tf.train.batchJoin(sources, { batchSize: 5 });
    const sess = new tf.Session();
    const rows = (await drain(sess, () => sess.run([x, from]))).flatMap(([xs, froms]) =>
      xs.numbers().map((value, i) => [value, froms.numberAt(i)]),
    );
    expect(rows.every(([value, start]) => value! >= start! && value! < start! + 20)).toBe(true);
    expect(new Set(rows.map(([value]) => value)).size).toBe(40);
  });

  it('keeps what it is told to keep', async () => {
    const [x] = tf.train.sliceInputProducer([tf.range(20)], { numEpochs: 1, shuffle: false });
    const isEven = tf.equal(tf.floormod(x!, 2), 0);
    const batch = tf.train.maybeBatch([x!], isEven, { batchSize: 5 });
    const many = tf.train.maybeBatch([tf.range(6)], [true, false, true, false, false, true], {
      batchSize: 3,
      enqueueMany: true,
    });
    const sess = new tf.Session();
    const found = await drain(sess, () => sess.run([batch, many]));
    expect(found.flatMap(([b]) => b.numbers())).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
    expect(found[0]![1].toArray()).toEqual([0, 2, 5]);
  });

  it('pads elements that differ in size', async () => {
    const [n] = tf.train.sliceInputProducer([tf.range(1, 5)], { numEpochs: 1, shuffle: false });
    const x = tf.range(n!);
    const batch = tf.train.batch([x], { batchSize: 2, dynamicPad: true });
    const sess = new tf.Session();
    expect((await drain(sess, () => sess.run(batch))).map((b) => b.toArray())).toEqual([
      [
        [0, 0],
        [0, 1],
      ],
      [
        [0, 1, 2, 0],
        [0, 1, 2, 3],
      ],
    ]);
  });

  it('batches sparse tensors', async () => {
    const [n] = tf.train.sliceInputProducer([tf.range(4)], { numEpochs: 1, shuffle: false });
    const at = tf.expandDims(tf.cast(n!, tf.int64), 0);
    const sparse = new tf.SparseTensor(tf.expandDims(at, 0), tf.expandDims(n!.mul(10), 0), tf.constant([4], tf.int64));
    const [batch, plain] = tf.train.batch([sparse, n!], { batchSize: 2 });
    const sess = new tf.Session();
    const found = await drain(sess, () => sess.run([batch.indices, batch.values, batch.denseShape, plain]));
    expect(found.map((row) => row.map((array) => array.toArray()))).toEqual([
      [
        [
          [0, 0],
          [1, 1],
        ],
        [0, 10],
        [2, 4],
        [0, 1],
      ],
      [
        [
          [0, 2],
          [1, 3],
        ],
        [20, 30],
        [2, 4],
        [2, 3],
      ],
    ]);
  });

  it('hands an error of a runner to whoever joins', async () => {
    const x = tf.train.inputProducer(tf.constant([1, 2, 3]), { shuffle: false }).dequeue();
    const checked = tf.controlDependencies([tf.Assert(tf.less(x, 3), ['too large'])], () => tf.identity(x));
    const batch = tf.train.batch([checked], { batchSize: 2 });
    const sess = new tf.Session();
    const coord = new tf.train.Coordinator();
    const threads = tf.train.startQueueRunners({ sess, coord });
    expect((await sess.run(batch)).toArray()).toEqual([1, 2]);
    // The runner fails, the coordinator stops all, and the queue is closed.
    await expect(sess.run(batch)).rejects.toBeInstanceOf(tf.errors.OutOfRangeError);
    expect(coord.shouldStop()).toBe(true);
    await expect(coord.join(threads)).rejects.toThrow(/too large/);
  });

  it('ends when the session is closed', async () => {
    const x = tf.train.inputProducer(tf.constant([1, 2, 3])).dequeue();
    const batch = tf.train.batch([x], { batchSize: 2 });
    const sess = new tf.Session();
    const coord = new tf.train.Coordinator();
    const threads = tf.train.startQueueRunners({ sess, coord });
    await sess.run(batch);
    sess.close();
    await expect(coord.join(threads)).rejects.toBeInstanceOf(tf.errors.OpError);
    for (const thread of threads) expect(thread.isAlive).toBe(false);
  });

  it('leaves the event loop free', async () => {
    const x = tf.train.inputProducer(tf.constant([1, 2, 3])).dequeue();
    const batch = tf.train.batch([x], { batchSize: 100, capacity: 50 });
    const sess = new tf.Session();
    const coord = new tf.train.Coordinator();
    const threads = tf.train.startQueueRunners({ sess, coord });
    let ticks = 0;
    const timer = setInterval(() => ticks++, 1);
    for (let i = 0; i < 2000 && ticks < 3; i++) await sess.run(batch);
    clearInterval(timer);
    expect(ticks).toBeGreaterThanOrEqual(3);
    coord.requestStop();
    await coord.join(threads);
  });

  it('goes on after a meta graph', async () => {
    tf.train.batch([tf.train.inputProducer(tf.constant([5]), { numEpochs: 3 }).dequeue()], {
      batchSize: 3,
      name: 'all',
    });
    const meta = tf.train.exportMetaGraph();
    tf.resetDefaultGraph();
    tf.train.importMetaGraph(meta);
    const runners = tf.getCollection<tf.train.QueueRunner>(tf.GraphKeys.QUEUE_RUNNERS);
    expect(runners.map((runner) => runner.name)).toEqual(['input_producer/FIFOQueueV2', 'all/fifo_queue']);
    const sess = new tf.Session();
    const batches = await drain(sess, () => sess.run('all:0'));
    expect(batches.map((b) => b!.toArray())).toEqual([[5, 5, 5]]);
  });
});

describe('mistakes', () => {
  it('name the function that was called, and the form of its arguments', () => {
    // @ts-expect-error the options are an object
    expect(() => tf.train.maybeBatch([1], true, 2)).toThrow(/^tf\.train\.maybeBatch takes its options as an object/);
    // @ts-expect-error the options are an object
    expect(() => tf.train.batch([1], 2, 3)).toThrow(
      /^tf\.train\.batch takes batchSize .* the rest as an object .* got 3/,
    );
    expect(() => tf.train.batch([1], 2, { batchSize: 3 } as never)).toThrow(/batchSize was given twice/);
    // @ts-expect-error other queues take the shapes as an option
    expect(() => new tf.PaddingFIFOQueue(10, [tf.int32], { shapes: [[null]] })).toThrow(
      /Shapes are a list with one for each component, as in \[\[2, 3\], \[\]\], not \{"shapes":\[\[null\]\]\}/,
    );
  });

  it('tell of local variables that have no value: the counters of epochs', async () => {
    const queue = tf.train.stringInputProducer(['a'], { numEpochs: 1 });
    const sess = new tf.Session();
    const coord = new tf.train.Coordinator();
    const threads = tf.train.startQueueRunners({ sess, coord });
    await expect(sess.run(queue.dequeue())).rejects.toThrow(tf.errors.OutOfRangeError);
    coord.requestStop();
    await expect(coord.join(threads)).rejects.toThrow(/epochs.* does not exist.*tf\.localVariablesInitializer\(\)/);
    await sess.close();
  });
});

describe('QueueRunner', () => {
  it('keeps errors where there is no coordinator', async () => {
    const queue = new tf.FIFOQueue(10, tf.int32, { shapes: [[]] });
    const x = tf.placeholder(tf.int32, [], { name: 'nothing' });
    const runner = new tf.train.QueueRunner(queue, [queue.enqueue(x)]);
    const sess = new tf.Session();
    const write = vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
    const threads = runner.createThreads(sess, { start: true });
    expect(runner.createThreads(sess)).toEqual([]);
    await Promise.all(threads.map((thread) => thread.ended));
    expect(write.mock.calls.join()).toMatch(/Exception in QueueRunner/);
    write.mockRestore();
    expect(runner.exceptionsRaised).toHaveLength(1);
    expect(String(runner.exceptionsRaised[0])).toMatch(/nothing/);
    expect(runner.createThreads(sess)).toHaveLength(1);
  });

  it('closes the queue when the last of its operations ends', async () => {
    const queue = new tf.FIFOQueue(100, tf.int64, { shapes: [[]] });
    const counters = [3, 30].map((limit) => {
      const counter = new tf.Variable(0, { dtype: tf.int64 });
      return queue.enqueue(counter.countUpTo(limit));
    });
    const runner = new tf.train.QueueRunner(queue, counters);
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    const coord = new tf.train.Coordinator();
    const threads = runner.createThreads(sess, { coord, start: true });
    const value = queue.dequeue();
    let count = 0;
    for (; ; count++) {
      const error = await sess.run(value).then(
        () => undefined,
        (e: unknown) => e,
      );
      if (!error) continue;
      expect(error).toBeInstanceOf(tf.errors.OutOfRangeError);
      break;
    }
    expect(count).toBe(33);
    coord.requestStop();
    await coord.join(threads);
  });

  it('is written to messages and read back', () => {
    const queue = tf.nameScope('in', () => new tf.FIFOQueue(1, tf.int32, { name: 'q' }));
    const types = [tf.errors.CancelledError, tf.errors.OutOfRangeError];
    const runner = new tf.train.QueueRunner(queue, [queue.enqueue(1)], { queueClosedExceptionTypes: types });
    const def = runner.toProto('in')!;
    expect(def).toMatchObject({
      queue_name: 'q',
      enqueue_op_name: ['q_enqueue'],
      queue_closed_exception_types: [1, 11],
    });
    expect(runner.toProto('elsewhere')).toBeUndefined();
    const back = tf.train.QueueRunner.fromProto(runner.toProto()!);
    expect([back.name, back.closeOp.name, back.cancelOp.name]).toEqual(['in/q', 'q_Close', 'q_Close_1']);
    expect(back.queueClosedExceptionTypes).toEqual(types);
  });
});
