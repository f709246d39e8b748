/** @file `tf.contrib.framework`. */
export * from '../front/contrib/argScope.ts';
