/** @file tf.nn.ctcLossV2 and tf.nn.ctcUniqueLabels against TensorFlow. */
import { readFileSync } from 'node:fs';
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';

interface Case {
  readonly labels: number[][];
  readonly sparse?: boolean;
  readonly label_length?: number[];
  readonly logit_length: number[];
  readonly logits_time_major?: boolean;
  readonly blank_index?: number;
  readonly shape: number[];
  readonly loss: number[];
  readonly gradient: number[];
}
interface Golden {
  readonly [name: string]: Case;
}
const path = new URL('../../golden/front/ctcDense.json', import.meta.url);
const { unique, ...cases } = JSON.parse(readFileSync(path, 'utf8')) as Golden & {
  readonly unique: { labels: number[][]; unique: number[][]; indices: number[][] };
}; // written by tools/golden/ctcDense.py

const numbers = (count: number) => Array.from({ length: count }, (_, i) => Math.sin(2 + 0.9 * i));
const inGraph = (name: string, body: () => Promise<void> | void) => it(name, () => new tf.Graph().asDefault(body));
const int32 = { dtype: tf.int32 } as const;

function labelsOf(given: Case): tf.Tensor | tf.SparseTensor {
  if (!given.sparse) return tf.constant(given.labels, int32);
  const indices = given.labels.flatMap((row, i) => row.map((_, j) => [i, j]));
  return new tf.SparseTensor(
    tf.constant(indices, { dtype: tf.int64 }),
    tf.constant(given.labels.flat(), int32),
    tf.constant([given.labels.length, 2], { dtype: tf.int64 }),
  );
}

function lossOf(given: Case, dtype: tf.DType = tf.float32): { loss: tf.Tensor; logits: tf.Tensor } {
  const logits = tf.constant(numbers(80), { shape: given.shape, dtype });
  const loss = tf.nn.ctcLossV2(labelsOf(given), logits, given.label_length ?? null, given.logit_length, {
    logitsTimeMajor: given.logits_time_major,
    blankIndex: given.blank_index,
  });
  return { loss, logits };
}

function expectClose(found: readonly (number | bigint)[], wanted: readonly number[], tolerance = 2e-5): void {
  expect(found).toHaveLength(wanted.length);
  for (const [i, value] of wanted.entries())
    expect(Math.abs(Number(found[i]) - value), `element ${i}`).toBeLessThan(tolerance * Math.max(1, Math.abs(value)));
}

describe('tf.nn.ctcLossV2', () => {
  for (const [name, given] of Object.entries(cases))
    inGraph(name, async () => {
      const { loss, logits } = lossOf(given);
      const weights = tf.constant([1, 2, 0.5, -1]);
      const [gradient] = tf.gradients(loss.mul(weights), [logits]);
      const [value, slope] = await new tf.Session().run([loss, tf.convertToTensor(gradient!)]);
      if (name !== 'impossible') {
        expectClose(value.numbers(), given.loss);
        expectClose(slope.numbers(), given.gradient);
        return;
      }
      // Of what is impossible TensorFlow has a loss near the largest with rounding errors in it, and a gradient of these.
      const isPossible = (example: number) => given.loss[example]! < 700;
      for (const [i, wanted] of given.loss.entries())
        expect(Math.abs(Number(value.numbers()[i]) - wanted)).toBeLessThan(isPossible(i) ? 1e-4 : 2);
      const kept = given.gradient.map((g, i) => (isPossible(Math.floor(i / 4) % 4) ? g : 0));
      expectClose(slope.numbers(), kept);
    });

  inGraph('has the classic loss in float64, with sizes that are known only when it runs', async () => {
    const scores = tf.placeholder(tf.float64, [null, null, 4]);
    const labels = tf.placeholder(tf.int32, [null, null]);
    const loss = tf.nn.ctcLossV2(labels, scores, [2, 1], [6, 4], { blankIndex: 3 });
    const sparse = new tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([1, 1, 2], int32), [2, 2]); // biome-ignore format: places
    const classic = tf.nn.ctcLoss(sparse, scores, [6, 4]);
    const fed = tf.constant(numbers(48), { shape: [6, 2, 4], dtype: tf.float64 });
    const sess = new tf.Session();
    const [dense, wanted] = await sess.run([loss, classic], [
      [scores, await sess.run(fed)],
      [labels, [[1, 1], [2, 0]]],
    ]); // biome-ignore format: fed values
    expectClose(dense.numbers(), wanted.numbers().map(Number), 1e-12);
  });

  inGraph('takes halves and unique labels, and says what it needs', async () => {
    const plain = cases['plain']!;
    const { loss } = lossOf(plain, tf.float16);
    expect(loss.dtype).toBe(tf.float16);
    expectClose((await new tf.Session().run(loss)).numbers(), plain.loss, 5e-3);
    const logits = tf.zeros([5, 4, 4]);
    const labels = tf.constant(plain.labels, int32);
    const given = { unique: tf.nn.ctcUniqueLabels(labels) };
    expect(tf.nn.ctcLossV2(labels, logits, [1, 1, 1, 1], [5, 5, 5, 5], given).shape).toEqual([4]);
    expect(() => tf.nn.ctcLossV2(labels, logits, null, [5, 5, 5, 5])).toThrow(/labelLength must be given/);
    expect(() => lossOf({ ...plain, blank_index: 4 })).toThrow(/blankIndex 4 is none of 4 classes/);
    const { blank_index: _, ...noBlank } = cases['sparse']!;
    expect(() => lossOf(noBlank)).toThrow(/blankIndex must be given/);
  });
});

inGraph('tf.nn.ctcUniqueLabels', async () => {
  const labels = tf.constant(unique.labels, int32);
  const [found, places] = await new tf.Session().run([...tf.nn.ctcUniqueLabels(labels)]);
  expect(found!.dtype).toBe(tf.int64);
  expect(found!.numbers().map(Number)).toEqual(unique.unique.flat());
  expect(places!.toArray()).toEqual(unique.indices);
});
