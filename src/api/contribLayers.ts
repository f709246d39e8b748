/** @file `tf.contrib.layers`. */
export * from '../front/contrib/initializers.ts';
export * from '../front/contrib/layers.ts';
export * from '../front/contrib/regularizers.ts';
