/** @file Functions on GraphDefs: the part that some nodes need, and the part that inference needs. */
import { int32, string } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import type { Dims } from '../../core/shape.ts';
import type { Graph } from '../../graph/graph.ts';
import { Operation } from '../../graph/operation.ts';
import type { GraphDef, NodeDef } from '../../proto/graph.ts';

/** The node that an input comes from. */
const nodeOf = (input: string) => (input.startsWith('^') ? input.slice(1) : input.split(':')[0]!);

function colocatedWith({ attr }: NodeDef): string[] {
  return (attr['_class']?.list?.s ?? []).map((bytes) => new TextDecoder().decode(bytes).replace(/^loc:@/, ''));
}

/** The nodes that are needed to compute the nodes of the given names, in the order they had. */
export function extractSubGraph(graphDef: GraphDef, destNodes: readonly string[]): GraphDef {
  if (typeof destNodes === 'string')
    throw new InvalidArgumentError(`extractSubGraph takes a list of names, as in ['${destNodes}']`);
  const byName = new Map(graphDef.node.map((node) => [node.name, node]));
  for (const name of destNodes) if (!byName.has(name)) throw new InvalidArgumentError(`${name} is not in graph`);
  const kept = new Set<string>();
  const waiting = [...destNodes];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (kept.has(name)) continue;
    kept.add(name);
    const node = byName.get(name);
    if (node) waiting.push(...node.input.map(nodeOf), ...colocatedWith(node));
  }
  return { ...graphDef, node: graphDef.node.filter(({ name }) => kept.has(name)) };
}

/** The graph without what only training needs: `CheckNumerics`, and `Identity` and `StopGradient` that nothing waits for. */
export function removeTrainingNodes(
  graphDef: GraphDef,
  options: { readonly protectedNodes?: readonly string[] } = {},
): GraphDef {
  const isProtected = new Set(options.protectedNodes ?? []);
  const removed = new Set(
    graphDef.node.filter((n) => n.op === 'CheckNumerics' && !isProtected.has(n.name)).map((n) => n.name),
  );
  const left = graphDef.node
    .filter(({ name }) => !removed.has(name))
    .map((node) => ({ ...node, input: node.input.filter((input) => !removed.has(input.replace(/^\^/, ''))) }));
  const waitedFor = new Set<string>();
  const waiting = new Set<string>();
  const places = new Set(left.flatMap(colocatedWith));
  for (const { name, input } of left)
    for (const text of input)
      if (text.startsWith('^')) {
        waitedFor.add(text.slice(1));
        waiting.add(name);
      }
  const spliced = new Map<string, string>();
  for (const { name, op, input } of left)
    if (
      (op === 'Identity' || op === 'StopGradient') &&
      input[0] !== undefined &&
      ![isProtected, places, waiting, waitedFor].some((names) => names.has(name))
    )
      spliced.set(name, input[0]);
  const source = (input: string): string => {
    let now = input;
    for (let next = spliced.get(now.replace(/^\^/, '')); next !== undefined; next = spliced.get(now.replace(/^\^/, '')))
      now = next;
    return now;
  };
  const node = left
    .filter(({ name }) => !spliced.has(name))
    .map((n): NodeDef => ({ ...n, input: n.input.map(source) }));
  return { node, version: 0 };
}

/** The shape of a tensor by the name that a node's input has for it. */
export function tensorShapeFromNodeDefName(graph: Graph, inputName: string): Dims {
  return graph.getTensorByName(inputName.includes(':') ? inputName : `${inputName}:0`).shape;
}

const variableOps = new Set([
  'Assign',
  'AssignAdd',
  'AssignSub',
  'Queue',
  'ScatterAdd',
  'ScatterSub',
  'ScatterUpdate',
  'TruncatedNormal',
  'Variable',
  'VariableV2',
]);

/** Whether a node can only run on the processor: it makes texts or whole numbers. */
export function mustRunOnCpu(
  node: Operation | NodeDef,
  options: { readonly pinVariablesOnCpu?: boolean } = {},
): boolean {
  const { op, attr } = node instanceof Operation ? node.nodeDef : node;
  if (options.pinVariablesOnCpu && variableOps.has(op)) return true;
  const type = (name: string) => attr[name]?.type;
  if (op === 'Const') return type('dtype') === string.number || type('dtype') === int32.number;
  if (op === 'DynamicStitch' || op === 'ParallelDynamicStitch') return type('T') === int32.number;
  return op === 'Cast' && type('SrcT') === int32.number;
}
