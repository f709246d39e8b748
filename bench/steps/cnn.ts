/** @file A convolutional network 5x5x32, pool, 5x5x64, pool, 1024, 10 on 64 digits, Adam. */
import * as tf from 'tensorloom';
import { type Model, numbers, oneHotRows } from './step.ts';

export function cnn(): Model {
  const images = tf.placeholder(tf.float32, [64, 28, 28, 1]);
  const labels = tf.placeholder(tf.float32, [64, 10]);
  const { conv2d, maxPooling2d, flatten, dense } = tf.layers;
  const first = maxPooling2d(conv2d(images, 32, 5, { padding: 'same', activation: tf.nn.relu }), 2, 2);
  const second = maxPooling2d(conv2d(first, 64, 5, { padding: 'same', activation: tf.nn.relu }), 2, 2);
  const logits = dense(dense(flatten(second), 1024, { activation: tf.nn.relu }), 10);
  const loss = tf.reduceMean(tf.nn.softmaxCrossEntropyWithLogitsV2({ labels, logits }));
  const step = new tf.train.AdamOptimizer(1e-3).minimize(loss);
  return {
    step,
    loss,
    feeds: [
      [images, numbers([64, 28, 28, 1])],
      [labels, oneHotRows(64, 10)],
    ],
  };
}
