/** @file The event loop stays free while a large graph is prepared and run for the first time. */
import { expect, test, vi } from 'vitest';
import * as tf from '../../src/api/index.ts';
import { nativeLibrary } from '../../src/devices/cpu/library.ts';

test('the first run of a large graph lets other work go on', async () => {
  const graph = new tf.Graph();
  const y = graph.asDefault(() => {
    let x: tf.Tensor = tf.placeholder(tf.float32, [4], { name: 'x' });
    for (let i = 0; i < 2000; i++) x = tf.add(x, i % 2 === 0 ? 1 : -1);
    return tf.sin(x);
  });
  const sess = new tf.Session({ graph });
  // A clock by which every question for the time takes a millisecond: the same on every machine.
  let time = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => ++time);
  let turns = 0;
  let isRunning = true;
  const count = () => {
    turns++;
    if (isRunning) setImmediate(count);
  };
  setImmediate(count);
  await sess.run(y, new Map([['x:0', [0, 1, 2, 3]]]));
  isRunning = false;
  clock.mockRestore();
  // Extending, simplifying and tracing ask at every node; each turn is let go after a few milliseconds.
  expect(turns).toBeGreaterThan(500);
});

test('while a large graph that writes variables is ordered, pruned and assembled, the event loop may have its turn at every node', async () => {
  const count = 1000;
  const graph = new tf.Graph();
  const init = graph.asDefault(() => {
    for (let i = 0; i < count; i++) tf.getVariable(`v${i}`, { shape: [2], initializer: tf.zerosInitializer() });
    return tf.globalVariablesInitializer();
  });
  const sess = new tf.Session({ graph });
  const clock = vi.spyOn(performance, 'now');
  await sess.run(init);
  const asked = clock.mock.calls.length;
  clock.mockRestore();
  // Passes over the nodes ask at every one whether this turn of the event loop has been long enough, more than six times in all.
  expect(asked).toBeGreaterThan(6 * graph.operations.length);
});

test('the program of a large graph is made beside the event loop', async () => {
  const library = nativeLibrary();
  if ('problem' in library) return;
  const create = vi.spyOn(library, 'createAside');
  const graph = new tf.Graph();
  const y = graph.asDefault(() => {
    let x: tf.Tensor = tf.placeholder(tf.float32, [2], { name: 'x' });
    for (let i = 0; i < 1000; i++) x = tf.cumsum(x, 0, { exclusive: i > 0 });
    return x;
  });
  using sess = new tf.Session({ graph });
  expect((await sess.run(y, new Map([['x:0', [1, 2]]]))).toArray()).toEqual([0, 0]);
  expect(create).toHaveBeenCalledTimes(1);
  create.mockRestore();
});

test('looking for the true elements of a large array lets other work go on', async () => {
  const size = 8_000_000;
  const graph = new tf.Graph();
  const found = graph.asDefault(() => tf.where(tf.placeholder(tf.bool, [size], { name: 'x' })));
  const sess = new tf.Session({ graph });
  const feeds = new Map([['x:0', new tf.NDArray(tf.bool, [size], new Uint8Array(size).fill(1))]]);
  await sess.run(found, feeds);
  const start = performance.now();
  let [last, longest] = [start, 0];
  const look = () => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  };
  const timer = setInterval(look, 1);
  expect((await sess.run(found, feeds)).shape).toEqual([size, 1]);
  look();
  clearInterval(timer);
  // Done on this thread it would be one long turn.
  expect(longest).toBeLessThan((performance.now() - start) / 2);
});

test('rows get their numbers and their random order in turns', async () => {
  const rows = 2 ** 20;
  const graph = new tf.Graph();
  const mixed = graph.asDefault(() => tf.randomShuffle(tf.placeholder(tf.int32, [rows], { name: 'x' }), { seed: 1 }));
  using sess = new tf.Session({ graph });
  const feeds = new Map([['x:0', new tf.NDArray(tf.int32, [rows], new Int32Array(rows))]]);
  await sess.run(mixed, feeds);
  const clock = vi.spyOn(performance, 'now');
  await sess.run(mixed, feeds);
  const asked = clock.mock.calls.length;
  clock.mockRestore();
  // Once for every 4096 rows in either pass.
  expect(asked).toBeGreaterThan((2 * rows) / 4096 - 10);
});
