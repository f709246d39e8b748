/** @file FakeQuantWithMinMax…: numbers rounded as a quantized network would have them, and what gradient they let through. */
import { float32 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, mergeShapes, sameShape, showShape, sizeOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import type { Case } from '../../op/cases.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';
import type { Named } from '../array/common.ts';

const rangeAttrs = { min: attr('float', { default: -6 }), max: attr('float', { default: 6 }) };
const levelAttrs = { num_bits: attr('int', { default: 8 }), narrow_range: attr('bool', { default: false }) };

interface Levels {
  readonly num_bits: number;
  readonly narrow_range: boolean;
}

/** The first and the last level. */
function levels({ num_bits, narrow_range }: Levels): [number, number] {
  if (num_bits < 2 || num_bits > 16) throw new InvalidArgumentError('num_bits must be between 2 and 16, inclusive');
  return [narrow_range ? 1 : 0, 2 ** num_bits - 1];
}

/** The bounds of a range have rank 0, or 1 where every channel has its own. */
function checkRanks(bounds: Readonly<Record<'min' | 'max', Dims>>, rank: 0 | 1): void {
  for (const [port, dims] of Object.entries(bounds))
    if (dims !== null && dims.length !== rank)
      throw new InvalidArgumentError(`${port} has shape ${showShape(dims)}, but must have rank ${rank}`);
}

/** A range moved a little, so that zero is one of its levels. */
interface Range {
  readonly low: Value;
  readonly high: Value;
  /** The distance between levels. */
  readonly step: Value;
  /** Whether the range is 0 to 0, that is, not known yet. */
  readonly isUnset: Value;
}

function nudged(p: ProgramBuilder, min: Value, max: Value, attrs: Levels): Range {
  const [first, last] = levels(attrs);
  const [low, high, step, isUnset] = p.mapAll([min, max], (a, b) => {
    const scale = e.div(e.sub(b!, a!), last - first);
    const zero = e.sub(first, e.div(a!, scale));
    // Halves go away from zero.
    const whole = e.floor(zero);
    const rounded = e.select(e.ge(e.sub(zero, whole), 0.5), e.add(whole, 1), whole);
    const level = e.select(e.lt(zero, first), first, e.select(e.gt(zero, last), last, rounded));
    return [
      e.mul(e.sub(first, level), scale),
      e.mul(e.sub(last, level), scale),
      scale,
      e.and(e.eq(a!, 0), e.eq(b!, 0)),
    ];
  }) as [Value, Value, Value, Value]; // as many as results
  return { low, high, step, isUnset };
}

function quantized(p: ProgramBuilder, x: Value, { low, high, step, isUnset }: Range): Value {
  const [result] = p.mapAll(
    [x, low, high, step, isUnset],
    (v, min, max, scale, unset) => {
      const perStep = e.div(1, scale!);
      const zero = e.floor(e.add(e.mul(e.neg(min!), perStep), 0.5));
      const clamped = e.select(e.lt(v!, min!), min!, e.select(e.gt(v!, max!), max!, v!));
      const level = e.floor(e.add(e.sub(e.mul(e.sub(clamped, min!), perStep), zero), 0.5));
      return [e.select(unset!, 0, e.mul(level, scale!))];
    },
    x.shape,
  );
  return result!;
}

/** The parts of a gradient that belong to numbers inside, below and above the range. */
function shares(p: ProgramBuilder, dy: Value, x: Value, { low, high, isUnset }: Range): [Value, Value, Value] {
  if (!sameShape(dy.shape, x.shape)) throw new InvalidArgumentError('gradient and input must be the same size');
  return p.mapAll(
    [dy, x, low, high, isUnset],
    (g, v, min, max, unset) => {
      const [below, above] = [e.lt(v!, min!), e.gt(v!, max!)];
      const inside = e.and(e.ge(v!, min!), e.le(v!, max!));
      const where = (condition: e.Expr, otherwise: e.Expr | number) =>
        e.select(unset!, otherwise, e.select(condition, g!, 0));
      return [where(inside, g!), where(below, 0), where(above, 0)];
    },
    x.shape,
  ) as [Value, Value, Value]; // as many as results
}

const number = (p: ProgramBuilder, value: number) => p.fill(float32, [], value);

function checkArgs({ min, max }: { min: number; max: number }): void {
  if (!(min < max)) throw new InvalidArgumentError(`min has to be smaller than max, was: ${min} >= ${max}`);
}

function checkScalars(min: Value, max: Value): void {
  for (const [name, { shape }] of Object.entries({ min, max }))
    if (shape.length !== 0) throw new InvalidArgumentError(`\`${name}\` must be rank 0 but is rank ${shape.length}`);
}

function checkChannels(x: Value, min: Value, max: Value): void {
  const depth = x.shape.at(-1);
  if (depth === undefined) throw new InvalidArgumentError('inputs must be at least rank 1 but is rank 0');
  for (const [name, v] of Object.entries({ min, max })) {
    if (v.shape.length !== 1)
      throw new InvalidArgumentError(`\`${name}\` must be rank 1 but is rank ${v.shape.length}`);
    if (v.shape[0] !== depth)
      throw new InvalidArgumentError(`${name} has incorrect size, expected ${depth} was ${v.shape[0]}`);
  }
}

const unregistered = gradientPending('TensorFlow has none either');

export const FakeQuantWithMinMaxArgs = defineOp({
  name: 'FakeQuantWithMinMaxArgs',
  inputs: { inputs: 'float32' },
  outputs: { outputs: 'float32' },
  attrs: { ...rangeAttrs, ...levelAttrs },
  shape: ({ inputs }) => ({ outputs: inputs }),
  grad: ({ inputs, attrs }, { outputs }) => ({
    inputs: FakeQuantWithMinMaxArgsGradient.build({ gradients: outputs, inputs: inputs.inputs }, { attrs }).backprops,
  }),
  lower(p, { inputs }, attrs) {
    checkArgs(attrs);
    return { outputs: quantized(p, inputs, nudged(p, number(p, attrs.min), number(p, attrs.max), attrs)) };
  },
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    {
      given: { inputs: [-7, -6, -0.01, 0, 0.03, 1.234, 6, 99] },
      // The gradient is what training wants, not the derivative of steps.
      differentiable: false,
      expect: { outputs: [-6.0235295, -5.9764705, 0, 0, 0.047058824, 1.2235295, 5.9764705, 5.9764705] },
    },
    {
      given: {
        inputs: [
          [0.1, 0.5],
          [3, 7.2],
        ],
      },
      attrs: { min: 0.1, max: 7, narrow_range: true },
      differentiable: false,
    },
    { given: { inputs: [-3, -2, -1.234, 0] }, attrs: { min: -3.3, max: -0.2, num_bits: 4 }, differentiable: false },
    { given: { inputs: [1] }, attrs: { min: 3, max: 2 }, fails: /min has to be smaller than max, was: 3 >= 2/ },
    { given: { inputs: [1] }, attrs: { num_bits: 17 }, fails: /num_bits must be between 2 and 16, inclusive/ },
  ],
});

