/** @file A process that saves again and again until somebody kills it: `savingForever.js FOLDER steps|same|shards`. */
import { join } from 'node:path';
import * as tf from '../../src/api/index.ts';

const [folder, manner] = process.argv.slice(2) as [string, string];
const [a, b] = ['/cpu:0', '/cpu:1'].map((place) =>
  tf.device(place, () => tf.getVariable(`v${place.at(-1)}`, [250_000], { initializer: tf.zerosInitializer() })),
);
const next = tf.group([a!.assignAdd(tf.ones([250_000])).op, b!.assignAdd(tf.ones([250_000])).op]);
const saver = new tf.train.Saver({ maxToKeep: 2, sharded: manner === 'shards' });
const sess = new tf.Session({ config: { deviceCount: { CPU: 2 } } });
await sess.run(tf.globalVariablesInitializer());
for (let step = 1; ; step++) {
  await sess.run(next);
  await saver.save(sess, join(folder, 'model'), manner === 'same' ? {} : { globalStep: step });
  console.log(step);
}
