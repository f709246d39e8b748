/** @file A place in a text-format text, and how to read the smallest pieces there: names, brackets, numbers, strings. */
import { InvalidArgumentError } from '../core/errors.ts';
import { type FieldEntry, Kind } from './schema.ts';

const blank = /(?:\s|#[^\n]*)*/y;
const identifier = /[A-Za-z_][A-Za-z0-9_]*/y;
const integer = /-?\s*(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)(?![\w.])/y;
const decimal = /-?\s*(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fF]?|inf(?:inity)?f?|nanf?)(?![\w.])/iy;
const escapeSequence = /\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))/sy;

const letters: Record<string, number> = {
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
  '\\': 92,
  "'": 39,
  '"': 34,
  '?': 63,
};

const ranges: Partial<Record<Kind, readonly [bigint, bigint]>> = {
  [Kind.int32]: [-(2n ** 31n), 2n ** 31n - 1n],
  [Kind.sint32]: [-(2n ** 31n), 2n ** 31n - 1n],
  [Kind.sfixed32]: [-(2n ** 31n), 2n ** 31n - 1n],
  [Kind.uint32]: [0n, 2n ** 32n - 1n],
  [Kind.fixed32]: [0n, 2n ** 32n - 1n],
  [Kind.uint64]: [0n, 2n ** 64n - 1n],
  [Kind.fixed64]: [0n, 2n ** 64n - 1n],
  [Kind.int64Number]: [-(2n ** 53n) + 1n, 2n ** 53n - 1n],
  [Kind.uint64Number]: [0n, 2n ** 53n - 1n],
};
const int64Range = [-(2n ** 63n), 2n ** 63n - 1n] as const;
const isBigint = (kind: Kind) =>
  kind === Kind.int64 ||
  kind === Kind.uint64 ||
  kind === Kind.sint64 ||
  kind === Kind.fixed64 ||
  kind === Kind.sfixed64;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export class TextCursor {
  pos = 0;

  constructor(private readonly source: string) {
    this.skipBlank();
  }

  fail(what: string, at = this.pos): never {
    const before = this.source.slice(0, at).split('\n');
    throw new InvalidArgumentError(`${before.length}:${before.at(-1)!.length + 1}: ${what}`);
  }

  private skipBlank(): void {
    blank.lastIndex = this.pos;
    blank.exec(this.source);
    this.pos = blank.lastIndex;
  }

  private match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.pos;
    const found = pattern.exec(this.source);
    if (found) {
      this.pos = pattern.lastIndex;
      this.skipBlank();
    }
    return found;
  }

  /** What stands here, for error messages. */
  private here(): string {
    if (this.pos >= this.source.length) return 'the text ends';
    return `${JSON.stringify(/^(?:\w+|.)/s.exec(this.source.slice(this.pos, this.pos + 30))![0])} stands here`;
  }

  /** Steps over a punctuation mark if it is next. */
  take(mark: string): boolean {
    if (this.source[this.pos] !== mark) return false;
    this.pos++;
    this.skipBlank();
    return true;
  }

  separator(): void {
    if (!this.take(',')) this.take(';');
  }

  /** Steps over an opening bracket and returns the one that closes it. */
  open(name: string): string {
    if (this.take('{')) return '}';
    if (this.take('<')) return '>';
    return this.fail(`"{" is expected after "${name}", but ${this.here()}`);
  }

  /** Whether a record ends here: at its bracket, or, for the outermost one (`close` is empty), at the end of the text. */
  closes(close: string, name: string): boolean {
    if (this.pos < this.source.length) return close !== '' && this.take(close);
    if (close !== '') this.fail(`the text ends inside "${name}"; "${close}" is missing`);
    return true;
  }

  identifier(wanted: string): string {
    return this.match(identifier)?.[0] ?? this.fail(`${wanted} is expected, but ${this.here()}`);
  }

  integer(kind: Kind): number | bigint {
    const at = this.pos;
    const found = this.match(integer);
    if (!found) return this.fail(`an integer is expected, but ${this.here()}`);
    const value = toBigint(found[0]);
    const [min, max] = ranges[kind] ?? int64Range;
    if (value < min || value > max) this.fail(`${value} is not in [${min}, ${max}]`, at);
    return isBigint(kind) ? value : Number(value);
  }

  float(): number {
    const found = this.match(decimal);
    if (!found) return Number(this.integer(Kind.int64));
    const text = found[0].replace(/\s/g, '').toLowerCase();
    const sign = text.startsWith('-') ? -1 : 1;
    const digits = sign < 0 ? text.slice(1) : text;
    if (digits.startsWith('inf')) return sign * Number.POSITIVE_INFINITY;
    if (digits.startsWith('nan')) return Number.NaN;
    return sign * Number(digits.replace(/f$/, ''));
  }

  bool(): boolean {
    const at = this.pos;
    const word = this.match(identifier)?.[0] ?? this.match(integer)?.[0];
    if (word === 'true' || word === 'True' || word === 't' || word === '1') return true;
    if (word === 'false' || word === 'False' || word === 'f' || word === '0') return false;
    return this.fail('true or false is expected', at);
  }

  enumValue(field: FieldEntry): number {
    const at = this.pos;
    const name = this.match(identifier)?.[0];
    if (name === undefined) return Number(this.integer(Kind.int32));
    const values = field.enumType?.values;
    if (!values || !Object.hasOwn(values, name))
      return this.fail(`"${name}" is not a value of the enum ${field.enumType?.name}`, at);
    return values[name]!;
  }

  text(): string {
    const at = this.pos;
    try {
      return utf8.decode(this.bytes());
    } catch (error) {
      if (error instanceof InvalidArgumentError) throw error;
      return this.fail('the string is not valid UTF-8', at);
    }
  }

  /** One or more quoted strings; neighbours are joined, as in C. */
  bytes(): Uint8Array {
    const parts: Buffer[] = [];
    while (this.source[this.pos] === '"' || this.source[this.pos] === "'") parts.push(this.quoted());
    if (parts.length === 0) this.fail(`a string in quotes is expected, but ${this.here()}`);
    return new Uint8Array(parts.length === 1 ? parts[0]! : Buffer.concat(parts));
  }

  private quoted(): Buffer {
    const { source, pos: start } = this;
    const quote = source[start]!;
    let end = start + 1;
    while (end < source.length && source[end] !== quote && source[end] !== '\n') end += source[end] === '\\' ? 2 : 1;
    if (source[end] !== quote) this.fail(`the string is not closed on its line; ${quote} is missing`, start);
    this.pos = end + 1;
    this.skipBlank();
    return this.unescape(source.slice(start + 1, end), start + 1);
  }

  private unescape(body: string, at: number): Buffer {
    if (!body.includes('\\')) return Buffer.from(body, 'utf8');
    const parts: Buffer[] = [];
    let from = 0;
    for (let i = body.indexOf('\\'); i >= 0; i = body.indexOf('\\', from)) {
      if (i > from) parts.push(Buffer.from(body.slice(from, i), 'utf8'));
      escapeSequence.lastIndex = i;
      const found = escapeSequence.exec(body);
      parts.push(this.escaped(found, at + i));
      from = escapeSequence.lastIndex;
    }
    if (from < body.length) parts.push(Buffer.from(body.slice(from), 'utf8'));
    return Buffer.concat(parts);
  }

  private escaped(found: RegExpExecArray | null, at: number): Buffer {
    const [, octal, hex, short, long, letter] = found ?? [];
    if (octal !== undefined) {
      const code = Number.parseInt(octal, 8);
      return code < 256 ? Buffer.of(code) : this.fail(`\\${octal} is more than a byte`, at);
    }
    if (hex !== undefined) return Buffer.of(Number.parseInt(hex, 16));
    const point = short ?? long;
    if (point !== undefined) {
      const code = Number.parseInt(point, 16);
      return code <= 0x10ffff ? Buffer.from(String.fromCodePoint(code)) : this.fail(`${point} is no character`, at);
    }
    const code = letters[letter ?? ''];
    return code === undefined ? this.fail(`"\\${letter}" is not an escape`, at) : Buffer.of(code);
  }
}

/** Decimal, `0x` hexadecimal, or octal with a leading zero. */
function toBigint(text: string): bigint {
  const digits = text.replace(/[-\s]/g, '');
  const magnitude = BigInt(/^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits);
  return text.startsWith('-') ? -magnitude : magnitude;
}
