/** @file Saver: writes variables to checkpoints and reads them back. */
import { basename, dirname } from 'node:path';
import { InvalidArgumentError, NotFoundError, type OpError } from '../core/errors.ts';
import { NDArray } from '../core/ndarray.ts';
import { type Graph, getDefaultGraph } from '../graph/graph.ts';
import { checkOptions, type OptionNames } from '../graph/options.ts';
import type { Runner } from '../graph/runner.ts';
import { prependNameScope, stripNameScope } from '../graph/scopedNames.ts';
import type { Tensor } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { checkpointExists, getCheckpointMtimes, removeCheckpoint, writeCheckpointState } from '../io/checkpoints.ts';
import { CheckpointFormatVersion, type MetaGraphDef, SaverDef } from '../proto/metaGraph.ts';
import { GraphKeys } from './collections.ts';
import { globalStep } from './globalStep.ts';
import { type ExportMetaGraphOptions, exportMetaGraph, writeMetaGraph } from './saving/metaGraph.ts';
import { namesInObjectCheckpoint } from './saving/objectCheckpoint.ts';
import { registerProtoFunctions } from './saving/protoFunctions.ts';
import { checkRestoredShapes } from './saving/restoredShapes.ts';
import { isSaveable, type Saveable, type SaveableObject, saveablesOf, type VarList } from './saving/saveables.ts';
import { buildSaver } from './saving/saverBuilder.ts';
import type { Variable } from './variable.ts';

export interface SaverOptions {
  /** What is saved: a list, or a record by the names in checkpoints. All global variables unless given. */
  readonly varList?: VarList | undefined;
  /** Stored tensors take the shape of the variable, where that only reshapes them. */
  readonly reshape?: boolean | undefined;
  /** Writes one data file per device. */
  readonly sharded?: boolean | undefined;
  /** How many of the latest checkpoints are kept; 5 unless given, 0 for all. */
  readonly maxToKeep?: number | null | undefined;
  /** A checkpoint every so many hours is kept for good. */
  readonly keepCheckpointEveryNHours?: number | undefined;
  readonly name?: string | undefined;
  /** Tensors are always read one after the other; the option is TensorFlow's. */
  readonly restoreSequentially?: boolean | undefined;
  /** A saver whose nodes are in the graph already. */
  readonly saverDef?: SaverDef | undefined;
  /** Adds the nodes only when `build()` is called. */
  readonly deferBuild?: boolean | undefined;
  /** Without variables, saves nothing instead of complaining. */
  readonly allowEmpty?: boolean | undefined;
  /** 2 unless given; 1 writes the format of TensorFlow before 0.12. */
  readonly writeVersion?: number | undefined;
  /** Step numbers are written with eight digits, so that names sort by step. */
  readonly padStepNumber?: boolean | undefined;
  /** Paths in the `checkpoint` file are relative to it. */
  readonly saveRelativePaths?: boolean | undefined;
  /** The file name in the graph, for who runs its nodes without feeding one; `model` unless given. */
  readonly filename?: string | undefined;
}
const optionNames: OptionNames<SaverOptions> = {
  varList: true,
  reshape: true,
  sharded: true,
  maxToKeep: true,
  keepCheckpointEveryNHours: true,
  name: true,
  restoreSequentially: true,
  saverDef: true,
  deferBuild: true,
  allowEmpty: true,
  writeVersion: true,
  padStepNumber: true,
  saveRelativePaths: true,
  filename: true,
};

/** A count of steps: a number, what a run gave for it, or the variable or tensor that counts. */
type StepLike = number | bigint | NDArray | Variable | Tensor;

export interface SaveOptions {
  /** The number that ends the name. */
  readonly globalStep?: StepLike | undefined;
  /** The file that names the checkpoints; `checkpoint` unless given. */
  readonly latestFilename?: string | undefined;
  /** The ending of the graph's file; `meta` unless given. */
  readonly metaGraphSuffix?: string | undefined;
  /** Whether the graph is stored beside the values; it is unless told otherwise. */
  readonly writeMetaGraph?: boolean | undefined;
  /** Whether the folder's `checkpoint` file names it. */
  readonly writeState?: boolean | undefined;
  /** Leaves out of the graph's file what has its default value. */
  readonly stripDefaultAttrs?: boolean | undefined;
}
const saveOptionNames: OptionNames<SaveOptions> = {
  globalStep: true,
  latestFilename: true,
  metaGraphSuffix: true,
  writeMetaGraph: true,
  writeState: true,
  stripDefaultAttrs: true,
};

