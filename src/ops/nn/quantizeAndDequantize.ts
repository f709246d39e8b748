/** @file QuantizeAndDequantizeV2 to V4: numbers rounded to the levels of a quantized type and scaled back, to see what is lost. */
import type { DType } from '../../core/dtypes.ts';
import { bfloat16, float16, float32, float64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, mergeShapes, sameShape, showShape, sizeOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { int32s } from '../../op/cases.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';
import type { Named } from '../array/common.ts';

const T = attr('type', { allowed: [bfloat16, float16, float32, float64] });
const attrs = {
  signed_input: attr('bool', { default: true }),
  num_bits: attr('int', { default: 8 }),
  range_given: attr('bool', { default: false }),
  T,
  round_mode: attr('string', { choices: ['HALF_TO_EVEN', 'HALF_UP'], default: 'HALF_TO_EVEN' }),
  narrow_range: attr('bool', { default: false }),
  axis: attr('int', { default: -1 }),
} as const;

interface Rounding {
  readonly signed_input: boolean;
  readonly num_bits: number;
  readonly range_given: boolean;
  readonly round_mode: string;
  readonly narrow_range: boolean;
  readonly axis: number;
}

/** The static shape; bounds are scalars, or one for each entry along the axis. */
function outputDims(input: Dims, min: Dims, max: Dims, axis: number): Dims {
  if (axis < -1) throw new InvalidArgumentError(`axis should be at least -1, got ${axis}`);
  for (const [port, dims] of Object.entries({ input_min: min, input_max: max }))
    if (dims !== null && dims.length !== (axis === -1 ? 0 : 1))
      throw new InvalidArgumentError(
        `${port} has shape ${showShape(dims)}: Shape must be rank ${axis === -1 ? 0 : 1} but is rank ${dims.length}`,
      );
  if (axis >= 0 && input !== null && input.length <= axis)
    throw new InvalidArgumentError(`Shape must be at least rank ${axis + 1} but is rank ${input.length}`);
  return input;
}

/** Bounds in a shape that broadcasts against the input. */
function spread(p: ProgramBuilder, bound: Value, input: Value, axis: number): Value {
  if (axis < 0) return bound;
  return p.reshape(
    bound,
    input.shape.map((_, i) => (i === axis ? bound.shape[0]! : 1)),
  );
}

function checkBounds(input: Value, min: Value, max: Value, axis: number): void {
  if (axis >= input.shape.length)
    throw new InvalidArgumentError(`Shape must be at least rank ${axis + 1} but is rank ${input.shape.length}`);
  for (const [name, { shape }] of Object.entries({ input_min: min, input_max: max })) {
    if (axis < 0 && sizeOf(shape) !== 1) throw new InvalidArgumentError(`${name} must be a scalar.`);
    if (axis >= 0 && (shape.length !== 1 || shape[0] !== input.shape[axis]))
      throw new InvalidArgumentError(
        `${name} has incorrect size, expected ${input.shape[axis]} was [${shape}] along axis ${axis}`,
      );
  }
}

function rounded(p: ProgramBuilder, input: Value, given: { min: Value; max: Value }, a: Rounding): Value {
  const { num_bits: bits, signed_input: isSigned, axis, range_given: isGiven } = a;
  if (bits <= 0 || bits >= (isSigned ? 63 : 64))
    throw new InvalidArgumentError(`num_bits is out of range: ${bits} with signed_input_ ${isSigned ? 1 : 0}`);
  if (sizeOf(input.shape) === 0) return input;
  const { dtype } = input;
  const others = input.shape.map((_, i) => i).filter((i) => i !== axis);
  const extreme = (op: 'min' | 'max') => p.reduce(op, input, others, { keepDims: axis >= 0 });
  if (isGiven) checkBounds(input, given.min, given.max, axis);
  const scalar = (v: Value) => (axis < 0 ? p.reshape(v, []) : v);
  const [min, max] = isGiven
    ? [spread(p, scalar(given.min), input, axis), spread(p, scalar(given.max), input, axis)]
    : [extreme('min'), extreme('max')];
  if (isGiven)
    p.check(
      p.map([min, max], (low, high) => e.gt(low!, high!)),
      () => new InvalidArgumentError('Invalid range: input_min > input_max'),
    );
  const lowest = isSigned ? -(2 ** (bits - 1)) + (a.narrow_range ? 1 : 0) : 0;
  const highest = isSigned ? 2 ** (bits - 1) - 1 : 2 ** bits - 1;
  const [low, high, scale, step] = p.mapAll([min, max], (from, to) => {
    const side = (level: number, bound: e.Expr) =>
      e.select(e.gt(e.mul(bound, level), 0), e.div(level, bound), largest(dtype));
    const [below, above] = [side(lowest, from!), side(highest, to!)];
    // The side that needs the smaller scale keeps its bound; the other one follows from it.
    const isBelow = e.lt(below, above);
    const size = e.select(isBelow, lowest === 0 ? from! : e.div(from!, lowest), e.div(to!, highest));
    return [
      e.select(isBelow, from!, e.mul(size, lowest)),
      e.select(isBelow, e.mul(size, highest), to!),
      e.select(isBelow, below, above),
      size,
    ];
  }) as [Value, Value, Value, Value]; // as many as results
  const [result] = p.mapAll(
    [input, low, high, scale, step],
    (x, from, to, factor, size) => {
      const inside = isGiven ? e.max(e.min(x!, to!), from!) : x!;
      const scaled = e.mul(inside, factor!);
      const level = a.round_mode === 'HALF_UP' ? e.floor(e.add(scaled, 0.5)) : e.rint(scaled);
      return [e.mul(level, size!)];
    },
    input.shape,
  );
  return result!;
}

const largest = (dtype: DType) => e.constant(dtype.max, dtype);

const plain = { input: [-3, -1, -0.26, 0, 0.5, 1.7, 2.5], input_min: -1, input_max: 2 };
const byColumn = {
  input: [
    [1, -2],
    [0.3, 0.4],
  ],
  input_min: [-1, -1],
  input_max: [1, 2],
};

export const QuantizeAndDequantizeV2 = defineOp({
  name: 'QuantizeAndDequantizeV2',
  inputs: { input: 'T', input_min: 'T', input_max: 'T' },
  outputs: { output: 'T' },
  attrs,
  shape: ({ input, input_min, input_max }, { axis }) => ({ output: outputDims(input, input_min, input_max, axis) }),
  grad: (_, { output }) => ({ input: output }),
  lower: (p, { input, input_min, input_max }, a) => ({
    output: rounded(p, input, { min: input_min, max: input_max }, a),
  }),
  cases: () => [
    { shape: '[2, ?], [], ? -> [2, ?]' },
    { shape: '[2, 3], [3], [3] -> [2, 3]', attrs: { axis: 1 } },
    { shape: '[2], [2], []', rejects: /rank 0 but is rank 1/ },
    { shape: '[2], [], []', attrs: { axis: -2 }, rejects: /axis should be at least -1/ },
    { given: plain, attrs: { range_given: true }, differentiable: false },
    { given: plain, attrs: { num_bits: 4, round_mode: 'HALF_UP', narrow_range: true }, differentiable: false },
    { given: { ...plain, input_min: 0 }, attrs: { range_given: true, signed_input: false }, differentiable: false },
    { given: { ...plain, input_max: -0.5 }, attrs: { range_given: true }, differentiable: false },
    {
      given: byColumn,
      attrs: { axis: 1 },
      differentiable: false,
    },
    { given: { ...plain, input_min: 3 }, attrs: { range_given: true }, fails: /Invalid range: input_min/ },
    { given: plain, attrs: { num_bits: 64 }, fails: /num_bits is out of range: 64/ },
  ],
});

export const QuantizeAndDequantizeV3 = defineOp({
  name: 'QuantizeAndDequantizeV3',
  inputs: { input: 'T', input_min: 'T', input_max: 'T', num_bits: 'int32' },
  outputs: { output: 'T' },
  attrs: {
    signed_input: attrs.signed_input,
    range_given: attr('bool', { default: true }),
    T,
    narrow_range: attrs.narrow_range,
    axis: attrs.axis,
  },
  hostInputs: ['num_bits'],
  shape({ input, input_min, input_max, num_bits }, { axis }) {
    if (num_bits !== null && num_bits.length !== 0)
      throw new InvalidArgumentError(`num_bits has shape ${showShape(num_bits)}, but must be a scalar`);
    return { output: outputDims(input, input_min, input_max, axis) };
  },
  grad: (_, { output }) => ({ input: output }),
  lower(p, { input, input_min, input_max, num_bits }, a) {
    const [bits] = p.demandInts(num_bits);
    const rounding = { ...a, num_bits: bits ?? 0, round_mode: 'HALF_TO_EVEN' };
    return { output: rounded(p, input, { min: input_min, max: input_max }, rounding) };
  },
  cases: () => [
    { shape: '[2, ?], [], ?, [] -> [2, ?]' },
    { given: { ...plain, num_bits: int32s(8) }, differentiable: false },
    {
      given: { ...byColumn, num_bits: int32s(5) },
      attrs: { axis: 1 },
      differentiable: false,
    },
    { given: { ...plain, num_bits: int32s(0) }, fails: /num_bits is out of range: 0/ },
  ],
});

export const QuantizeAndDequantizeV4 = defineOp({
  name: 'QuantizeAndDequantizeV4',
  inputs: { input: 'T', input_min: 'T', input_max: 'T' },
  outputs: { output: 'T' },
  attrs,
  shape: ({ input, input_min, input_max }, { axis }) => ({ output: outputDims(input, input_min, input_max, axis) }),
  grad({ inputs, attrs: { axis } }, { output }) {
    const found = QuantizeAndDequantizeV4Grad.build({ gradients: output, ...inputs }, { attrs: { axis } });
    return {
      input: found.input_backprop,
      input_min: found.input_min_backprop,
      input_max: found.input_max_backprop,
    };
  },
  lower: (p, { input, input_min, input_max }, a) => ({
    output: rounded(p, input, { min: input_min, max: input_max }, a),
  }),
  cases: () => [
    { shape: '[2, ?], [], ? -> [2, ?]' },
    { given: plain, attrs: { range_given: true }, differentiable: false },
    {
      given: byColumn,
      attrs: { axis: 1, round_mode: 'HALF_UP' },
      differentiable: false,
    },
  ],
});

type Backprops = Readonly<Record<'input_backprop' | 'input_min_backprop' | 'input_max_backprop', Tensor>>;
type FirstPorts = Readonly<Record<'gradients' | 'input' | 'input_min', Tensor>>;

export const QuantizeAndDequantizeV4Grad = defineOp({
  name: 'QuantizeAndDequantizeV4Grad',
  inputs: { gradients: 'T', input: 'T', input_min: 'T', input_max: 'T' },
  outputs: { input_backprop: 'T', input_min_backprop: 'T', input_max_backprop: 'T' },
  attrs: { T, axis: attrs.axis },
  shape({ gradients, input, input_min, input_max }, { axis }) {
    outputDims(input, input_min, input_max, axis);
    const bound = axis < 0 ? [] : [input?.[axis] ?? null];
    return { input_backprop: mergeShapes(gradients, input), input_min_backprop: bound, input_max_backprop: bound };
  },
  // TensorFlow differentiates it as if it were the op itself.
  grad({ inputs: { gradients, input, input_min }, attrs: { axis } }, { input_backprop }): FirstPorts {
    const ports = { gradients: input_backprop, input: gradients, input_min: input, input_max: input_min };
    const found: Backprops = QuantizeAndDequantizeV4Grad.build(ports, { attrs: { axis } });
    return { gradients: found.input_backprop, input: found.input_min_backprop, input_min: found.input_max_backprop };
  },
  lower(p, { gradients, input, input_min, input_max }, { axis }) {
    if (!sameShape(gradients.shape, input.shape))
      throw new InvalidArgumentError('gradient and input must be the same size');
    checkBounds(input, input_min, input_max, axis);
    const [low, high] = [input_min, input_max].map((v) => spread(p, axis < 0 ? p.reshape(v, []) : v, input, axis));
    const inside = p.mapAll(
      [gradients, input, low!, high!],
      (dy, x, from, to) => [e.select(e.and(e.ge(x!, from!), e.le(x!, to!)), dy!, 0)],
      input.shape,
    );
    // TensorFlow's kernel gives nothing to the bounds.
    const nothing = p.fill(input.dtype, axis < 0 ? [] : [input.shape[axis]!], 0);
    return { input_backprop: inside[0]!, input_min_backprop: nothing, input_max_backprop: nothing };
  },
  cases: () => [
    { shape: '[?, 3], [2, ?], [], [] -> [2, 3], [], []' },
    {
      given: { gradients: [1, 2, 3, 4], input: [-2, -1, 0.5, 3], input_min: -1, input_max: 1 },
      expect: { input_backprop: [0, 2, 3, 0], input_min_backprop: 0, input_max_backprop: 0 },
      differentiable: false,
    },
    {
      given: {
        gradients: [
          [1, 2],
          [3, 4],
        ],
        input: [
          [-2, -1],
          [0.5, 3],
        ],
        input_min: [-1, 0],
        input_max: [1, 1],
      },
      attrs: { axis: 1 },
      expect: {
        input_backprop: [
          [0, 0],
          [3, 0],
        ],
        input_min_backprop: [0, 0],
        input_max_backprop: [0, 0],
      },
      differentiable: false,
    },
  ],
});

export interface QuantizeAndDequantizeOptions extends Named {
  readonly signedInput?: boolean;
  readonly numBits?: number;
  /** Whether `inputMin` and `inputMax` count; the smallest and largest numbers do otherwise. */
  readonly rangeGiven?: boolean;
  readonly roundMode?: 'HALF_TO_EVEN' | 'HALF_UP';
  readonly narrowRange?: boolean;
  /** Where every entry along an axis has a range of its own. */
  readonly axis?: number;
}

/**
 * Numbers rounded to the levels of a quantized type, and scaled back; gradients pass unless they are outside the range. Adds
 * one `QuantizeAndDequantizeV4` node.
 *
 * @example tf.quantization.quantizeAndDequantizeV2([-1, 0.26, 3], -1, 1, { numBits: 3, rangeGiven: true }) // runs to [-1.          0.33333334  1.        ]
 */
export function quantizeAndDequantizeV2(
  input: TensorLike,
  inputMin: TensorLike,
  inputMax: TensorLike,
  options: QuantizeAndDequantizeOptions = {},
): Tensor {
  const names = ['signedInput', 'numBits', 'rangeGiven', 'roundMode', 'narrowRange', 'axis', 'name'] as const;
  const { signedInput, numBits, rangeGiven, roundMode, narrowRange, axis, name } = onlyOptions(
    'tf.quantization.quantizeAndDequantizeV2',
    options,
    ...names,
  );
  return QuantizeAndDequantizeV4.build(
    { input, input_min: inputMin, input_max: inputMax },
    {
      name: name ?? 'quantize_and_dequantize_v4',
      attrs: {
        signed_input: signedInput ?? true,
        num_bits: numBits ?? 8,
        range_given: rangeGiven ?? false,
        round_mode: roundMode ?? 'HALF_TO_EVEN',
        narrow_range: narrowRange ?? false,
        axis: axis ?? -1,
      },
    },
  ).output;
}
