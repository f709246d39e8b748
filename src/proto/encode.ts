/**
 * @file Writes records as protobuf bytes in two passes: the first measures every nested message, the second writes into
 * a buffer of exactly that size. So a huge tensor is copied once, however deep it is nested.
 */
import { InvalidArgumentError } from '../core/errors.ts';
import type { Work } from '../core/eventLoop.ts';
import { type AnyMessage, type AnyRecord, emptyList, emptyMap, type FieldEntry, Kind, varintSize } from './schema.ts';

/** What the first pass found, in the order in which the second pass will ask for it. */
interface Plan {
  readonly sizes: number[];
  readonly keys: string[][];
}

/** The bytes of a record. */
export function encodeRecord(message: AnyMessage, record: AnyRecord): Uint8Array {
  const plan: Plan = { sizes: [], keys: [] };
  const size = measureRecord(plan, message, record);
  throwIfTooLarge(message, size);
  const writer = new WireWriter(size, plan);
  writeRecord(writer, message, record);
  return writer.out;
}

function throwIfTooLarge(message: AnyMessage, size: number): void {
  if (size > 0x7fffffff)
    throw new InvalidArgumentError(
      `${message.name}: serialized it takes ${(size / 2 ** 30).toFixed(1)} GiB; a protobuf holds at most 2 GiB`,
    );
}

/** How many messages of a list are written at once; those of a graph's nodes take some tenths of a millisecond. */
const messagesAtOnce = 64;

/** The bytes of a record one after the other, in pieces that are short to make. */
export function* encodeInPieces(message: AnyMessage, record: AnyRecord): Work<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for (const field of message.table.fields) {
    const value = record[field.name];
    if (value === undefined || value === null) continue;
    if (!field.message || field.label === 'map') pieces.push(encodeRecord(message, { [field.name]: value }));
    else if (field.label !== 'repeated') pieces.push(...(yield* piecesOfField(message, field, value)));
    else {
      const list = value as readonly unknown[]; // a repeated field holds a list
      const atOnce = holdsMessages(field.message) ? 1 : messagesAtOnce;
      for (let i = 0; i < list.length; i += atOnce) {
        if (atOnce === 1) pieces.push(...(yield* piecesOfField(message, field, list[i])));
        else pieces.push(encodeRecord(message, { [field.name]: list.slice(i, i + atOnce) }));
        yield;
      }
    }
  }
  throwIfTooLarge(message, sizeOf(pieces));
  return pieces;
}

/** Whether a single record of it may be long, for the list of messages in it. */
function holdsMessages(message: AnyMessage): boolean {
  return message.table.fields.some((field) => field.message && field.label === 'repeated');
}

const sizeOf = (pieces: readonly Uint8Array[]) => pieces.reduce((sum, piece) => sum + piece.length, 0);

/** A message field with its tag and size. */
function* piecesOfField(message: AnyMessage, field: FieldEntry, value: unknown): Work<Uint8Array[]> {
  if (typeof value !== 'object' || value === null) return refuse(message, field, value, 'a record');
  const body = yield* encodeInPieces(field.message!, value as AnyRecord); // an object, checked above; only for message fields
  const size = sizeOf(body);
  const head = new WireWriter(field.tagSize + varintSize(size), { sizes: [], keys: [] });
  head.varint(field.tag);
  head.varint(size);
  return [head.out, ...body];
}

/** Whether a single field is on the wire: optional ones when present, others when they are not zero. */
function isWritten(field: FieldEntry, value: unknown): boolean {
  if (value === undefined || value === null) return false;
  if (field.label === 'optional') return true;
  if (field.kind === Kind.bytes) return (value as Uint8Array).length > 0; // a bytes field holds bytes
  // -0 has bits set, so protobuf writes it.
  return value !== field.missing || Object.is(value, -0);
}

