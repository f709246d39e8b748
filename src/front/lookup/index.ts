/** @file Tables: values by keys, words by numbers and numbers by words. */
export {
  type IndexTableFromFileOptions,
  type IndexTableFromTensorOptions,
  indexTableFromFile,
  indexTableFromTensor,
  indexToStringTableFromFile,
  indexToStringTableFromTensor,
  type StringTableOptions,
} from './indexTables.ts';
export {
  type InitializableTable,
  type KeyValueOptions,
  KeyValueTensorInitializer,
  TableInitializerBase,
  type TextFileColumns,
  TextFileIdTableInitializer,
  TextFileIndex,
  TextFileInitializer,
  type TextFileOptions,
  TextFileStringTableInitializer,
} from './initializers.ts';
export { DenseHashTable, type DenseTableOptions, MutableHashTable, type MutableTableOptions } from './mutableTables.ts';
export {
  FastHashSpec,
  type HashBucketsOptions,
  type HasherSpec,
  IdTableWithHashBuckets,
  initializeAllTables,
  type LookupInterface,
  StaticHashTable,
  StaticVocabularyTable,
  StrongHashSpec,
  tablesInitializer,
  type VocabularyOptions,
} from './staticTables.ts';
