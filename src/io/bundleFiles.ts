/** @file The files of a checkpoint: how they are called, and how new ones take the place of old ones in one step. */
import { randomBytes } from 'node:crypto';
import { link, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { BundleHeaderProto } from '../proto/tensorBundle.ts';
import { makeFolder } from './fileErrors.ts';
import { encodeTable } from './table.ts';

const padded = (n: number) => String(n).padStart(5, '0');
export const dataPath = (prefix: string, shard: number, shards: number) =>
  `${prefix}.data-${padded(shard)}-of-${padded(shards)}`;
export const indexPath = (prefix: string) => `${prefix}.index`;

/** The ending of files that are not complete yet. */
export const unfinished = () => `.tempstate${randomBytes(8).toString('hex')}`;

type Entries = readonly (readonly [key: Uint8Array, value: Uint8Array])[];

/** The data files that a checkpoint of this name has, whatever their number: `[path, shards]`. */
async function dataFiles(prefix: string): Promise<[path: string, shards: number][]> {
  const folder = dirname(prefix);
  const start = `${basename(prefix)}.data-`;
  return (await readdir(folder)).flatMap((name): [string, number][] => {
    const match = name.startsWith(start) ? /^\d{5}-of-(\d{5})$/.exec(name.slice(start.length)) : null;
    return match ? [[join(folder, name), Number(match[1])]] : [];
  });
}

/**
 * Makes finished data files and the entries about them a checkpoint. A reader, or who looks after the process was killed, finds
 * the checkpoint that was there before or the new one, and never a mixture.
 *
 * Where the name is new, the data files get their names and then the index appears. Where a checkpoint is replaced, its data
 * files must stay as long as its index is there: the new ones first get names with another number of shards, which the new
 * index says, and move to the usual names under a second index.
 */
export async function publish(prefix: string, data: readonly string[], entries: Entries): Promise<void> {
  const count = data.length;
  const before = await dataFiles(prefix);
  const taken = new Set(before.map(([, shards]) => shards));
  if (!taken.has(count)) {
    await appear(prefix, data, entries, count);
    for (const [path] of before) await rm(path, { force: true });
    return;
  }
  let other = count + 1;
  while (taken.has(other)) other++;
  await appear(prefix, data, entries, other);
  try {
    for (const i of data.keys()) {
      const temporary = dataPath(prefix, i, count) + unfinished();
      await link(dataPath(prefix, i, other), temporary);
      await rename(temporary, dataPath(prefix, i, count));
    }
  } catch {
    return; // a file system without links: the checkpoint is complete under the names that it has
  }
  await writeIndex(prefix, entries, count);
  for (const [path, shards] of await dataFiles(prefix)) if (shards !== count) await rm(path, { force: true });
}

/** Gives data files their names and writes the index; takes the files away again when that fails. */
async function appear(prefix: string, data: readonly string[], entries: Entries, shards: number): Promise<void> {
  try {
    for (const [i, path] of data.entries()) await rename(path, dataPath(prefix, i, shards));
    await writeIndex(prefix, entries, shards);
  } catch (error) {
    for (const i of data.keys()) await rm(dataPath(prefix, i, shards), { force: true }).catch(() => undefined);
    throw error;
  }
}

async function writeIndex(prefix: string, entries: Entries, shards: number): Promise<void> {
  const header = BundleHeaderProto.encode({
    num_shards: shards,
    endianness: 0,
    version: { producer: 1, min_consumer: 0, bad_consumers: [] },
  });
  const sorted = [...entries].sort(([a], [b]) => Buffer.compare(a, b));
  const path = indexPath(prefix);
  const temporary = path + unfinished();
  try {
    await makeFolder(dirname(path));
    await writeFile(temporary, encodeTable([[new Uint8Array(0), header], ...sorted]), { flush: true });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}
