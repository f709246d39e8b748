/** @file Sparse tensors with dense ones: products of matrices and of elements; and the softmax of a sparse tensor. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { makeNumbers } from '../../core/makeArray.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { risingOrder } from '../../core/risingOrder.ts';
import { type Shape, showRuntime, sizeOf, stridesOf } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, attr, indexTypes, numbers } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import * as e from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';
import { type Named, ofRank } from '../array/common.ts';
import { concat } from '../array/concat.ts';
import { expandDims } from '../array/expandDims.ts';
import { ones } from '../array/fill.ts';
import { gather } from '../array/gather.ts';
import { gatherNd } from '../array/gatherNd.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { shape, size } from '../array/shape.ts';
import { slice } from '../array/slice.ts';
import { squeeze } from '../array/squeeze.ts';
import { matrixTranspose, transpose } from '../array/transpose.ts';
import { cast } from '../math/cast.ts';
import { matmul } from '../math/matmul.ts';
import { floorOver, minus, minusOf, over, times } from '../math/operators.ts';
import { square } from '../math/sqrt.ts';
import { zerosLike } from '../math/zerosLike.ts';
import { checkParts, partsDims, picked, placesIn, sizesIn, wideVector } from './parts.ts';
import { sparseAdd } from './sparseAdd.ts';
import { sparseReduceSum } from './sparseReduce.ts';

const ints = (value: readonly number[] | readonly (readonly number[])[]) => ({ dtype: 'int64' as const, value });
const some = [
  [0, 0],
  [0, 2],
  [1, 1],
];

export const SparseTensorDenseMatMul = defineOp({
  name: 'SparseTensorDenseMatMul',
  inputs: { a_indices: 'Tindices', a_values: 'T', a_shape: 'int64', b: 'T' },
  outputs: { product: 'T' },
  attrs: {
    T: anyType,
    Tindices: attr('type', { allowed: indexTypes.allowed!, default: d.int64 }),
    adjoint_a: attr('bool', { default: false }),
    adjoint_b: attr('bool', { default: false }),
  },
  shape({ a_indices, a_values, a_shape, b }, { adjoint_a, adjoint_b }, context) {
    partsDims(a_indices, a_values, a_shape);
    const known = context.partial('a_shape');
    const right = ofRank(b, 2, 'b');
    const [inner, columns] = adjoint_b ? [right[1]!, right[0]!] : [right[0]!, right[1]!];
    const [rows, own] = known ? (adjoint_a ? [known[1]!, known[0]!] : [known[0]!, known[1]!]) : [null, null];
    if (own !== null && inner !== null && own !== inner && own >= 0)
      throw new InvalidArgumentError(
        `the inner sizes of a and b differ: ${own} and ${inner}. Did you forget a transpose?`,
      );
    return { product: [rows !== null && rows >= 0 ? rows : null, columns] };
  },
  grad: ({ inputs: { a_indices, a_values, a_shape, b }, attrs: { adjoint_a, adjoint_b } }, dy) => {
    const grad = denseGradient(dy.product);
    const product = productOf({ a_indices, a_values, a_shape, b: grad }, !adjoint_a);
    const db = adjoint_b ? matrixTranspose(product, { conjugate: true }) : product;
    const rows = a_indices.slice(':, 0');
    const columns = a_indices.slice(':, 1');
    const partsA = gather(grad, adjoint_a ? columns : rows);
    const partsB = gather(adjoint_b ? transpose(b) : b, adjoint_a ? rows : columns);
    const [x, y] = [expandDims(partsA, adjoint_a ? -1 : -2), expandDims(partsB, adjoint_a === adjoint_b ? -2 : -1)];
    const da = matmul(x, y, { adjointA: adjoint_a, adjointB: adjoint_a === adjoint_b });
    return { a_values: squeeze(da, [-2, -1]), b: db };
  },
  lower(p, { a_indices, a_values, a_shape, b }, { adjoint_a, adjoint_b, T }) {
    checkParts(a_indices, a_values, a_shape);
    if (a_shape.shape[0] !== 2)
      throw new InvalidArgumentError(`Tensor 'a_shape' must have 2 elements, not ${a_shape.shape[0]}`);
    if (b.shape.length !== 2) throw new InvalidArgumentError(`Tensor 'b' is not a matrix: ${showRuntime(b.shape)}`);
    const sizes = p.demandInts(a_shape);
    const [rows, inner] = (adjoint_a ? [sizes[1], sizes[0]] : [sizes[0], sizes[1]]) as [number, number]; // two of them
    // Half types are multiplied and summed as float32 and rounded once, at the end.
    const inside = T === d.float16 || T === d.bfloat16 ? d.float32 : T;
    const right = p.cast(adjoint_b ? conjugated(p, p.transpose(b, [1, 0])) : b, inside);
    const [innerB, columns] = right.shape as readonly [number, number]; // a matrix
    if (inner !== innerB)
      throw new InvalidArgumentError(
        `Cannot multiply A and B because inner dimension does not match: ${inner} vs. ${innerB}.  Did you forget a transpose?  Dimensions of A: [${rows}, ${inner}).  Dimensions of B: ${showRuntime(b.shape)}`,
      );
    const count = a_values.shape[0]!;
    const results = [
      { dtype: d.int64, shape: [count] },
      { dtype: d.int64, shape: [count] },
    ];
    const [to, from] = p.host([a_indices], results, async ([indices]) => {
      const at = indices!.numberReader();
      const [ofRow, ofColumn] = adjoint_a ? [1, 0] : [0, 1];
      const [m, k] = [new Float64Array(count), new Float64Array(count)];
      await eachInTurns(count, (i) => {
        const [row, column] = [at(2 * i + ofRow), at(2 * i + ofColumn)];
        if (column < 0 || column >= inner)
          throw new InvalidArgumentError(`k (${column}) from index[${i},${ofColumn}] out of bounds (>=${inner})`);
        if (row < 0 || row >= rows)
          throw new InvalidArgumentError(`m (${row}) from index[${i},${ofRow}] out of bounds (>=${rows})`);
        m[i] = row;
        k[i] = column;
      });
      return [await wideVector(m), await wideVector(k)];
    });
    const product = p.copy(p.fill(inside, [rows, columns], 0));
    if (count > 0 && columns > 0) {
      const values = p.cast(adjoint_a ? conjugated(p, a_values) : a_values, inside);
      const taken = p.gather(p.reshape(right, [1, 1, inner, columns]), p.reshape(from!, [1, count, 1]));
      const updates = p.map([p.reshape(taken, [count, columns]), p.reshape(values, [count, 1])], (x, y) =>
        e.mul(x!, y!),
      );
      p.scatter('add', product, p.reshape(to!, [count, 1]), updates);
    }
    return { product: p.cast(product, T) };
  },
  hostInputs: ['a_shape'],
  cases: () => [
    { shape: '[?, 2], [3], [2], [4, 5] -> [?, 5]' },
    ...[
      { adjoint_a: false, adjoint_b: false, b: [[1, 2], [3, 4], [5, 6]], product: [[11, 14], [9, 12]] },
      { adjoint_a: false, adjoint_b: true, b: [[1, 3, 5], [2, 4, 6]], product: [[11, 14], [9, 12]] },
      { adjoint_a: true, adjoint_b: false, b: [[1, 2], [3, 4]], product: [[1, 2], [9, 12], [2, 4]] },
      { adjoint_a: true, adjoint_b: true, b: [[1, 3], [2, 4]], product: [[1, 2], [9, 12], [2, 4]] },
    ].map(({ b, product, ...attrs }) => ({
      given: { a_indices: ints(some), a_values: [1, 2, 3], a_shape: ints([2, 3]), b },
      attrs,
      expect: { product },
    })), // biome-ignore format: a table
    {
      given: { a_indices: ints([[0, 7]]), a_values: [1], a_shape: ints([2, 3]), b: [[1], [2], [3]] },
      fails: /k \(7\) from index\[0,1\] out of bounds \(>=3\)/,
    },
  ],
});

/** Adds one node; a function, so that the op's gradient can use the op. */
function productOf(
  ports: Readonly<Record<'a_indices' | 'a_values' | 'a_shape' | 'b', Tensor>>,
  adjoint_a: boolean,
): Tensor {
  return SparseTensorDenseMatMul.build(ports, { attrs: { adjoint_a } }).product;
}

