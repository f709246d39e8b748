/** @file Own operations and own gradients: a registered gradient, customGradient, and functions of the program itself. */
import * as tf from 'tensorloom';
import { runDirectly } from './runDirectly.ts';

export async function main({ trainingSteps = 200 } = {}) {
  const graph = tf.getDefaultGraph();
  const x = tf.placeholder(tf.float32, [null], { name: 'x' });

  // Guided backpropagation: relu lets only positive gradients through, wherever the map is in force.
  tf.registerGradient('GuidedRelu', (op, dy) => [
    tf.where(tf.logicalAnd(tf.greater(op.outputs[0]!, 0), tf.greater(dy, 0)), dy, tf.zerosLike(dy)),
  ]);
  const usual = tf.nn.relu(x);
  const guided = graph.gradientOverrideMap({ Relu: 'GuidedRelu' }, () => tf.nn.relu(x));
  const incoming = tf.constant([1, -1, 1, -1], { dtype: tf.float32 });
  const [usualGradient] = tf.gradients(usual, [x], { gradYs: [incoming] });
  const [guidedGradient] = tf.gradients(guided, [x], { gradYs: [incoming] });

  // log(1 + e^x) the naive way overflows in its derivative; the derivative can be given instead.
  const softplus = tf.customGradient((v) => {
    const e = tf.exp(v);
    return { value: tf.log(e.add(1)), grad: (dy) => dy.mul(tf.sub(1, tf.reciprocal(e.add(1)))) };
  });
  const [softplusGradient] = tf.gradients(softplus(x), [x]);

  // A function of this program as a part of the graph, called with the values of each run.
  const sorted = tf.jsFunc((a: tf.NDArray) => a.numbers().sort((p, q) => p - q), [x], tf.float32);

  // Both at work in training: the derivative above, and an identity that lets no gradient through that is larger than 1.
  tf.registerGradient('ClippedIdentity', (_, dy) => [tf.clipByValue(dy, -1, 1)]);
  const wanted = tf.placeholder(tf.float32, [null], { name: 'wanted' });
  const slope = new tf.Variable(0.5, { name: 'slope' });
  const offset = new tf.Variable(1.5, { name: 'offset' });
  const line = graph.gradientOverrideMap({ Identity: 'ClippedIdentity' }, () => tf.identity(x.mul(slope).add(offset)));
  const loss = tf.reduceSum(tf.square(softplus(line).sub(wanted)));
  const train = new tf.train.GradientDescentOptimizer(0.05).minimize(loss);

  const sess = new tf.Session();
  await sess.run(tf.globalVariablesInitializer());
  const feeds: [tf.Tensor, number[]][] = [[x, [3, 1, -2, 100]]];
  const fetches = [usualGradient!, guidedGradient!, softplusGradient!, sorted].map((t) => tf.convertToTensor(t));
  const values = await sess.run(fetches, feeds);
  for (const [i, name] of ['relu', 'guided relu', 'softplus', 'sorted'].entries())
    console.log(`${name.padEnd(12)} ${values[i]}`);
  const points = [-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5];
  const losses: number[] = [];
  for (let step = 0; step < trainingSteps; step++) {
    const [value] = await sess.run([loss, train], [[x, points], [wanted, points.map((p) => Math.log1p(Math.exp(2 * p - 1)))]]); // biome-ignore format: pairs
    losses.push(Number(value));
  }
  const learned = (await sess.run([slope, offset])).map(Number);
  console.log(`softplus(${learned[0]!.toFixed(3)} x + ${learned[1]!.toFixed(3)}), wanted was softplus(2 x - 1)`);
  await sess.close();
  const [reluGradient, guidedReluGradient, softplusSlope, sortedValues] = values.map((v) => v.numbers());
  return { reluGradient, guidedReluGradient, softplusSlope, sortedValues, losses, learned };
}

await runDirectly(import.meta.url, () => main());
