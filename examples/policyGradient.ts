/** @file Policy gradient: actions that turned out better than expected become likelier, through the surrogate loss. */
import * as tf from 'tensorloom';
import { actions, CartPole, generator, longest, observations } from './cartPole.ts';
import { runDirectly } from './runDirectly.ts';

export interface PolicyGradientOptions {
  readonly iterations?: number;
  readonly seed?: number;
  /** Training ends once episodes last so many steps on average. */
  readonly solvedAt?: number;
}

const mean = (values: readonly number[]) => values.reduce((a, b) => a + b) / values.length;

export async function main({ iterations = 80, seed = 1, solvedAt = longest * 0.975 }: PolicyGradientOptions = {}) {
  tf.setRandomSeed(seed);
  const random = generator(seed);
  const discount = 0.99;
  const episodesPerIteration = 10;

  const states = tf.placeholder(tf.float32, [null, observations], { name: 'states' });
  const taken = tf.placeholder(tf.int32, [null], { name: 'actions' });
  const advantage = tf.placeholder(tf.float32, [null], { name: 'advantages' });
  const before = tf.placeholder(tf.float32, [null], { name: 'log_likelihoods' });
  const hidden = tf.layers.dense(states, 32, { activation: tf.tanh, name: 'hidden' });
  const logits = tf.layers.dense(hidden, actions, { name: 'logits' });
  const logLikelihood = tf.negative(tf.nn.sparseSoftmaxCrossEntropyWithLogits({ labels: taken, logits }));
  // Its gradient at the policy that acted is the policy gradient; the ratio keeps it right for a few steps more.
  const surrogate = tf.negative(tf.reduceMean(tf.exp(logLikelihood.sub(before)).mul(advantage)));
  const train = new tf.train.AdamOptimizer(0.02).minimize(surrogate);
  const probabilities = tf.nn.softmax(logits);

  const sess = new tf.Session();
  await sess.run(tf.globalVariablesInitializer());
  const policy = sess.makeCallable(probabilities, [states]);
  const game = new CartPole(random);
  const means: number[] = [];
  for (let iteration = 1; iteration <= iterations; iteration++) {
    const seen: number[][] = [];
    const done: number[] = [];
    const likelihoods: number[] = [];
    const returns: number[] = [];
    const lengths: number[] = [];
    for (let episode = 0; episode < episodesPerIteration; episode++) {
      let state = game.reset();
      const rewards: number[] = [];
      for (let over = false; !over; ) {
        const [[left]] = (await policy([state])).toArray() as [[number, number]];
        const action = random() < left ? 0 : 1;
        seen.push(state);
        done.push(action);
        likelihoods.push(Math.log(action === 0 ? left : 1 - left));
        const next = game.step(action);
        rewards.push(next.reward);
        ({ observation: state, done: over } = next);
      }
      lengths.push(rewards.length);
      const discounted: number[] = [];
      let sum = 0;
      for (const reward of rewards.toReversed()) discounted.unshift((sum = reward + discount * sum));
      returns.push(...discounted);
    }
    const expected = mean(returns);
    const spread = Math.sqrt(mean(returns.map((r) => (r - expected) ** 2))) + 1e-8;
    for (let pass = 0; pass < 3; pass++)
      await sess.run(
        [surrogate, train],
        [
          [states, seen],
          [taken, done],
          [before, likelihoods],
          [advantage, returns.map((r) => (r - expected) / spread)],
        ],
      );
    means.push(mean(lengths));
    if (iteration % 5 === 0) console.log(`iteration ${iteration}  episodes last ${means.at(-1)!.toFixed(1)} steps`);
    if (means.at(-1)! >= solvedAt) break;
  }
  const best = Math.max(...means);
  console.log(`After ${means.length} iterations ten episodes last ${best.toFixed(1)} of ${longest} steps.`);
  await sess.close();
  return { means, best };
}

await runDirectly(import.meta.url, main);