function conjugated(p: Parameters<typeof picked>[0], x: Value): Value {
  return x.dtype.isComplex ? p.map([x], (z) => e.conj(z!)) : x;
}

type Cwise = 'add' | 'mul' | 'div';
const results = { add: [11, 22, 33], mul: [10, 40, 90], div: [0.1, 0.1, 0.1] } as const;

/** An op on the elements that a sparse tensor has; the dense one is repeated to its shape. */
const cwise = (name: string, kind: Cwise) =>
  defineOp({
    name,
    inputs: { sp_indices: 'int64', sp_values: 'T', sp_shape: 'int64', dense: 'T' },
    outputs: { output: 'T' },
    attrs: { T: numbers },
    shape: ({ sp_indices, sp_values, sp_shape }) => ({ output: [partsDims(sp_indices, sp_values, sp_shape).count] }),
    grad:
      kind === 'add'
        ? gradientPending('TensorFlow has none either')
        : ({ inputs }, { output }) => cwiseGradient(inputs, denseGradient(output), kind),
    lower(p, { sp_indices, sp_values, sp_shape, dense }, { T }) {
      checkParts(sp_indices, sp_values, sp_shape);
      const count = sp_values.shape[0]!;
      const [places] = p.host(
        [sp_indices, sp_shape],
        [{ dtype: d.int64, shape: [count] }],
        async ([indices, whole]) => {
          const sizes = sizesIn(whole!);
          const fewer = sizes.length - dense.shape.length;
          const fits = fewer >= 0 && dense.shape.every((own, axis) => own === 1 || own === sizes[axis + fewer]);
          if (!fits)
            throw new InvalidArgumentError(
              `SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: [${sizes}] vs. ${showRuntime(dense.shape)}`,
            );
          const own = stridesOf(dense.shape).map((stride, axis) => (dense.shape[axis] === 1 ? 0 : stride));
          const strides = [...new Array<number>(fewer).fill(0), ...own];
          return [await wideVector(await placesIn(indices!, sizes, { strides }))];
        },
      );
      const others = picked(p, p.reshape(dense, [sizeOf(dense.shape)]), places!);
      const divides = kind === 'div' && T.isInteger ? 'floordiv' : kind;
      return { output: p.map([sp_values, others], (x, y) => e[divides](x!, y!)) };
    },
    cases: () => [
      { shape: '[?, 2], [3], ?, [4] -> [3]' },
      {
        given: { sp_indices: ints(some), sp_values: [1, 2, 3], sp_shape: ints([2, 3]), dense: [[10, 0, 20], [0, 30, 0]] }, // biome-ignore format: short
        expect: { output: results[kind] },
      },
      { given: { sp_indices: ints(some), sp_values: [1, 2, 3], sp_shape: ints([2, 3]), dense: [[2], [4]] } },
      {
        given: { sp_indices: ints(some), sp_values: [1, 2, 3], sp_shape: ints([2, 3]), dense: [1, 2] },
        fails: /broadcasts dense to sparse only/,
      },
    ],
  });

