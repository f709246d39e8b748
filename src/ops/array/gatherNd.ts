/** @file GatherNd: slices of a tensor picked by index tuples. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Shape, showRuntime, showShape, sizeOf, stridesOf } from '../../core/shape.ts';
import { IndexedSlices } from '../../graph/indexedSlices.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { isConvertible } from '../../op/convert.ts';
import { defineOp } from '../../op/defineOp.ts';
import type { Failure } from '../../program/instructions.ts';
import { batchGatherNd } from './batchGather.ts';
import type { Named } from './common.ts';
import { wideIndices } from './gather.ts';
import { denseGradient } from './indexedSlices.ts';
import { scatterNd } from './scatterNd.ts';
import { shape } from './shape.ts';
import { squeeze } from './squeeze.ts';

/** Which tuple was out of range; the position is that of one component. */
export function explainTuple(
  indices: Shape,
  params: Shape,
  values: () => readonly number[] | undefined,
  where: string,
) {
  const depth = indices.at(-1) ?? 1;
  return ({ position, value }: Failure): InvalidArgumentError => {
    const row = Math.floor(position / Math.max(depth, 1));
    const lead = indices.slice(0, -1);
    const at = stridesOf(lead).map((s, i) => Math.floor(row / s) % lead[i]!);
    const known = values()?.slice(row * depth, (row + 1) * depth);
    const tuple = known ?? Array.from({ length: depth }, (_, k) => (k === position % depth ? value : '…'));
    return new InvalidArgumentError(
      `indices${at.length === 0 ? '' : `[${at.join(',')}]`} = [${tuple.join(', ')}] does not index into ${where} ${showRuntime(params)}`,
    );
  };
}

export const GatherNd = defineOp({
  name: 'GatherNd',
  inputs: { params: 'Tparams', indices: 'Tindices' },
  outputs: { output: 'Tparams' },
  attrs: {
    Tparams: anyType,
    Tindices: attr('type', { allowed: [d.int16, d.int32, d.int64] }),
    bad_indices_policy: attr('string', { default: '' }),
  },
  shape({ params, indices }) {
    if (indices !== null && indices.length === 0)
      throw new InvalidArgumentError('indices must be at least rank 1: its last axis holds the index tuples.');
    const depth = indices?.at(-1);
    if (params === null || indices === null || depth == null) return { output: null };
    if (depth > params.length)
      throw new InvalidArgumentError(
        `indices.shape[-1] must be <= params.rank, but indices is ${showShape(indices)} and params is ${showShape(params)}`,
      );
    return { output: [...indices.slice(0, -1), ...params.slice(depth)] };
  },
  grad({ inputs: { params, indices } }, { output: dy }) {
    const whole = shape(params, { outType: indices.dtype });
    const grad = denseGradient(dy);
    if (indices.shape?.length === 2 && indices.shape[1] === 1)
      return { params: new IndexedSlices(grad, squeeze(indices, { axis: -1 }), whole) };
    return { params: scatterNd(indices, grad, whole) };
  },
  lower(p, { params, indices }, { bad_indices_policy }) {
    const depth = indices.shape.at(-1);
    if (depth === undefined) throw new InvalidArgumentError('indices must be at least a vector');
    if (params.shape.length === 0 && depth > 0) throw new InvalidArgumentError('params must be at least a vector');
    if (depth > params.shape.length)
      throw new InvalidArgumentError(
        `index innermost dimension length must be <= params rank; saw: ${depth} vs. ${params.shape.length}`,
      );
    const lead = indices.shape.slice(0, -1);
    const dims = params.shape.slice(0, depth);
    const element = params.shape.slice(depth);
    const count = sizeOf(lead);
    const output: Shape = [...lead, ...element];
    if (count > 0 && dims.includes(0) && sizeOf(output) > 0)
      throw new InvalidArgumentError(
        `Requested more than 0 entries, but params is empty.  Params shape: ${showRuntime(params.shape)}`,
      );
    const picked = p.gather(
      p.reshape(params, [1, 1, ...dims, sizeOf(element)]),
      p.reshape(wideIndices(p, indices), [1, count, depth]),
      {
        bounds: bad_indices_policy === 'IGNORE' ? 'zero' : 'error',
        explain: explainTuple(indices.shape, params.shape, () => indices.known?.numbers(), 'param shape'),
      },
    );
    return { output: p.reshape(picked, output) };
  },
  cases: () => [
    { shape: '[2, 3, ?], [5, 2] -> [5, ?]' },
    { shape: '[2, 3], [5, ?] -> ?' },
    { shape: '[2], [5, 2]', rejects: /must be <= params.rank/ },
    {
      given: {
        params: [
          [1, 2],
          [3, 4],
        ],
        indices: {
          dtype: 'int32',
          value: [
            [0, 1],
            [1, 0],
          ],
        },
      },
      expect: { output: [2, 3] },
    },
    {
      given: {
        params: [
          [1, 2],
          [3, 4],
        ],
        indices: { dtype: 'int64', value: [[1]] },
      },
      expect: { output: [[3, 4]] },
    },
    { given: { params: ['a', 'b'], indices: { dtype: 'int32', value: [1] } }, expect: { output: 'b' } },
    {
      given: { params: [1, 2], indices: { dtype: 'int32', value: [[0], [7]] } },
      fails: /indices\[1\] = \[7\] does not index into param shape \[2\]/,
    },
  ],
});

export interface GatherNdOptions extends Named {
  /** How many leading axes of params and indices go together. */
  readonly batchDims?: number | undefined;
  /** `'IGNORE'` gives zeros for indices out of range instead of failing. */
  readonly badIndicesPolicy?: string | undefined;
}

/** What variables offer so that only the elements needed are read. */
interface SparselyReadable {
  gatherNd(indices: TensorLike, options: Named): Tensor;
}
function isSparselyReadable(value: unknown): value is SparselyReadable {
  return isConvertible(value) && 'gatherNd' in value && typeof value.gatherNd === 'function';
}

/**
 * Elements or slices picked by the index tuples along the last axis of `indices`. Adds one `GatherNd` node.
 *
 * @example tf.gatherNd(tf.constant([[1, 2], [3, 4]]), [[0, 1], [1, 0]]) // runs to [2 3]
 */
export function gatherNd(params: TensorLike, indices: TensorLike, options: GatherNdOptions = {}): Tensor {
  onlyOptions('tf.gatherNd', options, 'batchDims', 'badIndicesPolicy', 'name');
  const { batchDims = 0, badIndicesPolicy = '', name } = options;
  if (batchDims > 0) return batchGatherNd(params, indices, batchDims, options);
  if (isSparselyReadable(params) && badIndicesPolicy === '') return params.gatherNd(indices, { name });
  return GatherNd.build({ params, indices }, { name, attrs: { bad_indices_policy: badIndicesPolicy } }).output;
}
