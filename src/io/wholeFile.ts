/** @file Whole files: small ones in one call of the native library, where it is there. */
import { readFile } from 'node:fs/promises';
import { fileError } from './fileErrors.ts';
import { nativeFamily } from './native.ts';
import { localPath } from './paths.ts';

/** Longer files are read in pieces anyway. */
const smallFile = 2 ** 20;

const files = nativeFamily(({ later, now }) => ({
  read: later('int64_t tl_file_read(const char* path, int64_t most)'),
  size: now('int64_t tl_file_size(int64_t content)'),
  take: now('void tl_file_take(int64_t content, int64_t to)'),
}));

/** The bytes of a file; errors are those of the file system, with TensorFlow's codes. */
export async function wholeFile(path: string): Promise<Uint8Array> {
  const local = localPath(path);
  const native = files();
  // A zero would end the name for the system; what else cannot be read this way is read, or complained about, in another.
  const content = native && !local.includes('\0') ? await native.read(local, smallFile) : 0;
  if (native && content !== 0) {
    const bytes = new Uint8Array(native.size(content));
    native.take(content, bytes);
    return bytes;
  }
  try {
    return await readFile(local);
  } catch (error) {
    throw fileError(error, path);
  }
}
