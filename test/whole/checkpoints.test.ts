/** @file Checkpoints of every kind: old ones, those of objects, shards, warm starts; and savers with all their options. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as tf from 'tensorloom';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { writeSliceTable } from '../../src/io/sliceTable.ts';

const golden = fileURLToPath(new URL('../golden/io', import.meta.url));
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tensorloom-checkpoints-'));
  tf.resetDefaultGraph();
});
afterEach(() => rmSync(folder, { recursive: true }));

const variable = (name: string, value: tf.TensorLike, dtype: tf.DType = tf.float32) =>
  new tf.Variable(tf.constant(value as never, { dtype }), { name });

test.runIf(process.platform === 'linux')('a reader has no files open when it does not read', async () => {
  const [a, b] = [variable('a', [1, 2]), variable('b', [3])];
  const sess = new tf.Session();
  await sess.run(tf.globalVariablesInitializer());
  const saved = await new tf.train.Saver([a, b]).save(sess, join(folder, 'model'));
  const reader = tf.train.NewCheckpointReader(saved);
  const isOpen = () =>
    readdirSync('/proc/self/fd').some((fd) => {
      const link = `/proc/self/fd/${fd}`;
      // The folder that is being read is among them, and closed by now.
      return existsSync(link) && readlinkSync(link).startsWith(saved);
    });
  const both = await Promise.all([reader.getTensor('a'), reader.getTensor('b')]);
  expect(both.map(String)).toEqual(['[1. 2.]', '[3.]']);
  expect(isOpen()).toBe(false);
  expect(String(await reader.getTensor('b'))).toBe('[3.]');
});

describe('the old format', () => {
  const names = ['bools', 'bytes', 'complex', 'doubles', 'halves', 'ints', 'longs', 'scalar', 'texts', 'weights'];

  test('of TensorFlow is read', async () => {
    const reader = tf.train.NewCheckpointReader(join(golden, 'old'));
    const values = Object.fromEntries(
      await Promise.all([...names, 'parts'].map(async (name) => [name, String(await reader.getTensor(name))] as const)),
    );
    expect(values).toMatchInlineSnapshot(`
      {
        "bools": "[ True False]",
        "bytes": "[  1   2 255]",
        "complex": "[1.5-2.j]",
        "doubles": "[[0.1]]",
        "halves": "[ 0.5 -2. ]",
        "ints": "[-1  7]",
        "longs": "[1099511627776            -3]",
        "parts": "[[ 0.  1.  2.]
       [ 3.  4.  5.]
       [ 6.  7.  8.]
       [ 9. 10. 11.]]",
        "scalar": "2.5",
        "texts": "[b'one' b'gr\\xc3\\xb6\\xc3\\x9fer' b'']",
        "weights": "[[0. 1. 2.]
       [3. 4. 5.]]",
      }
    `);
    expect(reader.getVariableToShapeMap()['parts']).toEqual([4, 3]);
    expect(reader.getVariableToDtypeMap()['halves']).toBe(tf.float16);
    await expect(reader.getTensor('none')).rejects.toThrow(/Tensor name "none" not found/);
  });

  test('is written as TensorFlow writes it', async () => {
    const reader = tf.train.NewCheckpointReader(join(golden, 'old'));
    const whole = await reader.getTensor('parts');
    const arrays = await Promise.all(names.map((name) => reader.getTensor(name)));
    const tensors = arrays.map((array) => tf.constant(array));
    const parts = tf.constant(whole);
    const { SaveSlices } = await import('../../src/ops/files/saverV1.ts');
    const save = SaveSlices.node({
      filename: join(folder, 'old'),
      tensor_names: [...names, 'parts', 'parts'],
      shapes_and_slices: [...names.map(() => ''), '4 3 0,2:-', '4 3 2,2:0,3'],
      data: [...tensors, parts.slice('0:2'), parts.slice('2:4')],
    });
    await new tf.Session().run(save);
    expect(readFileSync(join(folder, 'old')).equals(readFileSync(join(golden, 'old')))).toBe(true);
  });

  test('is restored by savers, from several files too', async () => {
    const own = [0, 1].map((i) => new tf.Variable(tf.constant(-1, tf.float32), { name: `own${i}` }));
    const parts = tf.getVariable('parts', [4, 3], { partitioner: tf.fixedSizePartitioner(4) });
    const saver = new tf.train.Saver();
    const sess = new tf.Session();
    const path = join(golden, 'oldshards-?????-of-00002');
    expect(tf.train.checkpointExists(path)).toBe(true);
    await saver.restore(sess, path);
    expect((await sess.run(own)).map(Number)).toEqual([0, 1]);
    expect((await sess.run(tf.convertToTensor(parts))).toArray()).toEqual([
      [0, 1, 2],
      [3, 4, 5],
      [6, 7, 8],
      [9, 10, 11],
    ]);
  });

  test('is written by savers that are told to', async () => {
    const v = variable('v', [1, 2]);
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    const saver = new tf.train.Saver({ writeVersion: 1, maxToKeep: 1 });
    for (const globalStep of [1, 2])
      expect(await saver.save(sess, join(folder, 'm'), { globalStep })).toBe(join(folder, `m-${globalStep}`));
    expect(readdirSync(folder).sort()).toEqual(['checkpoint', 'm-2', 'm-2.meta']);
    await sess.run(v.assign([0, 0]));
    await saver.restore(sess, tf.train.latestCheckpoint(folder)!);
    expect((await sess.run(v)).toArray()).toEqual([1, 2]);
    const sharded = new tf.train.Saver([v], { writeVersion: 1, sharded: true });
    expect(await sharded.save(sess, join(folder, 's'))).toBe(join(folder, 's-?????-of-00001'));
    await sharded.restore(sess, join(folder, 's-?????-of-00001'));
    expect(existsSync(join(folder, 's.meta'))).toBe(true);
  });

  test('holds no tensor of two gigabytes', async () => {
    // Memory that nobody writes to costs nothing; an integer may take ten bytes in a message.
    const large = new tf.NDArray(tf.int8, [Math.floor(2 ** 31 / 10)], new Int8Array(Math.floor(2 ** 31 / 10)));
    await expect(writeSliceTable(join(folder, 'large'), [{ name: 'x', array: large }])).rejects.toThrow(
      /Tensor slice is too large to serialize \(conservative estimate: \d+ bytes\)/,
    );
    expect(readdirSync(folder)).toEqual([]);
  });

  test('damaged is refused', () => {
    const bytes = readFileSync(join(golden, 'old'));
    for (const at of [10, 300, bytes.length - 3]) {
      const broken = Buffer.from(bytes);
      broken[at]! ^= 64;
      writeFileSync(join(folder, 'broken'), broken);
      expect(() => tf.train.NewCheckpointReader(join(folder, 'broken'))).toThrow(tf.errors.DataLossError);
    }
  });
});

describe('checkpoints of TensorFlow', () => {
  test('in shards, with bfloat16 and slices', async () => {
    const reader = tf.train.NewCheckpointReader(join(golden, 'sharded'));
    expect(reader.debugString()).toBe('a (DT_FLOAT) [2]\nb (DT_BFLOAT16) [2]\np (DT_FLOAT) [3,2]\n');
    expect((await reader.getTensor('b')).toArray()).toEqual([3, 4]);
    await reader.close();
    const p = tf.getVariable('p', [3, 2]);
    const b = tf.getVariable('b', [2], { dtype: tf.bfloat16, initializer: tf.zerosInitializer() });
    const sess = new tf.Session();
    await new tf.train.Saver().restore(sess, join(golden, 'sharded'));
    expect((await sess.run(p)).toArray()).toEqual([[0, 1], [2, 3], [4, 5]]); // biome-ignore format: rows
    expect((await sess.run(b)).toArray()).toEqual([3, 4]);
  });

  test('of objects are restored by the names of variables', async () => {
    const kernel = tf.getVariable('dense/kernel', [1, 2]);
    const bias = tf.getVariable('dense/bias', [1]);
    const sess = new tf.Session();
    const saver = new tf.train.Saver([kernel, bias]);
    await saver.restore(sess, join(golden, 'objects'));
    await saver.restore(sess, join(golden, 'objects'));
    expect((await sess.run([kernel, bias])).map(String)).toEqual(['[[1. 2.]]', '[0.5]']);
    const other = new tf.train.Saver([tf.getVariable('dense/other', [1])]);
    await expect(other.restore(sess, join(golden, 'objects'))).rejects.toThrow(
      /no variable of the names: dense\/other/,
    );
  });
});

describe('a saver', () => {
  const withDevices = { config: { deviceCount: { CPU: 2 } } };

  test('writes a data file per device and reads them back', async () => {
    const a = tf.device('/cpu:0', () => variable('a', [1, 2]));
    const b = tf.device('/cpu:1', () => variable('b', [3]));
    const saver = new tf.train.Saver({ sharded: true });
    const sess = new tf.Session(withDevices);
    await sess.run(tf.globalVariablesInitializer());
    const path = await saver.save(sess, join(folder, 'm'), { writeMetaGraph: false });
    expect(readdirSync(folder).sort()).toEqual([
      'checkpoint',
      'm.data-00000-of-00002',
      'm.data-00001-of-00002',
      'm.index',
    ]);
    const other = new tf.Session(withDevices);
    await saver.restore(other, path);
    expect((await other.run([a, b])).map(String)).toEqual(['[1. 2.]', '[3.]']);
    // Over itself: the old files stay until the new ones are complete, and then go.
    await sess.run(a.assign([5, 6]));
    await saver.save(sess, path, { writeMetaGraph: false });
    expect(readdirSync(folder).length).toBe(4);
    await saver.restore(other, path);
    expect(String(await other.run(a))).toBe('[5. 6.]');
    // With another number of files.
    await new tf.train.Saver([a]).save(sess, path, { writeMetaGraph: false });
    expect(readdirSync(folder).sort()).toEqual(['checkpoint', 'm.data-00000-of-00001', 'm.index']);
  });

  test('keeps a checkpoint every so many hours', async () => {
    variable('v', [1]);
    const saver = new tf.train.Saver({ maxToKeep: 1, keepCheckpointEveryNHours: 1 });
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    const save = (globalStep: number) => saver.save(sess, join(folder, 'm'), { globalStep, writeMetaGraph: false });
    await save(1);
    // An hour and a half later, as far as the saver knows.
    saver.setLastCheckpointsWithTime([[join(folder, 'm-1'), Date.now() / 1000 + 5400]]);
    await save(2);
    await save(3);
    expect(
      readdirSync(folder)
        .filter((f) => f.endsWith('.index'))
        .sort(),
    ).toEqual(['m-1.index', 'm-3.index']);
    expect(saver.lastCheckpoints).toEqual([join(folder, 'm-3')]);
  });

  test('goes on from what is there', async () => {
    variable('v', [1]);
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    const first = new tf.train.Saver({ maxToKeep: 2 });
    for (const globalStep of [1, 2]) await first.save(sess, join(folder, 'm'), { globalStep });
    utimesSync(join(folder, 'm-1.index'), 1000, 1000);
    expect(tf.train.getCheckpointMtimes([1, 2, 3].map((n) => join(folder, `m-${n}`)))[0]).toBe(1000);
    const second = new tf.train.Saver({ maxToKeep: 2 });
    const state = tf.train.getCheckpointState(folder)!;
    second.recoverLastCheckpoints([...state.all_model_checkpoint_paths, join(folder, 'gone')]);
    await second.save(sess, join(folder, 'm'), { globalStep: 3 });
    expect(second.lastCheckpoints).toEqual([join(folder, 'm-2'), join(folder, 'm-3')]);
    expect(tf.train.checkpointExists(join(folder, 'm-1'))).toBe(false);
    await tf.train.removeCheckpoint(join(folder, 'm-2'));
    expect(readdirSync(folder).filter((f) => f.startsWith('m-2'))).toEqual([]);
  });

  test('says why a checkpoint file is of no use', () => {
    const lines: string[] = [];
    tf.logging.setTarget((line) => lines.push(line));
    try {
      writeFileSync(join(folder, 'checkpoint'), 'no message {');
      expect(tf.train.latestCheckpoint(folder)).toBe(null);
      writeFileSync(join(folder, 'checkpoint'), 'model_checkpoint_path: "m-7"');
      expect(tf.train.latestCheckpoint(folder)).toBe(null);
      expect(lines).toEqual([
        expect.stringMatching(/checkpoint: Checkpoint ignored \(/),
        expect.stringContaining(`Couldn't match files for checkpoint ${join(folder, 'm-7')}`),
      ]);
    } finally {
      tf.logging.setTarget();
    }
  });

  test('lists names and shapes as pairs', async () => {
    variable('v', [1, 2]);
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    const path = await new tf.train.Saver().save(sess, join(folder, 'm'));
    const found = await tf.train.listVariables(path);
    expect(found).toEqual([['v', [2]]]);
    const [[name, shape]] = found as [tf.train.ListedVariable]; // there is one
    expect([name, shape, found[0]!.name, found[0]!.dtype]).toEqual(['v', [2], 'v', tf.float32]);
  });

  test('with maxToKeep null keeps all and names one', async () => {
    variable('v', [1]);
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    const saver = new tf.train.Saver({ maxToKeep: null, padStepNumber: true, saveRelativePaths: true });
    for (const globalStep of [1, 2])
      await saver.save(sess, join(folder, 'm'), { globalStep, latestFilename: 'latest' });
    expect(saver.lastCheckpoints).toEqual([]);
    expect(readFileSync(join(folder, 'latest'), 'utf8')).toBe(
      'model_checkpoint_path: "m-00000002"\nall_model_checkpoint_paths: "m-00000002"\n',
    );
    for (const latest of ['latest', { latestFilename: 'latest' }]) {
      expect(tf.train.latestCheckpoint(folder, latest)).toBe(join(folder, 'm-00000002'));
      const state = tf.train.getCheckpointState(folder, latest)!;
      expect([state.modelCheckpointPath, state.allModelCheckpointPaths]).toEqual([
        state.model_checkpoint_path,
        state.all_model_checkpoint_paths,
      ]);
    }
    expect(() => tf.train.latestCheckpoint(folder, { latestFileName: 'x' } as object)).toThrow(
      "tf.train.latestCheckpoint has no option 'latestFileName'. Did you mean 'latestFilename'?",
    );
    expect(tf.train.latestCheckpoint(folder)).toBe(null);
    expect(readdirSync(folder).filter((f) => f.endsWith('.index')).length).toBe(2);
  });

  test('reshapes, counts steps with a variable, and writes what is asked for only', async () => {
    const step = tf.train.getOrCreateGlobalStep();
    const v = variable('v', [1, 2, 3, 4]);
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    await sess.run(step.assign(12));
    const path = await new tf.train.Saver([v]).save(sess, join(folder, 'm'), { globalStep: step, writeState: false });
    expect(path).toBe(join(folder, 'm-12'));
    expect(existsSync(join(folder, 'checkpoint'))).toBe(false);
    for (const useResource of [false, true]) {
      const square = tf.getVariable(`square${useResource}`, [2, 2], { useResource });
      await expect(new tf.train.Saver({ v: square }).restore(sess, path)).rejects.toThrow(
        /a mismatch between the current graph(.|\n)*Assign requires shapes of both tensors to match. lhs shape= \[2,2\] rhs shape= \[4\]/,
      );
      await new tf.train.Saver({ v: square }, { reshape: true }).restore(sess, path);
      expect((await sess.run(square)).toArray()).toEqual([[1, 2], [3, 4]]); // biome-ignore format: rows
    }
  });

  test('is followed by who waits for its checkpoints', async () => {
    variable('v', [1]);
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    const saver = new tf.train.Saver();
    const save = (globalStep: number) => saver.save(sess, join(folder, 'm'), { globalStep, writeMetaGraph: false });
    await save(1);
    const seen: string[] = [];
    let asked = 0;
    const options = { timeout: 0, secondsToSleep: 0, timeoutFn: () => ++asked === 3 };
    for await (const path of tf.train.checkpointsIterator(folder, options)) {
      seen.push(path);
      if (seen.length < 3) await save(seen.length + 1);
    }
    expect(seen).toEqual([1, 2, 3].map((n) => join(folder, `m-${n}`)));
    expect(asked).toBe(3);
  });

  test('says what it cannot do', async () => {
    const v = variable('v', [1]);
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    const saver = new tf.train.Saver();
    await expect(saver.save(sess, join(folder, 'checkpoint'))).rejects.toThrow(/collides with the path/);
    await expect(saver.save(sess, join(folder, 'm'), { latestFilename: 'a/b' })).rejects.toThrow(/path components/);
    await expect(saver.save(sess, `${folder}/`)).rejects.toThrow(/is a folder/);
    expect(() => new tf.train.Saver({ a: v, b: v })).toThrow(/two names: b/);
    expect(() => new tf.train.Saver([v, v])).toThrow(/same name: v/);
    expect(() => new tf.train.Saver({ maxToKep: 2 } as never)).toThrow(/Did you mean 'maxToKeep'/);
    expect(() => new tf.train.Saver([v], { deferBuild: true })).toThrow(/cannot be deferred/);
    const deferred = new tf.train.Saver({ deferBuild: true });
    await expect(deferred.save(sess, join(folder, 'm'))).rejects.toThrow(/build\(\)/);
    deferred.build();
    await deferred.save(sess, join(folder, 'm'));
    await expect(saver.restore(sess, join(folder, 'none'))).rejects.toThrow(/not a valid checkpoint/);
    new tf.Graph().asDefault(() => {
      expect(() => new tf.train.Saver()).toThrow(/No variables to save/);
      expect(new tf.train.Saver({ allowEmpty: true }).saverDef).toBe(undefined);
    });
  });
});

describe('variables begin with values of a checkpoint', () => {
  async function pretrained() {
    const graph = new tf.Graph();
    await graph.asDefault(async () => {
      variable('old/w', [[1, 2], [3, 4]]); // biome-ignore format: rows
      variable('old/b', [5, 6]);
      variable('alone', [7]);
      const sess = new tf.Session({ graph });
      await sess.run(tf.globalVariablesInitializer());
      await new tf.train.Saver().save(sess, join(folder, 'model'), { globalStep: 3 });
    });
    tf.resetDefaultGraph();
  }

  test('by scope, by name, by slices', async () => {
    await pretrained();
    const w = tf.getVariable('new/w', [2, 2]);
    const b = tf.getVariable('new/b', [2], { partitioner: tf.fixedSizePartitioner(2) });
    const own = tf.getVariable('own', [1]);
    tf.train.initFromCheckpoint(folder, { 'old/': 'new/', alone: own });
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    const values = await sess.run([w, tf.convertToTensor(b), own]);
    expect(values.map(String)).toEqual(['[[1. 2.]\n [3. 4.]]', '[5. 6.]', '[7.]']);
    expect(own.initialValue.op.type).toBe('RestoreV2');
    expect(() => tf.train.initFromCheckpoint(folder, { 'old/w': own })).toThrow(/doesn't match with shape of tensor/);
    expect(() => tf.train.initFromCheckpoint(folder, { none: own })).toThrow(/Tensor none is not found/);
    expect(() => tf.train.initFromCheckpoint(folder, { old: 'new/' })).toThrow(/Should be 'scope\/': 'other_scope\/'/);
  });

  test('by warm start, other names included', async () => {
    await pretrained();
    const w = tf.getVariable('old/w', [2, 2]);
    const c = tf.getVariable('c', [1]);
    tf.train.warmStart(join(folder, 'model-3'), { varNameToPrevVarName: { c: 'alone' } });
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    expect((await sess.run([w, c])).map(String)).toEqual(['[[1. 2.]\n [3. 4.]]', '[7.]']);
    expect(() => tf.train.warmStart(folder, { varNameToPrevVarName: { d: 'alone' } })).toThrow(/not used: d/);
  });

  test('by words, where the vocabulary has changed', async () => {
    await pretrained();
    mkdirSync(join(folder, 'words'));
    const file = (name: string, words: string[]) => {
      writeFileSync(join(folder, 'words', name), `${words.join('\n')}\n`);
      return join(folder, 'words', name);
    };
    const oldVocab = file('old', ['cat', 'dog']);
    const newVocab = file('new', ['dog', 'bird', 'cat']);
    const info = { newVocab, newVocabSize: 3, oldVocab, backupInitializer: tf.constantInitializer(9) };
    // Values as TensorFlow's warm_start gives them.
    const rows = tf.getVariable('rows', [4, 2]);
    const columns = tf.getVariable('columns', [2, 3]);
    const halves = tf.getVariable('halves', [4, 2], { partitioner: tf.fixedSizePartitioner(2) });
    tf.train.warmStart(folder, {
      varNameToPrevVarName: { rows: 'old/w', columns: 'old/w', halves: 'old/w' },
      varNameToVocabInfo: {
        rows: new tf.train.VocabInfo({ ...info, numOovBuckets: 1 }),
        columns: new tf.train.VocabInfo({ ...info, numOovBuckets: 0, axis: 1 }),
        halves: new tf.train.VocabInfo({ ...info, numOovBuckets: 1 }),
      },
    });
    const sess = new tf.Session();
    await sess.run(tf.globalVariablesInitializer());
    expect((await sess.run(rows)).toArray()).toEqual([[3, 4], [9, 9], [1, 2], [9, 9]]); // biome-ignore format: rows
    expect((await sess.run(columns)).toArray()).toEqual([[2, 9, 1], [4, 9, 3]]); // biome-ignore format: rows
    expect((await sess.run(tf.convertToTensor(halves))).toArray()).toEqual([[3, 4], [9, 9], [1, 2], [9, 9]]); // biome-ignore format: rows
  });
});
