/** @file The `dot` instruction: batched matrix products over any strides. */
import type { DotInstruction } from '../../program/instructions.ts';
import { accumulate, compileMap } from './map.ts';
import { allAxes, cursorOn, type Memory, walk } from './memory.ts';
import { arithmeticOf } from './scalars.ts';

export function compileDot({ a, b, more, output, plus, after, passing }: DotInstruction, memory: Memory): () => void {
  if (passing) memory.addLocals([output.buffer]);
  const batchRank = output.shape.length - 2;
  const rows = output.shape[batchRank]!;
  const columns = output.shape[batchRank + 1]!;
  const depth = a.shape[batchRank + 1]!;
  const factors = [{ a, b }, ...(more ?? [])].map((pair) => ({
    left: cursorOn(pair.a, memory),
    right: cursorOn(pair.b, memory),
  }));
  const target = cursorOn(output, memory);
  const addend = plus && cursorOn(plus, memory);
  const cursors = [...factors.flatMap(({ left, right }) => [left, right]), target, ...(addend ? [addend] : [])];
  const { load } = arithmeticOf(a.dtype);
  const { load: loadRight } = arithmeticOf(b.dtype);
  const arithmetic = arithmeticOf(output.dtype);
  const multiply = arithmetic.binary.mul!;
  const sum = accumulate(arithmetic, 'add', arithmetic.zero);
  const row = batchRank;
  const column = batchRank + 1;

  const product = (): void => {
    for (let m = 0; m < rows; m++)
      for (let n = 0; n < columns; n++) {
        sum.begin();
        for (const { left, right } of factors) {
          let x = left.at + m * left.steps[row]!;
          let y = right.at + n * right.steps[column]!;
          for (let k = 0; k < depth; k++) {
            sum.take(multiply(load(left.place.data, x), loadRight(right.place.data, y)));
            x += left.steps[column]!;
            y += right.steps[row]!;
          }
        }
        let value = sum.result();
        if (addend) {
          const at = addend.at + m * addend.steps[row]! + n * addend.steps[column]!;
          value = arithmetic.round(arithmetic.binary.add!(arithmetic.load(addend.place.data, at), value));
        }
        arithmetic.store(target.place.data, target.at + m * target.steps[row]! + n * target.steps[column]!, value);
      }
  };
  const index = output.shape.map(() => 0);
  const axes = allAxes(batchRank);
  const runAfter = after && compileMap(after, memory);
  return () => {
    walk(output.shape, axes, cursors, index, product);
    runAfter?.();
  };
}
