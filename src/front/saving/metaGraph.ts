/** @file Meta graphs: a graph with its collections and saver, as one message that builds it again. */
import { finish, inTurns, type Work } from '../../core/eventLoop.ts';
import { exportingGraphDef } from '../../graph/export.ts';
import { type Graph, getDefaultGraph } from '../../graph/graph.ts';
import { parseTensorName } from '../../graph/graphDefIndex.ts';
import type { InputMapping } from '../../graph/import.ts';
import type { Operation } from '../../graph/operation.ts';
import { isInScope, stripNameScope } from '../../graph/scopedNames.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { importGraphDef } from '../../op/importGraphDef.ts';
import { AttrList } from '../../proto/attr.ts';
import type { GraphDef, NodeDef } from '../../proto/graph.ts';
import type { Init } from '../../proto/message.ts';
import { type CollectionDef, MetaGraphDef, MetaInfoDef, type SaverDef } from '../../proto/metaGraph.ts';
import { GraphKeys } from '../collections.ts';
import type { Variable } from '../variable.ts';
import { collectionDefOf, type Exported, importCollections, isExported, unboundPrefix } from './collectionDefs.ts';
import { protoFunctionsOf } from './protoFunctions.ts';
import { removeNewDefaults, stripDefaultAttrs, strippedOpList } from './strippedOps.ts';
import { readMessage, writeMessage, writeMessageInTurns } from './writeGraph.ts';

/** The TensorFlow whose meta graphs these are; readers look at it to know what the fields mean. */
const formatVersion = '2.21.0';

/** The collection of names that an importer of an exported scope must supply. */
const unboundCollection = 'unbound_inputs';

export interface ExportMetaGraphOptions {
  /** A file to be written. */
  readonly filename?: string | undefined;
  readonly metaInfoDef?: Init<MetaInfoDef> | undefined;
  /** The nodes, if not those of the graph. */
  readonly graphDef?: GraphDef | undefined;
  readonly saverDef?: SaverDef | undefined;
  /** Collections to be stored; all unless given. */
  readonly collectionList?: readonly string[] | undefined;
  /** Writes the file as text. */
  readonly asText?: boolean | undefined;
  /** The default graph unless given. */
  readonly graph?: Graph | undefined;
  /** Only what is under this name scope, without it. */
  readonly exportScope?: string | undefined;
  /** Forgets on which devices nodes were. */
  readonly clearDevices?: boolean | undefined;
  /** Leaves out savers other than that of `saverDef`, and their nodes. */
  readonly clearExtraneousSavers?: boolean | undefined;
  /** Leaves out attributes that have their default value, which older readers may not know. */
  readonly stripDefaultAttrs?: boolean | undefined;
}

/** Makes the message of a graph as it is when the work begins, whatever is added to it meanwhile. */
function* exporting(options: ExportMetaGraphOptions): Work<MetaGraphDef> {
  const { graph = getDefaultGraph(), saverDef, exportScope, clearDevices = false } = options;
  const collections = collectionsOf(graph, options);
  const whole = options.graphDef ?? (yield* exportingGraphDef(graph, { addShapes: true }));
  const excluded = options.clearExtraneousSavers ? extraneousSaverNodes(whole, saverDef) : undefined;
  const exported: Exported = { scope: exportScope, excluded };
  let graphDef = whole;
  if (exportScope || excluded || clearDevices) {
    const unbound: string[] = [];
    const node = whole.node
      .filter(({ name }) => isExported(name, exported))
      .map((def) => scopedNode(def, exportScope, clearDevices, unbound));
    graphDef = { ...whole, node };
    graph.clearCollection(unboundCollection);
    for (const name of unbound) graph.addToCollection(unboundCollection, name);
    if (options.collectionList?.includes(unboundCollection) ?? true) collections.set(unboundCollection, unbound);
  }
  const collection_def: Record<string, CollectionDef> = {};
  for (const [key, items] of collections) {
    const def = yield* collectionDefOf(key, items, exported);
    if (def) collection_def[key] = def;
  }
  const opList = options.metaInfoDef?.stripped_op_list;
  return {
    meta_info_def: MetaInfoDef.create({
      ...options.metaInfoDef,
      stripped_op_list: opList?.op?.length ? opList : strippedOpList(graphDef),
      tensorflow_version: formatVersion,
      tensorflow_git_version: 'tensorloom',
      stripped_default_attrs: options.stripDefaultAttrs ?? false,
    }),
    graph_def: options.stripDefaultAttrs ? stripDefaultAttrs(graphDef) : graphDef,
    ...(saverDef && { saver_def: saverDef }),
    collection_def,
    signature_def: {},
    asset_file_def: [],
  };
}

