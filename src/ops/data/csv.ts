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
const carriageReturn = 13;

/** Where in a record the next byte is. A quote that stands where none may makes the record broken up to its end. */
type Place = 'start of a field' | 'in a field' | 'in quotes' | 'behind a quote in quotes' | 'broken';

export interface CsvFormat {
  readonly useQuotes: boolean;
  /** The byte between fields. */
  readonly delimiter: number;
}

/** Records, which end with \n, \r or \r\n; their quoted fields may have line breaks in them. */
export class CsvSplitter implements Splitter {
  private held: Uint8Array = new Uint8Array(0);
  private place: Place = 'start of a field';
  private isAfterReturn = false;
  constructor(
    private readonly format: CsvFormat,
    private hasHeader: boolean,
  ) {}

  *push(chunk: Uint8Array): Generator<Uint8Array> {
    const seen = this.held.length;
    const bytes = seen === 0 ? chunk : new Uint8Array(Buffer.concat([this.held, chunk]));
    let start = 0;
    for (let at = seen; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (byte === newline && this.isAfterReturn && at === start) {
        start = at + 1; // the second half of \r\n
        this.isAfterReturn = false;
        continue;
      }
      this.isAfterReturn = byte === carriageReturn;
      if (this.place === 'in quotes' || (byte !== newline && byte !== carriageReturn)) {
        this.place = this.next(byte);
        continue;
      }
      this.place = 'start of a field';
      yield* this.record(bytes.slice(start, at));
      start = at + 1;
    }
    this.held = bytes.slice(start);
  }

  private next(byte: number): Place {
    const { place } = this;
    const { useQuotes, delimiter } = this.format;
    if (place === 'broken') return place;
    if (place === 'in quotes') return byte === quote ? 'behind a quote in quotes' : place;
    if (byte === delimiter) return 'start of a field';
    if (place === 'behind a quote in quotes') return byte === quote ? 'in quotes' : 'broken';
    return place === 'start of a field' && byte === quote && useQuotes ? 'in quotes' : 'in a field';
  }

  *end(): Generator<Uint8Array> {
    if (this.place === 'in quotes')
      throw new InvalidArgumentError('Reached end of file without closing quoted field in record');
    if (this.held.length > 0) yield* this.record(this.held);
    if (this.hasHeader) throw new InvalidArgumentError("Can't read header of file");
  }

  private *record(line: Uint8Array): Generator<Uint8Array> {
    if (this.hasHeader) this.hasHeader = false;
    else yield line;
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
  const count = Math.max(1, cut(cutter, line));
  const fields = Array.from({ length: count }, (_, i) => i).filter((i) => !excluded.includes(i));
  if (fields.length !== defaults.length)
    throw new InvalidArgumentError(
      `Expect ${defaults.length} fields but have ${fields.length > defaults.length ? 'more' : fields.length} in record`,
    );
  return fields.map((at, i) => fieldValue(line.length === 0 ? line : cutter.field(at), defaults[i]!, notAvailable, i));
}

/** How many fields a record has. What is wrong with one is said without line breaks: those end records here. */
function cut(cutter: CsvCutter, line: Uint8Array): number {
  try {
    return cutter.cut(line);
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw error.extended(error.message.replace('quotes/CRLFs', 'quotes'), {});
  }
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
  if (scalarOf(inputs.buffer_size, 'buffer_size') <= 0)
    throw new InvalidArgumentError('buffer_size should be positive');
  const useQuotes = scalarOf(inputs.use_quote_delim, 'use_quote_delim') !== 0;
  const hasHeader = scalarOf(inputs.header, 'header') !== 0;
  const defaults = inputs.record_defaults;
  const notAvailable = textOf(inputs.na_value, 'na_value');
  const lines = fromFiles(
    'CSV',
    filesOf(inputs),
    () => new CsvSplitter({ useQuotes, delimiter: delimiter[0]! }, hasHeader),
  );
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
