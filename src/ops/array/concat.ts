/** @file Concat, ConcatV2 and ConcatOffset: tensors side by side along an axis. */

import { InvalidArgumentError, LookupError } from '../../core/errors.ts';
import { intVector } from '../../core/ndarray.ts';
import { type Dims, isFullyDefined, type Shape, showRuntime, showShape } from '../../core/shape.ts';
import { IndexedSlices } from '../../graph/indexedSlices.ts';
import { onlyOptions } from '../../graph/options.ts';
import type {
  Concat as Concatenated,
  DTypeOf,
  Fits,
  KnownShape,
  OneDTypeOfAll,
  ShapeOf,
} from '../../graph/staticShapes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { anyType, attr, indexTypes } from '../../op/attrs.ts';
import { constantValue } from '../../op/constantValue.ts';
import { convertToTensor } from '../../op/convert.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { type Known, type Named, scoped, unknownDims } from './common.ts';
import { concatSlicesGradient } from './concatGrad.ts';
import { identity } from './identity.ts';
import { mod } from './neighbours.ts';
import { rank, shape, shapeN } from './shape.ts';
import { slice } from './slice.ts';
import { split } from './split.ts';
import { squeeze } from './squeeze.ts';
import { stack } from './stack.ts';

/** Sizes must agree everywhere but along the axis, where they add up. */
function concatenated(values: readonly Dims[], axis: number | null | undefined): Dims {
  const rank = values.find((v) => v !== null)?.length;
  if (rank === undefined) return null;
  if (rank === 0) throw new InvalidArgumentError("Can't concatenate scalars (use tf.stack instead)");
  for (const dims of values)
    if (dims !== null && dims.length !== rank)
      throw new InvalidArgumentError(
        `values have ranks ${rank} and ${dims.length} (${values.map(showShape).join(', ')}); they must be equal.`,
      );
  if (axis == null) return unknownDims(rank);
  if (axis < -rank || axis >= rank)
    throw new InvalidArgumentError(
      `axis ${axis} is out of bounds for values of rank ${rank}: ${values.map(showShape).join(', ')}`,
    );
  const at = axis < 0 ? axis + rank : axis;
  return Array.from({ length: rank }, (_, i) => {
    const sizes = values.map((dims) => (dims === null ? null : dims[i]!));
    if (i === at) return sizes.includes(null) ? null : sizes.reduce<number>((n, d) => n + d!, 0);
    const known = sizes.filter((d) => d !== null);
    if (new Set(known).size > 1)
      throw new InvalidArgumentError(
        `Dimension ${i} in both shapes must be equal: the values are ${values.map(showShape).join(' and ')}, joined along axis ${at}.`,
      );
    return known[0] ?? null;
  });
}

function lowerConcat(p: ProgramBuilder, values: readonly Value[], axis: number): Value {
  const first = values[0]!.shape;
  const rank = first.length;
  if (axis < -rank || axis >= rank)
    throw new InvalidArgumentError(
      `ConcatOp : Expected concatenating dimensions in the range [${-rank}, ${rank}), but got ${axis}`,
    );
  const at = axis < 0 ? axis + rank : axis;
  for (const [i, { shape: dims }] of values.entries()) {
    if (dims.length !== rank)
      throw new InvalidArgumentError(
        `ConcatOp : Ranks of all input tensors should match: shape[0] = ${showRuntime(first)} vs. shape[${i}] = ${showRuntime(dims)}`,
      );
    for (let d = 0; d < rank; d++)
      if (d !== at && dims[d] !== first[d])
        throw new InvalidArgumentError(
          `ConcatOp : Dimension ${d} in both shapes must be equal: shape[0] = ${showRuntime(first)} vs. shape[${i}] = ${showRuntime(dims)}`,
        );
  }
  return p.concat(values, at);
}

/** Known entries of vectors put end to end. */
function joined(values: readonly Tensor[], known: (t: Tensor) => Known | undefined): Known | undefined {
  const all: (number | null)[] = [];
  for (const value of values) {
    const entries = value.rank === 1 ? known(value) : undefined;
    if (!entries) return undefined;
    all.push(...entries);
  }
  return all;
}

