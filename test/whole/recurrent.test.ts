/** @file Recurrent networks against TensorFlow: the same variables, outputs, states and gradients for the same seeds. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import * as tf from '../../src/api/index.ts';
import { fromNested, type Nested } from '../../src/core/ndarray.ts';
import { flatten } from '../../src/front/nest.ts';

interface Recorded {
  readonly variables: readonly [string, readonly number[]][];
  readonly names: readonly string[];
  readonly values: readonly Nested[];
  readonly gradients: readonly Nested[];
}
const { x: inputs, ...golden } = JSON.parse(
  readFileSync(new URL('../golden/recurrent.json', import.meta.url), 'utf8'),
) as { x: Nested } & Record<string, Recorded>; // written by tools/golden/recurrent.py

const { BasicRNNCell, GRUCell, BasicLSTMCell, LSTMCell, MultiRNNCell, DropoutWrapper, ResidualWrapper } = tf.nn.rnnCell;
type Build = (x: tf.Tensor) => unknown;
const { float32 } = tf;
const dynamic =
  <S>(cell: () => tf.nn.rnnCell.RNNCell<S>, options: tf.nn.DynamicRnnOptions<S> = {}): Build =>
  (x) =>
    tf.nn.dynamicRnn(cell(), x, { dtype: float32, ...options });
const keep = { inputKeepProb: 0.5, outputKeepProb: 0.75, stateKeepProb: 0.5, seed: 5 };

const builds: Record<string, Build> = {
  basic: dynamic(() => new BasicRNNCell(5)),
  gru: dynamic(() => new GRUCell(5)),
  lstm: dynamic(() => new BasicLSTMCell(5)),
  lstmLengths: dynamic(() => new BasicLSTMCell(5), { sequenceLength: [2, 4] }),
  lstmFull: dynamic(() => new LSTMCell(5, { usePeepholes: true, numProj: 3, cellClip: 0.5, projClip: 0.25 })),
  multi: dynamic(() => new MultiRNNCell<tf.Tensor | tf.nn.rnnCell.LSTMState>([new BasicLSTMCell(4), new GRUCell(3)])),
  dropout: dynamic(() => new DropoutWrapper(new GRUCell(5), keep)),
  variational: dynamic(
    () =>
      new DropoutWrapper(new BasicLSTMCell(5), { ...keep, variationalRecurrent: true, inputSize: 3, dtype: float32 }),
  ),
  residual: dynamic(() => new ResidualWrapper(new GRUCell(3))),
  timeMajor: (x) => tf.nn.dynamicRnn(new GRUCell(5), tf.transpose(x, [1, 0, 2]), { dtype: float32, timeMajor: true }),
  static: (x) => tf.nn.staticRnn(new BasicLSTMCell(5), tf.unstack(x, { axis: 1 }), { dtype: float32 }),
  staticLengths: (x) =>
    tf.nn.staticRnn(new GRUCell(5), tf.unstack(x, { axis: 1 }), { dtype: float32, sequenceLength: [2, 4] }),
  bidirectional: (x) =>
    tf.nn.bidirectionalDynamicRnn(new GRUCell(4), new BasicLSTMCell(3), x, { dtype: float32, sequenceLength: [3, 4] }),
  raw(x) {
    const inputs = tf.transpose(x, [1, 0, 2]);
    const cell = new GRUCell(5);
    const [outputs, state] = tf.nn.rawRnn<tf.Tensor>(cell, (time, _, state) => {
      const finished = tf.greaterEqual(time, tf.constant([2, 4]));
      const input = tf.cond(
        tf.reduceAll(finished),
        () => tf.zeros([2, 3]),
        () => tf.gather(inputs, time),
      );
      input.setShape([2, 3]);
      return { finished, input, state: state ?? cell.zeroState(2, float32) };
    });
    return [outputs.stack(), state];
  },
  staticBidirectional: (x) =>
    tf.nn.staticBidirectionalRnn(new GRUCell(4), new GRUCell(3), tf.unstack(x, { axis: 1 }), { dtype: float32 }),
};

const flat = (value: unknown): number[] => (Array.isArray(value) ? value.flatMap(flat) : [Number(value)]);
const close = (got: unknown, wanted: Nested, what: string) => {
  const [a, b] = [flat((got as tf.NDArray).toArray()), flat(wanted)];
  expect(a.length, what).toBe(b.length);
  for (const [i, w] of b.entries()) expect(a[i]! - w, `${what}[${i}]: ${a[i]} for ${w}`).toBeCloseTo(0, 4);
};

test.each(Object.keys(builds))('%s', async (name) => {
  const { variables, values, gradients } = golden[name]!;
  const graph = new tf.Graph();
  const { fetches, grads } = graph.asDefault(() => {
    tf.setRandomSeed(11);
    const x = tf.placeholder(float32, [2, 4, 3], { name: 'x' });
    const fetches = flatten(builds[name]!(x)) as tf.Tensor[]; // networks give structures of tensors
    const trained = tf.trainableVariables();
    expect(trained.map((v) => [v.name, v.shape])).toEqual(variables);
    const loss = tf.addN(fetches.map((t) => tf.reduceSum(tf.square(t))));
    return { fetches, grads: tf.gradients(loss, [...trained, x]) };
  });
  const sess = new tf.Session({ graph });
  await graph.asDefault(() => sess.run(tf.globalVariablesInitializer()));
  const results = await sess.run([fetches, grads as tf.Tensor[]], new Map([['x:0', fromNested(inputs, float32)]])); // everything is connected
  for (const [i, value] of results[0].entries()) close(value, values[i]!, golden[name]!.names[i]!);
  for (const [i, value] of results[1].entries()) close(value, gradients[i]!, `gradient ${i}`);
});
