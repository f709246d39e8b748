/** @file Sums and largest elements of sparse tensors along axes, dense or sparse. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError, ResourceExhaustedError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { type Element, type NDArray, zeros } from '../../core/ndarray.ts';
import { risingOrder } from '../../core/risingOrder.ts';
import { type Shape, showRuntime, sizeOf, stridesOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr, numbers, realNumbers } from '../../op/attrs.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { type Named, ofRank, withAxis } from '../array/common.ts';
import { gatherNd } from '../array/gatherNd.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { range } from '../array/range.ts';
import { reshape } from '../array/reshape.ts';
import { rank } from '../array/shape.ts';
import { cast } from '../math/cast.ts';
import { floorOver } from '../math/operators.ts';
import { reducedShape } from '../math/reductionGradients.ts';
import { checkParts, indexMatrix, int64Vector, partsDims, placesIn, plus, sizesIn, ValueList } from './parts.ts';

type Join = (x: Element, y: Element) => Element;

/** NaN stays. */
const larger: Join = (x, y) => (y > x || Number.isNaN(y) ? y : x);

/** What is left of the shape, with and without axes of size 1 in place of the folded ones. */
function foldedShape(sizes: Shape, axes: readonly number[], keepsDims: boolean) {
  const rank = sizes.length;
  const folded = new Set(
    axes.map((axis) => {
      if (axis < -rank || axis >= rank)
        throw new InvalidArgumentError(`Invalid reduction dimension ${axis}, for input with ${rank} dimensions.`);
      return axis < 0 ? axis + rank : axis;
    }),
  );
  const kept = sizes.map((_, axis) => axis).filter((axis) => !folded.has(axis));
  return {
    kept,
    shape: keepsDims ? sizes.map((size, axis) => (folded.has(axis) ? 1 : size)) : kept.map((axis) => sizes[axis]!),
  };
}

/** The elements joined that differ only in folded axes: where each group lies in the result, rising, and its value. */
async function folded(arrays: readonly NDArray[], keepsDims: boolean, join: Join) {
  const [indices, values, shape, axes] = arrays as [NDArray, NDArray, NDArray, NDArray]; // as the ops have inputs
  const sizes = sizesIn(shape);
  const { kept, shape: result } = foldedShape(sizes, axes.numbers(), keepsDims);
  const strides = sizes.map(() => 0);
  for (const [k, stride] of stridesOf(kept.map((axis) => sizes[axis]!)).entries()) strides[kept[k]!] = stride;
  const places = await placesIn(indices, sizes, { strides });
  const order = await risingOrder(places);
  const groups = new Float64Array(order.length);
  const joined = new ValueList(values.dtype, order.length);
  let value: Element = 0;
  await eachInTurns(order.length, (k) => {
    const i = order[k]!;
    const isFirst = k === 0 || places[order[k - 1]!] !== places[i];
    value = isFirst ? values.at(i) : join(value, values.at(i));
    if (k + 1 < order.length && places[order[k + 1]!] === places[i]) return;
    groups[joined.length] = places[i]!;
    joined.push(value);
  });
  return { result, places: groups.subarray(0, joined.length), values: joined.vector() };
}

const inputs = { input_indices: 'int64', input_values: 'T', input_shape: 'int64', reduction_axes: 'int32' } as const;
const keep_dims = attr('bool', { default: false });

function checkInputs(ports: Readonly<Record<keyof typeof inputs, Value>>): Value[] {
  const { input_indices, input_values, input_shape, reduction_axes } = ports;
  checkParts(input_indices, input_values, input_shape);
  if (reduction_axes.shape.length > 1)
    throw new InvalidArgumentError(
      `Reduction axes should be a vector, not of shape ${showRuntime(reduction_axes.shape)}`,
    );
  return [input_indices, input_values, input_shape, reduction_axes];
}

const ints = (value: readonly number[] | readonly (readonly number[])[]) => ({ dtype: 'int64' as const, value });
const some = {
  input_indices: ints([
    [0, 0],
    [0, 2],
    [2, 1],
  ]),
  input_values: [1, 2, -3],
  input_shape: ints([3, 3]),
};
const axes = (...value: number[]) => ({ dtype: 'int32' as const, value, shape: [value.length] });

