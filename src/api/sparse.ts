/** @file `tf.sparse`. */
export {
  SparseTensor,
  sparsePlaceholder as placeholder,
  sparseReshape as reshape,
  sparseTensorToDense as toDense,
} from '../ops/sparse/index.ts';
