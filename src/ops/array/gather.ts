/** @file Gather and GatherV2: slices of a tensor picked by index along one axis. */

import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError, LookupError } from '../../core/errors.ts';
import { type Dims, normalizeAxis, type Shape, showShape, sizeOf } from '../../core/shape.ts';
import { IndexedSlices } from '../../graph/indexedSlices.ts';
import { onlyOptions } from '../../graph/options.ts';
import { colocateWith } from '../../graph/scopes.ts';
import type { DTypeOf, Gather as Gathered, KnownShape, ShapeOf } from '../../graph/staticShapes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { constantValue } from '../../op/constantValue.ts';
import { isConvertible } from '../../op/convert.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { Gradient } from '../../op/registry.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import { explainIndex } from '../../program/explain.ts';
import type { Value } from '../../program/value.ts';
import { atLeastRank, int32or64, mergeDim, type Named } from './common.ts';
import { concat } from './concat.ts';
import { expandDims } from './expandDims.ts';
import { gatherAxisGradient } from './gatherGrad.ts';
import { getItem } from './getItem.ts';
import { denseGradient } from './indexedSlices.ts';
import { reshape } from './reshape.ts';
import { shape, size } from './shape.ts';

/** Indices as a type that the gather instruction takes. */
export function wideIndices(p: ProgramBuilder, indices: Value): Value {
  return indices.dtype === d.int32 || indices.dtype === d.int64 ? indices : p.cast(indices, d.int32);
}

/** Picks along `axis`; the first `batch` axes of params and indices go together. */
function lowerGather(p: ProgramBuilder, params: Value, indices: Value, axis: number, batch: number): Value {
  const dims = params.shape;
  const count = sizeOf(indices.shape.slice(batch));
  const leading = sizeOf(dims.slice(0, batch));
  const outer = sizeOf(dims.slice(batch, axis));
  const inner = sizeOf(dims.slice(axis + 1));
  const shape: Shape = [...dims.slice(0, axis), ...indices.shape.slice(batch), ...dims.slice(axis + 1)];
  const picked = p.gather(
    p.reshape(params, [leading, outer, dims[axis]!, inner]),
    p.reshape(wideIndices(p, indices), [leading, count, 1]),
    { explain: explainIndex(indices.shape, dims[axis]!) },
  );
  return p.reshape(picked, shape);
}

export const Gather = defineOp({
  name: 'Gather',
  inputs: { params: 'Tparams', indices: 'Tindices' },
  outputs: { output: 'Tparams' },
  attrs: { validate_indices: attr('bool', { default: true }), Tparams: anyType, Tindices: int32or64 },
  shape({ params, indices }) {
    atLeastRank(params, 1, 'params');
    return { output: params === null || indices === null ? null : [...indices, ...params.slice(1)] };
  },
  grad: ({ inputs: { params, indices } }, { output: dy }) => ({ params: rowsGradient(params, indices, dy) }),
  lower(p, { params, indices }) {
    if (params.shape.length === 0) throw new InvalidArgumentError('params must be at least 1 dimensional');
    return { output: lowerGather(p, params, indices, 0, 0) };
  },
  cases: () => [
    { shape: '[?, 3], [2, ?] -> [2, ?, 3]' },
    { shape: '?, [2] -> ?' },
    {
      given: {
        params: [
          [1, 2],
          [3, 4],
        ],
        indices: { dtype: 'int32', value: [1, 0, 1] },
      },
      expect: {
        output: [
          [3, 4],
          [1, 2],
          [3, 4],
        ],
      },
    },
    {
      given: { params: [1, 2], indices: { dtype: 'int64', value: [0, 2] } },
      fails: /indices\[1\] = 2 is not in \[0, 2\)/,
    },
  ],
});

function batchOf(batch_dims: number, indices: Dims): number {
  return batch_dims < 0 && indices !== null ? batch_dims + indices.length : batch_dims;
}

