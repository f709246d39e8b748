/** @file A convolutional network with batch normalization and dropout: over 99% of the MNIST digits in a few epochs. */
import * as tf from 'tensorloom';
import { runDirectly } from './runDirectly.ts';

export interface CnnOptions {
  readonly epochs?: number;
  readonly batchSize?: number;
  readonly trainDigits?: number;
  readonly testDigits?: number;
  /** A folder with IDX files in place of the digits, such as Fashion-MNIST's. */
  readonly folder?: string;
}

/** Two convolutions, each followed by pooling, then two dense layers: scores for ten classes. */
export function network(images: tf.Tensor, isTraining: tf.Tensor): tf.Tensor {
  const { conv2d, maxPooling2d, batchNormalization, flatten, dense, dropout } = tf.layers;
  const pixels = tf.reshape(images, [-1, 28, 28, 1]);
  const edges = conv2d(pixels, 32, 5, { padding: 'same', activation: tf.nn.relu, name: 'conv1' });
  const half = maxPooling2d(edges, 2, 2, { name: 'pool1' });
  const shapes = conv2d(half, 64, 5, { padding: 'same', useBias: false, name: 'conv2' });
  const normal = tf.nn.relu(batchNormalization(shapes, { training: isTraining, name: 'norm' }));
  const quarter = flatten(maxPooling2d(normal, 2, 2, { name: 'pool2' }));
  const hidden = dense(quarter, 256, { activation: tf.nn.relu, name: 'hidden' });
  return dense(dropout(hidden, 0.4, { training: isTraining }), 10, { name: 'scores' });
}

export async function main({
  epochs = 3,
  batchSize = 64,
  trainDigits = 60_000,
  testDigits = 10_000,
  folder,
}: CnnOptions = {}) {
  const data = await tf.examples.mnist(folder === undefined ? {} : { folder });
  tf.setRandomSeed(1);
  const images = tf.placeholder(tf.float32, [null, 784], { name: 'images' });
  const labels = tf.placeholder(tf.int64, [null], { name: 'labels' });
  const isTraining = tf.placeholder(tf.bool, [], { name: 'is_training' });
  const scores = network(images, isTraining);
  const loss = tf.losses.sparseSoftmaxCrossEntropy(labels, scores);
  const globalStep = tf.train.getOrCreateGlobalStep();
  const steps = Math.floor(trainDigits / batchSize);
  const rate = tf.train.cosineDecay(1e-3, globalStep, epochs * steps);
  // The mean and variance that batch normalization remembers are updated with each step.
  const updates = tf.getCollection(tf.GraphKeys.UPDATE_OPS);
  const train = tf.controlDependencies(updates, () => new tf.train.AdamOptimizer(rate).minimize(loss, { globalStep }));
  const right = tf.reduceSum(tf.cast(tf.equal(tf.argmax(scores, 1), labels), tf.float32));

  const sess = new tf.Session();
  await sess.run(tf.globalVariablesInitializer());
  const history: { loss: number; accuracy: number }[] = [];
  for (let epoch = 1; epoch <= epochs; epoch++) {
    const began = performance.now();
    let total = 0;
    for (let step = 0; step < steps; step++) {
      const [x, y] = data.train.nextBatch(batchSize);
      const [now] = await sess.run(
        [loss, train],
        [
          [images, x],
          [labels, y],
          [isTraining, true],
        ],
      );
      total += Number(now);
    }
    const seconds = (performance.now() - began) / 1000;
    let correct = 0;
    const chunk = Math.min(1000, testDigits);
    for (let done = 0; done < testDigits; done += chunk) {
      const [x, y] = data.test.nextBatch(chunk);
      correct += Number(
        await sess.run(right, [
          [images, x],
          [labels, y],
          [isTraining, false],
        ]),
      );
    }
    const accuracy = correct / testDigits;
    history.push({ loss: total / steps, accuracy });
    const speed = Math.round((steps * batchSize) / seconds).toLocaleString('en');
    console.log(
      `epoch ${epoch}/${epochs}  loss ${(total / steps).toFixed(4)}  test ${(accuracy * 100).toFixed(2)}%  ${speed} images/s, ${seconds.toFixed(1)} s`,
    );
  }
  await sess.close();
  return { history, accuracy: history.at(-1)!.accuracy };
}

await runDirectly(import.meta.url, main);
