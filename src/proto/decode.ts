/** @file Reads records from protobuf bytes. Whatever the bytes are, it ends with a record or a clear error. */
import protobuf from 'protobufjs/minimal.js';
import { DataLossError, InvalidArgumentError, OpError } from '../core/errors.ts';
import {
  type AnyMessage,
  type AnyRecord,
  emptyList,
  emptyMap,
  type FieldEntry,
  Kind,
  wireDelimited,
  zeroOf,
} from './schema.ts';

/** As deep as protobuf's own libraries go. */
const maxDepth = 100;
/** Shorter `bytes` values are copied, so that a small attribute does not keep a whole model file in memory. */
const shareFrom = 4096;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** protobufjs's reader, with bigints, exact numbers, checked text, and the message it is in the middle of. */
class WireReader extends protobuf.Reader {
  low = 0;
  high = 0;
  current: AnyMessage;
  /** The same bytes as a Buffer, which makes strings faster. */
  private readonly source: Buffer;

  constructor(bytes: Uint8Array, root: AnyMessage) {
    super(bytes);
    this.source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.current = root;
  }

  /** Reads a varint of up to 64 bits into `low` and `high`. */
  varint64(): void {
    const { buf, len } = this;
    let pos = this.pos;
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (pos >= len) break;
      const byte = buf[pos++]!;
      const bits = byte & 127;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high = bits >>> 4;
      } else high |= bits << (shift - 32);
      if (byte < 128) {
        this.pos = pos;
        this.low = low >>> 0;
        this.high = high >>> 0;
        return;
      }
    }
    throw new RangeError('a varint does not end');
  }

  fixedBits(): void {
    this.low = this.fixed32();
    this.high = this.fixed32();
  }

  unsigned(): bigint {
    return this.high === 0 ? BigInt(this.low) : (BigInt(this.high) << 32n) | BigInt(this.low);
  }

  signed(): bigint {
    return this.high === 0 ? BigInt(this.low) : BigInt.asIntN(64, this.unsigned());
  }

  zigzag(): bigint {
    const bits = this.unsigned();
    return bits & 1n ? -((bits + 1n) >> 1n) : bits >> 1n;
  }

  exactNumber(signed: boolean): number {
    const value = (signed ? this.high | 0 : this.high) * 2 ** 32 + this.low;
    if (!Number.isSafeInteger(value))
      throw new InvalidArgumentError(
        `${this.current.name}: the integer ${signed ? this.signed() : this.unsigned()} before byte ${this.pos} is beyond 2^53`,
      );
    return value;
  }

  /** The end of a length-delimited value that starts here, once its length is read. */
  end(): number {
    const length = this.size();
    if (length > this.len - this.pos)
      throw new RangeError(`${length} bytes are announced, but ${this.len - this.pos} are left`);
    return this.pos + length;
  }

  text(): string {
    const end = this.end();
    const start = this.pos;
    this.pos = end;
    return textOf(this.source, start, end);
  }

  data(): Uint8Array {
    const end = this.end();
    const start = this.pos;
    this.pos = end;
    return end - start < shareFrom ? this.buf.slice(start, end) : this.buf.subarray(start, end);
  }
}

/** Names, kinds and keys repeat thousands of times in a graph: recently read short texts, by a hash of their bytes. */
const recent = new Array<string>(4096).fill('');

function textOf(buf: Buffer, start: number, end: number): string {
  const length = end - start;
  if (length === 0) return '';
  if (length > 40) return utf8.decode(buf.subarray(start, end));
  let hash = length;
  for (let i = start; i < end; i++) {
    const byte = buf[i]!;
    if (byte > 127) return utf8.decode(buf.subarray(start, end));
    hash = (Math.imul(hash, 31) + byte) | 0;
  }
  const slot = (hash ^ (hash >>> 12)) & 4095;
  const known = recent[slot]!;
  if (known.length === length) {
    let i = 0;
    while (i < length && known.charCodeAt(i) === buf[start + i]) i++;
    if (i === length) return known;
  }
  const text = buf.toString('latin1', start, end);
  recent[slot] = text;
  return text;
}

/** Reads a whole message. */
export function decodeRecord(message: AnyMessage, bytes: Uint8Array): AnyRecord {
  // A plain view, so that `bytes` fields are plain Uint8Arrays even when a Buffer was given.
  const plain = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const reader = new WireReader(plain, message);
  try {
    return readMessage(reader, message, undefined, plain.length, 1);
  } catch (error) {
    if (error instanceof OpError) throw error;
    const where = reader.current === message ? message.name : `${reader.current.name} in ${message.name}`;
    const why = error instanceof Error ? error.message : String(error);
    throw new DataLossError(`${where}: damaged at byte ${reader.pos} of ${plain.length}: ${why}`, { cause: error });
  }
}

