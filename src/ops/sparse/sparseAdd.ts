/** @file Sums of sparse tensors, and of sparse and dense ones; the larger and the smaller of two. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns, inTurns, type Work } from '../../core/eventLoop.ts';
import type { Complex, Element, NDArray } from '../../core/ndarray.ts';
import { risingOrder } from '../../core/risingOrder.ts';
import { sameShape, showRuntime, sizeOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { numbers, realNumbers } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp, gradientPending, notDifferentiable } from '../../op/defineOp.ts';
import { int32or64, mergeDim, type Named, ofRank } from '../array/common.ts';
import { gatherNd } from '../array/gatherNd.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import {
  checkParts,
  indexMatrix,
  int64Vector,
  partsDims,
  picked,
  placesIn,
  plus,
  rowsAmong,
  sizesIn,
  ValueList,
  wideVector,
  zeroOf,
} from './parts.ts';

/** The elements of a sparse tensor and the places where they lie, rising; of several at one place, the last. */
interface Elements {
  readonly places: Float64Array;
  readonly value: (k: number) => Element;
}

async function elementsOf(indices: NDArray, values: NDArray, sizes: readonly number[]): Promise<Elements> {
  const places = await placesIn(indices, sizes);
  const order = await risingOrder(places);
  const rising = new Float64Array(order.length);
  let count = 0;
  await eachInTurns(order.length, (i) => {
    const place = places[order[i]!]!;
    if (count > 0 && rising[count - 1] === place) count--;
    rising[count] = place;
    order[count++] = order[i]!;
  });
  return { places: rising.subarray(0, count), value: (k) => values.at(order[k]!) };
}

function bothShapes(a: NDArray, b: NDArray): readonly number[] {
  const sizes = sizesIn(a);
  if (sizes.length !== b.size)
    throw new InvalidArgumentError(`Operands do not have the same ranks; got shapes: [${sizes}] and [${b.numbers()}]`);
  if (!sameShape(sizes, sizesIn(b)))
    throw new InvalidArgumentError(`Operands' shapes do not match: [${sizes}] vs. [${b.numbers()}]`);
  return sizes;
}

/** Takes what two sparse tensors have at a place, where it is missing in one of them zero. */
type Take = (place: number, x: Element, y: Element, isInBoth: boolean) => void;

/** Goes through all places of two sparse tensors, in rising order. */
function* together(a: Elements, b: Elements, zero: Element, take: Take): Work {
  let [i, j] = [0, 0];
  while (i < a.places.length || j < b.places.length) {
    const [x, y] = [a.places[i] ?? Number.POSITIVE_INFINITY, b.places[j] ?? Number.POSITIVE_INFINITY];
    take(Math.min(x, y), x <= y ? a.value(i) : zero, y <= x ? b.value(j) : zero, x === y);
    if (x <= y) i++;
    if (y <= x) j++;
    if ((i + j) % 512 < 2) yield;
  }
}

/** The elements that `of` makes of those of two sparse tensors; where it makes nothing, there is none. */
async function combined(
  [ai, av, bi, bv]: readonly [NDArray, NDArray, NDArray, NDArray],
  sizes: readonly number[],
  of: (x: Element, y: Element, isInBoth: boolean) => Element | undefined,
): Promise<[indices: NDArray, values: NDArray]> {
  const [a, b] = [await elementsOf(ai, av, sizes), await elementsOf(bi, bv, sizes)];
  const most = a.places.length + b.places.length;
  const places = new Float64Array(most);
  const values = new ValueList(av.dtype, most);
  const work = together(a, b, zeroOf(av.dtype), (place, x, y, isInBoth) => {
    const value = of(x, y, isInBoth);
    if (value === undefined) return;
    places[values.length] = place;
    values.push(value);
  });
  await inTurns(work);
  return [await indexMatrix(places.subarray(0, values.length), sizes), values.vector()];
}

const magnitude = (x: Element): number =>
  typeof x === 'object' ? Math.hypot((x as Complex).re, (x as Complex).im) : Math.abs(Number(x)); // objects are complex numbers

const pair = {
  a_indices: 'int64',
  a_values: 'T',
  a_shape: 'int64',
  b_indices: 'int64',
  b_values: 'T',
  b_shape: 'int64',
} as const;
const ints = (value: readonly number[] | readonly (readonly number[])[]) => ({ dtype: 'int64' as const, value });
const places = (...rows: [number, number][]) => ints(rows);
const two = {
  a_indices: places([0, 1], [1, 0]),
  a_values: [1, 2],
  a_shape: ints([2, 3]),
  b_indices: places([0, 1], [1, 2]),
  b_values: [-1, 5],
  b_shape: ints([2, 3]),
};

