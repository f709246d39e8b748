/** @file `tf.contrib.layers`. */
export * from '../front/contrib/adaptiveClipping.ts';
export {
  type ConvolutionLayerOptions,
  type ConvolutionTransposeLayerOptions,
  conv1d,
  conv2d,
  conv2dTranspose,
  conv3d,
  conv3dTranspose,
  convolution,
  convolution1d,
  convolution2d,
  convolution2dTranspose,
  convolution3d,
  convolution3dTranspose,
} from '../front/contrib/convolution.ts';
export * from '../front/contrib/encoders.ts';
export * from '../front/contrib/features.ts';
export * from '../front/contrib/groupNorm.ts';
export * from '../front/contrib/initializers.ts';
export * from '../front/contrib/layers.ts';
export type { VariablesCollections } from '../front/contrib/model.ts';
export * from '../front/contrib/normalization.ts';
export * from '../front/contrib/optimizeLoss.ts';
export * from '../front/contrib/pooling.ts';
export * from '../front/contrib/regularizers.ts';
export * from '../front/contrib/separable.ts';
export * from '../front/contrib/summaries.ts';
