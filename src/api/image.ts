/** @file `tf.image`. */
export * from '../ops/image/index.ts';
