/** @file Readers: records of files whose names come out of queues. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import * as tf from 'tensorloom';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'tensorloom-readers-'));
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(() => tf.resetDefaultGraph());

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

/** A session and a queue that holds these names and nothing more. */
async function queueOf(names: readonly string[]) {
  const queue = new tf.FIFOQueue(99, tf.string, { shapes: [[]] });
  const sess = new tf.Session();
  await sess.run([queue.enqueueMany([names])]);
  await sess.run(queue.close());
  return { queue, sess };
}

/** All records until the queue is empty. */
async function readAll(sess: tf.Session, [key, value]: readonly [tf.Tensor, tf.Tensor]) {
  const found: [unknown, unknown][] = [];
  for (;;) {
    try {
      const [k, v] = await sess.run([key, value]);
      found.push([k.toArray(), v.toArray()]);
    } catch (error) {
      expect(error).toBeInstanceOf(tf.errors.OutOfRangeError);
      expect(String(error)).toMatch(/is closed and has insufficient elements \(requested 1, current size 0\)/);
      return found;
    }
  }
}

describe('readers', () => {
  it('give whole files', async () => {
    const names = [file('a.txt', 'One\na\n'), file('b.txt', ''), file('c.txt', 'x')];
    const { queue, sess } = await queueOf(names);
    const reader = new tf.WholeFileReader();
    expect(await readAll(sess, reader.read(queue))).toEqual([
      [names[0], 'One\na\n'],
      [names[1], ''],
      [names[2], 'x'],
    ]);
    expect(Number(await sess.run(reader.numRecordsProduced()))).toBe(3);
    expect(Number(await sess.run(reader.numWorkUnitsCompleted()))).toBe(3);
  });

  it('give lines with their numbers, whatever ends them', async () => {
    const long = 'x'.repeat(300_000);
    const names = [file('unix.txt', `head\none\n\n${long}\nlast`), file('windows.txt', 'head\r\ntwo\r\n')];
    const { queue, sess } = await queueOf(names);
    const reader = new tf.TextLineReader({ skipHeaderLines: 1 });
    expect(await readAll(sess, reader.read(queue))).toEqual([
      [`${names[0]}:2`, 'one'],
      [`${names[0]}:3`, ''],
      [`${names[0]}:4`, long],
      [`${names[0]}:5`, 'last'],
      [`${names[1]}:2`, 'two'],
    ]);
  });

  it('give records of one length', async () => {
    const content = 'HHaaabbbcccFF';
    const name = file('fixed.bin', content);
    const packed = file('fixed.z', deflateSync(content));
    const { queue, sess } = await queueOf([name, name]);
    const plain = new tf.FixedLengthRecordReader(3, { headerBytes: 2, footerBytes: 2 });
    const expected = ['aaa', 'bbb', 'ccc'].map((value, i) => [`${name}:${i}`, value]);
    expect(await readAll(sess, plain.read(queue))).toEqual([...expected, ...expected]);

    const other = await queueOf([name]);
    const overlapping = new tf.FixedLengthRecordReader(3, { headerBytes: 2, footerBytes: 2, hopBytes: 2 });
    expect((await readAll(other.sess, overlapping.read(other.queue))).map(([, v]) => v)).toEqual([
      'aaa',
      'abb',
      'bbc',
      'ccc',
    ]);

    const third = await queueOf([packed]);
    const inflating = new tf.FixedLengthRecordReader(3, { headerBytes: 2, footerBytes: 2, encoding: 'ZLIB' });
    expect((await readAll(third.sess, inflating.read(third.queue))).map(([, v]) => v)).toEqual(['aaa', 'bbb', 'ccc']);
  });

  it('give TFRecords, plain and compressed', async () => {
    for (const compression of ['', 'GZIP', 'ZLIB'] as const) {
      tf.resetDefaultGraph();
      const path = join(folder, `records${compression}`);
      const writer = new tf.io.TFRecordWriter(path, { compression });
      for (const text of ['one', '', 'three']) await writer.write(text);
      await writer.close();
      const { queue, sess } = await queueOf([path]);
      const reader = new tf.TFRecordReader({ compression });
      expect(await readAll(sess, reader.read(queue))).toEqual([
        [`${path}:0`, 'one'],
        [`${path}:19`, ''],
        [`${path}:35`, 'three'],
      ]);
    }
  });

  it('give several records at once, those of one file', async () => {
    const names = [file('three.txt', '1\n2\n3\n'), file('two.txt', '4\n5\n')];
    const { queue, sess } = await queueOf(names);
    const reader = new tf.TextLineReader();
    const [, values] = reader.readUpTo(queue, 2);
    const found = [];
    for (let i = 0; i < 3; i++) found.push((await sess.run(values)).toArray());
    expect(found).toEqual([['1', '2'], ['3'], ['4', '5']]);
    await expect(sess.run(values)).rejects.toBeInstanceOf(tf.errors.OutOfRangeError);
    expect(Number(await sess.run(reader.numRecordsProduced()))).toBe(5);
  });

  it('go on after a file that is not there', async () => {
    const name = file('there.txt', 'line');
    const { queue, sess } = await queueOf([join(folder, 'missing'), name]);
    const [, value] = new tf.TextLineReader().read(queue);
    await expect(sess.run(value)).rejects.toBeInstanceOf(tf.errors.NotFoundError);
    await expect(sess.run(value).then(String)).resolves.toMatch(/line/);
  });

  it('save and restore their state where they can', async () => {
    const queue = new tf.FIFOQueue(99, tf.string, { shapes: [[]] });
    const reader = new tf.IdentityReader({ name: 'test_reader' });
    const [key, value] = reader.read(queue);
    const sess = new tf.Session();
    const enqueue = queue.enqueueMany([['X', 'Y', 'Z']]);
    const produced = reader.numRecordsProduced();
    await sess.run(enqueue);
    expect((await sess.run([key, value])).map((x) => x.item())).toEqual(['X', 'X']);
    const state = (await sess.run(reader.serializeState())).objects[0] as Uint8Array;
    await sess.run(value);
    await sess.run(reader.restoreState(state));
    expect(Number(await sess.run(produced))).toBe(1);
    for (const wrong of [state.slice(1), state.slice(0, -1), Buffer.concat([state, Buffer.from('ExtraJunk')])])
      await expect(sess.run(reader.restoreState(wrong))).rejects.toThrow(
        /Could not parse state for IdentityReader 'test_reader'/,
      );
    await sess.run(reader.reset());
    expect(Number(await sess.run(produced))).toBe(0);
    expect((await sess.run(value)).item()).toBe('Z');
    const lines = new tf.TextLineReader();
    await expect(sess.run(lines.serializeState())).rejects.toBeInstanceOf(tf.errors.UnimplementedError);
  });

  it('take turns, and lose nothing when a run stops', async () => {
    const queue = new tf.FIFOQueue(99, tf.string, { shapes: [[]] });
    const name = file('lines.txt', Array.from({ length: 50 }, (_, i) => `${i}\n`).join(''));
    const [, value] = new tf.TextLineReader().read(queue);
    const sess = new tf.Session();
    const stop = new AbortController();
    const stopped = sess.run(value, undefined, { signal: stop.signal }).catch((e: unknown) => e);
    const others = Array.from({ length: 50 }, () => sess.run(value).then((v) => Number(v.item())));
    await new Promise(setImmediate);
    stop.abort();
    expect(await stopped).toBeInstanceOf(tf.errors.CancelledError);
    await sess.run(queue.enqueue(name));
    expect((await Promise.all(others)).sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i));
  });

  it('read in the same run as the names are put in', async () => {
    const queue = new tf.FIFOQueue(1, tf.string, { shapes: [[]] });
    const [, value] = new tf.IdentityReader().read(queue);
    const sess = new tf.Session();
    expect((await sess.run([value, queue.enqueue('work')]))[0].item()).toBe('work');
  });

  it('give records of many files at random, each once in an epoch', async () => {
    for (let i = 0; i < 5; i++) {
      const writer = new tf.io.TFRecordWriter(join(folder, `many-${i}`));
      for (let k = 0; k < 10; k++) await writer.write(String(10 * i + k));
      await writer.close();
    }
    const text = `node { name: "input" op: "RecordInput" attr { key: "file_pattern" value { s: "${folder}/many-*" } }
      attr { key: "file_buffer_size" value { i: 20 } } attr { key: "file_parallelism" value { i: 2 } }
      attr { key: "batch_size" value { i: 10 } } }
      node { name: "none" op: "RecordInput" attr { key: "file_pattern" value { s: "${folder}/nothing-*" } } }`;
    tf.importGraphDef(tf.GraphDef.parseText(text), { name: '' });
    const sess = new tf.Session();
    for (let epoch = 0; epoch < 3; epoch++) {
      const found: number[] = [];
      for (let i = 0; i < 5; i++) found.push(...((await sess.run('input:0'))!.toArray() as string[]).map(Number));
      const sorted = found.toSorted((a, b) => a - b);
      expect(sorted).toEqual(Array.from({ length: 50 }, (_, i) => i));
      expect(found).not.toEqual(sorted);
    }
    await expect(sess.run('none:0')).rejects.toBeInstanceOf(tf.errors.NotFoundError);
  });
});
