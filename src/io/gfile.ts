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
import { AlreadyExistsError, FailedPreconditionError, NotFoundError } from '../core/errors.ts';
import { knownOptions } from '../core/optionNames.ts';
import { fileError } from './fileErrors.ts';
import { makeFoldersNow } from './folders.ts';
import { matchingPaths } from './glob.ts';
import { joinPath, localPath } from './paths.ts';

/** Calls a function of the file system with the path that it takes; its errors become TensorFlow's. */
export function onFile<T>(path: string, call: (local: string) => T): T {
  try {
    return call(localPath(path));
  } catch (error) {
    throw fileError(error, path);
  }
}

/** Whether there is a file or folder of that name. */
export function exists(path: string): boolean {
  return existsSync(localPath(path));
}

/** Whether the path is a folder; false for one that does not exist. */
export function isDirectory(path: string): boolean {
  return statSync(localPath(path), { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** The paths that match a pattern, or any of several, in order of their names. */
export function glob(pattern: string | readonly string[]): string[] {
  const patterns = typeof pattern === 'string' ? [pattern] : pattern;
  return patterns.flatMap(matchingPaths);
}

/** The names in a folder, without `.` and `..`, in no particular order. */
export function listDirectory(path: string): string[] {
  if (!isDirectory(path)) throw new NotFoundError(`Could not find directory ${path}`);
  return onFile(path, (local) => readdirSync(local));
}

/** Makes a folder in one that exists. */
export function mkDir(path: string): void {
  onFile(path, (local) => mkdirSync(local));
}

/** Makes a folder and those around it; nothing happens where it is there already. */
export function makeDirs(path: string): void {
  if (exists(path) && !isDirectory(path)) throw new FailedPreconditionError(`${path} is not a directory`);
  onFile(path, (local) => makeFoldersNow(local));
}

/** Removes a file, or an empty folder. */
export function remove(path: string): void {
  onFile(path, (local) => (lstatSync(local).isDirectory() ? rmdirSync(local) : unlinkSync(local)));
}

/** Removes a folder with everything in it. */
export function deleteRecursively(path: string): void {
  onFile(path, (local) => {
    lstatSync(local); // so that a folder that does not exist is an error
    rmSync(local, { recursive: true });
  });
}

function checkTarget(path: string, overwrite: boolean | undefined): void {
  if (!overwrite && exists(path)) throw new AlreadyExistsError(`file already exists: ${path}`);
}

export interface OverwriteOptions {
  /** Whether a file of the new name may be replaced. */
  readonly overwrite?: boolean | undefined;
}

/** Gives a file or folder another name. */
export function rename(oldName: string, newName: string, options: OverwriteOptions = {}): void {
  checkTarget(newName, knownOptions('tf.gfile.rename', options, ['overwrite']).overwrite);
  onFile(oldName, (local) => renameSync(local, localPath(newName)));
}

/** Copies a file. */
export function copy(oldPath: string, newPath: string, options: OverwriteOptions = {}): void {
  checkTarget(newPath, knownOptions('tf.gfile.copy', options, ['overwrite']).overwrite);
  onFile(oldPath, (local) => copyFileSync(local, localPath(newPath)));
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
  const { size, mtimeNs, isDirectory } = onFile(path, (local) => {
    const found = statSync(local, { bigint: true });
    return { size: found.size, mtimeNs: found.mtimeNs, isDirectory: found.isDirectory() };
  });
  return { length: Number(size), mtimeNsec: mtimeNs, isDirectory };
}

/** A folder, the folders in it and the files in it. */
export type WalkEntry = readonly [folder: string, folders: readonly string[], files: readonly string[]];

/** Every folder below `top`, itself included, before what is in it, or after it with `inOrder: false`. */
export function* walk(top: string, options: { readonly inOrder?: boolean | undefined } = {}): Generator<WalkEntry> {
  if (!isDirectory(top)) return;
  const names = listDirectory(top).sort();
  const folders = names.filter((name) => isDirectory(joinPath(top, name)));
  const entry = [top, folders, names.filter((name) => !folders.includes(name))] as const;
  const inOrder = options.inOrder ?? true;
  if (inOrder) yield entry;
  for (const folder of folders) yield* walk(joinPath(top, folder), options);
  if (!inOrder) yield entry;
}
