/** @file What a message schema is at run time: the field kinds, and the tables by field number that the codec walks. */

/** How one value looks on the wire and in a record. Numbers, not names, so that the codec's switches are jump tables. */
export const Kind = {
  double: 0,
  float: 1,
  int32: 2,
  int64: 3,
  uint32: 4,
  uint64: 5,
  sint32: 6,
  sint64: 7,
  fixed32: 8,
  fixed64: 9,
  sfixed32: 10,
  sfixed64: 11,
  bool: 12,
  enum: 13,
  /** int64 and uint64 on the wire, a `number` in the record. */
  int64Number: 14,
  uint64Number: 15,
  str: 16,
  bytes: 17,
  message: 18,
} as const;
export type Kind = (typeof Kind)[keyof typeof Kind];

const wireVarint = 0;
const wireFixed64 = 1;
export const wireDelimited = 2;
const wireFixed32 = 5;

/** The names of an enum's values; values travel through records as plain numbers, known or not. */
export interface EnumType<M extends Record<string, number> = Record<string, number>> {
  readonly name: string;
  readonly values: M;
  /** Names by number; of aliases the first. */
  readonly names: ReadonlyMap<number, string>;
}

/** How many values a field has in a record: exactly one, one or none, a list, or a record by key. */
export type Label = 'single' | 'optional' | 'repeated' | 'map';

/** A field as it is declared. `T` is the type of its value in a record and exists only for the compiler. */
export interface Field<T = unknown, L extends Label = Label> {
  readonly number: number;
  readonly kind: Kind;
  readonly label: L;
  /** Key kind of a map field. */
  readonly key?: Kind;
  readonly enumType?: EnumType;
  /** A function, because messages refer to each other in circles. */
  readonly message?: () => AnyMessage;
  /** Members of one `oneof` share this object. */
  readonly oneof?: object;
  readonly valueType?: T;
}

/** A record of unknown type, as the codec handles it. */
export type AnyRecord = Record<string, unknown>;

/** What the codec and the text format need of a message, whatever its type. */
export interface AnyMessage {
  readonly name: string;
  readonly table: Table;
  complete(init: AnyRecord): AnyRecord;
}

/** One field, ready for the codec. */
export interface FieldEntry {
  readonly name: string;
  readonly number: number;
  readonly kind: Kind;
  readonly label: Label;
  readonly key: Kind;
  /** The tag as written: field number and wire type, which for packed lists is 2. */
  readonly tag: number;
  readonly tagSize: number;
  /** The wire type of one value outside a packed list. */
  readonly wire: number;
  readonly packed: boolean;
  /** What a record holds when the wire has nothing; `undefined` for optional fields. */
  readonly missing: unknown;
  readonly enumType: EnumType | undefined;
  readonly message: AnyMessage | undefined;
  /** Names of the other members of this field's oneof. */
  readonly rivals: readonly string[];
}

/** A message's fields in the two orders the codec needs. */
export interface Table {
  /** Ascending field numbers: the order in which every protobuf library writes. */
  readonly fields: readonly FieldEntry[];
  readonly byNumber: readonly (FieldEntry | undefined)[];
  readonly byName: ReadonlyMap<string, FieldEntry>;
  /** A record with nothing set. */
  readonly empty: AnyRecord;
}

/** Shared by all records whose list or map is empty; frozen, because nobody owns it. */
export const emptyList: readonly unknown[] = Object.freeze([]);
export const emptyMap: Readonly<AnyRecord> = Object.freeze({});
const emptyBytes = new Uint8Array(0);

const isPackable = (kind: Kind): boolean => kind < Kind.str;

function wireTypeOf(kind: Kind): number {
  switch (kind) {
    case Kind.double:
    case Kind.fixed64:
    case Kind.sfixed64:
      return wireFixed64;
    case Kind.float:
    case Kind.fixed32:
    case Kind.sfixed32:
      return wireFixed32;
    case Kind.str:
    case Kind.bytes:
    case Kind.message:
      return wireDelimited;
    default:
      return wireVarint;
  }
}

/** The value a scalar has when it is not on the wire. */
export function zeroOf(kind: Kind): unknown {
  switch (kind) {
    case Kind.int64:
    case Kind.uint64:
    case Kind.sint64:
    case Kind.fixed64:
    case Kind.sfixed64:
      return 0n;
    case Kind.bool:
      return false;
    case Kind.str:
      return '';
    case Kind.bytes:
      return emptyBytes;
    case Kind.message:
      return undefined;
    default:
      return 0;
  }
}

/** Bytes of an unsigned 32-bit varint. */
export function varintSize(n: number): number {
  return n < 0x80 ? 1 : n < 0x4000 ? 2 : n < 0x200000 ? 3 : n < 0x10000000 ? 4 : 5;
}

function missingValue(field: Field): unknown {
  if (field.label === 'repeated') return emptyList;
  if (field.label === 'map') return emptyMap;
  return field.label === 'optional' ? undefined : zeroOf(field.kind);
}

/** Turns declared fields into the codec's tables. */
export function compile(declared: Readonly<Record<string, Field>>): Table {
  const names = Object.keys(declared).sort((a, b) => declared[a]!.number - declared[b]!.number);
  const byNumber: (FieldEntry | undefined)[] = [];
  const empty: AnyRecord = {};
  const fields = names.map((name): FieldEntry => {
    const field = declared[name]!;
    const packed = field.label === 'repeated' && isPackable(field.kind);
    const wire = wireTypeOf(field.kind);
    const tag = ((field.number << 3) | (packed || field.label === 'map' ? wireDelimited : wire)) >>> 0;
    const missing = missingValue(field);
    if (missing !== undefined) empty[name] = missing;
    const entry: FieldEntry = {
      name,
      number: field.number,
      kind: field.kind,
      label: field.label,
      key: field.key ?? Kind.str,
      tag,
      tagSize: varintSize(tag),
      wire,
      packed,
      missing,
      enumType: field.enumType,
      message: field.message?.(),
      rivals: field.oneof ? names.filter((n) => n !== name && declared[n]!.oneof === field.oneof) : [],
    };
    byNumber[field.number] = entry;
    return entry;
  });
  return { fields, byNumber, byName: new Map(fields.map((f) => [f.name, f])), empty };
}