export const FakeQuantWithMinMaxArgsGradient = defineOp({
  name: 'FakeQuantWithMinMaxArgsGradient',
  inputs: { gradients: 'float32', inputs: 'float32' },
  outputs: { backprops: 'float32' },
  attrs: { ...rangeAttrs, ...levelAttrs },
  shape: ({ gradients, inputs }) => ({ backprops: mergeShapes(gradients, inputs) }),
  grad: unregistered,
  lower(p, { gradients, inputs }, attrs) {
    checkArgs(attrs);
    const range = nudged(p, number(p, attrs.min), number(p, attrs.max), attrs);
    return { backprops: shares(p, gradients, inputs, range)[0] };
  },
  cases: () => [
    { shape: '[?, 3], [2, ?] -> [2, 3]' },
    { shape: '[3], [2]', rejects: /3.*2/ },
    {
      given: { gradients: [1, 2, 3, 4, 5], inputs: [-7, -6, 0, 5.9, 6] },
      expect: { backprops: [0, 2, 3, 4, 0] },
    },
    {
      given: { gradients: [1, 2, 3], inputs: [0, 0.5, 8] },
      attrs: { min: 0.1, max: 7, num_bits: 4, narrow_range: true },
    },
  ],
});

/** What a range is for: all numbers, or those of one channel each. */
interface Extent {
  /** What the ops are called behind `FakeQuantWithMinMaxVars`. */
  readonly suffix: string;
  readonly rank: 0 | 1;
  check(x: Value, min: Value, max: Value): void;
  /** The shape of what a bound of numbers of that shape gets as its gradient, */
  boundDims(x: Dims): Dims;
  /** which is the sum over the numbers that it is for. */
  total(p: ProgramBuilder, part: Value): Value;
}

