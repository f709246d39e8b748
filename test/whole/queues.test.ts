/** @file Queues through sessions: order, waiting, closing, cancelling, several runs at once and several ops of one run. */
import * as tf from 'tensorloom';
import { beforeEach, describe, expect, it } from 'vitest';
import { node } from '../../src/op/node.ts';

beforeEach(() => tf.resetDefaultGraph());

const numbers = (array: tf.NDArray) => array.toArray();

/** Lets everything go on that can go on without more input. */
const settle = async () => {
  for (let i = 0; i < 300; i++) await new Promise(setImmediate);
};

/** A promise, and whether it has settled. */
function watched<T>(promise: Promise<T>) {
  const state = { isDone: false, promise };
  const done = () => {
    state.isDone = true;
  };
  promise.then(done, done);
  return state;
}

describe('FIFOQueue', () => {
  it('gives elements in their order, one by one and as batches', async () => {
    const q = new tf.FIFOQueue(10, [tf.int32, tf.string], { shapes: [[2], []] });
    const x = tf.placeholder(tf.int32, [2]);
    const enqueue = q.enqueue([x, tf.asString(x.reduceSum())]);
    const one = q.dequeue();
    const two = q.dequeueMany(2);
    const sess = new tf.Session();
    for (let i = 0; i < 3; i++) await sess.run(enqueue, [[x, [i, 10 * i]]]);
    expect(Number(await sess.run(q.size()))).toBe(3);
    expect((await sess.run(one)).map(numbers)).toEqual([[0, 0], '0']);
    expect((await sess.run(two)).map(numbers)).toEqual([
      [
        [1, 10],
        [2, 20],
      ],
      ['11', '22'],
    ]);
    expect(two[0].shape).toEqual([2, 2]);
    expect(one[1].shape).toEqual([]);
  });

  it('keeps the names that Python gives', () => {
    const q = new tf.FIFOQueue(10, tf.float32, { shapes: [[]] });
    q.enqueue(1.5);
    q.enqueueMany([[1.5, 2]]);
    tf.nameScope('in', () => q.dequeue());
    q.dequeueMany(2);
    q.dequeueUpTo(2);
    q.size();
    q.isClosed();
    q.close();
    expect(tf.getDefaultGraph().operations.map((op) => `${op.name} ${op.type}`)).toEqual([
      'fifo_queue FIFOQueueV2',
      'fifo_queue_enqueue/component_0 Const',
      'fifo_queue_enqueue QueueEnqueueV2',
      'fifo_queue_EnqueueMany/component_0 Const',
      'fifo_queue_EnqueueMany QueueEnqueueManyV2',
      'in/fifo_queue_Dequeue QueueDequeueV2',
      'fifo_queue_DequeueMany/n Const',
      'fifo_queue_DequeueMany QueueDequeueManyV2',
      'fifo_queue_DequeueUpTo/n Const',
      'fifo_queue_DequeueUpTo QueueDequeueUpToV2',
      'fifo_queue_Size QueueSizeV2',
      'fifo_queue_Is_Closed QueueIsClosedV2',
      'fifo_queue_Close QueueCloseV2',
    ]);
  });

  it('has runs wait for elements and for room, first come, first served', async () => {
    const q = new tf.FIFOQueue(2, tf.int32, { shapes: [[]] });
    const x = tf.placeholder(tf.int32, []);
    const enqueue = q.enqueue(x);
    const dequeue = q.dequeue();
    const sess = new tf.Session();
    const takers = [1, 2, 3].map(() => sess.run(dequeue).then(Number));
    await settle();
    for (const value of [7, 8, 9]) await sess.run(enqueue, [[x, value]]);
    expect(await Promise.all(takers)).toEqual([7, 8, 9]);

    const givers = [1, 2, 3, 4].map((value) => watched(sess.run(enqueue, [[x, value]])));
    await settle();
    expect(givers.map((g) => g.isDone)).toEqual([true, true, false, false]);
    expect(Number(await sess.run(dequeue))).toBe(1);
    await settle();
    expect(givers.map((g) => g.isDone)).toEqual([true, true, true, false]);
    for (const value of [2, 3, 4]) expect(Number(await sess.run(dequeue))).toBe(value);
    await givers[3]!.promise;
  });

  it('gives batches that are larger than itself, and takes them', async () => {
    const q = new tf.FIFOQueue(2, tf.int32, { shapes: [[]] });
    const enqueue = q.enqueueMany([[0, 1, 2, 3, 4, 5, 6]]);
    const batch = q.dequeueMany(7);
    const sess = new tf.Session();
    const [result] = await Promise.all([sess.run(batch), sess.run(enqueue)]);
    expect(result.toArray()).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect((await sess.run(q.dequeueMany(0))).shape).toEqual([0]);
  });

  it('ends in the words of TensorFlow when it is closed', async () => {
    const q = new tf.FIFOQueue(10, tf.int32, { shapes: [[]], name: 'q' });
    const sess = new tf.Session();
    await sess.run(q.enqueueMany([[1, 2, 3]]));
    const isClosed = q.isClosed();
    expect((await sess.run(isClosed)).item()).toBe(false);
    await sess.run(q.close());
    expect((await sess.run(isClosed)).item()).toBe(true);
    await expect(sess.run(q.enqueue(4))).rejects.toThrow(/FIFOQueue '_\d+_q' is closed\./);
    await expect(sess.run(q.enqueue(4))).rejects.toBeInstanceOf(tf.errors.CancelledError);
    await expect(sess.run(q.close())).rejects.toThrow(/Queue '_\d+_q' is already closed\./);
    expect(Number(await sess.run(q.dequeue()))).toBe(1);
    const error = await sess.run(q.dequeueMany(3)).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(tf.errors.OutOfRangeError);
    expect(String(error)).toMatch(
      /FIFOQueue '_\d+_q' is closed and has insufficient elements \(requested 3, current size 2\)/,
    );
    expect((await sess.run(q.dequeueUpTo(3))).toArray()).toEqual([2, 3]);
    await expect(sess.run(q.dequeueUpTo(3))).rejects.toThrow(/insufficient elements \(requested 3, current size 0\)/);
    await expect(sess.run(q.dequeue())).rejects.toThrow(/insufficient elements \(requested 1, current size 0\)/);
  });

  it('serves enqueues that wait before it closes, or cancels them', async () => {
    const q = new tf.FIFOQueue(1, tf.int32, { shapes: [[]] });
    const sess = new tf.Session();
    const dequeue = q.dequeue();
    await sess.run(q.enqueue(1));
    const pending = watched(sess.run(q.enqueue(2)));
    await settle();
    const closing = watched(sess.run(q.close()));
    await settle();
    expect([pending.isDone, closing.isDone]).toEqual([false, false]);
    expect(Number(await sess.run(dequeue))).toBe(1);
    await Promise.all([pending.promise, closing.promise]);
    expect(Number(await sess.run(dequeue))).toBe(2);
    await expect(sess.run(dequeue)).rejects.toThrow(/is closed/);

    const other = new tf.FIFOQueue(1, tf.int32, { shapes: [[]] });
    await sess.run(other.enqueue(1));
    const cancelled = sess.run(other.enqueueMany([[2, 3]])).catch((e: unknown) => e);
    await settle();
    await sess.run(other.close({ cancelPendingEnqueues: true }));
    expect(String(await cancelled)).toMatch(/Enqueue operation was cancelled/);
    expect(Number(await sess.run(other.dequeue()))).toBe(1);
  });

  it('ends dequeues that wait when it is closed', async () => {
    const q = new tf.FIFOQueue(10, tf.int32, { shapes: [[]] });
    const sess = new tf.Session();
    await sess.run(q.enqueueMany([[1, 2]]));
    const many = sess.run(q.dequeueMany(3)).catch((e: unknown) => e);
    await settle();
    const upTo = sess.run(q.dequeueUpTo(3));
    await settle();
    await sess.run(q.close());
    expect(String(await many)).toMatch(/requested 1, current size 0/);
    expect((await upTo).toArray()).toEqual([1, 2]);
  });

  it('refuses elements of other types and shapes', async () => {
    const q = new tf.FIFOQueue(10, [tf.int32, tf.float32], { shapes: [[], [2]] });
    expect(() => q.enqueue([1, [1.5, 2, 3]])).toThrow(/Component 1 has shape \[3\].*\[2\]/);
    expect(() => q.enqueue([1])).toThrow(/2 components, but 1/);
    expect(() => q.enqueueMany([1, [[1.5, 2]]])).toThrow(/scalar/);
    expect(() => q.enqueueMany([[1, 2], [[1.5, 2]]])).toThrow(/1 rows.*2/);
    const x = tf.placeholder(tf.float32, null);
    const sess = new tf.Session();
    await expect(sess.run(q.enqueue([1, x]), [[x, [1, 2, 3]]])).rejects.toThrow(
      'Shape mismatch in tuple component 1. Expected [2], got [3]',
    );
    await expect(sess.run(q.enqueueMany([[1, 2], x]), [[x, [[1, 2]]]])).rejects.toThrow(
      'Shape mismatch in tuple component 1. Expected [2,2], got [1,2]',
    );
    const free = new tf.FIFOQueue(10, [tf.int32, tf.float32]);
    await expect(sess.run(free.enqueueMany([[1, 2], x]), [[x, [[1, 2]]]])).rejects.toThrow(
      'All input tensors must have the same size in the 0th dimension. Component 1 has 1, and should have 2',
    );
    await expect(sess.run(free.dequeueMany(2))).rejects.toThrow(
      "FIFOQueue's DequeueMany and DequeueUpTo require the components to have specified shapes.",
    );
  });

  it('has no times of its own, as TensorFlow has none yet', async () => {
    const q = new tf.FIFOQueue(3, tf.int32);
    const handle = { handle: q.queueRef };
    const types = { component_types: [tf.int32], timeout_ms: 5 };
    const late = [
      node('QueueEnqueueV2', { ...handle, components: [1] }, { attrs: { timeout_ms: 5 } }),
      node('QueueDequeueV2', handle, { attrs: types }),
      node('QueueDequeueManyV2', { ...handle, n: 1 }, { attrs: types }),
    ];
    await using sess = new tf.Session();
    for (const op of late) await expect(sess.run(op)).rejects.toThrow(/Timeout not supported yet/);
  });

  it('holds elements of any shape when none is declared', async () => {
    const q = new tf.FIFOQueue(10, tf.float32);
    const x = tf.placeholder(tf.float32, null);
    const enqueue = q.enqueue(x);
    const total = q.dequeue().reduceSum();
    const sess = new tf.Session();
    for (const value of [
      1,
      [1, 2],
      [
        [3, 4],
        [5, 6],
      ],
    ])
      await sess.run(enqueue, [[x, value]]);
    for (const sum of [1, 3, 18]) expect(Number(await sess.run(total))).toBe(sum);
  });

  it('takes and gives records by name', async () => {
    const q = new tf.FIFOQueue(10, [tf.int32, tf.float32], { names: ['i', 'f'], shapes: [[], []] });
    const sess = new tf.Session();
    await sess.run(q.enqueue({ f: 2.5, i: 1 }));
    const { i, f } = q.dequeue();
    expect((await sess.run([i!, f!])).map(Number)).toEqual([1, 2.5]);
    expect(() => q.enqueue([1, 2.5])).toThrow(/must enqueue a dictionary/);
    expect(() => q.enqueue({ i: 1 })).toThrow(/do not match/);
    expect(() => new tf.FIFOQueue(10, tf.int32).enqueue({ i: 1 })).toThrow(/must have names/);
  });

  it('is shared by name, and by all else its own', async () => {
    const a = new tf.FIFOQueue(10, tf.int32, { shapes: [[]], sharedName: 'common' });
    const b = new tf.FIFOQueue(10, tf.int32, { shapes: [[]], sharedName: 'common' });
    const sess = new tf.Session();
    await sess.run(a.enqueue(5));
    expect(Number(await sess.run(b.dequeue()))).toBe(5);
    const other = new tf.FIFOQueue(11, tf.int32, { shapes: [[]], sharedName: 'common' });
    await expect(sess.run(other.size())).rejects.toThrow(
      "Shared queue 'common' has capacity 10 but requested capacity was 11",
    );
    const typed = new tf.FIFOQueue(10, tf.float32, { shapes: [[]], sharedName: 'common' });
    await expect(sess.run(typed.size())).rejects.toThrow(
      /component types int32 but requested component types were float/,
    );
    const shaped = new tf.FIFOQueue(10, tf.int32, { sharedName: 'common' });
    await expect(sess.run(shaped.size())).rejects.toThrow(
      /component shapes \[\[\]\] but requested component shapes were \[\]/,
    );
    const kind = new tf.RandomShuffleQueue(10, 0, tf.int32, { shapes: [[]], sharedName: 'common' });
    await expect(sess.run(kind.size())).rejects.toThrow(
      /type 'FIFOQueue' that does not match type of Node 'random_shuffle_queue': RandomShuffleQueueV2/,
    );
    const next = new tf.Session();
    expect(Number(await next.run(a.size()))).toBe(0);
  });

  it('can be picked from a list by an index', async () => {
    const queues = [1, 2].map(() => new tf.FIFOQueue(10, tf.int32, { shapes: [[]] }));
    const at = tf.placeholder(tf.int32, []);
    const picked = tf.QueueBase.fromList(at, queues);
    const sess = new tf.Session();
    await sess.run(queues.map((q, i) => q.enqueue(10 * i)));
    const value = picked.dequeue() as tf.Tensor;
    expect(Number(await sess.run(value, [[at, 1]]))).toBe(10);
    expect(Number(await sess.run(value, [[at, 0]]))).toBe(0);
    expect(() => tf.QueueBase.fromList(at, [queues[0]!, new tf.FIFOQueue(1, tf.float32)])).toThrow(
      /matching component dtypes/,
    );
  });
});

