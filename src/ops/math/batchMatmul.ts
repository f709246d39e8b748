/** @file The BatchMatMul ops: products of batches of matrices. */
import type { DType } from '../../core/dtypes.ts';
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { broadcastConcrete, type Dims, isFullyDefined, type Shape, showRuntime, showShape } from '../../core/shape.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import { conj as conjugate } from '../../program/expr.ts';
import type { Value } from '../../program/value.ts';
import { getItem } from '../array/getItem.ts';
import { reshape } from '../array/reshape.ts';
import { shape } from '../array/shape.ts';
import { BroadcastGradientArgs } from './broadcast.ts';
import { matmul } from './matmul.ts';
import { checkConcrete, checkInner, matrix, productTypes } from './matmulShapes.ts';
import { reduceSum } from './reductions.ts';

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
    T: attr('type', { allowed: productTypes.equalBatches }),
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
    T: attr('type', { allowed: productTypes.batches }),
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

export const BatchMatMulV3 = defineOp({
  name: 'BatchMatMulV3',
  inputs: { x: 'Ta', y: 'Tb' },
  outputs: { output: 'Tout' },
  attrs: {
    Ta: attr('type', { allowed: [...productTypes.mixed, d.uint8, d.int8] }),
    Tb: attr('type', { allowed: [...productTypes.mixed, d.uint8, d.int8] }),
    Tout: attr('type', { allowed: productTypes.mixed }),
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
