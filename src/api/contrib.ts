/** @file `tf.contrib`. */
export * as seq2seq from '../front/contrib/seq2seq/index.ts';
export * as framework from './contribFramework.ts';
export * as layers from './contribLayers.ts';
export * as lookup from './contribLookup.ts';
export * as nn from './contribNn.ts';
export * as rnn from './contribRnn.ts';
export * as staging from './contribStaging.ts';
export * as data from './dataExperimental.ts';
