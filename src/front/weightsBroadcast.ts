/** @file Weights of losses and metrics: the check that they can be broadcast to the values, and the broadcast itself. */
import { float32 } from '../core/dtypes.ts';
import { compatible, isFullyDefined, showTuple } from '../core/shape.ts';
import type { Operation } from '../graph/operation.ts';
import { controlDependencies, nameScope } from '../graph/scopes.ts';
import type { Tensor, TensorLike } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { convertToTensor } from '../op/convert.ts';
import { concat, expandDims, onesLike, rank, shape, size } from '../ops/array/index.ts';
import { Assert, noOp } from '../ops/flow/index.ts';
import { equal, multiply } from '../ops/math/index.ts';
import { setDifference } from '../ops/sparse/sets.ts';
import { cond } from './controlFlow/cond.ts';

const cannot = 'weights can not be broadcast to values.';

/**
 * Fails unless `weights` are a scalar, or have the rank of `values` with every size equal or 1: now when the shapes are
 * known, else by an `Assert` node.
 */
export function assertBroadcastable(weights: TensorLike, values: TensorLike): Operation {
  return nameScope('assert_broadcastable', (scope) => {
    const w = measured('weights', weights);
    const v = measured('values', values);
    if (w.tensor.rank === 0 && v.tensor.rank !== null) return noOp({ name: 'static_scalar_check_success' });
    if (w.tensor.rank !== null && v.tensor.rank !== null && checkStatically(w.tensor, v.tensor))
      return noOp({ name: 'static_dims_check_success' });
    const isScalar = equal(0, w.rank, { name: 'is_scalar' });
    const data = [
      cannot,
      'weights.shape=',
      w.tensor.name,
      w.shape,
      'values.shape=',
      v.tensor.name,
      v.shape,
      'is_scalar=',
      isScalar,
    ];
    return Assert(hasValidShape(isScalar, w, v), data, { name: scope });
  });
}

interface Measured {
  readonly tensor: Tensor;
  readonly shape: Tensor;
  readonly rank: Tensor;
}

function measured(name: string, value: TensorLike): Measured {
  return nameScope(name, (scope) => {
    const tensor = convertToTensor(value, { name: scope, hint: float32 });
    return { tensor, shape: shape(tensor, { name: 'shape' }), rank: rank(tensor, { name: 'rank' }) };
  });
}

/** Throws when the known ranks or sizes do not fit; true when every size is known. */
function checkStatically(weights: Tensor, values: Tensor): boolean {
  const shapes = `values.shape=${showTuple(values.shape)}. weights.shape=${showTuple(weights.shape)}.`;
  if (weights.rank !== values.rank)
    throw userError(
      `${cannot} values.rank=${values.rank}. weights.rank=${weights.rank}. ${shapes} Give weights the rank of the values, with size 1 where they repeat.`,
    );
  if (!isFullyDefined(weights.shape) || !isFullyDefined(values.shape)) return false;
  const { shape: sizes } = values;
  const wrong = weights.shape.findIndex((n, i) => n !== 1 && n !== sizes[i]);
  if (wrong >= 0) throw userError(`${cannot} Mismatch at dim ${wrong}. ${shapes}`);
  return true;
}

/** Weights that are no scalar have the rank of the values, and every size is that of the values or 1. */
function hasValidShape(isScalar: Tensor, weights: Measured, values: Measured): Tensor {
  return cond(
    isScalar,
    () => isScalar,
    () =>
      nameScope('has_valid_nonscalar_shape', (name) => {
        const sameRank = equal(values.rank, weights.rank, { name: 'is_same_rank' });
        return cond(
          sameRank,
          () => hasValidSizes(weights.shape, values.shape),
          () => sameRank,
          { name },
        );
      }),
    { name: 'is_valid_shape' },
  );
}

/** The sizes of the weights, as sets of one, without the sizes that are allowed, as sets of two. */
function hasValidSizes(weights: Tensor, values: Tensor): Tensor {
  return nameScope('has_invalid_dims', (name) => {
    const columns = expandDims(values, -1);
    const allowed = concat([columns, onesLike(columns)], 1);
    const invalid = setDifference(expandDims(weights, -1), allowed);
    return equal(0, size(invalid.values, { name: 'num_invalid_dims' }), { name });
  });
}

/** `weights` with the shape of `values`, which they must be broadcastable to. Adds a `Mul` with ones when it may differ. */
export function broadcastWeights(weights: TensorLike, values: TensorLike): Tensor {
  return nameScope('broadcast_weights', (scope) => {
    const to = convertToTensor(values, { name: 'values' });
    const from = convertToTensor(weights, { name: 'weights', dtype: to.dtype });
    if (isFullyDefined(from.shape) && isFullyDefined(to.shape) && compatible(from.shape, to.shape)) return from;
    return controlDependencies([assertBroadcastable(from, to)], () => multiply(from, onesLike(to), { name: scope }));
  });
}
