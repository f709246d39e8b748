/** @file Two phases: a graph is built first, then a session runs the parts of it that are asked for. */
import * as tf from 'tensorloom';
import { runDirectly } from './runDirectly.ts';

export async function main() {
  // First phase: every line adds operations to the graph. Nothing is computed.
  const sum = tf.add(5, 5);
  console.log(`tf.add(5, 5) is ${sum}`);
  const a = tf.placeholder(tf.float32, [], { name: 'a' });
  const b = tf.placeholder(tf.float32, [], { name: 'b' });
  const offset = tf.getVariable('offset', [1], { initializer: tf.constantInitializer(5) });
  const y = tf.mul(a, tf.log(b)).add(offset);

  // Second phase: a session holds the variables and computes what is fetched.
  const sess = new tf.Session();
  await sess.run(tf.globalVariablesInitializer());
  const ten = await sess.run(sum);
  const value = await sess.run(y, [
    [a, 3],
    [b, 3],
  ]);
  console.log(`its value is ${ten}`);
  console.log(`a * log(b) + offset = ${value}`);

  // What a fetch needs must be fed; what it does not need may stay away.
  const complaint = await y.eval([[a, 3]], sess).then(
    () => 'none',
    (error: Error) => error.message,
  );
  console.log(`without b: ${complaint}`);
  await sess.close();
  return { sum: String(sum), ten: ten.item(), value: value.toArray(), complaint };
}

await runDirectly(import.meta.url, main);