function measureRecord(plan: Plan, message: AnyMessage, record: AnyRecord): number {
  let total = 0;
  for (const field of message.table.fields) {
    const value = record[field.name];
    if (field.label === 'repeated') {
      if (value !== undefined && value !== emptyList)
        total += measureList(plan, message, field, value as readonly unknown[]); // a repeated field holds a list
    } else if (field.label === 'map') {
      if (value !== undefined && value !== emptyMap) total += measureMap(plan, message, field, value as AnyRecord); // a map field holds a record
    } else if (isWritten(field, value)) total += field.tagSize + measureValue(plan, message, field, value);
  }
  return total;
}

function measureList(plan: Plan, message: AnyMessage, field: FieldEntry, list: readonly unknown[]): number {
  if (list.length === 0) return 0;
  if (!field.packed) {
    let total = list.length * field.tagSize;
    for (const value of list) total += measureValue(plan, message, field, value);
    return total;
  }
  let body = 0;
  for (const value of list) body += scalarSize(message, field, field.kind, value);
  plan.sizes.push(body);
  return field.tagSize + varintSize(body) + body;
}

function measureMap(plan: Plan, message: AnyMessage, field: FieldEntry, map: AnyRecord): number {
  const keys = sortedKeys(field, map);
  plan.keys.push(keys);
  let total = 0;
  for (const key of keys) {
    const slot = plan.sizes.push(0) - 1;
    const body =
      2 + scalarSize(message, field, field.key, keyValue(field, key)) + measureValue(plan, message, field, map[key]);
    plan.sizes[slot] = body;
    total += field.tagSize + varintSize(body) + body;
  }
  return total;
}

function sortedKeys(field: FieldEntry, map: AnyRecord): string[] {
  const keys = Object.keys(map);
  if (field.key !== Kind.str)
    return keys.sort((a, b) => Number(a) - Number(b) || (BigInt(a) < BigInt(b) ? -1 : BigInt(a) > BigInt(b) ? 1 : 0));
  for (let i = 1; i < keys.length; i++) if (keys[i - 1]! > keys[i]!) return keys.sort();
  return keys;
}

/** A record's key as the value its kind wants. */
function keyValue(field: FieldEntry, key: string): unknown {
  if (field.key === Kind.str) return key;
  return field.key === Kind.int32 || field.key === Kind.uint32 ? Number(key) : BigInt(key);
}

function measureValue(plan: Plan, message: AnyMessage, field: FieldEntry, value: unknown): number {
  if (field.message === undefined) return scalarSize(message, field, field.kind, value);
  if (typeof value !== 'object' || value === null) return refuse(message, field, value, 'a record');
  const slot = plan.sizes.push(0) - 1;
  const body = measureRecord(plan, field.message, value as AnyRecord); // an object, checked above
  plan.sizes[slot] = body;
  return varintSize(body) + body;
}

/** Bytes of one scalar without its tag. All checks of values happen here, before anything is written. */
function scalarSize(message: AnyMessage, field: FieldEntry, kind: Kind, value: unknown): number {
  switch (kind) {
    case Kind.double:
      return typeof value === 'number' ? 8 : refuse(message, field, value, 'a number');
    case Kind.float:
      return typeof value === 'number' ? 4 : refuse(message, field, value, 'a number');
    case Kind.fixed64:
    case Kind.sfixed64:
      integer64(message, field, kind, value);
      return 8;
    case Kind.fixed32:
      return within(message, field, value, 0, 0xffffffff) && 4;
    case Kind.sfixed32:
      return within(message, field, value, -0x80000000, 0x7fffffff) && 4;
    case Kind.bool:
      return typeof value === 'boolean' ? 1 : refuse(message, field, value, 'a boolean');
    case Kind.int32:
    case Kind.enum: {
      within(message, field, value, -0x80000000, 0x7fffffff);
      const n = value as number; // checked above
      return n < 0 ? 10 : varintSize(n);
    }
    case Kind.uint32:
      within(message, field, value, 0, 0xffffffff);
      return varintSize(value as number); // checked above
    case Kind.sint32:
      within(message, field, value, -0x80000000, 0x7fffffff);
      return varintSize(zigzag32(value as number)); // checked above
    case Kind.str: {
      if (typeof value !== 'string') return refuse(message, field, value, 'a string');
      const n = textSize(value);
      return varintSize(n) + n;
    }
    case Kind.bytes: {
      if (!(value instanceof Uint8Array)) return refuse(message, field, value, 'a Uint8Array');
      return varintSize(value.length) + value.length;
    }
    default:
      integer64(message, field, kind, value);
      split(kind, value as bigint | number); // checked above
      return bits.high === 0 ? varintSize(bits.low) : Math.ceil((64 - Math.clz32(bits.high)) / 7);
  }
}

