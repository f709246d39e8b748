/** @file Folders made with those around them, also where the system allows none. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { NotFoundError } from '../../../src/core/errors.ts';
import { EventFileWriter } from '../../../src/io/eventFile.ts';
import { makeFolder } from '../../../src/io/fileErrors.ts';
import { makeFolders, makeFoldersNow } from '../../../src/io/folders.ts';
import { makeDirs } from '../../../src/io/gfile.ts';

const folder = mkdtempSync(join(tmpdir(), 'folders-'));
afterAll(() => rmSync(folder, { recursive: true }));

const ways: readonly (readonly [string, (path: string) => Promise<void>])[] = [
  ['makeFolders', makeFolders],
  ['makeFoldersNow', async (path) => makeFoldersNow(path)],
];

describe.each(ways)('%s', (name, make) => {
  it('makes a folder and those around it, once', async () => {
    const path = join(folder, name, 'a', 'b', 'c');
    await make(path);
    await make(path);
    await make(`${path}/`);
    expect(statSync(path).isDirectory()).toBe(true);
  });

  it('says that a file is in the way', async () => {
    const path = join(folder, `${name}-file`);
    writeFileSync(path, '');
    await expect(make(path)).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(make(join(path, 'a', 'b'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });

  it.skipIf(!existsSync('/proc/self'))('ends where the system allows no folder', async () => {
    await expect(make('/proc/tensorloom/logs')).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe.skipIf(!existsSync('/proc/self'))('a place where there can be no folder', () => {
  it('is a clear error for event files, checkpoints and tf.gfile', async () => {
    expect(() => new EventFileWriter('/proc/tensorloom')).toThrow(NotFoundError);
    expect(() => new EventFileWriter('/proc/tensorloom')).toThrow(
      '/proc/tensorloom; No such file or directory. Events cannot be written there; choose another folder.',
    );
    await expect(makeFolder('/proc/tensorloom')).rejects.toThrow('/proc/tensorloom; No such file or directory');
    expect(() => makeDirs('/proc/tensorloom')).toThrow('/proc/tensorloom; No such file or directory');
  });
});

it('is the only way in which folders are made', () => {
  const root = fileURLToPath(new URL('../../../src', import.meta.url));
  const sources = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
  const found = sources.filter((path) => /mkdir(Sync)?\([^;]*recursive/s.test(readFileSync(join(root, path), 'utf8')));
  expect(found).toEqual([]);
});
