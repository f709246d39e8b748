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

const table = (value: (row: number, column: number) => number): number[][] =>
  Array.from({ length: 16 }, (_, i) => Array.from({ length: 10 }, (_, j) => value(i, j)));

export async function main({ trainingSteps = 120 } = {}) {
  tf.setRandomSeed(1);
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
  const variables = tf.globalVariables().map(String);
  for (const variable of variables) console.log(variable);

  // Both uses of the model pull at the same variables.
  const sum = tf.reduceMean(y1.add(y2), 1);
  const loss = tf.losses.meanSquaredError(tf.reduceSum(tf.square(x1.sub(x2)), 1), sum);
  const train = new tf.train.AdamOptimizer(0.05).minimize(loss, { varList: tf.trainableVariables('model') });

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
  const losses: number[] = [];
  for (let step = 0; step < trainingSteps; step++) {
    const rows = (phase: number) => table((i, j) => Math.sin(phase + step + 3 * i + 0.7 * j));
    const feeds: [tf.Tensor, number[][]][] = [[x1, rows(0)], [x2, rows(1)]]; // biome-ignore format: pairs
    const [value] = await sess.run([loss, train], feeds);
    losses.push(Number(value));
  }
  console.log(`trained together: loss ${losses[0]!.toFixed(3)}, later ${losses.at(-1)!.toFixed(3)}`);
  await sess.close();
  const [first, second, third, fourth, fifth] = results.map((r) => JSON.stringify(r.toArray()));
  return {
    complaint,
    outputs: [o1.name, o2.name],
    variables,
    shared: first === second && second === third,
    denseShared: fourth === fifth,
    losses,
  };
}

await runDirectly(import.meta.url, () => main());
