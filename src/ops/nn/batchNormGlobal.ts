/** @file The batch normalization of TensorFlow's first graphs, with given moments, and the function that replaced it. */
import type * as d from '../../core/dtypes.ts';
import { InvalidArgumentError, type OpError } from '../../core/errors.ts';
import { type Dims, type Shape, showRuntime } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr, numbers } from '../../op/attrs.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';
import { mergeDim, ofRank } from '../array/common.ts';
import { ramp } from './convCases.ts';
import { batchNormalization } from './moments.ts';

const attrs = { T: numbers, variance_epsilon: attr('float'), scale_after_normalization: attr('bool') };

/** An image, whose channels the vectors count as well. */
function imageDims(image: Dims, vectors: Readonly<Record<string, Dims>>): readonly (number | null)[] {
  const dims = ofRank(image, 4, 't');
  const channels = Object.entries(vectors).reduce<number | null>(
    (size, [name, vector]) => mergeDim(size, ofRank(vector, 1, name)[0]!, `channels of t and ${name}`),
    dims[3]!,
  );
  return [...dims.slice(0, 3), channels];
}

function checkShapes(image: Shape, vectors: Readonly<Record<string, Shape>>): void {
  const refuse = (what: string): OpError => new InvalidArgumentError(what);
  if (image.length !== 4) throw refuse(`input must be 4-dimensional${showRuntime(image)}`);
  for (const [name, shape] of Object.entries(vectors)) {
    if (shape.length !== 1) throw refuse(`${name} must be 1-dimensional${showRuntime(shape)}`);
    if (shape[0] !== image[3])
      throw refuse(
        `Must provide as many ${name}s as the last dimension of the input tensor: ${showRuntime(shape)} vs. ${showRuntime(image)}`,
      );
  }
}

/** 1 / sqrt(variance + epsilon), with or without gamma. */
function factorOf(variance: e.Expr, gamma: e.Expr, epsilon: number, scaled: boolean): e.Expr {
  const root = e.rsqrt(e.add(variance, epsilon));
  return scaled ? e.mul(root, gamma) : root;
}

/** Types of which there are no roots are refused, as in TensorFlow, which has no kernels for them. */
function checkFloating(dtype: d.DType): void {
  if (!dtype.isFloating) throw new InvalidArgumentError(`batch normalization needs a floating type, not ${dtype}`);
}

const asFloat = (x: e.Expr) => e.cast(x, e.computeType(x.dtype));

export const BatchNormWithGlobalNormalization = defineOp({
  name: 'BatchNormWithGlobalNormalization',
  inputs: { t: 'T', m: 'T', v: 'T', beta: 'T', gamma: 'T' },
  outputs: { result: 'T' },
  attrs,
  deprecatedSince: 9,
  shape: ({ t, m, v, beta, gamma }) => ({ result: imageDims(t, { m, v, beta, gamma }) }),
  grad({ inputs: { t, m, v, gamma }, attrs: { T: _, ...form } }, dy) {
    const { dx, dm, dv, db, dg } = gradientOf({ t, m, v, gamma }, dy.result, form);
    return { t: dx, m: dm, v: dv, beta: db, gamma: dg };
  },
  lower(p, { t, m, v, beta, gamma }, { T, variance_epsilon: epsilon, scale_after_normalization: scaled }) {
    checkFloating(T);
    checkShapes(t.shape, { mean: m.shape, var: v.shape, beta: beta.shape, gamma: gamma.shape });
    const result = p.map([t, m, v, beta, gamma], (...values) => {
      const [x, mean, variance, shift, scale] = values.map(asFloat) as [e.Expr, e.Expr, e.Expr, e.Expr, e.Expr]; // five
      const factor = factorOf(variance, scale, epsilon, scaled);
      return e.cast(e.add(e.mul(x, factor), e.sub(shift, e.mul(mean, factor))), T);
    });
    return { result };
  },
  cases: () => [
    { shape: '[?, 2, 3, ?], [4], [?], [4], [4] -> [?, 2, 3, 4]', attrs: form },
    { shape: '[?, 2, 3, 5], [4], [?], [4], [4]', attrs: form, rejects: /channels of t and m: 5 and 4/ },
    { given: { ...image, beta: [0.5, -1] }, attrs: form, differentiable: 'once' },
    {
      given: { ...image, beta: [0.5, -1] },
      attrs: { ...form, scale_after_normalization: false },
      differentiable: 'once',
    },
  ],
});

const form = { variance_epsilon: 0.25, scale_after_normalization: true };
const image = {
  t: [
    [
      [
        [1, -2],
        [3, 0.5],
      ],
      [
        [-1, 4],
        [2, 2.5],
      ],
    ],
  ],
  m: [0.5, 1],
  v: [1.5, 2.5],
  gamma: [2, 3],
};

