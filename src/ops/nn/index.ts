/** @file Public functions of the nn ops; importing it loads their definitions. */
export { crelu, elu, gelu, leakyRelu, relu, relu6, selu, softplus, softsign } from './activations.ts';
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
export { l2Loss } from './l2Loss.ts';
export { logSoftmax, type SoftmaxOptions, softmax } from './softmax.ts';