/** Reads a message that ends at `end`, into the record `before` if there is one. */
function readMessage(
  reader: WireReader,
  message: AnyMessage,
  before: AnyRecord | undefined,
  end: number,
  depth: number,
): AnyRecord {
  if (depth > maxDepth) throw new RangeError(`messages are nested deeper than ${maxDepth} levels`);
  const outer = reader.current;
  const outerEnd = reader.len;
  reader.current = message;
  reader.len = end;
  const { byNumber, empty } = message.table;
  const record = before ?? { ...empty };
  let mayHaveRivals = before !== undefined;
  while (reader.pos < end) {
    const tag = reader.tag();
    const field = byNumber[tag >>> 3];
    if (field === undefined || !readField(reader, field, tag & 7, record, depth))
      reader.skipType(tag & 7, depth, tag >>> 3);
    else if (field.rivals.length > 0) {
      if (mayHaveRivals) for (const rival of field.rivals) delete record[rival];
      mayHaveRivals = true;
    }
  }
  reader.current = outer;
  reader.len = outerEnd;
  return record;
}

/** Reads one field into the record; `false` when the wire type is not the field's, which makes it an unknown field. */
function readField(reader: WireReader, field: FieldEntry, wire: number, record: AnyRecord, depth: number): boolean {
  const { name } = field;
  if (field.label === 'repeated') {
    if (field.packed && wire === wireDelimited) readPacked(reader, field, listOf(record, name));
    else if (wire !== field.wire) return false;
    else listOf(record, name).push(readValue(reader, field, depth, undefined));
    return true;
  }
  if (field.label === 'map') {
    if (wire !== wireDelimited) return false;
    readEntry(reader, field, record, depth);
    return true;
  }
  if (wire !== field.wire) return false;
  record[name] = readValue(reader, field, depth, record[name]);
  return true;
}

/** The record's own list; the one it starts with is shared. */
function listOf(record: AnyRecord, name: string): unknown[] {
  const list = record[name];
  if (list !== emptyList) return list as unknown[]; // a repeated field always holds a list
  const own: unknown[] = [];
  record[name] = own;
  return own;
}

/** One value. A message field that comes twice is merged into what came before, as protobuf demands. */
function readValue(reader: WireReader, field: FieldEntry, depth: number, before: unknown): unknown {
  const { message } = field;
  if (message === undefined) return readScalar(reader, field.kind);
  return readMessage(reader, message, before as AnyRecord | undefined, reader.end(), depth + 1); // read here earlier
}

function readPacked(reader: WireReader, field: FieldEntry, list: unknown[]): void {
  if (field.kind === Kind.float) {
    reader.floats(list as number[]); // a float field's list holds numbers
    return;
  }
  if (field.kind === Kind.double) {
    reader.doubles(list as number[]); // likewise
    return;
  }
  const outerEnd = reader.len;
  const end = reader.end();
  reader.len = end;
  while (reader.pos < end) list.push(readScalar(reader, field.kind));
  reader.len = outerEnd;
}

/** A map entry is a message with the key as field 1 and the value as field 2. */
function readEntry(reader: WireReader, field: FieldEntry, record: AnyRecord, depth: number): void {
  const outerEnd = reader.len;
  const end = reader.end();
  reader.len = end;
  let key: unknown = zeroOf(field.key);
  let value: unknown;
  while (reader.pos < end) {
    const tag = reader.tag();
    const number = tag >>> 3;
    // Keys are text or varints; fixed64 keys are the one exception and are told apart by their kind.
    if (number === 1 && (tag & 7) === keyWire(field.key)) key = readScalar(reader, field.key);
    else if (number === 2 && (tag & 7) === field.wire) value = readValue(reader, field, depth + 1, value);
    else reader.skipType(tag & 7, depth, number);
  }
  reader.len = outerEnd;
  if (value === undefined) value = field.message ? { ...field.message.table.empty } : zeroOf(field.kind);
  setKey(mapOf(record, field.name), String(key), value);
}

const keyWire = (key: Kind): number => (key === Kind.str ? wireDelimited : key === Kind.fixed64 ? 1 : 0);

function mapOf(record: AnyRecord, name: string): AnyRecord {
  const map = record[name];
  if (map !== emptyMap) return map as AnyRecord; // a map field always holds a record
  const own: AnyRecord = {};
  record[name] = own;
  return own;
}

/** Sets a key that comes from outside: `__proto__` must become a key like any other. */
export function setKey(map: AnyRecord, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
  else map[key] = value;
}

function readScalar(reader: WireReader, kind: Kind): unknown {
  switch (kind) {
    case Kind.double:
      return reader.double();
    case Kind.float:
      return reader.float();
    case Kind.int32:
    case Kind.enum:
      return reader.int32();
    case Kind.uint32:
      return reader.uint32();
    case Kind.sint32:
      return reader.sint32();
    case Kind.fixed32:
      return reader.fixed32();
    case Kind.sfixed32:
      return reader.sfixed32();
    case Kind.bool:
      reader.varint64();
      return reader.low !== 0 || reader.high !== 0;
    case Kind.int64:
      reader.varint64();
      return reader.signed();
    case Kind.uint64:
      reader.varint64();
      return reader.unsigned();
    case Kind.sint64:
      reader.varint64();
      return reader.zigzag();
    case Kind.fixed64:
      reader.fixedBits();
      return reader.unsigned();
    case Kind.sfixed64:
      reader.fixedBits();
      return reader.signed();
    case Kind.int64Number:
      reader.varint64();
      return reader.exactNumber(true);
    case Kind.uint64Number:
      reader.varint64();
      return reader.exactNumber(false);
    case Kind.str:
      return reader.text();
    case Kind.bytes:
      return reader.data();
    default:
      throw new RangeError(`field kind ${kind} is not a scalar`);
  }
}
