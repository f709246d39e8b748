/** @file Public functions about sparse tensors; importing it loads their ops. */
export { SparseTensor, SparseTensorValue } from '../../graph/sparseTensor.ts';
export { sparseConcat, sparseRetain } from './sparseConcat.ts';
export { type SparseMergeOptions, sparseMerge, sparseReorder } from './sparseReorder.ts';
export { sparseReshape } from './sparseReshape.ts';
export { sparsePlaceholder } from './sparseTensor.ts';
export { sparseTensorToDense, sparseToDense } from './sparseToDense.ts';

import './setOps.ts';