/** The members of the collections that are stored, by key. */
function collectionsOf(
  graph: Graph,
  { collectionList, clearExtraneousSavers, saverDef }: ExportMetaGraphOptions,
): Map<string, readonly unknown[]> {
  const result = new Map<string, readonly unknown[]>();
  for (const key of collectionList ?? graph.getAllCollectionKeys()) {
    let items: readonly unknown[] = graph.getCollection(key);
    if (clearExtraneousSavers && key === GraphKeys.SAVERS)
      items = saverDef ? items.filter((item) => isSaverOf(item, saverDef)).slice(0, 1) : [];
    result.set(key, items);
  }
  return result;
}

function isSaverOf(item: unknown, { save_tensor_name }: SaverDef): boolean {
  const bytes = protoFunctionsOf(GraphKeys.SAVERS)?.encode(item, undefined);
  return bytes !== undefined && Buffer.from(bytes).includes(Buffer.from(save_tensor_name));
}

/** A node without the scope that is exported; inputs from outside are marked, for the importer to supply. */
function scopedNode(def: NodeDef, scope: string | undefined, clearDevices: boolean, unbound: string[]): NodeDef {
  const input = def.input.map((name) => {
    if (isInScope(name.replace(/^\^/, ''), scope)) return stripNameScope(name, scope);
    const marked = name.startsWith('^') ? `^${unboundPrefix}${name.slice(1)}` : `${unboundPrefix}${name}`;
    unbound.push(marked);
    return marked;
  });
  const attr = Object.fromEntries(
    Object.entries(def.attr).map(([name, value]) => {
      if (name === '_class') {
        const groups = (value.list?.s ?? []).map((s) => new TextDecoder().decode(s));
        const kept = groups.filter((s) => isInScope(s.split('@')[1] ?? '', scope));
        return [name, { list: AttrList.create({ s: kept.map((s) => encode(stripNameScope(s, scope))) }) }];
      }
      if (name === 'frame_name' && value.s)
        return [name, { s: encode(stripNameScope(new TextDecoder().decode(value.s), scope)) }];
      return [name, value];
    }),
  );
  return { ...def, name: stripNameScope(def.name, scope), input, attr, device: clearDevices ? '' : def.device };
}

const encode = (text: string) => new TextEncoder().encode(text);

const savingOps = new Set([
  'SaveV2',
  'Save',
  'SaveSlice',
  'LegacySave',
  'LegacySaveSlice',
  'RestoreV2',
  'Restore',
  'RestoreSlice',
  'LegacyRestore',
  'LegacyRestoreSlice',
]);

/** Nodes of savers other than one: those in the scopes that saving nodes are in. */
function extraneousSaverNodes({ node }: GraphDef, saver: SaverDef | undefined): Set<string> {
  const scopeOf = (name: string) => name.slice(0, name.lastIndexOf('/') + 1);
  const saving = node.filter(({ op }) => savingOps.has(op)).map(({ name }) => name);
  const scopes = new Set(saving.map(scopeOf).filter((scope) => !saving.includes(scope.slice(0, -1))));
  if (saver) {
    scopes.delete(scopeOf(parseTensorName(saver.save_tensor_name).name));
    scopes.delete(scopeOf(saver.restore_op_name));
  }
  scopes.delete('');
  return new Set(node.map(({ name }) => name).filter((name) => [...scopes].some((scope) => name.startsWith(scope))));
}

