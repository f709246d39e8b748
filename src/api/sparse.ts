/** @file `tf.sparse`. */
export {
  SparseTensor,
  sparseAdd as add,
  sparseConcat as concat,
  sparseFillEmptyRows as fillEmptyRows,
  sparseMaximum as maximum,
  sparseMinimum as minimum,
  sparsePlaceholder as placeholder,
  sparseReduceMax as reduceMax,
  sparseReduceMaxSparse as reduceMaxSparse,
  sparseReduceSum as reduceSum,
  sparseReduceSumSparse as reduceSumSparse,
  sparseReshape as reshape,
  sparseRetain as retain,
  sparseSlice as slice,
  sparseSoftmax as softmax,
  sparseSplit as split,
  sparseTensorDenseMatmul as matmul,
  sparseTensorDenseMatmul as sparseDenseMatmul,
  sparseTensorToDense as toDense,
} from '../ops/sparse/index.ts';
export { sparseMerge as merge, sparseReorder as reorder } from '../ops/sparse/sparseReorder.ts';
