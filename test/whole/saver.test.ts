/** @file Savers: variables go to checkpoints and come back, older checkpoints go away, nothing is left half-written. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as tf from '../../src/api/index.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tensorloom-saver-'));
  tf.resetDefaultGraph();
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('a saver', () => {
  test('brings variables back in another session', async () => {
    const w = tf.getVariable('layer/w', [2, 3]);
    const n = tf.getVariable('n', { initializer: tf.constant([7], { dtype: tf.int64 }) });
    const names = new tf.Variable(['one', 'größer'], { name: 'names' });
    const saver = new tf.train.Saver();
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    const before = await sess.run([w, n, names]);
    expect(await saver.save(sess, join(folder, 'model'), { globalStep: 12 })).toBe(join(folder, 'model-12'));
    const other = new tf.Session();
    await saver.restore(other, join(folder, 'model-12'));
    const after = await other.run([w, n, names]);
    expect(after.map(String)).toEqual(before.map(String));
    expect((await tf.train.listVariables(folder)).map(({ name, shape }) => [name, shape])).toEqual([
      ['layer/w', [2, 3]],
      ['n', [1]],
      ['names', [2]],
    ]);
    expect((await tf.train.loadVariable(folder, 'n')).toArray()).toEqual([7]);
  });

  test('has the nodes of TensorFlow', () => {
    tf.getVariable('v', [2]);
    new tf.train.Saver();
    const nodes = tf.getDefaultGraph().operations.map((op) => `${op.name} ${op.type}`);
    expect(nodes.filter((node) => node.startsWith('save/'))).toEqual([
      'save/filename/input Const',
      'save/filename PlaceholderWithDefault',
      'save/Const PlaceholderWithDefault',
      'save/SaveV2/tensor_names Const',
      'save/SaveV2/shape_and_slices Const',
      'save/SaveV2 SaveV2',
      'save/control_dependency Identity',
      'save/RestoreV2/tensor_names Const',
      'save/RestoreV2/shape_and_slices Const',
      'save/RestoreV2 RestoreV2',
      'save/Identity Identity',
      'save/AssignVariableOp AssignVariableOp',
      'save/restore_all NoOp',
    ]);
  });

  test('keeps the latest checkpoints and names them', async () => {
    tf.getVariable('v', [2]);
    const saver = new tf.train.Saver(undefined, { maxToKeep: 2 });
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    for (const globalStep of [1, 2, 3]) await saver.save(sess, join(folder, 'model'), { globalStep });
    expect(saver.lastCheckpoints).toEqual([2, 3].map((n) => join(folder, `model-${n}`)));
    expect((await readdir(folder)).sort()).toEqual([
      'checkpoint',
      'model-2.data-00000-of-00001',
      'model-2.index',
      'model-2.meta',
      'model-3.data-00000-of-00001',
      'model-3.index',
      'model-3.meta',
    ]);
    expect(await tf.train.latestCheckpoint(folder)).toBe(join(folder, 'model-3'));
    expect(readFileSync(join(folder, 'checkpoint'), 'utf8')).toBe(
      `model_checkpoint_path: "${folder}/model-3"\nall_model_checkpoint_paths: "${folder}/model-2"\nall_model_checkpoint_paths: "${folder}/model-3"\n`,
    );
  });

  test('takes the step as a number, as what a run gave, or as what counts it', async () => {
    const step = tf.train.getOrCreateGlobalStep();
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    const saver = new tf.train.Saver();
    const options = { writeMetaGraph: false };
    for (const globalStep of [0, 0n, await sess.run(step), step, step.value()])
      expect(await saver.save(sess, join(folder, 'm'), { globalStep, ...options })).toBe(join(folder, 'm-0'));
    const vector = await sess.run(tf.constant([1, 2]));
    await expect(saver.save(sess, join(folder, 'm'), { globalStep: vector })).rejects.toThrow(
      /a whole number, but it is/,
    );
  });

  test('saves under other names, and some variables only', async () => {
    const a = tf.getVariable('a', { initializer: tf.constant(1) });
    const b = tf.getVariable('b', { initializer: tf.constant(2) });
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    await new tf.train.Saver({ other: a }).save(sess, join(folder, 'x'));
    expect((await tf.train.listVariables(join(folder, 'x'))).map(({ name }) => name)).toEqual(['other']);
    await new tf.train.Saver({ other: b }).restore(sess, join(folder, 'x'));
    expect(Number(await sess.run(b))).toBe(1);
  });

  test('says what is missing', async () => {
    const a = tf.getVariable('a', { initializer: tf.constant(1) });
    const b = tf.getVariable('b', [2]);
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    await new tf.train.Saver([a]).save(sess, join(folder, 'x'));
    const saver = new tf.train.Saver([b]);
    await expect(saver.restore(sess, join(folder, 'x'))).rejects.toThrow(/Key b not found in checkpoint/);
    await expect(saver.restore(sess, join(folder, 'y'))).rejects.toThrow(/not a valid checkpoint/);
    await expect(new tf.train.Saver({ a: b }).restore(sess, join(folder, 'x'))).rejects.toThrow(/dtype|shape/i);
    expect(existsSync(join(folder, 'y.index'))).toBe(false);
  });

  test('stores partitioned variables as slices of one tensor', async () => {
    const p = tf.getVariable('p', [4, 3], { partitioner: tf.fixedSizePartitioner(2) });
    const saver = new tf.train.Saver([p]);
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    await saver.save(sess, join(folder, 'x'));
    const whole = await tf.train.loadVariable(join(folder, 'x'), 'p');
    expect(whole.shape).toEqual([4, 3]);
    expect(String(whole)).toBe(String(await sess.run(tf.convertToTensor(p))));
  });
});