/** What a saver asks of a session. */
export interface SaverSession extends Runner {
  readonly graph: Graph;
}

/** Variables and other objects that the default graph says must be saved. */
function allSaveables(scope?: string): Saveable[] {
  const graph = getDefaultGraph();
  const keys = [GraphKeys.GLOBAL_VARIABLES, GraphKeys.SAVEABLE_OBJECTS];
  return keys.flatMap((key) => graph.getCollection(key, scope) as Saveable[]); // what these collections are for
}

const isVarList = (x: VarList | SaverOptions): x is VarList =>
  Array.isArray(x) ||
  Object.values(x).some(isSaveable) ||
  Object.entries(x).some(([key, value]) => key !== 'varList' && Array.isArray(value));

/**
 * Saves and restores variables: all of the graph, a list, or a record by the names they have in checkpoints. Adds nodes under
 * `save/`.
 *
 * @example
 * const saver = new tf.train.Saver({ maxToKeep: 3 });
 * const path = await saver.save(sess, 'run1/model', { globalStep: 100 }); // 'run1/model-100'
 * await saver.restore(sess, path);
 */
export class Saver {
  private readonly options: SaverOptions;
  private readonly varList: VarList | undefined;
  private def: SaverDef | undefined;
  private isBuilt = false;
  private isEmpty = false;
  /** Checkpoints that count towards `maxToKeep`, oldest first, with the time in seconds at which they were written. */
  private kept: readonly (readonly [path: string, time: number])[] = [];
  private toDelete: (readonly [path: string, time: number])[] = [];
  private nextForGood = Number.POSITIVE_INFINITY;
  private forObjects: Saver | undefined;

  constructor(varListOrOptions: VarList | SaverOptions = {}, options?: SaverOptions) {
    const isList = isVarList(varListOrOptions);
    const all = options ?? (isList ? {} : varListOrOptions);
    checkOptions('tf.train.Saver', all, optionNames);
    this.options = all;
    this.varList = isList ? varListOrOptions : all.varList;
    this.def = all.saverDef;
    if (all.deferBuild && this.varList)
      throw userError(
        'If varList is provided then build cannot be deferred. Either leave deferBuild out or leave varList out.',
      );
    if (!all.deferBuild) this.build();
  }

  /** Adds the nodes, where that was deferred. */
  build(): void {
    if (this.isBuilt) return;
    this.isBuilt = true;
    const { name } = this.options;
    if (this.def) {
      const { filename_tensor_name, save_tensor_name, restore_op_name } = this.def;
      this.def = {
        ...this.def,
        filename_tensor_name: prependNameScope(filename_tensor_name, name),
        save_tensor_name: prependNameScope(save_tensor_name, name),
        restore_op_name: prependNameScope(restore_op_name, name),
      };
    } else {
      const varList = this.varList ?? allSaveables();
      if (Object.keys(varList).length === 0) {
        if (!this.options.allowEmpty) throw userError('No variables to save. Make some first, or give a list of them.');
        this.isEmpty = true;
        return;
      }
      this.def = buildSaver(varList, {
        reshape: this.options.reshape ?? false,
        sharded: this.options.sharded ?? false,
        maxToKeep: this.options.maxToKeep === undefined ? 5 : (this.options.maxToKeep ?? 0),
        keepCheckpointEveryNHours: this.options.keepCheckpointEveryNHours ?? 10_000,
        name,
        filename: this.options.filename ?? 'model',
        writeVersion: this.options.writeVersion ?? CheckpointFormatVersion.values.V2,
      });
    }
    if (this.def.save_tensor_name === '') throw userError('saverDef must specify the save_tensor_name');
    if (this.def.restore_op_name === '') throw userError('saverDef must specify the restore_op_name');
    this.nextForGood = Date.now() / 1000 + this.def.keep_checkpoint_every_n_hours * 3600;
  }

  /** The names of this saver's nodes, and how it keeps checkpoints; undefined for an empty saver. */
  get saverDef(): SaverDef | undefined {
    return this.def;
  }
  asSaverDef(): SaverDef | undefined {
    return this.def;
  }

