/** @file Sums of matrix products, such as the gradients that a loop adds up: each product is added to the sum as it is computed. */
import { readsOf } from './access.ts';
import { isFast } from './epilogue.ts';
import type { Expr } from './expr.ts';
import { Hazards } from './hazards.ts';
import {
  type Buffer,
  type DeviceInstruction,
  type DotInstruction,
  type MapInstruction,
  type Origin,
  storageOf,
  type View,
} from './instructions.ts';
import { isContiguous, reshapeView } from './value.ts';

/** Gives products what they are to be added to, in place of maps that add. `keep` are buffers needed after the segment. */
export function accumulateProducts(
  instructions: readonly DeviceInstruction[],
  keep: ReadonlySet<Buffer>,
): DeviceInstruction[] {
  const readers = new Map<Buffer, number>();
  for (const i of instructions)
    for (const { buffer } of readsOf(i)) readers.set(buffer, (readers.get(buffer) ?? 0) + 1);
  const result: (DeviceInstruction | undefined)[] = [];
  const hazards = new Hazards();
  /** Where products stand that only one view of one instruction looks at. */
  const products = new Map<Buffer, number>();
  const isReadOnce = (b: Buffer) => b.kind === 'temp' && readers.get(b) === 1 && !keep.has(b);

  /** Replaces a sum of two by the product that is one of them, added to the other. */
  function absorb(map: MapInstruction & Origin): boolean {
    if (!isSumOfTwo(map)) return false;
    for (const [one, other] of [map.inputs, map.inputs.toReversed()] as [View, View][]) {
      // The sum takes the place of what is added; were that wanted again, a copy would cost more than is gained.
      const at = isReadOnce(other.buffer) ? products.get(one.buffer) : undefined;
      const dot = at === undefined ? undefined : result[at];
      const added = dot?.kind === 'dot' ? withAddend(dot, one, other, map.outputs[0]!) : undefined;
      if (!added || at === undefined) continue;
      const rises = hazards.mayMove(map, at);
      if (!rises && !hazards.mayMove(dot!, at)) continue;
      const position = rises ? at : result.length;
      result[at] = undefined;
      result[position] = added;
      products.delete(one.buffer);
      note(added, position);
      return true;
    }
    return false;
  }

  function note(i: DeviceInstruction, position: number): void {
    hazards.note(i, position);
    if (i.kind !== 'dot' || i.plus || !isFast(i.output.dtype)) return;
    if (isReadOnce(i.output.buffer)) products.set(i.output.buffer, position);
  }

  for (const i of instructions) if (i.kind !== 'map' || !absorb(i)) note(i, result.push(i) - 1);
  return result.filter((i) => i !== undefined);
}

function isSumOfTwo({ inputs, results }: MapInstruction): boolean {
  const [sum] = results;
  const isInput = (x: Expr | undefined, index: number) => x?.op === 'input' && (x as { index: number }).index === index; // inputs carry an index
  if (results.length !== 1 || inputs.length !== 2 || sum!.op !== 'add' || !('args' in sum!)) return false;
  const [x, y] = sum.args;
  return (isInput(x, 0) && isInput(y, 1)) || (isInput(x, 1) && isInput(y, 0));
}

/** The product added to something, in place of its own output; undefined when their elements do not correspond. */
function withAddend(
  dot: DotInstruction & Origin,
  product: View,
  addend: View,
  sum: View,
): DeviceInstruction | undefined {
  const { output } = dot;
  const isWhole = (v: View) => v.offset === 0 && isContiguous(v) && v.buffer.bytes === output.buffer.bytes;
  if (![output, product, addend, sum].every(isWhole)) return undefined;
  if ([dot.a, dot.b].some((v) => storageOf(v.buffer) === storageOf(sum.buffer))) return undefined;
  return { ...dot, plus: reshapeView(addend, output.shape)!, output: reshapeView(sum, output.shape)! };
}