export const GatherV2 = defineOp({
  name: 'GatherV2',
  inputs: { params: 'Tparams', indices: 'Tindices', axis: 'Taxis' },
  outputs: { output: 'Tparams' },
  attrs: {
    batch_dims: attr('int', { default: 0 }),
    Tparams: anyType,
    Tindices: attr('type', { allowed: [d.int16, d.int32, d.int64] }),
    Taxis: int32or64,
  },
  hostInputs: ['axis'],
  shape({ params, indices }, { batch_dims }, context) {
    atLeastRank(params, 1, 'params');
    const axis = context.partial('axis')?.[0];
    const batch = batchOf(batch_dims, indices);
    if (axis == null) {
      const known = params !== null && indices !== null && batch >= 0;
      return { output: known ? new Array<null>(params.length + indices.length - 1 - batch).fill(null) : null };
    }
    if (params === null || indices === null) return { output: null };
    const at = normalizeAxis(axis, params.length);
    if (batch < 0 || batch > indices.length || batch > at)
      throw new InvalidArgumentError(
        `batch_dims ${batch_dims} must be at most the rank of indices (${showShape(indices)}) and at most axis ${at}`,
      );
    const lead = params
      .slice(0, batch)
      .map((n, i) => mergeDim(n, indices[i]!, `params.shape[${i}] and indices.shape[${i}]`));
    return { output: [...lead, ...params.slice(batch, at), ...indices.slice(batch), ...params.slice(at + 1)] };
  },
  grad({ inputs: { params, indices, axis }, attrs: { batch_dims } }, { output: dy }) {
    const whole = colocateWith(params, () => shape(params));
    const count = expandDims(size(indices), 0);
    if (batch_dims < 0 && indices.shape === null)
      throw new LookupError(
        `the gradient of tf.gather with batchDims ${batch_dims} needs indices of known rank. Give a positive batchDims.`,
      );
    if (constantValue(axis)?.numberAt(0) === 0) return { params: rowSlices(whole, indices, count, dy) };
    const batch = batchOf(batch_dims, indices.shape);
    return { params: gatherAxisGradient({ params, whole, indices, axis, batch, dy: denseGradient(dy) }) };
  },
  lower(p, { params, indices, axis }, { batch_dims }) {
    const rank = params.shape.length;
    const given = p.demandInts(axis)[0]!;
    if (given < -rank || given >= rank)
      throw new InvalidArgumentError(`Expected axis in the range [${-rank}, ${rank}), but got ${given}`);
    const at = given < 0 ? given + rank : given;
    const batch = batchOf(batch_dims, indices.shape);
    const indexRank = indices.shape.length;
    if (batch < 0 || batch > indexRank)
      throw new InvalidArgumentError(
        `Expected batch_dims in the range [${-indexRank}, ${indexRank}], but got ${batch_dims}`,
      );
    if (batch >= rank)
      throw new InvalidArgumentError(`batch_dims (${batch}) must be less than rank(params) (${rank}).`);
    if (at < batch) throw new InvalidArgumentError(`batch_dims (${batch}) must be less than or equal to axis (${at}).`);
    for (let i = 0; i < batch; i++)
      if (params.shape[i] !== indices.shape[i])
        throw new InvalidArgumentError(
          `params.shape[${i}]: ${params.shape[i]} should be equal to indices.shape[${i}]: ${indices.shape[i]}`,
        );
    return { output: lowerGather(p, params, indices, at, batch) };
  },
  partialValue({ inputs: { params, indices } }, known) {
    const entries = params.rank === 1 ? known(params) : undefined;
    const picks = (indices.rank ?? 2) <= 1 ? known(indices) : undefined;
    return entries && picks?.map((i) => (i === null ? null : (entries[i] ?? null)));
  },
  cases: () => [
    { shape: '[2, ?, 4], [5], [] -> [2, 5, 4]', given: { axis: { dtype: 'int32', value: 1 } } },
    { shape: '[2, ?, 4], [5, 6], [] -> [?, ?, ?, ?]' },
    {
      shape: '[2, 3, 4], [2, 5], [] -> [2, 3, 5]',
      attrs: { batch_dims: 1 },
      given: { axis: { dtype: 'int32', value: 2 } },
    },
    {
      given: {
        params: [
          [1, 2, 3],
          [4, 5, 6],
        ],
        indices: { dtype: 'int32', value: [2, 0] },
        axis: { dtype: 'int32', value: 1 },
      },
      expect: {
        output: [
          [3, 1],
          [6, 4],
        ],
      },
    },
    {
      given: {
        params: [
          [1, 2, 3],
          [4, 5, 6],
        ],
        indices: {
          dtype: 'int64',
          value: [
            [2, 0],
            [1, 1],
          ],
        },
        axis: { dtype: 'int32', value: 1 },
      },
      attrs: { batch_dims: 1 },
      expect: {
        output: [
          [3, 1],
          [5, 5],
        ],
      },
    },
    {
      given: { params: ['a', 'b'], indices: { dtype: 'int32', value: 1 }, axis: { dtype: 'int32', value: 0 } },
      expect: { output: 'b' },
    },
    {
      given: { params: [1, 2], indices: { dtype: 'int32', value: [[0], [5]] }, axis: { dtype: 'int32', value: 0 } },
      fails: /indices\[1,0\] = 5 is not in \[0, 2\)/,
    },
  ],
});

