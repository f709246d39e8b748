/** @file GraphDef export: a graph as the message that TensorFlow's files and servers use. */
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
export function exportGraphDef(graph: Graph, { fromVersion = 0, addShapes = false }: ExportOptions): GraphDef {
  const node = graph.operations.slice(fromVersion).map((op) => (addShapes ? withShapes(op) : op.nodeDef));
  const library = {
    function: [...graph.functions.values()],
    gradient: graph.functionGradients,
    registered_gradients: graph.registeredGradients,
  };
  return { node, version: 0, versions: graph.versions, ...(library.function.length > 0 ? { library } : {}) };
}

function withShapes(op: Operation): NodeDef {
  const def = op.nodeDef;
  if (op.outputs.length === 0) return def;
  const list = AttrList.create({ shape: op.outputs.map((t) => shapeToProto(t.shape)) });
  return { ...def, attr: { ...def.attr, _output_shapes: { list } } };
}
