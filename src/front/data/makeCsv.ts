/** @file makeCsvDataset: files of comma-separated values as batches of named columns, their types found by looking. */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { DType, float32, float64, int32, int64, string } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { NDArray, scalar } from '../../core/ndarray.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { csvInteger, csvNumber, latin1 } from '../../io/csv.ts';
import { CsvRecordReader } from '../../io/csvRecords.ts';
import { matchingPaths } from '../../io/glob.ts';
import { convertToTensor } from '../../op/convert.ts';
import { CsvDataset } from './csv.ts';
import { Dataset } from './dataset.ts';
import { map } from './elementwise.ts';
import { ignoreErrors as withoutErrors } from './experimental.ts';
import { inTurns } from './files.ts';

export interface MakeCsvOptions {
  /** The names of all columns; those in the first line of the files unless said. */
  readonly columnNames?: readonly string[] | undefined;
  /** Types of columns that must have values, or defaults for those that need not; found by looking unless said. */
  readonly columnDefaults?: readonly (DType | TensorLike)[] | undefined;
  /** The column that stands apart from the others. */
  readonly labelName?: string | undefined;
  /** The columns to read, by number or name. */
  readonly selectColumns?: readonly (number | string)[] | undefined;
  readonly fieldDelim?: string | undefined;
  readonly useQuoteDelim?: boolean | undefined;
  /** A text that stands for no value, besides the empty one. */
  readonly naValue?: string | undefined;
  /** Whether the first line of each file has the names of its columns; true unless said. */
  readonly header?: boolean | undefined;
  /** How often to go through the files; for ever unless said. */
  readonly numEpochs?: number | undefined;
  readonly shuffle?: boolean | undefined;
  readonly shuffleBufferSize?: number | undefined;
  readonly shuffleSeed?: number | undefined;
  readonly prefetchBufferSize?: number | undefined;
  readonly numParallelReads?: number | undefined;
  /** Whether records may come in any order. */
  readonly sloppy?: boolean | undefined;
  /** How many rows to look at to find types; `null` for all of them. */
  readonly numRowsForInference?: number | null | undefined;
  readonly compressionType?: string | undefined;
  /** Leaves out records that cannot be parsed. */
  readonly ignoreErrors?: boolean | undefined;
}

const optionNames = [
  'columnNames',
  'columnDefaults',
  'labelName',
  'selectColumns',
  'fieldDelim',
  'useQuoteDelim',
  'naValue',
  'header',
  'numEpochs',
  'shuffle',
  'shuffleBufferSize',
  'shuffleSeed',
  'prefetchBufferSize',
  'numParallelReads',
  'sloppy',
  'numRowsForInference',
  'compressionType',
  'ignoreErrors',
] as const;

/** Batches of columns by their names, with a label beside them where one was named. */
export type CsvBatch = Readonly<Record<string, Tensor>> | readonly [Readonly<Record<string, Tensor>>, Tensor];

/**
 * Batches of the columns of files with comma-separated values. Names of columns are taken from the first line, types from the
 * first rows: the files are looked at when this is called. Adds `LegacyParallelInterleaveDatasetV2`, `BatchDatasetV2`,
 * `MapDataset` and others.
 *
 * @example tf.data.experimental.makeCsvDataset('train-*.csv', 32, { labelName: 'price', numEpochs: 1 })
 */
