/** @file The event loop stays free while a large graph is prepared and run for the first time. */
import { expect, test } from 'vitest';
import * as tf from '../../src/api/index.ts';

test('the first run of a large graph lets other work go on', async () => {
  const graph = new tf.Graph();
  const y = graph.asDefault(() => {
    let x: tf.Tensor = tf.placeholder(tf.float32, [4], { name: 'x' });
    for (let i = 0; i < 6000; i++) x = tf.add(x, i % 2 === 0 ? 1 : -1);
    return tf.sin(x);
  });
  const sess = new tf.Session({ graph });
  let turns = 0;
  let isRunning = true;
  const count = () => {
    turns++;
    if (isRunning) setImmediate(count);
  };
  setImmediate(count);
  const run = sess.run(y, new Map([['x:0', [0, 1, 2, 3]]]));
  await run;
  isRunning = false;
  // Extending, simplifying, tracing and planning take hundreds of milliseconds; each turn is let go after a few.
  expect(turns).toBeGreaterThan(20);
});
