/** @file Building While nodes from the bodies of their condition and step, and reading the bodies back. */
import type { Dims } from '../../core/shape.ts';
import { type FuncGraph, findBody, setBody } from '../../graph/funcGraph.ts';
import { registerFunction } from '../../graph/functionDef.ts';
import type { Operation } from '../../graph/operation.ts';
import { controlDependencies } from '../../graph/scopes.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { hasEffects, markLowered, readBody } from './branches.ts';
import { StatelessWhile, While } from './while.ts';

export interface LoopOptions {
  readonly shapes: readonly Dims[];
  readonly parallelIterations: number;
  readonly name: string;
}

/** A While over these variables; both bodies take all of them. */
export function buildLoop(
  input: readonly Tensor[],
  cond: FuncGraph,
  body: FuncGraph,
  { shapes, parallelIterations, name }: LoopOptions,
): Operation {
  const form = hasEffects(cond) || hasEffects(body) ? While : StatelessWhile;
  const attrs = {
    T: input.map((t) => t.dtype),
    cond: registerFunction(cond),
    body: registerFunction(body),
    output_shapes: shapes,
    parallel_iterations: parallelIterations,
  };
  const waits = [...cond.controlCaptures, ...body.controlCaptures];
  const op = controlDependencies(waits, () => form.node({ input }, { name, attrs }));
  markLowered(op, [cond, body], 0);
  op.setAttr('_num_original_outputs', { i: BigInt(op.outputs.length) });
  setBody(op, 'cond', cond);
  setBody(op, 'body', body);
  return op;
}

/** The body behind the `cond` or `body` of a While. */
export function loopBody(op: Operation, attribute: 'cond' | 'body'): FuncGraph {
  const known = findBody(op, attribute);
  if (known) return known;
  const shapes = op.outputs.map((t) => t.shape);
  const graph = readBody(op, op.attrs[attribute]!.func!, shapes, attribute === 'body');
  for (const [i, argument] of graph.inputs.entries()) argument.standsFor = op.inputs[i];
  setBody(op, attribute, graph);
  return graph;
}
