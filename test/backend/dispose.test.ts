/** @file Results that are disposed of give their memory to the next run; nothing else that shares memory does. */
import * as tf from 'tensorloom';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { nativeLibrary } from '../../src/devices/cpu/library.ts';

const itNative = 'problem' in nativeLibrary() ? it.skip : it;
const size = 2 ** 19;

let sess: tf.Session;
let x: tf.Tensor;
let y: tf.Tensor;
beforeEach(() => {
  tf.resetDefaultGraph();
  x = tf.placeholder(tf.float32, [size]);
  y = x.mul(2);
  sess = new tf.Session();
  // Memory waits some seconds for its next user; on a busy machine they may pass before it comes.
  vi.spyOn(performance, 'now').mockReturnValue(0);
});
afterEach(() => {
  vi.restoreAllMocks();
  sess.close();
});

const filled = (value: number) => new tf.NDArray(tf.float32, [size], new Float32Array(size).fill(value));
const run = async (fetch: tf.Tensor, value: number) => (await sess.run(fetch, [[x, filled(value)]])) as tf.NDArray;

itNative('gives the memory of a result to the next run', async () => {
  const first = await run(y, 1);
  const memory = first.data.buffer;
  const held = await run(y, 2);
  expect(held.data.buffer).not.toBe(memory);
  first[Symbol.dispose]();
  expect(() => first.data).toThrow('given back');
  expect(() => first.copy()).toThrow('given back');
  expect(() => first.reshape([2, size / 2])).toThrow('given back');
  const next = await run(y, 3);
  expect(next.data.buffer).toBe(memory);
  first[Symbol.dispose](); // the memory is another's by now
  expect((await run(y, 4)).data.buffer).not.toBe(memory);
  expect(next.data.every((v) => v === 6)).toBe(true);
  expect(held.data.every((v) => v === 4)).toBe(true);
});

it('leaves alone what others may still read', async () => {
  const fed = filled(1);
  const [same, twice, alias] = (await sess.run([x, y, tf.identity(y)], [[x, fed]])) as [
    tf.NDArray,
    tf.NDArray,
    tf.NDArray,
  ];
  const v = tf.getVariable('v', [size], { initializer: tf.onesInitializer() });
  await sess.run(v.initializer);
  const read = (await sess.run(v)) as tf.NDArray;
  for (const array of [same, twice, read, fed]) array[Symbol.dispose]();
  const later = await run(y, 5);
  expect(later.data[0]).toBe(10);
  expect(alias.data.every((value) => value === 2)).toBe(true);
  expect(fed.data.every((value) => value === 1)).toBe(true);
  expect(((await sess.run(v)) as tf.NDArray).data.every((value) => value === 1)).toBe(true);
});

itNative('leaves alone results that were fed, kept by a function, or held by a variable', async () => {
  const held = await run(y, 1);
  const kept = tf.jsFunc(() => held, [], tf.float32);
  const v = tf.getVariable('v', [size], { initializer: tf.onesInitializer() });
  await sess.run(v.initializer);
  const results = [await sess.run(x, [[x, held]]), await sess.run(kept), await sess.run(v), await sess.run(v.value())];
  for (const array of results as tf.NDArray[]) array[Symbol.dispose]();
  const others = [await run(y, 5), await run(y, 6), await run(y, 7)];
  expect(others.map(({ data }) => data[0])).toEqual([10, 12, 14]);
  expect(held.data.every((value) => value === 2)).toBe(true);
  expect(((await sess.run(v)) as tf.NDArray).data.every((value) => value === 1)).toBe(true);
});
