/** @file Prints records in protobuf's text format, letter for letter as Python's `text_format.MessageToString` does. */
import type { Init, Message } from './message.ts';
import { type AnyMessage, type AnyRecord, type FieldEntry, Kind, zeroOf } from './schema.ts';

/** The text form of a record. */
export function printText<T>(message: Message<T>, record: Init<T>): string {
  const lines: string[] = [];
  printRecord(lines, message, record as AnyRecord, ''); // every record type is an object with string keys
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

function printRecord(lines: string[], message: AnyMessage, record: AnyRecord, indent: string): void {
  for (const field of message.table.fields) {
    const value = record[field.name];
    if (value === undefined) continue;
    if (field.label === 'repeated') {
      for (const x of value as readonly unknown[]) printField(lines, field, field.name, x, indent); // a list
    } else if (field.label === 'map')
      printMap(lines, field, value as AnyRecord, indent); // a record by key
    else if (field.label === 'optional' || !isZero(field.kind, value))
      printField(lines, field, field.name, value, indent);
  }
}

function printMap(lines: string[], field: FieldEntry, map: AnyRecord, indent: string): void {
  const keys = Object.keys(map);
  if (field.key === Kind.str) keys.sort();
  else keys.sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1));
  for (const key of keys) {
    lines.push(`${indent}${field.name} {`);
    // Inside an entry, zero and empty are left out like anywhere else.
    if (key !== String(zeroOf(field.key)))
      lines.push(`${indent}  key: ${field.key === Kind.str ? quoteText(key) : key}`);
    if (field.message || !isZero(field.kind, map[key])) printField(lines, field, 'value', map[key], `${indent}  `);
    lines.push(`${indent}}`);
  }
}

function printField(lines: string[], field: FieldEntry, name: string, value: unknown, indent: string): void {
  if (!field.message) {
    lines.push(`${indent}${name}: ${printScalar(field, value)}`);
    return;
  }
  lines.push(`${indent}${name} {`);
  printRecord(lines, field.message, value as AnyRecord, `${indent}  `); // a message field holds a record
  lines.push(`${indent}}`);
}

function isZero(kind: Kind, value: unknown): boolean {
  if (kind === Kind.bytes) return (value as Uint8Array).length === 0; // a bytes field holds bytes
  return Object.is(value, zeroOf(kind));
}

function printScalar(field: FieldEntry, value: unknown): string {
  switch (field.kind) {
    case Kind.str:
      return quoteText(String(value));
    case Kind.bytes:
      return quoteBytes(value as Uint8Array); // a bytes field holds bytes
    case Kind.float:
      return printDouble(shortestFloat(Number(value)));
    case Kind.double:
      return printDouble(Number(value));
    case Kind.enum:
      return field.enumType?.names.get(Number(value)) ?? String(value);
    default:
      return String(value);
  }
}

const escapes = Array.from({ length: 128 }, (_, code) =>
  code < 32 || code === 127 ? `\\${code.toString(8).padStart(3, '0')}` : String.fromCharCode(code),
);
for (const [char, text] of Object.entries({
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  '"': '\\"',
  "'": "\\'",
  '\\': '\\\\',
}))
  escapes[char.charCodeAt(0)] = text;
const plainText = /^[ !#-&(-[\]-~\u0080-\uffff]*$/;

/** Text keeps its letters; only control characters, quotes and backslashes are escaped. */
function quoteText(text: string): string {
  if (plainText.test(text)) return `"${text}"`;
  let out = '"';
  for (let i = 0; i < text.length; i++) out += escapes[text.charCodeAt(i)] ?? text[i]!;
  return `${out}"`;
}

function quoteBytes(bytes: Uint8Array): string {
  const parts = new Array<string>(bytes.length);
  for (let i = 0; i < bytes.length; i++) parts[i] = escapes[bytes[i]!] ?? `\\${bytes[i]!.toString(8)}`;
  return `"${parts.join('')}"`;
}

/** Python's `repr` of a float: digits as JavaScript finds them, exponents as Python writes them. */
function printDouble(x: number): string {
  if (Number.isNaN(x)) return 'nan';
  if (!Number.isFinite(x)) return x > 0 ? 'inf' : '-inf';
  if (Object.is(x, -0)) return '-0.0';
  const magnitude = Math.abs(x);
  if (magnitude !== 0 && (magnitude < 1e-4 || magnitude >= 1e16)) {
    const [mantissa, exponent] = x.toExponential().split('e');
    return `${mantissa}e${exponent![0]}${exponent!.slice(1).padStart(2, '0')}`;
  }
  if (Number.isInteger(x)) return `${BigInt(x)}.0`;
  return String(x);
}

/** The number with the fewest digits, six at least, that is the same float32. */
function shortestFloat(x: number): number {
  if (!Number.isFinite(x) || x === 0) return x;
  for (let digits = 6; digits < 9; digits++) {
    const rounded = roundToEven(x, digits);
    if (Math.fround(rounded) === x) return rounded;
  }
  return Number(x.toPrecision(9));
}

/** `x` rounded to so many digits; exact halves go to the even digit, where `toPrecision` always goes up. */
function roundToEven(x: number, digits: number): number {
  const [mantissa, exponent] = Math.abs(x).toExponential(40).split('e');
  const all = mantissa!.replace('.', '');
  const isHalf = /^50*$/.test(all.slice(digits));
  if (!isHalf || Number(all[digits - 1]) % 2 === 1) return Number(x.toPrecision(digits));
  return Math.sign(x) * Number(`${all[0]}.${all.slice(1, digits)}e${exponent}`);
}