  /** What meta graphs store; undefined where the nodes lie outside of `exportScope`. */
  toProto(exportScope?: string): SaverDef | undefined {
    const { def } = this;
    if (!def || exportScope === undefined) return def;
    const names = [def.filename_tensor_name, def.save_tensor_name, def.restore_op_name];
    if (!names.every((name) => name.startsWith(exportScope))) return undefined;
    const [filename_tensor_name, save_tensor_name, restore_op_name] = names.map((name) =>
      stripNameScope(name, exportScope),
    );
    return SaverDef.create({ ...def, filename_tensor_name, save_tensor_name, restore_op_name });
  }

  /** The saver whose nodes a description names. */
  static fromProto(saverDef: SaverDef, importScope?: string): Saver {
    return new Saver({ saverDef, name: importScope });
  }

  /** The checkpoints written by this saver that still exist, oldest first. */
  get lastCheckpoints(): string[] {
    return this.kept.map(([path]) => path);
  }

  /** Goes on from checkpoints that an earlier saver wrote, oldest first. They count as new, and so are kept. */
  setLastCheckpoints(paths: readonly string[]): void {
    this.kept = paths.map((path) => [path, Number.POSITIVE_INFINITY]);
  }

  /** Goes on from checkpoints and the seconds at which they were written. */
  setLastCheckpointsWithTime(checkpoints: readonly (readonly [path: string, time: number])[]): void {
    this.kept = [...checkpoints];
  }

  /** Goes on from those of some checkpoints that are there. */
  recoverLastCheckpoints(paths: readonly string[]): void {
    this.kept = paths.flatMap((path) => getCheckpointMtimes([path]).map((time) => [path, time] as const));
  }

  /**
   * Writes a checkpoint; gives its path, which is `path` and the step. The `checkpoint` file names it when all of it is on disk,
   * and only then older ones are deleted, beyond `maxToKeep`. Null for a saver that has nothing to save.
   */
  save(sess: SaverSession, path: string, options?: SaveOptions): Promise<string>;
  async save(sess: SaverSession, path: string, options: SaveOptions = {}): Promise<string | null> {
    checkOptions('saver.save', options, saveOptionNames);
    const {
      latestFilename = 'checkpoint',
      metaGraphSuffix = 'meta',
      writeMetaGraph: withMetaGraph = true,
      writeState = true,
    } = options;
    if (!this.isBuilt) throw userError('`build()` should be called before save if deferBuild is true');
    if (dirname(latestFilename) !== '.') throw userError("'latestFilename' must not contain path components");
    if (path === '' || path.endsWith('/'))
      throw userError(`'${path}' is a folder; name the checkpoints in it, as in '${path}model'`);
    if (options.globalStep === undefined && basename(path) === latestFilename && !this.options.sharded)
      throw userError(`'latestFilename' collides with the path: '${latestFilename}' and '${path}'`);
    const prefix = options.globalStep === undefined ? path : `${path}-${await this.stepOf(options.globalStep, sess)}`;
    const saved = this.def ? await this.write(sess, prefix, this.def) : null;
    if (withMetaGraph) {
      // Shards of the old format have a pattern for a name.
      const meta = `${prefix.replace(/-\?{5}-of-\d{5}$/, '')}.${metaGraphSuffix}`;
      const { graph } = sess;
      await writeMetaGraph(meta, { graph, saverDef: this.def, stripDefaultAttrs: options.stripDefaultAttrs });
    }
    if (saved === null || !writeState) return saved;
    this.remember(saved, this.def!.max_to_keep);
    await writeCheckpointState(dirname(path), saved, {
      allModelCheckpointPaths: this.lastCheckpoints,
      latestFilename,
      saveRelativePaths: this.options.saveRelativePaths ?? false,
    });
    await this.deleteOld(metaGraphSuffix);
    return saved;
  }

  private async write(sess: SaverSession, prefix: string, def: SaverDef): Promise<string> {
    const { graph } = sess;
    const feeds = [[graph.getTensorByName(def.filename_tensor_name), prefix]] as const;
    // A string tensor without shape gives one text.
    return String(((await sess.run(graph.getTensorByName(def.save_tensor_name), feeds)) as NDArray).item());
  }

