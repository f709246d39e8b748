/** @file What tables are filled with: keys and values as tensors, or the lines of a text file. */
import { type DType, int64, string } from '../../core/dtypes.ts';
import { initScope } from '../../graph/funcGraph.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { node } from '../../op/node.ts';
import { addToCollection, GraphKeys } from '../collections.ts';

/** A table as its initializer sees it. */
export interface InitializableTable {
  readonly keyDtype: DType;
  readonly valueDtype: DType;
  readonly resourceHandle: Tensor;
}

/** Fills a table; says of which types it is. */
export abstract class TableInitializerBase {
  constructor(
    readonly keyDtype: DType,
    readonly valueDtype: DType,
  ) {}

  /** The name of the table in a session, where all tables with this content are one. */
  readonly sharedName: string | undefined;

  /** Adds the operation that fills a table. */
  abstract initialize(table: InitializableTable): Operation;

  protected checkTypes({ keyDtype, valueDtype }: InitializableTable): void {
    for (const [what, wanted, got] of [
      ['key', keyDtype, this.keyDtype],
      ['value', valueDtype, this.valueDtype],
    ] as const)
      if (wanted !== got) throw userError(`Invalid ${what} dtype for table, expected ${wanted} but got ${got}.`);
  }
}

export interface KeyValueOptions {
  /** The type of keys that are given as literals. */
  readonly keyDtype?: DType | undefined;
  readonly valueDtype?: DType | undefined;
  readonly name?: string | undefined;
}

/**
 * Fills a table with keys and their values.
 *
 * @example const initializer = new tf.lookup.KeyValueTensorInitializer(['a', 'b'], [1, 2]);
 */
export class KeyValueTensorInitializer extends TableInitializerBase {
  private readonly keys: Tensor;
  private readonly values: Tensor;
  private readonly name: string;

  constructor(keys: TensorLike, values: TensorLike, options: KeyValueOptions = {}) {
    const { keyDtype, valueDtype, name } = onlyOptions(
      'tf.lookup.KeyValueTensorInitializer',
      options,
      'keyDtype',
      'valueDtype',
      'name',
    );
    const given = {
      keys: convertToTensor(keys, { dtype: keyDtype, name: 'keys' }),
      values: convertToTensor(values, { dtype: valueDtype, name: 'values' }),
    };
    super(given.keys.dtype, given.values.dtype);
    this.keys = given.keys;
    this.values = given.values;
    this.name = name ?? 'key_value_init';
  }

  override initialize(table: InitializableTable): Operation {
    this.checkTypes(table);
    const { keys, values } = this;
    const filled = nameScope(this.name, () =>
      node('LookupTableImportV2', { table_handle: table.resourceHandle, keys, values }),
    );
    addToCollection(GraphKeys.TABLE_INITIALIZERS, filled);
    return filled;
  }
}

/** What of each line of a text file is taken, besides the columns 0, 1, … */
export const TextFileIndex = { WHOLE_LINE: -2, LINE_NUMBER: -1 } as const;

export interface TextFileOptions {
  /** How many lines the file has, or how many of them are taken. */
  readonly vocabSize?: number | undefined;
  /** Between columns; a tab unless given. */
  readonly delimiter?: string | undefined;
  readonly name?: string | undefined;
}

/**
 * Fills a table with the lines of a text file: a key and a value of each, which are a column, the whole line or its number.
 *
 * @example
 * const { WHOLE_LINE, LINE_NUMBER } = tf.lookup.TextFileIndex;
 * const initializer = new tf.lookup.TextFileInitializer('words.txt', tf.string, WHOLE_LINE, tf.int64, LINE_NUMBER);
 */
export class TextFileInitializer extends TableInitializerBase {
  override readonly sharedName: string;
  private readonly filename: Tensor;
  private readonly attrs: Readonly<Record<string, number | string>>;
  private readonly name: string;

