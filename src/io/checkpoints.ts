/** @file The checkpoints of a folder: which there are, which is the latest, what is in them. */
import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import type { DType } from '../core/dtypes.ts';
import type { NDArray } from '../core/ndarray.ts';
import type { Shape } from '../core/shape.ts';
import { CheckpointState } from '../proto/checkpointState.ts';
import { parseText, printText } from '../proto/textFormat.ts';
import { BundleReader } from './tensorBundle.ts';

/** Writes the `checkpoint` file; readers see the old one or the new one. */
export async function updateCheckpointState(
  folder: string,
  latest: string,
  options: {
    readonly all?: readonly string[];
    readonly latestFilename?: string | undefined;
    readonly relativePaths?: boolean;
  } = {},
): Promise<void> {
  const { all = [latest], latestFilename = 'checkpoint', relativePaths = false } = options;
  // A folder that is given relatively can be moved with its checkpoints: the names in it are relative to it.
  const named = (path: string) => (relativePaths || !isAbsolute(path) ? relative(folder, path) : path);
  const state = CheckpointState.create({
    model_checkpoint_path: named(latest),
    all_model_checkpoint_paths: [...new Set([...all, latest])].map(named),
  });
  const path = join(folder, latestFilename);
  await writeFile(`${path}.tmp`, printText(CheckpointState, state), { flush: true });
  await rename(`${path}.tmp`, path);
}

/** What the folder's `checkpoint` file says, with whole paths; undefined where there is none. */
export async function getCheckpointState(
  folder: string,
  latestFilename = 'checkpoint',
): Promise<CheckpointState | undefined> {
  const path = join(folder, latestFilename);
  if (!existsSync(path)) return undefined;
  const state = parseText(CheckpointState, await readFile(path, 'utf8'));
  const whole = (name: string) => (isAbsolute(name) ? name : join(folder, name));
  return {
    ...state,
    model_checkpoint_path: whole(state.model_checkpoint_path),
    all_model_checkpoint_paths: state.all_model_checkpoint_paths.map(whole),
  };
}

/**
 * The latest checkpoint of a folder, or null.
 *
 * @example const path = await tf.train.latestCheckpoint('run1');
 */
export async function latestCheckpoint(folder: string, latestFilename?: string): Promise<string | null> {
  const state = await getCheckpointState(folder, latestFilename);
  const path = state?.model_checkpoint_path;
  return path && checkpointExists(path) ? path : null;
}

/** Whether there is a checkpoint of that name. */
export function checkpointExists(prefix: string): boolean {
  return existsSync(`${prefix}.index`);
}

/** Deletes the files of a checkpoint. The index goes first: without it the rest is no checkpoint. */
export async function removeCheckpoint(prefix: string): Promise<void> {
  const folder = dirname(prefix);
  const name = basename(prefix);
  await rm(`${prefix}.index`, { force: true });
  for (const file of await readdir(folder))
    if (file === `${name}.meta` || file.startsWith(`${name}.data-`)) await rm(join(folder, file), { force: true });
}

/**
 * The tensors of a checkpoint: names, types and shapes.
 *
 * @example for (const { name, dtype, shape } of await tf.train.listVariables('run1/model-100')) console.log(name, dtype, shape);
 */
export async function listVariables(
  checkpoint: string,
): Promise<{ readonly name: string; readonly dtype: DType; readonly shape: Shape }[]> {
  return await reading(checkpoint, async (reader) => reader.names.map((name) => ({ name, ...reader.entry(name) })));
}

/** One tensor of a checkpoint. */
export async function loadVariable(checkpoint: string, name: string): Promise<NDArray> {
  return await reading(checkpoint, (reader) => reader.read(name));
}

/** A checkpoint, or the latest of a folder. */
async function reading<T>(checkpoint: string, body: (reader: BundleReader) => Promise<T>): Promise<T> {
  const prefix = checkpointExists(checkpoint) ? checkpoint : ((await latestCheckpoint(checkpoint)) ?? checkpoint);
  const reader = await BundleReader.open(prefix);
  try {
    return await body(reader);
  } finally {
    await reader.close();
  }
}
