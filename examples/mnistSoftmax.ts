/** @file Softmax regression on the MNIST digits: one matrix, about 92% right. */
import * as tf from 'tensorloom';
import { runDirectly } from './runDirectly.ts';

export async function main({ steps = 1000, batchSize = 100, testDigits = 10_000 } = {}) {
  const mnist = await tf.examples.mnist({ oneHot: true });
  const x = tf.placeholder(tf.float32, [null, 784], { name: 'x' });
  const labels = tf.placeholder(tf.float32, [null, 10], { name: 'labels' });
  const W = new tf.Variable(tf.zeros([784, 10]), { name: 'W' });
  const b = new tf.Variable(tf.zeros([10]), { name: 'b' });
  const logits = tf.matmul(x, W).add(b);
  const crossEntropy = tf.reduceMean(tf.nn.softmaxCrossEntropyWithLogits({ labels, logits }));
  const trainStep = new tf.train.GradientDescentOptimizer(0.5).minimize(crossEntropy);
  const hits = tf.equal(tf.argmax(logits, 1), tf.argmax(labels, 1));
  const accuracy = tf.reduceMean(tf.cast(hits, tf.float32));

  // An interactive session is the default one, so that operations and tensors run without naming it.
  const sess = new tf.InteractiveSession();
  await tf.globalVariablesInitializer().run();
  for (let step = 0; step < steps; step++) {
    const [images, digits] = mnist.train.nextBatch(batchSize);
    await trainStep.run([
      [x, images],
      [labels, digits],
    ]);
    if (step % 200 === 0) console.log(`step ${step}`);
  }
  const [images, digits] = mnist.test.nextBatch(testDigits);
  const result = Number(
    await accuracy.eval([
      [x, images],
      [labels, digits],
    ]),
  );
  console.log(`${(result * 100).toFixed(2)}% of ${testDigits} test digits are recognized`);
  await sess.close();
  return { accuracy: result };
}

await runDirectly(import.meta.url, main);