/**
 * The default graph, or a part of it, as a message: its nodes, its collections and its saver. Also written to a file, where one
 * is named.
 *
 * @example tf.train.exportMetaGraph({ filename: 'run1/model.meta' }).graph_def.node.length
 */
export function exportMetaGraph(options: ExportMetaGraphOptions = {}): MetaGraphDef {
  const def = finish(exporting(options));
  if (options.filename !== undefined) writeMessage(options.filename, MetaGraphDef, def, options.asText ?? false);
  return def;
}

/** Writes a graph as it is now to a file of bytes, in turns with whatever else wants the event loop. */
export async function writeMetaGraph(
  filename: string,
  options: Pick<ExportMetaGraphOptions, 'graph' | 'saverDef' | 'stripDefaultAttrs'>,
): Promise<void> {
  await writeMessageInTurns(filename, MetaGraphDef, await inTurns(exporting(options)));
}

export interface ImportScopedOptions {
  /** Forgets on which devices nodes were. */
  readonly clearDevices?: boolean | undefined;
  /** The name scope that the nodes go to. */
  readonly importScope?: string | undefined;
  /** Replaces inputs, as for `tf.importGraphDef`. */
  readonly inputMap?: Readonly<Record<string, TensorLike | InputMapping>> | undefined;
  /** Names of operations and tensors of the message to give back. */
  readonly returnElements?: readonly string[] | undefined;
  /** Which collections are filled; all unless given. */
  readonly restoreCollections?: ((key: string) => boolean) | undefined;
}

/** Adds a meta graph to the default graph; gives its variables by their names in the message. */
export function importScoped(
  def: MetaGraphDef,
  options: ImportScopedOptions,
): { readonly variables: Record<string, Variable>; readonly elements: (Operation | Tensor)[] } {
  const { inputMap, importScope, clearDevices = false } = options;
  throwIfUnbound(def, inputMap);
  const graph = getDefaultGraph();
  const producer = def.meta_info_def?.stripped_op_list;
  let graphDef: GraphDef = def.graph_def ?? { node: [], version: 0 };
  if (producer) graphDef = removeNewDefaults(graphDef, producer);
  if (clearDevices) graphDef = { ...graphDef, node: graphDef.node.map((node) => ({ ...node, device: '' })) };
  const scope = importScope ? graph.uniqueName(importScope, false) : '';
  const elements = importGraphDef(graphDef, {
    name: importScope ?? '',
    inputMap,
    returnElements: options.returnElements,
  });
  const wanted = options.restoreCollections ?? (() => true);
  importCollections(graph, def.collection_def, scope, {
    wanted: (key) => key !== unboundCollection && wanted(key),
    trainableKnown: !/^(0\.|1\.[0-8](\.|$|-))/.test(def.meta_info_def?.tensorflow_version ?? ''),
  });
  const variables: Record<string, Variable> = {};
  for (const item of graph.getCollection(GraphKeys.GLOBAL_VARIABLES)) {
    const variable = item as Variable; // what this collection is for
    if (isInScope(variable.name, scope)) variables[stripNameScope(variable.name, scope)] = variable;
  }
  return { variables, elements };
}

function throwIfUnbound(def: MetaGraphDef, inputMap: ImportScopedOptions['inputMap'] = {}): void {
  const list = def.collection_def[unboundCollection]?.bytes_list?.value ?? [];
  const missing = list.map((bytes) => new TextDecoder().decode(bytes)).filter((name) => !(name in inputMap));
  if (missing.length > 0)
    throw userError(
      `Graph contains unbound inputs: ${missing.join(',')}. Must provide these inputs through inputMap, as in { inputMap: { '${missing[0]}': x } }.`,
    );
}

/** The meta graph in a file, of bytes or of text. */
export function readMetaGraphFile(path: string): MetaGraphDef {
  return readMessage(path, MetaGraphDef);
}
