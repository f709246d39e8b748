/** @file The activations (Relu, Relu6, Elu, Selu, LeakyRelu, Softplus, Softsign) and the ops of their gradients. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { fromElements } from '../../core/ndarray.ts';
import { type Dims, mergeShapes, sameShape, showRuntime } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { controlDependencies, nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { type AttrSpec, attr, floats, realNumbers, realNumberTypes } from '../../op/attrs.ts';
import type { Case } from '../../op/cases.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp, type Op } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import * as e from '../../program/map.ts';
import { concat } from '../array/concat.ts';
import { IdentityN, identity } from '../array/identity.ts';
import { where, zerosLike } from '../array/index.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { cast } from '../math/cast.ts';
import { less } from '../math/compare.ts';
import { exp } from '../math/exp.ts';
import { erfc } from '../math/index.ts';
import { minusOf, over, plus, times } from '../math/operators.ts';
import { pow } from '../math/pow.ts';
import { sigmoid, tanh } from '../math/sigmoid.ts';

type TypeAttr = { readonly T: AttrSpec<'type'> };
/** What the gradient of an activation may look at. */
interface Activation {
  readonly features: Tensor;
  readonly activations: Tensor;
}

interface ActivationSpec {
  readonly name: string;
  readonly T: AttrSpec<'type'>;
  readonly element: (x: e.Expr) => e.Expr;
  readonly grad: (dy: Gradient, node: Activation) => Tensor;
  readonly cases: () => readonly Case<'features', 'activations'>[];
}

type ActivationOp = Op<{ readonly features: 'T' }, { readonly activations: 'T' }, TypeAttr>;
type FeaturesGradOp = Op<{ readonly gradients: 'T'; readonly features: 'T' }, { readonly backprops: 'T' }, TypeAttr>;
type OutputsGradOp = Op<{ readonly gradients: 'T'; readonly outputs: 'T' }, { readonly backprops: 'T' }, TypeAttr>;

function defineActivation({ name, T, element, grad, cases }: ActivationSpec): ActivationOp {
  return defineOp({
    name,
    inputs: { features: 'T' },
    outputs: { activations: 'T' },
    attrs: { T } satisfies TypeAttr,
    shape: ({ features }) => ({ activations: features }),
    grad: ({ inputs, outputs }, dy) => ({
      features: grad(dy.activations, { features: inputs.features, activations: outputs.activations }),
    }),
    lower: e.pointwise(element),
    cases: () => [{ shape: '[2, ?] -> [2, ?]' }, { shape: '? -> ?' }, ...cases()],
  });
}

/** Throws what TensorFlow says when the two inputs of a gradient op differ in shape. */
function checkSame(op: string, node: string, a: readonly number[], b: readonly number[]): void {
  if (!sameShape(a, b))
    throw new InvalidArgumentError(
      `Inputs to operation ${node} of type ${op} must have the same size and shape.  Input 0: ${showRuntime(a)} != input 1: ${showRuntime(b)}`,
    );
}

interface ActivationGradSpec<P extends string> {
  readonly name: string;
  /** The second input: the activation's input or its output. */
  readonly of: P;
  readonly T: AttrSpec<'type'>;
  readonly element: (g: e.Expr, x: e.Expr) => e.Expr;
  /** Gradients with respect to both inputs. */
  readonly grad: (ddy: Tensor, gradients: Tensor, of: Tensor) => readonly [Tensor, Tensor];
  readonly cases: () => readonly Case<'gradients' | P, 'backprops'>[];
}

function defineFeaturesGrad(spec: ActivationGradSpec<'features'>): FeaturesGradOp {
  return defineOp({
    name: spec.name,
    inputs: { gradients: 'T', features: 'T' },
    outputs: { backprops: 'T' },
    attrs: { T: spec.T } satisfies TypeAttr,
    shape: ({ gradients, features }) => ({ backprops: mergeShapes(gradients, features) }),
    grad({ inputs }, dy) {
      const [gradients, features] = spec.grad(denseGradient(dy.backprops), inputs.gradients, inputs.features);
      return { gradients, features };
    },
    lower(p, { gradients, features }, _, node) {
      checkSame(spec.name, node.name, gradients.shape, features.shape);
      return { backprops: p.map([gradients, features], (g, x) => spec.element(g!, x!)) };
    },
    cases: () => [
      { shape: '[2, ?], [?, 3] -> [2, 3]' },
      { shape: '[2], [3]', rejects: /not compatible/ },
      ...spec.cases(),
    ],
  });
}

