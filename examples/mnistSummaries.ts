/** @file A network that writes everything worth seeing to event files: `tensorboard --logdir logs`. */
import * as tf from 'tensorloom';
import { runDirectly } from './runDirectly.ts';

export interface SummariesOptions {
  readonly logdir?: string;
  readonly steps?: number;
  readonly testDigits?: number;
  /** Every so many steps a run is traced, and the test digits are tried. */
  readonly traceEvery?: number;
  readonly testEvery?: number;
}

/** Mean, spread, extremes and distribution of a variable. */
function variableSummaries(v: tf.TensorLike): void {
  tf.nameScope('summaries', () => {
    const mean = tf.reduceMean(v);
    tf.summary.scalar('mean', mean);
    const stddev = tf.nameScope('stddev', () => tf.sqrt(tf.reduceMean(tf.square(tf.sub(v, mean)))));
    tf.summary.scalar('stddev', stddev);
    tf.summary.scalar('max', tf.reduceMax(v));
    tf.summary.scalar('min', tf.reduceMin(v));
    tf.summary.histogram('histogram', v);
  });
}

/** A fully connected layer whose weights and activations are recorded. */
function layer(
  input: tf.Tensor,
  [inputs, outputs]: readonly [number, number],
  name: string,
  activation: (x: tf.Tensor) => tf.Tensor,
): tf.Tensor {
  return tf.nameScope(name, () => {
    const weights = tf.nameScope('weights', () => {
      const v = new tf.Variable(tf.truncatedNormal([inputs, outputs], { stddev: 0.1 }));
      variableSummaries(v);
      return v;
    });
    const biases = tf.nameScope('biases', () => {
      const v = new tf.Variable(tf.constant(0.1, { shape: [outputs] }));
      variableSummaries(v);
      return v;
    });
    const preactivate = tf.nameScope('Wx_plus_b', () => {
      const sum = tf.matmul(input, weights).add(biases);
      tf.summary.histogram('pre_activations', sum);
      return sum;
    });
    const activations = activation(preactivate);
    tf.summary.histogram('activations', activations);
    return activations;
  });
}

export async function main({
  logdir = 'logs',
  steps = 1000,
  testDigits = 10_000,
  traceEvery = 100,
  testEvery = 10,
}: SummariesOptions = {}) {
  const mnist = await tf.examples.mnist({ oneHot: true });
  tf.setRandomSeed(1);
  const [x, labels] = tf.nameScope('input', () => [
    tf.placeholder(tf.float32, [null, 784], { name: 'x-input' }),
    tf.placeholder(tf.float32, [null, 10], { name: 'y-input' }),
  ]);
  tf.nameScope('input_reshape', () => {
    tf.summary.image('input', tf.reshape(x, [-1, 28, 28, 1]), { maxOutputs: 10 });
  });
  const hidden = layer(x, [784, 200], 'layer1', (v) => tf.nn.relu(v));
  const keepProb = tf.nameScope('dropout', () => {
    const prob = tf.placeholder(tf.float32, []);
    tf.summary.scalar('dropout_keep_probability', prob);
    return prob;
  });
  const dropped = tf.nn.dropout(hidden, keepProb);
  const logits = layer(dropped, [200, 10], 'layer2', (v) => tf.identity(v));
  const crossEntropy = tf.nameScope('cross_entropy', () =>
    tf.reduceMean(tf.nn.softmaxCrossEntropyWithLogits({ labels, logits })),
  );
  tf.summary.scalar('cross_entropy', crossEntropy);
  const trainStep = tf.nameScope('train', () => new tf.train.AdamOptimizer(1e-3).minimize(crossEntropy));
  const accuracy = tf.nameScope('accuracy', () =>
    tf.reduceMean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.argmax(labels, 1)), tf.float32)),
  );
  tf.summary.scalar('accuracy', accuracy);

  const merged = tf.summary.mergeAll();
  using sess = new tf.Session();
  await using trainWriter = new tf.summary.FileWriter(`${logdir}/train`, sess.graph);
  await using testWriter = new tf.summary.FileWriter(`${logdir}/test`);
  await sess.run(tf.globalVariablesInitializer());
  const [testImages, testLabels] = mnist.test.nextBatch(testDigits);
  let tested = 0;
  for (let step = 0; step < steps; step++) {
    if (step % testEvery === 0) {
      const [summary, now] = await sess.run(
        [merged, accuracy],
        [
          [x, testImages],
          [labels, testLabels],
          [keepProb, 1],
        ],
      );
      tested = Number(now);
      testWriter.addSummary(summary, step);
      console.log(`Accuracy at step ${step}: ${tested.toFixed(4)}`);
    }
    const [xs, ys] = mnist.train.nextBatch(100);
    const isTraced = step % traceEvery === traceEvery - 1;
    const runMetadata = new tf.RunMetadata();
    const [summary] = await sess.run(
      [merged, trainStep],
      [
        [x, xs],
        [labels, ys],
        [keepProb, 0.9],
      ],
      isTraced ? { options: { traceLevel: tf.RunOptions.FULL_TRACE }, runMetadata } : {},
    );
    trainWriter.addSummary(summary, step);
    if (isTraced) trainWriter.addRunMetadata(runMetadata, `step${String(step).padStart(3, '0')}`, step);
  }
  console.log(`tensorboard --logdir ${logdir}`);
  return { accuracy: tested, logdir };
}

await runDirectly(import.meta.url, main);
