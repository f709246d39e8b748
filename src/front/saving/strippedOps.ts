/** @file What a meta graph says about its ops: their list, and defaults that were left out or that are new to us. */
import { opDefOf } from '../../op/opDef.ts';
import { registry } from '../../op/registry.ts';
import { AttrValue } from '../../proto/attr.ts';
import type { FunctionDef, GraphDef, NodeDef } from '../../proto/graph.ts';
import type { OpDef, OpList } from '../../proto/opDef.ts';

/** The ops of a graph and of the functions that it calls, sorted; functions are not among them. */
function opsUsedBy({ node, library }: GraphDef): string[] {
  const functions = new Map((library?.function ?? []).map((f) => [f.signature?.name ?? '', f]));
  const used = new Set<string>();
  const waiting: FunctionDef[] = [];
  const mark = (op: string) => {
    const called = functions.get(op);
    if (called && !used.has(op)) waiting.push(called);
    used.add(op);
  };
  const visit = ({ op, attr }: NodeDef) => {
    mark(op);
    if (op === 'PartitionedCall' || op === 'StatefulPartitionedCall') mark(attr['f']?.func?.name ?? '');
  };
  node.forEach(visit);
  for (let f = waiting.pop(); f; f = waiting.pop()) f.node_def.forEach(visit);
  return [...used].filter((op) => !functions.has(op)).sort();
}

/** The definitions of the ops that a graph uses. */
export function strippedOpList(graph: GraphDef): OpList {
  const op = opsUsedBy(graph).flatMap((name) => registry.get(name) ?? []);
  return { op: op.map(opDefOf) };
}

const sameValue = (a: AttrValue, b: AttrValue) => Buffer.compare(AttrValue.encode(a), AttrValue.encode(b)) === 0;

function changeNodes(graph: GraphDef, change: (node: NodeDef) => NodeDef): GraphDef {
  const functions = graph.library?.function ?? [];
  const own = new Set(functions.map((f) => f.signature?.name ?? ''));
  const each = (nodes: readonly NodeDef[]) => nodes.map((n) => (own.has(n.op) ? n : change(n)));
  return {
    ...graph,
    node: each(graph.node),
    ...(graph.library && {
      library: { ...graph.library, function: functions.map((f) => ({ ...f, node_def: each(f.node_def) })) },
    }),
  };
}

function withoutAttrs(node: NodeDef, drop: (name: string, value: AttrValue) => boolean): NodeDef {
  const kept = Object.entries(node.attr).filter(([name, value]) => !drop(name, value));
  return kept.length === Object.keys(node.attr).length ? node : { ...node, attr: Object.fromEntries(kept) };
}

const defaultOf = (def: OpDef | undefined, name: string) => def?.attr.find((a) => a.name === name)?.default_value;

/** The graph without attributes that have their default value, so that older readers need not know them. */
export function stripDefaultAttrs(graph: GraphDef): GraphDef {
  const defs = new Map<string, OpDef>();
  return changeNodes(graph, (node) => {
    const op = registry.get(node.op);
    if (!op) return node;
    const def = defs.get(node.op) ?? opDefOf(op);
    defs.set(node.op, def);
    return withoutAttrs(node, (name, value) => {
      const usual = defaultOf(def, name);
      return usual !== undefined && sameValue(usual, value);
    });
  });
}

/** The graph without attributes that this version does not have, where they say what its ops do anyway. */
export function removeNewDefaults(graph: GraphDef, producer: OpList): GraphDef {
  const theirs = new Map(producer.op.map((def) => [def.name, def]));
  return changeNodes(graph, (node) => {
    const ours = registry.get(node.op);
    const def = theirs.get(node.op);
    if (!ours || !def) return node;
    return withoutAttrs(node, (name, value) => {
      if (name.startsWith('_') || name in ours.attrSpecs) return false;
      const usual = defaultOf(def, name);
      return usual !== undefined && sameValue(usual, value);
    });
  });
}
