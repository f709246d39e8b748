/** @file Fill, Empty, and the constants made of one value: zeros and ones. */

import { bool, type DType, float32, int32, string } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { fromElements, intVector, scalar } from '../../core/ndarray.ts';
import { showRuntime, sizeOf } from '../../core/shape.ts';
import type { DTypeOf, KnownShape, Reshape } from '../../graph/staticShapes.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { anyType, attr, indexTypes } from '../../op/attrs.ts';
import { constantNode, convertToTensor } from '../../op/convert.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import {
  concreteShape,
  dimsFrom,
  dtypeOrOptions,
  type Known,
  type Named,
  ofRank,
  scoped,
  zeroElement,
} from './common.ts';
import { reduceSumAll } from './neighbours.ts';
import { reshape } from './reshape.ts';

export const Fill = defineOp({
  name: 'Fill',
  inputs: { dims: 'index_type', value: 'T' },
  outputs: { output: 'T' },
  attrs: { T: anyType, index_type: indexTypes },
  hostInputs: ['dims'],
  shape({ value }, _, context) {
    ofRank(value, 0, 'value');
    return { output: dimsFrom(context.partial('dims')) };
  },
  grad: (_, { output: dy }) => ({ value: reduceSumAll(dy) }),
  lower(p, { dims, value }) {
    if (value.shape.length !== 0)
      throw new InvalidArgumentError(`value must represent a scalar, got shape ${showRuntime(value.shape)}`);
    return { output: p.broadcast(value, concreteShape(p, dims, 'dims')) };
  },
  partialValue({ inputs, outputs }, known): Known | undefined {
    const count = outputs.output.shape?.length === 1 ? outputs.output.shape[0] : undefined;
    const value = known(inputs.value)?.[0];
    return count == null || value === undefined ? undefined : new Array<number | null>(count).fill(value);
  },
  cases: () => [
    { shape: '[2], [] -> [2, 3]', given: { dims: { dtype: 'int32', value: [2, 3] } } },
    { shape: '[2], [] -> [?, ?]' },
    { shape: '?, [] -> ?' },
    {
      given: { dims: { dtype: 'int32', value: [2, 2] }, value: 9 },
      expect: {
        output: [
          [9, 9],
          [9, 9],
        ],
      },
    },
    { given: { dims: { dtype: 'int64', value: [2] }, value: 'x' }, expect: { output: ['x', 'x'] } },
    { given: { dims: { dtype: 'int32', value: [], shape: [0] }, value: 4 }, expect: { output: 4 } },
    { given: { dims: { dtype: 'int32', value: [-1] }, value: 4 }, fails: /must be >= 0/ },
  ],
});

export const Empty = defineOp({
  name: 'Empty',
  inputs: { shape: 'int32' },
  outputs: { output: 'dtype' },
  attrs: { dtype: anyType, init: attr('bool', { default: false }) },
  stateful: true,
  hostInputs: ['shape'],
  shape: (_inputs, _attrs, context) => ({ output: dimsFrom(context.partial('shape')) }),
  grad: gradientPending('its content is arbitrary'),
  // Arbitrary content may as well be zeros, whether or not `init` asks for them.
  lower: (p, { shape }, { dtype }) => ({
    output: p.broadcast(zeroElement(p, dtype), concreteShape(p, shape, 'shape')),
  }),
  cases: () => [
    { shape: '[1] -> [3]', given: { shape: { dtype: 'int32', value: [3] } }, attrs: { dtype: float32 } },
    {
      given: { shape: { dtype: 'int32', value: [2] } },
      attrs: { dtype: float32, init: true },
      expect: { output: [0, 0] },
    },
  ],
});

/**
 * A tensor of shape `dims` with `value` everywhere. Adds one `Fill` node.
 *
 * @example tf.fill([2, 3], 9) // runs to [[9 9 9] [9 9 9]]
 */
export function fill<const T extends TensorLike, V extends TensorLike>(
  dims: T,
  value: V,
  options?: Named,
): Tensor<DTypeOf<V>, KnownShape<Reshape<T>>>;
export function fill(dims: TensorLike, value: TensorLike, options: Named = {}): Tensor {
  return Fill.build({ dims, value }, options).output;
}

export interface FilledOptions extends Named {
  readonly dtype?: DType | undefined;
}

/** Larger constants are made by a `Fill` node, so that the graph stays small. */
const largestConstant = 1000;

function filledWith(element: 0 | 1, shape: TensorLike, dtype: DType, scope: string): Tensor {
  const value = dtype === bool ? element === 1 : dtype === string ? '' : element;
  let dims: Tensor;
  if (shape instanceof Tensor) dims = shape;
  else {
    const sizes = plainSizes(shape);
    if (sizes) {
      const count = sizeOf(sizes);
      // Python makes a constant of a list of sizes, but not of a bare number.
      if (count < largestConstant && typeof shape !== 'number')
        return constantNode(fromElements(dtype, sizes, new Array(count).fill(value)), scope);
      dims = constantNode(intVector(sizes), 'shape_as_tensor');
    } else dims = convertToTensor(shape, { dtype: int32 });
  }
  if (dims.rank === 0) dims = reshape(dims, [-1]);
  return fill(dims, constantNode(scalar(dtype, value)), { name: scope });
}

function plainSizes(shape: TensorLike): readonly number[] | undefined {
  const sizes: unknown = typeof shape === 'number' ? [shape] : shape;
  if (!Array.isArray(sizes) || !sizes.every((n) => typeof n === 'number')) return undefined;
  const wrong = sizes.find((n) => !Number.isInteger(n) || n < 0);
  if (wrong !== undefined)
    throw userError(`Dimension ${wrong} must be a whole number >= 0: the shape is [${sizes.join(', ')}].`);
  return sizes;
}

/**
 * A tensor of zeros (`false`, empty strings). Adds one `Const` node, or `Fill` when it is large or the shape is a tensor.
 *
 * @example tf.zeros([2, 3]) // runs to [[0. 0. 0.] [0. 0. 0.]]
 */
export function zeros<const T extends TensorLike, D extends DType = typeof float32>(
  shape: T,
  options?: (FilledOptions & { dtype?: D | undefined }) | D,
): Tensor<D, KnownShape<Reshape<T>>>;
export function zeros(shape: TensorLike, options: FilledOptions | DType = {}): Tensor {
  const { dtype = float32, name } = dtypeOrOptions('tf.zeros', options, 'dtype', 'name');
  return scoped(name ?? 'zeros', [shape], (scope) => filledWith(0, shape, dtype, scope));
}

/**
 * A tensor of ones (`true`). Adds one `Const` node, or `Fill` when it is large or the shape is a tensor.
 *
 * @example tf.ones([3], { dtype: tf.int32 }) // runs to [1 1 1]
 */
export function ones<const T extends TensorLike, D extends DType = typeof float32>(
  shape: T,
  options?: (FilledOptions & { dtype?: D | undefined }) | D,
): Tensor<D, KnownShape<Reshape<T>>>;
export function ones(shape: TensorLike, options: FilledOptions | DType = {}): Tensor {
  const { dtype = float32, name } = dtypeOrOptions('tf.ones', options, 'dtype', 'name');
  return scoped(name ?? 'ones', [shape], (scope) => filledWith(1, shape, dtype, scope));
}
