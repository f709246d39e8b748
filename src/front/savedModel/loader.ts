/** @file Loader of SavedModels: graph, variables and files of a folder go into a session. */
import { NotFoundError } from '../../core/errors.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import { prependNameScope } from '../../graph/scopedNames.ts';
import { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { exists } from '../../io/gfile.ts';
import { joinPath } from '../../io/paths.ts';
import { AssetFileDef, type MetaGraphDef, SavedModel } from '../../proto/metaGraph.ts';
import type { SaverSession } from '../saver.ts';
import { importMetaGraphWithReturnElements } from '../saving/importMetaGraph.ts';
import type { ImportScopedOptions } from '../saving/metaGraph.ts';
import { readMessage } from '../saving/writeGraph.ts';
import * as constants from './constants.ts';

/** Whether a folder may hold a SavedModel: it has the file that every one has. */
export function maybeSavedModelDirectory(exportDir: string): boolean {
  const files = [constants.SAVED_MODEL_FILENAME_PB, constants.SAVED_MODEL_FILENAME_PBTXT];
  return files.some((name) => exists(joinPath(exportDir, name)));
}
/** The newer name of `maybeSavedModelDirectory`. */
export const containsSavedModel = maybeSavedModelDirectory;

/** The message of a SavedModel: its graphs. */
export function parseSavedModel(exportDir: string): SavedModel {
  for (const name of [constants.SAVED_MODEL_FILENAME_PB, constants.SAVED_MODEL_FILENAME_PBTXT]) {
    const path = joinPath(exportDir, name);
    if (exists(path)) return readMessage(path, SavedModel);
  }
  throw new NotFoundError(
    `SavedModel file does not exist at: ${exportDir}/{${constants.SAVED_MODEL_FILENAME_PBTXT}|${constants.SAVED_MODEL_FILENAME_PB}}`,
  );
}

/** The graph that has exactly these tags. */
function metaGraphWithTags({ meta_graphs }: SavedModel, tags: readonly string[]): MetaGraphDef {
  const wanted = [...new Set(tags)].sort().join(',');
  const tagsOf = (def: MetaGraphDef) => [...(def.meta_info_def?.tags ?? [])].sort();
  const found = meta_graphs.find((def) => tagsOf(def).join(',') === wanted);
  if (found) return found;
  const there = meta_graphs.map((def) => `[${tagsOf(def).join(', ')}]`).join(', ');
  throw userError(
    `MetaGraphDef associated with tags ${tags.join(', ')} could not be found in SavedModel, with available tags '${there}'.`,
  );
}

export type LoadOptions = Omit<ImportScopedOptions, 'returnElements'>;

/**
 * Loads a graph of a SavedModel into a session's graph, restores its variables and runs what it wants to be run first. Gives the
 * message of the graph, with its signatures.
 *
 * @example
 * const sess = new tf.Session({ graph: new tf.Graph() });
 * const { signature_def } = await tf.savedModel.load(sess, [tf.savedModel.tagConstants.SERVING], 'export');
 */
export async function load(
  sess: SaverSession,
  tags: readonly string[],
  exportDir: string,
  options: LoadOptions = {},
): Promise<MetaGraphDef> {
  onlyOptions('tf.savedModel.load', options, 'clearDevices', 'importScope', 'inputMap', 'restoreCollections');
  const def = metaGraphWithTags(parseSavedModel(exportDir), tags);
  const { graph } = sess;
  const saver = graph.asDefault(() => importMetaGraphWithReturnElements(def, options).saver);
  const variables = joinPath(exportDir, constants.VARIABLES_DIRECTORY, constants.VARIABLES_FILENAME);
  await saver?.restore(sess, variables);
  const first = initOp(def, sess, options.importScope);
  if (first) {
    const feeds = assetPaths(exportDir, def).map(
      ([name, path]) => [graph.getTensorByName(prependNameScope(name, options.importScope)), path] as const,
    );
    await sess.run(first, feeds);
  }
  return def;
}

/** The operation that a loaded graph wants to be run before anything else. */
function initOp(def: MetaGraphDef, { graph }: SaverSession, importScope: string | undefined): Operation | undefined {
  const key = '__saved_model_init_op';
  const named = def.signature_def[key]?.outputs[key]?.name;
  const element = named === undefined ? fromCollection(def) : named;
  if (element === undefined) return undefined;
  const found = graph.asGraphElement(prependNameScope(element, importScope));
  return found instanceof Tensor ? found.op : found;
}

function fromCollection({ collection_def }: MetaGraphDef): string | undefined {
  for (const key of [constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY]) {
    const list = collection_def[key]?.node_list?.value;
    if (!list) continue;
    if (list.length !== 1)
      throw userError(`Expected exactly one SavedModel init op. Found ${list.length}: ${list.join(', ')}.`);
    return list[0];
  }
  return undefined;
}

/** The tensors that hold paths of a model's files, and where the files are now. */
function assetPaths(exportDir: string, def: MetaGraphDef): [tensor: string, path: string][] {
  const listed = def.collection_def[constants.ASSETS_KEY]?.any_list?.value ?? [];
  const assets =
    def.asset_file_def.length > 0 ? def.asset_file_def : listed.map((any) => AssetFileDef.decode(any.value));
  return assets.map(({ tensor_info, filename }) => [
    tensor_info?.name ?? '',
    joinPath(exportDir, constants.ASSETS_DIRECTORY, filename),
  ]);
}
