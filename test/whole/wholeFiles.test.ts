/** @file Files read, written and found in the graph, images decoded in it, and tf.gfile. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from 'tensorloom';
import { afterAll, beforeEach, expect, it } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'tensorloom-files-'));
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(() => tf.resetDefaultGraph());

it('A run reads a file as it is then', async () => {
  const path = join(folder, 'deep', 'inside', 'text');
  const text = tf.placeholder(tf.string, []);
  const write = tf.writeFile(path, text);
  const read = tf.readFile(path);
  const sess = new tf.Session();
  await expect(sess.run(read)).rejects.toThrow(tf.errors.NotFoundError);
  for (const content of ['first', 'second']) {
    await sess.run(write, [[text, content]]);
    expect((await sess.run(read)).item()).toBe(content);
  }
  await expect(sess.run(tf.readFile(folder))).rejects.toThrow(/Is a directory/);
});

it('A file is read whole, however long it is', async () => {
  const path = join(folder, 'long');
  const name = tf.placeholder(tf.string, []);
  const read = tf.readFile(name);
  const sess = new tf.Session();
  for (const length of [0, 1, 16_383, 16_384, 16_385, 2 ** 20, 2 ** 20 + 1]) {
    const content = new Uint8Array(length).map((_, i) => (i * 7) ^ (i >> 8));
    writeFileSync(path, content);
    const [bytes] = (await sess.run(read, [[name, path]])).objects as [Uint8Array]; // strings are bytes
    expect(Buffer.compare(bytes, content)).toBe(0);
  }
  const many = Array.from({ length: 8 }, (_, i) => join(folder, `many${i}`));
  for (const [i, each] of many.entries()) writeFileSync(each, `content ${i}`);
  const contents = await Promise.all(many.map(async (each) => (await sess.run(read, [[name, each]])).item()));
  expect(contents).toEqual(many.map((_, i) => `content ${i}`));
});

it('Files are matched once, and again when they are asked for again', async () => {
  const matched = join(folder, 'matched');
  mkdirSync(matched);
  for (const name of ['b.png', 'a.png', 'c.jpg']) writeFileSync(join(matched, name), '');
  const once = tf.train.matchFilenamesOnce(join(matched, '*.png'));
  const now = tf.matchingFiles(join(matched, '*.png'));
  const sess = new tf.Session();
  await sess.run(tf.localVariablesInitializer());
  writeFileSync(join(matched, 'd.png'), '');
  const names = (array: tf.NDArray) => (array.toArray() as string[]).map((path) => path.slice(matched.length + 1)); // file names are text
  expect(names(await sess.run(once))).toEqual(['a.png', 'b.png']);
  expect(names(await sess.run(now))).toEqual(['a.png', 'b.png', 'd.png']);
  expect([once.name, now.op.name]).toEqual(['matching_filenames:0', 'MatchingFiles']);
});

it('An image goes to a file and comes back', async () => {
  const pixels = tf.cast(tf.reshape(tf.range(60), [4, 5, 3]), tf.uint8);
  const path = join(folder, 'image.png');
  const sess = new tf.Session();
  await sess.run(tf.writeFile(path, tf.image.encodePng(pixels)));
  const decoded = tf.image.decodePng(tf.readFile(path), { channels: 3 });
  expect(decoded.shape).toEqual([null, null, 3]);
  expect((await sess.run(decoded)).toArray()).toEqual((await sess.run(pixels)).toArray());
  const jpeg = tf.image.encodeJpeg(pixels, { quality: 100, chromaDownsampling: false });
  const [shape, isJpeg, back] = await sess.run([
    tf.image.extractJpegShape(jpeg),
    tf.image.isJpeg(jpeg),
    tf.image.decodeImage(jpeg, { dtype: tf.float32, expandAnimations: false }),
  ]);
  expect([shape.toArray(), isJpeg.item(), back.shape]).toEqual([[4, 5, 3], true, [4, 5, 3]]);
});

it('tf.gfile makes, lists, copies, renames and removes', () => {
  const { gfile } = tf;
  const root = join(folder, 'tree');
  gfile.MakeDirs(join(root, 'one', 'two'));
  gfile.makeDirs(root);
  const file = new gfile.GFile(join(root, 'one', 'lines.txt'), 'w');
  file.write('first\nsecond\n');
  file.write('third');
  file.close();
  expect([gfile.Exists(file.name), gfile.IsDirectory(root), gfile.isDirectory(file.name)]).toEqual([true, true, false]);
  expect(gfile.Stat(file.name).length).toBe(18);
  gfile.Copy(file.name, join(root, 'copy'));
  expect(() => gfile.copy(file.name, join(root, 'copy'))).toThrow(tf.errors.AlreadyExistsError);
  gfile.Rename(join(root, 'copy'), join(root, 'one', 'two', 'moved'));
  expect([...gfile.Walk(root)]).toEqual([
    [root, ['one'], []],
    [join(root, 'one'), ['two'], ['lines.txt']],
    [join(root, 'one', 'two'), [], ['moved']],
  ]);
  expect([...gfile.walk(root, { inOrder: false })].map(([name]) => name).at(-1)).toBe(root);
  expect(gfile.Glob(join(root, '*', '*'))).toEqual([join(root, 'one', 'lines.txt'), join(root, 'one', 'two')]);
  expect(gfile.listDirectory(root)).toEqual(['one']);
  expect(() => gfile.Remove(join(root, 'one'))).toThrow(tf.errors.FailedPreconditionError);
  expect(() => gfile.MkDir(root)).toThrow(tf.errors.AlreadyExistsError);
  expect(() => gfile.Stat(join(root, 'none'))).toThrow(tf.errors.NotFoundError);
  expect(() => gfile.ListDirectory(join(root, 'none'))).toThrow(/Could not find directory/);
  gfile.DeleteRecursively(root);
  expect(gfile.Exists(root)).toBe(false);
  expect(() => gfile.DeleteRecursively(root)).toThrow(tf.errors.NotFoundError);
});

it('tf.gfile.GFile is closed where its block ends, and gives one line after the other', () => {
  const path = join(folder, 'block.txt');
  let kept: tf.gfile.GFile;
  {
    using file = new tf.gfile.GFile(path, 'w');
    file.write('one\ntwo');
    kept = file;
    expect(file.tell()).toBe(7);
  }
  expect(kept.tell()).toBe(0); // closed
  using file = new tf.gfile.GFile(path);
  expect([file.seekable(), file.next(), file.next()]).toEqual([true, 'one\n', 'two']);
  expect(() => file.next()).toThrow(tf.errors.OutOfRangeError);
});

it('tf.gfile.GFile reads lines, seeks and tells', () => {
  const path = join(folder, 'lines');
  const writer = new tf.gfile.Open(path, 'w');
  writer.write('α\nbeta\n\nlast');
  expect(() => writer.read()).toThrow(/File isn't open for reading/);
  writer.close();
  const file = new tf.gfile.FastGFile(path);
  expect([...file]).toEqual(['α\n', 'beta\n', '\n', 'last']);
  file.seek(3);
  expect([file.read(4), file.tell(), file.readline(), file.readlines(), file.read()]).toEqual([
    'beta',
    7,
    '\n',
    ['\n', 'last'],
    '',
  ]);
  file.seek(-4, 2);
  expect([file.read(), file.size()]).toEqual(['last', 13]);
  expect(() => file.seek(14)).toThrow(tf.errors.OutOfRangeError);
  expect(() => file.write('x')).toThrow(tf.errors.PermissionDeniedError);
  file.close();
  expect(new tf.gfile.GFile(path, 'rb').read(2)).toEqual(new TextEncoder().encode('α'));
  const appended = new tf.gfile.GFile(path, 'a');
  appended.write('!');
  appended.close();
  expect(new tf.gfile.GFile(path).read()).toBe('α\nbeta\n\nlast!');
  expect(() => new tf.gfile.GFile(join(folder, 'none')).read()).toThrow(tf.errors.NotFoundError);
  expect(() => new tf.gfile.GFile(path, 'x' as never)).toThrow(/mode is not/);
});
