/** @file What the file system says, as errors with TensorFlow's codes. */
import {
  AlreadyExistsError,
  FailedPreconditionError,
  InvalidArgumentError,
  NotFoundError,
  PermissionDeniedError,
  ResourceExhaustedError,
  UnimplementedError,
} from '../core/errors.ts';
import { makeFolders, makeFoldersNow } from './folders.ts';

const meanings: Readonly<Record<string, (path: string) => Error>> = {
  ENOENT: (path) => new NotFoundError(`${path}; No such file or directory`),
  ENOTDIR: (path) => new FailedPreconditionError(`${path}; Not a directory`),
  EISDIR: (path) => new FailedPreconditionError(`${path}; Is a directory`),
  EEXIST: (path) => new AlreadyExistsError(`${path}; File exists`),
  EACCES: (path) => new PermissionDeniedError(`${path}; Permission denied`),
  EPERM: (path) => new PermissionDeniedError(`${path}; Operation not permitted`),
  EROFS: (path) => new FailedPreconditionError(`${path}; Read-only file system`),
  ENOSPC: (path) => new ResourceExhaustedError(`${path}; No space left on device`),
  EDQUOT: (path) => new ResourceExhaustedError(`${path}; Disk quota exceeded`),
  ENOTEMPTY: (path) => new FailedPreconditionError(`${path}; Directory not empty`),
  ENAMETOOLONG: (path) => new InvalidArgumentError(`${path}; File name too long`),
  EINVAL: (path) => new InvalidArgumentError(`${path}; Invalid argument`),
  EXDEV: (path) => new UnimplementedError(`${path}; Invalid cross-device link`),
  EMFILE: (path) => new ResourceExhaustedError(`${path}; Too many open files`),
};

/** An error of the file system as one with a code; any other error as it is. */
export function fileError(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return error;
  return meanings[error.code]?.(path) ?? error;
}

/** The same where a file appears as a whole or not at all. */
export function wholeFileError(error: unknown, path: string): unknown {
  const found = fileError(error, path);
  if (!(found instanceof ResourceExhaustedError) || found === error) return found;
  return new ResourceExhaustedError(
    `${found.message}. What was there before is as it was; nothing is left half-written.`,
  );
}

/** Makes a folder, and those around it, where they are missing. */
export async function makeFolder(path: string): Promise<void> {
  try {
    await makeFolders(path);
  } catch (error) {
    throw folderError(error, path);
  }
}

/** As `makeFolder`, before it returns. */
export function makeFolderNow(path: string): void {
  try {
    makeFoldersNow(path);
  } catch (error) {
    throw folderError(error, path);
  }
}

function folderError(error: unknown, path: string): unknown {
  // A file is where the folder should be.
  if ((error as NodeJS.ErrnoException).code === 'EEXIST') return meanings['ENOTDIR']!(path); // what fs throws has a code
  return fileError(error, path);
}
