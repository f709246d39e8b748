/** @file Folders made together with those around them. */
import { mkdirSync, statSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

// Node can do this too, but where the system says that a folder does not exist and cannot be made, as it does in /proc, Node
// goes on trying for ever.

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code; // what fs throws has a code

/** Makes a folder, and those around it, where they are missing. Throws what the file system says. */
export async function makeFolders(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) {
      if ((await stat(path).catch(() => undefined))?.isDirectory()) return;
      throw error;
    }
    await makeFolders(dirname(path));
    await mkdir(path).catch(unlessThere);
  }
}

/** As `makeFolders`, before it returns. */
export function makeFoldersNow(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) {
      if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
      throw error;
    }
    makeFoldersNow(dirname(path));
    try {
      mkdirSync(path);
    } catch (later) {
      unlessThere(later);
    }
  }
}

/** Somebody else may have made the folder meanwhile. */
function unlessThere(error: unknown): void {
  if (codeOf(error) !== 'EEXIST') throw error;
}
