/** @file tf.data: datasets and iterators. */
export { Dataset } from './dataset.ts';
export { Iterator } from './iterator.ts';