function within(message: AnyMessage, field: FieldEntry, value: unknown, min: number, max: number): true {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max)
    refuse(message, field, value, `an integer in [${min}, ${max}]`);
  return true;
}

function integer64(message: AnyMessage, field: FieldEntry, kind: Kind, value: unknown): void {
  const unsigned = kind === Kind.uint64 || kind === Kind.fixed64 || kind === Kind.uint64Number;
  if (typeof value === 'number' && Number.isSafeInteger(value) && (!unsigned || value >= 0)) return;
  if (typeof value === 'bigint' && value === (unsigned ? BigInt.asUintN(64, value) : BigInt.asIntN(64, value))) return;
  refuse(message, field, value, unsigned ? 'an unsigned 64-bit integer' : 'a 64-bit integer (a number up to 2^53)');
}

function refuse(message: AnyMessage, field: FieldEntry, value: unknown, wanted: string): never {
  const given =
    typeof value === 'bigint' || typeof value === 'number'
      ? String(value)
      : typeof value === 'string'
        ? JSON.stringify(value.slice(0, 40))
        : value === null
          ? 'null'
          : typeof value;
  throw new InvalidArgumentError(`${message.name}.${field.name} must be ${wanted}, but ${given} was given`);
}

function textSize(text: string): number {
  const n = text.length;
  if (n < 64) {
    for (let i = 0; i < n; i++) if (text.charCodeAt(i) > 127) return Buffer.byteLength(text);
    return n;
  }
  return Buffer.byteLength(text);
}

const zigzag32 = (n: number): number => ((n << 1) ^ (n >> 31)) >>> 0;

/** The halves of the last integer that was split; one object, so that splitting allocates nothing. */
const bits = { low: 0, high: 0 };

function split(kind: Kind, value: bigint | number): void {
  if (kind === Kind.sint64) {
    const wide = BigInt(value);
    value = wide < 0n ? -2n * wide - 1n : 2n * wide;
  }
  if (typeof value === 'bigint') {
    const number = Number(value);
    if (!Number.isSafeInteger(number)) {
      bits.low = Number(BigInt.asUintN(32, value));
      bits.high = Number(BigInt.asUintN(32, value >> 32n));
      return;
    }
    value = number;
  }
  bits.low = value >>> 0;
  bits.high = Math.floor(value / 2 ** 32) >>> 0;
}

class WireWriter {
  readonly out: Uint8Array;
  private readonly buffer: Buffer;
  private readonly view: DataView;
  private pos = 0;
  private nextSize = 0;
  private nextKeys = 0;

  constructor(
    size: number,
    private readonly plan: Plan,
  ) {
    const memory = new ArrayBuffer(size);
    this.out = new Uint8Array(memory);
    this.buffer = Buffer.from(memory);
    this.view = new DataView(memory);
  }

  size(): number {
    return this.plan.sizes[this.nextSize++]!;
  }

  keys(): string[] {
    return this.plan.keys[this.nextKeys++]!;
  }

  varint(n: number): void {
    const { out } = this;
    while (n > 127) {
      out[this.pos++] = (n & 127) | 128;
      n >>>= 7;
    }
    out[this.pos++] = n;
  }

