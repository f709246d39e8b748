/** @file ZerosLike and OnesLike: a constant of another tensor's shape and type. */
import { bool, type DType, variant } from '../../core/dtypes.ts';
import { intVector, zeros as zeroArray } from '../../core/ndarray.ts';
import { isFullyDefined } from '../../core/shape.ts';
import { IndexedSlices } from '../../graph/indexedSlices.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { constantNode, convertToTensor } from '../../op/convert.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { ones, zeros } from '../array/fill.ts';
import { shape } from '../array/shape.ts';
import type { NameOption } from './elementwise.ts';
import { arithmeticTypes } from './types.ts';
import { variantZeros } from './variants.ts';

export const ZerosLike = defineOp({
  name: 'ZerosLike',
  inputs: { x: 'T' },
  outputs: { y: 'T' },
  attrs: { T: anyType },
  takesLists: true,
  shape: ({ x }) => ({ y: x }),
  grad: notDifferentiable,
  lower(p, { x }, { T }) {
    if (T === variant) return { y: variantZeros(p, x) };
    return { y: T.isObject ? p.constant(zeroArray(T, x.shape)) : p.fill(T, x.shape, 0) };
  },
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    {
      given: {
        x: [
          [1, 2],
          [3, 4],
        ],
      },
      expect: {
        y: [
          [0, 0],
          [0, 0],
        ],
      },
    },
    { given: { x: { dtype: 'int64', value: 5 } }, expect: { y: { dtype: 'int64', value: 0 } } },
    { given: { x: ['a', 'b'] }, expect: { y: ['', ''] } },
  ],
});

export const OnesLike = defineOp({
  name: 'OnesLike',
  inputs: { x: 'T' },
  outputs: { y: 'T' },
  attrs: { T: attr('type', { allowed: [...arithmeticTypes, bool] }) },
  shape: ({ x }) => ({ y: x }),
  grad: notDifferentiable,
  lower: (p, { x }, { T }) => ({ y: p.fill(T, x.shape, 1) }),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    {
      given: {
        x: [
          [1, 2],
          [3, 4],
        ],
      },
      expect: {
        y: [
          [1, 1],
          [1, 1],
        ],
      },
    },
    { given: { x: [false] }, expect: { y: [true] } },
  ],
});

interface LikeOptions extends NameOption {
  /** Another type than the tensor's. */
  readonly dtype?: DType | undefined;
  /** False builds from the value's shape at run time, even where the shape is known while building. */
  readonly optimize?: boolean;
}

/**
 * Zeros of the shape and type of `tensor`. Adds a `Const` (or `Fill`) node when the shape is known, else `ZerosLike`.
 *
 * @example tf.zerosLike([[1, 2], [3, 4]]) // runs to [[0 0] [0 0]]
 */
export function zerosLike(tensor: TensorLike, options: LikeOptions = {}): Tensor {
  const { dtype, name, optimize = true } = onlyOptions('tf.zerosLike', options, 'dtype', 'name', 'optimize');
  return nameScope(name ?? 'zeros_like', (scope) => {
    // Slices whose whole shape is known need not become a tensor for this.
    const isKnownSlices = tensor instanceof IndexedSlices && optimize && isFullyDefined(tensor.shape);
    const x = isKnownSlices ? tensor : convertToTensor(tensor, { name: 'tensor' });
    if (optimize && isFullyDefined(x.shape) && x.dtype !== variant)
      return zeros(x.shape, { dtype: dtype ?? x.dtype, name: scope });
    if (dtype !== undefined && dtype !== x.dtype && dtype !== variant)
      return zeros(shape(x, { optimize }), { dtype, name: scope });
    return ZerosLike.build({ x }, { name: scope }).y;
  });
}

/**
 * Ones of the shape and type of `tensor`. Adds the shape and a `Fill` node named `ones_like`.
 *
 * @example tf.onesLike([[1, 2], [3, 4]]) // runs to [[1 1] [1 1]]
 */
export function onesLike(tensor: TensorLike, options: LikeOptions = {}): Tensor {
  const { dtype, name, optimize = true } = onlyOptions('tf.onesLike', options, 'dtype', 'name', 'optimize');
  return nameScope(name ?? 'ones_like', (scope) => {
    const x = convertToTensor(tensor, { name: 'tensor' });
    const known = x.shape;
    const dims =
      optimize && isFullyDefined(known)
        ? nameScope('Shape', () => constantNode(intVector(known), 'shape_as_tensor'))
        : shape(x, { optimize });
    const result = ones(dims, { dtype: dtype ?? x.dtype, name: scope });
    result.setShape(x.shape);
    return result;
  });
}