function lowerDense(p: ProgramBuilder, given: readonly Value[], dtype: d.DType, keepsDims: boolean, join: Join): Value {
  const [output] = p.host(given, [{ dtype }], async (arrays) => {
    const { result, places, values } = await folded(arrays, keepsDims, join);
    if (sizeOf(result) > 2 ** 31)
      throw new ResourceExhaustedError(`OOM when allocating a tensor of shape ${showRuntime(result)}`);
    const dense = zeros(dtype, result);
    const [from, to, width] = [values.data, dense.data, dtype.entries];
    await eachInTurns(places.length, (i) => {
      for (let k = 0; k < width; k++) to[places[i]! * width + k] = from[i * width + k]!;
    });
    return [dense];
  });
  return output!;
}

export const SparseReduceSum = defineOp({
  name: 'SparseReduceSum',
  inputs,
  outputs: { output: 'T' },
  attrs: { keep_dims, T: numbers },
  shape: denseShape,
  grad: ({ inputs: { input_indices, input_shape, reduction_axes } }, { output }) => {
    const kept = reducedShape(input_shape, reduction_axes);
    const reshaped = reshape(denseGradient(output), kept);
    const scale = floorOver(input_shape, cast(kept, d.int64));
    return { input_values: gatherNd(reshaped, floorOver(input_indices, scale)) };
  },
  lower: (p, ports, { keep_dims, T }) => ({ output: lowerDense(p, checkInputs(ports), T, keep_dims, plus) }),
  cases: () => [
    { shape: '[?, 2], ?, [2], [1] -> ?' },
    { given: { ...some, reduction_axes: axes(1) }, expect: { output: [3, 0, -3] } },
    { given: { ...some, reduction_axes: axes(0) }, attrs: { keep_dims: true }, expect: { output: [[1, -3, 2]] } },
    { given: { ...some, reduction_axes: axes(0, -1) }, expect: { output: 0 } },
    {
      given: { ...some, reduction_axes: axes(2) },
      fails: /Invalid reduction dimension 2, for input with 2 dimensions/,
    },
  ],
});

function denseShape(
  {
    input_indices,
    input_values,
    input_shape,
  }: Readonly<Record<keyof typeof inputs, readonly (number | null)[] | null>>,
  { keep_dims }: { readonly keep_dims: boolean },
) {
  const { rank } = partsDims(input_indices, input_values, input_shape);
  return { output: keep_dims && rank !== null ? new Array<null>(rank).fill(null) : null };
}

export const SparseReduceMax = defineOp({
  name: 'SparseReduceMax',
  inputs,
  outputs: { output: 'T' },
  attrs: { keep_dims, T: realNumbers },
  shape: denseShape,
  grad: gradientPending('TensorFlow has none either'),
  lower: (p, ports, { keep_dims, T }) => ({ output: lowerDense(p, checkInputs(ports), T, keep_dims, larger) }),
  cases: () => [
    { shape: '[?, 2], ?, [2], [1] -> ?' },
    { given: { ...some, reduction_axes: axes(1) }, expect: { output: [2, 0, -3] } },
    ...[
      [1, Number.NaN, -3],
      [Number.NaN, 2, -3],
    ].map((input_values) => ({
      given: { ...some, input_values, reduction_axes: axes(1) },
      expect: { output: [Number.NaN, 0, -3] },
    })),
  ],
});

