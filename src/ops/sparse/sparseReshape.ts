/** @file SparseReshape: the same elements of a sparse tensor under another shape. */
import { int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { Int64s } from '../../core/int64s.ts';
import { intVector, NDArray } from '../../core/ndarray.ts';
import { type Dims, isFullyDefined, type Shape, sameShape, showRuntime, sizeOf, stridesOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { partialValueOf } from '../../op/constantValue.ts';
import { constantNode, convertToTensor } from '../../op/convert.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { type Named, ofRank } from '../array/common.ts';
import { identity } from '../array/identity.ts';
import { cast } from '../math/cast.ts';

/** The wanted shape with its -1, if any, worked out. */
function wantedShape(from: Shape, to: readonly number[]): Shape {
  const dense = sizeOf(from);
  const open = to.flatMap((size, axis) => (size === -1 ? [axis] : []));
  if (open.length > 1)
    throw new InvalidArgumentError(`only one output dimension may be -1, not both ${open[0]} and ${open[1]}`);
  const bad = to.findIndex((size) => size < -1);
  if (bad >= 0) throw new InvalidArgumentError(`size ${bad} must be non-negative, not ${to[bad]}`);
  const product = sizeOf(to.filter((size) => size !== -1));
  if (open.length === 1 && product === 0)
    throw new InvalidArgumentError(
      'reshape cannot infer the missing input size for an empty tensor unless all specified input sizes are non-zero',
    );
  const shape = to.map((size) => (size === -1 ? Math.floor(dense / product) : size));
  const shown = `input_shape=${showRuntime(from)} output_shape=`;
  if (open.length === 1 && dense % product !== 0)
    throw new InvalidArgumentError(
      `Input to reshape is a SparseTensor with ${dense} dense values, but the requested shape requires a multiple of ${product}. ${shown}${showRuntime(to.map((size) => (size === -1 ? 1 : size)))}`,
    );
  if (sizeOf(shape) !== dense)
    throw new InvalidArgumentError(
      `Input to reshape is a tensor with ${dense} dense values, but the requested shape has ${sizeOf(shape)}. ${shown}${showRuntime(shape)}`,
    );
  return shape;
}

async function reshaped(indices: NDArray, from: Shape, to: Shape): Promise<NDArray> {
  if (sameShape(from, to)) return indices;
  const count = indices.shape[0]!;
  if (count > 0 && sizeOf(to) === 0)
    throw new InvalidArgumentError(
      `Input tensor has ${count} non zero elements but input shape (${showRuntime(from)}) or output shape (${showRuntime(to)}) is empty`,
    );
  const [inner, outer] = [stridesOf(from), stridesOf(to)];
  const rank = from.length;
  const at = indices.numberReader();
  const result = new Int64s(count * to.length);
  await eachInTurns(count, (i) => {
    let place = 0;
    for (let axis = 0; axis < rank; axis++) place += at(i * rank + axis) * inner[axis]!;
    for (let axis = 0; axis < outer.length; axis++) {
      result.set(i * to.length + axis, Math.floor(place / outer[axis]!));
      place %= outer[axis]!;
    }
  });
  return new NDArray(int64, [count, to.length], result.data);
}

export const SparseReshape = defineOp({
  name: 'SparseReshape',
  inputs: { input_indices: 'int64', input_shape: 'int64', new_shape: 'int64' },
  outputs: { output_indices: 'int64', output_shape: 'int64' },
  attrs: {},
  shape({ input_indices, input_shape, new_shape }) {
    const [count] = ofRank(input_indices, 2, 'input_indices');
    ofRank(input_shape, 1, 'input_shape');
    const [rank] = ofRank(new_shape, 1, 'new_shape');
    return { output_indices: [count!, rank!], output_shape: [rank!] };
  },
  grad: notDifferentiable,
  lower(p, { input_indices, input_shape, new_shape }) {
    const refuse = (value: { shape: Shape }, rank: number, what: string) => {
      if (value.shape.length !== rank)
        throw new InvalidArgumentError(
          `${what} should be a ${rank === 2 ? 'matrix' : 'vector'} but received shape ${showRuntime(value.shape)}`,
        );
    };
    refuse(input_indices, 2, 'Input indices');
    refuse(input_shape, 1, 'Input shape');
    refuse(new_shape, 1, 'Target shape');
    const rank = new_shape.shape[0]!;
    const results = [
      { dtype: int64, shape: [input_indices.shape[0]!, rank] },
      { dtype: int64, shape: [rank] },
    ];
    const [output_indices, output_shape] = p.host(
      [input_indices, input_shape, new_shape],
      results,
      async ([indices, from, to]) => {
        const old = from!.numbers();
        if (indices!.shape[1] !== old.length)
          throw new InvalidArgumentError(
            `Input tensor rank must match input shape length: ${indices!.shape[1]} vs. ${old.length}`,
          );
        const shape = wantedShape(old, to!.numbers());
        return [await reshaped(indices!, old, shape), intVector(shape, int64)];
      },
    );
    return { output_indices: output_indices!, output_shape: output_shape! };
  },
  cases: () => {
    const int64s = (value: number[] | number[][]) => ({ dtype: 'int64' as const, value });
    const indices = int64s([
      [0, 0, 0],
      [0, 1, 2],
      [1, 0, 1],
    ]);
    return [
      { shape: '[?, 3], [3], [2] -> [?, 2], [2]' },
      { shape: '[5, 3], ?, ? -> [5, ?], [?]' },
      {
        given: { input_indices: indices, input_shape: int64s([2, 2, 3]), new_shape: int64s([4, -1]) },
        expect: {
          output_indices: int64s([
            [0, 0],
            [1, 2],
            [2, 1],
          ]),
          output_shape: int64s([4, 3]),
        },
      },
      { given: { input_indices: indices, input_shape: int64s([2, 2, 3]), new_shape: int64s([2, 2, 3]) } },
      {
        given: { input_indices: indices, input_shape: int64s([2, 2, 3]), new_shape: int64s([5, -1]) },
        fails: /requested shape requires a multiple of 5/,
      },
      {
        given: { input_indices: indices, input_shape: int64s([2, 2, 3]), new_shape: int64s([-1, -1]) },
        fails: /only one output dimension may be -1, not both 0 and 1/,
      },
    ];
  },
});

/**
 * The same elements under another shape, in which one size may be -1. Adds one `SparseReshape` node.
 *
 * @example tf.sparse.reshape(sparse, [-1, 3])
 */
export function sparseReshape(input: SparseTensor, shape: TensorLike, options: Named = {}): SparseTensor {
  onlyOptions('tf.sparse.reshape', options, 'name');
  return nameScope(options.name ?? 'SparseReshape', (name) => {
    const wanted = cast(convertToTensor(shape), int64);
    const ports = { input_indices: input.indices, input_shape: input.denseShape, new_shape: wanted };
    const { output_indices, output_shape } = SparseReshape.build(ports, { name });
    const known = knownShape(input.shape, partialValueOf(wanted));
    const denseShape = known ? constantNode(intVector(known, int64)) : output_shape;
    return new SparseTensor(output_indices, identity(input.values), denseShape);
  });
}

/** The new shape, where it can be worked out while building. */
function knownShape(from: Dims, to: readonly (number | null)[] | undefined): Shape | undefined {
  if (!isFullyDefined(from) || !to) return undefined;
  const sizes = to.map((size) => size ?? -1);
  const isOpen = sizes.filter((size) => size === -1).length;
  if (isOpen > 1 && to.every((size) => size !== null))
    throw userError(`At most one dimension can be inferred (-1). Found: [${sizes}]`);
  if (isOpen > 1 || (isOpen === 1 && sizes.includes(0))) return undefined;
  const rest = sizeOf(sizes.filter((size) => size !== -1));
  const shape = sizes.map((size) => (size === -1 ? Math.floor(sizeOf(from) / rest) : size));
  if (sizeOf(shape) !== sizeOf(from))
    throw userError(
      `Cannot reshape a tensor with ${sizeOf(from)} elements to shape [${sizes}] (${sizeOf(shape)} elements).`,
    );
  return shape;
}
