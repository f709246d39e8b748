/** @file Queue ops of one run in any order that can work, and the ops of 1.0, whose handles are string references. */
import * as tf from 'tensorloom';
import { beforeEach, describe, expect, it } from 'vitest';

beforeEach(() => tf.resetDefaultGraph());

/** Numbers that differ from seed to seed and are the same each time. */
function generator(seed: number): (limit: number) => number {
  let state = seed * 7919 + 1;
  return (limit) => {
    state = (state * 16807) % 2147483647;
    return state % limit;
  };
}

/**
 * A run of enqueues and dequeues that depend on each other: values of dequeues are put into other queues, and some ops wait
 * for others that have nothing to do with them. Made in an order in which they could run one by one, so they always can.
 */
function randomRun(seed: number) {
  const below = generator(seed);
  const queues = Array.from({ length: 2 + below(4) }, () => new tf.FIFOQueue(4, tf.int32, { shapes: [[]] }));
  const contents: number[][] = queues.map(() => []);
  const values: { tensor: tf.Tensor; number: number }[] = [];
  const made: (tf.Operation | tf.Tensor)[] = [];
  // Elements of one queue are in order only if those who take and give are.
  const last = queues.map((): { put?: tf.Operation; take?: tf.Tensor } => ({}));
  for (let i = 0; i < 12; i++) {
    const at = below(queues.length);
    const [queue, content] = [queues[at]!, contents[at]!];
    const after: (tf.Operation | tf.Tensor)[] = below(3) === 0 && made.length > 0 ? [made[below(made.length)]!] : [];
    if (content.length > 0 && below(2) === 0) {
      if (last[at]!.take) after.push(last[at]!.take);
      const tensor = tf.controlDependencies(after, () => queue.dequeue());
      last[at]!.take = tensor;
      values.push({ tensor: tensor.add(1), number: content.shift()! + 1 });
      made.push(tensor);
    } else if (content.length < 4) {
      if (last[at]!.put) after.push(last[at]!.put);
      const source = values.length > 0 && below(2) === 0 ? values[below(values.length)]! : undefined;
      const number = source?.number ?? below(100);
      const op = tf.controlDependencies(after, () => queue.enqueue(source?.tensor ?? number));
      last[at]!.put = op;
      content.push(number);
      made.push(op);
    }
  }
  const operations = made.map((x) => (x instanceof tf.Tensor ? x.op : x));
  // The order of targets must not matter.
  operations.sort(() => below(3) - 1);
  return { operations, values, queues, contents };
}

describe('ops of one run', () => {
  it('find a way whatever they wait for', async () => {
    for (let seed = 0; seed < 25; seed++) {
      tf.resetDefaultGraph();
      const { operations, values, queues, contents } = randomRun(seed);
      const whole = new tf.Session();
      const fetches = [...operations, ...values.map(({ tensor }) => tensor)];
      const results = await whole.run(fetches, undefined, { options: { timeoutInMs: 20_000 } });
      expect(results.slice(operations.length).map(Number), `seed ${seed}`).toEqual(values.map(({ number }) => number));
      for (const [i, queue] of queues.entries()) {
        expect(Number(await whole.run(queue.size())), `seed ${seed}`).toBe(contents[i]!.length);
        for (const number of contents[i]!) expect(Number(await whole.run(queue.dequeue()))).toBe(number);
      }
      whole.close();
    }
  });
});

describe('the ops of 1.0', () => {
  const load = (text: string) => tf.importGraphDef(tf.GraphDef.parseText(text), { name: '' });

  it('work on string references', async () => {
    load(`
      node { name: "q" op: "FIFOQueue" attr { key: "component_types" value { list { type: DT_INT32 } } }
        attr { key: "shapes" value { list { shape { } } } } attr { key: "capacity" value { i: 3 } } }
      node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } }
      node { name: "put" op: "QueueEnqueue" input: "q" input: "x"
        attr { key: "Tcomponents" value { list { type: DT_INT32 } } } }
      node { name: "many" op: "QueueEnqueueMany" input: "q" input: "x"
        attr { key: "Tcomponents" value { list { type: DT_INT32 } } } }
      node { name: "n" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
        attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 2 } } } }
      node { name: "get" op: "QueueDequeue" input: "q" attr { key: "component_types" value { list { type: DT_INT32 } } } }
      node { name: "two" op: "QueueDequeueMany" input: "q" input: "n"
        attr { key: "component_types" value { list { type: DT_INT32 } } } }
      node { name: "rest" op: "QueueDequeueUpTo" input: "q" input: "n"
        attr { key: "component_types" value { list { type: DT_INT32 } } } }
      node { name: "size" op: "QueueSize" input: "q" }
      node { name: "ended" op: "QueueIsClosed" input: "q" }
      node { name: "end" op: "QueueClose" input: "q" }`);
    const sess = new tf.Session();
    await sess.run('put', { 'x:0': 1 });
    await sess.run('many', { 'x:0': [2, 3] });
    expect(Number(await sess.run('size:0'))).toBe(3);
    expect(Number(await sess.run('get:0'))).toBe(1);
    expect((await sess.run('two:0'))!.toArray()).toEqual([2, 3]);
    // Both in one run, so that the handle passes from one piece of the graph to another.
    expect(Number((await sess.run(['get:0', 'put'], { 'x:0': 4 }))[0])).toBe(4);
    await sess.run('put', { 'x:0': 5 });
    await sess.run('end');
    expect((await sess.run('ended:0'))!.item()).toBe(true);
    expect((await sess.run('rest:0'))!.toArray()).toEqual([5]);
    await expect(sess.run('get:0')).rejects.toThrow(/FIFOQueue '_\d+_q' is closed and has insufficient elements/);
    expect(tf.getDefaultGraph().getTensorByName('get:0').shape).toEqual([]);
    const q = new tf.QueueBase([tf.int32], [[]], undefined, tf.getDefaultGraph().getTensorByName('q:0'));
    expect(Number(await sess.run(q.size()))).toBe(0);
    expect(q.isClosed().op.type).toBe('QueueIsClosed');
  });

  it('read with older readers from newer queues', async () => {
    load('node { name: "reader" op: "WholeFileReader" }');
    const queue = new tf.FIFOQueue(3, tf.string, { shapes: [[]] });
    const reader = new tf.ReaderBase(tf.getDefaultGraph().getTensorByName('reader:0'));
    const [key] = reader.read(queue);
    expect(key.op.type).toBe('ReaderRead');
    expect(key.op.inputs[1]!.op.type).toBe('FakeQueue');
    const sess = new tf.Session();
    await sess.run(queue.enqueue('/no/such/file'));
    await expect(sess.run(key)).rejects.toBeInstanceOf(tf.errors.NotFoundError);
    expect(Number(await sess.run(reader.numWorkUnitsCompleted()))).toBe(1);
  });
});
