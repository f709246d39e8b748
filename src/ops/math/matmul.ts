/** @file MatMul and the BatchMatMul ops: products of matrices and of batches of matrices; `matmul`. */

import type { DType } from '../../core/dtypes.ts';
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { broadcastConcrete, type Dims, isFullyDefined, type Shape, showRuntime, showShape } from '../../core/shape.ts';
import { nameScope } from '../../graph/graph.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { CommonDType, Fits, KnownShape, MatMul as ProductShape, ShapeOf } from '../../graph/staticShapes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { attr } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import { conj as conjugate } from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';
import { getItem } from '../array/getItem.ts';
import { reshape } from '../array/reshape.ts';
import { shape } from '../array/shape.ts';
import { BroadcastGradientArgs } from './broadcast.ts';
import { conj } from './complex.ts';
import { reduceSum } from './reductions.ts';

type Size = number | null;

/** A matrix's rows and columns as the product sees them. */
function matrix(port: string, dims: Dims, transposed: boolean): readonly [Size, Size] {
  if (dims === null) return [null, null];
  if (dims.length !== 2)
    throw new InvalidArgumentError(
      `${port} is ${showShape(dims)}, but a matrix of rank 2 is needed. For batches of matrices use tf.matmul on rank 3 or more, or tf.reshape it.`,
    );
  const [rows, columns] = dims as readonly [Size, Size]; // rank checked
  return transposed ? [columns, rows] : [rows, columns];
}

/** Refuses a product whose inner sizes differ, and says so if turning b round would help. */
function checkInner(ports: readonly [string, string], a: readonly [Size, Size], b: readonly [Size, Size]): void {
  const [rows, inner] = a;
  const [innerB, columns] = b;
  if (inner === null || innerB === null || inner === innerB) return;
  const hint = inner === columns ? ' With transposeB: true they would be.' : '';
  throw new InvalidArgumentError(
    `${ports[0]} is ${showShape([rows, inner])} and ${ports[1]} is ${showShape([innerB, columns])}, so ${ports[0]} has ${inner} columns but ${ports[1]} has ${innerB} rows; they must be equal.${hint}`,
  );
}

/** The run-time check of the inner sizes; shapes are as the op got them. */
function checkConcrete(a: Shape, b: Shape, turnA: boolean, turnB: boolean): void {
  if (a.at(turnA ? -2 : -1) !== b.at(turnB ? -1 : -2))
    throw new InvalidArgumentError(`Matrix size-incompatible: In[0]: ${showRuntime(a)}, In[1]: ${showRuntime(b)}`);
}

