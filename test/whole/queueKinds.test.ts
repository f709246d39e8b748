/** @file Shuffled, padded and priority queues, barriers, staging areas and accumulators. */
import * as tf from 'tensorloom';
import { beforeEach, describe, expect, it } from 'vitest';

beforeEach(() => tf.resetDefaultGraph());

/** Lets everything go on that can go on without more input. */
const settle = async () => {
  for (let i = 0; i < 300; i++) await new Promise(setImmediate);
};

describe('RandomShuffleQueue', () => {
  it("has TensorFlow's order for the same seeds", async () => {
    const q = new tf.RandomShuffleQueue(30, 3, tf.int32, { shapes: [[]], seed: 5 });
    const sess = new tf.Session();
    await sess.run(q.enqueueMany([Array.from({ length: 20 }, (_, i) => i)]));
    const first = await sess.run(q.dequeueMany(10));
    const one = q.dequeue();
    const then = [];
    for (let i = 0; i < 5; i++) then.push(Number(await sess.run(one)));
    await sess.run(q.close());
    const rest = await sess.run(q.dequeueMany(5));
    expect([...first.numbers(), ...then, ...rest.numbers()]).toEqual([
      11, 19, 6, 5, 8, 4, 1, 9, 15, 13, 12, 17, 14, 18, 10, 2, 16, 3, 0, 7,
    ]);
  });

  it('keeps elements back until it is closed', async () => {
    const q = new tf.RandomShuffleQueue(10, 2, tf.int32, { shapes: [[]] });
    const sess = new tf.Session();
    await sess.run(q.enqueueMany([[1, 2, 3]]));
    await sess.run(q.dequeue());
    const pending = sess.run(q.dequeueMany(2));
    await settle();
    expect(Number(await sess.run(q.size()))).toBe(2);
    await sess.run(q.close());
    expect((await pending).size).toBe(2);
    const bad = new tf.RandomShuffleQueue(10, 10, tf.int32);
    await expect(sess.run(bad.size())).rejects.toThrow('min_after_dequeue 10 must be < capacity 10');
  });
});

describe('PaddingFIFOQueue', () => {
  it('fills batches up with zeros and empty strings', async () => {
    const q = new tf.PaddingFIFOQueue(10, [tf.float32, tf.string], [[null, 2], [null]]);
    const sess = new tf.Session();
    await sess.run(q.enqueue([[[1, 2]], ['a', 'b']]));
    await sess.run(
      q.enqueue([
        [
          [3, 4],
          [5, 6],
        ],
        ['c'],
      ]),
    );
    const [x, s] = await sess.run(q.dequeueMany(2));
    expect(x.toArray()).toEqual([
      [
        [1, 2],
        [0, 0],
      ],
      [
        [3, 4],
        [5, 6],
      ],
    ]);
    expect(s.toArray()).toEqual([
      ['a', 'b'],
      ['c', ''],
    ]);
    expect(x.dtype).toBe(tf.float32);
    const wide = tf.placeholder(tf.float32, null);
    await expect(sess.run(q.enqueue([wide, ['c']]), [[wide, [[1, 2, 3]]]])).rejects.toThrow(
      'Shape mismatch in tuple component 0. Expected [?,2], got [1,3]',
    );
    expect(() => new tf.PaddingFIFOQueue(10, [tf.float32, tf.string], [[null]])).toThrow(/2 dtypes and 1 shapes/);
  });
});

describe('PriorityQueue', () => {
  it('gives the least first, and waits for a whole batch', async () => {
    const q = new tf.PriorityQueue(10, tf.string, { shapes: [[]] });
    const sess = new tf.Session();
    const p = tf.placeholder(tf.int64, []);
    const enqueue = q.enqueue([p, tf.asString(p)]);
    const pending = sess.run(q.dequeueMany(3));
    for (const priority of [5, -1, 3]) await sess.run(enqueue, [[p, priority]]);
    expect((await pending).map((x) => x.toArray())).toEqual([
      [-1, 3, 5],
      ['-1', '3', '5'],
    ]);
    const shapeless = new tf.PriorityQueue(10, tf.string);
    const wrong = tf.placeholder(tf.int64, null);
    await expect(sess.run(shapeless.enqueue([wrong, 'x']), [[wrong, [1, 2]]])).rejects.toThrow(
      'Expected priority element to be a scalar, but received shape: [2]',
    );
  });
});

