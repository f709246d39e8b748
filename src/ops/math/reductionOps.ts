/** @file The reduction ops: Sum, Mean, Prod, Max, Min, EuclideanNorm, All and Any fold a tensor along some axes. */

import type { DType } from '../../core/dtypes.ts';
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, type Shape, sizeOf } from '../../core/shape.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { type AttrSpec, attr, indexTypes, numbers, realNumberTypes } from '../../op/attrs.ts';
import type { Case } from '../../op/cases.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { ReduceOp } from '../../program/instructions.ts';
import type { Value } from '../../program/value.ts';
import {
  extremeGradient,
  meanGradient,
  normGradient,
  prodGradient,
  type ReductionContext,
  sumGradient,
} from './reductionGradients.ts';

/** Types that can be ordered, the quantized ones among them. */
const ordered = attr('type', {
  allowed: [...realNumberTypes, d.qint8, d.quint8, d.qint32, d.qint16, d.quint16],
});

/** Axes as positions, without repeats; throws what TensorFlow's kernels say about wrong ones. */
function reductionAxes(axes: readonly number[], rank: number): number[] {
  const seen = new Set<number>();
  for (const axis of axes) {
    if (axis < -rank || axis >= rank)
      throw new InvalidArgumentError(
        `Invalid reduction dimension (${axis} for input with ${rank} dimension(s)${axis < 0 ? `, must be in [-${rank}, ${rank})` : ''}`,
      );
    const position = axis < 0 ? axis + rank : axis;
    if (seen.has(position))
      throw new InvalidArgumentError(`Invalid reduction arguments: Axes contains duplicate dimension: ${position}`);
    seen.add(position);
  }
  return [...seen].sort((a, b) => a - b);
}

/** The static shape of a reduction; unknown axes leave at most the rank known. */
export function reducedDims(input: Dims, axes: readonly (number | null)[] | undefined, keepDims: boolean): Dims {
  if (input === null) return null;
  if (!axes || axes.includes(null)) return keepDims ? input.map(() => null) : null;
  const folded = axes as readonly number[]; // no nulls, as just checked
  for (const axis of folded)
    if (axis < -input.length || axis >= input.length)
      throw new InvalidArgumentError(
        `Invalid reduction dimension ${axis} for input with ${input.length} dimensions. Axes of this input lie in [${-input.length}, ${input.length}).`,
      );
  const positions = new Set(folded.map((a) => (a < 0 ? a + input.length : a)));
  return keepDims ? input.map((n, i) => (positions.has(i) ? 1 : n)) : input.filter((_, i) => !positions.has(i));
}

const reductionAttrs = { keep_dims: attr('bool', { default: false }), T: numbers, Tidx: indexTypes } as const;

interface Reduction {
  readonly name: string;
  readonly T: AttrSpec<'type'>;
  /** Folds `value` along `axes`, dropping them. */
  fold(p: ProgramBuilder, value: Value, axes: readonly number[]): Value;
  readonly grad: ((context: ReductionContext, dy: Gradient) => Tensor) | typeof notDifferentiable;
  /** The same fold on what is known of a shape vector. */
  readonly ofInts?: (values: readonly number[]) => number;
  cases(): readonly Case<'input' | 'reduction_indices', 'output'>[];
}

/** Result shape at run time. */
function keptShape(shape: Shape, axes: readonly number[]): Shape {
  return shape.map((n, i) => (axes.includes(i) ? 1 : n));
}

function defineReduction({ name, T, fold, grad, ofInts, cases }: Reduction) {
  return defineOp({
    name,
    inputs: { input: 'T', reduction_indices: 'Tidx' },
    outputs: { output: 'T' },
    attrs: { ...reductionAttrs, T },
    hostInputs: ['reduction_indices'],
    shape: ({ input }, { keep_dims }, context) => ({
      output: reducedDims(input, context.partial('reduction_indices'), keep_dims),
    }),
    grad: grad === notDifferentiable ? grad : (context, dy) => ({ input: grad(context, dy.output) }),
    lower(p, { input, reduction_indices }, { keep_dims }) {
      const axes = reductionAxes(p.demandInts(reduction_indices), input.shape.length);
      const output = fold(p, input, axes);
      return { output: keep_dims ? p.reshape(output, keptShape(input.shape, axes)) : output };
    },
    partialValue({ inputs }, known) {
      const values = known(inputs.input);
      const whole = inputs.input.shape?.length === 1 && known(inputs.reduction_indices)?.length === 1;
      if (!ofInts || !whole || !values || values.includes(null)) return undefined;
      return [ofInts(values as readonly number[])]; // no nulls, as just checked
    },
    cases,
  });
}

const isHalf = (dtype: DType) => dtype.storage === 'f16' || dtype.storage === 'bf16';

/** Folds with `op`; the half types are folded in float32 and rounded once. */
function folding(op: ReduceOp) {
  return (p: ProgramBuilder, value: Value, axes: readonly number[]): Value => {
    if (axes.length === 0) return value;
    if (!isHalf(value.dtype) || op === 'max' || op === 'min') return p.reduce(op, value, axes);
    return p.cast(p.reduce(op, value, axes, { of: (x) => e.cast(x, d.float32) }), value.dtype);
  };
}