export function makeCsvDataset(
  filePattern: string | readonly string[],
  batchSize: TensorLike,
  options: MakeCsvOptions = {},
): Dataset<CsvBatch> {
  const given = onlyOptions('makeCsvDataset', options, ...optionNames);
  const { fieldDelim = ',', useQuoteDelim = true, naValue = '', header = true, compressionType = '' } = given;
  const { numEpochs, shuffle = true, shuffleBufferSize = 10000, shuffleSeed: seed, labelName } = given;
  const filenames = filesMatching(filePattern);
  const looking: Looking = { filenames, fieldDelim, useQuoteDelim, naValue, header, compressionType };

  let names = Dataset.fromTensorSlices(filenames) as Dataset<Tensor>; // texts
  if (shuffle) names = names.shuffle(filenames.length, { seed });
  const all = given.columnNames ?? namesIn(looking);
  checkDistinct(all);
  const selected = given.selectColumns && positionsOf(given.selectColumns, all);
  const columns = selected ? selected.map((i) => all[i]!) : all;
  const defaults: readonly (DType | TensorLike)[] =
    given.columnDefaults ?? defaultsIn(looking, all.length, selected, given.numRowsForInference);
  if (defaults.length !== columns.length)
    throw userError(
      `makeCsvDataset: there are ${defaults.length} columnDefaults for ${columns.length} columns; there must be one of each.`,
    );
  if (labelName !== undefined && !columns.includes(labelName))
    throw userError(`labelName must be one of the columns: ${columns.join(', ')}. It is '${labelName}'.`);
  const recordDefaults = defaults.map((x) => (x instanceof DType ? noDefault(x) : x));

  const filename_to_dataset = (filename: Tensor) => {
    const csv = { fieldDelim, useQuoteDelim, naValue, header, compressionType, selectCols: selected };
    const records: Dataset<Tensor[]> = new CsvDataset(filename, recordDefaults, csv);
    return given.ignoreErrors ? records.apply(withoutErrors()) : records;
  };
  const { numParallelReads = 1, sloppy = false } = given;
  let records: Dataset = inTurns(names, filename_to_dataset, numParallelReads, sloppy);
  if (shuffle) records = records.shuffle(shuffleBufferSize, { seed });
  if (numEpochs !== 1) records = records.repeat(numEpochs ?? -1);
  const batches = records.batch(batchSize, { dropRemainder: numEpochs === undefined });
  const map_fn = (...values: Tensor[]): CsvBatch => {
    const features = Object.fromEntries(columns.map((name, i) => [name, values[i]!]));
    if (labelName === undefined) return features;
    const { [labelName]: label, ...others } = features;
    return [others, label!];
  };
  const named = map(batches, map_fn, {}, { useInterOpParallelism: false });
  return named.prefetch(given.prefetchBufferSize ?? -1) as Dataset<CsvBatch>; // what the function gives
}

const noDefault = (dtype: DType) => convertToTensor(new NDArray(dtype, [0], dtype.isObject ? [] : dtype.allocate(0)));

