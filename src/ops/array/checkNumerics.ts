/** @file CheckNumerics and EnsureShape: the same value, or an error. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { compatible, type Dims, mergeShapes, showRuntime, showShape } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { colocateWith } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp } from '../../op/defineOp.ts';
import { isinf, isnan } from '../../program/map.ts';
import { type Named, scoped } from './common.ts';
import { withDependencies } from './neighbours.ts';

export const CheckNumerics = defineOp({
  name: 'CheckNumerics',
  inputs: { tensor: 'T' },
  outputs: { output: 'T' },
  attrs: { T: attr('type', { allowed: [d.bfloat16, d.float16, d.float32, d.float64] }), message: attr('string') },
  stateful: true,
  shape: ({ tensor }) => ({ output: tensor }),
  // Python formats the message as the bytes it is.
  grad: ({ attrs: { message } }, { output: dy }) => ({
    tensor: checkNumerics(dy, `Not a number (NaN) or infinity (Inf) values detected in gradient. b'${message}'`),
  }),
  lower(p, { tensor }, { message }) {
    const axes = tensor.shape.map((_, i) => i);
    const any = (test: typeof isnan) => p.reduce('any', tensor, axes, { of: test });
    const hasNan = any(isnan);
    const hasInf = any(isinf);
    const fail = (what: string) => () => new InvalidArgumentError(`${message} : Tensor had ${what} values`);
    p.check(
      p.map([hasNan, hasInf], (a, b) => ({ op: 'and', dtype: d.bool, args: [a, b] })),
      fail('Inf and NaN'),
    );
    p.check(hasInf, fail('Inf'));
    p.check(hasNan, fail('NaN'));
    return { output: tensor };
  },
  cases: () => [
    { shape: '[2, ?] -> [2, ?]', attrs: { message: '' } },
    { given: { tensor: [1, 2] }, attrs: { message: 'ok' }, expect: { output: [1, 2] } },
    { given: { tensor: [1, Number.NaN] }, attrs: { message: 'bad' }, fails: /bad : Tensor had NaN values/ },
    { given: { tensor: [1, -Infinity] }, attrs: { message: 'bad' }, fails: /bad : Tensor had Inf values/ },
    {
      given: { tensor: [Number.NaN, Infinity] },
      attrs: { message: 'bad' },
      fails: /bad : Tensor had Inf and NaN values/,
    },
  ],
});

export const EnsureShape = defineOp({
  name: 'EnsureShape',
  inputs: { input: 'T' },
  outputs: { output: 'T' },
  attrs: { shape: attr('shape'), T: anyType },
  shape({ input }, { shape }) {
    if (!compatible(input, shape))
      throw new InvalidArgumentError(`input is ${showShape(input)}, which is not compatible with ${showShape(shape)}.`);
    return { output: mergeShapes(input, shape) };
  },
  grad: (_, dy) => ({ input: dy.output }),
  lower(_p, { input }, { shape }, { inputNames }) {
    if (!compatible(input.shape, shape))
      throw new InvalidArgumentError(
        `Shape of tensor ${inputNames[0]} ${showRuntime(input.shape)} is not compatible with expected shape ${showRuntime(shape)}.`,
      );
    return { output: input };
  },
  partialValue: ({ inputs }, known) => known(inputs.input),
  cases: () => [
    { shape: '[?, 3] -> [2, 3]', attrs: { shape: [2, null] } },
    { shape: '[2]', attrs: { shape: [3] }, rejects: /not compatible with \[3\]/ },
    { given: { input: [1, 2] }, attrs: { shape: [null] }, expect: { output: [1, 2] } },
  ],
});

/**
 * The same tensor; the run fails, with the message, when it holds a NaN or an infinity. Adds one `CheckNumerics` node.
 *
 * @example tf.checkNumerics(tf.constant([1.5]), 'loss') // runs to [1.5]
 */
export function checkNumerics(tensor: TensorLike, message: string, options: Named = {}): Tensor {
  return CheckNumerics.build({ tensor }, { ...options, attrs: { message } }).output;
}

/**
 * The same tensor after a check that it is finite everywhere. Adds one `CheckNumerics` and one `Identity` node.
 *
 * @example tf.verifyTensorAllFinite(tf.constant([1.5]), 'loss is not finite') // runs to [1.5]
 */
export function verifyTensorAllFinite(tensor: TensorLike, message: string, options: Named = {}): Tensor {
  const { name } = onlyOptions('tf.verifyTensorAllFinite', options, 'name');
  return scoped(name ?? 'VerifyFinite', [tensor], () => {
    const x = convertToTensor(tensor, { name: 'x' });
    const check = colocateWith(x, () => checkNumerics(x, message));
    return withDependencies([check.op], x);
  });
}

/**
 * The same tensor with a shape that is checked at run time and known from here on. Adds one `EnsureShape` node.
 *
 * @example tf.ensureShape(x, [null, 3])
 */
export function ensureShape(input: TensorLike, shape: Dims, options: Named = {}): Tensor {
  return EnsureShape.build({ input }, { ...options, attrs: { shape } }).output;
}
