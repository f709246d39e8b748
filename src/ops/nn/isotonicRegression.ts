/** @file IsotonicRegression: the falling sequence nearest to each row. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { fromElements, intVector, type NDArray } from '../../core/ndarray.ts';
import { showRuntime } from '../../core/shape.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { attr, realNumbers } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import { ofRank } from '../array/common.ts';
import { gather } from '../array/gather.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { reshape } from '../array/reshape.ts';
import { split } from '../array/split.ts';
import { stack } from '../array/stack.ts';
import { plus } from '../math/operators.ts';
import { reduceMax } from '../math/reductions.ts';
import { unsortedSegmentMean } from '../math/segments.ts';

/** Runs of a row that are rising become one run with their mean, until all means fall. */
function fitted(row: readonly number[]): { values: number[]; segments: number[] } {
  const runs: { sum: number; count: number }[] = [];
  for (const x of row) {
    let run = { sum: x, count: 1 };
    for (let last = runs.at(-1); last && last.sum * run.count < run.sum * last.count; last = runs.at(-1)) {
      runs.pop();
      run = { sum: last.sum + run.sum, count: last.count + run.count };
    }
    runs.push(run);
  }
  const each = <T>(of: (run: { sum: number; count: number }, i: number) => T): T[] =>
    runs.flatMap((run, i) => new Array<T>(run.count).fill(of(run, i)));
  return { values: each(({ sum, count }) => sum / count), segments: each((_, i) => i) };
}

export const IsotonicRegression = defineOp({
  name: 'IsotonicRegression',
  inputs: { input: 'T' },
  outputs: { output: 'output_dtype', segments: 'int32' },
  attrs: {
    T: realNumbers,
    output_dtype: attr('type', { allowed: [d.float16, d.bfloat16, d.float32, d.float64], default: d.float32 }),
  },
  shape({ input }) {
    const dims = ofRank(input, 2, 'input');
    return { output: dims, segments: dims };
  },
  // Within a segment all values are the mean of its inputs, and so are their derivatives.
  grad: ({ outputs: { segments } }, dy) => {
    const grad = denseGradient(dy.output);
    const grads = split(grad, grad.shape?.[0] ?? 1);
    const parts = split(segments, segments.shape?.[0] ?? 1);
    const rows = grads.map((own, i): Tensor => {
      const part = parts[i]!;
      const means = unsortedSegmentMean(own, part, plus(reduceMax(part), 1));
      return reshape(gather(means, part), [-1]);
    });
    return { input: stack(rows, { axis: 0 }) };
  },
  lower(p, { input }, { output_dtype }) {
    if (input.shape.length !== 2)
      throw new InvalidArgumentError(
        `IsotonicRegression needs a matrix, not a tensor of shape ${showRuntime(input.shape)}`,
      );
    const { shape } = input;
    const [rows, columns] = shape as readonly [number, number]; // a matrix
    const results = [
      { dtype: output_dtype, shape },
      { dtype: d.int32, shape },
    ];
    const [output, segments] = p.host([input], results, ([x]) => {
      const found = Array.from({ length: rows }, (_, i) => fitted(rowOf(x!, i, columns)));
      return [
        fromElements(
          output_dtype,
          shape,
          found.flatMap(({ values }) => values),
        ),
        intVector(found.flatMap((row) => row.segments)).reshape(shape),
      ];
    });
    return { output: output!, segments: segments! };
  },
  cases: () => [
    { shape: '[2, ?] -> [2, ?], [2, ?]' },
    {
      given: { input: [[3, 1, 2], [1, 3, 4]] }, // biome-ignore format: short
      expect: {
        output: [[3, 1.5, 1.5], [8 / 3, 8 / 3, 8 / 3]], // biome-ignore format: short
        segments: { dtype: 'int32', value: [[0, 1, 1], [0, 0, 0]] }, // biome-ignore format: short
      },
      gradientOf: ['output'],
    },
    {
      given: { input: { dtype: 'int32', value: [[5, 4, 4, 7, 1]] } },
      expect: { output: [[5, 5, 5, 5, 1]], segments: { dtype: 'int32', value: [[0, 1, 1, 1, 2]] } },
    },
  ],
});

const rowOf = (x: NDArray, row: number, columns: number): number[] =>
  Array.from({ length: columns }, (_, i) => x.numberAt(row * columns + i));
