/** @file Saver: writes variables to checkpoints and reads them back. */
import { dirname } from 'node:path';
import { NotFoundError } from '../core/errors.ts';
import { controlDependencies, nameScope } from '../graph/graph.ts';
import type { Operation } from '../graph/operation.ts';
import { onlyOptions } from '../graph/options.ts';
import type { Tensor } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { checkpointExists, removeCheckpoint, updateCheckpointState } from '../io/checkpoints.ts';
import { identity } from '../ops/array/identity.ts';
import { placeholderWithDefault } from '../ops/array/index.ts';
import { reshape } from '../ops/array/reshape.ts';
import { RestoreV2, SaveV2 } from '../ops/files/saver.ts';
import { group } from '../ops/flow/group.ts';
import { PartitionedVariable } from './partitioned.ts';
import type { Variable } from './variable.ts';
import { globalVariables } from './variables.ts';

export interface SaverOptions {
  /** How many of the latest checkpoints are kept; 5 unless given, 0 for all. */
  readonly maxToKeep?: number | undefined;
  /** A checkpoint every so many hours is kept for good. */
  readonly keepCheckpointEveryNHours?: number | undefined;
  /** Stored tensors take the shape of the variable, where that only reshapes them. */
  readonly reshape?: boolean | undefined;
  /** Restores one variable after the other, in less memory. */
  readonly restoreSequentially?: boolean | undefined;
  /** Step numbers are written with eight digits, so that names sort by step. */
  readonly padStep?: boolean | undefined;
  /** Paths in the `checkpoint` file are relative to it. */
  readonly saveRelativePaths?: boolean | undefined;
  readonly name?: string | undefined;
}
const optionNames = [
  'maxToKeep',
  'keepCheckpointEveryNHours',
  'reshape',
  'restoreSequentially',
  'padStep',
  'saveRelativePaths',
  'name',
] as const;

export interface SaveOptions {
  /** A number for the name, or the variable or tensor that counts steps. */
  readonly globalStep?: number | Variable | Tensor | undefined;
  readonly latestFilename?: string | undefined;
  /** Whether the folder's `checkpoint` file names it. */
  readonly writeState?: boolean | undefined;
}

/** What a saver asks of a session. */
interface Runner {
  run(fetches: Tensor | Operation | Variable, feeds?: [[Tensor, string]]): Promise<unknown>;
}

type Saveable = Variable | PartitionedVariable;

/** A variable, or a slice of one, and its name in checkpoints. */
interface Item {
  readonly name: string;
  readonly variable: Variable;
  /** Empty, or which slice of a larger tensor it is. */
  readonly slice: string;
}

/**
 * Saves and restores variables: all of the graph, a list, or a record by the names they have in checkpoints. Adds nodes under
 * `save/`.
 *
 * @example
 * const saver = new tf.train.Saver();
 * const path = await saver.save(sess, 'run1/model', { globalStep: 100 }); // 'run1/model-100'
 * await saver.restore(sess, path);
 */
export class Saver {
  private readonly options: SaverOptions;
  private readonly filename: Tensor;
  private readonly saveOp: Operation;
  private readonly restoreOp: Operation;
  /** Checkpoints that count towards `maxToKeep`, oldest first, with the time they were written. */
  private kept: { readonly path: string; readonly time: number }[] = [];
  private nextForGood: number;

  constructor(varList?: readonly Saveable[] | Readonly<Record<string, Saveable>>, options: SaverOptions = {}) {
    this.options = onlyOptions('tf.train.Saver', options, ...optionNames);
    const items = itemsOf(varList ?? globalVariables());
    if (items.length === 0) throw userError('No variables to save. Make some first, or give a list of them.');
    const { filename, saveOp, restoreOp } = build(items, options);
    this.filename = filename;
    this.saveOp = saveOp;
    this.restoreOp = restoreOp;
    this.nextForGood = Date.now() + (options.keepCheckpointEveryNHours ?? 10_000) * 3_600_000;
  }

  /** The checkpoints written by this saver that still exist, oldest first. */
  get lastCheckpoints(): string[] {
    return this.kept.map(({ path }) => path);
  }

  /** Goes on from checkpoints that an earlier saver wrote, oldest first. */
  setLastCheckpoints(paths: readonly string[]): void {
    this.kept = paths.map((path) => ({ path, time: Date.now() }));
  }

  /** Writes a checkpoint; gives its path, which is `path` and the step. Older ones are deleted beyond `maxToKeep`. */
  async save(sess: Runner, path: string, options: SaveOptions = {}): Promise<string> {
    const {
      globalStep,
      latestFilename,
      writeState = true,
    } = onlyOptions('saver.save', options, 'globalStep', 'latestFilename', 'writeState');
    if (path === '' || path.endsWith('/'))
      throw userError(`'${path}' is a folder; name the checkpoints in it, as in '${path}model'`);
    const prefix = globalStep === undefined ? path : `${path}-${await this.stepOf(globalStep, sess)}`;
    await sess.run(this.saveOp, [[this.filename, prefix]]);
    if (!writeState) return prefix;
    const dropped = this.remember(prefix);
    await updateCheckpointState(dirname(prefix), prefix, {
      all: this.lastCheckpoints,
      latestFilename,
      relativePaths: this.options.saveRelativePaths ?? false,
    });
    // Only now does nobody need them any more.
    for (const old of dropped) await removeCheckpoint(old);
    return prefix;
  }

