/** @file Collections of a graph as meta graphs store them: objects as messages, nodes by name, plain values as they are. */
import type { Work } from '../../core/eventLoop.ts';
import type { Graph } from '../../graph/graph.ts';
import { isInScope, prependNameScope, stripNameScope } from '../../graph/scopedNames.ts';
import { AnyProto, type CollectionDef } from '../../proto/metaGraph.ts';
import { GraphKeys } from '../collections.ts';
import { type ProtoFunctions, protoFunctionsOf, variableCollections } from './protoFunctions.ts';

/** A message of a type that only its writer knows, as collections of TensorFlow keep them. */
export class AnyMessage {
  constructor(
    readonly typeUrl: string,
    readonly value: Uint8Array,
  ) {}
}

/** What names of operations are given to an exported graph without its scope. */
export const unboundPrefix = '$unbound_inputs_';

export interface Exported {
  readonly scope?: string | undefined;
  /** Nodes that are left out. */
  readonly excluded?: ReadonlySet<string> | undefined;
}

/** Whether a node of that name is exported. */
export function isExported(name: string, { scope, excluded }: Exported): boolean {
  if (excluded?.has(name)) return false;
  return name.startsWith(unboundPrefix) || isInScope(name, scope);
}

const nameOf = (item: unknown): string | undefined => {
  if (typeof item === 'string') return item;
  const name = typeof item === 'object' && item !== null && 'name' in item ? item.name : undefined;
  return typeof name === 'string' ? name : undefined;
};

/** The collection of that name as a message; undefined when it has nothing that is exported, or that can be stored. */
export function* collectionDefOf(
  key: string,
  items: readonly unknown[],
  exported: Exported,
): Work<Partial<CollectionDef> | undefined> {
  const chosen = items.filter((item) => {
    const name = nameOf(item);
    return name === undefined || isExported(name, exported);
  });
  if (chosen.length === 0) return undefined;
  const functions = protoFunctionsOf(key);
  try {
    return functions ? yield* encoded(chosen, functions, exported.scope) : plain(chosen, exported.scope);
  } catch (error) {
    warnOnce(key, error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

function* encoded(
  items: readonly unknown[],
  functions: ProtoFunctions,
  scope: string | undefined,
): Work<Partial<CollectionDef>> {
  const value: Uint8Array[] = [];
  for (const [i, item] of items.entries()) {
    const bytes = functions.encode(item, scope);
    if (bytes) value.push(bytes);
    if (i % 64 === 63) yield;
  }
  return { bytes_list: { value } };
}

const isBytes = (x: unknown): x is string | Uint8Array => typeof x === 'string' || x instanceof Uint8Array;
const isNumber = (x: unknown): x is number | bigint | boolean =>
  typeof x === 'number' || typeof x === 'bigint' || typeof x === 'boolean';
const isWhole = (x: number | bigint | boolean) => typeof x !== 'number' || Number.isSafeInteger(x);

function plain(items: readonly unknown[], scope: string | undefined): Partial<CollectionDef> {
  if (items.every(isBytes))
    return { bytes_list: { value: items.map((x) => (typeof x === 'string' ? new TextEncoder().encode(x) : x)) } };
  if (items.every(isNumber))
    return items.every(isWhole)
      ? { int64_list: { value: items.map((x) => BigInt(x)) } }
      : { float_list: { value: items.map(Number) } };
  if (items.every((x) => x instanceof AnyMessage))
    return { any_list: { value: items.map((x) => AnyProto.create({ type_url: x.typeUrl, value: x.value })) } };
  const value = items.map((item) => {
    const name = typeof item === 'string' ? undefined : nameOf(item);
    if (name === undefined) throw new Error('its items are of different kinds, or of a kind that cannot be stored');
    return stripNameScope(name, scope);
  });
  return { node_list: { value } };
}

const warned = new Set<string>();
function warnOnce(key: string, why: string): void {
  if (warned.has(key)) return;
  warned.add(key);
  process.emitWarning(`The collection '${key}' is not in the meta graph: ${why}.`);
}

/** Fills the collections of a graph with what a meta graph says; `wanted` may leave some out. */
export function importCollections(
  graph: Graph,
  defs: Readonly<Record<string, CollectionDef>>,
  importScope: string,
  options: { readonly wanted: (key: string) => boolean; readonly trainableKnown: boolean },
): void {
  // Variables that are in several collections are one object, and the trainable ones come first: as in Python.
  const first = GraphKeys.TRAINABLE_VARIABLES;
  const keys = Object.keys(defs).sort((a, b) => (a === first ? -1 : b === first ? 1 : a < b ? -1 : 1));
  const variables = new Map<string, unknown>();
  for (const key of keys) {
    if (!options.wanted(key)) continue;
    for (const item of itemsOf(graph, key, defs[key]!, importScope, variables, options.trainableKnown))
      graph.addToCollection(key, item);
  }
}

function itemsOf(
  graph: Graph,
  key: string,
  def: CollectionDef,
  importScope: string,
  variables: Map<string, unknown>,
  trainableKnown: boolean,
): unknown[] {
  const functions = protoFunctionsOf(key);
  if (functions && def.bytes_list)
    return def.bytes_list.value.map((bytes) => {
      if (!variableCollections.includes(key)) return functions.decode(bytes, importScope);
      const id = Buffer.from(bytes).toString('latin1');
      const variable = variables.get(id) ?? functions.decode(bytes, importScope);
      // Before TensorFlow 1.9 only the collection told whether a variable is trained.
      if (!trainableKnown && !variables.has(id))
        Object.defineProperty(variable, 'trainable', { value: key === GraphKeys.TRAINABLE_VARIABLES });
      variables.set(id, variable);
      return variable;
    });
  if (def.node_list)
    return def.node_list.value.map((name) => graph.asGraphElement(prependNameScope(name, importScope)));
  if (def.int64_list) return def.int64_list.value.map((x) => (Number.isSafeInteger(Number(x)) ? Number(x) : x));
  if (def.float_list) return [...def.float_list.value];
  if (def.any_list) return def.any_list.value.map((x) => new AnyMessage(x.type_url, x.value));
  return (def.bytes_list?.value ?? []).map((bytes) => textOrBytes(bytes, importScope));
}

/** Text comes back as text; other bytes stay bytes. */
function textOrBytes(bytes: Uint8Array, importScope: string): string | Uint8Array {
  try {
    return prependNameScope(new TextDecoder('utf-8', { fatal: true }).decode(bytes), importScope);
  } catch {
    return bytes;
  }
}
