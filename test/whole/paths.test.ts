/** @file Names of files: `file://` addresses mean the same files as plain paths, and other schemes are refused. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from 'tensorloom';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { joinPath, localPath } from '../../src/io/paths.ts';

let folder = '';
let address = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tensorloom-paths-'));
  address = `file://${folder}`;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const at = (name: string) => join(folder, name);

describe('paths', () => {
  it('of addresses are what follows the host', () => {
    expect(localPath('file:///a/b')).toBe('/a/b');
    expect(localPath('file://host/a/b')).toBe('/a/b');
    expect(['a/b', '/a/b', 'file:/a', ''].map(localPath)).toEqual(['a/b', '/a/b', 'file:/a', '']);
    expect(() => localPath('gs://bucket/a')).toThrow(
      /File system scheme 'gs' not implemented \(file: 'gs:\/\/bucket\/a'\)/,
    );
  });

  it('of addresses stay addresses when names are added', () => {
    expect(joinPath('file:///a', 'b', 'c')).toBe('file:///a/b/c');
    expect(joinPath('file://host', 'b')).toBe('file://host/b');
    expect(joinPath('a/', 'b')).toBe('a/b');
  });
});

describe('addresses', () => {
  it('name files and folders for tf.gfile, and results are addresses again', () => {
    tf.gfile.makeDirs(`${address}/sub`);
    const file = new tf.gfile.GFile(`${address}/a.txt`, 'w');
    file.write('content');
    file.close();
    expect(readFileSync(at('a.txt'), 'utf8')).toBe('content');
    expect(tf.gfile.glob(`${address}/*.txt`)).toEqual([`${address}/a.txt`]);
    expect([...tf.gfile.walk(address)]).toEqual([
      [address, ['sub'], ['a.txt']],
      [`${address}/sub`, [], []],
    ]);
    tf.gfile.copy(`${address}/a.txt`, `${address}/sub/b.txt`);
    tf.gfile.rename(`${address}/sub/b.txt`, `${address}/sub/c.txt`);
    expect(readdirSync(at('sub'))).toEqual(['c.txt']);
    tf.gfile.deleteRecursively(`${address}/sub`);
    expect([tf.gfile.exists(`${address}/sub`), tf.gfile.stat(`${address}/a.txt`).length]).toEqual([false, 7]);
    expect(() => new tf.gfile.GFile(`${address}/none`).read()).toThrow(`${address}/none; No such file or directory`);
    expect(() => tf.gfile.exists('gs://bucket/a')).toThrow(tf.errors.UnimplementedError);
  });

  it('name checkpoints', async () => {
    await new tf.Graph().asDefault(async () => {
      const v = tf.getVariable('v', [2], { initializer: tf.onesInitializer() });
      await using sess = new tf.Session();
      await sess.run(tf.globalVariablesInitializer());
      const saver = new tf.train.Saver({ maxToKeep: 1 });
      await saver.save(sess, `${address}/run/model`, { globalStep: 1 });
      expect(await saver.save(sess, `${address}/run/model`, { globalStep: 2 })).toBe(`${address}/run/model-2`);
      expect(readdirSync(at('run')).sort()).toEqual([
        'checkpoint',
        'model-2.data-00000-of-00001',
        'model-2.index',
        'model-2.meta',
      ]);
      // A folder that is no absolute path is left out of the names, as TensorFlow does it.
      expect(readFileSync(at('run/checkpoint'), 'utf8')).toContain('model_checkpoint_path: "model-2"');
      expect(tf.train.latestCheckpoint(`${address}/run`)).toBe(`${address}/run/model-2`);
      await sess.run(v.assign([5, 6]));
      await saver.restore(sess, `${address}/run/model-2`);
      expect(String(await sess.run(v))).toBe('[1. 1.]');
      expect(tf.train.NewCheckpointReader(`${address}/run/model-2`).getVariableToShapeMap()).toEqual({ v: [2] });
      await expect(saver.save(sess, 'gs://bucket/model')).rejects.toThrow(tf.errors.UnimplementedError);
    });
  });

  it('name records, event files, graphs and files in graphs', async () => {
    const writer = new tf.io.TFRecordWriter(`${address}/r.tfrecords`);
    await writer.write('one');
    await writer.close();
    const records: string[] = [];
    for await (const record of tf.io.tfRecordIterator(`${address}/r.tfrecords`))
      records.push(String(Buffer.from(record)));
    expect(records).toEqual(['one']);
    await new tf.Graph().asDefault(async () => {
      const events = new tf.summary.FileWriter(`${address}/logs`, tf.getDefaultGraph());
      await events.close();
      expect(readdirSync(at('logs'))).toHaveLength(1);
      expect(tf.train.writeGraph(tf.getDefaultGraph(), `${address}/graphs`, 'g.pbtxt')).toBe(
        `${address}/graphs/g.pbtxt`,
      );
      expect(existsSync(at('graphs/g.pbtxt'))).toBe(true);
      writeFileSync(at('lines.txt'), 'first\nsecond\n');
      await using sess = new tf.Session();
      const [whole, found] = await sess.run([
        tf.readFile(`${address}/lines.txt`),
        tf.matchingFiles(`${address}/lines*`),
      ]);
      expect([String(whole), String(found)]).toEqual(["b'first\\nsecond\\n'", `[b'${address}/lines.txt']`]);
      const line = tf.data.makeOneShotIterator(new tf.data.TextLineDataset(`${address}/lines.txt`)).getNext();
      expect(String(await sess.run(line as tf.Tensor))).toBe("b'first'"); // lines are single tensors
    });
  });
});
