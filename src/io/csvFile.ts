/** @file Tables in files of comma-separated values, as arrays by column. */
import { createReadStream } from 'node:fs';
import { type DType, float32, string } from '../core/dtypes.ts';
import { DataLossError, InvalidArgumentError } from '../core/errors.ts';
import { fromElements, type NDArray } from '../core/ndarray.ts';
import { knownOptions } from '../core/optionNames.ts';
import { RowsBeside } from './csvFileBeside.ts';
import { cachedFile, checkFile, type DownloadOptions, downloadOptions } from './download.ts';
import { fileError } from './fileErrors.ts';

export interface CsvOptions extends DownloadOptions {
  /** Names of the columns; those in the first line unless given. */
  readonly columns?: readonly string[] | undefined;
  /** Whether the first line holds names; true unless `columns` are given. */
  readonly header?: boolean | undefined;
  /** The type of each column by its name; `tf.float32` where every value is a number, else `tf.string`. */
  readonly types?: Readonly<Record<string, DType>> | undefined;
  /** What stands between values; a comma unless given. */
  readonly delimiter?: string | undefined;
  /** The number that an empty value stands for; not a number unless given. */
  readonly missing?: number | undefined;
  /** The file's checksum in hexadecimal digits. */
  readonly sha256?: string | undefined;
}

const csvOptions = [...downloadOptions, 'columns', 'header', 'types', 'delimiter', 'missing', 'sha256'] as const;

/** A table: an array for each column. */
export interface CsvTable {
  readonly columns: readonly string[];
  readonly numRows: number;
  column(name: string): NDArray;
}

/**
 * A file of comma-separated values, from the disk or from the network. Values in quotation marks may hold commas, line feeds
 * and doubled quotation marks.
 *
 * @example const iris = await tf.examples.csv('iris.csv'); // iris.column('petal_length')
 */