function defineOutputsGrad(spec: ActivationGradSpec<'outputs'>): OutputsGradOp {
  return defineOp({
    name: spec.name,
    inputs: { gradients: 'T', outputs: 'T' },
    outputs: { backprops: 'T' },
    attrs: { T: spec.T } satisfies TypeAttr,
    shape: ({ gradients, outputs }) => ({ backprops: mergeShapes(gradients, outputs) }),
    grad({ inputs }, dy) {
      const [gradients, outputs] = spec.grad(denseGradient(dy.backprops), inputs.gradients, inputs.outputs);
      return { gradients, outputs };
    },
    lower(p, { gradients, outputs }, _, node) {
      checkSame(spec.name, node.name, gradients.shape, outputs.shape);
      return { backprops: p.map([gradients, outputs], (g, y) => spec.element(g!, y!)) };
    },
    cases: () => [{ shape: '[2, ?], [?, 3] -> [2, 3]' }, ...spec.cases()],
  });
}

// Relu.

/** A gradient where a rectifier lets it through; elsewhere it is multiplied by 0, so that NaN and infinities are not lost. */
const throughRectifier = (passes: e.Expr, g: e.Expr): e.Expr => e.select(passes, g, e.mul(g, 0));

export const Relu: ActivationOp = defineActivation({
  name: 'Relu',
  T: attr('type', { allowed: [...realNumberTypes, d.qint8] }),
  element: (x) => e.max(x, 0),
  grad: (gradients, { activations }) => ReluGrad.build({ gradients, features: activations }).backprops,
  cases: () => [
    { given: { features: [-1.5, 2, 3] }, expect: { activations: [0, 2, 3] } },
    { given: { features: [0, Number.NaN] }, expect: { activations: [0, Number.NaN] }, differentiable: false },
    {
      given: { features: { dtype: 'int8', value: [-3, 4] } },
      expect: { activations: { dtype: 'int8', value: [0, 4] } },
    },
  ],
});

export const ReluGrad: FeaturesGradOp = defineFeaturesGrad({
  name: 'ReluGrad',
  of: 'features',
  T: realNumbers,
  element: (g, x) => throughRectifier(e.gt(x, 0), g),
  grad: (ddy, _, features) => [ReluGrad.build({ gradients: ddy, features }).backprops, zerosLike(features)],
  cases: () => [
    { given: { gradients: [1, 2, 3], features: [-1, 2, 0.5] }, expect: { backprops: [0, 2, 3] } },
    {
      given: { gradients: [1, 2], features: [Number.NaN, 0] },
      expect: { backprops: [0, 0] },
      differentiable: false,
    },
    {
      given: { gradients: [Number.POSITIVE_INFINITY, Number.NaN, Number.POSITIVE_INFINITY], features: [-1, 0, 2] },
      expect: { backprops: [Number.NaN, Number.NaN, Number.POSITIVE_INFINITY] },
      differentiable: false,
    },
  ],
});

export const Relu6: ActivationOp = defineActivation({
  name: 'Relu6',
  T: realNumbers,
  element: (x) => e.min(e.max(x, 0), 6),
  grad: (gradients, { activations }) => Relu6Grad.build({ gradients, features: activations }).backprops,
  cases: () => [{ given: { features: [-1.5, 2, 7] }, expect: { activations: [0, 2, 6] } }],
});

export const Relu6Grad: FeaturesGradOp = defineFeaturesGrad({
  name: 'Relu6Grad',
  of: 'features',
  T: realNumbers,
  element: (g, x) => throughRectifier(e.and(e.gt(x, 0), e.lt(x, 6)), g),
  grad: (ddy, _, features) => [Relu6Grad.build({ gradients: ddy, features }).backprops, zerosLike(features)],
  cases: () => [
    { given: { gradients: [1, 2, 3], features: [-1, 2, 8] }, expect: { backprops: [0, 2, 0] } },
    { given: { gradients: [1, 2], features: [0, 6] }, expect: { backprops: [0, 0] }, differentiable: false },
    {
      given: { gradients: [Number.POSITIVE_INFINITY, Number.NaN], features: [-1, 8] },
      expect: { backprops: [Number.NaN, Number.NaN] },
      differentiable: false,
    },
  ],
});

// Elu and selu.
export const Elu: ActivationOp = defineActivation({
  name: 'Elu',
  T: floats,
  element: (x) => e.select(e.lt(x, 0), e.expm1(x), x),
  grad: (gradients, { activations }) => EluGrad.build({ gradients, outputs: activations }).backprops,
  cases: () => [{ given: { features: [-1, 2] }, expect: { activations: [-0.63212055, 2] } }],
});

