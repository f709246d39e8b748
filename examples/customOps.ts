/** @file Own operations and own gradients: a registered gradient, customGradient, and functions of the program itself. */
import * as tf from 'tensorloom';
import { runDirectly } from './runDirectly.ts';

export async function main() {
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

  const sess = new tf.Session();
  const feeds: [tf.Tensor, number[]][] = [[x, [3, 1, -2, 100]]];
  const fetches = [usualGradient!, guidedGradient!, softplusGradient!, sorted].map((t) => tf.convertToTensor(t));
  const values = await sess.run(fetches, feeds);
  for (const [i, name] of ['relu', 'guided relu', 'softplus', 'sorted'].entries())
    console.log(`${name.padEnd(12)} ${values[i]}`);
  await sess.close();
  const [reluGradient, guidedReluGradient, softplusSlope, sortedValues] = values.map((v) => v.numbers());
  return { reluGradient, guidedReluGradient, softplusSlope, sortedValues };
}

await runDirectly(import.meta.url, main);