export const MatMul = defineOp({
  name: 'MatMul',
  inputs: { a: 'T', b: 'T' },
  outputs: { product: 'T' },
  attrs: {
    transpose_a: attr('bool', { default: false }),
    transpose_b: attr('bool', { default: false }),
    T: attr('type', {
      allowed: [
        d.bfloat16,
        d.float16,
        d.float32,
        d.float64,
        d.int32,
        d.int64,
        d.uint8,
        d.uint16,
        d.uint32,
        d.uint64,
        d.complex64,
        d.complex128,
      ],
    }),
    grad_a: attr('bool', { default: false }),
    grad_b: attr('bool', { default: false }),
  },

  shape({ a, b }, { transpose_a, transpose_b }) {
    const left = matrix('a', a, transpose_a);
    const right = matrix('b', b, transpose_b);
    checkInner(['a', 'b'], left, right);
    return { product: [left[0], right[1]] };
  },

  grad({ inputs, attrs: { transpose_a, transpose_b } }, { product: dy }) {
    const a = conj(inputs.a);
    const b = conj(inputs.b);
    if (!transpose_a && !transpose_b)
      return { a: product(dy, b, false, true, 'grad_a'), b: product(a, dy, true, false, 'grad_b') };
    if (!transpose_a) return { a: product(dy, b, false, false, 'grad_a'), b: product(dy, a, true, false, 'grad_b') };
    if (!transpose_b) return { a: product(b, dy, false, true, 'grad_a'), b: product(a, dy, false, false, 'grad_b') };
    return { a: product(b, dy, true, true, 'grad_a'), b: product(dy, a, true, true, 'grad_b') };
  },

  lower(p, { a, b }, { transpose_a, transpose_b }) {
    if (a.shape.length !== b.shape.length)
      throw new InvalidArgumentError(
        `In[0] and In[1] has different ndims: ${showRuntime(a.shape)} vs. ${showRuntime(b.shape)}`,
      );
    if (a.shape.length !== 2) throw new InvalidArgumentError(`In[0] and In[1] ndims must be == 2: ${a.shape.length}`);
    checkConcrete(a.shape, b.shape, transpose_a, transpose_b);
    return { product: p.dot(a, b, { transposeA: transpose_a, transposeB: transpose_b }) };
  },

  cases: () => [
    { shape: '[2, 3], [3, ?] -> [2, ?]' },
    { shape: '[2, 3], [4, 3] -> [2, 4]', attrs: { transpose_b: true } },
    { shape: '?, [3, ?] -> [?, ?]' },
    { shape: '[2, 3], [4, 5]', rejects: /3 columns but b has 4 rows/ },
    { shape: '[2, 3], [4, 3]', rejects: /With transposeB: true they would be/ },
    { shape: '[2, 3, 4], [4, 3]', rejects: /a matrix of rank 2 is needed/ },
    {
      given: {
        a: [
          [1, 2],
          [3, 4],
        ],
        b: [
          [5, 6],
          [7, 8],
        ],
      },
      expect: {
        product: [
          [19, 22],
          [43, 50],
        ],
      },
    },
    {
      given: {
        a: [
          [1, 2],
          [3, 4],
        ],
        b: [
          [5, 6],
          [7, 8],
        ],
      },
      attrs: { transpose_a: true },
      expect: {
        product: [
          [26, 30],
          [38, 44],
        ],
      },
    },
    {
      given: {
        a: [
          [1, 2],
          [3, 4],
        ],
        b: [
          [5, 6],
          [7, 8],
        ],
      },
      attrs: { transpose_b: true },
      expect: {
        product: [
          [17, 23],
          [39, 53],
        ],
      },
    },
    {
      given: {
        a: [
          [1, 2],
          [3, 4],
        ],
        b: [
          [5, 6],
          [7, 8],
        ],
      },
      attrs: { transpose_a: true, transpose_b: true },
      expect: {
        product: [
          [23, 31],
          [34, 46],
        ],
      },
    },
    {
      given: { a: { dtype: 'int64', value: [[3, -4]] }, b: { dtype: 'int64', value: [[5], [6]] } },
      expect: { product: { dtype: 'int64', value: [[-9]] } },
    },
    {
      given: {
        a: { dtype: 'float32', value: [[], []], shape: [2, 0] },
        b: { dtype: 'float32', value: [], shape: [0, 1] },
      },
      expect: { product: [[0], [0]] },
    },
  ],
});

/** A product inside a gradient; the flag says which operand's gradient it is, as TensorFlow marks it. */
function product(
  a: TensorLike,
  b: TensorLike,
  transpose_a: boolean,
  transpose_b: boolean,
  flag: 'grad_a' | 'grad_b',
): Tensor {
  return MatMul.build({ a, b }, { attrs: { transpose_a, transpose_b, [flag]: true } }).product;
}

// Batches.
const batchFlags = {
  adj_x: attr('bool', { default: false }),
  adj_y: attr('bool', { default: false }),
  grad_x: attr('bool', { default: false }),
  grad_y: attr('bool', { default: false }),
} as const;

interface Flags {
  readonly adj_x: boolean;
  readonly adj_y: boolean;
}

/** Leading dims and the last two, turned round where the op says so. */
function batchOf(port: string, dims: Dims, turned: boolean) {
  if (dims === null) return { batch: null, matrix: [null, null] as const };
  if (dims.length < 2)
    throw new InvalidArgumentError(`${port} is ${showShape(dims)}, but matrices are needed: rank 2 or more.`);
  return { batch: dims.slice(0, -2), matrix: matrix(port, dims.slice(-2), turned) };
}

function batchShape(x: Dims, y: Dims, { adj_x, adj_y }: Flags, combine: (a: Dims, b: Dims) => Dims): Dims {
  const left = batchOf('x', x, adj_x);
  const right = batchOf('y', y, adj_y);
  checkInner(['x', 'y'], left.matrix, right.matrix);
  const batch = combine(left.batch, right.batch);
  return batch === null ? null : [...batch, left.matrix[0], right.matrix[1]];
}

