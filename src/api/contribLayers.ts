/** @file `tf.contrib.layers`. */
export * from '../front/contrib/adaptiveClipping.ts';
export * from '../front/contrib/convolution.ts';
export * from '../front/contrib/initializers.ts';
export * from '../front/contrib/layers.ts';
export type { VariablesCollections } from '../front/contrib/model.ts';
export * from '../front/contrib/normalization.ts';
export * from '../front/contrib/optimizeLoss.ts';
export * from '../front/contrib/regularizers.ts';
