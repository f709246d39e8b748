/** @file Iterators of all kinds: when they begin, what they give, how they fail and end. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import * as tf from '../../../src/api/index.ts';

const { Dataset, Iterator } = tf.data;
const folder = mkdtempSync(join(tmpdir(), 'tensorloom-iterator-'));
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(() => tf.resetDefaultGraph());

/** The numbers that an element gives until the end. */
async function all(session: tf.Session, element: tf.Tensor, feeds?: [tf.Tensor, string][]): Promise<number[]> {
  const numbers: number[] = [];
  for (;;) {
    try {
      numbers.push(Number(await session.run(element, feeds)));
    } catch (error) {
      if (error instanceof tf.errors.OutOfRangeError) return numbers;
      throw error;
    }
  }
}

describe('iterators', () => {
  it('of one shot end with TensorFlow’s words, each time they are asked', async () => {
    const next = Dataset.range(2).makeOneShotIterator().getNext();
    using session = new tf.Session();
    expect(await all(session, next)).toEqual([0, 1]);
    await expect(session.run(next)).rejects.toThrow(/^End of sequence/);
    await expect(session.run(next)).rejects.toBeInstanceOf(tf.errors.OutOfRangeError);
    using other = new tf.Session();
    expect(await all(other, next)).toEqual([0, 1]);
  });

  it('of one shot refuse what they cannot carry with them', () => {
    const x = tf.placeholder(tf.int64, []);
    const v = new tf.Variable(tf.constant(0, { dtype: tf.int64 }), { name: 'v' });
    expect(() => Dataset.range(x).makeOneShotIterator()).toThrow(/Cannot capture a placeholder \(name:Placeholder/);
    expect(() =>
      Dataset.range(3)
        .map((y) => tf.add(y, v))
        .makeOneShotIterator(),
    ).toThrow(/Cannot capture a stateful node \(name:v, type:VarHandleOp\)/);
    expect(() => Dataset.range(3).makeOneShotIterator().initializer).toThrow(/does not have an initializer/);
  });

  it('begin when they are initialized, with what is fed then', async () => {
    const count = tf.placeholder(tf.int64, []);
    const iterator = Dataset.range(count).makeInitializableIterator();
    const next = iterator.getNext();
    using session = new tf.Session();
    await expect(session.run(next)).rejects.toThrow(
      'GetNext() failed because the iterator has not been initialized. Ensure that you have run the initializer operation for this iterator before getting the next element.',
    );
    await session.run(iterator.initializer, [[count, 3]]);
    expect(Number(await session.run(next))).toBe(0);
    await session.run(iterator.initializer, [[count, 2]]);
    expect(await all(session, next)).toEqual([0, 1]);
  });

  it('use variables as they are at the time', async () => {
    const v = new tf.Variable(tf.constant(1, { dtype: tf.int64 }), { name: 'v' });
    const iterator = Dataset.range(4)
      .map((x) => tf.multiply(x, v))
      .makeInitializableIterator();
    const next = iterator.getNext();
    using session = new tf.Session();
    await session.run(tf.globalVariablesInitializer());
    await session.run(iterator.initializer);
    expect([Number(await session.run(next)), Number(await session.run(next))]).toEqual([0, 1]);
    await session.run(tf.assign(v, 100));
    expect(await all(session, next)).toEqual([200, 300]);
  });

  it('for a structure take one dataset after the other', async () => {
    const [a, b] = [Dataset.range(3), Dataset.range(10, 12)];
    const iterator = Iterator.fromStructure<tf.Tensor>(a.outputTypes, { outputShapes: a.outputShapes });
    const next = iterator.getNext();
    const [toA, toB] = [iterator.makeInitializer(a), iterator.makeInitializer(b)];
    using session = new tf.Session();
    await session.run(toA);
    expect(await all(session, next)).toEqual([0, 1, 2]);
    await session.run(toB);
    expect(await all(session, next)).toEqual([10, 11]);
    expect(() => iterator.makeInitializer(Dataset.fromTensors(1.5))).toThrow(/int64.*float32/);
  });

  it('take shapes in their place, too, and know what they give', async () => {
    const pairs = Dataset.fromTensorSlices({ x: [[1.5], [2]], y: [1, 2] });
    const iterator = Iterator.fromStructure(pairs.outputTypes, pairs.outputShapes);
    const { x, y } = iterator.getNext();
    expect([x.shape, y.shape]).toEqual([[1], []]);
    const handle = tf.placeholder(tf.string, []);
    expect(Iterator.fromStringHandle(handle, tf.int64, [3]).getNext().shape).toEqual([3]);
    const [a, b] = Iterator.fromStructure([tf.int64, tf.string], [[], [null]], { sharedName: 's' }).getNext();
    expect([a.dtype, b.shape]).toEqual([tf.int64, [null]]);
    expect(() => Iterator.fromStructure(tf.int64, { outputShape: [] })).toThrow(/no option 'outputShape'/);
    const named = Dataset.fromTensors({ name: [1, 2] });
    expect(String(named.paddedBatch(2, { name: [3] }))).toContain('{name: (?, 3)}');
    expect(String(named.paddedBatch(2, { name: 'padded' }))).toContain('{name: (?, 2)}');
    const made = Dataset.fromGenerator(() => [[1, [2, 3]]], [tf.int32, tf.float32], [[], [2]]);
    expect(String(made)).toContain('shapes: ((), (2,))');
    for await (const [n, v] of made) expect([n.toArray(), v.toArray()]).toEqual([1, [2, 3]]);
  });

  it('by a string are whichever is fed', async () => {
    const [a, b] = [Dataset.range(3).makeOneShotIterator(), Dataset.range(10, 13).makeInitializableIterator()];
    const handle = tf.placeholder(tf.string, []);
    const iterator = Iterator.fromStringHandle<tf.Tensor>(handle, a.outputTypes, { outputShapes: a.outputShapes });
    const next = iterator.getNext();
    using session = new tf.Session();
    const [ofA, ofB] = (await session.run([a.stringHandle(), b.stringHandle()])).map((text) => String(text.item()));
    await session.run(b.initializer);
    expect(Number(await session.run(next, [[handle, ofA!]]))).toBe(0);
    expect(Number(await session.run(next, [[handle, ofB!]]))).toBe(10);
    expect(await all(session, next, [[handle, ofA!]])).toEqual([1, 2]);
    expect(await all(session, next, [[handle, ofB!]])).toEqual([11, 12]);
    await expect(session.run(next, [[handle, 'nonsense']])).rejects.toThrow(/string_handle/);
  });

  it('give optionals', async () => {
    const iterator = Dataset.range(1).makeOneShotIterator();
    const optional = iterator.getNextAsOptional();
    const has = optional.hasValue();
    const value = optional.getValue();
    using session = new tf.Session();
    expect((await session.run([has, value])).map(Number)).toEqual([1, 0]);
    expect(Number(await session.run(has))).toBe(0);
    await expect(session.run(value)).rejects.toThrow('The given optional does not have a value.');
  });

  it('give runs at the same time different elements', async () => {
    const next = Dataset.range(20)
      .map((x) => x.mul(2), { numParallelCalls: 4 })
      .makeOneShotIterator()
      .getNext();
    using session = new tf.Session();
    const values = await Promise.all(Array.from({ length: 20 }, () => session.run(next)));
    expect(values.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => 2 * i));
  });

  it('give arrays that belong to the caller', async () => {
    const next = Dataset.fromTensors([1, 2]).repeat().makeOneShotIterator().getNext();
    using session = new tf.Session();
    const first = await session.run(next);
    first.data[0] = 9;
    expect((await session.run(next)).toArray()).toEqual([1, 2]);
  });

  it('that are in the middle of a dataset can be saved and gone back to, by a saver too', async () => {
    const iterator = Dataset.range(30)
      .shuffle(10, { seed: 4 })
      .map((x) => x.mul(10), { numParallelCalls: 3 })
      .batch(2)
      .prefetch(2)
      .repeat(2)
      .makeInitializableIterator();
    const next = iterator.getNext();
    const saveable = tf.data.experimental.makeSaveableFromIterator(iterator);
    const saver = new tf.train.Saver({ varList: [saveable] });
    using session = new tf.Session();
    await session.run(iterator.initializer);
    for (let i = 0; i < 7; i++) await session.run(next);
    const path = await saver.save(session, join(folder, 'model'));
    const rest: unknown[] = [];
    for (let i = 0; i < 23; i++) rest.push((await session.run(next)).toArray());
    await expect(session.run(next)).rejects.toThrow('End of sequence');
    using later = new tf.Session();
    await later.run(iterator.initializer);
    await saver.restore(later, path);
    const again: unknown[] = [];
    for (let i = 0; i < 23; i++) again.push((await later.run(next)).toArray());
    expect(again).toEqual(rest);
    await expect(later.run(next)).rejects.toThrow('End of sequence');
  });
});

