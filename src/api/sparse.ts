/** @file `tf.sparse`. */
export {
  SparseTensor,
  sparseConcat as concat,
  sparsePlaceholder as placeholder,
  sparseReshape as reshape,
  sparseRetain as retain,
  sparseTensorToDense as toDense,
} from '../ops/sparse/index.ts';
export { sparseMerge as merge, sparseReorder as reorder } from '../ops/sparse/sparseReorder.ts';
