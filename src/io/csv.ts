/** @file Records of comma-separated values: their fields, and the numbers in them, by TensorFlow's rules. */
import { InvalidArgumentError } from '../core/errors.ts';

const quote = 34;
const newline = 10;
const carriageReturn = 13;

export interface CsvOptions {
  /** The byte between fields. */
  readonly delimiter: number;
  /** Whether a field in double quotes may hold delimiters, line ends and doubled quotes. */
  readonly useQuotes: boolean;
  /** The columns wanted, rising; all when there are none. */
  readonly columns: readonly number[];
}

/** Where the wanted fields of a record stand. One is used for many records, so that no field costs an object of its own. */
export class CsvCutter {
  /** The bytes that each field is part of, and its first byte and the one behind its last. */
  readonly sources: Uint8Array[] = [];
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  count = 0;

  constructor(private readonly options: CsvOptions) {}

  /** Cuts a record into fields; gives how many are wanted. */
  cut(record: Uint8Array): number {
    const { delimiter, useQuotes, columns } = this.options;
    const { length } = record;
    this.count = 0;
    let pos = 0;
    let column = 0;
    while (pos < length) {
      const first = record[pos]!;
      if (first === newline || first === carriageReturn) {
        pos++;
        continue;
      }
      const isWanted = columns.length === 0 || columns[this.count] === column;
      column++;
      if (useQuotes && first === quote) pos = this.quoted(record, pos + 1, isWanted);
      else {
        const end = plainEnd(record, pos, delimiter, useQuotes);
        if (isWanted) this.add(record, pos, end);
        pos = end + 1;
      }
      if (this.count === columns.length && isWanted && columns.length > 0) return this.count;
    }
    // A delimiter at the end is followed by one more, empty field.
    const isWanted = columns.length === 0 || columns[this.count] === column;
    if (length > 0 && record[length - 1] === delimiter && isWanted) this.add(record, length, length);
    return this.count;
  }

  /** A field as bytes of its own. */
  field(i: number): Uint8Array {
    return this.sources[i]!.subarray(this.starts[i], this.ends[i]);
  }

  private add(source: Uint8Array, start: number, end: number): void {
    this.sources[this.count] = source;
    this.starts[this.count] = start;
    this.ends[this.count++] = end;
  }

  /** A field from behind its opening quote; gives where the next one begins. */
  private quoted(record: Uint8Array, start: number, isWanted: boolean): number {
    const { delimiter } = this.options;
    const last = record.length - 1;
    let pos = start;
    let hasQuotes = false;
    while (pos < last && (record[pos] !== quote || record[pos + 1] !== delimiter)) {
      if (record[pos] !== quote) {
        pos++;
        continue;
      }
      if (record[pos + 1] !== quote)
        throw new InvalidArgumentError('Quote inside a string has to be escaped by another quote');
      hasQuotes = true;
      pos += 2;
    }
    if (record[pos] !== quote || (pos !== last && record[pos + 1] !== delimiter))
      throw new InvalidArgumentError('Quoted field has to end with quote followed by delim or end');
    if (isWanted && hasQuotes) {
      const field = withoutDoubled(record.subarray(start, pos));
      this.add(field, 0, field.length);
    } else if (isWanted) this.add(record, start, pos);
    return pos + 2;
  }
}

/** The end of a field without quotes. */
function plainEnd(record: Uint8Array, start: number, delimiter: number, useQuotes: boolean): number {
  let end = start;
  for (; end < record.length; end++) {
    const byte = record[end]!;
    if (byte === delimiter) break;
    if ((useQuotes && byte === quote) || byte === newline || byte === carriageReturn)
      throw new InvalidArgumentError('Unquoted fields cannot have quotes/CRLFs inside');
  }
  return end;
}

/** The field with every pair of quotes as one. */
export function withoutDoubled(field: Uint8Array): Uint8Array {
  const plain = new Uint8Array(field.length);
  let length = 0;
  for (let i = 0; i < field.length; i++) {
    plain[length++] = field[i]!;
    if (field[i] === quote) i++;
  }
  return plain.subarray(0, length);
}

const zero = 48;
const nine = 57;
const minus = 45;
const point = 46;
/** Powers of ten that are exact; a whole number below 2^53 divided by one is rounded once, as it should be. */
const powers = Array.from({ length: 16 }, (_, i) => 10 ** i);

/** What a plain number is read as. */
export type NumberKind = 'whole' | 'float' | 'double';

/**
 * A plain decimal number such as `-12.5`; undefined when it is anything else, or cannot be had exactly this way. Fifteen digits
 * are taken; of a float the others may be left out when they make no difference.
 */
export function plainNumber(bytes: Uint8Array, start: number, end: number, kind: NumberKind): number | undefined {
  const isNegative = bytes[start] === minus;
  let digits = 0;
  let value = 0;
  let fraction = -1;
  let isCut = false;
  for (let at = isNegative ? start + 1 : start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte >= zero && byte <= nine) {
      if (digits < 15) {
        value = 10 * value + (byte - zero);
        digits++;
      } else if (kind === 'float' && fraction >= 0) isCut = true;
      else return undefined;
    } else if (byte === point && fraction < 0 && kind !== 'whole') fraction = digits;
    else return undefined;
  }
  if (digits === 0) return undefined;
  const scale = fraction < 0 ? 1 : powers[digits - fraction]!;
  // What was cut lies between these two.
  if (isCut && Math.fround(value / scale) !== Math.fround((value + 1) / scale)) return undefined;
  value /= scale;
  return isNegative ? -value : value;
}

/** The bytes as text, one character each: all that numbers need. */
export function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

const integer = /^[+-]?\d+$/;
const decimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const special = /^([+-]?)(?:(inf(?:inity)?)|nan(?:\(\w*\))?)$/i;
/** What C calls white space. */
const blanks = /^[ \t\n\v\f\r]+|[ \t\n\v\f\r]+$/g;

/** A field as an integer of 32 or 64 bits; undefined when it is none or too large. */
export function csvInteger(text: string, bits: 32 | 64): bigint | undefined {
  const trimmed = text.replace(blanks, '');
  // No integer of 64 bits is longer, but for zeros in front.
  if (!integer.test(trimmed) || trimmed.length > 400) return undefined;
  const value = BigInt(trimmed.replace('+', ''));
  return BigInt.asIntN(bits, value) === value ? value : undefined;
}

/** A field as a number; undefined when it is none. */
export function csvNumber(text: string): number | undefined {
  const trimmed = text.replace(blanks, '');
  if (decimal.test(trimmed)) return Number(trimmed);
  const word = special.exec(trimmed);
  if (!word) return hexadecimal(trimmed);
  const size = word[2] === undefined ? Number.NaN : Number.POSITIVE_INFINITY;
  return word[1] === '-' ? -size : size;
}

/** A number such as `0x1.8p3`. */
function hexadecimal(text: string): number | undefined {
  const [, sign, whole = '', part = '', power = '0'] =
    /^([+-]?)0x([\da-f]*)\.?([\da-f]*)(?:p([+-]?\d+))?$/i.exec(text) ?? [];
  if (sign === undefined || whole + part === '') return undefined;
  const size = Number(BigInt(`0x${whole}${part}`)) * 2 ** (Number(power) - 4 * part.length);
  return sign === '-' ? -size : size;
}
