/** @file Builder of SavedModels: folders with graphs, their variables, their files and their signatures. */
import { copyFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { string } from '../../core/dtypes.ts';
import { FailedPreconditionError } from '../../core/errors.ts';
import { getDefaultGraph } from '../../graph/graph.ts';
import type { Operation } from '../../graph/operation.ts';
import { checkOptions, type OptionNames, onlyOptions } from '../../graph/options.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { fileError } from '../../io/fileErrors.ts';
import { makeFoldersNow } from '../../io/folders.ts';
import { joinPath, localPath } from '../../io/paths.ts';
import { knownValue } from '../../op/constantValue.ts';
import { AssetFileDef, type MetaGraphDef, MetaInfoDef, SavedModel, type SignatureDef } from '../../proto/metaGraph.ts';
import { GraphKeys, getCollection } from '../collections.ts';
import { Saver, type SaverSession } from '../saver.ts';
import { AnyMessage } from '../saving/collectionDefs.ts';
import { writeMessage } from '../saving/writeGraph.ts';
import * as constants from './constants.ts';
import * as signatureConstants from './signatureConstants.ts';
import { checkSignatures, type Nameable, predictSignatureDef } from './signatures.ts';
import * as tagConstants from './tagConstants.ts';

export interface AddMetaGraphOptions {
  /** Signatures by name; `serving_default` is the one that is taken when nobody says. */
  readonly signatureDefMap?: Readonly<Record<string, SignatureDef>> | undefined;
  /** Constants that hold paths of files, which are copied to the model: vocabularies, for example. */
  readonly assetsCollection?: readonly Tensor[] | undefined;
  /** Run when the graph is loaded, after its variables are restored. */
  readonly mainOp?: Operation | undefined;
  /** The old name of `mainOp`. */
  readonly legacyInitOp?: Operation | undefined;
  /** Forgets on which devices nodes were. */
  readonly clearDevices?: boolean | undefined;
  /** Leaves out attributes that have their default value. */
  readonly stripDefaultAttrs?: boolean | undefined;
  /** Saves the variables; one for all of them unless given. */
  readonly saver?: Saver | undefined;
}
const optionNames: OptionNames<AddMetaGraphOptions> = {
  signatureDefMap: true,
  assetsCollection: true,
  mainOp: true,
  legacyInitOp: true,
  clearDevices: true,
  stripDefaultAttrs: true,
  saver: true,
};

/**
 * Writes a SavedModel: first one graph with its variables, then others that share these, then the whole.
 *
 * @example
 * const builder = new tf.savedModel.Builder('export');
 * await builder.addMetaGraphAndVariables(sess, [tf.savedModel.tagConstants.SERVING], { signatureDefMap });
 * builder.save(); // 'export/saved_model.pb'
 */
export class SavedModelBuilder {
  private readonly graphs: MetaGraphDef[] = [];
  private hasVariables = false;
  private isSavingVariables = false;
  private readonly copied = new Set<string>();

  constructor(private readonly exportDir: string) {
    if (existsSync(localPath(exportDir)) && readdirSync(localPath(exportDir)).length > 0)
      throw new FailedPreconditionError(
        `Export directory ${exportDir} already exists, and isn't empty. Please choose a different export directory, or delete all the contents of the specified directory.`,
      );
    try {
      makeFoldersNow(localPath(exportDir));
    } catch (error) {
      throw fileError(error, exportDir);
    }
  }

  /** Adds the session's graph, and saves the values of its variables. Once per model, and first. */
  async addMetaGraphAndVariables(
    sess: SaverSession,
    tags: readonly string[],
    options: AddMetaGraphOptions = {},
  ): Promise<void> {
    if (this.hasVariables)
      throw userError(
        'Graph state including variables and assets has already been saved. Please invoke `addMetaGraph()` instead.',
      );
    this.throwIfSavingVariables();
    const saver = sess.graph.asDefault(() => this.prepare(options));
    const folder = joinPath(this.exportDir, constants.VARIABLES_DIRECTORY);
    this.isSavingVariables = true;
    try {
      await saver.save(sess, joinPath(folder, constants.VARIABLES_FILENAME), {
        writeMetaGraph: false,
        writeState: false,
      });
    } finally {
      this.isSavingVariables = false;
    }
    sess.graph.asDefault(() => this.add(saver, tags, options));
    this.hasVariables = true;
  }

  private throwIfSavingVariables(): void {
    if (this.isSavingVariables)
      throw userError(
        'addMetaGraphAndVariables() is still saving the variables, so the model would be without them. Wait for it first: await builder.addMetaGraphAndVariables(…).',
      );
  }

  /** Adds the default graph as another graph over the same variables: one for training, one for a GPU. */
  addMetaGraph(tags: readonly string[], options: AddMetaGraphOptions = {}): void {
    this.throwIfSavingVariables();
    if (!this.hasVariables)
      throw userError(
        'Graph state including variables and assets has not been saved yet. Please invoke `addMetaGraphAndVariables()` first.',
      );
    this.add(this.prepare(options), tags, options);
  }

  /** Writes what was added; gives the path. A reader finds all of the model or none. */
  save(options: { readonly asText?: boolean } = {}): string {
    const { asText = false } = onlyOptions('tf.savedModel.Builder.save', options, 'asText');
    this.throwIfSavingVariables();
    const name = asText ? constants.SAVED_MODEL_FILENAME_PBTXT : constants.SAVED_MODEL_FILENAME_PB;
    const path = joinPath(this.exportDir, name);
    const model = {
      saved_model_schema_version: constants.SAVED_MODEL_SCHEMA_VERSION,
      meta_graphs: this.graphs,
    };
    writeMessage(path, SavedModel, model, asText);
    return path;
  }

  private prepare(options: AddMetaGraphOptions): Saver {
    checkOptions('tf.savedModel.Builder', options, optionNames);
    checkSignatures(options.signatureDefMap ?? {});
    this.addAssets(options.assetsCollection ?? []);
    const mainOp = options.mainOp ?? options.legacyInitOp;
    const graph = getDefaultGraph();
    if (mainOp) {
      for (const key of [constants.LEGACY_INIT_OP_KEY, constants.MAIN_OP_KEY])
        if (graph.getCollection(key).length > 0)
          throw userError(`Graph already contains one or more main ops under the collection ${key}.`);
      graph.addToCollection(constants.MAIN_OP_KEY, mainOp);
    }
    return options.saver ?? new Saver({ sharded: true, allowEmpty: true });
  }

  private add(saver: Saver, tags: readonly string[], options: AddMetaGraphOptions): void {
    const { clearDevices, stripDefaultAttrs } = options;
    const def = saver.exportMetaGraph({ clearDevices, stripDefaultAttrs });
    this.graphs.push({
      ...def,
      meta_info_def: MetaInfoDef.create({ ...def.meta_info_def, tags }),
      signature_def: options.signatureDefMap ?? {},
    });
  }

  private addAssets(tensors: readonly Tensor[]): void {
    const sources = new Map<string, string>();
    for (const tensor of tensors) {
      const source = pathIn(tensor);
      const name = assetName(source, sources);
      sources.set(name, source);
      const def = AssetFileDef.encode({ filename: name, tensor_info: { name: tensor.name } });
      getDefaultGraph().addToCollection(
        constants.ASSETS_KEY,
        new AnyMessage('type.googleapis.com/tensorflow.AssetFileDef', def),
      );
    }
    const folder = joinPath(this.exportDir, constants.ASSETS_DIRECTORY);
    for (const [name, source] of sources) {
      const target = joinPath(folder, name);
      if (this.copied.has(target)) continue;
      makeFoldersNow(localPath(folder));
      try {
        copyFileSync(localPath(source), localPath(target));
      } catch (error) {
        throw fileError(error, source);
      }
      this.copied.add(target);
    }
  }
}

function pathIn(tensor: Tensor): string {
  const value = tensor.op.type === 'Const' && tensor.dtype === string ? knownValue(tensor) : undefined;
  if (value?.size !== 1)
    throw userError(`An asset is a constant with one path, as tf.constant('words.txt'), but ${tensor} is not.`);
  return new TextDecoder().decode(value.objects[0] as Uint8Array); // a string tensor holds bytes
}

/** The name of a file in the model: its own, or with a number where another file has it. */
function assetName(source: string, taken: ReadonlyMap<string, string>): string {
  const name = basename(source);
  const other = taken.get(name);
  if (other === undefined || other === source || readFileSync(localPath(source)).equals(readFileSync(localPath(other))))
    return name;
  let i = 1;
  while (taken.has(`${name}_${i}`)) i++;
  return `${name}_${i}`;
}

/**
 * Writes a SavedModel with one signature, for serving.
 *
 * @example await tf.savedModel.simpleSave(sess, 'export', { inputs: { x }, outputs: { y } });
 */
export async function simpleSave(
  sess: SaverSession,
  exportDir: string,
  options: {
    readonly inputs: Readonly<Record<string, Nameable>>;
    readonly outputs: Readonly<Record<string, Nameable>>;
    readonly legacyInitOp?: Operation;
  },
): Promise<void> {
  checkOptions('tf.savedModel.simpleSave', options, { inputs: true, outputs: true, legacyInitOp: true });
  const { legacyInitOp } = options;
  const signature = predictSignatureDef(options.inputs, options.outputs);
  const builder = new SavedModelBuilder(exportDir);
  await builder.addMetaGraphAndVariables(sess, [tagConstants.SERVING], {
    signatureDefMap: { [signatureConstants.DEFAULT_SERVING_SIGNATURE_DEF_KEY]: signature },
    assetsCollection: sess.graph.asDefault(() => getCollection<Tensor>(GraphKeys.ASSET_FILEPATHS)),
    clearDevices: true,
    ...(legacyInitOp && { mainOp: legacyInitOp }),
  });
  builder.save();
}
