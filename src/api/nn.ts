/** @file `tf.nn`: layers without variables, losses per example, and recurrent networks. */
export { type CtcLossV2Options, ctcLossV2, ctcUniqueLabels } from '../front/ctc.ts';
export * from '../front/rnn/index.ts';
export * from '../ops/nn/index.ts';