export const SparseAdd = defineOp({
  name: 'SparseAdd',
  inputs: { ...pair, thresh: 'Treal' },
  outputs: { sum_indices: 'int64', sum_values: 'T', sum_shape: 'int64' },
  attrs: { T: numbers, Treal: realNumbers },
  shape(ports) {
    const a = partsDims(ports.a_indices, ports.a_values, ports.a_shape);
    const b = partsDims(ports.b_indices, ports.b_values, ports.b_shape);
    ofRank(ports.thresh, 0, 'thresh');
    const rank = mergeDim(a.rank, b.rank, 'ranks of a and b');
    return { sum_indices: [null, rank], sum_values: [null], sum_shape: [rank] };
  },
  grad: ({ inputs, outputs }, { sum_values }) => {
    const { a_val_grad, b_val_grad } = SparseAddGrad.build({
      backprop_val_grad: denseGradient(sum_values),
      a_indices: inputs.a_indices,
      b_indices: inputs.b_indices,
      sum_indices: outputs.sum_indices,
    });
    a_val_grad.setShape(inputs.a_values.shape);
    b_val_grad.setShape(inputs.b_values.shape);
    return { a_values: a_val_grad, b_values: b_val_grad };
  },
  lower(p, { a_indices, a_values, a_shape, b_indices, b_values, b_shape, thresh }, { T }) {
    checkParts(a_indices, a_values, a_shape);
    checkParts(b_indices, b_values, b_shape);
    if (thresh.shape.length > 0)
      throw new InvalidArgumentError(
        `The magnitude threshold must be a scalar: got shape ${showRuntime(thresh.shape)}`,
      );
    const inputs = [a_indices, a_values, a_shape, b_indices, b_values, b_shape, thresh];
    const results = [d.int64, T, d.int64].map((dtype) => ({ dtype }));
    const [sum_indices, sum_values, sum_shape] = p.host(inputs, results, async (arrays) => {
      const [ai, av, as, bi, bv, bs, least] = arrays as [NDArray, NDArray, NDArray, NDArray, NDArray, NDArray, NDArray]; // as many as inputs
      const sizes = bothShapes(as, bs);
      const smallest = least.numberAt(0);
      const parts = await combined([ai, av, bi, bv], sizes, (x, y, isInBoth) => {
        const sum = plus(x, y);
        // As in TensorFlow, what only one of them has stays, however small.
        return !isInBoth || magnitude(sum) >= smallest ? sum : undefined;
      });
      return [...parts, int64Vector(sizes)];
    });
    return { sum_indices: sum_indices!, sum_values: sum_values!, sum_shape: sum_shape! };
  },
  cases: () => [
    { shape: '[?, 2], [3], [2], [?, ?], ?, ?, [] -> [?, 2], [?], [2]' },
    {
      given: { ...two, thresh: 0 },
      expect: { sum_indices: places([0, 1], [1, 0], [1, 2]), sum_values: [0, 2, 5], sum_shape: ints([2, 3]) },
    },
    {
      given: { ...two, thresh: 3 },
      expect: { sum_indices: places([1, 0], [1, 2]), sum_values: [2, 5], sum_shape: ints([2, 3]) },
      differentiable: false,
    },
    { given: { ...two, b_shape: ints([3, 3]), thresh: 0 }, fails: /shapes do not match/ },
  ],
});