/** The gradient ops of elu and selu have the same second derivative: the incoming one where the output is negative. */
function whereNegative(ddy: Tensor, gradients: Tensor, outputs: Tensor): Tensor {
  return where(less(outputs, 0), times(ddy, gradients), zerosLike(outputs));
}

export const EluGrad: OutputsGradOp = defineOutputsGrad({
  name: 'EluGrad',
  of: 'outputs',
  T: floats,
  element: (g, y) => e.select(e.lt(y, 0), e.mul(e.add(y, 1), g), g),
  grad: (ddy, gradients, outputs) => [
    EluGrad.build({ gradients: ddy, outputs }).backprops,
    whereNegative(ddy, gradients, outputs),
  ],
  cases: () => [{ given: { gradients: [2, 2], outputs: [-0.5, 2] }, expect: { backprops: [1, 2] } }],
});

// The fixed point of Klambauer et al. 2017 (mean 0, variance 1), to double precision.
const seluScale = 1.0507009873554805;
const seluScaleAlpha = 1.7580993408473768;

export const Selu: ActivationOp = defineActivation({
  name: 'Selu',
  T: floats,
  element: (x) => e.select(e.lt(x, 0), e.mul(e.expm1(x), seluScaleAlpha), e.mul(x, seluScale)),
  grad: (gradients, { activations }) => SeluGrad.build({ gradients, outputs: activations }).backprops,
  cases: () => [{ given: { features: [-1, 2] }, expect: { activations: [-1.1113307, 2.101402] } }],
});

export const SeluGrad: OutputsGradOp = defineOutputsGrad({
  name: 'SeluGrad',
  of: 'outputs',
  T: floats,
  element: (g, y) => e.select(e.lt(y, 0), e.mul(g, e.add(y, seluScaleAlpha)), e.mul(g, seluScale)),
  grad: (ddy, gradients, outputs) => [
    SeluGrad.build({ gradients: ddy, outputs }).backprops,
    whereNegative(ddy, gradients, outputs),
  ],
  cases: () => [{ given: { gradients: [1, 1], outputs: [-0.5, 2] }, expect: { backprops: [1.2580993, 1.0507009] } }],
});

// Leaky relu.
const alpha = attr('float', { default: Math.fround(0.2) });
const leakyTypes = attr('type', { allowed: [d.float16, d.bfloat16, d.float32, d.float64], default: d.float32 });

export const LeakyRelu = defineOp({
  name: 'LeakyRelu',
  inputs: { features: 'T' },
  outputs: { activations: 'T' },
  attrs: { alpha, T: leakyTypes },
  shape: ({ features }) => ({ activations: features }),
  grad: ({ inputs: { features }, attrs }, dy) => ({
    features: LeakyReluGrad.build({ gradients: dy.activations, features }, { attrs: { alpha: attrs.alpha } }).backprops,
  }),
  lower: e.pointwiseWith(
    ({ alpha }: { alpha: number }) =>
      (x) =>
        e.select(e.gt(x!, 0), x!, e.mul(x!, alpha)),
  ),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { features: [-1, 2] }, expect: { activations: [-0.2, 2] } },
    { given: { features: [-1, 2] }, attrs: { alpha: 1.5 }, expect: { activations: [-1.5, 2] } },
  ],
});

export const LeakyReluGrad: Op<
  { readonly gradients: 'T'; readonly features: 'T' },
  { readonly backprops: 'T' },
  { readonly alpha: AttrSpec<'float'>; readonly T: AttrSpec<'type'> }
> = defineOp({
  name: 'LeakyReluGrad',
  inputs: { gradients: 'T', features: 'T' },
  outputs: { backprops: 'T' },
  attrs: { alpha, T: leakyTypes },
  shape: ({ gradients, features }) => ({ backprops: mergeShapes(gradients, features) }),
  grad: ({ inputs: { features }, attrs }, dy) => ({
    gradients: LeakyReluGrad.build({ gradients: dy.backprops, features }, { attrs: { alpha: attrs.alpha } }).backprops,
    features: zerosLike(features),
  }),
  lower(p, { gradients, features }, attrs, node) {
    checkSame('LeakyReluGrad', node.name, gradients.shape, features.shape);
    const backprops = p.map([gradients, features], (g, x) => e.select(e.gt(x!, 0), g!, e.mul(g!, attrs.alpha)));
    return { backprops };
  },
  cases: () => [
    { shape: '[2, ?], [?, 3] -> [2, 3]' },
    { given: { gradients: [1, 1], features: [-3, 2] }, expect: { backprops: [0.2, 1] } },
  ],
});

