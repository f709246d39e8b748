/** @file importMetaGraph: a stored graph becomes part of the default graph, with its collections and its saver. */
import type { Operation } from '../../graph/operation.ts';
import { checkOptions, type OptionNames } from '../../graph/options.ts';
import type { Tensor } from '../../graph/tensor.ts';
import type { MetaGraphDef } from '../../proto/metaGraph.ts';
import { GraphKeys, getCollection } from '../collections.ts';
import { Saver } from '../saver.ts';
import { type ImportScopedOptions, importScoped, readMetaGraphFile } from './metaGraph.ts';

const optionNames: OptionNames<ImportScopedOptions> = {
  clearDevices: true,
  importScope: true,
  inputMap: true,
  returnElements: true,
  restoreCollections: true,
};

/**
 * Adds the graph of a `.meta` file, or of a message, to the default graph; gives the saver that restores its variables, one
 * that does nothing where it has none.
 *
 * @example
 * const saver = tf.train.importMetaGraph('run1/model-100.meta');
 * await saver.restore(new tf.Session(), 'run1/model-100');
 */
export function importMetaGraph(metaGraphOrFile: MetaGraphDef | string, options: ImportScopedOptions = {}): Saver {
  const { saver } = importMetaGraphWithReturnElements(metaGraphOrFile, options);
  return saver ?? new Saver({ varList: [], allowEmpty: true });
}

/** As `importMetaGraph`, with the `returnElements` of the graph; the saver is null where it has no variables. */
export function importMetaGraphWithReturnElements(
  metaGraphOrFile: MetaGraphDef | string,
  options: ImportScopedOptions = {},
): { readonly saver: Saver | null; readonly elements: (Operation | Tensor)[] } {
  checkOptions('tf.train.importMetaGraph', options, optionNames);
  const def = typeof metaGraphOrFile === 'string' ? readMetaGraphFile(metaGraphOrFile) : metaGraphOrFile;
  const { variables, elements } = importScoped(def, options);
  return { saver: saverFor(def, options.importScope, variables), elements };
}

function saverFor(
  { saver_def: saverDef }: MetaGraphDef,
  importScope: string | undefined,
  variables: Readonly<Record<string, { readonly name: string }>>,
): Saver | null {
  if (saverDef) {
    // The scope may have been made unique; a variable tells what became of it.
    const [sample] = Object.entries(variables);
    const scope = sample ? sample[1].name.slice(0, -sample[0].length) : importScope;
    return new Saver({ saverDef, name: scope });
  }
  const keys = [GraphKeys.GLOBAL_VARIABLES, GraphKeys.SAVEABLE_OBJECTS];
  return keys.some((key) => getCollection(key, importScope).length > 0) ? new Saver() : null;
}