export const SparseAddGrad = defineOp({
  name: 'SparseAddGrad',
  inputs: { backprop_val_grad: 'T', a_indices: 'int64', b_indices: 'int64', sum_indices: 'int64' },
  outputs: { a_val_grad: 'T', b_val_grad: 'T' },
  attrs: { T: numbers },
  shape({ a_indices, b_indices, sum_indices }) {
    const [[a], [b]] = [ofRank(a_indices, 2, 'a_indices'), ofRank(b_indices, 2, 'b_indices')];
    ofRank(sum_indices, 2, 'sum_indices');
    return { a_val_grad: [a!], b_val_grad: [b!] };
  },
  grad: notDifferentiable,
  lower(p, { backprop_val_grad, a_indices, b_indices, sum_indices }) {
    for (const [name, { shape }] of Object.entries({ a_indices, b_indices, sum_indices }))
      if (shape.length !== 2)
        throw new InvalidArgumentError(`${name} should be a matrix but received shape ${showRuntime(shape)}`);
    const [count] = sum_indices.shape as readonly [number]; // a matrix
    if (backprop_val_grad.shape.length !== 1 || backprop_val_grad.shape[0] !== count)
      throw new InvalidArgumentError(
        `# elements of backprop_val_grad and # rows of sum_indices should match (#nnz of sum): got ${sizeOf(backprop_val_grad.shape)} and ${count}`,
      );
    const grads = p.concat([backprop_val_grad, p.fill(backprop_val_grad.dtype, [1], 0)], 0);
    const at = (indices: typeof a_indices) => {
      const results = [{ dtype: d.int64, shape: [indices.shape[0]!] }];
      const [found] = p.host([indices, sum_indices], results, async ([own, sums]) => {
        const at = await rowsAmong(own!, sums!);
        return [await wideVector(at.map((row) => (row < 0 ? count : row)))];
      });
      return picked(p, grads, found!);
    };
    return { a_val_grad: at(a_indices), b_val_grad: at(b_indices) };
  },
  cases: () => [
    { shape: '?, [2, ?], [3, 2], ? -> [2], [3]' },
    {
      given: {
        backprop_val_grad: [10, 20],
        a_indices: places([0, 1], [1, 0]),
        b_indices: places([1, 0]),
        sum_indices: places([1, 0], [1, 2]),
      },
      expect: { a_val_grad: [0, 10], b_val_grad: [10] },
    },
  ],
});

export const SparseTensorDenseAdd = defineOp({
  name: 'SparseTensorDenseAdd',
  inputs: { a_indices: 'Tindices', a_values: 'T', a_shape: 'Tindices', b: 'T' },
  outputs: { output: 'T' },
  attrs: { T: numbers, Tindices: int32or64 },
  shape({ a_indices, a_values, a_shape, b }) {
    partsDims(a_indices, a_values, a_shape);
    return { output: b };
  },
  grad: ({ inputs }, { output }) => ({
    a_values: gatherNd(denseGradient(output), inputs.a_indices),
    b: output,
  }),
  lower(p, { a_indices, a_values, a_shape, b }) {
    checkParts(a_indices, a_values, a_shape);
    const { shape } = b;
    const count = a_values.shape[0]!;
    const [at] = p.host([a_indices, a_shape], [{ dtype: d.int64, shape: [count] }], async ([indices, sizes]) => {
      if (!sameShape(sizes!.numbers(), shape))
        throw new InvalidArgumentError(
          `Dimension mismatch: a_shape is [${sizes!.numbers()}] and the shape of b is ${showRuntime(shape)}`,
        );
      return [await wideVector(await placesIn(indices!, shape, { what: 'invalid index: ' }))];
    });
    const size = sizeOf(shape);
    const target = p.copy(p.reshape(b, [size, 1]));
    if (count > 0) p.scatter('add', target, p.reshape(at!, [count, 1]), p.reshape(a_values, [count, 1]));
    return { output: p.reshape(target, shape) };
  },
  cases: () => [
    { shape: '[?, 2], [3], [2], [4, ?] -> [4, ?]' },
    {
      given: { a_indices: places([0, 1], [1, 0]), a_values: [1, 2], a_shape: ints([2, 2]), b: [[1, 2], [3, 4]] }, // biome-ignore format: short
      expect: { output: [[1, 3], [5, 4]] }, // biome-ignore format: short
    },
    {
      given: { a_indices: places([0, 5]), a_values: [1], a_shape: ints([2, 2]), b: [[1, 2], [3, 4]] }, // biome-ignore format: short
      fails: /is out of bounds/,
    },
  ],
});