// Softplus and softsign.
export const Softplus: ActivationOp = defineActivation({
  name: 'Softplus',
  T: floats,
  // e^x overflows for large x; taking max(x, 0) out first keeps the exponent at or below zero.
  element: (x) => e.add(e.max(x, 0), e.log1p(e.exp(e.neg(e.abs(x))))),
  grad: (dy, { features }) => times(dy, sigmoid(features)),
  cases: () => [
    { given: { features: [-1, 0, 1] }, expect: { activations: [0.31326169, Math.LN2, 1.3132617] } },
    { given: { features: [-1000, 1000] }, expect: { activations: [0, 1000] } },
  ],
});

export const SoftplusGrad: FeaturesGradOp = defineFeaturesGrad({
  name: 'SoftplusGrad',
  of: 'features',
  T: floats,
  element: (g, x) => e.div(g, e.add(e.exp(e.neg(x)), 1)),
  grad: (ddy, gradients, features) =>
    controlDependencies([ddy], () => [
      SoftplusGrad.build({ gradients: ddy, features }).backprops,
      over(times(ddy, gradients), plus(plus(exp(minusOf(features)), 2), exp(features))),
    ]),
  cases: () => [{ given: { gradients: [1, 2], features: [0, -1] }, expect: { backprops: [0.5, 0.53788284] } }],
});

export const Softsign: ActivationOp = defineActivation({
  name: 'Softsign',
  T: floats,
  element: (x) => e.div(x, e.add(e.abs(x), 1)),
  grad: (gradients, { features }) => SoftsignGrad.build({ gradients, features }).backprops,
  cases: () => [{ given: { features: [-1, 3] }, expect: { activations: [-0.5, 0.75] } }],
});

export const SoftsignGrad = defineOp({
  name: 'SoftsignGrad',
  inputs: { gradients: 'T', features: 'T' },
  outputs: { backprops: 'T' },
  attrs: { T: floats },
  shape: ({ gradients, features }) => ({ backprops: mergeShapes(gradients, features) }),
  grad: { pending: 'TensorFlow has none either' },
  lower(p, { gradients, features }, _, node) {
    checkSame('SoftsignGrad', node.name, gradients.shape, features.shape);
    return { backprops: p.map([gradients, features], (g, x) => e.div(g!, e.square(e.add(e.abs(x!), 1)))) };
  },
  cases: () => [
    { shape: '[2, ?], [?, 3] -> [2, 3]' },
    { given: { gradients: [1, 4], features: [-1, 3] }, expect: { backprops: [0.25, 0.25] } },
  ],
});

// Functions.
export interface NameOption {
  readonly name?: string | undefined;
}

/** Converts a literal inside the function's own scope, as Python does. */
function activate(
  op: { build(inputs: { features: TensorLike }, options: NameOption): { activations: Tensor } },
  features: TensorLike,
  { name }: NameOption,
): Tensor {
  return op.build({ features }, { name }).activations;
}

/**
 * `max(x, 0)` of every element. Adds one `Relu` node.
 *
 * @example tf.nn.relu(tf.constant([-1.5, 2])) // runs to [0. 2.]
 */
export function relu<D extends d.DType, S extends Dims>(
  features: Tensor<D, S> | TensorLike,
  options?: NameOption,
): Tensor<D, S>;
export function relu(features: TensorLike, options: NameOption = {}): Tensor {
  return activate(Relu, features, options);
}

/**
 * `min(max(x, 0), 6)` of every element. Adds one `Relu6` node.
 *
 * @example tf.nn.relu6(tf.constant([-1.5, 2, 7])) // runs to [0. 2. 6.]
 */
export function relu6<D extends d.DType, S extends Dims>(
  features: Tensor<D, S> | TensorLike,
  options?: NameOption,
): Tensor<D, S>;
export function relu6(features: TensorLike, options: NameOption = {}): Tensor {
  return activate(Relu6, features, options);
}

/**
 * `exp(x) - 1` where x is negative, else x. Adds one `Elu` node.
 *
 * @example tf.nn.elu(tf.constant([-1.5, 2])) // runs to [-0.7768698  2.       ]
 */
export function elu<D extends d.DType, S extends Dims>(
  features: Tensor<D, S> | TensorLike,
  options?: NameOption,
): Tensor<D, S>;
export function elu(features: TensorLike, options: NameOption = {}): Tensor {
  return activate(Elu, features, options);
}

/**
 * The scaled exponential linear unit. Adds one `Selu` node.
 *
 * @example tf.nn.selu(tf.constant([-1.5, 2])) // runs to [-1.3658142  2.101402 ]
 */
