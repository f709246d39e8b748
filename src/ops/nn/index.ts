/** @file Public functions of the nn ops; importing it loads their definitions. */
import './fakeQuant.ts';
import './gruBlockCell.ts';
import './lstmBlocks.ts';
import './patches.ts';
import './quantizeAndDequantize.ts';

export { depthToSpace, spaceToBatch, spaceToDepth } from '../array/index.ts';
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
export { atrousConv2dTranspose } from './atrousConv2dTranspose.ts';
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

import './convOp.ts';
import './fusedConv.ts';
import './isotonicRegression.ts';

export { batchNormWithGlobalNormalization } from './batchNormGlobal.ts';

export {
  type AccidentalHits,
  allCandidateSampler,
  computeAccidentalHits,
  type FixedUnigramOptions,
  fixedUnigramCandidateSampler,
  learnedUnigramCandidateSampler,
  logUniformCandidateSampler,
  type SampledCandidates,
  type SamplerOptions,
  uniformCandidateSampler,
} from './candidateSampling.ts';
export { collapseRepeated } from './collapseRepeated.ts';
export { type Conv1DOptions, type Conv1DTransposeOptions, conv1d, conv1dTranspose } from './conv1d.ts';
export {
  type ConvTransposeOptions,
  conv2d,
  conv2dBackpropFilter,
  conv2dBackpropInput,
  conv2dTranspose,
} from './conv2d.ts';
export {
  type Conv3DOptions,
  type Conv3DTransposeOptions,
  conv3d,
  conv3dBackpropFilter,
  conv3dBackpropFilter as conv3dBackpropFilterV2,
  conv3dTranspose,
} from './conv3d.ts';
export type { ConvOptions, ConvPadding, PerAxis } from './convArgs.ts';
export { type AtrousOptions, atrousConv2d, type ConvolutionOptions, convolution } from './convolution.ts';
export { type AnyConvTransposeOptions, convTranspose } from './convTranspose.ts';
export {
  type CtcLossOptions,
  ctcBeamSearchDecoder,
  ctcBeamSearchDecoderV2,
  ctcGreedyDecoder,
  ctcLoss,
  type Decoded,
} from './ctc.ts';
export {
  type DepthwiseNativeOptions,
  type DepthwiseOptions,
  depthwiseConv2d,
  depthwiseConv2dNative,
  depthwiseConv2dNativeBackpropFilter,
  depthwiseConv2dNativeBackpropFilter as depthwiseConv2dBackpropFilter,
  depthwiseConv2dNativeBackpropInput,
  depthwiseConv2dNativeBackpropInput as depthwiseConv2dBackpropInput,
  separableConv2d,
} from './depthwiseConv2d.ts';
export { dilation2d, erosion2d, type MorphologyOptions } from './dilation2d.ts';
export { type DropoutOptions, dropout } from './dropout.ts';
export { type EmbeddingOptions, embeddingLookup } from './embedding.ts';
export { embeddingLookupSparse, type SparseEmbeddingOptions } from './embeddingSparse.ts';
export { l2Loss } from './l2Loss.ts';
export { type LrnOptions, localResponseNormalization, localResponseNormalization as lrn } from './lrn.ts';
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
export {
  avgPool,
  avgPool as avgPool2d,
  avgPool1d,
  avgPool3d,
  avgPoolV2,
  type FractionalPool,
  type FractionalPoolOptions,
  fractionalAvgPool,
  fractionalMaxPool,
  type GeneralPoolOptions,
  maxPool,
  maxPool1d,
  maxPool2d,
  maxPool3d,
  maxPoolV2,
  maxPoolWithArgmax,
  type PoolOptions,
  type PoolWithArgmax,
  pool,
} from './pooling.ts';
export { type SafeEmbeddingOptions, safeEmbeddingLookupSparse } from './safeEmbedding.ts';
export { nceLoss, type SampledLossOptions, sampledSoftmaxLoss } from './sampledLosses.ts';
export { logSoftmax, type SoftmaxOptions, softmax } from './softmax.ts';
export { type WithSpaceToBatchOptions, withSpaceToBatch } from './withSpaceToBatch.ts';
export { zeroFraction } from './zeroFraction.ts';

import './dataFormat.ts';
