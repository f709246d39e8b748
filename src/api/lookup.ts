/** @file `tf.lookup`. */
export {
  KeyValueTensorInitializer,
  StaticHashTable,
  StaticVocabularyTable,
  TextFileIndex,
  TextFileInitializer,
} from '../front/lookup/index.ts';
export * as experimental from './lookupExperimental.ts';