describe('ends', () => {
  it('a generator that never yields does not keep a closed session', async () => {
    let isFinished = false;
    async function* stuck() {
      try {
        await new Promise(() => {});
        yield 1;
      } finally {
        isFinished = true;
      }
    }
    const next = Dataset.fromGenerator(stuck, tf.int64).prefetch(2).makeOneShotIterator().getNext();
    const session = new tf.Session();
    const run = session.run(next);
    const outcome = expect(run).rejects.toBeInstanceOf(tf.errors.CancelledError);
    await new Promise((resolve) => setImmediate(resolve));
    session.close();
    await outcome;
    expect(isFinished).toBe(false); // it still waits for what never comes
  });

  it('a filter that nothing passes can be stopped, and asked again', async () => {
    const least = new tf.Variable(tf.constant(10, { dtype: tf.int64 }), { name: 'least' });
    const iterator = Dataset.range(5)
      .repeat()
      .filter((x) => tf.greater(x, least))
      .makeInitializableIterator();
    const next = iterator.getNext();
    const lower = tf.assign(least, 3);
    using session = new tf.Session();
    await session.run(tf.globalVariablesInitializer());
    await session.run(iterator.initializer);
    await expect(session.run(next, undefined, { options: { timeoutInMs: 30 } })).rejects.toBeInstanceOf(
      tf.errors.DeadlineExceededError,
    );
    await session.run(lower);
    expect(Number(await session.run(next))).toBe(4);
  });

  it('a generator is finished when the rest of it is not wanted', async () => {
    const seen: string[] = [];
    function* numbers() {
      try {
        for (let i = 0; ; i++) yield i;
      } finally {
        seen.push('finished');
      }
    }
    for await (const x of Dataset.fromGenerator(numbers, tf.int64, { outputShapes: [] })) {
      seen.push(String(x));
      if (seen.length === 3) break;
    }
    expect(seen).toEqual(['0', '1', '2', 'finished']);
  });
});