export async function csv(pathOrUrl: string, options: CsvOptions = {}): Promise<CsvTable> {
  const { sha256 } = knownOptions('tf.examples.csv', options, csvOptions);
  const isRemote = /^https?:\/\//.test(pathOrUrl);
  const remote = { name: pathOrUrl.replace(/^https?:\/\//, '').replace(/[^\w.-]+/g, '_'), urls: [pathOrUrl], sha256 };
  const path = isRemote ? await cachedFile(remote, options) : pathOrUrl;
  if (!isRemote && sha256 !== undefined) await checkFile(path, { sha256 });
  try {
    return (await tableBeside(path, options)) ?? (await tableIn(path, options));
  } catch (error) {
    throw fileError(error, path);
  }
}

const hasNames = ({ header, columns }: CsvOptions) => header ?? columns === undefined;

/** The names that a table without any has. */
const numbered = (row: readonly string[] | undefined) => row?.map((_, i) => String(i)) ?? [];

function checkTypes({ types = {} }: CsvOptions, columns: readonly string[], path: string): void {
  for (const name of Object.keys(types)) {
    if (!columns.includes(name))
      throw new InvalidArgumentError(`${path} has no column '${name}', but ${columns.join(', ')}.`);
  }
}

/** The table in a file, read by the native library beside the event loop; undefined where it leaves that to TypeScript. */
async function tableBeside(path: string, options: CsvOptions): Promise<CsvTable | undefined> {
  const rows = await RowsBeside.read(path, options.delimiter ?? ',', hasNames(options));
  if (!rows) return undefined;
  const columns = options.columns ?? rows.header ?? numbered(rows.first);
  if (columns.length !== rows.first.length) return undefined;
  checkTypes(options, columns, path);
  const arrays: NDArray[] = [];
  for (const [i, name] of columns.entries()) {
    const array = await rows.column(i, options.types?.[name], options.missing ?? NaN);
    if (!array) return undefined;
    arrays.push(array);
  }
  return new Table(path, columns, rows.count, arrays);
}

/** The same in TypeScript. */
async function tableIn(path: string, options: CsvOptions): Promise<CsvTable> {
  const rows: string[][] = [];
  for await (const row of csvRows(createReadStream(path, 'utf8'), options.delimiter ?? ',')) rows.push(row);
  return tableOf(rows, options, path);
}

class Table implements CsvTable {
  constructor(
    private readonly path: string,
    readonly columns: readonly string[],
    readonly numRows: number,
    private readonly arrays: readonly NDArray[],
  ) {}

  column(name: string): NDArray {
    const array = this.arrays[this.columns.lastIndexOf(name)];
    if (!array) throw new InvalidArgumentError(`${this.path} has no column '${name}', but ${this.columns.join(', ')}.`);
    return array;
  }
}

function tableOf(rows: string[][], options: CsvOptions, path: string): CsvTable {
  const header = hasNames(options) ? rows.shift() : undefined;
  const columns = options.columns ?? header ?? numbered(rows[0]);
  const wrong = rows.findIndex((row) => row.length !== columns.length);
  if (wrong >= 0) {
    throw new DataLossError(
      `${path}: row ${wrong + 1} has ${rows[wrong]!.length} values, but there are ${columns.length} columns (${columns.join(', ')}).`,
    );
  }
  checkTypes(options, columns, path);
  const arrays = columns.map((name, i) =>
    columnOf(rows, i, options.types?.[name], options.missing ?? NaN, `${path}: ${name}`),
  );
  return new Table(path, columns, rows.length, arrays);
}

function columnOf(
  rows: readonly string[][],
  i: number,
  type: DType | undefined,
  missing: number,
  where: string,
): NDArray {
  const texts = rows.map((row) => row[i]!);
  const numbers = texts.map((text) => (text.trim() === '' ? missing : Number(text)));
  const isNumeric = texts.every((text, k) => text.trim() === '' || !Number.isNaN(numbers[k]!));
  const dtype = type ?? (isNumeric ? float32 : string);
  if (dtype === string) return fromElements(string, [texts.length], texts);
  const isBad = (k: number) => {
    if (texts[k]!.trim() !== '' && Number.isNaN(numbers[k]!)) return true;
    return dtype.isInteger && !Number.isInteger(numbers[k]!);
  };
  const bad = texts.findIndex((_, k) => isBad(k));
  if (bad >= 0) throw new DataLossError(`${where}: '${texts[bad]}' in row ${bad + 1} is not a value of ${dtype}.`);
  const isWide = dtype.name === 'int64' || dtype.name === 'uint64';
  return fromElements(dtype, [texts.length], isWide ? numbers.map(BigInt) : numbers);
}

/** The rows of a stream of text, each as its values; empty lines are passed over. */
export async function* csvRows(text: AsyncIterable<string>, delimiter = ','): AsyncGenerator<string[]> {
  let row: string[] = [];
  let value = '';
  let isQuoted = false;
  let afterQuote = false;
  const endRow = () => {
    const done = [...row, value];
    row = [];
    value = '';
    return done;
  };
  for await (const part of text) {
    for (const letter of part) {
      if (isQuoted) {
        if (!afterQuote && letter === '"') afterQuote = true;
        else if (!afterQuote) value += letter;
        else if (letter === '"') {
          value += '"';
          afterQuote = false;
        } else [isQuoted, afterQuote] = [false, false];
        if (isQuoted) continue;
      }
      if (letter === '"' && value === '') isQuoted = true;
      else if (letter === delimiter) {
        row.push(value);
        value = '';
      } else if (letter === '\n') {
        const done = endRow();
        if (done.length > 1 || done[0] !== '') yield done;
      } else if (letter !== '\r' && letter !== '\ufeff') value += letter;
    }
  }
  if (isQuoted && !afterQuote) throw new DataLossError('The file ends inside quotation marks.');
  const last = endRow();
  if (last.length > 1 || last[0] !== '') yield last;
}
