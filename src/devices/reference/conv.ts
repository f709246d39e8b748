/** @file The `conv` instruction: one loop over everything that is multiplied, whichever of the three arrays is wanted. */
import { stridesOf } from '../../core/shape.ts';
import type { ConvInstruction } from '../../program/instructions.ts';
import { allAxes, cursorOn, type Memory, walk } from './memory.ts';
import { arithmeticOf } from './scalars.ts';
import type { Value } from './values.ts';

/** Where one index of a loop is in each array. */
interface Place {
  readonly input: number;
  readonly filter: number;
  readonly output: number;
}

/** The output positions, taps and input positions that meet on one spatial axis. */
function meetings(conv: ConvInstruction, axis: number): Place[] {
  const { input, filter, output, strides, dilations, before } = conv;
  const places: Place[] = [];
  for (let y = 0; y < output.shape[3 + axis]!; y++)
    for (let k = 0; k < filter.shape[3 + axis]!; k++) {
      const x = y * strides[axis]! + k * dilations[axis]! - before[axis]!;
      if (x >= 0 && x < input.shape[3 + axis]!) places.push({ input: x, filter: k, output: y });
    }
  return places;
}

/** The loops around one multiplication: batch, groups, features, channels, then the spatial axes; and each one's axes. */
function loopsOf(conv: ConvInstruction): { places: readonly Place[]; axes: Place }[] {
  const count = (n: number): Place[] => Array.from({ length: n }, (_, i) => ({ input: i, filter: i, output: i }));
  const [batch, groups, features] = conv.output.shape as [number, number, number]; // every array has these three axes
  // An array that a loop does not concern has no axis for it.
  const none = -1;
  return [
    { places: count(batch), axes: { input: 0, filter: none, output: 0 } },
    { places: count(groups), axes: { input: 1, filter: 0, output: 1 } },
    { places: count(features), axes: { input: none, filter: 1, output: 2 } },
    { places: count(conv.filter.shape[2]!), axes: { input: 2, filter: 2, output: none } },
    ...conv.strides.map((_, i) => ({
      places: meetings(conv, i),
      axes: { input: 3 + i, filter: 3 + i, output: 3 + i },
    })),
  ];
}

export function compileConv(conv: ConvInstruction, memory: Memory): () => void {
  const { result } = conv;
  const target = conv[result];
  const [first, second] = (['input', 'filter', 'output'] as const).filter((name) => name !== result);
  const [left, right, to] = [conv[first!], conv[second!], target].map((view) => cursorOn(view, memory));
  const arithmetic = arithmeticOf(target.dtype);
  const multiply = arithmetic.binary.mul!;
  const plus = arithmetic.binary.add!;
  // Floats are summed in float64 and rounded at the end; integers wrap at every step, so that they never lose bits.
  const exact = arithmetic.kind === 'int' || arithmetic.kind === 'big';
  const flat = stridesOf(target.shape);
  const loops = loopsOf(conv).map(({ places, axes }) =>
    places.map((place) => {
      const at = (name: keyof Place, steps: readonly number[]) =>
        axes[name] < 0 ? 0 : place[name] * steps[axes[name]]!;
      return { left: at(first!, left!.steps), right: at(second!, right!.steps), sum: at(result, flat) };
    }),
  );
  let sums: Value[] = [];

  const visit = (depth: number, x: number, y: number, sum: number): void => {
    if (depth < loops.length) {
      for (const place of loops[depth]!) visit(depth + 1, x + place.left, y + place.right, sum + place.sum);
      return;
    }
    const term = multiply(arithmetic.load(left!.place.data, x), arithmetic.load(right!.place.data, y));
    const total = plus(sums[sum]!, term);
    sums[sum] = exact ? arithmetic.round(total) : total;
  };

  const index = target.shape.map(() => 0);
  return () => {
    sums = new Array<Value>(target.shape.reduce((n, d) => n * d, 1)).fill(arithmetic.zero);
    visit(0, left!.start, right!.start, 0);
    let next = 0;
    walk(target.shape, allAxes(target.shape.length), [to!], index, () => {
      arithmetic.store(to!.place.data, to!.at, arithmetic.round(sums[next++]!));
    });
    sums = [];
  };
}
