/** @file All losses with all reductions, and all metrics over three batches, with weights of every shape, against TensorFlow. */
import { readFileSync } from 'node:fs';
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';

type Values = (number | null)[];
interface Metered {
  readonly variables: [name: string, shape: number[]][];
  readonly updates: Values[];
  readonly value: Values;
}
interface Golden {
  /** For every shape of weights, the values of every reduction. */
  readonly losses: Record<string, (Values | 'refused')[][]>;
  readonly metrics: Record<string, (Metered | 'refused')[]>;
}
const path = new URL('../../golden/front/weightSweep.json', import.meta.url);
const golden = JSON.parse(readFileSync(path, 'utf8')) as Golden; // written by tools/golden/weightSweep.py

const weightShapes = [null, [], [1], [3], [4], [3, 1], [1, 4], [1, 1], [3, 4], [2, 4], [4, 1], [3, 4, 1], [1, 3, 4]];
const reductions = [
  'none',
  'weighted_sum',
  'weighted_mean',
  'weighted_sum_over_batch_size',
  'weighted_sum_by_nonzero_weights',
] as const;

const sizeOf = (shape: readonly number[]) => shape.reduce((n, d) => n * d, 1);
const numbers = (seed: number, shape: readonly number[]) =>
  Array.from({ length: sizeOf(shape) }, (_, i) => Math.sin(seed + 0.9 * i));
interface Fed {
  readonly values: readonly (number | boolean)[];
  readonly shape: readonly number[];
  readonly dtype: tf.DType;
}
const fed = (values: readonly (number | boolean)[], shape: readonly number[], dtype: tf.DType): Fed => ({ values, shape, dtype }); // biome-ignore format: a record
const scores = (seed: number, ...shape: number[]) => fed(numbers(seed, shape), shape, tf.float32);
const shares = (seed: number, ...shape: number[]) => fed(numbers(seed, shape).map((x) => 0.5 + 0.45 * x), shape, tf.float32); // biome-ignore format: a formula
const flags = (seed: number, ...shape: number[]) => fed(numbers(seed, shape).map((x) => x > 0), shape, tf.bool); // biome-ignore format: a formula
const classes = (seed: number, count: number, ...shape: number[]) =>
  fed(numbers(seed, shape).map((x) => Math.floor(((x + 1) / 2) * 0.999 * count)), shape, tf.int64); // biome-ignore format: a formula
const asNumbers = (given: Fed): Fed => ({ ...given, values: given.values.map(Number), dtype: tf.float32 });
const constant = ({ values, shape, dtype }: Fed) => tf.constant(values as number[], { shape, dtype }); // or booleans, of that type

function weightsOf(shape: readonly number[] | null): { weights?: tf.Tensor } {
  if (shape === null) return {};
  const values = numbers(5, shape).map(Math.abs);
  return { weights: tf.constant(values.map((x) => (x < 0.45 ? 0 : x)), { shape, dtype: tf.float32 }) }; // biome-ignore format: a formula
}

function expectValues(found: readonly (number | bigint | boolean)[], wanted: Values, where: string): void {
  expect(found.length, where).toBe(wanted.length);
  for (const [i, value] of wanted.entries())
    if (value === null) expect(Number(found[i]), where).toBeNaN();
    else
      expect(Math.abs(Number(found[i]) - value), `${where}, element ${i}: ${found[i]} not ${value}`).toBeLessThan(
        2e-5 * Math.max(1, Math.abs(value)),
      );
}

const camelCase = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
type Options = { weights?: tf.Tensor; reduction?: string };
type Loss = (labels: tf.Tensor, predictions: tf.Tensor, options: Options) => tf.Tensor;
const oneHot = fed([0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0], [3, 4], tf.float32);
const lossInputs: Record<string, readonly [Fed, Fed]> = {
  hinge_loss: [asNumbers(flags(1, 3, 4)), scores(2, 3, 4)],
  huber_loss: [fed(numbers(1, [3, 4]).map((x) => 3 * x), [3, 4], tf.float32), scores(2, 3, 4)], // biome-ignore format: a formula
  log_loss: [asNumbers(flags(1, 3, 4)), shares(2, 3, 4)],
  sigmoid_cross_entropy: [asNumbers(flags(1, 3, 4)), scores(2, 3, 4)],
  softmax_cross_entropy: [oneHot, scores(2, 3, 4)],
  sparse_softmax_cross_entropy: [fed([1, 3, 0], [3], tf.int64), scores(2, 3, 4)],
};

