/** @file `tf.gfile`: files and folders by name, with TensorFlow's errors. */
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { AlreadyExistsError, FailedPreconditionError, NotFoundError } from '../core/errors.ts';
import { fileError } from './fileErrors.ts';
import { matchingPaths } from './glob.ts';

/** Calls a function of the file system; its errors become TensorFlow's. */
export function onFile<T>(path: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw fileError(error, path);
  }
}

/** Whether there is a file or folder of that name. */
export function exists(path: string): boolean {
  return existsSync(path);
}

/** Whether the path is a folder; false for one that does not exist. */
export function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** The paths that match a pattern, or any of several, in order of their names. */
export function glob(pattern: string | readonly string[]): string[] {
  const patterns = typeof pattern === 'string' ? [pattern] : pattern;
  return patterns.flatMap(matchingPaths);
}

/** The names in a folder, without `.` and `..`, in no particular order. */
export function listDirectory(path: string): string[] {
  if (!isDirectory(path)) throw new NotFoundError(`Could not find directory ${path}`);
  return onFile(path, () => readdirSync(path));
}

/** Makes a folder in one that exists. */
export function mkDir(path: string): void {
  onFile(path, () => mkdirSync(path));
}

/** Makes a folder and those around it; nothing happens where it is there already. */
export function makeDirs(path: string): void {
  if (existsSync(path) && !isDirectory(path)) throw new FailedPreconditionError(`${path} is not a directory`);
  onFile(path, () => mkdirSync(path, { recursive: true }));
}

/** Removes a file, or an empty folder. */
export function remove(path: string): void {
  onFile(path, () => (lstatSync(path).isDirectory() ? rmdirSync(path) : unlinkSync(path)));
}

/** Removes a folder with everything in it. */
export function deleteRecursively(path: string): void {
  onFile(path, () => {
    lstatSync(path); // so that a folder that does not exist is an error
    rmSync(path, { recursive: true });
  });
}

function checkTarget(path: string, overwrite: boolean | undefined): void {
  if (!overwrite && existsSync(path)) throw new AlreadyExistsError(`file already exists: ${path}`);
}

export interface OverwriteOptions {
  /** Whether a file of the new name may be replaced. */
  readonly overwrite?: boolean | undefined;
}

/** Gives a file or folder another name. */
export function rename(oldName: string, newName: string, options: OverwriteOptions = {}): void {
  checkTarget(newName, options.overwrite);
  onFile(oldName, () => renameSync(oldName, newName));
}

/** Copies a file. */
export function copy(oldPath: string, newPath: string, options: OverwriteOptions = {}): void {
  checkTarget(newPath, options.overwrite);
  onFile(oldPath, () => copyFileSync(oldPath, newPath));
}

/** What is known of a file. */
export interface FileStatistics {
  /** Its size in bytes. */
  readonly length: number;
  /** When it was changed, in nanoseconds since 1970. */
  readonly mtimeNsec: bigint;
  readonly isDirectory: boolean;
}

/** Size and time of a file or folder. */
export function stat(path: string): FileStatistics {
  const { size, mtimeNs, isDirectory } = onFile(path, () => {
    const found = statSync(path, { bigint: true });
    return { size: found.size, mtimeNs: found.mtimeNs, isDirectory: found.isDirectory() };
  });
  return { length: Number(size), mtimeNsec: mtimeNs, isDirectory };
}

/** A folder, the folders in it and the files in it. */
export type WalkEntry = readonly [folder: string, folders: readonly string[], files: readonly string[]];

/** Every folder below `top`, itself included, before what is in it, or after it with `inOrder: false`. */
export function* walk(top: string, options: { readonly inOrder?: boolean | undefined } = {}): Generator<WalkEntry> {
  if (!isDirectory(top)) return;
  const names = onFile(top, () => readdirSync(top)).sort();
  const folders = names.filter((name) => isDirectory(join(top, name)));
  const entry = [top, folders, names.filter((name) => !folders.includes(name))] as const;
  const inOrder = options.inOrder ?? true;
  if (inOrder) yield entry;
  for (const folder of folders) yield* walk(join(top, folder), options);
  if (!inOrder) yield entry;
}