function filesMatching(patterns: string | readonly string[]): string[] {
  const list = typeof patterns === 'string' ? [patterns] : patterns;
  if (list.length === 0) throw userError('Argument filePattern must not be empty.');
  const found = list.flatMap(matchingPaths);
  if (found.length === 0) throw userError(`No files match the pattern ${list.join(', ')}.`);
  return found.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

function checkDistinct(names: readonly string[]): void {
  const twice = names.filter((name, i) => names.indexOf(name) !== i);
  if (twice.length > 0)
    throw userError(`Either columnNames or the first line of a file has a name more than once: ${twice.join(', ')}.`);
}

/** The positions of columns that are given by number or by name, ascending. */
function positionsOf(selected: readonly (number | string)[], names: readonly string[]): number[] {
  const positions = selected.map((column) => (typeof column === 'number' ? column : names.indexOf(column)));
  for (const [i, at] of positions.entries())
    if (at < 0 || at >= names.length)
      throw userError(`selectColumns names '${selected[i]}', but the columns are ${names.join(', ')}.`);
  if (new Set(positions).size !== positions.length)
    throw userError(`selectColumns has a column more than once: ${selected.join(', ')}.`);
  return positions.sort((a, b) => a - b);
}

interface Looking {
  readonly filenames: readonly string[];
  readonly fieldDelim: string;
  readonly useQuoteDelim: boolean;
  readonly naValue: string;
  readonly header: boolean;
  readonly compressionType: string;
}

const chunkBytes = 1 << 16;

/** The bytes of a file, as far as they are wanted. */
function* chunksOf(path: string, compression: string): Generator<Uint8Array> {
  if (compression === 'ZLIB')
    throw userError("Columns cannot be looked up in files compressed by 'ZLIB': give columnNames and columnDefaults.");
  if (compression === 'GZIP') {
    yield gunzipSync(readFileSync(path));
    return;
  }
  const file = openSync(path, 'r');
  try {
    for (;;) {
      const chunk = new Uint8Array(chunkBytes);
      const length = readSync(file, chunk);
      if (length === 0) return;
      yield chunk.subarray(0, length);
    }
  } finally {
    closeSync(file);
  }
}

/** The rows of a file as texts, its first line among them. */
function* rowsOf(path: string, { fieldDelim, useQuoteDelim, compressionType }: Looking): Generator<string[]> {
  const format = { delimiter: fieldDelim.charCodeAt(0), useQuotes: useQuoteDelim, columns: [], excluded: [] };
  const reader = new CsvRecordReader({ ...format, defaults: [], notAvailable: new Uint8Array(0) });
  let bytes: Uint8Array = new Uint8Array(0);
  function* complete(isLast: boolean): Generator<string[]> {
    let start = 0;
    while (start < bytes.length) {
      const fields = reader.texts(bytes, start, isLast);
      if (!fields) break;
      if (fields instanceof InvalidArgumentError) throw fields;
      yield fields.map((field) => Buffer.from(field).toString());
      start = reader.end;
    }
    bytes = bytes.subarray(start);
  }
  for (const chunk of chunksOf(path, compressionType)) {
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    yield* complete(false);
  }
  yield* complete(true);
}

/** The names in the first lines, which must be the same in all files. */
function namesIn(looking: Looking): readonly string[] {
  if (!looking.header) throw userError('makeCsvDataset needs columnNames, or files with a header.');
  let names: readonly string[] | undefined;
  for (const path of looking.filenames) {
    const { value = [] } = rowsOf(path, looking).next();
    names ??= value as string[]; // a row, or none
    if (names.join('\n') !== (value as string[]).join('\n'))
      throw userError('Files have different column names in the header row.');
  }
  return names!;
}

const types: readonly DType[] = [int32, int64, float32, float64, string];
const largestFloat32 = 3.4028234663852886e38;

/** The first type that can hold a text and all those before it. */
function typeFor(text: string, before: DType | undefined): DType {
  const number = csvNumber(text);
  const fits = [
    csvInteger(text, 32) !== undefined,
    csvInteger(text, 64) !== undefined,
    number !== undefined && !(Number.isFinite(number) && Math.abs(number) > largestFloat32),
    number !== undefined,
    true,
  ];
  return types.find((_, i) => fits[i] && (!before || types.indexOf(before) <= i))!;
}

/** Defaults of the types that the first rows have: zero or an empty text. */
function defaultsIn(
  looking: Looking,
  columns: number,
  selected: readonly number[] | undefined,
  most: number | null = 100,
): Tensor[] {
  const wanted = selected ?? Array.from({ length: columns }, (_, i) => i);
  const found = new Array<DType | undefined>(wanted.length).fill(undefined);
  let rows = 0;
  for (const path of looking.filenames) {
    let line = 0;
    for (const row of rowsOf(path, looking)) {
      if (line++ === 0 && looking.header) continue;
      if (most !== null && rows === most) break;
      rows++;
      if (row.length !== columns)
        throw userError(`Row ${line} of '${path}' has ${row.length} fields, but there are ${columns} columns.`);
      for (const [j, at] of wanted.entries()) {
        const text = latin1(Buffer.from(row[at]!));
        if (text !== '' && text !== looking.naValue) found[j] = typeFor(text, found[j]);
      }
    }
  }
  return found.map((type = string) => convertToTensor(scalar(type, type === string ? '' : 0).reshape([1])));
}
