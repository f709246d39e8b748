/** @file Identity and its relatives: the same value under a new name. */
import { float32 } from '../../core/dtypes.ts';
import { LookupError } from '../../core/errors.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, attr } from '../../op/attrs.ts';
import type { Case } from '../../op/cases.ts';
import { defineOp, gradientPending, notDifferentiable } from '../../op/defineOp.ts';
import type { Named } from './common.ts';

const passing = (): Case<'input', 'output'>[] => [
  { shape: '[2, ?] -> [2, ?]' },
  { shape: '? -> ?' },
  { given: { input: [1, 2] }, expect: { output: [1, 2] } },
  { given: { input: ['a'] }, expect: { output: ['a'] } },
];

const withoutGradient = (cases: Case<'input', 'output'>[]): Case<'input', 'output'>[] =>
  cases.map((c) => ('expect' in c ? { ...c, differentiable: false } : c));

export const Identity = defineOp({
  name: 'Identity',
  inputs: { input: 'T' },
  outputs: { output: 'T' },
  attrs: { T: anyType },
  takesLists: true,
  isIdentity: true,
  shape: ({ input }) => ({ output: input }),
  grad: (_, dy) => ({ input: dy.output }),
  lower: (_, { input }) => ({ output: input }),
  partialValue: ({ inputs }, known) => known(inputs.input),
  cases: passing,
});

export const IdentityN = defineOp({
  name: 'IdentityN',
  inputs: { input: 'T' },
  outputs: { output: 'T' },
  attrs: { T: attr('list(type)', { minimum: 1 }) },
  takesLists: true,
  handsOn: true,
  shape: ({ input }) => ({ output: input }),
  grad: (_, dy) => ({ input: dy.output }),
  lower: (_, { input }) => ({ output: input }),
  partialValue: ({ inputs }, known, output) => known(inputs.input[output]!),
  cases: () => [
    { shape: '[2, ?], ? -> [2, ?], ?', attrs: { T: [float32, float32] } },
    { given: { input: [[1, 2], 'a'] }, expect: { output: [[1, 2], 'a'] } },
  ],
});

export const RefIdentity = defineOp({
  name: 'RefIdentity',
  inputs: { input: 'Ref(T)' },
  outputs: { output: 'Ref(T)' },
  attrs: { T: anyType },
  allowsUninitializedInput: true,
  shape: ({ input }) => ({ output: input }),
  grad: (_, dy) => ({ input: dy.output }),
  lower: (_, { input }) => ({ output: input }),
  cases: () => [],
});

export const StopGradient = defineOp({
  name: 'StopGradient',
  inputs: { input: 'T' },
  outputs: { output: 'T' },
  attrs: { T: anyType },
  takesLists: true,
  isIdentity: true,
  shape: ({ input }) => ({ output: input }),
  grad: notDifferentiable,
  lower: (_, { input }) => ({ output: input }),
  partialValue: ({ inputs }, known) => known(inputs.input),
  cases: () => withoutGradient(passing()),
});

export const PreventGradient = defineOp({
  name: 'PreventGradient',
  inputs: { input: 'T' },
  outputs: { output: 'T' },
  attrs: { T: anyType, message: attr('string', { default: '' }) },
  takesLists: true,
  isIdentity: true,
  shape: ({ input }) => ({ output: input }),
  grad({ attrs: { message } }) {
    throw new LookupError(`Gradient explicitly disabled. Reason: ${message}`);
  },
  lower: (_, { input }) => ({ output: input }),
  partialValue: ({ inputs }, known) => known(inputs.input),
  cases: () => withoutGradient(passing()),
});

export const Snapshot = defineOp({
  name: 'Snapshot',
  inputs: { input: 'T' },
  outputs: { output: 'T' },
  attrs: { T: anyType },
  isIdentity: true,
  shape: ({ input }) => ({ output: input }),
  grad: gradientPending('TensorFlow has none either; use tf.identity, which has one'),
  lower: (_, { input }) => ({ output: input }),
  cases: () => withoutGradient(passing()),
});

export const DeepCopy = defineOp({
  name: 'DeepCopy',
  inputs: { x: 'T' },
  outputs: { y: 'T' },
  attrs: { T: anyType },
  stateful: true,
  shape: ({ x }) => ({ y: x }),
  grad: notDifferentiable,
  lower: (p, { x }) => ({ y: p.copy(x) }),
  cases: () => [{ shape: '[2, ?] -> [2, ?]' }, { given: { x: [1, 2] }, expect: { y: [1, 2] }, differentiable: false }],
});

export const GuaranteeConst = defineOp({
  name: 'GuaranteeConst',
  inputs: { input: 'T' },
  outputs: { output: 'T' },
  attrs: { T: anyType },
  stateful: true,
  shape: ({ input }) => ({ output: input }),
  grad: notDifferentiable,
  lower: (_, { input }) => ({ output: input }),
  cases: () => withoutGradient(passing()),
});

/**
 * The same value as another node. Adds one `Identity` node.
 *
 * @example tf.identity(tf.constant([1.5, 2])) // runs to [1.5 2.]
 */
export function identity(input: TensorLike, options: Named = {}): Tensor {
  return Identity.build({ input }, options).output;
}

/**
 * The same values as one node with several outputs. Adds one `IdentityN` node.
 *
 * @example tf.identityN([tf.constant(1), tf.constant('a')]) // runs to [1, b'a']
 */
export function identityN(input: readonly TensorLike[], options: Named = {}): readonly Tensor[] {
  return IdentityN.build({ input }, options).output;
}

/**
 * The same value, through which no gradient flows. Adds one `StopGradient` node.
 *
 * @example tf.gradients(tf.stopGradient(x).mul(x), [x]) // the first factor counts as a constant
 */
export function stopGradient(input: TensorLike, options: Named = {}): Tensor {
  return StopGradient.build({ input }, options).output;
}

/**
 * The same value; asking for a gradient through it is an error with this message. Adds one `PreventGradient` node.
 *
 * @example tf.preventGradient(labels, { message: 'labels are data' })
 */
export function preventGradient(input: TensorLike, options: Named & { message?: string } = {}): Tensor {
  const { name, message = '' } = onlyOptions('tf.preventGradient', options, 'name', 'message');
  return PreventGradient.build({ input }, { name, attrs: { message } }).output;
}

/**
 * The same value, promised never to change between runs. Adds one `GuaranteeConst` node.
 *
 * @example tf.guaranteeConst(tf.constant([1, 2])) // runs to [1 2]
 */
export function guaranteeConst(input: TensorLike, options: Named = {}): Tensor {
  return GuaranteeConst.build({ input }, options).output;
}
