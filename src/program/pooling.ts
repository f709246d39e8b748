/** @file The mask of a rectifier behind the gradient of a maximum pool becomes part of that gradient, which finds the same numbers. */
import { sameShape } from '../core/shape.ts';
import { readsOf, writesOf } from './access.ts';
import { isFast } from './epilogue.ts';
import type { Expr } from './expr.ts';
import { Hazards } from './hazards.ts';
import type { Buffer, DeviceInstruction, MapInstruction, View, WindowInstruction } from './instructions.ts';

/**
 * Replaces `maxGradient` of [x, dy] and the map `x > 0 ? gradient : 0`, its only reader, by one `positiveMaxGradient`. `keep` are
 * buffers needed after the segment.
 */
export function maskGradients(
  instructions: readonly DeviceInstruction[],
  keep: ReadonlySet<Buffer>,
): DeviceInstruction[] {
  const uses = new Map<Buffer, number>();
  for (const i of instructions)
    for (const { buffer } of [...readsOf(i), ...writesOf(i)]) uses.set(buffer, (uses.get(buffer) ?? 0) + 1);
  const hazards = new Hazards();
  const result: (DeviceInstruction | undefined)[] = [];
  /** Where the gradients of pools stand, by their output. */
  const gradients = new Map<Buffer, number>();
  for (const i of instructions) {
    const at = i.kind === 'map' ? i.inputs.map((v) => gradients.get(v.buffer)).find((k) => k !== undefined) : undefined;
    const window = at === undefined ? undefined : result[at];
    const masks = i.kind === 'map' && window?.kind === 'window' && isMask(i, window) && hazards.mayMove(window, at!);
    if (masks) result[at!] = undefined;
    const instruction: DeviceInstruction = masks
      ? {
          ...window,
          op: 'positiveMaxGradient',
          output: i.outputs[0]!,
          ...(i.node === undefined ? {} : { node: i.node }),
        }
      : i;
    const position = result.push(instruction) - 1;
    hazards.note(instruction, position);
    if (i.kind !== 'window' || i.op !== 'maxGradient' || !isFast(i.output.dtype)) continue;
    const { buffer } = i.output;
    if (buffer.kind === 'temp' && !keep.has(buffer) && uses.get(buffer) === 2) gradients.set(buffer, position);
  }
  return result.filter((i) => i !== undefined);
}

/** Whether a map is `x > 0 ? gradient : 0`, with the x of the pool. */
function isMask({ inputs, outputs, results }: MapInstruction, window: WindowInstruction): boolean {
  const [mask] = results as [Expr]; // a map has results
  if (outputs.length !== 1 || mask.op !== 'select') return false;
  const [condition, chosen, other] = mask.args as [Expr, Expr, Expr]; // of a select
  if (condition.op !== 'gt') return false;
  const [x, zero] = condition.args as [Expr, Expr]; // of a comparison
  const shows = (e: Expr, view: View) => e.op === 'input' && sameView(inputs[e.index]!, view);
  return shows(x, window.inputs[0]!) && isZero(zero) && shows(chosen, window.output) && isZero(other);
}

const isZero = (e: Expr): boolean => e.op === 'const' && e.value === 0;

const sameView = (a: View, b: View): boolean =>
  a.buffer === b.buffer && a.offset === b.offset && sameShape(a.shape, b.shape) && sameShape(a.strides, b.strides);
