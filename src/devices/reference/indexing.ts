/** @file The `gather` and `scatter` instructions. */
import { sizeOf } from '../../core/shape.ts';
import type { GatherInstruction, ScatterInstruction, View } from '../../program/instructions.ts';
import { Stop } from './failure.ts';
import { cursorOn, type Memory } from './memory.ts';
import { arithmeticOf } from './scalars.ts';
import type { Value } from './values.ts';

/** What an index tuple points at: a row, or why there is none. */
type Row = number | 'negative' | 'tooLarge';

/** Reads index tuples: row `c` of `indices` as a row of an array of dims `dims`, in elements of the inner size. */
function rowReader(indices: View, dims: readonly number[], memory: Memory) {
  const { place, start } = cursorOn(indices, memory);
  const { load } = arithmeticOf(indices.dtype);
  const depth = dims.length;
  const size = indices.dtype.size;
  const value = (flat: number) => Number(load(place.data, start + flat * size));
  const row = (c: number): Row => {
    let at = 0;
    let problem: Row = 0;
    for (let k = 0; k < depth; k++) {
      const i = value(c * depth + k);
      if (i < 0) problem = 'negative';
      else if (i >= dims[k]! && problem === 0) problem = 'tooLarge';
      at = at * dims[k]! + i;
    }
    return problem === 0 ? at : problem;
  };
  /** Fails with the first component of tuple `c` that lies outside its dim. */
  const fail = (c: number): never => {
    for (let k = 0; k < depth; k++) {
      const i = value(c * depth + k);
      if (i < 0 || i >= dims[k]!) throw new Stop('index', c * depth + k, i);
    }
    throw new Stop('index', c * depth);
  };
  return { row, fail };
}

export function compileGather({ params, indices, output, bounds }: GatherInstruction, memory: Memory): () => void {
  const [batch, count] = indices.shape as [number, number, number]; // indices have three dims by definition
  const outer = params.shape[1]!;
  const dims = params.shape.slice(2, -1);
  const innerBytes = params.shape.at(-1)! * params.dtype.size;
  const rows = sizeOf(dims);
  const { row, fail } = rowReader(indices, dims, memory);
  const source = cursorOn(params, memory);
  const target = cursorOn(output, memory);

  return () => {
    const from = source.place.bytes;
    const to = target.place.bytes;
    let flat = target.start;
    for (let g = 0; g < batch; g++)
      for (let o = 0; o < outer; o++)
        for (let c = 0; c < count; c++) {
          const at = row(g * count + c);
          if (typeof at === 'number') {
            const start = source.start + ((g * outer + o) * rows + at) * innerBytes;
            to.set(from.subarray(start, start + innerBytes), flat);
          } else if (bounds === 'error') fail(g * count + c);
          else to.fill(0, flat, flat + innerBytes);
          flat += innerBytes;
        }
  };
}

export function compileScatter(scatter: ScatterInstruction, memory: Memory): () => void {
  const { combine, target, indices, updates, bounds } = scatter;
  const dims = target.shape.slice(0, -1);
  const inner = target.shape.at(-1)!;
  const count = indices.shape[0]!;
  const { row, fail } = rowReader(indices, dims, memory);
  const to = cursorOn(target, memory);
  const from = cursorOn(updates, memory);
  const size = target.dtype.size;
  const { load, store, round, binary } = arithmeticOf(target.dtype);
  const operation = combine === 'update' ? (_old: Value, update: Value) => update : binary[combine]!;

  return () => {
    // All indices are looked at before anything is stored, so that a failure leaves the target as it was.
    const rows = Array.from({ length: count }, (_, c) => {
      const at = row(c);
      if (typeof at !== 'number' && (bounds === 'error' || (bounds === 'dropNegative' && at === 'tooLarge'))) fail(c);
      return at;
    });
    for (const [c, at] of rows.entries()) {
      if (typeof at !== 'number') continue;
      for (let i = 0; i < inner; i++) {
        const position = to.start + (at * inner + i) * size;
        const update = load(from.place.data, from.start + c * from.steps[0]! + i * from.steps[1]!);
        store(to.place.data, position, round(operation(load(to.place.data, position), update)));
      }
    }
  };
}
