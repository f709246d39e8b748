/** @file `tf.math`. */
export { confusionMatrix } from '../front/confusionMatrix.ts';
export * from '../ops/math/index.ts';