export const ConcatV2 = defineOp({
  name: 'ConcatV2',
  inputs: { values: 'N * T', axis: 'Tidx' },
  outputs: { output: 'T' },
  attrs: { N: attr('int', { minimum: 2 }), T: anyType, Tidx: indexTypes },
  hostInputs: ['axis'],
  shape: ({ values }, _, context) => ({ output: concatenated(values, context.partial('axis')?.[0]) }),
  grad: ({ inputs: { values, axis } }, { output: dy }) => ({ values: concatGradient(values, axis, dy) }),
  lower: (p, { values, axis }) => ({ output: lowerConcat(p, values, p.demandInts(axis)[0]!) }),
  followsEntries: true,
  partialValue: ({ inputs }, known) => joined(inputs.values, known),
  cases: () => [
    { shape: '[2, ?], [?, 3], [] -> [?, 3]', attrs: { N: 2 }, given: { axis: { dtype: 'int32', value: 0 } } },
    { shape: '[2, 1], [2, 3], [] -> [2, 4]', attrs: { N: 2 }, given: { axis: { dtype: 'int32', value: -1 } } },
    { shape: '[2, 1], ?, [] -> [?, ?]', attrs: { N: 2 } },
    {
      shape: '[2, 1], [3, 1], []',
      attrs: { N: 2 },
      given: { axis: { dtype: 'int32', value: 1 } },
      rejects: /Dimension 0 in both shapes must be equal/,
    },
    {
      given: {
        values: [
          [[1, 2]],
          [
            [3, 4],
            [5, 6],
          ],
        ],
        axis: { dtype: 'int32', value: 0 },
      },
      expect: {
        output: [
          [1, 2],
          [3, 4],
          [5, 6],
        ],
      },
    },
    {
      given: { values: [['a'], ['b', 'c']], axis: { dtype: 'int64', value: -1 } },
      expect: { output: ['a', 'b', 'c'] },
    },
  ],
});

export const Concat = defineOp({
  name: 'Concat',
  inputs: { concat_dim: 'int32', values: 'N * T' },
  outputs: { output: 'T' },
  attrs: { N: attr('int', { minimum: 2 }), T: anyType },
  hostInputs: ['concat_dim'],
  shape: ({ values }, _, context) => ({ output: concatenated(values, context.partial('concat_dim')?.[0]) }),
  grad: ({ inputs: { values, concat_dim } }, { output: dy }) => ({ values: concatGradient(values, concat_dim, dy) }),
  lower: (p, { values, concat_dim }) => ({ output: lowerConcat(p, values, p.demandInts(concat_dim)[0]!) }),
  followsEntries: true,
  partialValue: ({ inputs }, known) => joined(inputs.values, known),
  cases: () => [
    { shape: '[], [2, ?], [?, 3] -> [?, 3]', attrs: { N: 2 }, given: { concat_dim: { dtype: 'int32', value: 0 } } },
    {
      given: {
        concat_dim: { dtype: 'int32', value: 1 },
        values: [
          [[1], [2]],
          [[3], [4]],
        ],
      },
      expect: {
        output: [
          [1, 3],
          [2, 4],
        ],
      },
    },
  ],
});

export const ConcatOffset = defineOp({
  name: 'ConcatOffset',
  inputs: { concat_dim: 'int32', shape: 'N * shape_type' },
  outputs: { offset: 'N * shape_type' },
  attrs: { N: attr('int', { minimum: 2 }), shape_type: indexTypes },
  hostInputs: ['concat_dim', 'shape'],
  shape: ({ shape: shapes }) => ({ offset: shapes.map((dims) => dims ?? [null]) }),
  grad: notDifferentiable,
  lower(p, { concat_dim, shape: shapes }, { shape_type }) {
    for (const [i, { shape }] of shapes.entries())
      if (shape.length !== 1)
        throw new InvalidArgumentError(`input ${i} should be a vector, but got shape ${showRuntime(shape)}`);
    const vectors = shapes.map((v) => p.demandInts(v));
    return { offset: offsets(p.demandInts(concat_dim)[0]!, vectors).map((v) => p.constant(intVector(v, shape_type))) };
  },
  cases: () => [
    { shape: '[], [2], [2] -> [2], [2]', attrs: { N: 2 } },
    {
      given: {
        concat_dim: { dtype: 'int32', value: 1 },
        shape: [
          { dtype: 'int32', value: [2, 3, 4] },
          { dtype: 'int32', value: [2, 5, 4] },
          { dtype: 'int32', value: [2, 1, 4] },
        ],
      },
      expect: {
        offset: [
          { dtype: 'int32', value: [0, 0, 0] },
          { dtype: 'int32', value: [0, 3, 0] },
          { dtype: 'int32', value: [0, 8, 0] },
        ],
      },
    },
  ],
});