  /** Reads all variables from a checkpoint. They need not be initialized before. */
  async restore(sess: Runner, path: string): Promise<void> {
    if (!checkpointExists(path))
      throw new NotFoundError(
        `The passed save_path is not a valid checkpoint: ${path}. There is no ${path}.index; name a checkpoint without its ending.`,
      );
    await sess.run(this.restoreOp, [[this.filename, path]]);
  }

  private async stepOf(step: number | Variable | Tensor, sess: Runner): Promise<string> {
    const value = typeof step === 'number' ? step : Number(await sess.run(step));
    return String(value).padStart(this.options.padStep ? 8 : 0, '0');
  }

  /** Adds a checkpoint to those kept; gives those that are too many. */
  private remember(path: string): string[] {
    const now = Date.now();
    this.kept = [...this.kept.filter((c) => c.path !== path), { path, time: now }];
    const max = this.options.maxToKeep ?? 5;
    const dropped: string[] = [];
    while (max > 0 && this.kept.length > max) {
      const [oldest, ...rest] = this.kept;
      this.kept = rest;
      if (oldest!.time > this.nextForGood)
        this.nextForGood += (this.options.keepCheckpointEveryNHours ?? 10_000) * 3_600_000;
      else dropped.push(oldest!.path);
    }
    return dropped;
  }
}

function itemsOf(varList: readonly Saveable[] | Readonly<Record<string, Saveable>>): Item[] {
  const named: [string, Saveable][] = isList(varList) ? varList.map((v) => [nameOf(v), v]) : Object.entries(varList);
  const items = named.flatMap(([name, saveable]): Item[] =>
    saveable instanceof PartitionedVariable
      ? [...saveable].map((variable) => itemOf(name, variable))
      : [itemOf(name, saveable)],
  );
  items.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  for (const [i, item] of items.entries())
    if (item.slice === '' && items[i + 1]?.name === item.name)
      throw userError(`At least two variables have the same name: ${item.name}`);
  return items;
}

const isList = (x: readonly Saveable[] | Readonly<Record<string, Saveable>>): x is readonly Saveable[] =>
  Array.isArray(x);

function nameOf(saveable: Saveable): string {
  if (saveable instanceof PartitionedVariable) return saveable.name;
  return saveable.saveSliceInfo?.fullName ?? saveable.op.name;
}

function itemOf(name: string, variable: Variable): Item {
  const info = variable.saveSliceInfo;
  if (!info) return { name, variable, slice: '' };
  const ranges = info.varOffset.map((start, axis) => `${start},${info.varShape[axis]}`);
  return { name, variable, slice: `${info.fullShape.join(' ')} ${ranges.join(':')}` };
}

function build(items: readonly Item[], options: SaverOptions) {
  return nameScope(options.name ?? 'save', () => {
    const given = placeholderWithDefault('model', [], { name: 'filename' });
    const filename = placeholderWithDefault(given, [], { name: 'Const' });
    const names = items.map(({ name }) => name);
    const slices = items.map(({ slice }) => slice);
    const tensors = items.map(({ variable }) =>
      variable.handle ? variable.asGraphElement() : variable.toTensor({ asRef: true }),
    );
    const save = SaveV2.node({ prefix: filename, tensor_names: names, shape_and_slices: slices, tensors });
    controlDependencies([save], () => identity(filename, { name: 'control_dependency' }));
    let before: Operation | undefined;
    const assign = (item: Item, tensor: Tensor): Operation => {
      const { variable } = item;
      const shape = variable.shape;
      const value = options.reshape && shape ? reshape(tensor, shape as readonly number[]) : tensor; // variables have whole shapes
      return variable.assign(variable.handle ? identity(value) : value, { readValue: false });
    };
    const restoreSome = (some: readonly Item[]) =>
      RestoreV2.build(
        { prefix: filename, tensor_names: some.map((i) => i.name), shape_and_slices: some.map((i) => i.slice) },
        { attrs: { dtypes: some.map((i) => i.variable.dtype) } },
      ).tensors;
    const assigned = options.restoreSequentially
      ? items.map((item) => {
          const waited: Operation[] = before ? [before] : [];
          before = controlDependencies(waited, () => assign(item, restoreSome([item])[0]!));
          return before;
        })
      : restoreSome(items).map((tensor, i) => assign(items[i]!, tensor));
    return { filename, saveOp: save, restoreOp: group(assigned, { name: 'restore_all' }) };
  });
}