describe('Losses with weights of every shape', () => {
  for (const [name, records] of Object.entries(golden.losses))
    it(name, async () => {
      const [labels, predictions] = lossInputs[name] ?? [scores(1, 3, 4), scores(2, 3, 4)];
      const make = Reflect.get(tf.losses, camelCase(name)) as Loss; // all losses take labels, predictions and options
      const loss: Loss =
        name === 'cosine_distance' ? (l, p, options) => make(l, p, { ...options, axis: 1 } as Options) : make;
      for (const [i, shape] of weightShapes.entries())
        for (const [j, wanted] of records[i]!.entries())
          await new tf.Graph().asDefault(async () => {
            const where = `weights [${shape}], ${reductions[j]}`;
            const reduction = name === 'mean_pairwise_squared_error' ? {} : { reduction: reductions[j]! };
            const run = async () =>
              new tf.Session().run(
                loss(constant(labels), constant(predictions), { ...weightsOf(shape), ...reduction }),
              );
            if (wanted === 'refused') await expect(run(), where).rejects.toThrow();
            else expectValues((await run()).numbers(), wanted, where);
          });
    });
});

type Metric = (...args: unknown[]) => [tf.Tensor, tf.Tensor];
const pair = (b: number) => [scores(b, 3, 4), scores(b + 1, 3, 4)];
const marks = (b: number) => [flags(b, 3, 4), flags(b + 1, 3, 4)];
const guesses = (b: number) => [flags(b, 3, 4), shares(b + 1, 3, 4)];
const kinds = (b: number) => [classes(b, 3, 3, 4), classes(b + 1, 3, 3, 4)];
/** What metrics take for a batch, then before the options, and as options. */
const metricInputs: Record<string, [batch: (b: number) => Fed[], extra?: unknown[], options?: object]> = {
  mean: [(b) => [scores(b, 3, 4)]],
  mean_tensor: [(b) => [scores(b, 3, 4)]],
  accuracy: [kinds],
  mean_absolute_error: [pair],
  mean_squared_error: [pair],
  root_mean_squared_error: [pair],
  mean_relative_error: [(b) => [...pair(b), shares(b, 3, 4)]],
  mean_cosine_distance: [pair, [1]],
  percentage_below: [(b) => [scores(b, 3, 4)], [0.2]],
  precision: [marks],
  recall: [marks],
  true_positives: [marks],
  false_positives: [marks],
  true_negatives: [marks],
  false_negatives: [marks],
  auc: [guesses, [], { numThresholds: 20 }],
  precision_at_thresholds: [guesses, [[0.3, 0.6]]],
  recall_at_thresholds: [guesses, [[0.3, 0.6]]],
  true_positives_at_thresholds: [guesses, [[0.3, 0.6]]],
  sensitivity_at_specificity: [guesses, [0.6], { numThresholds: 20 }],
  specificity_at_sensitivity: [guesses, [0.6], { numThresholds: 20 }],
  mean_iou: [kinds, [3]],
  mean_per_class_accuracy: [kinds, [3]],
  recall_at_k: [(b) => [classes(b, 4, 3, 1), scores(b + 1, 3, 4)], [2]],
  precision_at_k: [(b) => [classes(b, 4, 3, 1), scores(b + 1, 3, 4)], [2]],
  average_precision_at_k: [(b) => [classes(b, 4, 3, 2), scores(b + 1, 3, 4)], [3]],
};

async function metered(name: string, shape: readonly number[] | null): Promise<Metered> {
  const [batch, extra = [], options = {}] = metricInputs[name]!;
  const make = Reflect.get(tf.metrics, camelCase(name)) as Metric; // all metrics give a value and an update
  const inputs = batch(0).map((given) => tf.placeholder(given.dtype, given.shape));
  const collections = { metricsCollections: ['values'], updatesCollections: 'updates' };
  const [value, update] = make(...inputs, ...extra, { ...options, ...weightsOf(shape), ...collections });
  expect(tf.getCollection('values')).toEqual([value]);
  expect(tf.getCollection('updates')).toEqual([update]);
  const variables = tf.localVariables().map((v) => [v.op.name, v.shape] as [string, number[]]); // shapes are known
  const sess = new tf.Session();
  await sess.run(tf.localVariablesInitializer());
  const updates: Values[] = [];
  for (const b of [1, 4, 6]) {
    const values = await sess.run(batch(b).map(constant));
    const after = await sess.run(update, inputs.map((t, i) => [t, values[i]!] as const)); // biome-ignore format: fed values
    updates.push(after.numbers().map(Number));
  }
  return { variables, updates, value: (await sess.run(value)).numbers().map(Number) };
}

describe('Metrics with weights of every shape', () => {
  it('are all compared', () => expect(Object.keys(metricInputs).sort()).toEqual(Object.keys(golden.metrics).sort()));
  for (const [name, records] of Object.entries(golden.metrics))
    it(name, async () => {
      for (const [i, shape] of weightShapes.entries()) {
        const [wanted, where] = [records[i]!, `weights [${shape}]`];
        const found = () => new tf.Graph().asDefault(() => metered(name, shape));
        if (wanted === 'refused') {
          await expect(found(), where).rejects.toThrow();
          continue;
        }
        const { variables, updates, value } = await found();
        expect(variables, where).toEqual(wanted.variables);
        for (const [step, values] of wanted.updates.entries())
          expectValues(updates[step]! as number[], values, `${where}, batch ${step}`);
        expectValues(value as number[], wanted.value, `${where}, value`);
      }
    });
});
