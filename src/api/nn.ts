/** @file `tf.nn`: layers without variables, losses per example, and recurrent networks. */
export * from '../front/rnn/index.ts';
export * from '../ops/nn/index.ts';