function foldMean(p: ProgramBuilder, value: Value, axes: readonly number[]): Value {
  const { dtype } = value;
  const count = sizeOf(axes.map((a) => value.shape[a]!));
  if (!dtype.isInteger) {
    // As in TensorFlow, which divides before it adds up when the numbers are complex, so that there is no 0 / 0.
    if (dtype.isComplex && count === 0) return p.fill(dtype, p.reduce('sum', value, axes).shape, 0);
    const wide = isHalf(dtype) ? d.float32 : dtype;
    const total = p.reduce('sum', value, axes, { of: (x) => e.cast(x, wide) });
    if (count === 1) return p.cast(total, dtype);
    return p.map([total], (x) => e.cast(e.div(x, e.constant(dtype.isComplex ? [count, 0] : count, wide)), dtype));
  }
  // Neither the sum nor the count need fit the narrow types. An integer mean rounds toward zero, and that of nothing is 0.
  const wide = dtype.isUnsigned ? d.uint64 : d.int64;
  const total = p.reduce('sum', value, axes, { of: (x) => e.cast(x, wide) });
  if (count === 0) return p.fill(dtype, total.shape, 0);
  return p.map([total], (x) => e.cast(e.div(x, count), dtype));
}

function foldNorm(p: ProgramBuilder, value: Value, axes: readonly number[]): Value {
  const { dtype } = value;
  const wide = isHalf(dtype) ? d.float32 : dtype;
  const squares = p.reduce('sum', value, axes, {
    of: (x) => {
      const y = e.cast(x, wide);
      return e.mul(y, dtype.isComplex ? e.conj(y) : y);
    },
  });
  // Squares of integers wrap as their sum does; only the root needs a float.
  return p.map([squares], (x) => e.cast(e.sqrt(dtype.isInteger ? e.cast(x, d.float64) : x), dtype));
}

const axisCases: readonly Case<'input' | 'reduction_indices', 'output'>[] = [
  { shape: '[2, ?, 4], [2] -> [?]', given: { reduction_indices: { dtype: 'int32', value: [0, -1] } } },
  {
    shape: '[2, ?, 4], [1] -> [2, 1, 4]',
    given: { reduction_indices: { dtype: 'int32', value: [1] } },
    attrs: { keep_dims: true },
  },
  { shape: '[2, 3], [?] -> ?' },
  { shape: '[2, 3], ? -> [?, ?]', attrs: { keep_dims: true } },
  { shape: '?, [] -> ?', given: { reduction_indices: { dtype: 'int32', value: 0 } } },
  {
    shape: '[2, 3], []',
    given: { reduction_indices: { dtype: 'int32', value: 2 } },
    rejects: /Invalid reduction dimension 2 for input with 2 dimensions/,
  },
];

const axis = (...value: number[]) => ({ dtype: 'int32' as const, value, shape: [value.length] });
const matrix = [
  [1, 2, 3],
  [4, 5, 6],
];

export const Sum = defineReduction({
  name: 'Sum',
  T: numbers,
  fold: folding('sum'),
  ofInts: (values) => values.reduce((a, b) => a + b, 0),
  grad: (context, dy) => sumGradient(context, dy),
  cases: () => [
    ...axisCases,
    { given: { input: matrix, reduction_indices: axis(0) }, expect: { output: [5, 7, 9] } },
    {
      given: { input: matrix, reduction_indices: axis(-1) },
      attrs: { keep_dims: true },
      expect: { output: [[6], [15]] },
    },
    { given: { input: matrix, reduction_indices: axis(0, 1) }, expect: { output: 21 } },
    { given: { input: matrix, reduction_indices: axis() }, expect: { output: matrix } },
    {
      given: { input: { dtype: 'int8', value: [100, 100, -3] }, reduction_indices: axis(0) },
      expect: { output: { dtype: 'int8', value: -59 } },
    },
    {
      given: { input: { dtype: 'float32', value: [], shape: [0, 2] }, reduction_indices: axis(0) },
      expect: { output: [0, 0] },
    },
    { given: { input: matrix, reduction_indices: axis(0, 0) }, fails: /duplicate dimension: 0/ },
  ],
});

export const Mean = defineReduction({
  name: 'Mean',
  T: numbers,
  fold: foldMean,
  grad: (context, dy) => meanGradient(context, dy),
  cases: () => [
    ...axisCases,
    { given: { input: matrix, reduction_indices: axis(0) }, expect: { output: [2.5, 3.5, 4.5] } },
    { given: { input: matrix, reduction_indices: axis() }, expect: { output: matrix } },
    {
      given: { input: { dtype: 'int32', value: [1, 2, 4] }, reduction_indices: axis(0) },
      expect: { output: { dtype: 'int32', value: 2 } },
    },
    {
      given: { input: { dtype: 'int32', value: [-1, -2, -4] }, reduction_indices: axis(0) },
      expect: { output: { dtype: 'int32', value: -2 } },
    },
    {
      given: { input: { dtype: 'float32', value: [], shape: [0] }, reduction_indices: axis(0) },
      expect: { output: Number.NaN },
      differentiable: false,
    },
  ],
});

