/** @file Logistic regression: symbolic gradients, clipped before they are applied, and gradients of gradients. */
import * as tf from 'tensorloom';
import { runDirectly } from './runDirectly.ts';

/** Points in five dimensions, labelled by the side of a plane on which they lie. */
function separablePoints(count: number): { inputs: number[][]; targets: number[][] } {
  const plane = [1.5, -2, 0.5, 1, -0.5];
  let state = 7;
  const random = () => {
    // A linear congruential generator: good enough to scatter points, and the same on every machine.
    state = (state * 1103515245 + 12345) % 2147483648;
    return (state / 2147483648) * 2 - 1;
  };
  const inputs = Array.from({ length: count }, () => plane.map(random));
  const targets = inputs.map((x) => [Number(x.reduce((sum, v, i) => sum + v * plane[i]!, 0.3) > 0)]);
  return { inputs, targets };
}

export async function main({ steps = 300 } = {}) {
  const W = new tf.Variable(tf.randomNormal([5, 1], { seed: 1 }), { name: 'W' });
  const b = new tf.Variable(tf.randomNormal([1, 1], { seed: 2 }), { name: 'b' });
  const input = tf.placeholder(tf.float32, [null, 5], { name: 'input' });
  const target = tf.placeholder(tf.float32, [null, 1], { name: 'target' });
  const logits = tf.nameScope('Wx_plus_b', () => tf.matmul(input, W).add(b));
  const loss = tf.reduceMean(tf.nn.sigmoidCrossEntropyWithLogits({ logits, labels: target }));

  // minimize() in two halves, so that the gradients can be changed in between.
  const optimizer = new tf.train.GradientDescentOptimizer(1);
  const gradsAndVars = optimizer.computeGradients(loss, [W, b]);
  const capped = gradsAndVars.map(([g, v]) => [tf.clipByValue(g, -1, 1), v] as const);
  const trainOp = optimizer.applyGradients(capped);

  // A gradient is part of the graph like everything else, so it has a gradient, too.
  const [dW] = tf.gradients(loss, [W]);
  const [d2W] = tf.gradients(dW, [W]);

  const sess = new tf.Session();
  await sess.run(tf.globalVariablesInitializer());
  const { inputs, targets } = separablePoints(200);
  const feeds = new Map<tf.Tensor, number[][]>([
    [input, inputs],
    [target, targets],
  ]);
  const losses: number[] = [];
  for (let step = 0; step < steps; step++) {
    const { loss: now } = await sess.run({ trainOp, loss }, feeds);
    losses.push(Number(now));
    if (step % 100 === 0) console.log(`step ${step}: loss ${Number(now).toFixed(4)}`);
  }
  const correct = tf.equal(tf.greater(logits, 0), tf.greater(target, 0.5));
  const accuracy = Number(await sess.run(tf.reduceMean(tf.cast(correct, tf.float32)), feeds));
  const [first, second] = await sess.run([tf.convertToTensor(dW!), tf.convertToTensor(d2W!)], feeds);
  console.log(`${(accuracy * 100).toFixed(1)}% of the points are on the right side`);
  console.log(
    `the gradient with respect to W is now [${first
      .numbers()
      .map((g) => g.toFixed(4))
      .join(', ')}]`,
  );
  await sess.close();
  return { losses, accuracy, gradientShape: first.shape, curvature: second.numbers() };
}

await runDirectly(import.meta.url, main);
