/** @file The checkpoints of a folder: which there are, which is the latest, and how they go away. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, isAbsolute, relative } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { InvalidArgumentError } from '../core/errors.ts';
import { error as logError, warn } from '../core/logging.ts';
import { knownOptions } from '../core/optionNames.ts';
import { CheckpointState } from '../proto/checkpointState.ts';
import { CheckpointFormatVersion } from '../proto/metaGraph.ts';
import { parseText, printText } from '../proto/textFormat.ts';
import { joinPath, localPath } from './paths.ts';
import { writeWholeFile } from './wholeFile.ts';

export interface CheckpointStateOptions {
  /** All checkpoints that still exist, oldest first. */
  readonly allModelCheckpointPaths?: readonly string[] | undefined;
  /** When each of them was written, in seconds. */
  readonly allModelCheckpointTimestamps?: readonly number[] | undefined;
  readonly lastPreservedTimestamp?: number | undefined;
}

/** What a folder's `checkpoint` file says. Paths are relative to the folder where the folder itself is given relatively. */
export function generateCheckpointStateProto(
  folder: string,
  modelCheckpointPath: string,
  options: CheckpointStateOptions = {},
): CheckpointState {
  const { allModelCheckpointTimestamps: times = [], lastPreservedTimestamp } = options;
  const all = [...(options.allModelCheckpointPaths ?? [])];
  if (all.at(-1) !== modelCheckpointPath) all.push(modelCheckpointPath);
  if (times.length > 0 && times.length !== all.length)
    throw new InvalidArgumentError(
      `Checkpoint timestamps, if provided, must match checkpoint paths (got paths ${all.join(', ')} and timestamps ${times.join(', ')})`,
    );
  const named = (path: string) => (isAbsolute(folder) || isAbsolute(path) ? path : relative(folder, path));
  return CheckpointState.create({
    model_checkpoint_path: named(modelCheckpointPath),
    all_model_checkpoint_paths: all.map(named),
    all_model_checkpoint_timestamps: times,
    ...(lastPreservedTimestamp !== undefined && { last_preserved_timestamp: lastPreservedTimestamp }),
  });
}

/** Writes the `checkpoint` file; readers see the old one or the new one. */
export async function writeCheckpointState(
  folder: string,
  modelCheckpointPath: string,
  options: CheckpointStateOptions & {
    readonly latestFilename?: string | undefined;
    readonly saveRelativePaths?: boolean | undefined;
  } = {},
): Promise<void> {
  const { latestFilename = 'checkpoint', saveRelativePaths = false } = options;
  const inFolder = (path: string) => (saveRelativePaths && isAbsolute(path) ? relative(folder, path) : path);
  const state = generateCheckpointStateProto(folder, inFolder(modelCheckpointPath), {
    ...options,
    allModelCheckpointPaths: options.allModelCheckpointPaths?.map(inFolder),
  });
  const path = joinPath(folder, latestFilename);
  if (path === state.model_checkpoint_path)
    throw new InvalidArgumentError(
      `Save path '${modelCheckpointPath}' conflicts with path used for checkpoint state.  Please use a different save path.`,
    );
  await writeWholeFile(path, printText(CheckpointState, state));
}

/** Writes the `checkpoint` file of a folder. */
export async function updateCheckpointState(
  folder: string,
  modelCheckpointPath: string,
  options: CheckpointStateOptions & { readonly latestFilename?: string | undefined } = {},
): Promise<void> {
  await writeCheckpointState(folder, modelCheckpointPath, options);
}

/** Which file of a folder says what its checkpoints are; `checkpoint` unless given. Its name alone will do. */
export type LatestFilename = string | { readonly latestFilename?: string | undefined };

function nameOf(owner: string, given: LatestFilename): string {
  if (typeof given === 'string') return given;
  return knownOptions(owner, given, ['latestFilename']).latestFilename ?? 'checkpoint';
}

/** What a `checkpoint` file says, under the names of the message and under those that functions here have. */
export interface FoundCheckpoints extends CheckpointState {
  readonly modelCheckpointPath: string;
  readonly allModelCheckpointPaths: readonly string[];
  readonly allModelCheckpointTimestamps: readonly number[];
  readonly lastPreservedTimestamp: number;
}

/** The message with its other names, which are not printed: they say the same. */
function withBothNames(state: CheckpointState): FoundCheckpoints {
  const others = {
    modelCheckpointPath: { value: state.model_checkpoint_path },
    allModelCheckpointPaths: { value: state.all_model_checkpoint_paths },
    allModelCheckpointTimestamps: { value: state.all_model_checkpoint_timestamps },
    lastPreservedTimestamp: { value: state.last_preserved_timestamp },
  };
  return Object.defineProperties(state, others) as FoundCheckpoints; // it has them now
}

/**
 * What the folder's `checkpoint` file says, with whole paths; null where there is none that can be read.
 *
 * @example const path = tf.train.getCheckpointState('run1')?.modelCheckpointPath;
 */
