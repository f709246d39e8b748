/** @file The arithmetic ops' rules for the simplifier: each fires where it may, not where it may not, and keeps values. */
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import { explain } from '../../src/runtime/explain.ts';

const given = [1.5, -2, 3];

/** Whether a rule is reported for the graph of `build`; and that the result is the same with and without simplifying. */
async function applies(rule: string, build: (x: tf.Tensor, y: tf.Tensor) => tf.Tensor): Promise<boolean> {
  const graph = new tf.Graph();
  const { x, y, result } = graph.asDefault(() => {
    const x = tf.placeholder(tf.float32, [null], { name: 'x' });
    const y = tf.placeholder(tf.float32, [null], { name: 'y' });
    return { x, y, result: build(x, y) };
  });
  const values: unknown[] = [];
  for (const simplify of [true, false]) {
    const session = new tf.Session({ graph, config: { graphOptions: { simplify } } });
    const value = await session.run(result, [
      [x, given],
      [y, [4, 0.25, -1]],
    ]);
    values.push(value.toArray());
  }
  expect(values[0]).toEqual(values[1]);
  return explain(result).includes(`${rule}: `);
}

const fires: Record<string, [rule: string, build: (x: tf.Tensor, y: tf.Tensor) => tf.Tensor]> = {
  'x + 0 of integers': ['x + 0', (x) => x.cast(tf.int32).add(0)],
  '0 + x of integers': ['0 + x', (x) => tf.add(0, x.cast(tf.int32))],
  'x - 0 of integers': ['x - 0', (x) => x.cast(tf.int32).sub(0)],
  'x * 1 of integers': ['x * 1', (x) => x.cast(tf.int32).mul(1)],
  '1 * x of integers': ['1 * x', (x) => tf.multiply(1, x.cast(tf.int32))],
  'x / 1 of integers': ['x / 1', (x) => tf.floorDiv(x.cast(tf.int32), 1)],
  'x ^ 2': ['x ^ 2', (x) => tf.pow(x, 2)],
  'x ^ 3': ['x ^ 3', (x) => tf.pow(x, 3)],
  'x ^ 1': ['x ^ 1', (x) => tf.pow(x, 1)],
  'x ^ 0.5': ['x ^ 0.5', (x) => tf.pow(x, 0.5)],
  'x ^ -0.5': ['x ^ -0.5', (x) => tf.pow(x.square(), -0.5)],
  'x ^ -1': ['x ^ -1', (x) => tf.pow(x, -1)],
  '-(-x)': ['-(-x)', (x) => x.neg().neg()],
  '(x * 2) * 4': ['(x * c1) * c2', (x) => x.mul(2).mul(4)],
  '4 * (2 * x)': ['(x * c1) * c2', (x) => tf.multiply(4, tf.multiply(2, x))],
  'ca + cb': ['common factor', (x, y) => tf.add(x.mul(y), x.mul(y.exp().floor()))],
  'ac - cb': ['common factor', (x, y) => y.floor().mul(x).sub(x.mul(y))],
  'addN of ca and cb': ['common factor', (x, y) => tf.addN([x.mul(y), x.mul(y.floor())])],
  'cast up and on': ['two casts', (x) => x.cast(tf.int32).cast(tf.int64).cast(tf.float64).cast(tf.float32)],
  'cast there and back': ['cast there and back', (x) => x.cast(tf.float16).cast(tf.float32).cast(tf.float16)],
};

