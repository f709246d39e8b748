/** @file `tf.sparse`. */
export { SparseTensor, sparsePlaceholder as placeholder, sparseTensorToDense as toDense } from '../ops/sparse/index.ts';