const ofAll: Extent = {
  suffix: '',
  rank: 0,
  check: (_, min, max) => checkScalars(min, max),
  boundDims: () => [],
  total: (p, part) => p.reduce('sum', p.reshape(part, [sizeOf(part.shape)]), [0]),
};

const ofChannels: Extent = {
  suffix: 'PerChannel',
  rank: 1,
  check: checkChannels,
  boundDims: (x) => (x ? [x.at(-1)!] : [null]),
  total: (p, part) => p.reduce('sum', part, [...part.shape.keys()].slice(0, -1)),
};

type GradientCases = () => readonly Case<
  'gradients' | 'inputs' | 'min' | 'max',
  'backprops_wrt_input' | 'backprop_wrt_min' | 'backprop_wrt_max'
>[];

const gradientOp = ({ suffix, rank, check, boundDims, total }: Extent, cases: GradientCases) =>
  defineOp({
    name: `FakeQuantWithMinMaxVars${suffix}Gradient`,
    inputs: { gradients: 'float32', inputs: 'float32', min: 'float32', max: 'float32' },
    outputs: { backprops_wrt_input: 'float32', backprop_wrt_min: 'float32', backprop_wrt_max: 'float32' },
    attrs: levelAttrs,
    shape({ gradients, inputs, min, max }) {
      checkRanks({ min, max }, rank);
      const merged = mergeShapes(gradients, inputs);
      const bound = boundDims(merged);
      return { backprops_wrt_input: merged, backprop_wrt_min: bound, backprop_wrt_max: bound };
    },
    grad: unregistered,
    lower(p, { gradients, inputs, min, max }, attrs) {
      check(inputs, min, max);
      const [inside, below, above] = shares(p, gradients, inputs, nudged(p, min, max, attrs));
      return { backprops_wrt_input: inside, backprop_wrt_min: total(p, below), backprop_wrt_max: total(p, above) };
    },
    cases,
  });

const quantizingOp = (
  { suffix, rank, check }: Extent,
  gradient: ReturnType<typeof gradientOp>,
  cases: () => readonly Case<'inputs' | 'min' | 'max', 'outputs'>[],
) =>
  defineOp({
    name: `FakeQuantWithMinMaxVars${suffix}`,
    inputs: { inputs: 'float32', min: 'float32', max: 'float32' },
    outputs: { outputs: 'float32' },
    attrs: levelAttrs,
    shape({ inputs, min, max }) {
      checkRanks({ min, max }, rank);
      return { outputs: inputs };
    },
    grad({ inputs: { inputs, min, max }, attrs }, { outputs }) {
      const found = gradient.build({ gradients: outputs, inputs, min, max }, { attrs });
      return { inputs: found.backprops_wrt_input, min: found.backprop_wrt_min, max: found.backprop_wrt_max };
    },
    lower(p, { inputs, min, max }, attrs) {
      check(inputs, min, max);
      return { outputs: quantized(p, inputs, nudged(p, min, max, attrs)) };
    },
    cases,
  });

