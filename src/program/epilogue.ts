/** @file Maps that follow a matrix product become part of it: they run on each piece of the product while it is in the cache. */

import { type DType, float32, float64 } from '../core/dtypes.ts';
import type { Work } from '../core/eventLoop.ts';
import { sameShape, sizeOf, stridesOf } from '../core/shape.ts';
import { readsOf } from './access.ts';
import { axesUsed, canFail } from './inspect.ts';
import {
  type Buffer,
  type DeviceInstruction,
  type DotInstruction,
  type MapInstruction,
  type Origin,
  storageOf,
  type View,
} from './instructions.ts';
import { Rewriting } from './rewriting.ts';
import { isContiguous, reshapeView, transposeView } from './value.ts';

type Dot = DotInstruction & Origin;
type Map_ = MapInstruction & Origin;

/** Joins maps to the products they read. `keep` are buffers needed after the segment. */
export function* fuseEpilogues(
  instructions: readonly DeviceInstruction[],
  keep: ReadonlySet<Buffer>,
): Work<DeviceInstruction[]> {
  const list = new Rewriting(instructions, keep);
  /** Products that nothing follows yet, by their output. */
  const products = new Map<Buffer, number>();

  /** Puts the map behind the last product it reads, if it fits there. */
  function attach(map: Map_): boolean {
    // What can fail stays by itself, so that its failure names its own node.
    if (map.results.some((r) => canFail(r))) return false;
    const at = Math.max(...map.inputs.map((v) => products.get(v.buffer) ?? -1));
    const dot = list.at(at);
    if (dot?.kind !== 'dot') return false;
    const after = overProduct(map, dot.output);
    if (!after || after.outputs.some((v) => touches(dot, v))) return false;
    const unseen = list.isReadOnlyBy(map, dot.output.buffer);
    const joined: Dot =
      unseen && isCopy(after)
        ? { ...dot, output: after.outputs[0]! }
        : { ...dot, after, ...(unseen && isFast(dot.output.dtype) ? { passing: true } : {}) };
    if (!list.join(at, map, joined)) return false;
    products.delete(dot.output.buffer);
    return true;
  }

  for (const i of instructions) {
    yield;
    if (i.kind === 'map' && attach(i)) continue;
    const position = list.push(i);
    if (i.kind === 'dot' && i.output.buffer.kind === 'temp' && isContiguous(i.output))
      products.set(i.output.buffer, position);
  }
  return list.instructions;
}

/** Types whose products devices compute piece by piece. */
export const isFast = (dtype: DType): boolean => dtype === float32 || dtype === float64;

/** Whether a product reads or writes the memory behind a view. */
function touches(dot: DotInstruction, view: View): boolean {
  return [...readsOf(dot), dot.output].some((v) => storageOf(v.buffer) === storageOf(view.buffer));
}

/** Whether a map only moves the product somewhere else, where the product could be written in the first place. */
function isCopy({ results, outputs, inputs }: MapInstruction): boolean {
  const [result, output] = [results[0]!, outputs[0]!];
  return results.length === 1 && inputs.length === 1 && result.op === 'input' && output.strides.slice(-2).includes(1);
}

/** The map with the product's own axes, if it looks at every element of the product once, in any order of axes. */
function overProduct(map: Map_, output: View): Map_ | undefined {
  const seen = map.inputs.filter((v) => v.buffer === output.buffer);
  const first = seen[0]!;
  if (seen.some((v) => v.dtype !== output.dtype || v.offset !== output.offset || !sameShape(v.strides, first.strides)))
    return undefined;
  if (sameShape(map.shape, output.shape) && sameShape(first.strides, stridesOf(output.shape))) return map;
  if (sizeOf(map.shape) !== sizeOf(output.shape) || axesUsed(map.results).size > 0) return undefined;
  const axes = map.shape.map((_, axis) => axis);
  const order = [
    ...axes.filter((axis) => map.shape[axis] !== 1).sort((p, q) => first.strides[q]! - first.strides[p]!),
    ...axes.filter((axis) => map.shape[axis] === 1),
  ];
  if (!isContiguous(transposeView(first, order))) return undefined;
  const turn = (v: View): View | undefined => reshapeView(transposeView(v, order), output.shape);
  const inputs = map.inputs.map(turn);
  const outputs = map.outputs.map(turn);
  if (inputs.includes(undefined) || outputs.includes(undefined)) return undefined;
  // Both lists were just searched for gaps.
  return { ...map, shape: output.shape, inputs: inputs as View[], outputs: outputs as View[] };
}
