/** @file Public functions of the nn ops; importing it loads their definitions. */

export { sigmoid, tanh } from '../math/sigmoid.ts';
export { inTopK, type TopKOptions, type TopKResult, topK } from '../math/topk.ts';
export {
  crelu,
  elu,
  gelu,
  leakyRelu,
  relu,
  relu6,
  selu,
  softplus,
  softsign,
  swish,
  swish as silu,
} from './activations.ts';
export { type FusedBatchNormOptions, type FusedBatchNormResult, fusedBatchNorm } from './batchNorm.ts';
export { type BiasAddOptions, biasAdd, reluLayer, xwPlusB } from './biasAdd.ts';
export {
  logPoissonLoss,
  type SoftmaxCrossEntropy,
  type SparseSoftmaxCrossEntropy,
  sigmoidCrossEntropyWithLogits,
  softmaxCrossEntropyWithLogits,
  softmaxCrossEntropyWithLogitsV2,
  sparseSoftmaxCrossEntropyWithLogits,
  weightedCrossEntropyWithLogits,
} from './crossEntropy.ts';

import './conv2dOps.ts';
import './conv3dOps.ts';
import './convOp.ts';
import './dilation2dOps.ts';
import './depthwiseOps.ts';

export { type DropoutOptions, dropout } from './dropout.ts';
export { type EmbeddingOptions, embeddingLookup } from './embedding.ts';
export { l2Loss } from './l2Loss.ts';
export {
  batchNormalization,
  l2Normalize,
  type MeanAndVariance,
  type MomentsOptions,
  moments,
  normalizeMoments,
  type SufficientStatistics,
  sufficientStatistics,
  weightedMoments,
} from './moments.ts';
export { logSoftmax, type SoftmaxOptions, softmax } from './softmax.ts';
export { zeroFraction } from './zeroFraction.ts';