/** Batch dims that repeat where one side has 1. Unknown sizes stay unknown unless the other side is larger than 1. */
function broadcastBatch(x: Dims, y: Dims): Dims {
  if (x === null || y === null) return null;
  const rank = Math.max(x.length, y.length);
  return Array.from({ length: rank }, (_, i) => {
    const a = x[i - rank + x.length] === undefined ? 1 : x[i - rank + x.length]!;
    const b = y[i - rank + y.length] === undefined ? 1 : y[i - rank + y.length]!;
    if (a === 1) return b;
    if (b === 1 || a === b) return a;
    if (a === null || b === null) return a ?? b;
    throw new InvalidArgumentError(
      `the batches of x and y are ${showShape(x)} and ${showShape(y)}; they must be equal or one of them 1.`,
    );
  });
}

function mergeBatch(x: Dims, y: Dims): Dims {
  if (x === null || y === null) return x ?? y;
  if (x.length !== y.length || x.some((n, i) => n !== null && y[i] != null && n !== y[i]))
    throw new InvalidArgumentError(
      `the batches of x and y are ${showShape(x)} and ${showShape(y)}; they must be equal.`,
    );
  return x.map((n, i) => n ?? y[i]!);
}

function checkBatch(x: Shape, y: Shape, { adj_x, adj_y }: Flags): void {
  for (const [i, { length }] of [x, y].entries())
    if (length < 2) throw new InvalidArgumentError(`In[${i}] ndims must be >= 2: ${length}`);
  try {
    broadcastConcrete(x.slice(0, -2), y.slice(0, -2));
  } catch {
    throw new InvalidArgumentError(
      `In[0] and In[1] must have compatible batch dimensions: ${showRuntime(x)} vs. ${showRuntime(y)}`,
    );
  }
  checkConcrete(x, y, adj_x, adj_y);
}

/** TensorFlow's first BatchMatMul does not repeat batches. */
function checkEqualBatch(x: Shape, y: Shape): void {
  if (x.length !== y.length)
    throw new InvalidArgumentError(`In[0] and In[1] has different ndims: ${showRuntime(x)} vs. ${showRuntime(y)}`);
  for (let i = 0; i < x.length - 2; i++)
    if (x[i] !== y[i])
      throw new InvalidArgumentError(
        `In[0].dim(${i}) and In[1].dim(${i}) must be the same: ${showRuntime(x)} vs ${showRuntime(y)}`,
      );
}

/** The adjoint is the transpose of the conjugate. */
function lowerBatch(p: ProgramBuilder, x: Value, y: Value, flags: Flags, dtype: DType): Value {
  checkBatch(x.shape, y.shape, flags);
  const operand = (value: Value, adjoint: boolean): Value => {
    const typed = p.cast(value, dtype);
    return adjoint && dtype.isComplex ? p.map([typed], (z) => conjugate(z)) : typed;
  };
  return p.dot(operand(x, flags.adj_x), operand(y, flags.adj_y), { transposeA: flags.adj_x, transposeB: flags.adj_y });
}

interface BatchContext {
  readonly inputs: { readonly x: Tensor; readonly y: Tensor };
  readonly attrs: Flags;
}

function batchProducts({ inputs: { x, y }, attrs: { adj_x, adj_y } }: BatchContext, dy: Gradient, marked: boolean) {
  const times = (a: TensorLike, b: TensorLike, adjointA: boolean, adjointB: boolean, flag: 'gradA' | 'gradB') =>
    matmul(a, b, { adjointA, adjointB, ...(marked ? { [flag]: true } : {}) });
  if (!adj_x && !adj_y) return [times(dy, y, false, true, 'gradA'), times(x, dy, true, false, 'gradB')] as const;
  if (!adj_x) return [times(dy, y, false, false, 'gradA'), times(dy, x, true, false, 'gradB')] as const;
  if (!adj_y) return [times(y, dy, false, true, 'gradA'), times(x, dy, false, false, 'gradB')] as const;
  return [times(y, dy, true, true, 'gradA'), times(dy, x, true, true, 'gradB')] as const;
}

/** Sums over the batch axes that were repeated. */
function batchGradient(context: BatchContext, dy: Gradient): { x: Tensor; y: Tensor } {
  const { x, y } = context.inputs;
  const [dx, dyy] = batchProducts(context, dy, true);
  const [batchX, batchY] = [x.shape?.slice(0, -2) ?? null, y.shape?.slice(0, -2) ?? null];
  const single = x.rank !== null && y.rank !== null && x.rank <= 2 && y.rank <= 2;
  const equal = isFullyDefined(batchX) && isFullyDefined(batchY) && `${batchX}` === `${batchY}`;
  if (single || equal) return { x: dx, y: dyy };
  const shapeX = shape(x);
  const shapeY = shape(y);
  const { r0, r1 } = BroadcastGradientArgs.build({ s0: getItem(shapeX, ':-2'), s1: getItem(shapeY, ':-2') });
  return { x: reshape(reduceSum(dx, r0), shapeX), y: reshape(reduceSum(dyy, r1), shapeY) };
}

