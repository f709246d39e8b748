/** @file Mul and MulNoNan: products. */
import { float32, int32 } from '../../core/dtypes.ts';
import { showShape } from '../../core/shape.ts';
import { IndexedSlices } from '../../graph/indexedSlices.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor, isSymbolic } from '../../op/convert.ts';
import type { Gradient } from '../../op/registry.ts';
import { eq, mul as product, select } from '../../program/map.ts';
import { reduceGradients, shapesEqual } from './broadcast.ts';
import { conj } from './complex.ts';
import { type BinaryFunction, binaryFunction, defineBinary, type NameOption } from './elementwise.ts';
import { simplifyProduct } from './identities.ts';
import { arithmeticTypes, floatAndComplexTypes } from './types.ts';

export const Mul = defineBinary({
  name: 'Mul',
  types: arithmeticTypes,
  commutative: true,
  element: product,
  grad({ x, y, dy, skips }) {
    if (skips(1) && y.rank === 0) return [multiply(dy, conj(y)), null];
    // TensorFlow takes this way for two types only; the others come out the same with other node names.
    if (shapesEqual(x, y, dy) && (dy.dtype === float32 || dy.dtype === int32))
      return [multiply(dy, y), multiply(dy, x)];
    const dx = skips(0) ? null : multiply(dy, conj(y));
    return reduceGradients(x, y, dx, skips(1) ? null : multiply(conj(x), dy));
  },
  integers: (x, y) => x * y,
  simplify: simplifyProduct,
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    { shape: '[2], [3]', rejects: /Dimensions must be equal, but are 2 and 3/ },
    { given: { x: [1.5, -2], y: [0.5, 2] }, expect: { z: [0.75, -4] } },
    {
      given: { x: [[1], [2]], y: [10, 20] },
      expect: {
        z: [
          [10, 20],
          [20, 40],
        ],
      },
    },
    { given: { x: [0], y: [Number.POSITIVE_INFINITY] }, expect: { z: [Number.NaN] }, differentiable: false },
    {
      given: { x: { dtype: 'int64', value: [3037000500] }, y: { dtype: 'int64', value: [3037000500] } },
      expect: { z: { dtype: 'int64', value: [-9223372036709301616n] } },
    },
    {
      given: {
        x: { dtype: 'complex64', value: [{ re: 1, im: 2 }] },
        y: { dtype: 'complex64', value: [{ re: 3, im: -1 }] },
      },
      expect: { z: { dtype: 'complex64', value: [{ re: 5, im: 5 }] } },
    },
  ],
});

/**
 * `x · y`, element by element. Adds one `Mul` node.
 *
 * @example tf.multiply([2, 3], 4) // runs to [ 8 12]
 */
export const multiply: BinaryFunction = binaryFunction(Mul);
/** Another name of `multiply`. */
export const mul: BinaryFunction = multiply;

export const MulNoNan = defineBinary({
  name: 'MulNoNan',
  types: floatAndComplexTypes,
  element: (x, y) => select(eq(y, 0), 0, product(x, y)),
  grad({ x, y, dy }) {
    const dx = MulNoNan.build({ x: dy, y }).z;
    const dyy = MulNoNan.build({ x, y: dy }).z;
    return shapesEqual(x, y, dy) ? [dx, dyy] : reduceGradients(x, y, dx, dyy);
  },
  cases: () => [
    { shape: '[2, ?], [1] -> [2, ?]' },
    {
      given: { x: [Number.NaN, 2, Number.POSITIVE_INFINITY], y: [0, 3, 0] },
      expect: { z: [0, 6, 0] },
      differentiable: false,
    },
    { given: { x: [1.5, -2], y: [0.5, 2] }, expect: { z: [0.75, -4] } },
  ],
});

/**
 * `x · y`, but 0 wherever `y` is 0, even if `x` is NaN or infinite. Adds one `MulNoNan` node.
 *
 * @example tf.multiplyNoNan([NaN, 2], [0, 3]) // runs to [0. 6.]
 */
export function multiplyNoNan(x: TensorLike, y: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.multiplyNoNan', options, 'name');
  return nameScope(options.name ?? 'multiply_no_nan', (name) => {
    const a = convertToTensor(x, { name: 'x', hint: isSymbolic(y) ? y.dtype : undefined });
    return MulNoNan.build({ x: a, y: convertToTensor(y, { name: 'y', hint: a.dtype }) }, { name }).z;
  });
}

/**
 * A scalar times a tensor, or times the rows of a sparse gradient. Adds one `Mul` node.
 *
 * @example tf.scalarMul(2, tf.constant([1.5, 3])) // runs to [3. 6.]
 */
export function scalarMul<G extends Gradient>(scalar: TensorLike, x: G, options?: NameOption): G;
export function scalarMul(scalar: TensorLike, x: TensorLike | Gradient, options?: NameOption): Gradient;
export function scalarMul(scalar: TensorLike, x: TensorLike | Gradient, options: NameOption = {}): Gradient {
  const value = isSymbolic(x) ? x : convertToTensor(x);
  const factor = convertToTensor(scalar, { ...(isSymbolic(scalar) ? {} : { dtype: value.dtype }), name: 'scalar' });
  if (factor.shape !== null && factor.shape.length !== 0)
    throw userError(
      `tf.scalarMul: the first argument must be a scalar, but its shape is ${showShape(factor.shape)}. For tensors use tf.multiply.`,
    );
  if (value instanceof IndexedSlices)
    return new IndexedSlices(multiply(factor, value.values, options), value.indices, value.denseShape);
  return multiply(factor, value, options);
}
