/** @file The `scan`, `topk` and `check` instructions. */
import type { CheckInstruction, ScanInstruction, TopKInstruction } from '../../program/instructions.ts';
import { Stop } from './failure.ts';
import { allAxes, cursorOn, type Memory, walk } from './memory.ts';
import { type Arithmetic, arithmeticOf } from './scalars.ts';
import type { Value } from './values.ts';

/** log(e^x + e^y); taking the larger out first keeps the exponentials at or below 1. */
function logAddExp(x: number, y: number): number {
  const larger = Math.max(x, y);
  if (!Number.isFinite(larger)) return larger;
  return larger + Math.log1p(Math.exp(Math.min(x, y) - larger));
}

/** The running operation and what it starts from. Integers wrap at every step, floats are rounded when stored. */
function runningFold(op: ScanInstruction['op'], arithmetic: Arithmetic<Value>): [(x: Value, y: Value) => Value, Value] {
  if (op === 'logsumexp') return [(x, y) => logAddExp(x as number, y as number), Number.NEGATIVE_INFINITY]; // floats only
  const combine = arithmetic.binary[op === 'sum' ? 'add' : 'mul']!;
  const exact = arithmetic.kind === 'int' || arithmetic.kind === 'big';
  return [exact ? (x, y) => arithmetic.round(combine(x, y)) : combine, op === 'sum' ? arithmetic.zero : arithmetic.one];
}

export function compileScan({ op, input, output, exclusive, reverse }: ScanInstruction, memory: Memory): () => void {
  const [outer, n, inner] = input.shape as [number, number, number]; // three dims by definition
  const arithmetic = arithmeticOf(input.dtype);
  const [combine, first] = runningFold(op, arithmetic);
  const from = cursorOn(input, memory);
  const to = cursorOn(output, memory);
  const size = input.dtype.size;
  return () => {
    for (let o = 0; o < outer; o++)
      for (let i = 0; i < inner; i++) {
        let total = first;
        for (let step = 0; step < n; step++) {
          const position = ((o * n + (reverse ? n - 1 - step : step)) * inner + i) * size;
          const next = combine(total, arithmetic.load(from.place.data, from.start + position));
          arithmetic.store(to.place.data, to.start + position, arithmetic.round(exclusive ? total : next));
          total = next;
        }
      }
  };
}

export function compileTopK({ input, values, indices }: TopKInstruction, memory: Memory): () => void {
  const [rows, n] = input.shape as [number, number]; // two dims by definition
  const k = values.shape[1]!;
  const { load, store, compare } = arithmeticOf(input.dtype);
  const { store: storeIndex } = arithmeticOf(indices.dtype);
  const from = cursorOn(input, memory);
  const toValues = cursorOn(values, memory);
  const toIndices = cursorOn(indices, memory);
  const nan = (x: Value) => Number.isNaN(x);
  /** Larger first, NaN before all; JavaScript's sort keeps equal ones in their order. */
  const order = (x: Value, y: Value): number =>
    nan(x) || nan(y) ? Number(nan(y)) - Number(nan(x)) : compare.gt!(x, y) ? -1 : compare.lt!(x, y) ? 1 : 0;
  return () => {
    for (let row = 0; row < rows; row++) {
      const elements = Array.from({ length: n }, (_, i) => ({
        i,
        x: load(from.place.data, from.start + (row * n + i) * input.dtype.size),
      }));
      elements.sort((a, b) => order(a.x, b.x));
      for (const [place, { i, x }] of elements.slice(0, k).entries()) {
        store(toValues.place.data, toValues.start + (row * k + place) * values.dtype.size, x);
        storeIndex(toIndices.place.data, toIndices.start + (row * k + place) * indices.dtype.size, i);
      }
    }
  };
}

export function compileCheck({ input }: CheckInstruction, memory: Memory): () => void {
  const cursor = cursorOn(input, memory);
  const index = input.shape.map(() => 0);
  const axes = allAxes(input.shape.length);
  let position = 0;
  const visit = (): void => {
    if (cursor.place.data.getUint8(cursor.at) !== 0) throw new Stop('check', position, 1);
    position++;
  };
  return () => {
    position = 0;
    cursor.at = cursor.start;
    walk(input.shape, axes, [cursor], index, visit);
  };
}