export const Prod = defineReduction({
  name: 'Prod',
  T: numbers,
  fold: folding('prod'),
  ofInts: (values) => values.reduce((a, b) => a * b, 1),
  grad: (context, dy) => prodGradient(context, dy),
  cases: () => [
    ...axisCases,
    { given: { input: matrix, reduction_indices: axis(1) }, expect: { output: [6, 120] } },
    // A zero among the factors: dividing the product by each entry would fail.
    { given: { input: [0, 2, 3], reduction_indices: axis(0) }, expect: { output: 0 }, differentiable: 'once' },
    {
      given: { input: { dtype: 'float32', value: [], shape: [0] }, reduction_indices: axis(0) },
      expect: { output: 1 },
    },
  ],
});

export const Max = defineReduction({
  name: 'Max',
  T: ordered,
  fold: folding('max'),
  ofInts: (values) => values.reduce((x, y) => Math.max(x, y), Number.NEGATIVE_INFINITY),
  grad: (context, dy) => extremeGradient(context, dy),
  cases: () => [
    ...axisCases,
    { given: { input: matrix, reduction_indices: axis(0) }, expect: { output: [4, 5, 6] } },
    {
      given: { input: [1, Number.NaN, 2], reduction_indices: axis(0) },
      expect: { output: Number.NaN },
      differentiable: false,
    },
    {
      given: { input: { dtype: 'float32', value: [], shape: [0] }, reduction_indices: axis(0) },
      expect: { output: Number.NEGATIVE_INFINITY },
      differentiable: false,
    },
    {
      given: { input: { dtype: 'int16', value: [], shape: [0] }, reduction_indices: axis(0) },
      expect: { output: { dtype: 'int16', value: -32768 } },
    },
  ],
});

export const Min = defineReduction({
  name: 'Min',
  T: ordered,
  fold: folding('min'),
  ofInts: (values) => values.reduce((x, y) => Math.min(x, y), Number.POSITIVE_INFINITY),
  grad: (context, dy) => extremeGradient(context, dy),
  cases: () => [
    ...axisCases,
    { given: { input: matrix, reduction_indices: axis(1) }, expect: { output: [1, 4] } },
    {
      given: { input: { dtype: 'uint8', value: [7, 3, 200] }, reduction_indices: axis(0) },
      expect: { output: { dtype: 'uint8', value: 3 } },
    },
  ],
});

export const EuclideanNorm = defineReduction({
  name: 'EuclideanNorm',
  T: numbers,
  fold: foldNorm,
  grad: (context, dy) => normGradient(context, dy),
  cases: () => [
    ...axisCases,
    {
      given: { input: { dtype: 'uint8', value: [16, 4] }, reduction_indices: axis(0) },
      expect: { output: { dtype: 'uint8', value: 4 } },
    },
    {
      given: {
        input: [
          [3, 4],
          [5, 12],
        ],
        reduction_indices: axis(1),
      },
      expect: { output: [5, 13] },
    },
    {
      given: {
        input: [
          [3, 4],
          [5, 12],
        ],
        reduction_indices: axis(1),
      },
      attrs: { keep_dims: true },
      expect: { output: [[5], [13]] },
    },
  ],
});

function defineLogical(
  name: string,
  op: 'all' | 'any',
  cases: () => readonly Case<'input' | 'reduction_indices', 'output'>[],
) {
  return defineOp({
    name,
    inputs: { input: 'bool', reduction_indices: 'Tidx' },
    outputs: { output: 'bool' },
    attrs: { keep_dims: attr('bool', { default: false }), Tidx: indexTypes },
    hostInputs: ['reduction_indices'],
    shape: ({ input }, { keep_dims }, context) => ({
      output: reducedDims(input, context.partial('reduction_indices'), keep_dims),
    }),
    grad: notDifferentiable,
    lower(p, { input, reduction_indices }, { keep_dims }) {
      const axes = reductionAxes(p.demandInts(reduction_indices), input.shape.length);
      const output = axes.length === 0 ? input : p.reduce(op, input, axes);
      return { output: keep_dims ? p.reshape(output, keptShape(input.shape, axes)) : output };
    },
    cases,
  });
}

export const All = defineLogical('All', 'all', () => [
  ...axisCases,
  {
    given: {
      input: [
        [true, false],
        [true, true],
      ],
      reduction_indices: axis(1),
    },
    expect: { output: [false, true] },
  },
  { given: { input: { dtype: 'bool', value: [], shape: [0] }, reduction_indices: axis(0) }, expect: { output: true } },
]);

export const Any = defineLogical('Any', 'any', () => [
  ...axisCases,
  {
    given: {
      input: [
        [true, false],
        [false, false],
      ],
      reduction_indices: axis(1),
    },
    expect: { output: [true, false] },
  },
  { given: { input: { dtype: 'bool', value: [], shape: [0] }, reduction_indices: axis(0) }, expect: { output: false } },
]);