  private async stepOf(step: StepLike, sess: SaverSession): Promise<string> {
    const isNumber = typeof step === 'number' || typeof step === 'bigint';
    const value = isNumber ? step : step instanceof NDArray ? Number(step) : await globalStep(sess, step);
    if (!isNumber && !Number.isInteger(value))
      throw userError(`The global step is a whole number, but it is ${String(step)}.`);
    return String(value).padStart(this.options.padStepNumber ? 8 : 0, '0');
  }

  /** Adds a checkpoint to those kept; the oldest may be one too many. */
  private remember(path: string, max: number): void {
    if (max === 0) return;
    this.kept = [...this.kept.filter(([p]) => p !== path), [path, Date.now() / 1000]];
    if (this.kept.length <= max) return;
    this.toDelete.push(this.kept[0]!);
    this.kept = this.kept.slice(1);
  }

  private async deleteOld(metaGraphSuffix: string): Promise<void> {
    const old = this.toDelete.shift();
    if (!old) return;
    const [path, time] = old;
    if (time > this.nextForGood) {
      this.nextForGood += this.def!.keep_checkpoint_every_n_hours * 3600;
      return;
    }
    await removeCheckpoint(path, { checkpointFormatVersion: this.def!.version, metaGraphSuffix });
  }

  /** The default graph with this saver, as a message, and as a file where one is named. */
  exportMetaGraph(
    options: Omit<ExportMetaGraphOptions, 'saverDef' | 'graph' | 'graphDef' | 'metaInfoDef'> = {},
  ): MetaGraphDef {
    return exportMetaGraph({ ...options, ...(this.def && { saverDef: this.def }) });
  }

  /** Reads all variables from a checkpoint. They need not be initialized before. */
  async restore(sess: SaverSession, path: string): Promise<void> {
    if (this.isEmpty) return;
    const { def } = this;
    if (!def) throw userError('`build()` should be called before restore if deferBuild is true');
    if (typeof path !== 'string') throw userError("Can't load a checkpoint when the path is null.");
    if (!checkpointExists(path))
      throw new NotFoundError(
        `The passed save_path is not a valid checkpoint: ${path}. There is no ${path}.index; name a checkpoint without its ending, or the latest of a folder by tf.train.latestCheckpoint(folder).`,
      );
    const { graph } = sess;
    try {
      await checkRestoredShapes(graph, def.restore_op_name, path);
      const feeds = [[graph.getTensorByName(def.filename_tensor_name), path]] as const;
      await sess.run(graph.getOperationByName(def.restore_op_name), feeds);
    } catch (error) {
      if (error instanceof InvalidArgumentError)
        throw explained(error, 'a mismatch between the current graph and the graph');
      if (!(error instanceof NotFoundError)) throw error;
      const keys = await namesInObjectCheckpoint(path);
      if (!keys) throw explained(error, 'a Variable name or other graph key that is missing');
      this.forObjects ??= graph.asDefault(() => new Saver(this.listForObjects(keys)));
      await this.forObjects.restore(sess, path);
    }
  }

  /** The same variables by the names that they have in a checkpoint of objects, as TensorFlow 2 writes them. */
  private listForObjects(keys: ReadonlyMap<string, string>): SaveableObject[] {
    const all = saveablesOf(this.varList ?? allSaveables());
    const missing = all.flatMap((s) => s.specs).filter(({ name }) => !keys.has(name));
    if (missing.length > 0)
      throw userError(
        `Attempting to load an object-based checkpoint using variable names, but the checkpoint has no variable of the names: ${missing.map(({ name }) => name).join(', ')}.`,
      );
    return all.map((saveable) => {
      const specs = saveable.specs.map((spec) => ({ ...spec, name: keys.get(spec.name)! }));
      return { ...saveable, name: specs[0]!.name, specs };
    });
  }
}

function explained(error: OpError, why: string): OpError {
  return error.extended(
    `Restoring from checkpoint failed. This is most likely due to ${why} from the checkpoint. Please ensure that you have not altered the graph expected based on the checkpoint. Original error:\n\n${error.message}`,
    {},
  );
}

registerProtoFunctions(GraphKeys.SAVERS, SaverDef, (saver: Saver, scope) => saver.toProto(scope), Saver.fromProto);
