/** @file Local response normalization: every channel divided by a power of its neighbours' squares. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { fromElements } from '../../core/ndarray.ts';
import { mergeShapes, sameShape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';
import type { Named } from '../array/common.ts';
import { ranked } from './convSizes.ts';
import { image } from './poolCases.ts';

const attrs = {
  depth_radius: attr('int', { default: 5 }),
  bias: attr('float', { default: 1 }),
  alpha: attr('float', { default: 1 }),
  beta: attr('float', { default: 0.5 }),
  T: attr('type', { allowed: [d.float16, d.bfloat16, d.float32], default: d.float32 }),
};

interface Form {
  readonly depth_radius: number;
  readonly bias: number;
  readonly alpha: number;
  readonly beta: number;
}

function checkRadius(radius: number): void {
  if (radius < 0 || radius >= 2 ** 31 - 1)
    throw new InvalidArgumentError(`depth_radius = ${radius} larger than int max`);
}

/** The sum over each channel's neighbourhood, in float32. `terms` has the channels last. */
function neighbourhood(p: ProgramBuilder, terms: Value, radius: number): Value {
  const depth = terms.shape.at(-1)!;
  const bounds = Array.from({ length: depth }, (_, c) => [c - radius, c + radius + 1]);
  const spans = p.constant(fromElements(d.int64, [depth, 2], bounds.flat()));
  const [n, h, w] = terms.shape as [number, number, number]; // an image's rank was checked
  const lines = p.reshape(terms, [n * h * w, depth, 1]);
  return p.reshape(p.window('sum', [lines], [spans], lines.shape), terms.shape);
}

/** bias + alpha * sum of squares, for every channel. */
function normOf(p: ProgramBuilder, x: Value, { depth_radius, bias, alpha }: Form): Value {
  const squares = p.map([x], (v) => e.square(e.cast(v!, d.float32)));
  return p.map([neighbourhood(p, squares, depth_radius)], (s) => e.add(e.mul(s!, alpha), bias));
}

/** norm to the power -beta; the usual powers have cheaper forms. */
function scaleOf(norm: e.Expr, beta: number): e.Expr {
  if (beta === 1) return e.reciprocal(norm);
  if (beta === 0.5) return e.rsqrt(norm);
  return e.exp(e.mul(e.log(norm), -beta));
}

export const LRN = defineOp({
  name: 'LRN',
  inputs: { input: 'T' },
  outputs: { output: 'T' },
  attrs,
  shape: ({ input }) => ({ output: ranked('input', input, 4) }),
  grad({ inputs: { input }, outputs: { output }, attrs: { T: _, ...form } }, dy) {
    const inputs = { input_grads: dy.output, input_image: input, output_image: output };
    return { input: LRNGrad.build(inputs, { attrs: form }).output };
  },
  lower(p, { input }, { T, ...form }) {
    checkRadius(form.depth_radius);
    if (input.shape.length !== 4) throw new InvalidArgumentError('in must be 4-dimensional');
    const norm = normOf(p, input, form);
    const output = p.map([input, norm], (x, n) => e.cast(e.mul(e.cast(x!, d.float32), scaleOf(n!, form.beta)), T));
    return { output };
  },
  cases: () => [
    { shape: '[?, 4, ?, 3] -> [?, 4, ?, 3]' },
    { shape: '[2, 3]', rejects: /rank 4/ },
    {
      given: { input: [[[[1, 2, 3, 4]]]] },
      attrs: { depth_radius: 1, bias: 1, alpha: 1, beta: 0.5 },
      expect: { output: [[[[0.40824828, 0.51639777, 0.54772258, 0.78446454]]]] },
      differentiable: 'once',
    },
    { given: { input: image([2, 1, 3, 8]) }, differentiable: 'once' },
    {
      given: { input: image([1, 2, 1, 5]) },
      attrs: { depth_radius: 2, bias: 2, alpha: 0.1, beta: 0.75 },
      differentiable: 'once',
    },
    { given: { input: image([1, 1, 2, 3]) }, attrs: { depth_radius: 9, beta: 1 }, differentiable: 'once' },
    { given: { input: image([1, 1, 2, 3]) }, attrs: { depth_radius: 0 }, differentiable: 'once' },
    { given: { input: { dtype: 'float32', value: [], shape: [0, 1, 1, 3] } }, differentiable: 'once' },
    { given: { input: image([1, 1, 1, 2]) }, attrs: { depth_radius: -1 }, fails: /depth_radius = -1 larger than int/ },
  ],
});