export function getCheckpointState(folder: string, options: LatestFilename = {}): FoundCheckpoints | null {
  const path = joinPath(folder, nameOf('tf.train.getCheckpointState', options));
  if (!existsSync(localPath(path))) return null;
  let state: CheckpointState;
  try {
    state = parseText(CheckpointState, readFileSync(localPath(path), 'utf8'));
  } catch (error) {
    warn(`${path}: Checkpoint ignored (${String(error).split('\n')[0]})`);
    return null;
  }
  if (state.model_checkpoint_path === '')
    throw new InvalidArgumentError(`Invalid checkpoint state loaded from ${folder}`);
  const whole = (name: string) => (isAbsolute(name) ? name : joinPath(folder, name));
  return withBothNames({
    ...state,
    model_checkpoint_path: whole(state.model_checkpoint_path),
    all_model_checkpoint_paths: state.all_model_checkpoint_paths.map(whole),
  });
}

/**
 * The latest checkpoint of a folder, or null.
 *
 * @example const path = tf.train.latestCheckpoint('run1');
 */
export function latestCheckpoint(folder: string, options: LatestFilename = {}): string | null {
  const path = getCheckpointState(folder, nameOf('tf.train.latestCheckpoint', options))?.model_checkpoint_path;
  if (path === undefined || checkpointExists(path)) return path ?? null;
  logError(`Couldn't match files for checkpoint ${path}`);
  return null;
}

const isFile = (path: string) => statSync(localPath(path), { throwIfNoEntry: false })?.isFile() ?? false;

/** The files that a name stands for, in which `?` and `*` stand for one and for many letters; sorted. */
export function matchingFiles(pattern: string): string[] {
  if (!/[?*]/.test(pattern)) return isFile(pattern) ? [pattern] : [];
  const letters = basename(pattern).replace(/[.+^${}()|[\]\\]/g, '\\$&');
  const matcher = new RegExp(`^${letters.replaceAll('*', '[^/]*').replaceAll('?', '[^/]')}$`);
  const folder = dirname(pattern);
  if (!existsSync(localPath(folder))) return [];
  const names = readdirSync(localPath(folder)).filter((name) => matcher.test(name));
  return names.sort().map((name) => joinPath(folder, name));
}

/** Whether there is a checkpoint of that name, of either format. */
export function checkpointExists(prefix: string): boolean {
  return matchingFiles(`${prefix}.index`).length > 0 || matchingFiles(prefix).length > 0;
}

/** When checkpoints were written, in seconds since 1970; those that do not exist are left out. */
export function getCheckpointMtimes(prefixes: readonly string[]): number[] {
  return prefixes.flatMap((prefix) => {
    const found = [...matchingFiles(`${prefix}.index`), ...matchingFiles(prefix)];
    return found.length === 0 ? [] : [statSync(localPath(found[0]!)).mtimeMs / 1000];
  });
}

/** Deletes the files of a checkpoint. The index goes first: without it the rest is no checkpoint. */
export async function removeCheckpoint(
  prefix: string,
  options: { readonly checkpointFormatVersion?: number; readonly metaGraphSuffix?: string } = {},
): Promise<void> {
  const names = ['checkpointFormatVersion', 'metaGraphSuffix'] as const;
  const { checkpointFormatVersion: version = CheckpointFormatVersion.values.V2, metaGraphSuffix = 'meta' } =
    knownOptions('tf.train.removeCheckpoint', options, names);
  const meta = `${prefix.replace(/-\?{5}-of-\d{5}$/, '')}.${metaGraphSuffix}`;
  const files =
    version === CheckpointFormatVersion.values.V2
      ? [`${prefix}.index`, ...matchingFiles(`${prefix}.data-?????-of-?????`)]
      : matchingFiles(prefix);
  for (const file of [...files, meta]) await rm(localPath(file), { force: true });
}

/**
 * The checkpoints of a folder as they appear, the latest first: for a process that evaluates what another one trains. It ends when
 * `timeout` seconds pass without a new one, unless `timeoutFn` says to go on.
 *
 * @example for await (const path of tf.train.checkpointsIterator('run1', { timeout: 600 })) await evaluate(path);
 */
export async function* checkpointsIterator(
  folder: string,
  options: {
    /** Not more often than once in so many seconds. */
    readonly minIntervalSecs?: number | undefined;
    readonly timeout?: number | undefined;
    /** Asked when the time is over; true ends the iteration. */
    readonly timeoutFn?: (() => boolean) | undefined;
    /** How often the folder is looked at, in seconds. */
    readonly secondsToSleep?: number | undefined;
  } = {},
): AsyncGenerator<string, void> {
  const {
    minIntervalSecs = 0,
    timeout = Number.POSITIVE_INFINITY,
    timeoutFn,
    secondsToSleep = 1,
  } = knownOptions('tf.train.checkpointsIterator', options, [
    'minIntervalSecs',
    'timeout',
    'timeoutFn',
    'secondsToSleep',
  ]);
  const now = () => performance.now() / 1000;
  let seen: string | null = null;
  let since = now();
  let yielded = Number.NEGATIVE_INFINITY;
  for (;;) {
    const path = latestCheckpoint(folder);
    if (path !== null && path !== seen && now() - yielded >= minIntervalSecs) {
      seen = path;
      yielded = now();
      yield path;
      since = now();
      continue;
    }
    if (now() - since >= timeout) {
      if (!timeoutFn || timeoutFn()) return;
      since = now();
    }
    await setTimeout(secondsToSleep * 1000);
  }
}
