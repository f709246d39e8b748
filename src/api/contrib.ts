/** @file `tf.contrib`. */
export * as layers from './contribLayers.ts';