describe('Barrier', () => {
  it('joins components by key, oldest key first', async () => {
    const b = new tf.Barrier([tf.float32, tf.int32], { shapes: [[2], []], name: 'B' });
    const sess = new tf.Session();
    await sess.run(
      b.insertMany(
        0,
        ['a', 'b'],
        [
          [1, 2],
          [3, 4],
        ],
      ),
    );
    expect(Number(await sess.run(b.incompleteSize()))).toBe(2);
    const taken = b.takeMany(2);
    const pending = sess.run([taken.keys, ...taken.values, taken.indices]);
    await sess.run(b.insertMany(1, ['b'], [30]));
    expect(Number(await sess.run(b.readySize()))).toBe(1);
    await sess.run(b.insertMany(1, ['a'], [10]));
    const [keys, x, y, indices] = await pending;
    expect(new Map((keys!.toArray() as string[]).map((key, i) => [key, y!.numberAt(i)]))).toEqual(
      new Map([
        ['a', 10],
        ['b', 30],
      ]),
    );
    expect(new Map((keys!.toArray() as string[]).map((key, i) => [key, (x!.toArray() as number[][])[i]]))).toEqual(
      new Map([
        ['a', [1, 2]],
        ['b', [3, 4]],
      ]),
    );
    expect([...(indices!.data as BigInt64Array)]).toEqual([-(2n ** 63n), -(2n ** 63n)]);
    await expect(sess.run(b.insertMany(5, ['a'], [10]))).rejects.toThrow(/component ID is out of range 5/);
    await expect(sess.run(b.insertMany(-1, ['a'], [10]))).rejects.toThrow(/component ID is out of range -1/);
    expect(() => b.insertMany(0, ['a'], tf.constant([[1, 2]], tf.int32))).toThrow(
      /has type int32 that does not match expected type of float32/,
    );
  });

  it('checks the types of what a graph inserts', async () => {
    const b = new tf.Barrier([tf.float32], { shapes: [[]], sharedName: 'typed' });
    const other = new tf.Barrier([tf.int32], { shapes: [[]], name: 'other' });
    const insert = other.insertMany(0, ['a'], [1]);
    const graph = tf.getDefaultGraph().asGraphDef();
    const node = graph.node.map((n) => (n.name === insert.name ? { ...n, input: [b.name, ...n.input.slice(1)] } : n));
    const def = { ...graph, node };
    await new tf.Graph().asDefault(async () => {
      const [op] = tf.importGraphDef(def, { returnElements: [insert.name], name: '' }) as [tf.Operation];
      const message = /Signature mismatch, have: string_ref, string, int32-> expected: string_ref, string, float->/;
      await expect(new tf.Session().run(op)).rejects.toThrow(message);
    });
  });

  it('closes: known keys may still be completed, new ones not', async () => {
    const b = new tf.Barrier([tf.float32, tf.float32], { shapes: [[], []], name: 'B' });
    const sess = new tf.Session();
    await sess.run(b.insertMany(0, ['a'], [1.5]));
    await expect(sess.run(b.insertMany(0, ['a'], [1.5]))).rejects.toThrow(/Key a already has a value for component 0/);
    await sess.run(b.close());
    await expect(sess.run(b.insertMany(0, ['new'], [1.5]))).rejects.toThrow(/brand new key: new/);
    await expect(sess.run(b.close())).rejects.toThrow(/is already closed/);
    await sess.run(b.insertMany(1, ['a'], [2.5]));
    const { values } = b.takeMany(1);
    expect((await sess.run(values)).map((v) => v.toArray())).toEqual([[1.5], [2.5]]);
    await expect(sess.run(values)).rejects.toThrow(
      /Barrier '_\d+_B' is closed and has insufficient elements \(requested 1, total size 0\)/,
    );
  });
});

