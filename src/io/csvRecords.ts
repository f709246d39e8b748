/** @file Records of comma-separated values in the bytes of a file, field by field as TensorFlow's CsvDataset reads them. */
import { int32, string } from '../core/dtypes.ts';
import { InvalidArgumentError } from '../core/errors.ts';
import { NDArray, scalar } from '../core/ndarray.ts';
import { type CsvOptions, csvInteger, csvNumber, latin1, withoutDoubled } from './csv.ts';

const quote = 34;
const newline = 10;
const carriageReturn = 13;

export interface CsvRecordOptions extends CsvOptions {
  /** Columns to leave out, where none are chosen. */
  readonly excluded: readonly number[];
  /** One for each field that is wanted: its type, and its value where there is none, unless it is empty. */
  readonly defaults: readonly NDArray[];
  /** A field that says that there is no value. */
  readonly notAvailable: Uint8Array;
}

/** What comes behind a field: another one, the end of the record, or bytes that are not there yet. */
type Behind = 'field' | 'end' | 'unknown';

/** Reads one record after the other. What is wrong with a record is said when all of it has been read, and is the first mistake. */
export class CsvRecordReader {
  /** Where the record that was read last ends. */
  end = 0;
  private bytes: Uint8Array = new Uint8Array(0);
  private isLast = false;
  private at = 0;
  private taker: (field: Uint8Array) => void = () => {};
  private error: InvalidArgumentError | undefined;
  private readonly notAvailable: string;

  constructor(private readonly options: CsvRecordOptions) {
    this.notAvailable = latin1(options.notAvailable);
  }

  /** The values of the record from `start` on, or what is wrong with it; undefined where it may go on behind these bytes. */
  read(bytes: Uint8Array, start: number, isLast: boolean): readonly NDArray[] | InvalidArgumentError | undefined {
    const { defaults } = this.options;
    const values: NDArray[] = [];
    const isWanted = (column: number) => this.isWanted(column, values.length);
    if (!this.cut(bytes, start, isLast, isWanted, (field) => this.take(field, values))) return undefined;
    if (this.error) return this.error;
    if (values.length === defaults.length) return values;
    return new InvalidArgumentError(`Expect ${defaults.length} fields but have ${values.length} in record`);
  }

  /** The same for all fields of a record, as they are. */
  texts(bytes: Uint8Array, start: number, isLast: boolean): readonly Uint8Array[] | InvalidArgumentError | undefined {
    const fields: Uint8Array[] = [];
    const isComplete = this.cut(
      bytes,
      start,
      isLast,
      () => true,
      (field) => fields.push(field),
    );
    return isComplete ? (this.error ?? fields) : undefined;
  }

  private cut(
    bytes: Uint8Array,
    start: number,
    isLast: boolean,
    isWanted: (column: number) => boolean,
    take: (field: Uint8Array) => void,
  ): boolean {
    this.bytes = bytes;
    this.isLast = isLast;
    this.at = start;
    this.taker = take;
    this.error = undefined;
    for (let column = 0; ; column++) {
      const behind = this.field(isWanted(column));
      if (behind === 'unknown') return false;
      if (behind === 'end') break;
    }
    this.end = this.at;
    return true;
  }

  private isWanted(column: number, taken: number): boolean {
    const { columns, excluded } = this.options;
    return columns.length > 0 ? columns[taken] === column : !excluded.includes(column);
  }

  private field(isWanted: boolean): Behind {
    const { bytes, at } = this;
    if (at < bytes.length)
      return this.options.useQuotes && bytes[at] === quote ? this.quoted(isWanted) : this.plain(isWanted);
    if (!this.isLast) return 'unknown';
    if (isWanted) this.taker(bytes.subarray(at));
    return 'end';
  }

  private plain(isWanted: boolean): Behind {
    const { bytes, options } = this;
    const start = this.at;
    let end = start;
    for (; end < bytes.length; end++) {
      const byte = bytes[end]!;
      if (byte === options.delimiter || byte === newline || byte === carriageReturn) break;
      if (options.useQuotes && byte === quote) this.complain('Unquoted fields cannot have quotes inside');
    }
    if (end === bytes.length && !this.isLast) return 'unknown';
    if (isWanted) this.taker(bytes.subarray(start, end));
    this.at = end;
    return this.goOn();
  }

  /** A field from its opening quote on. One with a quote too many goes on to a quote with which it can end. */
  private quoted(isWanted: boolean): Behind {
    const { bytes, options } = this;
    const start = this.at + 1;
    let hasQuotes = false;
    let isBroken = false;
    for (let from = start; ; from = this.at + 1) {
      const end = bytes.indexOf(quote, from);
      this.at = end < 0 ? bytes.length : end + 1;
      if (this.at === bytes.length && !this.isLast) return 'unknown';
      if (end < 0) {
        this.complain('Reached end of file without closing quoted field in record');
        return 'end';
      }
      const next = bytes[this.at];
      if (next === undefined || next === options.delimiter || next === newline || next === carriageReturn) {
        const field = bytes.subarray(start, end);
        if (isBroken) this.complain('Quote inside a string has to be escaped by another quote');
        else if (isWanted) this.taker(hasQuotes ? withoutDoubled(field) : field);
        return this.goOn();
      }
      if (next === quote) hasQuotes = true;
      else isBroken = true;
    }
  }

  /** Goes behind the delimiter or the line end at which a field ended. */
  private goOn(): Behind {
    const { bytes, at } = this;
    if (at === bytes.length) return 'end';
    this.at++;
    if (bytes[at] === this.options.delimiter) return 'field';
    if (bytes[at] === carriageReturn) {
      if (this.at === bytes.length && !this.isLast) return 'unknown';
      if (bytes[this.at] === newline) this.at++;
    }
    return 'end';
  }

  private complain(what: string): void {
    this.error ??= new InvalidArgumentError(what);
  }

  /** A field as the next value. */
  private take(field: Uint8Array, values: NDArray[]): void {
    if (this.error) return;
    const i = values.length;
    const fallback = this.options.defaults[i];
    if (!fallback) {
      this.complain(`Expect ${i} fields but have more in record`);
      return;
    }
    const { dtype } = fallback;
    const text = dtype === string && field.length > this.notAvailable.length ? undefined : latin1(field);
    if (text === '' || text === this.notAvailable) {
      if (fallback.size === 0) this.complain(`Field ${i} is required but missing in record!`);
      else values.push(fallback.reshape([]).copy());
    } else if (dtype === string) values.push(new NDArray(string, [], [field.slice()]));
    else {
      const value = dtype.isInteger ? csvInteger(text!, dtype === int32 ? 32 : 64) : csvNumber(text!);
      if (value !== undefined) values.push(scalar(dtype, value));
      else this.complain(`Field ${i} in record is not a valid ${dtype.runtimeName}: ${Buffer.from(field).toString()}`);
    }
  }
}