  constructor(
    filename: TensorLike,
    keyDtype: DType,
    keyIndex: number,
    valueDtype: DType,
    valueIndex: number,
    options: TextFileOptions & {
      /** Added to all numbers of lines. */
      readonly valueIndexOffset?: number | undefined;
    } = {},
  ) {
    const {
      vocabSize,
      delimiter = '\t',
      name = 'text_file_init',
      valueIndexOffset = 0,
    } = onlyOptions('tf.lookup.TextFileInitializer', options, 'vocabSize', 'delimiter', 'name', 'valueIndexOffset');
    if (filename === '') throw userError('tf.lookup.TextFileInitializer needs the name of a file.');
    checkIndex('key', keyIndex, keyDtype);
    checkIndex('value', valueIndex, valueDtype);
    if (vocabSize !== undefined && vocabSize <= 0) throw userError(`vocabSize should be > 0, received: ${vocabSize}`);
    super(keyDtype, valueDtype);
    const parts = [filename instanceof Tensor ? filename.name : filename, vocabSize, keyIndex, valueIndex];
    const named = [...parts, valueIndexOffset || undefined].filter((part) => part !== undefined);
    this.sharedName = `hash_table_${named.map(String).join('_')}`;
    this.filename = initScope(() => convertToTensor(filename, { dtype: string, name: 'asset_path' }));
    this.name = name;
    this.attrs = {
      key_index: keyIndex,
      value_index: valueIndex,
      vocab_size: vocabSize ?? -1,
      delimiter,
      offset: valueIndexOffset,
    };
  }

  override initialize(table: InitializableTable): Operation {
    this.checkTypes(table);
    const { filename, attrs } = this;
    const filled = nameScope(this.name, () =>
      node('InitializeTableFromTextFileV2', { table_handle: table.resourceHandle, filename }, { attrs }),
    );
    addToCollection(GraphKeys.TABLE_INITIALIZERS, filled);
    // A name that is fed is no file that could go into a SavedModel.
    if (filename.op.type === 'Const') addToCollection(GraphKeys.ASSET_FILEPATHS, filename);
    return filled;
  }
}

function checkIndex(what: 'key' | 'value', index: number, dtype: DType): void {
  if (index < -2) throw userError(`${what}Index should be >= -2, received: ${index}.`);
  if (index === TextFileIndex.LINE_NUMBER && dtype !== int64)
    throw userError(`${what}Dtype must be int64 for a ${what}Index of LINE_NUMBER, received: ${dtype}`);
  if (index === TextFileIndex.WHOLE_LINE && !dtype.isInteger && dtype !== string)
    throw userError(
      `${what}Dtype should be either integer or string for a ${what}Index of WHOLE_LINE, received: ${dtype}`,
    );
}

export interface TextFileColumns extends TextFileOptions {
  readonly keyColumnIndex?: number | undefined;
  readonly valueColumnIndex?: number | undefined;
}

/** Fills a table from numbers to strings: of lines to lines, unless columns are named. */
export class TextFileStringTableInitializer extends TextFileInitializer {
  constructor(filename: TensorLike, options: TextFileColumns = {}) {
    const {
      keyColumnIndex = TextFileIndex.LINE_NUMBER,
      valueColumnIndex = TextFileIndex.WHOLE_LINE,
      name = 'text_file_string_table_init',
      ...rest
    } = options;
    super(filename, int64, keyColumnIndex, string, valueColumnIndex, { ...rest, name });
  }
}

/** Fills a table from strings to numbers: of lines to their numbers, unless columns are named. */
export class TextFileIdTableInitializer extends TextFileInitializer {
  constructor(filename: TensorLike, options: TextFileColumns & { readonly keyDtype?: DType | undefined } = {}) {
    const {
      keyColumnIndex = TextFileIndex.WHOLE_LINE,
      valueColumnIndex = TextFileIndex.LINE_NUMBER,
      name = 'text_file_id_table_init',
      keyDtype = string,
      ...rest
    } = options;
    super(filename, keyDtype, keyColumnIndex, int64, valueColumnIndex, { ...rest, name });
  }
}
