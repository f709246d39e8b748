/** @file Batch normalization: nodes, values, gradients and three steps of its averages as TensorFlow 1.x; learning with it. */
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import { times } from '../../../src/ops/math/operators.ts';
import { type Built, expectAsInTensorFlow, readGolden } from './golden.ts';

const { layers } = tf;
type Options = Parameters<typeof layers.batchNormalization>[1];

/** Numbers that are exact in every float type, as in tools/golden/imageLayers.py. */
function pattern(shape: readonly number[]): tf.NDArray {
  const n = shape.reduce((a, b) => a * b, 1);
  return new tf.NDArray(
    tf.float32,
    shape,
    Float32Array.from({ length: n }, (_, i) => (((i * 7) % 11) - 5) / 4),
  );
}

/** What tools/golden/batchNormalization.py builds and fetches: the result, gradients, the updates, the averages. */
function of(shape: readonly number[], training: boolean | 'fed', options: Options = {}): () => Built {
  return () => {
    const x = tf.placeholder(tf.float32, [null, ...shape.slice(1)], { name: 'x' });
    const fed = training === 'fed' ? tf.placeholder(tf.bool, [], { name: 'training' }) : undefined;
    const y = layers.batchNormalization(x, { ...options, training: fed ?? (training as boolean) }); // only 'fed' is fed
    const loss = tf.reduceSum(times(times(y, y), y));
    const gradients = tf.gradients(loss, [x, ...tf.trainableVariables()]);
    const updates = tf.controlDependencies(tf.getCollection<tf.Operation>(tf.GraphKeys.UPDATE_OPS), () =>
      tf.noOp({ name: 'updates' }),
    );
    const trained = new Set(tf.trainableVariables());
    const averages = tf.globalVariables().filter((v) => !trained.has(v));
    const given = gradients.map((g) => tf.convertToTensor(g!));
    return {
      // The values of a step are compared after its updates, which have no value of their own.
      fetches: [y, ...given, ...averages],
      after: [y, ...given].length,
      updates,
      feeds: [[x, pattern(shape)], ...(fed ? [[fed, true] as const] : [])],
    };
  };
}

const image = [2, 2, 3, 2];
const rows = [4, 3];
const clipping = { rmin: 0.6, rmax: 1.5, dmax: 0.25 };
const cases: Record<string, () => Built> = {
  imagesTraining: of(image, true, { momentum: 0.8 }),
  imagesInference: of(image, false, { momentum: 0.8 }),
  imagesFed: of(image, 'fed', { momentum: 0.8 }),
  rowsTraining: of(rows, true, { momentum: 0.8 }),
  rowsInference: of(rows, false, { momentum: 0.8 }),
  rowsFed: of(rows, 'fed', { momentum: 0.8 }),
  imagesComposed: of(image, true, { fused: false, epsilon: 1e-2 }),
  imagesChannelsFirst: of([2, 3, 2, 2], true, { axis: 1 }),
  imagesChannelsFirstComposed: of([2, 3, 2, 2], true, { axis: 1, fused: false }),
  volumes: of([2, 2, 2, 1, 2], true),
  severalAxes: of([4, 2, 3], true, { axis: [1, 2] }),
  imagesPlain: of(image, true, { center: false, scale: false }),
  rowsNoCenter: of(rows, true, { center: false }),
  rowsNoScale: of(rows, 'fed', { scale: false }),
  renorm: of(rows, true, { renorm: true, renormMomentum: 0.9, momentum: 0.8 }),
  renormClipped: of(image, true, { renorm: true, renormMomentum: 0.9, renormClipping: clipping, momentum: 0.8 }),
  renormFed: of(rows, 'fed', { renorm: true, renormMomentum: 0.9, renormClipping: clipping }),
  renormInference: of(rows, false, { renorm: true, renormMomentum: 0.9 }),
};

describe('batchNormalization', () => {
  const golden = readGolden('batchNormalization');
  it('covers what TensorFlow recorded', () => expect(Object.keys(cases).sort()).toEqual(Object.keys(golden).sort()));
  for (const [name, make] of Object.entries(cases)) it(name, () => expectAsInTensorFlow(golden[name]!, make));
});

/** A test in a graph of its own. */
function inGraph(name: string, body: () => unknown): void {
  it(name, () => new tf.Graph().asDefault(async () => void (await body())));
}

describe('batchNormalization in use', () => {
  inGraph('gives after training what it gave in training, once the averages have settled', async () => {
    const x = tf.placeholder(tf.float32, [null, 3]);
    const training = tf.placeholder(tf.bool, []);
    const y = layers.batchNormalization(x, { training, momentum: 0.5, name: 'bn' });
    const updates = tf.group(tf.getCollection<tf.Operation>(tf.GraphKeys.UPDATE_OPS));
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    const value = pattern([8, 3]);
    const run = async (flag: boolean) => (await sess.run(y, [[x, value], [training, flag]])).numbers(); // biome-ignore format: pairs
    const before = await run(false);
    for (let step = 0; step < 30; step++) await sess.run(updates, [[x, value], [training, false]]); // biome-ignore format: pairs
    expect(await run(false)).toEqual(before);
    for (let step = 0; step < 30; step++) await sess.run(updates, [[x, value], [training, true]]); // biome-ignore format: pairs
    const trained = await run(true);
    for (const [i, v] of (await run(false)).entries()) expect(v).toBeCloseTo(trained[i]!, 5);
  });

  inGraph('shares its variables when the layer is applied again, and adds updates for each batch', () => {
    const layer = new layers.BatchNormalization({ name: 'bn' });
    for (const size of [2, 5]) layer.apply(tf.zeros([size, 3]), { training: true });
    expect(layer.variables.map((v) => v.name)).toEqual([
      'bn/gamma:0',
      'bn/beta:0',
      'bn/moving_mean:0',
      'bn/moving_variance:0',
    ]);
    expect(layer.updates).toHaveLength(4);
    expect(tf.getCollection(tf.GraphKeys.UPDATE_OPS)).toEqual(layer.updates);
  });

  inGraph('says what is wrong', () => {
    expect(() => layers.batchNormalization(tf.placeholder(tf.float32, null))).toThrow(/undefined rank/);
    expect(() => layers.batchNormalization(tf.placeholder(tf.float32, [2, null]))).toThrow(
      /undefined `axis` dimension/,
    );
    expect(() => layers.batchNormalization(tf.zeros([2, 3]), { axis: 2 })).toThrow(/axis/);
    const parts = { virtualBatchSize: 2 };
    expect(() => layers.batchNormalization(tf.zeros([2, 3]), { virtualBatchSize: 0 })).toThrow(/positive integer/);
    expect(() => layers.batchNormalization(tf.zeros([2, 3]), { ...parts, axis: 0 })).toThrow(/cannot contain 0/);
    expect(() =>
      layers.batchNormalization(tf.zeros([2, 3]), { ...parts, adjustment: (shape) => [shape, shape] }),
    ).toThrow(/adjustment cannot be specified/);
  });
});