const sparseResult = (name: string, types: typeof numbers, join: Join, sums: readonly number[]) =>
  defineOp({
    name,
    inputs,
    outputs: { output_indices: 'int64', output_values: 'T', output_shape: 'int64' },
    attrs: { keep_dims, T: types },
    shape: ({ input_indices, input_values, input_shape, reduction_axes }) => {
      partsDims(input_indices, input_values, input_shape);
      if (reduction_axes !== null && reduction_axes.length > 1) ofRank(reduction_axes, 1, 'reduction_axes');
      return { output_indices: [null, null], output_values: [null], output_shape: [null] };
    },
    grad: gradientPending('TensorFlow has none either'),
    lower(p, ports, { keep_dims, T }) {
      const results = [d.int64, T, d.int64].map((dtype) => ({ dtype }));
      const [output_indices, output_values, output_shape] = p.host(checkInputs(ports), results, async (arrays) => {
        const { result, places, values } = await folded(arrays, keep_dims, join);
        return [await indexMatrix(places, result), values, int64Vector(result)];
      });
      return { output_indices: output_indices!, output_values: output_values!, output_shape: output_shape! };
    },
    cases: () => [
      { shape: '[?, 2], ?, [2], [1] -> [?, ?], [?], [?]' },
      {
        given: { ...some, reduction_axes: axes(1) },
        expect: { output_indices: ints([[0], [2]]), output_values: sums, output_shape: ints([3]) },
      },
    ],
  });

export const SparseReduceSumSparse = sparseResult('SparseReduceSumSparse', numbers, plus, [3, -3]);
export const SparseReduceMaxSparse = sparseResult('SparseReduceMaxSparse', realNumbers, larger, [2, -3]);

interface ReduceOptions extends Named {
  /** May stand here, or alone as the second argument. */
  readonly axis?: TensorLike | null | undefined;
  readonly keepdims?: boolean | undefined;
}

type AxisOrOptions = TensorLike | null | ReduceOptions;

/** The parts of the input and the axes, which are all unless given; and the options of the node. */
function reduction(owner: string, input: SparseTensor, given: AxisOrOptions | undefined, last: ReduceOptions) {
  const { axis, keepdims, name } = onlyOptions(owner, withAxis(given, last), 'axis', 'keepdims', 'name');
  const inputs = {
    input_indices: input.indices,
    input_values: input.values,
    input_shape: input.denseShape,
    reduction_axes: axis ?? allAxes(input),
  };
  return [inputs, { name, attrs: { keep_dims: keepdims ?? false } }] as const;
}

const allAxes = ({ shape, denseShape: sizes }: SparseTensor): TensorLike =>
  shape ? shape.map((_, i) => i) : range(0, rank(sizes));

/**
 * Sums of the elements of a sparse tensor along axes, as a dense tensor. Adds one `SparseReduceSum` node.
 *
 * @example tf.sparse.reduceSum(x, 1)
 */
export function sparseReduceSum(input: SparseTensor, axis?: AxisOrOptions, options: ReduceOptions = {}): Tensor {
  return SparseReduceSum.build(...reduction('tf.sparse.reduceSum', input, axis, options)).output;
}

/** The largest elements of a sparse tensor along axes, as a dense tensor. Adds one `SparseReduceMax` node. */
export function sparseReduceMax(input: SparseTensor, axis?: AxisOrOptions, options: ReduceOptions = {}): Tensor {
  return SparseReduceMax.build(...reduction('tf.sparse.reduceMax', input, axis, options)).output;
}

function sparseOf(
  op: typeof SparseReduceSumSparse,
  input: SparseTensor,
  axis: AxisOrOptions | undefined,
  options: ReduceOptions,
) {
  const [inputs, built] = reduction(`tf.sparse.r${op.name.slice('SparseR'.length)}`, input, axis, options);
  const { output_indices, output_values, output_shape } = op.build(inputs, built);
  return new SparseTensor(output_indices, output_values, output_shape);
}

/** Sums of the elements of a sparse tensor along axes, as a sparse tensor. Adds one `SparseReduceSumSparse` node. */
export function sparseReduceSumSparse(
  input: SparseTensor,
  axis?: AxisOrOptions,
  options: ReduceOptions = {},
): SparseTensor {
  return sparseOf(SparseReduceSumSparse, input, axis, options);
}

/** The largest elements of a sparse tensor along axes, as a sparse tensor. Adds one `SparseReduceMaxSparse` node. */
export function sparseReduceMaxSparse(
  input: SparseTensor,
  axis?: AxisOrOptions,
  options: ReduceOptions = {},
): SparseTensor {
  return sparseOf(SparseReduceMaxSparse, input, axis, options);
}
