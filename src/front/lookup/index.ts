/** @file Tables: values by keys, words by numbers and numbers by words. */
export {
  indexTableFromFile,
  indexTableFromTensor,
  indexToStringTableFromFile,
  indexToStringTableFromTensor,
} from './indexTables.ts';
export {
  KeyValueTensorInitializer,
  TableInitializerBase,
  TextFileIdTableInitializer,
  TextFileIndex,
  TextFileInitializer,
  TextFileStringTableInitializer,
} from './initializers.ts';
export { DenseHashTable, MutableHashTable } from './mutableTables.ts';
export {
  FastHashSpec,
  type HasherSpec,
  IdTableWithHashBuckets,
  type LookupInterface,
  StaticHashTable,
  StaticVocabularyTable,
  StrongHashSpec,
} from './staticTables.ts';
