/** @file AddN and AccumulateNV2: the sum of many tensors of one shape. */
import { qint16, quint16, variant } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, mergeShapes, sameShape, showRuntime } from '../../core/shape.ts';
import { IndexedSlices } from '../../graph/indexedSlices.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { attr, numberTypes } from '../../op/attrs.ts';
import { convertToTensor, isSymbolic } from '../../op/convert.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import { add } from '../../program/map.ts';
import type { Value } from '../../program/value.ts';
import { identity } from '../array/identity.ts';
import type { NameOption } from './elementwise.ts';
import { simplifyAddN } from './identities.ts';
import { variantSum } from './variants.ts';

/** One shape that fits all inputs. */
function commonShape(inputs: readonly Dims[]): Dims {
  return inputs.reduce(mergeShapes, null);
}

function lowerSum(p: ProgramBuilder, inputs: readonly Value[], name: string, type: string): Value {
  const first = inputs[0]!;
  for (const [i, input] of inputs.entries())
    if (!sameShape(input.shape, first.shape))
      throw new InvalidArgumentError(
        `Inputs to operation ${name} of type ${type} must have the same size and shape.  Input 0: ${showRuntime(first.shape)} != input ${i}: ${showRuntime(input.shape)}`,
      );
  if (first.dtype === variant) return variantSum(p, inputs);
  return p.map(inputs, (...elements) => elements.reduce((a, b) => add(a, b)));
}

export const AddN = defineOp({
  name: 'AddN',
  inputs: { inputs: 'N * T' },
  outputs: { sum: 'T' },
  attrs: {
    N: attr('int', { minimum: 1 }),
    T: attr('type', { allowed: [...numberTypes, qint16, quint16, variant] }),
  },
  commutative: true,
  aggregate: true,
  takesLists: true,
  shape: ({ inputs }) => ({ sum: commonShape(inputs) }),
  grad: ({ inputs }, { sum: dy }) => ({ inputs: inputs.inputs.map(() => dy) }),
  lower: (p, { inputs }, _, node) => ({ sum: lowerSum(p, inputs, node.name, 'AddN') }),
  simplify: simplifyAddN,
  cases: () => [
    { shape: '[2, ?], [?, 3] -> [2, 3]' },
    { shape: '[2], [3]', rejects: /not compatible/ },
    {
      given: {
        inputs: [
          [1, 2],
          [3, 4],
          [5, 6],
        ],
      },
      expect: { sum: [9, 12] },
    },
    { given: { inputs: [{ dtype: 'int32', value: [7] }] }, expect: { sum: { dtype: 'int32', value: [7] } } },
  ],
});

/**
 * The sum of tensors of one shape. Adds one `AddN` node; for a single tensor none, or an `Identity` when named.
 *
 * @example tf.addN([[1, 2], [3, 4], [5, 6]]) // runs to [ 9 12]
 */
export function addN(inputs: readonly TensorLike[], options: NameOption = {}): Tensor {
  const values = converted(inputs, 'tf.addN');
  if (values.length > 1) return AddN.build({ inputs: values }, options).sum;
  const only = convertToTensor(values[0]!);
  return options.name === undefined ? only : identity(only, { name: options.name });
}

/** Literals become tensors outside the sum's own scope, as in Python; rows of sparse gradients wait for the op. */
function converted(inputs: readonly TensorLike[], what: string): readonly (Tensor | IndexedSlices)[] {
  if (inputs.length === 0) throw userError(`${what} wants at least one tensor.`);
  const dtype = inputs.find(isSymbolic)?.dtype;
  return inputs.map((x) => (x instanceof IndexedSlices ? x : convertToTensor(x, { hint: dtype })));
}

export const AccumulateNV2 = defineOp({
  name: 'AccumulateNV2',
  inputs: { inputs: 'N * T' },
  outputs: { sum: 'T' },
  attrs: {
    N: attr('int', { minimum: 1 }),
    T: attr('type', { allowed: [...numberTypes, qint16, quint16] }),
    shape: attr('shape'),
  },
  commutative: true,
  aggregate: true,
  shape: ({ inputs }, { shape }) => ({ sum: mergeShapes(commonShape(inputs), shape) }),
  grad: ({ inputs }, { sum: dy }) => ({ inputs: inputs.inputs.map(() => dy) }),
  lower: (p, { inputs }, _, node) => ({ sum: lowerSum(p, inputs, node.name, 'AccumulateNV2') }),
  cases: () => [
    { shape: '[2, ?], [?, 3] -> [2, 3]', attrs: { shape: [2, 3] } },
    {
      given: {
        inputs: [
          [1, 2],
          [3, 4],
        ],
      },
      attrs: { shape: [2] },
      expect: { sum: [4, 6] },
    },
  ],
});

/**
 * The sum of tensors of one shape, as `tf.addN`. Adds one `AddN` node; for a single tensor none, or an `Identity` when
 * named.
 *
 * @example tf.accumulateN([[1, 2], [3, 4]]) // runs to [4 6]
 */
export function accumulateN(
  inputs: readonly TensorLike[],
  options: NameOption & { readonly shape?: Dims } = {},
): Tensor {
  onlyOptions('tf.accumulateN', options, 'name', 'shape');
  const values = converted(inputs, 'tf.accumulateN').map((x) => convertToTensor(x));
  [options.shape ?? null, ...values.map((x) => x.shape)].reduce(mergeShapes, null);
  return addN(values, { name: options.name });
}