interface Inputs {
  readonly t: Tensor;
  readonly m: Tensor;
  readonly v: Tensor;
  readonly gamma: Tensor;
}
interface Gradients {
  readonly dx: Tensor;
  readonly dm: Tensor;
  readonly dv: Tensor;
  readonly db: Tensor;
  readonly dg: Tensor;
}

function gradientOf(inputs: Inputs, backprop: Gradient, given: typeof form): Gradients {
  return BatchNormWithGlobalNormalizationGrad.build({ ...inputs, backprop }, { attrs: given });
}

/** Sums over everything but the channels. */
const overPixels = (p: ProgramBuilder, value: Value) => p.reduce('sum', value, [0, 1, 2]);

export const BatchNormWithGlobalNormalizationGrad = defineOp({
  name: 'BatchNormWithGlobalNormalizationGrad',
  inputs: { t: 'T', m: 'T', v: 'T', gamma: 'T', backprop: 'T' },
  outputs: { dx: 'T', dm: 'T', dv: 'T', db: 'T', dg: 'T' },
  attrs,
  deprecatedSince: 9,
  shape({ t, m, v, gamma, backprop }) {
    const dims = imageDims(t, { m, v, gamma });
    const dx = imageDims(backprop, { t: [dims[3]!] }).map((size, axis) =>
      mergeDim(size, dims[axis]!, 't and backprop'),
    );
    const vector = [dx[3]!];
    return { dx, dm: vector, dv: vector, db: vector, dg: vector };
  },
  grad: gradientPending('TensorFlow has none either; tf.nn.batchNormalization can be differentiated twice'),
  lower(p, { t, m, v, gamma, backprop }, { T, variance_epsilon: epsilon, scale_after_normalization: scaled }) {
    checkFloating(T);
    checkShapes(t.shape, { mean: m.shape, var: v.shape, gamma: gamma.shape });
    if (showRuntime(backprop.shape) !== showRuntime(t.shape))
      throw new InvalidArgumentError(
        `input and out_backprop must have the same shape: ${showRuntime(t.shape)} vs. ${showRuntime(backprop.shape)}`,
      );
    const sum = overPixels(
      p,
      p.map([backprop], (dy) => asFloat(dy!)),
    );
    const products = overPixels(
      p,
      p.map([backprop, t, m], (dy, x, mean) => e.mul(asFloat(dy!), e.sub(asFloat(x!), asFloat(mean!)))),
    );
    const dx = p.map([backprop, v, gamma], (dy, variance, scale) =>
      e.cast(e.mul(asFloat(dy!), factorOf(asFloat(variance!), asFloat(scale!), epsilon, scaled)), T),
    );
    const [dm, dv, db, dg] = p.mapAll([sum, products, v, gamma], (...values) => {
      const [total, product, variance, scale] = values.map(asFloat) as [e.Expr, e.Expr, e.Expr, e.Expr]; // four
      const factor = factorOf(variance, scale, epsilon, scaled);
      const half = e.div(e.mul(factor, -0.5), e.add(variance, epsilon));
      const root = e.rsqrt(e.add(variance, epsilon));
      const slope = scaled ? e.mul(product, root) : e.mul(product, 0);
      return [e.neg(e.mul(total, factor)), e.mul(product, half), total, slope].map((x) => e.cast(x, T));
    }) as [Value, Value, Value, Value]; // one for each result
    return { dx, dm, dv, db, dg };
  },
  cases: () => [
    { shape: '[?, 2, 3, ?], [4], [?], [4], ? -> [?, 2, 3, 4], [4], [4], [4], [4]', attrs: form },
    {
      given: { ...image, backprop: ramp([1, 2, 2, 2], 1) },
      attrs: form,
    },
    {
      given: { ...image, backprop: ramp([1, 2, 2, 2], 1) },
      attrs: { ...form, scale_after_normalization: false },
    },
  ],
});

/**
 * Batch normalization with given moments, in its older form. Adds the nodes of `batchNormalization`.
 *
 * @example tf.nn.batchNormWithGlobalNormalization(x, mean, variance, beta, gamma, 1e-3, true)
 */
export function batchNormWithGlobalNormalization(
  t: TensorLike,
  m: TensorLike,
  v: TensorLike,
  beta: TensorLike | null,
  gamma: TensorLike | null,
  varianceEpsilon: TensorLike,
  scaleAfterNormalization: boolean,
  options: { readonly name?: string } = {},
): Tensor {
  onlyOptions('tf.nn.batchNormWithGlobalNormalization', options, 'name');
  return batchNormalization(t, m, v, beta, scaleAfterNormalization ? gamma : null, varianceEpsilon, options);
}
