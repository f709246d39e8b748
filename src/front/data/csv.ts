/** @file Datasets of comma-separated values, and sparse batches. */
import { DType, int64 } from '../../core/dtypes.ts';
import { zeros } from '../../core/ndarray.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import { CSVDatasetV2 } from '../../ops/data/csv.ts';
import { number, text, truth } from './arguments.ts';
import { Dataset } from './dataset.ts';
import { elementAttrs, TensorComponent } from './spec.ts';

export interface CsvOptions {
  readonly compressionType?: string | undefined;
  readonly bufferSize?: number | undefined;
  /** Whether the first line of each file is left out. */
  readonly header?: boolean | undefined;
  readonly fieldDelim?: string | undefined;
  readonly useQuoteDelim?: boolean | undefined;
  /** A text that stands for no value, besides the empty one. */
  readonly naValue?: string | undefined;
  /** The columns to read, ascending; all of them unless said. */
  readonly selectCols?: readonly number[] | undefined;
  readonly excludeCols?: readonly number[] | undefined;
}

const bytesAtATime = 4 * 1024 * 1024;

/**
 * Records of comma-separated values. A type says that a column must have values, a tensor of one is the default where there
 * is none. Adds `CSVDatasetV2`.
 *
 * @example new tf.data.experimental.CsvDataset(['a.csv'], [tf.float32, [0]], { header: true })
 */
export class CsvDataset extends Dataset<Tensor[]> {
  constructor(filenames: TensorLike, recordDefaults: readonly (DType | TensorLike)[], options: CsvOptions = {}) {
    const {
      compressionType = '',
      bufferSize = bytesAtATime,
      ...rest
    } = onlyOptions(
      'CsvDataset',
      options,
      'compressionType',
      'bufferSize',
      'header',
      'fieldDelim',
      'useQuoteDelim',
      'naValue',
      'selectCols',
      'excludeCols',
    );
    const {
      header = false,
      fieldDelim = ',',
      useQuoteDelim = true,
      naValue = '',
      selectCols = [],
      excludeCols = [],
    } = rest;
    const required = recordDefaults.map((x) => (x instanceof DType ? convertToTensor(zeros(x, [0])) : x));
    const names = text(filenames, 'filenames');
    const compression_type = text(compressionType, 'compression_type');
    const record_defaults = required.map((x) => convertToTensor(x));
    const columns = (list: readonly number[], name: string) => convertToTensor(list, { dtype: int64, name });
    const inputs = {
      filenames: names,
      compression_type,
      buffer_size: number(bufferSize, 'buffer_size'),
      header: truth(header, 'header'),
      field_delim: text(fieldDelim, 'field_delim'),
      use_quote_delim: truth(useQuoteDelim, 'use_quote_delim'),
      na_value: text(naValue, 'na_value'),
      select_cols: columns(selectCols, 'select_cols'),
      exclude_cols: columns(excludeCols, 'exclude_cols'),
      record_defaults,
    };
    const spec = record_defaults.map(({ dtype }) => new TensorComponent(dtype, []));
    super(CSVDatasetV2.build(inputs, { attrs: elementAttrs(spec) }).handle, spec);
  }
}
