/** @file MatMul: the product of two matrices; and `matmul`, which takes batches of them too. */

import type { DType } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { showRuntime } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type {
  CommonDType,
  Fits,
  KnownShape,
  OneDType,
  MatMul as ProductShape,
  ShapeOf,
} from '../../graph/staticShapes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { attr } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp } from '../../op/defineOp.ts';
import { BatchMatMulV2, BatchMatMulV3 } from './batchMatmul.ts';
import { conj } from './complex.ts';
import { checkConcrete, checkInner, matrix, productTypes } from './matmulShapes.ts';

const first = [[1, 2], [3, 4]]; // biome-ignore format: a matrix
const second = [[5, 6], [7, 8]]; // biome-ignore format: as above

export const MatMul = defineOp({
  name: 'MatMul',
  inputs: { a: 'T', b: 'T' },
  outputs: { product: 'T' },
  attrs: {
    transpose_a: attr('bool', { default: false }),
    transpose_b: attr('bool', { default: false }),
    T: attr('type', { allowed: productTypes.single }),
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
      given: { a: first, b: second },
      expect: {
        product: [
          [19, 22],
          [43, 50],
        ],
      },
    },
    {
      given: { a: first, b: second },
      attrs: { transpose_a: true },
      expect: {
        product: [
          [26, 30],
          [38, 44],
        ],
      },
    },
    {
      given: { a: first, b: second },
      attrs: { transpose_b: true },
      expect: {
        product: [
          [17, 23],
          [39, 53],
        ],
      },
    },
    {
      given: { a: first, b: second },
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

/** The second factor, when it goes with the first: in shape, and in dtype unless `outputType` says what comes of both. */
export type Factor<A, B, O extends MatmulOptions> = B &
  Fits<O extends { outputType: DType } ? unknown : OneDType<A, B>> &
  Fits<Product<A, B, O>>;

/** What a product gives. */
export type Multiplied<A, B, O extends MatmulOptions> = Tensor<
  O extends { outputType: infer D extends DType } ? D : CommonDType<A, B>,
  KnownShape<Product<A, B, O>>
>;

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
>(a: A, b: Factor<A, B, O>, options?: O): Multiplied<A, B, O>;
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