export const FakeQuantWithMinMaxVarsGradient = gradientOp(ofAll, () => [
  { shape: '[?, 3], [2, ?], [], ? -> [2, 3], [], []' },
  {
    given: { gradients: [1, 2, 3, 4, 5], inputs: [-7, -1, 0, 5.9, 1.2], min: -1.5, max: 1 },
    expect: { backprops_wrt_input: [0, 2, 3, 0, 0], backprop_wrt_min: 1, backprop_wrt_max: 9 },
  },
  {
    given: { gradients: [1, 2], inputs: [3, -4], min: 0, max: 0 },
    expect: { backprops_wrt_input: [1, 2], backprop_wrt_min: 0, backprop_wrt_max: 0 },
  },
]);

export const FakeQuantWithMinMaxVars = quantizingOp(ofAll, FakeQuantWithMinMaxVarsGradient, () => [
  { shape: '[2, ?], ?, [] -> [2, ?]' },
  { shape: '[2], [1], []', rejects: /min/ },
  {
    given: { inputs: [-2, -0.5, 0, 0.1, 1.5], min: -1, max: 1 },
    differentiable: false,
    expect: { outputs: [-0.9960785, -0.50196081, 0, 0.10196079, 1.0039216] },
  },
  { given: { inputs: [1, 2, -3], min: 0, max: 0 }, differentiable: false, expect: { outputs: [0, 0, 0] } },
  {
    given: {
      inputs: [
        [0.2, 5],
        [-9, 3.3],
      ],
      min: -1.7,
      max: 2.9,
    },
    attrs: { num_bits: 5, narrow_range: true },
    differentiable: false,
  },
  { given: { inputs: [1], min: -1, max: 1 }, attrs: { num_bits: 1 }, fails: /num_bits must be between 2 and 16/ },
]);

export const FakeQuantWithMinMaxVarsPerChannelGradient = gradientOp(ofChannels, () => [
  { shape: '[?, 3], [2, ?], ?, ? -> [2, 3], [3], [3]' },
  {
    given: {
      gradients: [
        [1, 2],
        [3, 4],
        [5, 6],
      ],
      inputs: [
        [-2, 0],
        [0.5, 3],
        [9, -4],
      ],
      min: [-1, 0],
      max: [1, 0],
    },
    expect: {
      backprops_wrt_input: [
        [0, 2],
        [3, 4],
        [0, 6],
      ],
      backprop_wrt_min: [1, 0],
      backprop_wrt_max: [5, 0],
    },
  },
  {
    given: { gradients: [1, 2, 3], inputs: [1, -2, 0], min: [-1, -1, -1], max: [1, 1, 1] },
    attrs: { narrow_range: true },
  },
]);

export const FakeQuantWithMinMaxVarsPerChannel = quantizingOp(
  ofChannels,
  FakeQuantWithMinMaxVarsPerChannelGradient,
  () => [
    { shape: '[2, ?], [3], ? -> [2, ?]' },
    { shape: '[2, 3], [], ?', rejects: /min/ },
    {
      given: {
        inputs: [
          [0.2, 5, 1],
          [-9, 3.3, 2],
        ],
        min: [-1.7, 0, 0],
        max: [2.9, 4, 0],
      },
      differentiable: false,
    },
    { given: { inputs: [[[0.25, 5]]], min: [-1, -2], max: [1, 2] }, attrs: { num_bits: 3 }, differentiable: false },
    { given: { inputs: [[1, 2]], min: [0], max: [1, 2] }, fails: /min has incorrect size, expected 2 was 1/ },
  ],
);

export interface FakeQuantOptions extends Named {
  /** 2 to 16; 8 unless given. */
  readonly numBits?: number;
  /** Whether the lowest level is left out, so that there are as many below zero as above. */
  readonly narrowRange?: boolean;
}

export interface FakeQuantArgsOptions extends FakeQuantOptions {
  readonly min?: number;
  readonly max?: number;
}

function attrsOf(name: string, options: FakeQuantArgsOptions): { name?: string; attrs: object } {
  const taken = onlyOptions(name, options, 'min', 'max', 'numBits', 'narrowRange', 'name');
  const { min, max, numBits, narrowRange, name: node } = taken;
  const attrs = {
    ...(min !== undefined && { min }),
    ...(max !== undefined && { max }),
    ...(numBits !== undefined && { num_bits: numBits }),
    ...(narrowRange !== undefined && { narrow_range: narrowRange }),
  };
  return { attrs, ...(node !== undefined && { name: node }) };
}

