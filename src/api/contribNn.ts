/** @file `tf.contrib.nn`. */
export { sampledSparseSoftmaxLoss } from '../ops/nn/sampledLosses.ts';
