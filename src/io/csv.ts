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

/** The fields of one record that are wanted, as views of it where they stand in it as they are. */
export function csvFields(record: Uint8Array, { delimiter, useQuotes, columns }: CsvOptions): Uint8Array[] {
  const fields: Uint8Array[] = [];
  const { length } = record;
  const isWanted = (column: number) => columns.length === 0 || columns[fields.length] === column;
  let pos = 0;
  let column = 0;
  while (pos < length) {
    const first = record[pos]!;
    if (first === newline || first === carriageReturn) {
      pos++;
      continue;
    }
    const wanted = isWanted(column++);
    const [field, next] =
      useQuotes && first === quote
        ? quotedField(record, pos + 1, delimiter)
        : plainField(record, pos, delimiter, useQuotes);
    pos = next;
    if (!wanted) continue;
    fields.push(field);
    if (fields.length === columns.length) return fields;
  }
  // A delimiter at the end is followed by one more, empty field.
  if (length > 0 && record[length - 1] === delimiter && isWanted(column)) fields.push(record.subarray(length));
  return fields;
}

/** A field without quotes, and where the one after it begins. */
function plainField(
  record: Uint8Array,
  start: number,
  delimiter: number,
  useQuotes: boolean,
): readonly [Uint8Array, number] {
  let end = start;
  for (; end < record.length; end++) {
    const byte = record[end]!;
    if (byte === delimiter) break;
    if ((useQuotes && byte === quote) || byte === newline || byte === carriageReturn)
      throw new InvalidArgumentError('Unquoted fields cannot have quotes/CRLFs inside');
  }
  return [record.subarray(start, end), end + 1];
}

/** A field from behind its opening quote. */
function quotedField(record: Uint8Array, start: number, delimiter: number): readonly [Uint8Array, number] {
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
  const field = record.subarray(start, pos);
  return [hasQuotes ? withoutDoubled(field) : field, pos + 2];
}

/** The field with every pair of quotes as one. */
function withoutDoubled(field: Uint8Array): Uint8Array {
  const plain = new Uint8Array(field.length);
  let length = 0;
  for (let i = 0; i < field.length; i++) {
    plain[length++] = field[i]!;
    if (field[i] === quote) i++;
  }
  return plain.subarray(0, length);
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