export const BatchMatMul = defineOp({
  name: 'BatchMatMul',
  inputs: { x: 'T', y: 'T' },
  outputs: { output: 'T' },
  attrs: {
    T: attr('type', {
      allowed: [d.bfloat16, d.float16, d.float32, d.float64, d.int32, d.int64, d.complex64, d.complex128],
    }),
    ...batchFlags,
  },
  shape: ({ x, y }, attrs) => ({ output: batchShape(x, y, attrs, mergeBatch) }),
  grad(context, { output: dy }) {
    const [x, y] = batchProducts(context, dy, false);
    return { x, y };
  },
  lower(p, { x, y }, attrs) {
    checkEqualBatch(x.shape, y.shape);
    return { output: lowerBatch(p, x, y, attrs, attrs.T) };
  },
  cases: () => [
    { shape: '[?, 2, 3], [5, 3, 4] -> [5, 2, 4]' },
    { shape: '[1, 2, 3], [5, 3, 4]', rejects: /they must be equal/ },
    {
      given: {
        x: [[[1, 2]], [[3, 4]]],
        y: [
          [[5], [6]],
          [[7], [8]],
        ],
      },
      expect: { output: [[[17]], [[53]]] },
    },
  ],
});

export const BatchMatMulV2 = defineOp({
  name: 'BatchMatMulV2',
  inputs: { x: 'T', y: 'T' },
  outputs: { output: 'T' },
  attrs: {
    T: attr('type', {
      allowed: [
        d.bfloat16,
        d.float16,
        d.float32,
        d.float64,
        d.int16,
        d.int32,
        d.int64,
        d.uint8,
        d.uint16,
        d.uint32,
        d.uint64,
        d.complex64,
        d.complex128,
      ],
    }),
    ...batchFlags,
  },
  shape: ({ x, y }, attrs) => ({ output: batchShape(x, y, attrs, broadcastBatch) }),
  grad: (context, { output: dy }) => batchGradient(context, dy),
  lower: (p, { x, y }, attrs) => ({ output: lowerBatch(p, x, y, attrs, attrs.T) }),
  cases: () => [
    { shape: '[?, 2, 3], [5, 3, 4] -> [5, 2, 4]' },
    { shape: '[2, 3], [5, ?, 3, 4] -> [5, ?, 2, 4]' },
    { shape: '?, [5, 3, 4] -> ?' },
    { shape: '[2, 4, 3], [5, 3, 4]', rejects: /batches of x and y are \[2\] and \[5\]/ },
    { given: { x: [[[1, 2]], [[3, 4]]], y: [[5], [6]] }, expect: { output: [[[17]], [[39]]] } },
    {
      given: { x: [[[1, 2]], [[3, 4]]], y: [[[5, 6]]] },
      attrs: { adj_y: true },
      expect: { output: [[[17]], [[39]]] },
    },
    {
      given: {
        x: { dtype: 'complex64', value: [[[{ re: 1, im: 2 }]]] },
        y: { dtype: 'complex64', value: [[[{ re: 3, im: -1 }]]] },
      },
      attrs: { adj_x: true },
      expect: { output: { dtype: 'complex64', value: [[[{ re: 1, im: -7 }]]] } },
    },
  ],
});

const mixedTypes = [d.bfloat16, d.float16, d.float32, d.float64, d.int16, d.int32, d.int64, d.complex64, d.complex128];

export const BatchMatMulV3 = defineOp({
  name: 'BatchMatMulV3',
  inputs: { x: 'Ta', y: 'Tb' },
  outputs: { output: 'Tout' },
  attrs: {
    Ta: attr('type', { allowed: [...mixedTypes, d.uint8, d.int8] }),
    Tb: attr('type', { allowed: [...mixedTypes, d.uint8, d.int8] }),
    Tout: attr('type', { allowed: mixedTypes }),
    ...batchFlags,
  },
  shape: ({ x, y }, attrs) => ({ output: batchShape(x, y, attrs, broadcastBatch) }),
  grad: (context, { output: dy }) => batchGradient(context, dy),
  lower: (p, { x, y }, attrs) => ({ output: lowerBatch(p, x, y, attrs, attrs.Tout) }),
  cases: () => [
    { shape: '[?, 2, 3], [5, 3, 4] -> [5, 2, 4]', attrs: { Tout: d.float32 } },
    {
      given: { x: [[1, 2]], y: [[[3], [4]]] },
      attrs: { Tout: d.float32 },
      expect: { output: [[[11]]] },
    },
    {
      given: { x: { dtype: 'int8', value: [[100, 100]] }, y: { dtype: 'int8', value: [[2], [3]] } },
      attrs: { Tout: d.int32 },
      expect: { output: { dtype: 'int32', value: [[500]] } },
    },
  ],
});

