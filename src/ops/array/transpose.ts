/** @file Transpose, ConjugateTranspose and InvertPermutation: axes in another order. */

import { InvalidArgumentError } from '../../core/errors.ts';
import { intVector } from '../../core/ndarray.ts';
import { type Dims, showShape } from '../../core/shape.ts';
import { IndexedSlices } from '../../graph/indexedSlices.ts';
import { onlyOptions, withArgument } from '../../graph/options.ts';
import type { ArgumentIn, DTypeOf, KnownShape, ShapeOf, Transpose as Transposed } from '../../graph/staticShapes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { anyType, indexTypes } from '../../op/attrs.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import { cast, conj, gt } from '../../program/map.ts';
import type { Value } from '../../program/value.ts';
import { complete, type Known, type Named, ofRank, scoped, unknownDims } from './common.ts';
import { concat } from './concat.ts';
import { sub } from './neighbours.ts';
import { Range } from './range.ts';
import { Rank, rank } from './shape.ts';

/** The permutation as positions, checked as TensorFlow checks it. */
function checkedPerm(perm: readonly number[], rank: number): readonly number[] {
  if (perm.length !== rank)
    throw new InvalidArgumentError(
      `transpose expects a vector of size ${rank}. But input(1) is a vector of size ${perm.length}`,
    );
  const seen = new Set<number>();
  const positions = perm.map((d) => {
    const at = d < 0 ? d + rank : d;
    if (at < 0 || at >= rank) throw new InvalidArgumentError(`${d} is out of range [0 .. ${rank})`);
    seen.add(at);
    return at;
  });
  for (let i = 0; i < rank; i++)
    if (!seen.has(i)) throw new InvalidArgumentError(`${i} is missing from {${perm.join(',')}}.`);
  return positions;
}

function transposed(x: Dims, perm: Known | undefined): Dims {
  const rank = x?.length ?? perm?.length;
  if (rank === undefined) return null;
  if (perm && perm.length !== rank)
    throw new InvalidArgumentError(
      `x is ${showShape(x)}, of rank ${rank}, but perm has ${perm.length} entries; it must name every axis once.`,
    );
  const order = complete(perm);
  if (!order) return unknownDims(rank);
  const positions = checkedPerm(order, rank);
  return x === null ? unknownDims(rank) : positions.map((i) => x[i]!);
}

function lowerTranspose(p: ProgramBuilder, { x, perm }: { x: Value; perm: Value }): Value {
  return p.transpose(x, checkedPerm(p.demandInts(perm), x.shape.length));
}

export const Transpose = defineOp({
  name: 'Transpose',
  inputs: { x: 'T', perm: 'Tperm' },
  outputs: { y: 'T' },
  attrs: { T: anyType, Tperm: indexTypes },
  hostInputs: ['perm'],
  shape: ({ x }, _, context) => ({ y: transposed(x, context.partial('perm')) }),
  grad: ({ inputs: { perm } }, { y: dy }) => ({ x: transpose(dy, invertPermutation(perm)) }),
  lower: (p, inputs) => ({ y: lowerTranspose(p, inputs) }),
  cases: () => [
    { shape: '[2, ?, 4], [3] -> [4, 2, ?]', given: { perm: { dtype: 'int32', value: [2, 0, 1] } } },
    { shape: '[2, ?, 4], [3] -> [?, ?, ?]' },
    { shape: '[2, 3], [3]', given: { perm: { dtype: 'int32', value: [2, 0, 1] } }, rejects: /perm has 3 entries/ },
    {
      given: {
        x: [
          [1, 2, 3],
          [4, 5, 6],
        ],
        perm: { dtype: 'int32', value: [1, 0] },
      },
      expect: {
        y: [
          [1, 4],
          [2, 5],
          [3, 6],
        ],
      },
    },
    { given: { x: [['a', 'b']], perm: { dtype: 'int64', value: [1, 0] } }, expect: { y: [['a'], ['b']] } },
  ],
});

export const ConjugateTranspose = defineOp({
  name: 'ConjugateTranspose',
  inputs: { x: 'T', perm: 'Tperm' },
  outputs: { y: 'T' },
  attrs: { T: anyType, Tperm: indexTypes },
  hostInputs: ['perm'],
  shape: ({ x }, _, context) => ({ y: transposed(x, context.partial('perm')) }),
  grad: ({ inputs: { perm } }, { y: dy }) => ({
    x: transpose(dy, invertPermutation(perm), { conjugate: true }),
  }),
  lower: (p, inputs) => {
    const y = lowerTranspose(p, inputs);
    return { y: y.dtype.isComplex ? p.map([y], conj) : y };
  },
  cases: () => [
    { shape: '[2, ?], [2] -> [?, 2]', given: { perm: { dtype: 'int32', value: [1, 0] } } },
    {
      given: {
        x: {
          dtype: 'complex64',
          value: [
            [
              { re: 1, im: 2 },
              { re: 3, im: -4 },
            ],
          ],
        },
        perm: { dtype: 'int32', value: [1, 0] },
      },
      expect: { y: { dtype: 'complex64', value: [[{ re: 1, im: -2 }], [{ re: 3, im: 4 }]] } },
    },
  ],
});

