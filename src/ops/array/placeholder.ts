/** @file Placeholder and its relatives: tensors whose value is fed at every run, or may be. */
import type { DType } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { compatible, type Dims, showRuntime, showShape } from '../../core/shape.ts';
import { onlyOptions, withArgument } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { LoweredNode } from '../../op/registry.ts';
import type { Named } from './common.ts';

/** Running a placeholder means that nobody fed it. */
function notFed({ dtype, shape }: { dtype: DType; shape: Dims }, node: LoweredNode): never {
  const expected = shape === null || shape.length === 0 ? '' : ` and shape ${showRuntime(shape)}`;
  throw new InvalidArgumentError(
    `You must feed a value for placeholder tensor '${node.name}' with dtype ${dtype.runtimeName}${expected}`,
  );
}

export const Placeholder = defineOp({
  name: 'Placeholder',
  inputs: {},
  outputs: { output: 'dtype' },
  attrs: { dtype: anyType, shape: attr('shape', { default: null }) },
  shape: (_, { shape }) => ({ output: shape }),
  grad: notDifferentiable,
  lower: (_p, _inputs, attrs, node) => notFed(attrs, node),
  cases: () => [],
});

export const PlaceholderV2 = defineOp({
  name: 'PlaceholderV2',
  inputs: {},
  outputs: { output: 'dtype' },
  attrs: { dtype: anyType, shape: attr('shape') },
  deprecatedSince: 23,
  shape: (_, { shape }) => ({ output: shape }),
  grad: notDifferentiable,
  lower: (_p, _inputs, attrs, node) => notFed(attrs, node),
  cases: () => [],
});

export const PlaceholderWithDefault = defineOp({
  name: 'PlaceholderWithDefault',
  inputs: { input: 'dtype' },
  outputs: { output: 'dtype' },
  attrs: { dtype: anyType, shape: attr('shape') },
  shape({ input }, { shape }) {
    if (!compatible(input, shape))
      throw new InvalidArgumentError(
        `the default is ${showShape(input)}, which does not fit the placeholder's shape ${showShape(shape)}.`,
      );
    return { output: shape };
  },
  grad: (_, dy) => ({ input: dy.output }),
  lower: (_, { input }) => ({ output: input }),
  cases: () => [
    { shape: '[2, 3] -> [2, ?]', attrs: { shape: [2, null] } },
    { shape: '[2]', attrs: { shape: [3] }, rejects: /does not fit the placeholder's shape \[3\]/ },
    { given: { input: [1, 2] }, attrs: { shape: [null] }, expect: { output: [1, 2] } },
  ],
});

export interface PlaceholderOptions<S extends Dims = Dims> extends Named {
  /** May stand here, or alone as the second argument. */
  readonly shape?: S | undefined;
}

/**
 * A tensor to be fed: running anything that needs it without a feed is an error. Adds one `Placeholder` node.
 *
 * @example const x = tf.placeholder(tf.float32, [null, 784], { name: 'x' });
 */
export function placeholder<const D extends DType, const S extends Dims = null>(
  dtype: D,
  shape?: S,
  options?: Named,
): Tensor<D, S>;
export function placeholder<const D extends DType, const S extends Dims = null>(
  dtype: D,
  options: PlaceholderOptions<S>,
): Tensor<D, S>;
export function placeholder(dtype: DType, given?: Dims | PlaceholderOptions, last: PlaceholderOptions = {}): Tensor {
  const options = withArgument('shape', given, last);
  const { shape = null, name } = onlyOptions('tf.placeholder', options, 'shape', 'name');
  return Placeholder.build({}, { name, attrs: { dtype, shape } }).output;
}

/**
 * A tensor that can be fed and otherwise has the value of `input`. Adds one `PlaceholderWithDefault` node.
 *
 * @example tf.placeholderWithDefault(tf.constant([1, 2]), [null]) // runs to [1 2] unless fed
 */
export function placeholderWithDefault(input: TensorLike, shape: Dims, options: Named = {}): Tensor {
  return PlaceholderWithDefault.build({ input }, { ...options, attrs: { shape } }).output;
}
