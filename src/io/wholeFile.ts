/** @file Whole files: small ones read in one call of the native library, where it is there; written whole or not at all. */
import { randomBytes } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileError, makeFolder, wholeFileError } from './fileErrors.ts';
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

/** What is written at once: larger pieces are not worth joining, smaller ones cost more than their bytes. */
const blockBytes = 2 ** 20;

/** The same bytes in fewer pieces. */
function* joined(pieces: readonly Uint8Array[]): Generator<Uint8Array> {
  let block: Uint8Array[] = [];
  let length = 0;
  for (const piece of pieces) {
    block.push(piece);
    length += piece.length;
    if (length < blockBytes) continue;
    yield block.length === 1 ? piece : Buffer.concat(block, length);
    block = [];
    length = 0;
  }
  yield Buffer.concat(block, length);
}

/** Writes a file that is there as a whole or, whatever happens, as it was before. */
export async function writeWholeFile(path: string, content: string | readonly Uint8Array[]): Promise<void> {
  const local = localPath(path);
  const temporary = `${local}.tmp${randomBytes(8).toString('hex')}`;
  await makeFolder(dirname(local));
  try {
    await writeFile(temporary, typeof content === 'string' ? content : joined(content), { flush: true });
    await rename(temporary, local);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw wholeFileError(error, path);
  }
}
