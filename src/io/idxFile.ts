/** @file IDX files from the disk or from the network. */
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { DataLossError } from '../core/errors.ts';
import type { NDArray } from '../core/ndarray.ts';
import { knownOptions } from '../core/optionNames.ts';
import { cachedFile, checkFile, type DownloadOptions, downloadOptions } from './download.ts';
import { fileError } from './fileErrors.ts';
import { decodeIdx } from './idx.ts';

/**
 * The array in an IDX file, compressed by gzip or not; `sha256` is the checksum of the file as it is stored.
 *
 * @example const images = await tf.examples.idx('train-images-idx3-ubyte.gz'); // images.shape: [60000, 28, 28]
 */
export async function idx(
  pathOrUrl: string,
  options: DownloadOptions & { readonly sha256?: string | undefined } = {},
): Promise<NDArray> {
  const { sha256 } = knownOptions('tf.examples.idx', options, [...downloadOptions, 'sha256']);
  const isRemote = /^https?:\/\//.test(pathOrUrl);
  const remote = { name: pathOrUrl.replace(/^https?:\/\//, '').replace(/[^\w.-]+/g, '_'), urls: [pathOrUrl], sha256 };
  const path = isRemote ? await cachedFile(remote, options) : pathOrUrl;
  if (!isRemote) await checkFile(path, { sha256 });
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    throw fileError(error, path);
  }
  return decodeIdx(await unpacked(bytes, path), path);
}

/** Bytes without the compression by gzip that they may have. */
export async function unpacked(bytes: Uint8Array, path: string): Promise<Uint8Array> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  try {
    return await promisify(gunzip)(bytes);
  } catch (error) {
    throw new DataLossError(`${path} cannot be decompressed.`, { cause: error });
  }
}