export const SparseDenseCwiseAdd = cwise('SparseDenseCwiseAdd', 'add');
export const SparseDenseCwiseMul = cwise('SparseDenseCwiseMul', 'mul');
export const SparseDenseCwiseDiv = cwise('SparseDenseCwiseDiv', 'div');

function cwiseGradient(
  inputs: {
    readonly sp_indices: Tensor;
    readonly sp_values: Tensor;
    readonly sp_shape: Tensor;
    readonly dense: Tensor;
  },
  grad: Tensor,
  kind: Cwise,
): { sp_values: Gradient; dense: Gradient } {
  const { sp_indices, sp_values, sp_shape, dense } = inputs;
  const denseShape = cast(shape(dense), d.int64);
  const added = expandDims(minus(size(sp_shape), size(denseShape)), 0);
  const augmented = concat([ones(added, { dtype: d.int64 }), denseShape], 0);
  const scaling = floorOver(sp_shape, augmented);
  const scaled = slice(floorOver(sp_indices, scaling), concat([[0], added], 0), [-1, -1]);
  const others = gatherNd(dense, scaled);
  const dx = kind === 'mul' ? times(grad, others) : over(grad, others);
  const dy = kind === 'mul' ? times(grad, sp_values) : times(grad, over(minusOf(sp_values), square(others)));
  const total = sparseAdd(zerosLike(dense), new SparseTensor(scaled, dy, denseShape));
  return { sp_values: dx, dense: total as Tensor }; // one of the two is dense, and so is the sum
}

