/** @file What the tests against TensorFlow 1.15's own contrib code share: the same numbers for data and variables, and the comparison. */
import { readFileSync } from 'node:fs';
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';

interface Golden {
  readonly variables: [name: string, shape: number[], trainable: boolean][];
  readonly updates: number;
  readonly losses: number;
  readonly summaries: string[];
  /** The values of all fetches, in each step. */
  readonly runs: number[][][];
}

export function numbers(seed: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => Math.sin(seed + 0.9 * i));
}
const sizeOf = (shape: readonly number[]) => shape.reduce((n, d) => n * d, 1);
export function data(seed: number, ...shape: number[]): tf.Tensor {
  return tf.constant(numbers(seed, sizeOf(shape)), { shape, dtype: tf.float32 });
}

/** Numbers for all variables of floating type, by their place. */
async function fill(sess: tf.Session): Promise<void> {
  for (const [place, variable] of tf.globalVariables().entries()) {
    if (variable.dtype !== tf.float32 || /OptimizeLoss|biased/.test(variable.name)) continue;
    const shape = variable.shape as number[]; // the shapes of variables are known
    const values = numbers(3 * place + 1, sizeOf(shape));
    const isPositive = /variance|stddev|gamma/.test(variable.name);
    const chosen = values.map((v) => (isPositive ? 1 + 0.3 * v : 0.5 * v));
    await sess.run(variable.assign(tf.constant(chosen, { shape, dtype: tf.float32 })));
  }
}

/** Of a sum with weights, by all trainable variables. */
export function gradients(y: tf.Tensor): tf.Tensor[] {
  const weights = tf.reshape(tf.cos(tf.range(tf.cast(tf.size(y), tf.float32))), tf.shape(y));
  const found = tf.gradients(tf.reduceSum(y.mul(weights)), tf.trainableVariables());
  return found.filter((g) => g !== null).map((g) => tf.convertToTensor(g));
}

/** The result and its gradients; then what is remembered, after the updates. */
export function withUpdates(y: tf.Tensor): tf.Tensor[] {
  const updates = tf.getCollection<tf.Operation>(tf.GraphKeys.UPDATE_OPS);
  const found = [y, ...gradients(y)];
  const trained = tf.trainableVariables();
  const moving = tf.globalVariables().filter((v) => !trained.includes(v));
  return tf.controlDependencies([...found, ...updates], () => [...found, ...moving.map((v) => v.readValue())]);
}

async function compare(wanted: Golden, make: () => tf.Tensor[]): Promise<void> {
  tf.setRandomSeed(7);
  const fetches = make();
  const trained = tf.trainableVariables();
  const variables = tf.globalVariables().map((v) => [v.name, v.shape, trained.includes(v)]);
  expect(variables).toEqual(wanted.variables);
  expect(tf.getCollection(tf.GraphKeys.UPDATE_OPS)).toHaveLength(wanted.updates);
  expect(tf.getCollection(tf.GraphKeys.REGULARIZATION_LOSSES)).toHaveLength(wanted.losses);
  expect(tf.getCollection<tf.Tensor>(tf.GraphKeys.SUMMARIES).map((t) => t.name)).toEqual(wanted.summaries);
  const sess = new tf.Session();
  await sess.run([tf.globalVariablesInitializer(), tf.localVariablesInitializer()]);
  await fill(sess);
  for (const [step, values] of wanted.runs.entries()) {
    const got = await sess.run(fetches);
    expect(got).toHaveLength(values.length);
    for (const [i, array] of values.entries()) {
      const found = got[i]!.numbers();
      expect(found).toHaveLength(array.length);
      for (const [j, value] of array.entries()) {
        const far = Math.abs(Number(found[j]) - value) > 2e-5 * Math.max(1, Math.abs(value));
        if (far) expect.fail(`step ${step}, result ${i}, element ${j}: ${found[j]} instead of ${value}`);
      }
    }
  }
}

/** Compares graphs with what a script of tools/golden, of the file's name, has written. */
export function compareAll(file: string, cases: Readonly<Record<string, () => tf.Tensor[]>>): void {
  const path = new URL(`../../golden/front/${file}`, import.meta.url);
  const golden = JSON.parse(readFileSync(path, 'utf8')) as Record<string, Golden>; // as tools/golden/contribSources.py writes it
  describe(`TensorFlow 1.15's own code, ${file}`, () => {
    it('is all compared', () => expect(Object.keys(cases).sort()).toEqual(Object.keys(golden).sort()));
    for (const [name, make] of Object.entries(cases))
      it(name, () => new tf.Graph().asDefault(() => compare(golden[name]!, make)));
  });
}
