/** @file Several maps over the same shape as one map with several results, which reads what they share once. */
import { sameShape } from '../core/shape.ts';
import { readsOf, writesOf } from './access.ts';
import { type Expr, input } from './expr.ts';
import { countNodes, rebuild } from './inspect.ts';
import {
  type DeviceInstruction,
  type MapInstruction,
  type Origin,
  type RowStep,
  storageOf,
  type View,
} from './instructions.ts';

/** Beyond this a map no longer gains from doing more at once. */
const maxNodes = 96;
const maxInputs = 24;
const maxOutputs = 12;

/**
 * Joins maps in a list of instructions that run one after the other. `isWanted` tells which results are read by others.
 * A map joins an earlier one of the same shape if nothing in between has to do with it.
 */
export function mergeMaps(steps: readonly RowStep[], isWanted: (result: View) => boolean): RowStep[] {
  const merged: RowStep[] = [];
  for (const step of steps) {
    if (step.kind === 'map' && joinsEarlier(merged, step)) continue;
    merged.push(step);
  }
  return merged.map((step) => (step.kind === 'map' ? withoutUnwanted(step, merged, isWanted) : step));
}

function joinsEarlier(merged: RowStep[], map: MapInstruction & Origin): boolean {
  for (let at = merged.length - 1; at >= 0; at--) {
    const earlier = merged[at]!;
    const joined = earlier.kind === 'map' && sameShape(earlier.shape, map.shape) ? join(earlier, map) : undefined;
    if (joined) {
      merged[at] = joined;
      return true;
    }
    if (depends(map, earlier)) return false;
  }
  return false;
}

/** Whether one instruction touches what the other writes. */
function depends(one: DeviceInstruction, other: DeviceInstruction): boolean {
  const touches = (i: DeviceInstruction, written: readonly View[]) => {
    const storages = new Set(written.map((v) => storageOf(v.buffer)));
    return [...readsOf(i), ...writesOf(i)].some((v) => storages.has(storageOf(v.buffer)));
  };
  return touches(one, writesOf(other)) || touches(other, writesOf(one));
}

/** Both maps as one; undefined when that changes what they do, or is too large. */
function join(first: MapInstruction, second: MapInstruction): (MapInstruction & Origin) | undefined {
  if (first.outputs.length + second.outputs.length > maxOutputs) return undefined;
  const inputs: View[] = [...first.inputs];
  const places: (number | Expr)[] = [];
  for (const v of second.inputs) {
    const made = first.outputs.findIndex((o) => storageOf(o.buffer) === storageOf(v.buffer));
    if (made >= 0) {
      const pieces = first.outputs.filter((o) => storageOf(o.buffer) === storageOf(v.buffer)).length;
      if (pieces > 1 || !sameElements(first.outputs[made]!, v)) return undefined;
      places.push(first.results[made]!);
      continue;
    }
    const known = inputs.findIndex((o) => o.buffer === v.buffer && o.dtype === v.dtype && sameElements(o, v));
    places.push(known >= 0 ? known : inputs.push(v) - 1);
  }
  if (inputs.length > maxInputs) return undefined;
  // What the second writes may lie on what the first reads only element by element.
  for (const o of second.outputs) {
    if (first.outputs.some((v) => storageOf(v.buffer) === storageOf(o.buffer) && !areApart(v, o))) return undefined;
    if (first.inputs.some((v) => storageOf(v.buffer) === storageOf(o.buffer) && !sameElements(v, o))) return undefined;
  }
  const shared = new Map<Expr, Expr>();
  const replace = (index: number, e: Expr): Expr => {
    const place = places[index]!;
    return typeof place === 'number' ? input(place, e.dtype) : place;
  };
  const results = [...first.results, ...second.results.map((r) => rebuild(r, replace, shared))];
  if (countNodes(results) > maxNodes) return undefined;
  return { ...second, inputs, outputs: [...first.outputs, ...second.outputs], results };
}

const sameElements = (a: View, b: View): boolean =>
  a.dtype === b.dtype &&
  a.offset === b.offset &&
  a.strides.every((s, axis) => s === b.strides[axis] || a.shape[axis] === 1);

/** Whether two views have no element in common, like the columns of a matrix that come from different arrays. */
function areApart(a: View, b: View): boolean {
  if (a.buffer !== b.buffer || a.dtype !== b.dtype || !sameShape(a.strides, b.strides)) return false;
  const longest = Math.max(1, ...a.strides.map(Math.abs));
  if (a.strides.some((s) => s < 0)) return false;
  // Within a row of the longest stride, both reach equally far from where they begin.
  const reach = a.strides.reduce((sum, s, axis) => (s === longest ? sum : sum + (a.shape[axis]! - 1) * s), 0);
  const distance = Math.abs(a.offset - b.offset) % longest;
  return distance > reach && longest - distance > reach;
}

/** The map less the results that only it itself reads. */
function withoutUnwanted(
  map: MapInstruction & Origin,
  steps: readonly DeviceInstruction[],
  isWanted: (result: View) => boolean,
): MapInstruction & Origin {
  const isRead = (v: View) => steps.some((s) => readsOf(s).some((r) => r.buffer === v.buffer));
  const kept = map.outputs.map((v) => isWanted(v) || isRead(v));
  if (kept.every((k) => k)) return map;
  return {
    ...map,
    outputs: map.outputs.filter((_, i) => kept[i]),
    results: map.results.filter((_, i) => kept[i]),
  };
}
