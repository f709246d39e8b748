/** @file Backpropagation through time: how far back the gradient of the last step's loss reaches, and what the first weights have to do with it. */
import * as tf from 'tensorloom';
import { runDirectly } from './runDirectly.ts';

/** A basic cell whose input and recurrent weights are variables of their own, with initializers of their own. */
class SeparateWeightsCell extends tf.nn.rnnCell.RNNCell {
  readonly stateSize: number;
  readonly outputSize: number;
  constructor(
    readonly units: number,
    private readonly recurrent: tf.Initializer,
    private readonly activation: (x: tf.Tensor) => tf.Tensor,
  ) {
    super();
    this.stateSize = units;
    this.outputSize = units;
  }

  override call(inputs: tf.Tensor, state: tf.Tensor): readonly [tf.Tensor, tf.Tensor] {
    const depth = inputs.shape!.at(-1)!;
    const win = tf.getVariable('Win', [depth, this.units], { initializer: tf.randomNormalInitializer(0, 0.1) });
    const wrec = tf.getVariable('Wrec', [this.units, this.units], { initializer: this.recurrent });
    const output = this.activation(tf.matmul(inputs, win).add(tf.matmul(state, wrec)));
    return [output, output];
  }
}

const units = 32;
const steps = 40;
export const kinds: Record<string, () => SeparateWeightsCell> = {
  'tanh, small random weights': () =>
    new SeparateWeightsCell(units, tf.randomNormalInitializer(0, 0.5 / Math.sqrt(units)), tf.tanh),
  'tanh, orthogonal weights': () => new SeparateWeightsCell(units, tf.orthogonalInitializer(), tf.tanh),
  'relu, identity weights': () => new SeparateWeightsCell(units, tf.initializers.identity(), tf.nn.relu),
};

export async function main({ trainingSteps = 300 } = {}) {
  const norms: Record<string, number[]> = {};
  for (const [name, cell] of Object.entries(kinds)) {
    const graph = new tf.Graph();
    norms[name] = await graph.asDefault(async () => {
      tf.setRandomSeed(1);
      const inputs = tf.randomNormal([steps, 16, 8], { seed: 2 });
      const [, final, states] = unrolled(cell(), tf.unstack(inputs));
      const loss = tf.reduceMean(tf.square(final.sub(1)));
      const sess = new tf.Session({ graph });
      await sess.run(tf.globalVariablesInitializer());
      // One gradient per step: of the last loss with respect to the state that the step left.
      const gradients = tf.gradients(loss, states) as tf.Tensor[];
      const values = await sess.run(gradients.map((g) => tf.norm(g)));
      await sess.close();
      return values.map(Number);
    });
  }
  console.log('How much the loss after the last step depends on the state after an earlier one:');
  for (const [name, values] of Object.entries(norms)) {
    const share = values[0]! / values.at(-1)!;
    console.log(`${name.padEnd(28)} after step 1: ${share.toExponential(2)} of what it is after step ${steps}`);
  }
  const lost: Record<string, number> = {};
  for (const name of Object.keys(kinds)) {
    const losses = await new tf.Graph().asDefault(() => remember(name, trainingSteps));
    lost[name] = losses.slice(-20).reduce((a, b) => a + b) / 20;
    console.log(
      `${name.padEnd(28)} trained to tell the first step's input after step ${steps}: loss ${lost[name].toFixed(3)}`,
    );
  }
  return { norms, lost };
}

/** Trains a cell to say, after the last step, whether the first number of the first step was positive; guessing costs log 2. */
export async function remember(kind: string, trainingSteps: number): Promise<number[]> {
  tf.setRandomSeed(1);
  const first = tf.randomNormal([1, 64, 8], { seed: 2 });
  const noise = tf.randomNormal([steps - 1, 64, 8], { stddev: 0.1, seed: 3 });
  const labels = tf.cast(tf.greater(first.slice('0, :, :1'), 0), tf.float32);
  const [, final] = unrolled(kinds[kind]!(), tf.unstack(tf.concat([first, noise], 0)));
  const logits = tf.layers.dense(final, 1);
  const loss = tf.losses.sigmoidCrossEntropy(labels, logits);
  const optimizer = new tf.train.AdamOptimizer(0.001);
  const [gradients, variables] = unzip(optimizer.computeGradients(loss));
  const [clipped] = tf.clipByGlobalNorm(gradients, 1);
  const train = optimizer.applyGradients(variables.map((v, i) => [clipped[i]!, v] as const));
  const sess = new tf.Session();
  await sess.run(tf.globalVariablesInitializer());
  const losses: number[] = [];
  for (let step = 0; step < trainingSteps; step++) losses.push(Number((await sess.run([loss, train]))[0]));
  await sess.close();
  return losses;
}

const unzip = <A, B>(pairs: readonly (readonly [A, B])[]): [A[], B[]] => [
  pairs.map(([a]) => a),
  pairs.map(([, b]) => b),
];

/** The cell applied step by step, with all states at hand. */
function unrolled(cell: SeparateWeightsCell, inputs: readonly tf.Tensor[]): [tf.Tensor[], tf.Tensor, tf.Tensor[]] {
  let state = cell.zeroState(inputs[0]!.shape![0]!, tf.float32);
  const states: tf.Tensor[] = [];
  const outputs = tf.variableScope('rnn', () =>
    inputs.map((input) => {
      const [output, next] = cell.apply(input, state);
      state = next;
      states.push(next);
      return output;
    }),
  );
  return [outputs, state, states];
}

await runDirectly(import.meta.url, () => main());