describe('StagingArea', () => {
  const { StagingArea, MapStagingArea } = tf.contrib.staging;

  it('hands values from one run to the next', async () => {
    const x = tf.placeholder(tf.float32, []);
    const area = new StagingArea([tf.float32, tf.string], { shapes: [[], []] });
    const put = area.put([x, tf.asString(x)]);
    const [value, text] = area.get() as tf.Tensor[];
    const sess = new tf.Session();
    await sess.run(put, [[x, 0]]);
    for (let i = 1; i < 5; i++) {
      const [got] = await sess.run([value!.add(100), put], [[x, i]]);
      expect(Number(got)).toBe(99 + i);
    }
    expect(Number(await sess.run(area.size()))).toBe(1);
    const [peeked] = area.peek(0) as tf.Tensor[];
    expect(Number(await sess.run(peeked!))).toBe(4);
    expect((await sess.run(text!)).item()).toMatch(/^4/);
    await sess.run(put, [[x, 1]]);
    await sess.run(area.clear());
    expect(Number(await sess.run(area.size()))).toBe(0);
    expect(tf.getDefaultGraph().operations.map((op) => op.name)).toContain('StagingArea_put');
  });

  it('names the line that puts in what does not fit', () => {
    const area = new StagingArea([tf.float32], { shapes: [[2]] });
    expect(() => area.put([[1, 2, 3]])).toThrow(
      /has shape \[3\], which is not compatible with \[2\]\n {2}at .*queueKinds\.test\.ts:\d+:\d+$/,
    );
  });

  it('waits for room', async () => {
    const area = new StagingArea([tf.float32], { capacity: 1 });
    const small = new StagingArea([tf.float32], { memoryLimit: 8 });
    const sess = new tf.Session();
    const put = area.put([tf.constant(1.5)]);
    await sess.run(put);
    let isDone = false;
    const second = sess.run(put).then(() => {
      isDone = true;
    });
    await settle();
    expect(isDone).toBe(false);
    await sess.run(area.get());
    await second;
    await expect(sess.run(small.put([tf.zeros([3])]))).rejects.toThrow(
      "Attempted to insert tensors with combined size of '12' bytes into Staging Area with a memory limit of '8'.",
    );
  });

  it('by key: components come and go separately', async () => {
    const area = new MapStagingArea([tf.float32, tf.float32], { names: ['x', 'y'], ordered: true });
    const sess = new tf.Session();
    await sess.run(area.put(5, { x: tf.constant(1.5) }));
    expect(Number(await sess.run(area.incompleteSize()))).toBe(1);
    await sess.run(area.put(5, { y: tf.constant(2.5) }));
    await sess.run(area.put(3, { x: tf.constant(3.5), y: tf.constant(4.5) }));
    expect(Number(await sess.run(area.size()))).toBe(2);
    const peek = area.peek(5) as Record<string, tf.Tensor>;
    expect(Number(await sess.run(peek['y']!))).toBe(2.5);
    const [key, values] = area.get() as [tf.Tensor, Record<string, tf.Tensor>];
    expect((await sess.run([key, values['x']!])).map(Number)).toEqual([3, 3.5]);
    const [, part] = area.get(5, { indices: ['x'] }) as [unknown, Record<string, tf.Tensor>];
    expect(Number(await sess.run(part['x']!))).toBe(1.5);
    await expect(sess.run(part['x']!)).rejects.toThrow("Tensor at index '0' for key '5' has already been removed.");
    expect(Number(await sess.run(area.size()))).toBe(1);
  });
});

