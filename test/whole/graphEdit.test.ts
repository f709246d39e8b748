import * as tf from 'tensorloom';
import { beforeEach, expect, it } from 'vitest';

beforeEach(() => tf.resetDefaultGraph());

function model() {
  const x = tf.placeholder(tf.float32, [2], { name: 'x' });
  const activation = tf.nameScope('old', () => tf.nn.relu(x));
  return { x, activation, y: activation.mul(10) };
}

it('An operation is replaced by another of the same inputs, also in a session that has run', async () => {
  const { x, y } = model();
  const sess = new tf.Session();
  const feeds = [[x, [-1, 2]]] as const;
  expect((await sess.run(y, feeds)).toArray()).toEqual([0, 20]);
  const made = tf.graph.replace(sess.graph, { from: 'old/Relu:0', to: (t) => tf.nn.elu(t) });
  expect([made.name, y.op.inputs[0], made.op.inputs[0]]).toEqual(['old/Elu:0', made, x]);
  const [first, second] = (await sess.run(y, feeds)).numbers();
  expect(first).toBeCloseTo(10 * Math.expm1(-1), 5);
  expect(second).toBe(20);
  const [dx] = tf.gradients(y, [x]);
  const [slope] = (await sess.run(tf.convertToTensor(dx as tf.Tensor), feeds)).numbers();
  expect(slope).toBeCloseTo(10 * Math.exp(-1), 5);
});

it('A placeholder is replaced by a value, and readers are kept in step', async () => {
  const { x, activation, y } = model();
  const made = tf.graph.replace(tf.getDefaultGraph(), { from: x, to: () => tf.constant([1.5, -2]) });
  expect((await new tf.Session().run(y)).toArray()).toEqual([15, 0]);
  expect([x.consumers(), made.consumers()]).toEqual([[], [activation.op]]);
});

it('What replaces a tensor may read it', async () => {
  const { x, activation, y } = model();
  tf.graph.replace(tf.getDefaultGraph(), { from: activation, to: () => activation.add(1) });
  expect((await new tf.Session().run(y, [[x, [-1, 2]]])).toArray()).toEqual([10, 30]);
});

it('What does not fit is refused, and changes nothing', async () => {
  const { x, activation, y } = model();
  const graph = tf.getDefaultGraph();
  const attempt = (to: () => unknown) => () => tf.graph.replace(graph, { from: activation, to: to as () => tf.Tensor });
  expect(attempt(() => tf.constant([1, 2]))).toThrow(/cannot replace.*expect float32 of shape \[2\].*graphEdit/s);
  expect(attempt(() => tf.constant([1.5]))).toThrow(/cannot replace/);
  expect(attempt(() => 3)).toThrow(/must give a tensor.*gave 3/s);
  expect(attempt(() => y.add(1))).toThrow(/computed from .*'mul'.*being replaced/s);
  expect(() => tf.graph.replace(graph, { from: 'old/Relu', to: () => x })).toThrow(/name one of its outputs/);
  expect(() => tf.graph.replace(graph, { from: 'nowhere:0', to: () => x })).toThrow(/'nowhere:0'.*does not exist/);
  expect(y.op.inputs[0]).toBe(activation);
  graph.finalize();
  expect(attempt(() => x)).toThrow(/finalized/);
});
