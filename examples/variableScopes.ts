/** @file Variable scopes: how two parts of a model share their variables, and what happens when they do so by mistake. */
import * as tf from 'tensorloom';
import { runDirectly } from './runDirectly.ts';

/** A layer that asks for its variables by name; the scope around the call decides whether they are new or shared. */
function layer(input: tf.TensorLike, size: number): tf.Tensor {
  const weights = tf.getVariable('weights', [size, size], { initializer: tf.randomNormalInitializer() });
  const biases = tf.getVariable('biases', [size], { initializer: tf.constantInitializer(0) });
  return tf.nn.relu(tf.matmul(input, weights).add(biases));
}

function twoLayers(input: tf.TensorLike): tf.Tensor {
  const hidden = tf.variableScope('layer1', () => layer(input, 10));
  return tf.variableScope('layer2', () => layer(hidden, 10));
}

export async function main() {
  const x1 = tf.placeholder(tf.float32, [null, 10], { name: 'x1' });
  const x2 = tf.placeholder(tf.float32, [null, 10], { name: 'x2' });

  // The second and third model use the variables of the first.
  const [y1, y2] = tf.variableScope('model', (scope) => {
    const first = twoLayers(x1);
    scope.reuseVariables();
    return [first, twoLayers(x2)] as const;
  });
  const y3 = tf.variableScope('model', { reuse: true }, () => twoLayers(x2));

  // Without a scope that says so, sharing is a mistake, and the error tells where the variable was made first.
  layer(x1, 10);
  let complaint = 'none';
  try {
    layer(x2, 10);
  } catch (error) {
    complaint = (error as Error).message; // getVariable throws errors
  }
  console.log(complaint);

  // tf.layers follow the scopes as well: one kernel, two places where it is used.
  const o1 = tf.variableScope('test', () => tf.layers.dense(x1, 10));
  const o2 = tf.variableScope('test', { reuse: true }, () => tf.layers.dense(x2, 10));
  console.log(o1.name, o2.name);
  for (const variable of tf.globalVariables()) console.log(String(variable));

  const sess = new tf.Session();
  await sess.run(tf.globalVariablesInitializer());
  const row = [[1, -1, 2, -2, 3, -3, 4, -4, 5, -5]];
  const results = await sess.run(
    [y1, y2, y3, o1, o2],
    [
      [x1, row],
      [x2, row],
    ],
  );
  await sess.close();
  const [first, second, third, fourth, fifth] = results.map((r) => JSON.stringify(r.toArray()));
  return {
    complaint,
    outputs: [o1.name, o2.name],
    variables: tf.globalVariables().map(String),
    shared: first === second && second === third,
    denseShared: fourth === fifth,
  };
}

await runDirectly(import.meta.url, main);
