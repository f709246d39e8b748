/** @file Whole files: small ones in one call of the native library, where it is there. */
import { readFile } from 'node:fs/promises';
import { fileError } from './fileErrors.ts';
import { nativeFamily } from './native.ts';
import { localPath } from './paths.ts';

/** Longer files are read in pieces anyway. */
const smallFile = 2 ** 20;

/** Files up to this length are looked for in the system's memory first: reading them is less work than asking another thread to. */
const tinyFile = 2 ** 14;
const scratch = new Uint8Array(tinyFile);

const files = nativeFamily(({ later, now }) => ({
  cached: now('int64_t tl_file_cached(const char* path, int64_t to, int64_t room)'),
  read: later('int64_t tl_file_read(const char* path, int64_t most)'),
  size: now('int64_t tl_file_size(int64_t content)'),
  take: now('void tl_file_take(int64_t content, int64_t to)'),
}));

/** The bytes of a file; errors are those of the file system, with TensorFlow's codes. */
export async function wholeFile(path: string): Promise<Uint8Array> {
  const local = localPath(path);
  const native = files();
  // A zero would end the name for the system; what else cannot be read this way is read, or complained about, in another.
  if (native && !local.includes('\0')) {
    const length = native.cached(local, scratch, tinyFile);
    if (length > 0) return scratch.slice(0, length);
    const content = await native.read(local, smallFile);
    if (content !== 0) {
      const bytes = new Uint8Array(native.size(content));
      native.take(content, bytes);
      return bytes;
    }
  }
  try {
    return await readFile(local);
  } catch (error) {
    throw fileError(error, path);
  }
}
