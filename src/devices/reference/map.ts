/** @file The `map` and `reduce` instructions. */
import type { MapInstruction, ReduceInstruction } from '../../program/instructions.ts';
import { compileExpressions } from './expression.ts';
import { allAxes, type Cursor, cursorOn, type Memory, walk } from './memory.ts';
import { type Arithmetic, arithmeticOf } from './scalars.ts';
import type { Value } from './values.ts';

export function compileMap(map: MapInstruction, memory: Memory): () => void {
  const inputs = map.inputs.map((view) => cursorOn(view, memory));
  const outputs = map.outputs.map((view) => cursorOn(view, memory));
  const index = map.shape.map(() => 0);
  const { shared, results } = compileExpressions(map.results, { inputs, index });
  const stores = map.outputs.map((view) => arithmeticOf(view.dtype).store);
  const axes = allAxes(map.shape.length);
  const cursors = [...inputs, ...outputs];
  const values = new Array<Value>(results.length).fill(0);
  const visit = (): void => {
    for (const refresh of shared) refresh();
    // All results come before the first store, because outputs may lie on inputs.
    for (let i = 0; i < results.length; i++) values[i] = results[i]!();
    for (let i = 0; i < results.length; i++) stores[i]!(outputs[i]!.place.data, outputs[i]!.at, values[i]!);
  };
  return () => {
    rewind(cursors);
    walk(map.shape, axes, cursors, index, visit);
  };
}

/** A run that failed may have left cursors anywhere. */
function rewind(cursors: readonly Cursor[]): void {
  for (const cursor of cursors) cursor.at = cursor.start;
}

/** Folding values one by one; `result` is what has been folded since `begin`. */
interface Fold {
  begin(): void;
  take(x: Value): void;
  result(): Value;
}

export function compileReduce(reduce: ReduceInstruction, memory: Memory): () => void {
  const { shape, axes, output } = reduce;
  const inputs = reduce.inputs.map((view) => cursorOn(view, memory));
  const index = shape.map(() => 0);
  const {
    shared,
    results: [compute],
  } = compileExpressions([reduce.result], { inputs, index });
  const kept = allAxes(shape.length).filter((axis) => !axes.includes(axis));
  const outputCursor = cursorOn(output, memory);
  // The output's axes are the kept ones; spread over all axes its cursor can walk with the inputs'.
  const steps = shape.map((_, axis) => (kept.includes(axis) ? outputCursor.steps[kept.indexOf(axis)]! : 0));
  const target: Cursor = { ...outputCursor, steps };
  const { store } = arithmeticOf(output.dtype);
  const fold = foldOf(reduce);

  const visit = (): void => {
    for (const refresh of shared) refresh();
    fold.take(compute!());
  };
  const visitKept = (): void => {
    fold.begin();
    walk(shape, axes, inputs, index, visit);
    store(target.place.data, target.at, fold.result());
  };
  const cursors = [...inputs, target];
  return () => {
    rewind(cursors);
    walk(shape, kept, cursors, index, visitKept);
  };
}

function foldOf({ op, result, output }: ReduceInstruction): Fold {
  const arithmetic = arithmeticOf(result.dtype);
  switch (op) {
    case 'sum':
      return accumulate(arithmetic, 'add', arithmetic.zero);
    case 'prod':
      return accumulate(arithmetic, 'mul', arithmetic.one);
    case 'max':
    case 'any':
      return accumulate(arithmetic, 'max', arithmetic.lowest);
    case 'min':
    case 'all':
      return accumulate(arithmetic, 'min', arithmetic.highest);
    case 'argmax':
      return extremePosition(arithmetic.compare.gt!, arithmetic.lowest, output.dtype.storage === 'i64');
    case 'argmin':
      return extremePosition(arithmetic.compare.lt!, arithmetic.highest, output.dtype.storage === 'i64');
  }
}

/** Floats are folded in float64 and rounded at the end; integers wrap at every step, so that they never lose bits. */
export function accumulate(arithmetic: Arithmetic<Value>, op: 'add' | 'mul' | 'max' | 'min', first: Value): Fold {
  const combine = arithmetic.binary[op]!;
  const exact = arithmetic.kind === 'int' || arithmetic.kind === 'big';
  const step = exact ? (x: Value, y: Value) => arithmetic.round(combine(x, y)) : combine;
  let total = first;
  return {
    begin: () => {
      total = first;
    },
    take: (x) => {
      total = step(total, x);
    },
    result: () => arithmetic.round(total),
  };
}

/** Only what beats the least (or greatest) of all values moves the position, so a NaN never does. */
function extremePosition(beats: (x: Value, y: Value) => boolean, first: Value, wide: boolean): Fold {
  let best = first;
  let bestAt = 0;
  let at = 0;
  return {
    begin: () => {
      best = first;
      bestAt = at = 0;
    },
    take: (x) => {
      if (beats(x, best)) {
        best = x;
        bestAt = at;
      }
      at++;
    },
    result: () => (wide ? BigInt(bestAt) : bestAt),
  };
}
