/** @file GraphDef export: a graph as the message that TensorFlow's files and servers use. */
import { finish, type Work } from '../core/eventLoop.ts';
import { AttrList } from '../proto/attr.ts';
import type { GraphDef, NodeDef } from '../proto/graph.ts';
import { shapeToProto } from '../proto/tensorProto.ts';
import type { Graph } from './graph.ts';
import type { Operation } from './operation.ts';

export interface ExportOptions {
  /** Only operations added since the graph's `version` had this value. */
  readonly fromVersion?: number;
  /** Adds `_output_shapes`, the static shapes, to every node. */
  readonly addShapes?: boolean;
}

/** The graph as a message. It shares attributes with the graph, so it is to be read, not changed. */
export function exportGraphDef(graph: Graph, options: ExportOptions): GraphDef {
  return finish(exportingGraphDef(graph, options));
}

/** The graph as it is when the work begins, whatever is added to it meanwhile. */
export function* exportingGraphDef(graph: Graph, options: ExportOptions): Work<GraphDef> {
  const { fromVersion = 0, addShapes = false } = options;
  const { rewrites } = graph;
  const functions = [...graph.functions.values()];
  const { versions, functionGradients: gradient, registeredGradients: registered_gradients } = graph;
  const operations = graph.operations.slice(fromVersion);
  const node: NodeDef[] = [];
  for (const op of operations) if (node.push(addShapes ? withShapes(op) : op.nodeDef) % 256 === 0) yield;
  // A node that was given inputs meanwhile may name nodes that are not among these.
  if (graph.rewrites !== rewrites) return exportGraphDef(graph, options);
  const library = { function: functions, gradient, registered_gradients };
  return { node, version: 0, versions, ...(functions.length > 0 ? { library } : {}) };
}

const emptyAttrList = AttrList.create();

function withShapes(op: Operation): NodeDef {
  const def = op.nodeDef;
  if (op.outputs.length === 0) return def;
  const list = { ...emptyAttrList, shape: op.outputs.map((t) => shapeToProto(t.shape)) };
  return { ...def, attr: { ...def.attr, _output_shapes: { list } } };
}