/** Where each input begins in the concatenation. */
function offsets(dim: number, shapes: readonly Shape[]): number[][] {
  const rank = shapes[0]!.length;
  if (dim < -rank || dim >= rank) throw new InvalidArgumentError(`Concat dim is out of range: ${dim} vs. ${rank}`);
  const axis = dim < 0 ? dim + rank : dim;
  let start = 0;
  return shapes.map((sizes, i) => {
    if (sizes.length !== rank)
      throw new InvalidArgumentError(`input ${i} should contain ${rank} elements, but got ${sizes.length}`);
    for (let d = 0; d < rank; d++)
      if (d !== axis && sizes[d] !== shapes[0]![d])
        throw new InvalidArgumentError(
          `All dimensions except ${axis} must match. Input ${i} has shape [${sizes.join(' ')}] and doesn't match input 0 with shape [${shapes[0]!.join(' ')}].`,
        );
    const offset = sizes.map((_, d) => (d === axis ? start : 0));
    start += sizes[axis]!;
    return offset;
  });
}

/** Beyond this many inputs one `SplitV` is cheaper than a `Slice` each. */
const manyInputs = 16;

function concatGradient(values: readonly Tensor[], axis: Tensor, dy: Gradient): readonly Gradient[] {
  if (values.length === 1) return [dy];
  const dim = mod(axis, rank(values[0]!));
  if (dy instanceof IndexedSlices) {
    const fixed = constantValue(axis)?.numberAt(0);
    const valueRank = values[0]!.rank;
    // Python asks for the rank once more to count an axis from the end, and the node stays.
    if (fixed !== undefined && fixed < 0) rank(values[0]!);
    if (fixed === undefined || (fixed < 0 && valueRank === null))
      throw new LookupError('an IndexedSlices gradient of a concatenation needs an axis that is known while building');
    return concatSlicesGradient(values, dim, fixed < 0 ? fixed + valueRank! : fixed, dy);
  }
  const sizes = inputShapes(values);
  if (sizes.length > manyInputs) {
    const along = squeeze(slice(stack(sizes, { axis: 1 }), [dim, 0], [1, -1]));
    return split(dy, along, { axis: dim });
  }
  const begins = ConcatOffset.build({ concat_dim: dim, shape: sizes }).offset;
  return begins.map((begin, i) => slice(dy, begin, sizes[i]!));
}

/** Constants when every shape is known; else one `ShapeN`, after the constants made before the first unknown one. */
function inputShapes(values: readonly Tensor[]): readonly Tensor[] {
  const sizes: Tensor[] = [];
  for (const value of values) {
    const known = isFullyDefined(value.shape);
    sizes.push(shape(value));
    if (!known) return shapeN(values);
  }
  return sizes;
}

/**
 * Tensors side by side along `axis`. Adds one `ConcatV2` node (`Identity` for a single value).
 *
 * @example tf.concat([[[1, 2]], [[3, 4]]], 0) // runs to [[1 2] [3 4]]
 */
export function concat<const L extends readonly TensorLike[], const A extends TensorLike>(
  values: L & Fits<OneDTypeOfAll<L>>,
  axis: A,
  options?: Named,
): Tensor<DTypeOf<L[number]>, KnownShape<Concatenated<ShapeOf<L[number]>, A>>>;
export function concat(values: readonly TensorLike[], axis: TensorLike, options: Named = {}): Tensor {
  const { name = 'concat' } = onlyOptions('tf.concat', options, 'name');
  if (!Array.isArray(values))
    throw userError(`tf.concat takes a list of tensors first and then the axis, but the list is ${String(values)}.`);
  if (values.length === 1)
    return scoped(name, values, () => {
      convertToTensor(axis, { name: 'concat_dim' });
      return identity(values[0]!, { name });
    });
  return ConcatV2.build({ values, axis }, { name }).output;
}