describe('several ops of one run', () => {
  it('find each other whatever their order', async () => {
    const q = new tf.FIFOQueue(1, tf.int32, { shapes: [[]] });
    const first = q.dequeue();
    const second = tf.controlDependencies([first], () => q.dequeue());
    const givers = [1, 2].map((value) => q.enqueue(value));
    const sess = new tf.Session();
    for (let i = 0; i < 5; i++) {
      const results = await sess.run([second, first, ...givers]);
      expect([Number(results[0]), Number(results[1])].sort()).toEqual([1, 2]);
    }
  });

  it('may pass values round a circle of queues', async () => {
    const [a, b] = [1, 2].map(() => new tf.FIFOQueue(1, tf.float32, { shapes: [[]] })) as [
      tf.FIFOQueue<tf.DType>,
      tf.FIFOQueue<tf.DType>,
    ];
    const fromA = a.dequeue() as tf.Tensor;
    const toB = b.enqueue(fromA.mul(2));
    const fromB = b.dequeue() as tf.Tensor;
    const result = fromB.add(1);
    const x = tf.placeholder(tf.float32, []);
    const toA = a.enqueue(x);
    const sess = new tf.Session();
    for (const value of [1, 2, 3]) {
      const [sum] = await sess.run([result, toB, toA], [[x, value]]);
      expect(Number(sum)).toBe(2 * value + 1);
    }
  });

  it('wait only for what they need', async () => {
    const [full, empty] = [
      new tf.FIFOQueue(1, tf.int32, { shapes: [[]] }),
      new tf.FIFOQueue(1, tf.int32, { shapes: [[]] }),
    ];
    const v = new tf.Variable(0);
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    // The assignment has nothing to do with the queues, so it is done although both wait.
    const run = watched(sess.run([empty.dequeue(), full.dequeue(), v.assign(7)]));
    await settle();
    expect(run.isDone).toBe(false);
    expect(Number(await sess.run(v))).toBe(7);
    await sess.run([full.enqueue(1), empty.enqueue(2)]);
    expect((await run.promise).map(Number)).toEqual([2, 1, 7]);
  });

  it('end together when one fails, and none keeps waiting', async () => {
    const q = new tf.FIFOQueue(10, tf.int32, { shapes: [[]] });
    const closed = new tf.FIFOQueue(10, tf.int32, { shapes: [[]], name: 'closed' });
    const sess = new tf.Session();
    await sess.run(closed.close());
    await expect(sess.run([q.dequeue(), closed.dequeue()])).rejects.toThrow(/'_\d+_closed' is closed and has insuff/);
    await sess.run(q.enqueue(5));
    // The dequeue of the failed run is gone, so the element is still there.
    expect(Number(await sess.run(q.size()))).toBe(1);
  });

  it('are found in functions too', async () => {
    const q = new tf.FIFOQueue(1, tf.int32, { shapes: [[]] });
    const yes = tf.placeholder(tf.bool, []);
    const value = tf.cond(
      yes,
      () => q.dequeue(),
      () => tf.constant(-1),
    ) as tf.Tensor;
    const enqueue = q.enqueue(4);
    const sess = new tf.Session();
    expect(Number((await sess.run([value, enqueue], [[yes, true]]))[0])).toBe(4);
    expect(Number((await sess.run([value, enqueue], [[yes, false]]))[0])).toBe(-1);
    expect(Number(await sess.run(value, [[yes, true]]))).toBe(4);
  });
});

