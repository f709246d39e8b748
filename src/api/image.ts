/** @file `tf.image`. */
export * from '../ops/image/index.ts';
export { randomCrop } from '../ops/random/index.ts';