const keeps: typeof fires = {
  'x + 0': ['x + 0', (x) => x.add(0)],
  'x - 0': ['x - 0', (x) => x.sub(0)],
  'x * 1': ['x * 1', (x) => x.mul(1)],
  'x / 1': ['x / 1', (x) => x.div(1)],
  'x + 0 of more axes': ['x + 0', (x) => x.cast(tf.int32).add(tf.constant([[0]]))],
  'x * [1]': ['x * 1', (x) => x.cast(tf.int32).mul(tf.constant([1]))],
  'integers to a power': ['x ^ 2', (x) => tf.pow(x.cast(tf.int32), 2)],
  'x ^ [2]': ['x ^ 2', (x) => tf.pow(x, tf.constant([2], { dtype: tf.float32 }))],
  'a cast that takes tiny numbers for zero': ['cast there and back', (x) => x.cast(tf.float64).cast(tf.float32)],
  '0 - x': ['x - 0', (x) => tf.subtract(0, x)],
  '1 / x': ['x / 1', (x) => tf.divide(1, x)],
  'exp(log x)': ['exp', (x) => x.log().exp()],
  'no factor in common': ['common factor', (x, y) => x.mul(2).add(y.mul(4))],
  'a product used twice': [
    'common factor',
    (x, y) => {
      const product = x.mul(y);
      return product.add(x.mul(y.floor())).add(product.abs());
    },
  ],
  'a product that another node computes too': [
    'common factor',
    (x, y) => {
      const [product, same] = [x.mul(y), x.mul(y)];
      return product.add(x.mul(y.floor())).add(same.abs());
    },
  ],
  'a product used twice before a factor': [
    '(x * c1) * c2',
    (x) => {
      const twice = x.mul(2);
      return twice.mul(4).add(twice);
    },
  ],
  'a cast that loses': ['cast there and back', (x) => x.cast(tf.int32).cast(tf.float32)],
  'a cast to half and on': ['two casts', (x) => x.cast(tf.float16).cast(tf.float64)],
};

describe('identities', () => {
  for (const [name, [rule, build]] of Object.entries(fires))
    it(`${name} is simplified`, async () => {
      expect(await applies(rule, build)).toBe(true);
    });
  for (const [name, [rule, build]] of Object.entries(keeps))
    it(`${name} is left alone`, async () => {
      expect(await applies(rule, build)).toBe(false);
    });

  it('keeps what arithmetic makes of -0 and of tiny numbers', async () => {
    const graph = new tf.Graph();
    const tiny = 1e-40;
    const { x, results } = graph.asDefault(() => {
      const x = tf.placeholder(tf.float32, [null]);
      const results = [x.add(0), x.sub(0), x.mul(1), x.div(1), x.mul(2).mul(0.5), x.cast(tf.float64).cast(tf.float32)];
      return { x, results: [...results, tf.pow(x, 0.5), tf.pow(x, -0.5)] };
    });
    const values = await new tf.Session({ graph }).run(results, [[x, [-0, tiny, -tiny, Number.NEGATIVE_INFINITY]]]);
    const inf = Number.POSITIVE_INFINITY;
    expect(values.map((value) => value.numbers())).toEqual([
      [0, 0, 0, -inf],
      ...Array(5).fill([-0, 0, -0, -inf]),
      [-0, 0, -0, Number.NaN],
      [-inf, inf, -inf, Number.NaN],
    ]);
  });

  it('what is fed is what counts, not what it would have been', async () => {
    const graph = new tf.Graph();
    const { x, inner, result } = graph.asDefault(() => {
      const x = tf.placeholder(tf.float32, []);
      const inner = x.neg();
      return { x, inner, result: inner.neg() };
    });
    const fed = await new tf.Session({ graph }).run(result, [
      [inner, 5],
      [x, 1],
    ]);
    expect(Number(fed)).toBe(-5);
  });

  it('operands that change places make the same node, if the op does not mind', () => {
    const merged = (build: (x: tf.Tensor, y: tf.Tensor) => [tf.Tensor, tf.Tensor]) =>
      new tf.Graph().asDefault(() => {
        const both = build(tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, []));
        return explain(...both).includes('merged: ');
      });
    expect(merged((x, y) => [x.mul(y), y.mul(x)])).toBe(true);
    expect(merged((x, y) => [x.sub(y), y.sub(x)])).toBe(false);
  });

  it('equal nodes of two devices stay two', () => {
    new tf.Graph().asDefault(() => {
      const x = tf.placeholder(tf.float32, []);
      const on = (device: string) => tf.device(device, () => tf.exp(x));
      expect(explain(on('/cpu:0'), on('/cpu:1'))).not.toContain('merged: ');
      expect(explain(on('/cpu:0'), on('/cpu:0'))).toContain('merged: ');
    });
  });

  it('log(softmax(x)) becomes logSoftmax(x), which does not underflow', async () => {
    const graph = new tf.Graph();
    const { x, result } = graph.asDefault(() => {
      const x = tf.placeholder(tf.float32, [1, 2]);
      return { x, result: tf.log(tf.nn.softmax(x)) };
    });
    expect(explain(result)).toContain('log(softmax(x)): ');
    expect((await new tf.Session({ graph }).run(result, [[x, [[1000, 0]]]])).toArray()).toEqual([[0, -1000]]);
  });
});
