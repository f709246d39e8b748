/** @file Shape, ShapeN, Size and Rank: the form of a tensor as a value. */
import { type DType, int32 } from '../../core/dtypes.ts';
import { intVector, scalar } from '../../core/ndarray.ts';
import { isFullyDefined, sizeOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, attr, indexTypes } from '../../op/attrs.ts';
import { constantNode, convertToTensor } from '../../op/convert.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { knownSize, type Named, scoped } from './common.ts';

export const Shape = defineOp({
  name: 'Shape',
  inputs: { input: 'T' },
  outputs: { output: 'out_type' },
  attrs: { T: anyType, out_type: indexTypes },
  shape: ({ input }) => ({ output: [input?.length ?? null] }),
  grad: notDifferentiable,
  lower: (p, { input }, { out_type }) => ({ output: p.constant(intVector(input.shape, out_type)) }),
  partialValue: ({ inputs }) => inputs.input.shape ?? undefined,
  cases: () => [
    { shape: '[2, ?] -> [2]' },
    { shape: '? -> [?]' },
    { given: { input: [[1, 2, 3]] }, expect: { output: { dtype: 'int32', value: [1, 3] } } },
    { given: { input: 5 }, expect: { output: { dtype: 'int32', value: [], shape: [0] } } },
  ],
});

export const ShapeN = defineOp({
  name: 'ShapeN',
  inputs: { input: 'N * T' },
  outputs: { output: 'N * out_type' },
  attrs: { N: attr('int', { minimum: 1 }), T: anyType, out_type: indexTypes },
  shape: ({ input }) => ({ output: input.map((dims) => [dims?.length ?? null]) }),
  grad: notDifferentiable,
  lower: (p, { input }, { out_type }) => ({ output: input.map((v) => p.constant(intVector(v.shape, out_type))) }),
  partialValue: ({ inputs }, _known, output) => inputs.input[output]!.shape ?? undefined,
  cases: () => [
    { shape: '[2, ?], ? -> [2], [?]', attrs: { N: 2 } },
    {
      given: {
        input: [
          [1, 2, 3],
          [[1], [2]],
        ],
      },
      attrs: { N: 2 },
      expect: {
        output: [
          { dtype: 'int32', value: [3] },
          { dtype: 'int32', value: [2, 1] },
        ],
      },
    },
  ],
});

export const Size = defineOp({
  name: 'Size',
  inputs: { input: 'T' },
  outputs: { output: 'out_type' },
  attrs: { T: anyType, out_type: indexTypes },
  shape: () => ({ output: [] }),
  grad: notDifferentiable,
  lower: (p, { input }, { out_type }) => ({ output: p.constant(scalar(out_type, sizeOf(input.shape))) }),
  partialValue: ({ inputs }) => [knownSize(inputs.input.shape)],
  cases: () => [
    { shape: '[2, ?] -> []' },
    { given: { input: [[1, 2, 3]] }, expect: { output: { dtype: 'int32', value: 3 } } },
  ],
});

export const Rank = defineOp({
  name: 'Rank',
  inputs: { input: 'T' },
  outputs: { output: 'int32' },
  attrs: { T: anyType },
  shape: () => ({ output: [] }),
  grad: notDifferentiable,
  lower: (p, { input }) => ({ output: p.constant(scalar(int32, input.shape.length)) }),
  partialValue: ({ inputs }) => [inputs.input.rank],
  cases: () => [
    { shape: '? -> []' },
    { given: { input: [[1, 2, 3]] }, expect: { output: { dtype: 'int32', value: 2 } } },
  ],
});

export interface ShapeOptions extends Named {
  readonly outType?: DType | undefined;
  /** False keeps the node even where the answer is known while building. */
  readonly optimize?: boolean | undefined;
}

/**
 * The sizes of a tensor, as an integer vector. Adds one `Const` node when they are all known while building, else `Shape`.
 *
 * @example tf.shape(tf.constant([[1, 2, 3]])) // runs to [1 3]
 */
export function shape(input: TensorLike, options: ShapeOptions = {}): Tensor {
  const { name, outType = int32, optimize = true } = onlyOptions('tf.shape', options, 'name', 'outType', 'optimize');
  return scoped(name ?? 'Shape', [input], (scope) => {
    const x = convertToTensor(input);
    const dims = x.shape;
    if (optimize && isFullyDefined(dims)) return constantNode(intVector(dims, outType), scope);
    return Shape.build({ input: x }, { name: scope, attrs: { out_type: outType } }).output;
  });
}

/**
 * The shapes of several tensors. Adds one `ShapeN` node.
 *
 * @example tf.shapeN([tf.constant([1, 2]), tf.constant([3])]) // runs to [[2], [1]]
 */
export function shapeN(input: readonly TensorLike[], options: ShapeOptions = {}): readonly Tensor[] {
  const { name, outType = int32 } = onlyOptions('tf.shapeN', options, 'name', 'outType');
  return ShapeN.build({ input }, { name, attrs: { out_type: outType } }).output;
}

/**
 * The number of elements. Adds one `Const` node when it is known while building, else `Size`.
 *
 * @example tf.size(tf.constant([[1, 2, 3]])) // runs to 3
 */
export function size(input: TensorLike, options: ShapeOptions = {}): Tensor {
  const { name, outType = int32, optimize = true } = onlyOptions('tf.size', options, 'name', 'outType', 'optimize');
  return scoped(name ?? 'Size', [input], (scope) => {
    const x = convertToTensor(input);
    const count = x.shape?.includes(0) ? 0 : knownSize(x.shape);
    if (optimize && count !== null) return constantNode(scalar(outType, count), scope);
    return Size.build({ input: x }, { name: scope, attrs: { out_type: outType } }).output;
  });
}

/**
 * The number of axes. Adds one `Const` node when it is known while building, else `Rank`.
 *
 * @example tf.rank(tf.constant([[1, 2, 3]])) // runs to 2
 */
export function rank(input: TensorLike, options: Named & { optimize?: boolean } = {}): Tensor {
  const { name, optimize = true } = onlyOptions('tf.rank', options, 'name', 'optimize');
  return scoped(name ?? 'Rank', [input], (scope) => {
    const x = convertToTensor(input);
    if (optimize && x.rank !== null) return constantNode(scalar(int32, x.rank), scope);
    return Rank.build({ input: x }, { name: scope }).output;
  });
}
