/** @file Files from the network, kept in a folder and checked by their checksums. */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { DataLossError, NotFoundError, OpError, UnavailableError } from '../core/errors.ts';
import { fileError } from './fileErrors.ts';
import { makeFolders } from './folders.ts';

/** Called while a file arrives; `total` is not known with every server. */
export type Progress = (file: string, received: number, total: number | undefined) => void;

export interface DownloadOptions {
  /** Where files are kept; `TENSORLOOM_CACHE`, or `~/.cache/tensorloom`, unless given. */
  readonly cacheFolder?: string | undefined;
  /** Whether missing files may be fetched from the network; true unless given. */
  readonly download?: boolean | undefined;
  /** Told how far a download is; on a terminal there is a line that counts unless this is given. */
  readonly progress?: Progress | undefined;
}

export const downloadOptions = ['cacheFolder', 'download', 'progress'] as const;

/** A file in the network. */
export interface RemoteFile {
  /** Its name in the cache folder. */
  readonly name: string;
  /** Where it can be had; the next one is tried where one fails. */
  readonly urls: readonly string[];
  /** The checksum of what is kept, in hexadecimal digits: of the content, where it is unpacked. */
  readonly sha256?: string | undefined;
  readonly md5?: string | undefined;
  /** Whether it comes compressed by gzip and is kept unpacked. */
  readonly gunzip?: boolean | undefined;
}

/** The folder in which downloads are kept. */
export function cacheFolder(options: DownloadOptions = {}): string {
  const base = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  return options.cacheFolder ?? (process.env['TENSORLOOM_CACHE'] || join(base, 'tensorloom'));
}

/** The checksum of a file in hexadecimal digits. */
async function checksum(path: string, kind: 'sha256' | 'md5'): Promise<string> {
  const hash = createHash(kind);
  try {
    for await (const part of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(part as Uint8Array); // bytes without an encoding
  } catch (error) {
    throw fileError(error, path);
  }
  return hash.digest('hex');
}

/** Throws when a file is not what it should be. */
export async function checkFile(path: string, { sha256, md5 }: Pick<RemoteFile, 'sha256' | 'md5'>): Promise<void> {
  for (const [kind, wanted] of [
    ['sha256', sha256],
    ['md5', md5],
  ] as const) {
    // biome-ignore format: pairs
    if (wanted === undefined) continue;
    const found = await checksum(path, kind);
    if (found !== wanted.toLowerCase()) {
      throw new DataLossError(
        `${path} is damaged: its ${kind} is ${found} instead of ${wanted}. Remove it and try again.`,
      );
    }
  }
}

/** The path of a file in the cache; it is fetched where it is not there yet. */
export async function cachedFile(file: RemoteFile, options: DownloadOptions = {}): Promise<string> {
  const path = join(cacheFolder(options), file.name);
  if (existsSync(path)) {
    await checkFile(path, file);
    return path;
  }
  if (options.download === false) {
    throw new NotFoundError(`${path} does not exist, and downloads are turned off. Put it there, from ${file.urls[0]}`);
  }
  const problems: string[] = [];
  const why = new Set<string>();
  for (const url of file.urls) {
    try {
      await fetchTo(url, path, file, options.progress ?? terminalProgress());
      return path;
    } catch (error) {
      const isMissing = error instanceof NotFoundError;
      const isBroken = error instanceof UnavailableError;
      // Damage, a full disk or a folder that cannot be written are the same from everywhere.
      if (error instanceof OpError && !isMissing && !isBroken) throw error;
      if (isMissing) why.add('no server has it');
      if (isBroken) why.add('it does not arrive as a whole');
      problems.push(`${url}: ${reason(error)}`);
    }
  }
  if (why.size === 0) why.add('there seems to be no network here');
  throw new UnavailableError(
    `${file.name} cannot be downloaded: ${[...why].join(', ')}.\n  ${problems.join('\n  ')}\n` +
      `Put the file into ${dirname(path)} by hand, or name a folder that has it.`,
  );
}

/** What went wrong, down to the cause: `fetch` itself only says that it failed. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message !== ''
    ? `${error.message} (${error.cause.message})`
    : error.message;
}

async function fetchTo(url: string, path: string, file: RemoteFile, progress: Progress): Promise<void> {
  const response = await fetch(url);
  if (!response.ok || !response.body)
    throw new NotFoundError(`the server answers ${response.status} ${response.statusText}`);
  const length = Number(response.headers.get('content-length'));
  const total = length > 0 ? length : undefined;
  let received = 0;
  const counter = new Transform({
    transform(part: Uint8Array, _encoding, done) {
      received += part.length;
      progress(file.name, received, total);
      done(null, part);
    },
  });
  // Under another name until it is complete and checked, so that nobody takes a half file for a whole one.
  const partial = `${path}.${process.pid}.partial`;
  try {
    await makeFolders(dirname(path));
    const steps = [counter, ...(file.gunzip ? [createGunzip()] : []), createWriteStream(partial)];
    await pipeline([Readable.fromWeb(response.body as never), ...steps]); // the web's streams and Node's differ only in their types
    await checkFile(partial, file);
    await rename(partial, path);
  } catch (error) {
    const found = fileError(error, path);
    // What is no fault of the disk is one of the way here, as of this server: another may do better.
    throw found instanceof OpError ? found : new UnavailableError(reason(error), { cause: error });
  } finally {
    await rm(partial, { force: true }).catch(() => {}); // where there is no folder, there is nothing to remove
  }
}

/** A line on the terminal that counts; nothing where there is no terminal. */
function terminalProgress(): Progress {
  if (!process.stderr.isTTY) return () => {};
  let shown = 0;
  return (file, received, total) => {
    const now = Date.now();
    const isDone = received === total;
    if (now - shown < 100 && !isDone) return;
    shown = now;
    const amount = `${(received / 1e6).toFixed(1)}${total ? ` of ${(total / 1e6).toFixed(1)}` : ''} MB`;
    process.stderr.write(`\r${basename(file)}: ${amount}${isDone ? '\n' : ''}`);
  };
}
