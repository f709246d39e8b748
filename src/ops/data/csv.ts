/** @file Datasets of records of comma-separated values in files. */
import { type DType, float32, float64, int32, int64, string } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import type { NDArray } from '../../core/ndarray.ts';
import type { CsvRecordOptions } from '../../io/csvRecords.ts';
import { attr } from '../../op/attrs.ts';
import { CsvIterator } from './csvFiles.ts';
import { Dataset, unknown } from './dataset.ts';
import { filesOf } from './files.ts';
import { datasetOp, scalarOf, shapes, textOf } from './kit.ts';

interface CsvInputs {
  readonly filenames: NDArray;
  readonly compression_type: NDArray;
  readonly buffer_size: NDArray;
  readonly header: NDArray;
  readonly field_delim: NDArray;
  readonly use_quote_delim: NDArray;
  readonly na_value: NDArray;
  readonly select_cols: NDArray;
  readonly record_defaults: readonly NDArray[];
}

function checkColumns(name: string, columns: readonly number[]): void {
  if (columns.some((column, i) => i > 0 && column <= columns[i - 1]!))
    throw new InvalidArgumentError(`${name} should be strictly increasing indices`);
  if (columns.some((column) => column < 0)) throw new InvalidArgumentError(`${name} should be non-negative indices`);
}

function csvDataset(inputs: CsvInputs, excluded: readonly number[], types: readonly DType[]): Dataset {
  const delimiter = new TextEncoder().encode(textOf(inputs.field_delim, 'field_delim'));
  if (delimiter.length !== 1) throw new InvalidArgumentError('field_delim should be only 1 char');
  const columns = inputs.select_cols.numbers();
  checkColumns('select_cols', columns);
  checkColumns('exclude_cols', excluded);
  if (columns.length > 0 && excluded.length > 0)
    throw new InvalidArgumentError('Either select_cols or exclude_cols should be empty');
  if (columns.length > 0 && columns.length !== inputs.record_defaults.length)
    throw new InvalidArgumentError('select_cols should match output size');
  if (scalarOf(inputs.buffer_size, 'buffer_size') <= 0)
    throw new InvalidArgumentError('buffer_size should be positive');
  for (const [i, { rank, size }] of inputs.record_defaults.entries()) {
    if (rank > 1) throw new InvalidArgumentError('Each record default should be at most rank 1');
    if (size > 1) throw new InvalidArgumentError(`There should only be 1 default per field but field ${i} has ${size}`);
  }
  const options: CsvRecordOptions = {
    delimiter: delimiter[0]!,
    useQuotes: scalarOf(inputs.use_quote_delim, 'use_quote_delim') !== 0,
    columns,
    excluded,
    defaults: inputs.record_defaults,
    notAvailable: new TextEncoder().encode(textOf(inputs.na_value, 'na_value')),
  };
  const hasHeader = scalarOf(inputs.header, 'header') !== 0;
  const files = filesOf(inputs);
  return new Dataset({
    kind: 'CSV',
    types,
    shapes: types.map(() => []),
    sharesMemory: false,
    cardinality: () => unknown,
    iterate: (scope) => new CsvIterator(scope, files, options, hasHeader),
  });
}

const csvInputs = {
  filenames: 'string',
  compression_type: 'string',
  buffer_size: 'int64',
  header: 'bool',
  field_delim: 'string',
  use_quote_delim: 'bool',
  na_value: 'string',
  select_cols: 'int64',
  record_defaults: 'output_types',
} as const;
const csvAttrs = {
  output_types: attr('list(type)', { minimum: 1, allowed: [float32, float64, int32, int64, string] }),
  output_shapes: shapes,
} as const;

const csvOp = (name: string) =>
  datasetOp({
    name,
    inputs: csvInputs,
    attrs: csvAttrs,
    stateful: 'repeatable',
    make: (arrays, { output_types }) => csvDataset(arrays, [], output_types),
  });
export const CSVDataset = csvOp('CSVDataset');
export const ExperimentalCSVDataset = csvOp('ExperimentalCSVDataset');

export const CSVDatasetV2 = datasetOp({
  name: 'CSVDatasetV2',
  inputs: { ...csvInputs, exclude_cols: 'int64' },
  attrs: csvAttrs,
  stateful: 'repeatable',
  make: (arrays, { output_types }) => csvDataset(arrays, arrays.exclude_cols.numbers(), output_types),
});
