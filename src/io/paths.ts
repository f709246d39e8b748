/** @file Names of files as TensorFlow takes them: plain paths, and `file://` addresses. */
import { join } from 'node:path';
import { UnimplementedError } from '../core/errors.ts';

const address = /^([a-zA-Z][0-9a-zA-Z.]*):\/\/([^/]*)(.*)$/s;

/**
 * The path that the file system takes for a name. Of an address with the scheme `file` this is what follows the host, which may be
 * empty; there is no file system for other schemes.
 */
export function localPath(name: string): string {
  const parts = address.exec(name);
  if (!parts) return name;
  const [, scheme, , path] = parts;
  if (scheme !== 'file') {
    throw new UnimplementedError(`File system scheme '${scheme}' not implemented (file: '${name}')`);
  }
  return path!;
}

/** A name below a folder. An address stays one: `path.join` would make a relative path of it. */
export function joinPath(folder: string, ...names: readonly string[]): string {
  const parts = address.exec(folder);
  if (!parts) return join(folder, ...names);
  const [, scheme, host, path] = parts;
  return `${scheme}://${host}${join(path || '/', ...names)}`;
}
