/** @file Adds up the gradients that arrive at one tensor from several consumers. */

import { int32, int64 } from '../core/dtypes.ts';
import { IndexedSlices } from '../graph/indexedSlices.ts';
import type { Operation } from '../graph/operation.ts';
import { colocateWith, nameScope } from '../graph/scopes.ts';
import { Tensor } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import type { Gradient } from '../op/registry.ts';
import { concat } from '../ops/array/index.ts';
import { addN, cast } from '../ops/math/index.ts';

/** How gradient terms are summed: all at once, or pairwise so that each can be released early. */
export const AggregationMethod = {
  ADD_N: 0,
  DEFAULT: 0,
  EXPERIMENTAL_TREE: 1,
  EXPERIMENTAL_ACCUMULATE_N: 2,
} as const;
export type AggregationMethod = (typeof AggregationMethod)[keyof typeof AggregationMethod];

/** The sum of the terms, `null` when there are none. */
export function aggregate(terms: readonly Gradient[], op: Operation, method: AggregationMethod): Gradient | null {
  const [first] = terms;
  if (first === undefined) return null;
  if (terms.length === 1) return first;
  if (!terms.every((term) => term instanceof Tensor)) return aggregateSlices(terms);
  return method === AggregationMethod.ADD_N ? sumByDevice(terms) : sumPairwise(terms, op);
}

function sumPairwise(terms: readonly Tensor[], op: Operation): Tensor {
  return nameScope(`${op.name}_gradient_sum`, () => terms.reduce((sum, term) => addN([sum, term])));
}

/** Terms are added on the device where they are made, then the partial sums. */
function sumByDevice(terms: readonly Tensor[]): Tensor {
  const groups = new Map<string, Tensor[]>();
  for (const term of terms) {
    const group = groups.get(term.device);
    if (group) group.push(term);
    else groups.set(term.device, [term]);
  }
  const sums = [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, group]) => colocateWith(group[0]!.op, () => addN(group), { ignoreExisting: true }));
  return addN(sums);
}

function aggregateSlices(terms: readonly Gradient[]): Gradient {
  const slices = terms.filter((term) => term instanceof IndexedSlices);
  if (slices.length < terms.length) return addN([...terms]);
  const types = new Set(slices.map((s) => s.indices.dtype));
  const indices = slices.map((s) => (types.size > 1 && s.indices.dtype === int32 ? cast(s.indices, int64) : s.indices));
  const values = concat(
    slices.map((s) => s.values),
    0,
  );
  return new IndexedSlices(values, concat(indices, 0), slices[0]!.denseShape);
}

export function checkAggregationMethod(method: number): AggregationMethod {
  if (method === 0 || method === 1 || method === 2) return method;
  throw userError(
    `Invalid aggregationMethod ${method}. Use one of tf.AggregationMethod: ADD_N, EXPERIMENTAL_TREE, EXPERIMENTAL_ACCUMULATE_N.`,
  );
}