export const InvertPermutation = defineOp({
  name: 'InvertPermutation',
  inputs: { x: 'T' },
  outputs: { y: 'T' },
  attrs: { T: indexTypes },
  shape: ({ x }) => ({ y: ofRank(x, 1, 'x') }),
  grad: notDifferentiable,
  lower(p, { x }) {
    const n = x.shape[0]!;
    const outside = (value: number) => new InvalidArgumentError(`${value} is not between 0 and ${n}`);
    const indices = p.reshape(x, [n, 1]);
    const counts = p.copy(p.fill(x.dtype, [n, 1], 0));
    const explain = ({ value }: { value: number }) => outside(value);
    p.scatter('add', counts, indices, p.fill(x.dtype, [n, 1], 1), { explain });
    p.check(
      p.map([counts], (count) => gt(count, 1)),
      ({ position }) => new InvalidArgumentError(`${position} is duplicated in the input.`),
    );
    const target = p.copy(p.fill(x.dtype, [n, 1], 0));
    const positions = p.generate([n, 1], (i) => cast(i, x.dtype));
    p.scatter('update', target, indices, positions, { explain });
    return { y: p.reshape(target, [n]) };
  },
  partialValue({ inputs }, known) {
    const perm = complete(known(inputs.x));
    return perm && new Set(perm).size === perm.length ? perm.map((_, i) => perm.indexOf(i)) : undefined;
  },
  cases: () => [
    { shape: '[?] -> [?]' },
    {
      given: { x: { dtype: 'int32', value: [2, 0, 1] } },
      expect: { y: { dtype: 'int32', value: [1, 2, 0] } },
    },
    { given: { x: { dtype: 'int32', value: [0, 3, 1] } }, fails: /3 is not between 0 and 3/ },
    { given: { x: { dtype: 'int64', value: [0, 0, 1] } }, fails: /0 is duplicated in the input/ },
  ],
});

/**
 * The permutation that undoes `x`. Adds one `InvertPermutation` node.
 *
 * @example tf.invertPermutation([2, 0, 1]) // runs to [1 2 0]
 */
export function invertPermutation(x: TensorLike, options: Named = {}): Tensor {
  return InvertPermutation.build({ x }, options).y;
}

export interface TransposeOptions extends ConjugateOptions {
  /** May stand here, or alone as the second argument. */
  readonly perm?: TensorLike | null | undefined;
}
interface ConjugateOptions extends Named {
  /** Also conjugates complex elements. */
  readonly conjugate?: boolean | undefined;
}

/**
 * Axes in the order `perm`, or in reverse order. Adds one `Transpose` node (`ConjugateTranspose` with `conjugate`).
 *
 * @example tf.transpose(tf.constant([[1, 2], [3, 4]])) // runs to [[1 3] [2 4]]
 */
export function transpose<
  X extends TensorLike,
  const P extends TensorLike | null | TransposeOptions | undefined = undefined,
>(
  a: X,
  perm?: P,
  options?: TransposeOptions,
): Tensor<DTypeOf<X>, KnownShape<Transposed<ShapeOf<X>, ArgumentIn<'perm', P, undefined>>>>;
export function transpose(
  a: TensorLike,
  given?: TensorLike | null | TransposeOptions,
  last: TransposeOptions = {},
): Tensor {
  const options = withArgument('perm', given, last);
  const { perm, name, conjugate = false } = onlyOptions('tf.transpose', options, 'perm', 'name', 'conjugate');
  return scoped(name ?? 'transpose', [a, perm], (scope) => {
    // The rows of a sparse gradient are added up by the op's own conversion, under the name of its port.
    if (a instanceof IndexedSlices && perm != null) return Transpose.build({ x: a, perm }, { name: scope }).y;
    const x = convertToTensor(a, { name: 'a' });
    const op = conjugate && x.dtype.isComplex ? ConjugateTranspose : Transpose;
    return op.build({ x, perm: perm ?? reversed(x) }, { name: scope }).y;
  });
}

function reversed(x: Tensor): TensorLike {
  if (x.rank !== null) return intVector(Array.from({ length: x.rank }, (_, i) => x.rank! - 1 - i));
  const last = sub(Rank.build({ input: x }).output, 1);
  return Range.build({ start: last, limit: -1, delta: -1 }).output;
}

/**
 * Swaps the last two axes. Adds one `Transpose` node.
 *
 * @example tf.matrixTranspose(tf.constant([[[1, 2], [3, 4]]])) // runs to [[[1 3] [2 4]]]
 */
export function matrixTranspose(a: TensorLike, options: ConjugateOptions = {}): Tensor {
  const { name, conjugate } = onlyOptions('tf.matrixTranspose', options, 'name', 'conjugate');
  return scoped(name ?? 'matrix_transpose', [a], () => {
    const x = convertToTensor(a, { name: 'a' });
    if (x.rank !== null && x.rank < 2)
      throw userError(
        `matrixTranspose wants a matrix or a batch of them, but ${x} has rank ${x.rank}. Use tf.expandDims first.`,
      );
    if (x.rank !== null) {
      const perm = Array.from({ length: x.rank }, (_, i) => i);
      return transpose(x, [...perm.slice(0, -2), x.rank - 1, x.rank - 2], { conjugate });
    }
    const axes = rank(x);
    const lead = Range.build({ start: 0, limit: sub(axes, 2), delta: 1 }).output;
    return transpose(x, concat([lead, [sub(axes, 1), sub(axes, 2)]], 0), { conjugate });
  });
}
