/** @file Public functions about sparse tensors; importing it loads their ops. */
export { SparseTensor, SparseTensorValue } from '../../graph/sparseTensor.ts';
export { editDistance } from './editDistance.ts';
export { sparseAdd, sparseMaximum, sparseMinimum } from './sparseAdd.ts';
export { sparseConcat, sparseRetain } from './sparseConcat.ts';
export { sparseSoftmax, sparseTensorDenseMatmul } from './sparseDense.ts';
export { sparseFillEmptyRows } from './sparseFillEmptyRows.ts';
export {
  sparseReduceMax,
  sparseReduceMaxSparse,
  sparseReduceSum,
  sparseReduceSumSparse,
} from './sparseReduce.ts';
export { type SparseMergeOptions, sparseMerge, sparseReorder } from './sparseReorder.ts';
export { sparseReshape } from './sparseReshape.ts';
export { sparseSlice, sparseSplit } from './sparseSlice.ts';
export { sparsePlaceholder } from './sparseTensor.ts';
export { sparseTensorToDense, sparseToDense } from './sparseToDense.ts';

import './setOps.ts';