/** The gradient of picking rows: just those rows, as IndexedSlices. */
function rowsGradient(params: Tensor, indices: Tensor, dy: Gradient): IndexedSlices {
  const whole = colocateWith(params, () => shape(params));
  return rowSlices(whole, indices, expandDims(size(indices), 0), dy);
}

function rowSlices(whole: Tensor, indices: Tensor, count: Tensor, dy: Gradient): IndexedSlices {
  const valuesShape = concat([count, getItem(whole, '1:')], 0);
  const values = reshape(denseGradient(dy), valuesShape);
  return new IndexedSlices(values, reshape(indices, count), whole);
}

/** What variables offer so that a gather reads only the rows it needs. */
interface SparselyReadable {
  sparseRead(indices: TensorLike, options: Named): Tensor;
}
function isSparselyReadable(value: unknown): value is SparselyReadable {
  return isConvertible(value) && 'sparseRead' in value && typeof value.sparseRead === 'function';
}

export interface GatherOptions extends Named {
  /** The axis to pick along; the first after the batch axes unless it is given. */
  readonly axis?: TensorLike | undefined;
  /** How many leading axes of params and indices go together. */
  readonly batchDims?: number | undefined;
}

/**
 * Slices picked by index along an axis. Adds one `GatherV2` node (a variable is read with `ResourceGather`).
 *
 * @example tf.gather(tf.constant([[1, 2], [3, 4]]), [1, 1]) // runs to [[3 4] [3 4]]
 */
export function gather<
  P extends TensorLike,
  I extends TensorLike,
  const O extends GatherOptions = Record<never, never>,
>(
  params: P,
  indices: I,
  options?: O,
): Tensor<
  DTypeOf<P>,
  O extends { axis: unknown } | { batchDims: unknown } ? Dims : KnownShape<Gathered<ShapeOf<P>, ShapeOf<I>>>
>;
export function gather(params: TensorLike, indices: TensorLike, options: GatherOptions = {}): Tensor {
  onlyOptions('tf.gather', options, 'name', 'axis', 'batchDims');
  const { batchDims = 0, name } = options;
  const axis = options.axis ?? batchDims;
  if (axis === 0 && isSparselyReadable(params)) return params.sparseRead(indices, { name });
  return GatherV2.build({ params, indices, axis }, { name, attrs: { batch_dims: batchDims } }).output;
}
