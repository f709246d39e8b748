/** @file `tf.lookup.experimental`. */
export { DenseHashTable, MutableHashTable } from '../front/lookup/index.ts';
