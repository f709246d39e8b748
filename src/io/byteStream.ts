/** @file The bytes of files as they come, without their compression. */
import { createReadStream } from 'node:fs';
import { createGunzip, createInflate } from 'node:zlib';
import { localPath } from './paths.ts';

/** How a file is compressed; the empty text is not at all. */
export type Compression = '' | 'GZIP' | 'ZLIB';

/** Bytes until they are no longer wanted. It is a stream of Node, whose types a user need not have. */
export interface ByteStream extends AsyncIterable<Uint8Array> {
  destroy(): void;
}

interface OpenOptions {
  /** The first byte. */
  readonly start?: number;
  /** What zlib is told when it decompresses, in its words. */
  readonly zlib?: { readonly chunkSize?: number; readonly finishFlush?: number };
}

/** The bytes of a file, chunk by chunk. */
export function openFile(
  path: string,
  compression: Compression,
  chunk: number,
  { start = 0, zlib = {} }: OpenOptions = {},
): ByteStream {
  const file = createReadStream(localPath(path), { highWaterMark: chunk, start });
  if (compression === '') return file;
  const stream = compression === 'GZIP' ? createGunzip(zlib) : createInflate(zlib);
  // A pipe ends neither end for the other: the file would stay open for good once nobody reads on.
  file.on('error', (error) => stream.destroy(error));
  stream.on('close', () => file.destroy());
  return file.pipe(stream);
}
