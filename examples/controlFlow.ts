/** @file Control flow inside the graph: branches, loops, maps, scans and arrays, and gradients through them. */
import * as tf from 'tensorloom';
import { runDirectly } from './runDirectly.ts';

export async function main({ trainingSteps = 120 } = {}) {
  const sess = new tf.Session();

  // 0 + 1 + … + 9: the graph itself decides when to stop.
  const n = tf.placeholder(tf.int32, [], { name: 'n' });
  const [, total] = tf.whileLoop(
    (i) => tf.less(i, n),
    (i, s) => [i.add(1), s.add(i)],
    [tf.constant(0), tf.constant(0)],
  );
  const sum = Number((await sess.run(total, [[n, 10]])).item());
  console.log(`0 + 1 + … + 9 = ${sum}`);

  // Only the branch that is taken runs.
  const x = tf.placeholder(tf.int32, [], { name: 'x' });
  const y = tf.placeholder(tf.int32, [], { name: 'y' });
  const [z, how] = tf.cond(
    tf.less(x, y),
    () => [x.mul(2), tf.constant('x * 2')] as const,
    () => [tf.square(y), tf.constant('y squared')] as const,
  );
  const taken: [number, string][] = [];
  for (const [a, b] of [
    [3, 4],
    [5, 4],
  ]) {
    // biome-ignore format: pairs
    const [value, text] = await sess.run([z, how], [[x, a!], [y, b!]]); // biome-ignore format: pairs
    taken.push([Number(value.item()), String(text.item())]);
    console.log(`x = ${a}, y = ${b}: ${taken.at(-1)!.join(', by ')}`);
  }

  // A loop has gradients, and gradients of gradients.
  const w = tf.constant(1.1);
  const [, squared] = tf.whileLoop(
    (i) => tf.less(i, 4),
    (i, v) => [i.add(1), v.mul(v)],
    [tf.constant(0), w],
  );
  const [first] = tf.gradients(squared, [w]) as tf.Tensor[];
  const [second] = tf.gradients(first!, [w]) as tf.Tensor[];
  const [power, slope, curvature] = (await sess.run([squared, first!, second!])).map(Number);
  console.log(`1.1^16 = ${power!.toFixed(4)}, its slope ${slope!.toFixed(3)}, its curvature ${curvature!.toFixed(2)}`);

  // One of several: the first condition that holds.
  const size = tf.placeholder(tf.int32, [], { name: 'size' });
  const name = tf.case(
    [
      [tf.less(size, 10), () => tf.constant('small')],
      [tf.less(size, 100), () => tf.constant('middle')],
    ],
    { default: () => tf.constant('large') },
  );
  const kind: string[] = [];
  for (const value of [3, 30, 300]) kind.push(String((await sess.run(name, [[size, value]])).item()));
  console.log(`3, 30 and 300 are ${kind.join(', ')}`);

  // A TensorArray collects what a loop makes, and gives earlier elements back.
  const length = 8;
  const start = new tf.TensorArray(tf.int32, { size: length, clearAfterRead: false }).write(0, 1).write(1, 1);
  const [, numbers] = tf.whileLoop(
    (i) => tf.less(i, length),
    (i, array) => [i.add(1), array.write(i, array.read(i.sub(1)).add(array.read(i.sub(2))))],
    [tf.constant(2), start],
  );
  const fibonacci = (await sess.run(numbers.stack())).toArray() as number[];
  console.log(`Fibonacci: ${fibonacci.join(' ')}`);

  const elements = tf.constant([1, 2, 3, 4]);
  const scanned = tf.scan((a: tf.Tensor, b: tf.Tensor) => a.add(b), elements);
  const running = (await sess.run(scanned)).toArray() as number[];
  console.log(`running sums: ${running.join(' ')}`);
  const polynomial = tf.foldl((a: tf.Tensor, c: tf.Tensor) => a.mul(3).add(c), tf.constant([2, 3, 4]));
  const horner = Number((await sess.run(polynomial)).item());
  console.log(`2 * 3^2 + 3 * 3 + 4 = ${horner}`);

  // A value that grows from step to step needs a shape that leaves room.
  const rows: number[][] = [];
  const steps = tf.placeholder(tf.int32, [], { name: 'steps' });
  const [, grown] = tf.whileLoop(
    (i) => tf.less(i, steps),
    (i, row) => [i.add(1), tf.concat([row, [0]], 0)],
    [tf.constant(1), tf.constant([0])],
    { shapeInvariants: [[], [null]], maximumIterations: 10 },
  );
  const row = tf.mapFn((zero: tf.Tensor) => zero.add(steps), grown);
  for (const count of [1, 2, 3]) rows.push((await sess.run(row, [[steps, count]])).toArray() as number[]);
  console.log(`rows that grow: ${JSON.stringify(rows)}`);

  const { losses, landed } = await learnToThrow(sess, trainingSteps);
  console.log(
    `a ball thrown at a mark 10 m away lands after ${landed[0]!.toFixed(2)} m, later ${landed.at(-1)!.toFixed(2)} m`,
  );

  await sess.close();
  return { sum, taken, power, slope, curvature, kind, fibonacci, running, horner, triangle: rows, losses, landed };
}

/** Gradient descent through a loop whose end the data decide, and a branch in it: how fast to throw a ball so that it lands at 10 m. */
async function learnToThrow(sess: tf.Session, steps: number): Promise<{ losses: number[]; landed: number[] }> {
  const speed = new tf.Variable([5, 6], { dtype: tf.float32, name: 'speed' });
  const seconds = 0.05;
  const [position] = tf.whileLoop(
    (at) => tf.greaterEqual(at.slice('1'), 0),
    (at, velocity) => {
      const drag = velocity.mul(tf.norm(velocity)).mul(-0.02);
      // There is a wind, but not near the ground.
      const wind = tf.cond(
        tf.greater(at.slice('1'), 1),
        () => drag.add([-0.8, 0]),
        () => drag,
      );
      return [at.add(velocity.mul(seconds)), velocity.add(wind.add([0, -9.81]).mul(seconds))];
    },
    [tf.constant([0, 0], { dtype: tf.float32 }), speed.value()],
  );
  const distance = position.slice('0');
  const loss = tf.square(distance.sub(10));
  const train = new tf.train.GradientDescentOptimizer(0.05).minimize(loss);
  await sess.run(speed.initializer);
  const losses: number[] = [];
  const landed: number[] = [];
  for (let step = 0; step < steps; step++) {
    const [lost, at] = await sess.run([loss, distance, train]);
    losses.push(Number(lost));
    landed.push(Number(at));
  }
  return { losses, landed };
}

await runDirectly(import.meta.url, () => main());
