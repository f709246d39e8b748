/** @file `tensorloom checkpoint`: what it prints about checkpoints and SavedModels, and how it compares them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as tf from 'tensorloom';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type CheckpointOptions, checkpoint } from '../../src/cli/checkpoint.ts';

const golden = (name: string) => fileURLToPath(new URL(`../golden/${name}`, import.meta.url));
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tensorloom-command-'));
  tf.resetDefaultGraph();
});
afterEach(() => rmSync(folder, { recursive: true }));

async function printed(paths: [string, string?], options: CheckpointOptions = {}): Promise<[boolean, string[]]> {
  const lines: string[] = [];
  const result = await checkpoint(paths[0], paths[1], options, (line) => lines.push(...line.split('\n')));
  return [result, lines];
}

test('lists a checkpoint with numbers about its tensors', async () => {
  const [, lines] = await printed([golden('io/several.index')]);
  expect(lines.slice(1, 7)).toEqual([
    'name     dtype      shape         min     max     mean     std  zeros',
    'brain    bfloat16   [2]         1.500       3    2.250  0.7500     0%',
    'complex  complex64  [1]             1       2    1.500  0.5000     0%',
    'doubles  float64    [1, 1]     0.1000  0.1000   0.1000       0     0%',
    'empty    float32    [0, 3]',
    'flags    bool       [2]             0       1   0.5000  0.5000  50.0%',
  ]);
  expect(lines.at(-1)).toBe('13 tensors, 14,052 elements, 28.4 kB');
  const [, plain] = await printed([golden('io/several')], { statistics: false });
  expect(plain[2]).toBe('brain    bfloat16   [2]');
  expect((await printed([golden('io/old')], { tensor: 'ints' }))[1]).toEqual(['[-1  7]']);
});

test('lists a SavedModel with its signatures', async () => {
  const [, lines] = await printed([golden('savedModels/v2')]);
  expect(lines.slice(-6)).toEqual([
    '  __saved_model_init_op',
    '    out __saved_model_init_op: operation [?]  NoOp',
    '  serving_default  (tensorflow/serving/predict)',
    '    in  x: float32 [?, 2]  serving_default_x:0',
    '    out calls: int32 []  StatefulPartitionedCall:0',
    '    out y: float32 [?, 3]  StatefulPartitionedCall:1',
  ]);
});

test('compares two, and says so by its result', async () => {
  const v = new tf.Variable([1, 2, 4], { dtype: tf.float32, name: 'v' });
  const n = new tf.Variable([Number.NaN, 1], { dtype: tf.float32, name: 'n' });
  const s = new tf.Variable(['a', 'b'], { name: 's' });
  const other = new tf.Variable([1], { dtype: tf.float32, name: 'other' });
  const sess = new tf.Session();
  await sess.run(tf.globalVariablesInitializer());
  const first = await new tf.train.Saver([v, n, s]).save(sess, join(folder, 'm-1'), { writeMetaGraph: false });
  expect(await printed([first, folder])).toEqual([
    true,
    [`first   ${first}`, `second  ${first}`, 'all 3 tensors are equal'],
  ]);
  await sess.run([v.assign([1, 2, 5]), s.assign(['a', 'c'])].map((x) => (x as tf.UpdatedVariable).op));
  const second = await new tf.train.Saver({ v, s, n: other, other: n }).save(sess, join(folder, 'm-2'));
  const [same, lines] = await printed([first, second]);
  expect(same).toBe(false);
  expect(lines.slice(2)).toEqual([
    'n      [2] and [1]',
    'other  only in the second',
    's      1 of 2 elements differ',
    'v      1 of 3 elements differ, by at most 1 (20 %)',
    '4 differ, 0 are equal',
  ]);
  expect(JSON.parse((await printed([first, second], { json: true }))[1].join('\n'))).toMatchObject({ equal: 0 });
  expect((await printed([second]))[1].find((line) => line.startsWith('other'))).toMatch(/1 NaN or infinite/);
  await expect(printed([join(folder, 'none')])).rejects.toThrow(/There is no checkpoint at/);
});

test('compares large whole numbers exactly, one tensor where one is named, and claims no more than it read', async () => {
  const big = new tf.Variable([2n ** 60n, 7n], { dtype: tf.int64, name: 'big' });
  const same = new tf.Variable([1.5], { name: 'same' });
  const texts = new tf.Variable(['ab', 'c'], { name: 'texts' });
  const sess = new tf.Session();
  await sess.run(tf.globalVariablesInitializer());
  const saver = new tf.train.Saver([big, same, texts]);
  const first = await saver.save(sess, join(folder, 'm-1'));
  await sess.run(tf.assign(big, [2n ** 60n + 1n, 7n]) as tf.Tensor);
  const second = await saver.save(sess, join(folder, 'm-2'));
  const [isEqual, lines] = await printed([first, second]);
  expect([isEqual, lines.slice(2)]).toEqual([
    false,
    ['big  1 of 2 elements differ, by at most 1 (8.674e-17 %)', '1 differ, 2 are equal'],
  ]);
  expect((await printed([first, second], { tensor: 'same' }))[1].at(-1)).toBe("'same' is equal");
  expect((await printed([first, second], { tensor: 'big' }))[0]).toBe(false);
  await expect(printed([first, second], { tensor: 'bog' })).rejects.toThrow(
    /Neither has a tensor 'bog'. There are 'big', 'same', 'texts'/,
  );
  expect((await printed([first, second], { statistics: false }))[1].at(-1)).toBe(
    'all 3 tensors are of equal types and shapes; their values were not read',
  );
  const [, listed] = await printed([first], { statistics: false });
  expect(listed.at(-1)).toBe('3 tensors, 5 elements, 20 bytes and strings');
});