// The function.
/** The shape of the product, from the operands and what the options turn round. */
type Product<A, B, O extends MatmulOptions> = ProductShape<
  ShapeOf<A>,
  ShapeOf<B>,
  O extends { transposeA: true } | { adjointA: true } ? true : false,
  O extends { transposeB: true } | { adjointB: true } ? true : false
>;

export interface MatmulOptions {
  readonly transposeA?: boolean | undefined;
  readonly transposeB?: boolean | undefined;
  /** Transpose and conjugate. */
  readonly adjointA?: boolean | undefined;
  readonly adjointB?: boolean | undefined;
  /** A hint that many elements are zero; the product is the same. */
  readonly aIsSparse?: boolean | undefined;
  readonly bIsSparse?: boolean | undefined;
  readonly outputType?: DType | undefined;
  /** Marks the product as the gradient of an operand, as TensorFlow's own gradients do. */
  readonly gradA?: boolean | undefined;
  readonly gradB?: boolean | undefined;
  readonly name?: string | undefined;
}

/**
 * The product of two matrices, or of batches of matrices when either has rank 3 or more. Adds one `MatMul` node, or
 * `BatchMatMulV2` for batches.
 *
 * @example tf.matmul(tf.constant([[1, 2]]), tf.constant([[3], [4]])) // runs to [[11]]
 */
export function matmul<
  A extends TensorLike,
  B extends TensorLike,
  const O extends MatmulOptions = Record<never, never>,
>(a: A, b: B & Fits<Product<A, B, O>>, options?: O): Tensor<CommonDType<A, B>, KnownShape<Product<A, B, O>>>;
export function matmul(a: TensorLike, b: TensorLike, options: MatmulOptions = {}): Tensor {
  onlyOptions(
    'tf.matmul',
    options,
    'transposeA',
    'transposeB',
    'adjointA',
    'adjointB',
    'aIsSparse',
    'bIsSparse',
    'outputType',
    'gradA',
    'gradB',
    'name',
  );
  const { adjointA = false, adjointB = false, transposeA = false, transposeB = false, outputType } = options;
  if (transposeA && adjointA) throw userError('Only one of transposeA and adjointA can be true.');
  if (transposeB && adjointB) throw userError('Only one of transposeB and adjointB can be true.');
  return nameScope(options.name ?? 'MatMul', (name) => {
    const x = convertToTensor(a, { name: 'a' });
    const y = convertToTensor(b, { name: 'b', hint: x.dtype });
    const grads = { grad_x: options.gradA ?? false, grad_y: options.gradB ?? false };
    const mixed = outputType !== undefined && (outputType !== x.dtype || outputType !== y.dtype);
    const sparse = options.aIsSparse === true || options.bIsSparse === true;
    const batched = x.rank === null || x.rank > 2 || y.rank === null || y.rank > 2;
    if (batched && !sparse) {
      // The batch ops only know the adjoint; conjugating first undoes its conjugation.
      const left = transposeA ? conj(x) : x;
      const right = transposeB ? conj(y) : y;
      const attrs = { adj_x: adjointA || transposeA, adj_y: adjointB || transposeB, ...grads };
      return mixed
        ? BatchMatMulV3.build({ x: left, y: right }, { name, attrs: { ...attrs, Tout: outputType } }).output
        : BatchMatMulV2.build({ x: left, y: right }, { name, attrs }).output;
    }
    const left = adjointA ? conj(x) : x;
    const right = adjointB ? conj(y) : y;
    const turned = { a: transposeA || adjointA, b: transposeB || adjointB };
    if (mixed) {
      const attrs = { adj_x: turned.a, adj_y: turned.b, Tout: outputType, ...grads };
      return BatchMatMulV3.build({ x: left, y: right }, { name, attrs }).output;
    }
    const attrs = { transpose_a: turned.a, transpose_b: turned.b, grad_a: grads.grad_x, grad_b: grads.grad_y };
    return MatMul.build({ a: left, b: right }, { name, attrs }).product;
  });
}
