/** @file The mask of a rectifier behind the gradient of a maximum pool becomes part of that gradient, which finds the same numbers. */
import type { Work } from '../core/eventLoop.ts';
import { isFast } from './epilogue.ts';
import type { Expr } from './expr.ts';
import {
  type Buffer,
  type DeviceInstruction,
  type MapInstruction,
  type Origin,
  storageOf,
  type View,
  type WindowInstruction,
} from './instructions.ts';
import { Rewriting } from './rewriting.ts';
import { sameView } from './value.ts';

/**
 * Replaces `maxGradient` of [x, dy] and the map `x > 0 ? gradient : gradient * 0`, its only reader, by one `positiveMaxGradient`. `keep` are
 * buffers needed after the segment.
 */
export function* maskGradients(
  instructions: readonly DeviceInstruction[],
  keep: ReadonlySet<Buffer>,
): Work<DeviceInstruction[]> {
  const list = new Rewriting(instructions, keep);
  /** Where the gradients of pools stand, by their output. */
  const gradients = new Map<Buffer, number>();

  /** Makes the map part of the gradient that it masks, if it is such a map. */
  function mask(map: MapInstruction & Origin): boolean {
    const at = map.inputs.map((v) => gradients.get(v.buffer)).find((position) => position !== undefined);
    const window = list.at(at);
    if (at === undefined || window?.kind !== 'window' || !isMask(map, window)) return false;
    const output = map.outputs[0]!;
    // A gradient reads its inputs in another order than it writes.
    if (window.inputs.some((v) => storageOf(v.buffer) === storageOf(output.buffer))) return false;
    const node = map.node === undefined ? {} : { node: map.node };
    return list.join(at, map, { ...window, op: 'positiveMaxGradient', output, ...node });
  }

  for (const i of instructions) {
    yield;
    if (i.kind === 'map' && mask(i)) continue;
    const position = list.push(i);
    if (i.kind !== 'window' || i.op !== 'maxGradient' || !isFast(i.output.dtype)) continue;
    if (list.isReadOnce(i.output.buffer)) gradients.set(i.output.buffer, position);
  }
  return list.instructions;
}

/** Whether a map is `x > 0 ? gradient : gradient * 0`, with the x of the pool. */
function isMask({ inputs, outputs, results }: MapInstruction, window: WindowInstruction): boolean {
  const [mask] = results as [Expr]; // a map has results
  if (outputs.length !== 1 || mask.op !== 'select') return false;
  const [condition, chosen, other] = mask.args as [Expr, Expr, Expr]; // of a select
  if (condition.op !== 'gt') return false;
  const [x, zero] = condition.args as [Expr, Expr]; // of a comparison
  const shows = (e: Expr, view: View) => e.op === 'input' && sameView(inputs[e.index]!, view);
  if (other.op !== 'mul') return false;
  const [held, factor] = other.args as [Expr, Expr]; // of a product
  const isGradient = (e: Expr) => shows(e, window.output);
  return shows(x, window.inputs[0]!) && isZero(zero) && isGradient(chosen) && isGradient(held) && isZero(factor);
}

const isZero = (e: Expr): boolean => e.op === 'const' && e.value === 0;
