/** @file Logistic regression [3, 5] · [5, 2], SGD: nothing but overhead. */
import * as tf from 'tensorloom';
import { type Model, numbers, oneHotRows } from './step.ts';

export function logistic(): Model {
  const x = tf.placeholder(tf.float32, [null, 5]);
  const labels = tf.placeholder(tf.float32, [null, 2]);
  const w = tf.getVariable('w', [5, 2]);
  const b = tf.getVariable('b', [2], { initializer: tf.zerosInitializer() });
  const logits = tf.matmul(x, w).add(b);
  const loss = tf.reduceMean(tf.nn.softmaxCrossEntropyWithLogitsV2({ labels, logits }));
  const step = new tf.train.GradientDescentOptimizer(0.1).minimize(loss);
  return {
    step,
    loss,
    feeds: [
      [x, numbers([3, 5])],
      [labels, oneHotRows(3, 2)],
    ],
  };
}
