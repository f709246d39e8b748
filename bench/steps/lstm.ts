/** @file An LSTM of 128 units over 32 sequences of 50 steps of 64 numbers, a dense layer on its last output, Adam. */
import * as tf from 'tensorloom';
import { type Model, numbers, oneHotRows } from './step.ts';

export function lstm(): Model {
  const x = tf.placeholder(tf.float32, [32, 50, 64]);
  const labels = tf.placeholder(tf.float32, [32, 10]);
  const [, { h }] = tf.nn.dynamicRnn(new tf.nn.rnnCell.BasicLSTMCell(128), x, { dtype: tf.float32 });
  const logits = tf.layers.dense(h, 10);
  const loss = tf.reduceMean(tf.nn.softmaxCrossEntropyWithLogitsV2({ labels, logits }));
  const step = new tf.train.AdamOptimizer(1e-3).minimize(loss);
  return {
    step,
    loss,
    feeds: [
      [x, numbers([32, 50, 64])],
      [labels, oneHotRows(32, 10)],
    ],
  };
}