/**
 * Numbers as one of 256 levels from `min` to `max`, -6 to 6 unless given. Adds one `FakeQuantWithMinMaxArgs` node.
 *
 * @example tf.fakeQuantWithMinMaxArgs([0.03, 1.234, 99]) // runs to [0.04705882 1.2235295  5.9764705 ]
 */
export function fakeQuantWithMinMaxArgs(inputs: TensorLike, options: FakeQuantArgsOptions = {}): Tensor {
  return FakeQuantWithMinMaxArgs.build({ inputs }, attrsOf('tf.fakeQuantWithMinMaxArgs', options)).outputs;
}

/** The gradient of `fakeQuantWithMinMaxArgs`. Adds one `FakeQuantWithMinMaxArgsGradient` node. */
export function fakeQuantWithMinMaxArgsGradient(
  gradients: TensorLike,
  inputs: TensorLike,
  options: FakeQuantArgsOptions = {},
): Tensor {
  const built = attrsOf('tf.fakeQuantWithMinMaxArgsGradient', options);
  return FakeQuantWithMinMaxArgsGradient.build({ gradients, inputs }, built).backprops;
}

type OfRange = (inputs: TensorLike, min: TensorLike, max: TensorLike, options?: FakeQuantOptions) => Tensor;
type GradientOfRange = (
  gradients: TensorLike,
  inputs: TensorLike,
  min: TensorLike,
  max: TensorLike,
  options?: FakeQuantOptions,
) => [Tensor, Tensor, Tensor];

const ofRange =
  (op: typeof FakeQuantWithMinMaxVars, functionName: string): OfRange =>
  (inputs, min, max, options = {}) =>
    op.build({ inputs, min, max }, attrsOf(functionName, options)).outputs;

const gradientOfRange =
  (op: typeof FakeQuantWithMinMaxVarsGradient, functionName: string): GradientOfRange =>
  (gradients, inputs, min, max, options = {}) => {
    const found = op.build({ gradients, inputs, min, max }, attrsOf(functionName, options));
    return [found.backprops_wrt_input, found.backprop_wrt_min, found.backprop_wrt_max];
  };

/**
 * Numbers as one of 256 levels from `min` to `max`, which can be learned. Adds one `FakeQuantWithMinMaxVars` node.
 *
 * @example tf.fakeQuantWithMinMaxVars([-0.5, 0.1, 1.5], -1, 1) // runs to [-0.5019608   0.10196079  1.0039216 ]
 */
export const fakeQuantWithMinMaxVars: OfRange = ofRange(FakeQuantWithMinMaxVars, 'tf.fakeQuantWithMinMaxVars');

/** The gradient of `fakeQuantWithMinMaxVars`: for numbers, min and max. Adds one `FakeQuantWithMinMaxVarsGradient` node. */
export const fakeQuantWithMinMaxVarsGradient: GradientOfRange = gradientOfRange(
  FakeQuantWithMinMaxVarsGradient,
  'tf.fakeQuantWithMinMaxVarsGradient',
);

/**
 * The same with a range per entry of the last axis. Adds one `FakeQuantWithMinMaxVarsPerChannel` node.
 *
 * @example tf.fakeQuantWithMinMaxVarsPerChannel([[0.5, 5]], [-1, -2], [1, 2]) // runs to [[0.5019608 2.007843 ]]
 */
export const fakeQuantWithMinMaxVarsPerChannel: OfRange = ofRange(
  FakeQuantWithMinMaxVarsPerChannel,
  'tf.fakeQuantWithMinMaxVarsPerChannel',
);

/** Its gradient, for numbers, min and max. Adds one `FakeQuantWithMinMaxVarsPerChannelGradient` node. */
export const fakeQuantWithMinMaxVarsPerChannelGradient: GradientOfRange = gradientOfRange(
  FakeQuantWithMinMaxVarsPerChannelGradient,
  'tf.fakeQuantWithMinMaxVarsPerChannelGradient',
);
