/** @file The graph simplifies itself before it runs, and can say what it did; slices of variables can be assigned. */
import * as tf from 'tensorloom';
import { runDirectly } from './runDirectly.ts';

export async function main() {
  const a = tf.placeholder(tf.float32, [null], { name: 'a' });
  const b = tf.placeholder(tf.float32, [null], { name: 'b' });
  const c = tf.placeholder(tf.float32, [], { name: 'c' });

  // c*a + c*b becomes c*(a + b), 2*3 is computed once, and the three sums of a and b are one.
  const factored = c.mul(a).add(c.mul(b));
  const constant = tf.mul(2, 3);
  const twice = tf.add(a, b).mul(tf.add(a, b));
  const y = tf.add(factored, twice).add(tf.cast(constant, tf.float32));
  const explanation = tf.graph.explain(y);
  console.log(explanation);

  const sess = new tf.Session();
  const runMetadata = new tf.RunMetadata();
  const feeds: [tf.Tensor, number | number[]][] = [
    [a, [1, 2]],
    [b, [3, 4]],
    [c, 10],
  ];
  const value = await sess.run(y, feeds, { runMetadata });
  const ran = runMetadata.partitionGraphs.flatMap((g) => g.node.map((n) => n.op));
  console.log(`value ${value}, by way of ${ran.join(', ')}`);

  // Rows and columns of a variable, addressed as in numpy.
  const table = tf.getVariable('table', [4, 4], { initializer: tf.zerosInitializer() });
  await sess.run(tf.globalVariablesInitializer());
  await sess.run(table.slice('1:3, :').assign(tf.ones([2, 4])));
  const filled = await sess.run(table);
  console.log(String(filled));
  await sess.close();
  return { explanation, value: value.toArray(), ran, table: filled.toArray() };
}

await runDirectly(import.meta.url, main);