/** Softmax of every row, on the host in double precision. */
async function softmaxed(indices: NDArray, values: NDArray, sizes: Shape): Promise<Float64Array> {
  const rows = await placesIn(indices, sizes, { strides: [...stridesOf(sizes.slice(0, -1)), 0] });
  const order = await risingOrder(rows);
  const result = new Float64Array(values.size);
  const at = values.numberReader();
  const finish = (first: number, end: number) => {
    let [largest, total] = [Number.NEGATIVE_INFINITY, 0];
    for (let k = first; k < end; k++) largest = Math.max(largest, at(order[k]!));
    for (let k = first; k < end; k++) total += result[order[k]!] = Math.exp(at(order[k]!) - largest);
    for (let k = first; k < end; k++) result[order[k]!]! /= total;
  };
  let first = 0;
  await eachInTurns(order.length, (k) => {
    if (k + 1 < order.length && rows[order[k + 1]!] === rows[order[k]!]) return;
    finish(first, k + 1);
    first = k + 1;
  });
  return result;
}

export const SparseSoftmax = defineOp({
  name: 'SparseSoftmax',
  inputs: { sp_indices: 'int64', sp_values: 'T', sp_shape: 'int64' },
  outputs: { output: 'T' },
  attrs: { T: attr('type', { allowed: [d.float16, d.float32, d.float64] }) },
  shape: ({ sp_indices, sp_values, sp_shape }) => {
    partsDims(sp_indices, sp_values, sp_shape);
    return { output: sp_values };
  },
  grad: ({ inputs: { sp_indices, sp_shape }, outputs: { output } }, dy) => {
    const grad = denseGradient(dy.output);
    const product = new SparseTensor(sp_indices, times(output, grad), sp_shape);
    const sum = minusOf(sparseReduceSum(product, [-1], { keepdims: true }));
    const shifted = SparseDenseCwiseAdd.build({ sp_indices, sp_values: grad, sp_shape, dense: sum }).output;
    return { sp_values: times(shifted, output) };
  },
  lower(p, { sp_indices, sp_values, sp_shape }, { T }) {
    checkParts(sp_indices, sp_values, sp_shape);
    if (sp_shape.shape[0]! < 2)
      throw new InvalidArgumentError(`Input should have rank >= 2, but received shape ${showRuntime(sp_shape.shape)}`);
    const count = sp_values.shape[0]!;
    const [output] = p.host(
      [sp_indices, sp_values, sp_shape],
      [{ dtype: T, shape: [count] }],
      async ([indices, values, whole]) => {
        const softmax = await softmaxed(indices!, values!, sizesIn(whole!));
        return [await makeNumbers(T, [count], (i) => softmax[i]!, 2048)];
      },
    );
    return { output: output! };
  },
  cases: () => [
    { shape: '[?, 2], [3], [2] -> [3]' },
    {
      given: { sp_indices: ints(some), sp_values: [0, Math.log(3), 7], sp_shape: ints([2, 3]) },
      expect: { output: [0.25, 0.75, 1] },
    },
    { given: { sp_indices: ints([[0]]), sp_values: [0], sp_shape: ints([3]) }, fails: /Input should have rank >= 2/ },
  ],
});

/**
 * The product of a sparse and a dense matrix. Adds one `SparseTensorDenseMatMul` node, in a scope of that name.
 *
 * @example tf.sparse.sparseDenseMatmul(sparse, dense)
 */
export function sparseTensorDenseMatmul(
  sparse: SparseTensor,
  dense: TensorLike,
  options: Named & { readonly adjointA?: boolean; readonly adjointB?: boolean } = {},
): Tensor {
  const { adjointA, adjointB, name } = onlyOptions(
    'tf.sparse.sparseDenseMatmul',
    options,
    'adjointA',
    'adjointB',
    'name',
  );
  return nameScope(name ?? 'SparseTensorDenseMatMul', () => {
    const b = convertToTensor(dense, { name: 'b', dtype: sparse.values.dtype });
    const attrs = { adjoint_a: adjointA ?? false, adjoint_b: adjointB ?? false };
    return SparseTensorDenseMatMul.build(
      { a_indices: sparse.indices, a_values: sparse.values, a_shape: sparse.denseShape, b },
      { attrs },
    ).product;
  });
}

/** Softmax of the elements of every row that are there. Adds one `SparseSoftmax` node. */
export function sparseSoftmax(input: SparseTensor, options: Named = {}): SparseTensor {
  const { name } = onlyOptions('tf.sparse.softmax', options, 'name');
  return nameScope(name ?? 'SparseSoftmax', () => {
    const { indices, values, denseShape } = input;
    const { output } = SparseSoftmax.build({ sp_indices: indices, sp_values: values, sp_shape: denseShape });
    return new SparseTensor(indices, output, denseShape);
  });
}
