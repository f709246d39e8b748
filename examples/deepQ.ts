/** @file Deep Q-learning: a network learns what each push is worth, from its own experience and a copy of itself that lags behind. */
import * as tf from 'tensorloom';
import { actions, CartPole, generator, longest, observations } from './cartPole.ts';
import { runDirectly } from './runDirectly.ts';

export interface DeepQOptions {
  readonly episodes?: number;
  readonly seed?: number;
}

interface Experience {
  readonly before: readonly number[];
  readonly action: number;
  readonly reward: number;
  readonly after: readonly number[];
  readonly fell: boolean;
}

/** The value of each action in a state. */
function network(states: tf.Tensor): tf.Tensor {
  const h1 = tf.layers.dense(states, 64, { activation: tf.nn.relu, name: 'h1' });
  const h2 = tf.layers.dense(h1, 64, { activation: tf.nn.relu, name: 'h2' });
  return tf.layers.dense(h2, actions, { name: 'values' });
}

export async function main({ episodes = 300, seed = 3 }: DeepQOptions = {}) {
  tf.setRandomSeed(seed);
  const random = generator(seed);
  const discount = 0.99;
  const batchSize = 64;

  const before = tf.placeholder(tf.float32, [null, observations], { name: 'before' });
  const after = tf.placeholder(tf.float32, [null, observations], { name: 'after' });
  const chosen = tf.placeholder(tf.int32, [null], { name: 'action' });
  const reward = tf.placeholder(tf.float32, [null], { name: 'reward' });
  const goesOn = tf.placeholder(tf.float32, [null], { name: 'goes_on' });
  const q = tf.variableScope('main', () => network(before));
  const qNext = tf.variableScope('main', { reuse: true }, () => network(after));
  const qTarget = tf.variableScope('target', () => network(after));

  const value = tf.reduceSum(q.mul(tf.oneHot(chosen, actions)), 1);
  // The main network says which action is best, the target network what it is worth.
  const best = tf.reduceSum(qTarget.mul(tf.oneHot(tf.argmax(qNext, 1), actions)), 1);
  const target = reward.add(goesOn.mul(best).mul(discount));
  const loss = tf.losses.huberLoss(tf.stopGradient(target), value);
  const train = new tf.train.AdamOptimizer(1e-3).minimize(loss, {
    varList: tf.trainableVariables('main'),
  });
  const mainVariables = tf.trainableVariables('main');
  const targetVariables = tf.trainableVariables('target');
  const copy = tf.group(targetVariables.map((v, i) => v.assign(mainVariables[i]!)));
  // The target network follows a little with every step; that is steadier than a copy now and then.
  const follow = tf.group(targetVariables.map((v, i) => v.assignAdd(mainVariables[i]!.sub(v).mul(0.01))));

  const sess = new tf.Session();
  await sess.run(tf.globalVariablesInitializer());
  await sess.run(copy);
  const act = sess.makeCallable(tf.argmax(q, 1), [before]);
  const memory: Experience[] = [];
  const game = new CartPole(random);
  const lengths: number[] = [];
  for (let episode = 1; episode <= episodes; episode++) {
    let state = game.reset();
    const curiosity = Math.max(0.02, 1 - episode / 60);
    let length = 0;
    for (let done = false; !done; length++) {
      const action = random() < curiosity ? Math.floor(random() * actions) : Number((await act([state])).toArray());
      const next = game.step(action);
      memory.push({ before: state, action, reward: next.reward, after: next.observation, fell: next.fell });
      if (memory.length > 20_000) memory.shift();
      ({ observation: state, done } = next);
      if (memory.length < 500) continue;
      const batch = Array.from({ length: batchSize }, () => memory[Math.floor(random() * memory.length)]!);
      await sess.run(
        [loss, train],
        [
          [before, batch.map((e) => e.before)],
          [chosen, batch.map((e) => e.action)],
          [reward, batch.map((e) => e.reward)],
          [after, batch.map((e) => e.after)],
          [goesOn, batch.map((e) => (e.fell ? 0 : 1))],
        ],
      );
      await sess.run(follow);
    }
    lengths.push(length);
    const recent = lengths.slice(-10);
    const mean = recent.reduce((a, b) => a + b) / recent.length;
    if (episode % 10 === 0) console.log(`episode ${episode}  the last ten lasted ${mean.toFixed(1)} steps`);
    if (recent.length === 10 && mean >= longest * 0.975) break;
  }
  const best10 = Math.max(...lengths.map((_, i) => mean(lengths.slice(Math.max(0, i - 9), i + 1))).slice(9));
  console.log(`After ${lengths.length} episodes, ten in a row lasted ${best10.toFixed(1)} of ${longest} steps.`);
  await sess.close();
  return { lengths, best: best10 };
}

const mean = (values: readonly number[]) => values.reduce((a, b) => a + b) / values.length;

await runDirectly(import.meta.url, main);
