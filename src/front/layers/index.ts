/** @file `tf.layers`: parts of models with their variables. */
export { type Activation, Dense, type DenseOptions, dense } from './dense.ts';
export { Dropout, type DropoutCall, type DropoutOptions, dropout } from './dropout.ts';
export { Flatten, type FlattenOptions, flatten } from './flatten.ts';
export { type ActivityRegularizer, type InputSpec, Layer, type LayerOptions, type WeightOptions } from './layer.ts';
