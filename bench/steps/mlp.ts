/** @file A multilayer perceptron 784-512-512-10, batch 128, SGD. */
import * as tf from 'tensorloom';
import { type Model, numbers, oneHotRows } from './step.ts';

export function mlp(): Model {
  const x = tf.placeholder(tf.float32, [null, 784]);
  const labels = tf.placeholder(tf.float32, [null, 10]);
  const dense = (input: tf.Tensor, name: string, from: number, to: number): tf.Tensor =>
    tf.matmul(input, tf.getVariable(`${name}/w`, [from, to])).add(tf.getVariable(`${name}/b`, [to]));
  const first = tf.nn.relu(dense(x, 'first', 784, 512));
  const second = tf.nn.relu(dense(first, 'second', 512, 512));
  const logits = dense(second, 'logits', 512, 10);
  const loss = tf.reduceMean(tf.nn.softmaxCrossEntropyWithLogitsV2({ labels, logits }));
  const step = new tf.train.GradientDescentOptimizer(0.1).minimize(loss);
  return {
    step,
    loss,
    feeds: [
      [x, numbers([128, 784])],
      [labels, oneHotRows(128, 10)],
    ],
  };
}