  private varint64(): void {
    const { out } = this;
    let { low, high } = bits;
    while (high !== 0 || low > 127) {
      out[this.pos++] = (low & 127) | 128;
      low = ((low >>> 7) | (high << 25)) >>> 0;
      high >>>= 7;
    }
    out[this.pos++] = low;
  }

  private text(text: string): void {
    const n = textSize(text);
    this.varint(n);
    if (n < 64 && n === text.length) {
      for (let i = 0; i < n; i++) this.out[this.pos + i] = text.charCodeAt(i);
    } else this.buffer.write(text, this.pos, 'utf8');
    this.pos += n;
  }

  /** Writes a scalar that `scalarSize` has found to be of its kind. */
  scalar(kind: Kind, value: unknown): void {
    switch (kind) {
      case Kind.double:
        this.view.setFloat64(this.pos, value as number, true);
        this.pos += 8;
        return;
      case Kind.float:
        this.view.setFloat32(this.pos, value as number, true);
        this.pos += 4;
        return;
      case Kind.fixed32:
      case Kind.sfixed32:
        this.view.setUint32(this.pos, value as number, true);
        this.pos += 4;
        return;
      case Kind.fixed64:
      case Kind.sfixed64:
        split(kind, value as bigint | number);
        this.view.setUint32(this.pos, bits.low, true);
        this.view.setUint32(this.pos + 4, bits.high, true);
        this.pos += 8;
        return;
      case Kind.bool:
        this.out[this.pos++] = value ? 1 : 0;
        return;
      case Kind.uint32:
        this.varint(value as number);
        return;
      case Kind.sint32:
        this.varint(zigzag32(value as number));
        return;
      case Kind.str:
        this.text(value as string);
        return;
      case Kind.bytes: {
        const data = value as Uint8Array;
        this.varint(data.length);
        this.out.set(data, this.pos);
        this.pos += data.length;
        return;
      }
      default:
        split(kind, value as bigint | number);
        this.varint64();
    }
  }
}

function writeRecord(writer: WireWriter, message: AnyMessage, record: AnyRecord): void {
  for (const field of message.table.fields) {
    const value = record[field.name];
    if (field.label === 'repeated') {
      if (value !== undefined && value !== emptyList) writeList(writer, field, value as readonly unknown[]); // a list
    } else if (field.label === 'map') {
      if (value !== undefined && value !== emptyMap) writeMap(writer, field, value as AnyRecord); // a record by key
    } else if (isWritten(field, value)) {
      writer.varint(field.tag);
      writeValue(writer, field, value);
    }
  }
}

function writeList(writer: WireWriter, field: FieldEntry, list: readonly unknown[]): void {
  if (list.length === 0) return;
  if (!field.packed) {
    for (const value of list) {
      writer.varint(field.tag);
      writeValue(writer, field, value);
    }
    return;
  }
  writer.varint(field.tag);
  writer.varint(writer.size());
  for (const value of list) writer.scalar(field.kind, value);
}

const keyTag = (key: Kind): number => (1 << 3) | (key === Kind.str ? 2 : key === Kind.fixed64 ? 1 : 0);

function writeMap(writer: WireWriter, field: FieldEntry, map: AnyRecord): void {
  for (const key of writer.keys()) {
    writer.varint(field.tag);
    writer.varint(writer.size());
    writer.varint(keyTag(field.key));
    writer.scalar(field.key, keyValue(field, key));
    writer.varint((2 << 3) | field.wire);
    writeValue(writer, field, map[key]);
  }
}

function writeValue(writer: WireWriter, field: FieldEntry, value: unknown): void {
  if (field.message === undefined) {
    writer.scalar(field.kind, value);
    return;
  }
  writer.varint(writer.size());
  writeRecord(writer, field.message, value as AnyRecord); // measured before, so it is a record
}
