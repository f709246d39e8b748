/** @file Lines of tf.gfile.GFile: each byte is read from the disk once, whatever is done between two lines. */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, it, vi } from 'vitest';
import { copy, rename } from '../../../src/io/gfile.ts';
import { GFile } from '../../../src/io/gfileHandle.ts';

const disk = vi.hoisted(() => ({ bytes: 0 }));
vi.mock('node:fs', async (original) => {
  const real = await original<typeof fs>();
  const readSync = (...args: Parameters<typeof fs.readSync>) => {
    const count = real.readSync(...args);
    disk.bytes += count;
    return count;
  };
  return { ...real, readSync, default: real };
});

const folder = fs.mkdtempSync(join(tmpdir(), 'tensorloom-lines-'));
afterAll(() => fs.rmSync(folder, { recursive: true }));
beforeEach(() => {
  disk.bytes = 0;
});

it('many short lines cost no more than the file has bytes', () => {
  const lines = Array.from({ length: 20_000 }, (_, i) => `line ${i}\n`);
  lines[7] = `${'long '.repeat(30_000)}\n`; // longer than what is read at a time
  const path = join(folder, 'many');
  fs.writeFileSync(path, lines.join(''));
  using file = new GFile(path);
  expect(file.readlines()).toEqual(lines);
  expect(disk.bytes).toBe(fs.statSync(path).size);
});

it('lines follow the position, and what is written meanwhile', () => {
  const path = join(folder, 'mixed');
  fs.writeFileSync(path, 'one\ntwo\nthree\n');
  using file = new GFile(path, 'r+');
  expect([file.readline(), file.read(2), file.readline()]).toEqual(['one\n', 'tw', 'o\n']);
  file.seek(4);
  file.write('TWO');
  file.seek(0);
  expect(file.readlines()).toEqual(['one\n', 'TWO\n', 'three\n']);
  fs.appendFileSync(path, 'four');
  expect([file.readline(), file.readline()]).toEqual(['four', '']);
});

it('copies and renames take options, and say so', () => {
  const path = join(folder, 'from');
  fs.writeFileSync(path, 'x');
  // @ts-expect-error as Python has it
  expect(() => copy(path, path, true)).toThrow(/tf\.gfile\.copy takes its options as an object, but got true/);
  // @ts-expect-error misspelt
  expect(() => rename(path, path, { overwrit: true })).toThrow(/Did you mean 'overwrite'/);
});
