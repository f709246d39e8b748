/** @file Datasets of records of comma-separated values in files. */
import { type DType, float32, float64, int32, int64, string } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { NDArray, scalar } from '../../core/ndarray.ts';
import { CsvCutter, csvInteger, csvNumber, latin1 } from '../../io/csv.ts';
import { attr } from '../../op/attrs.ts';

import { Dataset, type Element, type ElementIterator, type Pulled, soon, unknown } from './dataset.ts';
import { filesOf, fromFiles, type Splitter } from './files.ts';
import { datasetOp, scalarOf, shapes, textOf } from './kit.ts';
import { Following } from './saved.ts';

const quote = 34;
const newline = 10;

/** Records, whose quoted fields may have line breaks in them. */
export class CsvSplitter implements Splitter {
  private held: Uint8Array = new Uint8Array(0);
  /** How much of what is held has been looked at, and whether that ends within quotes. */
  private seen = 0;
  private isQuoted = false;
  constructor(
    private readonly useQuotes: boolean,
    private hasHeader: boolean,
  ) {}

  *push(chunk: Uint8Array): Generator<Uint8Array> {
    const bytes = this.held.length === 0 ? chunk : new Uint8Array(Buffer.concat([this.held, chunk]));
    let start = 0;
    for (let at = this.seen; at < bytes.length; at++) {
      if (bytes[at] === quote && this.useQuotes) this.isQuoted = !this.isQuoted;
      if (bytes[at] !== newline || this.isQuoted) continue;
      yield* this.record(bytes.slice(start, at));
      start = at + 1;
    }
    this.held = bytes.slice(start);
    this.seen = this.held.length;
  }

  *end(): Generator<Uint8Array> {
    if (this.isQuoted) throw new InvalidArgumentError('Reached end of file without closing quoted field in record');
    if (this.held.length > 0) yield* this.record(this.held);
  }

  private *record(line: Uint8Array): Generator<Uint8Array> {
    if (this.hasHeader) this.hasHeader = false;
    else yield line.at(-1) === 13 ? line.subarray(0, -1) : line;
  }
}

interface Parsing {
  readonly defaults: readonly NDArray[];
  readonly notAvailable: string;
  readonly cutter: CsvCutter;
  /** Columns to leave out. */
  readonly excluded: readonly number[];
}

function parsed(line: Uint8Array, { defaults, notAvailable, cutter, excluded }: Parsing): Element {
  const count = cutter.cut(line);
  const fields = Array.from({ length: count }, (_, i) => i).filter((i) => !excluded.includes(i));
  if (fields.length !== defaults.length)
    throw new InvalidArgumentError(`Expect ${defaults.length} fields but have ${fields.length} in record`);
  return fields.map((at, i) => fieldValue(cutter.field(at), defaults[i]!, notAvailable, i));
}

function fieldValue(field: Uint8Array, fallback: NDArray, notAvailable: string, i: number): NDArray {
  const { dtype } = fallback;
  const text = latin1(field);
  if (text === '' || text === notAvailable) {
    if (fallback.size === 0) throw new InvalidArgumentError(`Field ${i} is required but missing in record!`);
    return fallback.reshape([]);
  }
  if (dtype === string) return new NDArray(string, [], [field.slice()]);
  const value = dtype.isInteger ? csvInteger(text, dtype === int32 ? 32 : 64) : csvNumber(text);
  if (value === undefined)
    throw new InvalidArgumentError(`Field ${i} in record is not a valid ${dtype.runtimeName}: ${text}`);
  return scalar(dtype, value);
}

/** Lines as elements; one that cannot be parsed is an error, after which the next one comes. */
class CsvIterator extends Following {
  constructor(
    input: ElementIterator,
    private readonly parsing: Parsing,
  ) {
    super(input);
  }
  next(): Pulled {
    return soon(this.input.next(), (line) => line && parsed(line[0]!.objects[0] as Uint8Array, this.parsing)); // strings are bytes
  }
}

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

function csvDataset(inputs: CsvInputs, excluded: readonly number[], types: readonly DType[]): Dataset {
  const delimiter = new TextEncoder().encode(textOf(inputs.field_delim, 'field_delim'));
  if (delimiter.length !== 1) throw new InvalidArgumentError('field_delim should be only 1 char');
  const columns = inputs.select_cols.numbers();
  if (columns.some((column, i) => column < 0 || (i > 0 && column <= columns[i - 1]!)))
    throw new InvalidArgumentError('select_cols should be strictly increasing, non-negative indices');
  if (columns.length > 0 && columns.length !== inputs.record_defaults.length)
    throw new InvalidArgumentError('select_cols should match output size');
  const useQuotes = scalarOf(inputs.use_quote_delim, 'use_quote_delim') !== 0;
  const hasHeader = scalarOf(inputs.header, 'header') !== 0;
  const defaults = inputs.record_defaults;
  const notAvailable = textOf(inputs.na_value, 'na_value');
  const lines = fromFiles('CSV', filesOf(inputs), () => new CsvSplitter(useQuotes, hasHeader));
  return new Dataset({
    kind: 'CSV',
    types,
    shapes: types.map(() => []),
    sharesMemory: false,
    cardinality: () => unknown,
    iterate(scope) {
      const cutter = new CsvCutter({ delimiter: delimiter[0]!, useQuotes, columns });
      return new CsvIterator(lines.iterate(scope), { defaults, notAvailable, cutter, excluded });
    },
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
    stateful: true,
    make: (arrays, { output_types }) => csvDataset(arrays, [], output_types),
  });
export const CSVDataset = csvOp('CSVDataset');
export const ExperimentalCSVDataset = csvOp('ExperimentalCSVDataset');

export const CSVDatasetV2 = datasetOp({
  name: 'CSVDatasetV2',
  inputs: { ...csvInputs, exclude_cols: 'int64' },
  attrs: csvAttrs,
  stateful: true,
  make: (arrays, { output_types }) => csvDataset(arrays, arrays.exclude_cols.numbers(), output_types),
});
