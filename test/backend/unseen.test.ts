/** @file Large results that nobody looks at get no array buffer; they can be fed, given back and collected all the same. */
import * as tf from 'tensorloom';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { nativeLibrary } from '../../src/devices/cpu/library.ts';

const library = nativeLibrary();
const itNative = 'problem' in library ? it.skip : it;
const size = 2 ** 19;

let sess: tf.Session;
let x: tf.Tensor;
let y: tf.Tensor;
beforeEach(() => {
  tf.resetDefaultGraph();
  x = tf.placeholder(tf.float32, [size]);
  y = x.mul(2);
  sess = new tf.Session();
  if (!('problem' in library)) vi.spyOn(library, 'over');
});
afterEach(() => {
  vi.restoreAllMocks();
  sess.close();
});

const arrayBuffers = () => vi.mocked((library as Exclude<typeof library, { problem: string }>).over).mock.calls.length; // else the test is skipped
const filled = (value: number) => new tf.NDArray(tf.float32, [size], new Float32Array(size).fill(value));
const run = async (fed: tf.NDArray) => (await sess.run(y, [[x, fed]])) as tf.NDArray; // one tensor is fetched

itNative('makes an array buffer when somebody looks, and only one', async () => {
  const first = await run(filled(1));
  const second = await run(first);
  const third = await run(second);
  expect(arrayBuffers()).toBe(0);
  expect([third.size, third.rank, third.shape]).toEqual([size, 1, [size]]);
  expect(third.data.every((v) => v === 8)).toBe(true);
  expect(third.data).toBe(third.data);
  expect(third.reshape([2, size / 2]).data.buffer).toBe(third.data.buffer);
  expect(arrayBuffers()).toBe(1);
  expect(first.at(size - 1)).toBe(2);
  expect((await run(third)).at(0)).toBe(16);
});

itNative('fetches a copy of what was fed', async () => {
  const held = await run(filled(3));
  const same = (await sess.run(x, [[x, held]])) as tf.NDArray; // one tensor is fetched
  same.bytes.fill(1);
  expect(held.data.every((v) => v === 6)).toBe(true);
});

itNative('takes back what nobody has looked at', async () => {
  const held = await run(filled(1));
  const given = await run(filled(2));
  given[Symbol.dispose]();
  expect(() => given.data).toThrow('given back');
  await expect(run(given)).rejects.toThrow('given back');
  const next = await run(filled(3));
  expect([held.at(0), next.at(0)]).toEqual([2, 6]);
});
