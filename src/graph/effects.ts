/** @file Automatic control dependencies: effects inside a function happen, and in the order they were written. */
import { resource } from '../core/dtypes.ts';
import type { FuncGraph } from './funcGraph.ts';
import type { Operation } from './operation.ts';
import { schemaOf } from './opSchema.ts';
import type { Tensor } from './tensor.ts';

/** Positions of the resource inputs that an operation with a body only reads. */
export const readOnlyInputs = '_read_only_resource_inputs';

/** Orders effects in the order of the graph's operations, and lets the returned tensors wait for all of them. */
export function orderEffects(graph: FuncGraph, returned: readonly Tensor[]): Operation[] {
  const mustRun: Operation[] = [];
  const lastWrite = new Map<Tensor | null, Operation>();
  const readsSince = new Map<Tensor, Operation[]>();
  for (const op of graph.operations) {
    const { isStateful, effects } = schemaOf(op.type, graph.functions);
    const counts = isStateful && effects !== 'draws';
    if (counts && (effects !== 'reads' || op.outputs.some((t) => t.consumers().length > 0))) mustRun.push(op);
    const before: Operation[] = [];
    const { reads, writes } = resourcesOf(op);
    for (const handle of [...reads, ...writes]) {
      const write = lastWrite.get(handle);
      if (write) before.push(write);
    }
    for (const handle of reads) readsSince.set(handle, [...(readsSince.get(handle) ?? []), op]);
    for (const handle of writes) {
      before.push(...(readsSince.get(handle) ?? []));
      readsSince.delete(handle);
      lastWrite.set(handle, op);
    }
    if (counts && reads.size + writes.size === 0) {
      const other = lastWrite.get(null);
      if (other) before.push(other);
      lastWrite.set(null, op);
    }
    waitFor(op, before);
  }
  if (mustRun.length > 0 && returned.length > 0) {
    const done = graph.asDefault(() => graph.createOp({ type: 'NoOp', inputs: [], controlInputs: mustRun }));
    for (const { op } of returned)
      if (!mustRun.includes(op) && !graph.inputs.some((t) => t.op === op)) waitFor(op, [done]);
  }
  return mustRun;
}

function waitFor(op: Operation, before: readonly Operation[]): void {
  if (before.length === 0) return;
  const all = new Set([...op.controlInputs, ...before]);
  all.delete(op);
  op.controlInputs = [...all];
}

/** The resources that an operation reads, and those that it may change. */
function resourcesOf(op: Operation): { reads: Set<Tensor>; writes: Set<Tensor> } {
  const reads = new Set<Tensor>();
  const writes = new Set<Tensor>();
  const onlyRead = readPositions(op);
  for (const [i, input] of op.inputs.entries())
    if (input.dtype === resource) (onlyRead.includes(i) ? reads : writes).add(behindIdentity(input));
  for (const handle of writes) reads.delete(handle);
  return { reads, writes };
}

function behindIdentity(handle: Tensor): Tensor {
  let at = handle;
  while (schemaOf(at.op.type, at.graph.functions).isIdentity) at = at.op.inputs[0]!;
  return at;
}

function readPositions(op: Operation): readonly number[] {
  if (schemaOf(op.type, op.graph.functions).effects === 'reads') return op.inputs.map((_, i) => i);
  return (op.attrs[readOnlyInputs]?.list?.i ?? []).map(Number);
}

/** Positions of the arguments of functions that are resources and that none of the functions changes. */
export function readOnlyArguments(functions: readonly FuncGraph[]): number[] {
  const count = functions[0]?.inputs.length ?? 0;
  const isRead = (graph: FuncGraph, i: number) => {
    const argument = graph.inputs[i]!;
    return (
      argument.dtype === resource &&
      argument.consumers().every((op) => {
        const positions = readPositions(op);
        return op.inputs.every((t, k) => t !== argument || positions.includes(k));
      })
    );
  };
  return Array.from({ length: count }, (_, i) => i).filter((i) => functions.every((graph) => isRead(graph, i)));
}
