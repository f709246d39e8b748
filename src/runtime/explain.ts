/** @file `tf.graph.explain`: what the simplifier would do before running some tensors, and what would run. */

import { finish } from '../core/eventLoop.ts';
import type { Operation } from '../graph/operation.ts';
import { Tensor } from '../graph/tensor.ts';
import { FunctionLibrary } from './functions.ts';
import { prune, RunGraph, type RunNode } from './runGraph.ts';
import { type Simplified, simplify } from './simplify.ts';

/**
 * Tells in words how a tensor or operation would be computed: each rewrite made, and the nodes that remain.
 *
 * @example console.log(tf.graph.explain(y));
 */
export function explain(...fetches: readonly (Tensor | Operation)[]): string {
  const owner = fetches[0]!.graph;
  const functions = new FunctionLibrary(true);
  functions.add(owner.functions.values());
  const graph = new RunGraph(functions.findOp);
  graph.extend(owner.operations.map((op) => op.nodeDef));
  const ports = fetches.filter((f): f is Tensor => f instanceof Tensor).map((t) => graph.port(t.name, 'FetchOutputs'));
  const targets = fetches.filter((f): f is Operation => !(f instanceof Tensor)).map((op) => graph.target(op.name));
  const nodes = prune([...ports.map((p) => p.node), ...targets], () => false);
  const result = finish(simplify({ nodes, feeds: [], fetches: ports, targets }, true));
  return describe(nodes, result);
}

function describe(before: readonly RunNode[], { nodes, report }: Simplified): string {
  const lines = [`${before.length} nodes become ${nodes.length}.`];
  if (report.length > 0) lines.push('Rewrites:', ...report.map((line) => `  ${line}`));
  lines.push('What runs:');
  for (const node of nodes) {
    const inputs = node.inputs.map((p) => (p.index === 0 ? p.node.name : `${p.node.name}:${p.index}`));
    lines.push(`  ${node.name} = ${node.def.name}(${inputs.join(', ')})`);
  }
  return lines.join('\n');
}