export const LRNGrad = defineOp({
  name: 'LRNGrad',
  inputs: { input_grads: 'T', input_image: 'T', output_image: 'T' },
  outputs: { output: 'T' },
  attrs,
  shape({ input_grads, input_image, output_image }) {
    const images = [input_grads, input_image, output_image].map((dims) => ranked('every input', dims, 4));
    return { output: images.reduce((a, b) => mergeShapes(a, b)!) };
  },
  grad: gradientPending('TensorFlow has none either'),
  // With N = bias + alpha * sum of squares: dy_i/dx_j = [i = j] N_i^-beta - 2 alpha beta x_j y_i / N_i for neighbours.
  lower(p, { input_grads, input_image, output_image }, { T, ...form }) {
    checkRadius(form.depth_radius);
    const images = [input_grads, input_image, output_image];
    if (images.some(({ shape }) => shape.length !== 4)) throw new InvalidArgumentError('inputs must be 4-dimensional');
    if (!images.every(({ shape }) => sameShape(shape, input_grads.shape)))
      throw new InvalidArgumentError('input_grads, input_image, and out_image should have the same shape');
    const { alpha, beta, depth_radius } = form;
    const norm = normOf(p, input_image, form);
    const shares = p.map([input_grads, output_image, norm], (dy, y, n) =>
      e.div(e.mul(e.cast(dy!, d.float32), e.cast(y!, d.float32)), n!),
    );
    const around = neighbourhood(p, shares, depth_radius);
    const output = p.map([input_grads, input_image, norm, around], (dy, x, n, s) => {
      const own = e.mul(e.cast(dy!, d.float32), e.exp(e.mul(e.log(n!), -beta)));
      return e.cast(e.sub(own, e.mul(e.mul(e.cast(x!, d.float32), s!), 2 * alpha * beta)), T);
    });
    return { output };
  },
  cases: () => [
    { shape: '[?, 4, ?, ?], ?, [2, ?, ?, 3] -> [2, 4, ?, 3]' },
    { shape: '[1, 4, 1, 1], [1, 3, 1, 1], ?', rejects: /not compatible/ },
    {
      given: { input_grads: image([1, 1, 2, 4]), input_image: image([1, 1, 2, 4]), output_image: image([1, 1, 2, 4]) },
      attrs: { depth_radius: 1 },
    },
    {
      given: { input_grads: image([1, 1, 1, 5]), input_image: image([1, 1, 1, 5]), output_image: image([1, 1, 1, 5]) },
      attrs: { depth_radius: 2, bias: 2, alpha: 0.1, beta: 0.75 },
    },
  ],
});

export interface LrnOptions extends Named {
  readonly depthRadius?: number | undefined;
  readonly bias?: number | undefined;
  readonly alpha?: number | undefined;
  readonly beta?: number | undefined;
}

/**
 * Every channel of an image divided by `(bias + alpha * sum of its neighbours' squares) ** beta`. Adds one `LRN` node.
 *
 * @example tf.nn.localResponseNormalization([[[[1.5, 2]]]], { depthRadius: 1 }) // runs to [[[[0.5570861 0.7427814]]]]
 */
export function localResponseNormalization(input: TensorLike, options: LrnOptions = {}): Tensor {
  const given = onlyOptions('tf.nn.localResponseNormalization', options, ...optionNames);
  const { depthRadius = 5, bias = 1, alpha = 1, beta = 0.5, name } = given;
  return LRN.build({ input }, { name, attrs: { depth_radius: depthRadius, bias, alpha, beta } }).output;
}
const optionNames = ['depthRadius', 'bias', 'alpha', 'beta', 'name'] as const;
