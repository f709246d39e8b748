/** @file The public `tf` namespace. */
export * from '../core/dtypes.ts';
export { NDArray } from '../core/ndarray.ts';
export { Graph, getDefaultGraph, resetDefaultGraph, nameScope, controlDependencies, device } from '../graph/graph.ts';
export { Tensor } from '../graph/tensor.ts';
export * from '../ops/index.ts';
export { Session } from '../runtime/session.ts';