describe('accumulators', () => {
  it('give the mean of enough gradients, and drop stale ones', async () => {
    const acc = new tf.ConditionalAccumulator(tf.float32, { shape: [2] });
    const g = tf.placeholder(tf.float32, null);
    const step = tf.placeholder(tf.int64, []);
    const sess = new tf.Session();
    const apply = acc.applyGrad(tf.ensureShape(g, [2]), { localStep: step });
    const take = acc.takeGrad(2);
    const pending = sess.run(take);
    await sess.run(apply, [
      [g, [1, 2]],
      [step, 0],
    ]);
    expect(Number(await sess.run(acc.numAccumulated()))).toBe(1);
    await sess.run(apply, [
      [g, [3, 5]],
      [step, 0],
    ]);
    expect((await pending).toArray()).toEqual([2, 3.5]);
    await sess.run(apply, [
      [g, [3, 5]],
      [step, 0],
    ]);
    expect(Number(await sess.run(acc.numAccumulated()))).toBe(0);
    await sess.run(apply, [
      [g, [3, 5]],
      [step, 1],
    ]);
    expect(Number(await sess.run(acc.numAccumulated()))).toBe(1);
    await sess.run(acc.setGlobalStep(7));
    await sess.run(apply, [
      [g, [3, 5]],
      [step, 6],
    ]);
    expect(Number(await sess.run(acc.numAccumulated()))).toBe(1);
    await expect(sess.run(acc.takeGrad(0))).rejects.toThrow('Argument num_required must be positive, but was 0');
    const sum = new tf.ConditionalAccumulator(tf.float32, { reductionType: 'SUM' });
    await sess.run(sum.applyGrad(1.5));
    await sess.run(sum.applyGrad(2.5));
    expect(Number(await sess.run(sum.takeGrad(1)))).toBe(4);
  });

  it('of sparse gradients: each row has its own count', async () => {
    const acc = new tf.SparseConditionalAccumulator(tf.float32, { shape: [null, 2] });
    const sess = new tf.Session();
    const rows = (...list: number[][]) => tf.constant(list, tf.float32);
    await sess.run(acc.applyGrad([0, 2], rows([1, 2], [3, 4])));
    await sess.run(acc.applyGrad([2, 5], rows([5, 6], [7, 8])));
    const { indices, values, shape } = acc.takeGrad(2);
    const found = await sess.run([indices, values, shape]);
    expect(found.map((array) => array.toArray())).toEqual([
      [0, 2, 5],
      [
        [1, 2],
        [4, 5],
        [7, 8],
      ],
      [-1, 2],
    ]);
    await expect(sess.run(acc.applyGrad([0], tf.constant([[1, 2, 3]], tf.float32), { localStep: 1 }))).rejects.toThrow(
      'Shape mismatch: expected values dim 1 to be 2, got 3',
    );
  });
});

describe('elements that come as rows', () => {
  const rows = (width: number) =>
    Array.from({ length: 6 }, (_, i) => Array.from({ length: width }, (_, k) => 100 * i + k));
  const texts = [0, 1, 2, 3, 4, 5].map((i) => [`a${i}`, `b${i}`]);

  it.each([
    [
      'small',
      [tf.float32, tf.int64, tf.float64, tf.string],
      [[], [2], [12], [2]],
      [rows(1).flat(), rows(2), rows(12), texts],
    ],
    ['large', [tf.float32, tf.string], [[100], [2]], [rows(100), texts]],
  ] as const)('stay what they are: %s ones', async (_, types, shapes, given) => {
    const q = new tf.FIFOQueue(20, types, { shapes });
    const enqueue = q.enqueueMany(given);
    const [one, batch] = [q.dequeue() as readonly tf.Tensor[], q.dequeueMany(5) as readonly tf.Tensor[]];
    using sess = new tf.Session();
    await sess.run(enqueue);
    expect((await sess.run(one)).map((x) => x.toArray())).toEqual(given.map((x) => x[0]));
    expect((await sess.run(batch)).map((x) => x.toArray())).toEqual(given.map((x) => x.slice(1)));
  });

  it('are padded one by one', async () => {
    const q = new tf.PaddingFIFOQueue(20, [tf.float32, tf.string], [[null], [null]]);
    const enqueues = [
      q.enqueueMany([rows(2), texts]),
      q.enqueue([
        [7, 8, 9],
        ['x', 'y', 'z'],
      ]),
    ];
    const batch = q.dequeueMany(7);
    using sess = new tf.Session();
    for (const enqueue of enqueues) await sess.run(enqueue);
    const [numbers, words] = (await sess.run(batch)).map((x) => x.toArray());
    expect(numbers).toEqual([...rows(2).map((row) => [...row, 0]), [7, 8, 9]]);
    expect(words).toEqual([...texts.map((row) => [...row, '']), ['x', 'y', 'z']]);
  });

  it('have priorities of their own', async () => {
    const q = new tf.PriorityQueue(20, [tf.string], { shapes: [[2]] });
    const enqueue = q.enqueueMany([[3, 5, 1, 4, 0, 2], texts]);
    const batch = q.dequeueMany(6);
    using sess = new tf.Session();
    await sess.run(enqueue);
    const [priorities, words] = (await sess.run(batch)).map((x) => x.toArray());
    expect(priorities).toEqual([0, 1, 2, 3, 4, 5]);
    expect(words).toEqual([4, 2, 5, 0, 3, 1].map((i) => texts[i]));
  });
});
