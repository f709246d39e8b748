/** @file `tf.layers`: parts of models with their variables. */
export {
  BatchNormalization,
  type BatchNormalizationCall,
  type BatchNormalizationOptions,
  batchNormalization,
} from './batchNormalization.ts';
export type { Activation } from './biasedLayer.ts';
export { Conv1D, Conv2D, Conv3D, conv1d, conv2d, conv3d } from './conv.ts';
export {
  Conv2DTranspose,
  Conv3DTranspose,
  type ConvTransposeLayerOptions,
  conv2dTranspose,
  conv3dTranspose,
} from './convTranspose.ts';
export { Dense, type DenseOptions, dense } from './dense.ts';
export { Dropout, type DropoutCall, type DropoutOptions, dropout } from './dropout.ts';
export { Flatten, type FlattenOptions, flatten } from './flatten.ts';
export type { ConvLayerOptions } from './imageLayer.ts';
export { type ActivityRegularizer, type InputSpec, Layer, type LayerOptions, type WeightOptions } from './layer.ts';
export {
  AveragePooling1D,
  AveragePooling2D,
  AveragePooling3D,
  averagePooling1d,
  averagePooling2d,
  averagePooling3d,
  MaxPooling1D,
  MaxPooling2D,
  MaxPooling3D,
  maxPooling1d,
  maxPooling2d,
  maxPooling3d,
  type PoolingOptions,
} from './pooling.ts';
export {
  SeparableConv1D,
  SeparableConv2D,
  type SeparableConvOptions,
  separableConv1d,
  separableConv2d,
} from './separableConv.ts';
