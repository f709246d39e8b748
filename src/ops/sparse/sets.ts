/** @file `tf.sets`: sets in the last axis of tensors, which may be sparse. */
import { onlyOptions } from '../../graph/options.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { DenseToDenseSetOperation, DenseToSparseSetOperation, SetSize, SparseToSparseSetOperation } from './setOps.ts';

/** Rows of elements, of which the repeated ones count once. */
export type SetsLike = TensorLike | SparseTensor;

interface SetOptions {
  /** Whether the positions of sparse tensors are checked to be in order; true unless given. */
  readonly validateIndices?: boolean | undefined;
}

function asSets(value: SetsLike, name: string): Tensor | SparseTensor {
  return value instanceof SparseTensor ? value : convertToTensor(value, { name });
}

function operate(a: SetsLike, b: SetsLike, operations: readonly [string, string], options: SetOptions): SparseTensor {
  const [x, y] = [asSets(a, 'a'), asSets(b, 'b')];
  if (x.dtype !== y.dtype) throw userError(`Types don't match, ${x.dtype} vs ${y.dtype}.`);
  const validate_indices = options.validateIndices ?? true;
  const parts = (sets: { result_indices: Tensor; result_values: Tensor; result_shape: Tensor }) =>
    new SparseTensor(sets.result_indices, sets.result_values, sets.result_shape);
  // A dense operand comes first; the operation is then the other way round.
  if (x instanceof SparseTensor && !(y instanceof SparseTensor)) return mixed(y, x, operations[1]);
  const [set_operation] = operations;
  if (!(x instanceof SparseTensor))
    return y instanceof SparseTensor
      ? mixed(x, y, set_operation)
      : parts(DenseToDenseSetOperation.build({ set1: x, set2: y }, { attrs: { set_operation, validate_indices } }));
  const second = y as SparseTensor; // the only case left
  const inputs = {
    set1_indices: x.indices,
    set1_values: x.values,
    set1_shape: x.denseShape,
    set2_indices: second.indices,
    set2_values: second.values,
    set2_shape: second.denseShape,
  };
  return parts(SparseToSparseSetOperation.build(inputs, { attrs: { set_operation, validate_indices } }));

  function mixed(dense: Tensor, sparse: SparseTensor, operation: string): SparseTensor {
    const ports = {
      set1: dense,
      set2_indices: sparse.indices,
      set2_values: sparse.values,
      set2_shape: sparse.denseShape,
    };
    return parts(DenseToSparseSetOperation.build(ports, { attrs: { set_operation: operation, validate_indices } }));
  }
}

/**
 * How many different elements each row of a sparse tensor has. Adds one `SetSize` node.
 *
 * @example tf.sets.size(tf.sets.union([[1, 2]], [[2, 3]])) // runs to [3]
 */
export function setSize(a: SparseTensor, options: SetOptions = {}): Tensor {
  onlyOptions('tf.sets.size', options, 'validateIndices');
  if (!(a instanceof SparseTensor)) throw userError(`Expected SparseTensor, got ${a}.`);
  const ports = { set_indices: a.indices, set_values: a.values, set_shape: a.denseShape };
  return SetSize.build(ports, { attrs: { validate_indices: options.validateIndices ?? true } }).size;
}

/**
 * What the rows of two tensors have in common. Adds one `…SetOperation` node.
 *
 * @example tf.sparse.toDense(tf.sets.intersection([[1, 2, 3]], [[3, 1, 5]])) // runs to [[1 3]]
 */
export function setIntersection(a: SetsLike, b: SetsLike, options: SetOptions = {}): SparseTensor {
  onlyOptions('tf.sets.intersection', options, 'validateIndices');
  return operate(a, b, ['intersection', 'intersection'], options);
}

/**
 * What the rows of `a` have and those of `b` have not, or the other way round. Adds one `…SetOperation` node.
 *
 * @example tf.sparse.toDense(tf.sets.difference([[1, 2, 3]], [[3, 1, 5]])) // runs to [[2]]
 */
export function setDifference(
  a: SetsLike,
  b: SetsLike,
  options: SetOptions & { readonly aminusb?: boolean | undefined } = {},
): SparseTensor {
  const { aminusb = true } = onlyOptions('tf.sets.difference', options, 'validateIndices', 'aminusb');
  return operate(a, b, aminusb ? ['a-b', 'b-a'] : ['b-a', 'a-b'], options);
}

/**
 * What the rows of two tensors have together. Adds one `…SetOperation` node.
 *
 * @example tf.sparse.toDense(tf.sets.union([[1, 2]], [[2, 3]])) // runs to [[1 2 3]]
 */
export function setUnion(a: SetsLike, b: SetsLike, options: SetOptions = {}): SparseTensor {
  onlyOptions('tf.sets.union', options, 'validateIndices');
  return operate(a, b, ['union', 'union'], options);
}