const extreme = (name: string, types: typeof realNumbers, isLarger: boolean) =>
  defineOp({
    name,
    inputs: pair,
    outputs: { output_indices: 'int64', output_values: 'T' },
    attrs: { T: types },
    shape(ports) {
      const { rank } = partsDims(ports.a_indices, ports.a_values, ports.a_shape);
      return { output_indices: [null, rank], output_values: [null] };
    },
    grad: gradientPending('TensorFlow has none either'),
    lower(p, { a_indices, a_values, a_shape, b_indices, b_values, b_shape }, { T }) {
      checkParts(a_indices, a_values, a_shape);
      checkParts(b_indices, b_values, b_shape);
      const inputs = [a_indices, a_values, a_shape, b_indices, b_values, b_shape];
      const [output_indices, output_values] = p.host(inputs, [{ dtype: d.int64 }, { dtype: T }], async (arrays) => {
        const [ai, av, as, bi, bv, bs] = arrays as [NDArray, NDArray, NDArray, NDArray, NDArray, NDArray]; // as many as inputs
        const sizes = bothShapes(as, bs);
        return await combined([ai, av, bi, bv], sizes, (x, y) =>
          Number.isNaN(x) || (x > y === isLarger && !Number.isNaN(y)) ? x : y,
        );
      });
      return { output_indices: output_indices!, output_values: output_values! };
    },
    cases: () => [
      { shape: '[?, 2], ?, ?, ?, ?, ? -> [?, 2], [?]' },
      {
        given: two,
        expect: {
          output_indices: places([0, 1], [1, 0], [1, 2]),
          output_values: isLarger ? [1, 2, 5] : [-1, 0, 0],
        },
      },
      {
        given: { ...two, a_values: [Number.NaN, 2], b_indices: places([0, 1], [1, 0]), b_values: [1, Number.NaN] },
        expect: { output_values: [Number.NaN, Number.NaN] },
      },
    ],
  });

export const SparseSparseMaximum = extreme('SparseSparseMaximum', realNumbers, true);
export const SparseSparseMinimum = extreme('SparseSparseMinimum', numbers, false);

/**
 * The sum of two tensors of which at least one is sparse; sparse if both are, without elements smaller than `threshold`.
 * Adds one `SparseAdd` or `SparseTensorDenseAdd` node.
 *
 * @example tf.sparse.add(a, b)
 */
export function sparseAdd(a: SparseTensor, b: SparseTensor, options?: { threshold?: TensorLike }): SparseTensor;
export function sparseAdd(
  a: SparseTensor | TensorLike,
  b: SparseTensor | TensorLike,
  options?: { threshold?: TensorLike },
): SparseTensor | Tensor;
export function sparseAdd(
  a: SparseTensor | TensorLike,
  b: SparseTensor | TensorLike,
  options: { threshold?: TensorLike } = {},
): SparseTensor | Tensor {
  const { threshold } = onlyOptions('tf.sparse.add', options, 'threshold');
  if (a instanceof SparseTensor && b instanceof SparseTensor) {
    const { dtype } = a.values;
    const real = dtype === d.complex64 ? d.float32 : dtype === d.complex128 ? d.float64 : dtype;
    const sum = SparseAdd.build({
      a_indices: a.indices,
      a_values: a.values,
      a_shape: a.denseShape,
      b_indices: b.indices,
      b_values: b.values,
      b_shape: b.denseShape,
      thresh: convertToTensor(threshold ?? 0, { dtype: real, name: 'thresh' }),
    });
    const result = new SparseTensor(sum.sum_indices, sum.sum_values, sum.sum_shape);
    result.setShape(a.shape);
    result.setShape(b.shape);
    return result;
  }
  const [sparse, dense] = a instanceof SparseTensor ? [a, b] : [b, a];
  if (!(sparse instanceof SparseTensor) || dense instanceof SparseTensor)
    throw userError('tf.sparse.add adds two tensors of which at least one is sparse; use tf.add for two dense ones');
  const { indices, values, denseShape } = sparse;
  return SparseTensorDenseAdd.build({ a_indices: indices, a_values: values, a_shape: denseShape, b: dense }).output;
}

function extremeOf(name: string, op: typeof SparseSparseMaximum, a: SparseTensor, b: SparseTensor): SparseTensor {
  return nameScope(name, () => {
    const { output_indices, output_values } = op.build({
      a_indices: a.indices,
      a_values: a.values,
      a_shape: a.denseShape,
      b_indices: b.indices,
      b_values: b.values,
      b_shape: b.denseShape,
    });
    return new SparseTensor(output_indices, output_values, a.denseShape);
  });
}

/** The larger of the elements at each position of two sparse tensors. Adds one `SparseSparseMaximum` node. */
export function sparseMaximum(a: SparseTensor, b: SparseTensor, options: Named = {}): SparseTensor {
  const { name } = onlyOptions('tf.sparse.maximum', options, 'name');
  return extremeOf(name ?? 'SparseSparseMaximum', SparseSparseMaximum, a, b);
}

/** The smaller of the elements at each position of two sparse tensors. Adds one `SparseSparseMinimum` node. */
export function sparseMinimum(a: SparseTensor, b: SparseTensor, options: Named = {}): SparseTensor {
  const { name } = onlyOptions('tf.sparse.minimum', options, 'name');
  return extremeOf(name ?? 'SparseSparseMinimum', SparseSparseMinimum, a, b);
}