describe('runs that stop while they wait', () => {
  it('lose no element and leave no wait behind', async () => {
    const q = new tf.FIFOQueue(10, tf.int32, { shapes: [[]] });
    const x = tf.placeholder(tf.int32, []);
    const enqueue = q.enqueue(x);
    const [one, three, size] = [q.dequeue(), q.dequeueMany(3), q.size()];
    const sess = new tf.Session();
    const stop = new AbortController();
    const cancelled = sess.run(three, undefined, { signal: stop.signal }).catch((e: unknown) => e);
    await settle();
    await sess.run(enqueue, [[x, 1]]);
    await sess.run(enqueue, [[x, 2]]);
    const behind = sess.run(one);
    await settle();
    expect(Number(await sess.run(size))).toBe(0);
    stop.abort();
    expect(await cancelled).toBeInstanceOf(tf.errors.CancelledError);
    expect(Number(await behind)).toBe(1);
    expect(Number(await sess.run(size))).toBe(1);
    expect(Number(await sess.run(one))).toBe(2);
  });

  it('may be out of time', async () => {
    const q = new tf.FIFOQueue(1, tf.int32, { shapes: [[]] });
    const sess = new tf.Session();
    const late = sess.run(q.dequeue(), undefined, { options: { timeoutInMs: 5 } });
    await expect(late).rejects.toBeInstanceOf(tf.errors.DeadlineExceededError);
    await sess.run(q.enqueue(1));
    const lateToo = sess.run([q.enqueue(2), q.enqueue(3)], undefined, { options: { timeoutInMs: 5 } });
    await expect(lateToo).rejects.toBeInstanceOf(tf.errors.DeadlineExceededError);
    expect(Number(await sess.run(q.dequeue()))).toBe(1);
    expect(Number(await sess.run(q.size()))).toBe(0);
  });

  it('end when their session closes', async () => {
    const q = new tf.FIFOQueue(1, tf.int32, { shapes: [[]] });
    const sess = new tf.Session();
    const runs = [sess.run(q.dequeue()), sess.run([q.dequeue(), q.dequeueMany(2)])].map((r) =>
      r.catch((e: unknown) => e),
    );
    await settle();
    sess.close();
    for (const run of runs) expect(await run).toBeInstanceOf(tf.errors.CancelledError);
  });
});
