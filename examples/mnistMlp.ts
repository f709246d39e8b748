/** @file A fully connected network that learns the MNIST digits in a few seconds: `npm run mnist`. */
import cliProgress from 'cli-progress';
import * as tf from 'tensorloom';
import { runDirectly } from './runDirectly.ts';

export interface MlpOptions {
  readonly epochs?: number;
  readonly batchSize?: number;
  /** Fewer digits than there are, for a quick try. */
  readonly trainDigits?: number;
  readonly testDigits?: number;
}

/** 784 pixels, two hidden layers, one score per digit. */
function network(images: tf.Tensor): tf.Tensor {
  const hidden1 = tf.layers.dense(images, 256, { activation: tf.nn.relu, name: 'hidden1' });
  const hidden2 = tf.layers.dense(hidden1, 128, { activation: tf.nn.relu, name: 'hidden2' });
  return tf.layers.dense(hidden2, 10, { name: 'scores' });
}

const isTerminal = process.stdout.isTTY === true;
const bold = (text: string) => (isTerminal ? `\u001b[1m${text}\u001b[22m` : text);
const dim = (text: string) => (isTerminal ? `\u001b[2m${text}\u001b[22m` : text);
const percent = (share: number) => `${(share * 100).toFixed(2)}%`;

/** A bar that fills while an epoch runs; without a terminal there is only the line at the end. */
function progressBar(
  epoch: number,
  epochs: number,
  steps: number,
): { show(step: number, loss: number): void; end(): void } {
  if (!isTerminal) return { show() {}, end() {} };
  const format = `epoch ${epoch}/${epochs} {bar} {percentage}%  loss {loss}`;
  const bar = new cliProgress.SingleBar(
    { format, hideCursor: true, clearOnComplete: true, barsize: 30 },
    cliProgress.Presets.shades_classic,
  );
  bar.start(steps, 0, { loss: '     ' });
  return { show: (step, loss) => bar.update(step, { loss: loss.toFixed(4) }), end: () => bar.stop() };
}

export async function main({
  epochs = 6,
  batchSize = 128,
  trainDigits = 60_000,
  testDigits = 10_000,
}: MlpOptions = {}) {
  const mnist = await tf.examples.mnist();
  tf.setRandomSeed(1);

  const images = tf.placeholder(tf.float32, [null, 784], { name: 'images' });
  const digits = tf.placeholder(tf.int64, [null], { name: 'digits' });
  const scores = network(images);
  const loss = tf.losses.sparseSoftmaxCrossEntropy(digits, scores);
  const globalStep = tf.train.getOrCreateGlobalStep();
  const steps = Math.floor(trainDigits / batchSize);
  // Small steps at the end let the network settle.
  const rate = tf.train.cosineDecay(2e-3, globalStep, epochs * steps);
  const trainOp = new tf.train.AdamOptimizer(rate).minimize(loss, { globalStep });
  const accuracy = tf.reduceMean(tf.cast(tf.equal(tf.argmax(scores, 1), digits), tf.float32));

  const parameters = tf
    .trainableVariables()
    .reduce((sum, v) => sum + (v.shape ?? []).reduce<number>((n, d) => n * (d ?? 1), 1), 0);
  console.log(
    bold(`784-256-128-10, ${parameters.toLocaleString('en')} parameters, ${trainDigits.toLocaleString('en')} digits`),
  );

  const sess = new tf.Session();
  await sess.run(tf.globalVariablesInitializer());
  const [testImages, testLabels] = mnist.test.nextBatch(testDigits);
  const history: { loss: number; accuracy: number }[] = [];
  for (let epoch = 1; epoch <= epochs; epoch++) {
    const bar = progressBar(epoch, epochs, steps);
    const began = performance.now();
    let total = 0;
    for (let step = 1; step <= steps; step++) {
      const [x, y] = mnist.train.nextBatch(batchSize);
      const [now] = await sess.run(
        [loss, trainOp],
        [
          [images, x],
          [digits, y],
        ],
      );
      total += Number(now);
      if (step % 10 === 0) bar.show(step, total / step);
    }
    bar.end();
    const seconds = (performance.now() - began) / 1000;
    const test = Number(
      await sess.run(accuracy, [
        [images, testImages],
        [digits, testLabels],
      ]),
    );
    history.push({ loss: total / steps, accuracy: test });
    const speed = Math.round((steps * batchSize) / seconds).toLocaleString('en');
    console.log(
      `epoch ${epoch}/${epochs}  loss ${(total / steps).toFixed(4)}  test ${bold(percent(test))}  ${dim(`${speed} images/s, ${seconds.toFixed(1)} s`)}`,
    );
  }
  const final = history.at(-1)!.accuracy;
  console.log(bold(`${percent(final)} of ${testDigits.toLocaleString('en')} digits it has never seen are recognized.`));
  await sess.close();
  return { history, accuracy: final, parameters };
}

await runDirectly(import.meta.url, main);