export function selu<D extends d.DType, S extends Dims>(
  features: Tensor<D, S> | TensorLike,
  options?: NameOption,
): Tensor<D, S>;
export function selu(features: TensorLike, options: NameOption = {}): Tensor {
  return activate(Selu, features, options);
}

/**
 * x where it is positive, `alpha * x` elsewhere. Adds one `LeakyRelu` node.
 *
 * @example tf.nn.leakyRelu(tf.constant([-1.5, 2])) // runs to [-0.3  2. ]
 */
export function leakyRelu(features: TensorLike, options: { alpha?: number; name?: string } = {}): Tensor {
  onlyOptions('tf.nn.leakyRelu', options, 'alpha', 'name');
  return nameScope(options.name ?? 'LeakyRelu', (name) => {
    const x = convertToTensor(features, { name: 'features' });
    const attrs = { alpha: Math.fround(options.alpha ?? 0.2) };
    return LeakyRelu.build({ features: x.dtype.isInteger ? cast(x, d.float32) : x }, { name, attrs }).activations;
  });
}

/**
 * Relu of x and of -x, side by side along an axis. Adds nodes `CRelu` and `Relu`.
 *
 * @example tf.nn.crelu(tf.constant([-1.5, 2])) // runs to [0.  2.  1.5 0. ]
 */
export function crelu(features: TensorLike, options: { axis?: number; name?: string } = {}): Tensor {
  onlyOptions('tf.nn.crelu', options, 'axis', 'name');
  return nameScope(options.name ?? 'CRelu', (name) => {
    const x = convertToTensor(features, { name: 'features' });
    return relu(concat([x, minusOf(x)], options.axis ?? -1, { name }));
  });
}

/**
 * `log(1 + exp(x))` of every element. Adds one `Softplus` node.
 *
 * @example tf.nn.softplus(tf.constant([0.5, 1])) // runs to [0.974077  1.3132616]
 */
export function softplus<D extends d.DType, S extends Dims>(
  features: Tensor<D, S> | TensorLike,
  options?: NameOption,
): Tensor<D, S>;
export function softplus(features: TensorLike, options: NameOption = {}): Tensor {
  return activate(Softplus, features, options);
}

/**
 * `x / (1 + |x|)` of every element. Adds one `Softsign` node.
 *
 * @example tf.nn.softsign(tf.constant([0.5, -1])) // runs to [ 0.33333334 -0.5       ]
 */
export function softsign<D extends d.DType, S extends Dims>(
  features: Tensor<D, S> | TensorLike,
  options?: NameOption,
): Tensor<D, S>;
export function softsign(features: TensorLike, options: NameOption = {}): Tensor {
  return activate(Softsign, features, options);
}

/**
 * The Gaussian error linear unit, exact or by the usual tanh approximation. Adds nodes under `Gelu/`.
 *
 * @example tf.nn.gelu(tf.constant([0.5, -1])) // runs to [ 0.34573123 -0.15865526]
 */
export function gelu(features: TensorLike, options: { approximate?: boolean; name?: string } = {}): Tensor {
  onlyOptions('tf.nn.gelu', options, 'approximate', 'name');
  return nameScope(options.name ?? 'Gelu', () => {
    const x = convertToTensor(features, { name: 'features' });
    if (!x.dtype.isFloating)
      throw userError(`features must be of a floating type, but is ${x.dtype}. Wrap it in tf.cast.`);
    if (!options.approximate) {
      const half = times(0.5, x);
      const negative = minusOf(x);
      return times(half, erfc(times(negative, cast(Math.SQRT1_2, x.dtype))));
    }
    const coefficient = cast(0.044715, x.dtype);
    const half = times(0.5, x);
    const cubic = plus(x, times(coefficient, pow(x, 3)));
    return times(half, plus(1, tanh(times(0.7978845608028654, cubic))));
  });
}

/**
 * `x * sigmoid(beta * x)`, also called silu. Adds `mul`, `Sigmoid` and `mul_1` nodes.
 *
 * @example tf.nn.swish(tf.constant([1.5, -1])) // runs to [ 1.2263618  -0.26894143]
 */
export function swish(features: TensorLike, options: { beta?: TensorLike } = {}): Tensor {
  onlyOptions('tf.nn.swish', options, 'beta');
  const x = convertToTensor(features, { name: 'features' });
  const beta = cast(convertToTensor(options.beta ?? fromElements(d.float32, [], [1]), { name: 'beta' }), x.dtype);
  const result = times(x, sigmoid(times(beta, x)));
  identity(result);
  return IdentityN.build({ input: [result, x, beta] }).output[0]!;
}
