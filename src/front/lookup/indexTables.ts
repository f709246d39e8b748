/** @file Tables between words and their numbers, made in one call. */
import { type DType, int64, string } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { range } from '../../ops/array/range.ts';
import { size } from '../../ops/array/shape.ts';
import { cast } from '../../ops/math/cast.ts';
import {
  KeyValueTensorInitializer,
  TextFileIdTableInitializer,
  TextFileIndex,
  TextFileStringTableInitializer,
} from './initializers.ts';
import {
  FastHashSpec,
  type HasherSpec,
  IdTableWithHashBuckets,
  type NameOption,
  StaticHashTable,
} from './staticTables.ts';

interface IndexOptions extends NameOption {
  /** How many numbers there are for words that are not in the vocabulary. */
  readonly numOovBuckets?: number | undefined;
  /** The number of words that are not in the vocabulary, where there are no buckets. */
  readonly defaultValue?: number | undefined;
  readonly hasherSpec?: HasherSpec | undefined;
}

interface FileColumns {
  /** How many words the file has, or how many of them are taken. */
  readonly vocabSize?: number | undefined;
  readonly keyColumnIndex?: number | undefined;
  readonly valueColumnIndex?: number | undefined;
  readonly delimiter?: string | undefined;
}
const columnNames = ['vocabSize', 'keyColumnIndex', 'valueColumnIndex', 'delimiter'] as const;
const indexNames = ['numOovBuckets', 'defaultValue', 'hasherSpec', 'name'] as const;

export interface IndexTableFromFileOptions extends IndexOptions, FileColumns {
  /** string unless given, or a type of integers. */
  readonly keyDtype?: DType | undefined;
}
export interface IndexTableFromTensorOptions extends IndexOptions {
  /** string unless given, or a type of integers. */
  readonly dtype?: DType | undefined;
}
export interface StringTableOptions extends NameOption {
  /** What stands for numbers without a word; 'UNK' unless given. */
  readonly defaultValue?: string | undefined;
}

function checkIndexOptions({ numOovBuckets = 0 }: IndexOptions, keyDtype: DType): void {
  if (numOovBuckets < 0) throw userError(`numOovBuckets must be greater or equal than 0, got ${numOovBuckets}.`);
  if (!keyDtype.isInteger && keyDtype !== string)
    throw userError(`Keys should be either integers or strings, but are ${keyDtype}.`);
}

function checkFile(file: TensorLike, vocabSize: number | undefined): void {
  if (file === '') throw userError('The vocabulary file must be specified and must not be empty.');
  if (vocabSize !== undefined && vocabSize < 1) throw userError(`vocabSize must be greater than 0, got ${vocabSize}.`);
}

function withBuckets(
  table: StaticHashTable,
  options: IndexOptions,
  keyDtype: DType,
): StaticHashTable | IdTableWithHashBuckets {
  const { numOovBuckets = 0, hasherSpec = FastHashSpec } = options;
  return numOovBuckets === 0 ? table : new IdTableWithHashBuckets(table, numOovBuckets, { hasherSpec, keyDtype });
}

/**
 * A table from the words of a file, one per line, to their numbers.
 *
 * @example const ids = tf.contrib.lookup.indexTableFromFile('words.txt', { numOovBuckets: 5 }).lookup(words);
 */
export function indexTableFromFile(
  vocabularyFile: TensorLike,
  options: IndexTableFromFileOptions = {},
): StaticHashTable | IdTableWithHashBuckets {
  onlyOptions('indexTableFromFile', options, ...indexNames, ...columnNames, 'keyDtype');
  const { keyDtype = string, defaultValue = -1, name, vocabSize, delimiter } = options;
  const { keyColumnIndex = TextFileIndex.WHOLE_LINE, valueColumnIndex = TextFileIndex.LINE_NUMBER } = options;
  checkFile(vocabularyFile, vocabSize);
  checkIndexOptions(options, keyDtype);
  return nameScope(name ?? 'string_to_index', () => {
    const table = nameScope('hash_table', () => {
      const initializer = new TextFileIdTableInitializer(vocabularyFile, {
        ...{ vocabSize, delimiter, keyColumnIndex, valueColumnIndex, name: 'table_init' },
        keyDtype: keyDtype.isInteger ? int64 : keyDtype,
      });
      return new StaticHashTable(initializer, defaultValue);
    });
    return withBuckets(table, options, keyDtype);
  });
}

/**
 * A table from words to their places in a list.
 *
 * @example const ids = tf.contrib.lookup.indexTableFromTensor(['the', 'cat', 'sat']).lookup(words);
 */
export function indexTableFromTensor(
  vocabularyList: TensorLike,
  options: IndexTableFromTensorOptions = {},
): StaticHashTable | IdTableWithHashBuckets {
  const {
    dtype = string,
    defaultValue = -1,
    name,
  } = onlyOptions('indexTableFromTensor', options, ...indexNames, 'dtype');
  checkIndexOptions(options, dtype);
  return nameScope(name ?? 'string_to_index', () => {
    const keys = convertToTensor(vocabularyList);
    if (keys.dtype.isInteger !== dtype.isInteger || (!dtype.isInteger && keys.dtype !== dtype))
      throw userError(`Invalid dtype: expected ${dtype.isInteger ? 'integer' : dtype}, got ${keys.dtype}.`);
    const values = cast(range(size(keys)), int64);
    const table = nameScope('hash_table', () => {
      const tableKeys = keys.dtype.isInteger && keys.dtype !== int64 ? cast(keys, int64) : keys;
      const initializer = new KeyValueTensorInitializer(tableKeys, values, { name: 'table_init' });
      return new StaticHashTable(initializer, defaultValue);
    });
    return withBuckets(table, options, dtype);
  });
}

/**
 * A table from numbers to the words of a file, one per line.
 *
 * @example const words = tf.contrib.lookup.indexToStringTableFromFile('words.txt').lookup(ids);
 */
export function indexToStringTableFromFile(
  vocabularyFile: TensorLike,
  options: StringTableOptions & FileColumns = {},
): StaticHashTable {
  const {
    defaultValue = 'UNK',
    name,
    ...columns
  } = onlyOptions('indexToStringTableFromFile', options, 'defaultValue', 'name', ...columnNames);
  checkFile(vocabularyFile, columns.vocabSize);
  return nameScope(
    name ?? 'index_to_string',
    () =>
      new StaticHashTable(
        new TextFileStringTableInitializer(vocabularyFile, { ...columns, name: 'table_init' }),
        defaultValue,
      ),
  );
}

/**
 * A table from numbers to the words of a list.
 *
 * @example const words = tf.contrib.lookup.indexToStringTableFromTensor(['the', 'cat', 'sat']).lookup(ids);
 */
export function indexToStringTableFromTensor(
  vocabularyList: TensorLike,
  options: StringTableOptions = {},
): StaticHashTable {
  const { defaultValue = 'UNK', name } = onlyOptions('indexToStringTableFromTensor', options, 'defaultValue', 'name');
  return nameScope(name ?? 'index_to_string', () => {
    const words = convertToTensor(vocabularyList, { dtype: string });
    const keys = cast(range(size(words)), int64);
    return new StaticHashTable(new KeyValueTensorInitializer(keys, words, { name: 'table_init' }), defaultValue);
  });
}
