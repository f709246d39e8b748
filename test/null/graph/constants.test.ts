/** @file Constants with a shape hold the values given, as TensorFlow's do, and run to all that the shape means. */
import * as tf from 'tensorloom';
import { expect, it } from 'vitest';

/** The tensor in the node of a constant. */
const held = (x: tf.Tensor) => x.op.attrs['value']!.tensor!;

it('holds one value however large its shape is', async () => {
  const x = tf.constant(1.5, { shape: [3] });
  expect(held(x)).toMatchObject({ float_val: [1.5], tensor_shape: { dim: [{ size: 3 }] } });
  expect(held(tf.constant(true, { shape: [2, 2] })).bool_val).toEqual([true]);
  const vast = tf.constant(false, { shape: [2, 1024, 1024, 1024] });
  expect(held(vast).bool_val).toEqual([false]);
  expect(vast.shape).toEqual([2, 1024, 1024, 1024]);
  expect((await new tf.Session().run(x)).toArray()).toEqual([1.5, 1.5, 1.5]);
});

it('fills a shape with its last value', async () => {
  const x = tf.constant([1, 2], { shape: [2, 2] });
  expect(held(x).int_val).toEqual([1, 2]);
  expect((await new tf.Session().run(x)).toArray()).toEqual([
    [1, 2],
    [2, 2],
  ]);
  expect(() => tf.constant([1, 2, 3], { shape: [2] })).toThrow(/3 values cannot take the shape \[2\]/);
  expect(tf.constant(1, { shape: [0] }).shape).toEqual([0]);
});

it.each([tf.float32, tf.bfloat16, tf.int64, tf.complex64])('large constants of one value run (%s)', async (dtype) => {
  const filled = tf.constant(3, { shape: [200, 300], dtype });
  const mixed = tf.constant([3, 4], { shape: [200, 300], dtype });
  const sums = [filled, mixed].map((x) => tf.reduceSum(tf.cast(x, tf.float64)));
  const [all, last] = await new tf.Session().run(sums);
  expect(all!.item()).toBe(180000);
  expect(last!.item()).toBe(239999);
});

it('a large constant of minus zeros keeps their sign', async () => {
  const zeros = tf.constant(-0, { shape: [300, 300], dtype: tf.float32 });
  const result = await new tf.Session().run(tf.divide(1, zeros));
  expect(result.at(0)).toBe(Number.NEGATIVE_INFINITY);
  expect(result.at(89999)).toBe(Number.NEGATIVE_INFINITY);
});
