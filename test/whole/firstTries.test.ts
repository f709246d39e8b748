import * as tf from 'tensorloom';
import { beforeEach, describe, expect, it } from 'vitest';

beforeEach(() => tf.resetDefaultGraph());

describe('what users of TensorFlow try first', () => {
  it('a dtype as the second argument', async () => {
    const values = [tf.constant([3, 4], tf.float32), tf.zeros([2], tf.int64), tf.ones([1], tf.float64)];
    expect(values.map(String)).toEqual([
      "Tensor 'Const:0' shape=(2,) dtype=float32",
      "Tensor 'zeros:0' shape=(2,) dtype=int64",
      "Tensor 'ones:0' shape=(1,) dtype=float64",
    ]);
  });

  it('whole numbers where floats are wanted', () => {
    expect(() => tf.sqrt(tf.constant([3, 4]))).toThrow(
      /Whole numbers make int32; .* tf\.constant\(\[3, 4\], tf\.float32\)/,
    );
  });

  it('a variable evaluated in a given session', async () => {
    const v = new tf.Variable([1.5]);
    const sess = new tf.Session();
    await sess.run(v.initializer);
    expect((await v.eval(sess)).toArray()).toEqual([1.5]);
    expect((await v.eval([], sess)).toArray()).toEqual([1.5]);
    await sess.asDefault(async () => expect((await v.eval()).toArray()).toEqual([1.5]));
  });

  it('complex literals', async () => {
    const z = tf.constant({ re: 1, im: -2 } as never);
    expect(z.dtype).toBe(tf.complex128);
    expect((await new tf.Session().run(z)).item()).toEqual({ re: 1, im: -2 });
  });
});

describe('mistakes that JavaScript would turn into NaN', () => {
  const missing = undefined as never;
  it('are refused where a tensor is made', () => {
    expect(() => tf.constant(missing)).toThrow(/expected float32, but got undefined/);
    expect(() => tf.mul(tf.constant(1.5), missing)).toThrow(/but got undefined/);
    expect(() => tf.constant([1, null] as never)).toThrow(/but got null/);
    expect(() => tf.add(1.5, tf.noOp() as never)).toThrow(/but got <tf.Operation 'NoOp'/);
  });
  it('are refused where a value is fed or returned', async () => {
    const x = tf.placeholder(tf.float32);
    const sess = new tf.Session();
    await expect(sess.run(x.add(1), [[x, missing]])).rejects.toThrow(/Cannot feed 'Placeholder:0'.*got undefined/);
    await expect(sess.run(tf.jsFunc(() => missing, [], tf.float32))).rejects.toThrow(/got undefined.*PyFunc/s);
  });
});

it('A variable made deep in a layer knows the line that asked for it', () => {
  const layer = () => tf.variableScope('a', () => tf.layers.dense(tf.zeros([1, 2]), 3, { name: 'd' }));
  layer();
  expect(layer).toThrow(/a\/d\/kernel already exists.*Originally defined at: .*firstTries\.test\.ts:\d+/s);
});