describe('work ahead', () => {
  it('is done by prefetch while nobody asks', async () => {
    let calls = 0;
    const next = Dataset.range(100)
      .map((x) => {
        const counted = tf.jsFunc(
          (a: tf.NDArray) => {
            calls++;
            return a;
          },
          [x],
          tf.int64,
        );
        counted.setShape([]);
        return counted;
      })
      .prefetch(5)
      .makeOneShotIterator()
      .getNext();
    using session = new tf.Session();
    expect(Number(await session.run(next))).toBe(0);
    while (calls < 6) await new Promise((resolve) => setImmediate(resolve));
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(calls).toBe(6);
    expect(Number(await session.run(next))).toBe(1);
  });

  it('is done by parallel calls, whose results stay in order', async () => {
    let under = 0;
    let most = 0;
    const wait: (() => void)[] = [];
    const next = Dataset.range(6)
      .map(
        (x) =>
          tf.jsFunc(
            async (a: tf.NDArray) => {
              most = Math.max(most, ++under);
              if (under < 3) await new Promise<void>((resolve) => wait.push(resolve));
              else for (const go of wait.splice(0)) go();
              under--;
              return a;
            },
            [x],
            tf.int64,
          ),
        { numParallelCalls: 3 },
      )
      .makeOneShotIterator()
      .getNext();
    using session = new tf.Session();
    expect([Number(await session.run(next)), Number(await session.run(next))]).toEqual([0, 1]);
    expect(most).toBe(3);
  });
});

describe('values in TypeScript', () => {
  it('come by for await, in their structure', async () => {
    const elements: unknown[] = [];
    const dataset = Dataset.zip({ x: Dataset.range(3), y: Dataset.fromTensorSlices(['a', 'b', 'c']) });
    for await (const { x, y } of dataset) elements.push([Number(x), y.item()]);
    expect(elements).toEqual([
      [0, 'a'],
      [1, 'b'],
      [2, 'c'],
    ]);
  });

  it('come from generators, once for each time through', async () => {
    let begun = 0;
    function* pairs(n: tf.NDArray) {
      begun++;
      for (let i = 0; i < Number(n); i++) yield [i, [i, i]];
    }
    const dataset = Dataset.fromGenerator<[tf.Tensor, tf.Tensor]>(pairs, [tf.int32, tf.float32], {
      outputShapes: [[], [2]],
      args: [3],
    });
    const elements: unknown[] = [];
    for await (const [a, b] of dataset.repeat(2)) elements.push([Number(a), b.toArray()]);
    expect(elements).toEqual([0, 1, 2, 0, 1, 2].map((i) => [i, [i, i]]));
    expect(begun).toBe(2);
    const wrong = Dataset.fromGenerator(() => [[1, 2]], tf.int64, { outputShapes: [] });
    await expect(wrong[Symbol.asyncIterator]().next()).rejects.toThrow(/yielded an element of shape \(2,\)/);
  });

  it('reduce and single elements are tensors', async () => {
    const zero = tf.constant(0, { dtype: tf.int64 });
    const sum = Dataset.range(5).reduce(zero, (a, b) => a.add(b));
    const only = tf.data.experimental.getSingleElement(Dataset.range(1));
    const none = tf.data.experimental.getSingleElement(Dataset.range(0));
    const count = tf.data.experimental.cardinality(Dataset.range(10).batch(3));
    using session = new tf.Session();
    expect((await session.run([sum, only, count])).map(Number)).toEqual([10, 0, 4]);
    await expect(session.run(none)).rejects.toThrow('Dataset was empty.');
  });
});
