/** @file Many numbers sorted, with pauses for the event loop. */
import { inTurns, type Work } from './eventLoop.ts';

/** After so many steps it is asked whether the event loop has waited long enough. */
const stepsPerTurn = 8192;

/** The order in which numbers rise; equal ones stay in theirs. */
export async function risingOrder(keys: Float64Array): Promise<Int32Array> {
  return await inTurns(merged(keys));
}

/** Stretches that rise already are merged, two by two, until there is one. */
function* merged(keys: Float64Array): Work<Int32Array> {
  const count = keys.length;
  let order = new Int32Array(count);
  /** Where the stretches begin, and the end of the last one. */
  let starts = [0];
  for (let i = 0; i < count; i++) {
    order[i] = i;
    if (i > 0 && keys[i]! < keys[i - 1]!) starts.push(i);
    if (i % stepsPerTurn === 0) yield;
  }
  starts.push(count);
  let other = new Int32Array(count);
  while (starts.length > 2) {
    const next: number[] = [];
    for (let s = 0; s + 1 < starts.length; s += 2) {
      const [first, middle, end] = [starts[s]!, starts[s + 1]!, starts[s + 2] ?? starts[s + 1]!];
      next.push(first);
      let [left, right] = [first, middle];
      for (let to = first; to < end; to++) {
        const isLeft = left < middle && (right >= end || keys[order[left]!]! <= keys[order[right]!]!);
        other[to] = order[isLeft ? left++ : right++]!;
        if (to % stepsPerTurn === 0) yield;
      }
    }
    next.push(count);
    starts = next;
    [order, other] = [other, order];
  }
  return order;
}
