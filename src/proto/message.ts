/** @file The schema language: protobuf messages declared in TypeScript, with the types of their records inferred. */
import type { Work } from '../core/eventLoop.ts';
import { decodeRecord } from './decode.ts';
import { encodeInPieces, encodeRecord } from './encode.ts';
import {
  type AnyMessage,
  type AnyRecord,
  compile,
  type EnumType,
  emptyList,
  emptyMap,
  type Field,
  Kind,
  type Label,
  type Table,
} from './schema.ts';

type Fields = Readonly<Record<string, Field>>;
type ValueOf<F> = F extends Field<infer T, Label> ? T : never;
type Flat<T> = { [K in keyof T]: T[K] };

/** The record of a message with the fields `F`. Only optional fields may be missing from it. */
export type RecordOf<F extends Fields> = Flat<
  { readonly [K in keyof F as F[K] extends Field<unknown, 'optional'> ? never : K]: ValueOf<F[K]> } & {
    readonly [K in keyof F as F[K] extends Field<unknown, 'optional'> ? K : never]?: ValueOf<F[K]>;
  }
>;

/** A record in which anything that has a default may be left out, at any depth. */
export type Init<T> = T extends Uint8Array | string | number | bigint | boolean
  ? T
  : T extends readonly (infer U)[]
    ? readonly Init<U>[]
    : { readonly [K in keyof T]?: Init<T[K]> | undefined };

/** The record type of a message: `type NodeDef = MessageType<typeof NodeDef>`. */
export type MessageType<M> = M extends Message<infer T> ? T : never;

/** A protobuf message: makes, writes and reads plain records of type `T`. */
export class Message<T> implements AnyMessage {
  #table: Table | undefined;
  constructor(
    readonly name: string,
    private readonly fields: Fields,
  ) {}

  /** Made on first use, when all the messages that this one names exist. */
  get table(): Table {
    this.#table ??= compile(this.fields);
    return this.#table;
  }

  /** The serialized record. Map entries are sorted by key, so equal records give equal bytes. */
  encode(value: Init<T>): Uint8Array {
    return encodeRecord(this, value as AnyRecord); // every record type is an object with string keys
  }

  /** The bytes that `encode` gives, in pieces, with pauses between them. */
  encodeInPieces(value: Init<T>): Work<Uint8Array[]> {
    return encodeInPieces(this, value as AnyRecord); // as above
  }

  /**
   * Reads a serialized record. Long `bytes` fields share memory with the input. Throws `DataLossError` when the bytes
   * are damaged or cut off.
   */
  decode(bytes: Uint8Array): T {
    return decodeRecord(this, bytes) as T; // the table that drives decoding is the one T was inferred from
  }

  /** A whole record from a partial one: what is not given gets its default. */
  create(init: Init<T> = {} as Init<T>): T {
    return this.complete(init as AnyRecord) as T; // complete fills in exactly what Init allows to be missing
  }

  complete(init: AnyRecord): AnyRecord {
    const out: AnyRecord = { ...this.table.empty };
    for (const field of this.table.fields) {
      const value = init[field.name];
      if (value === undefined) continue;
      const { message } = field;
      if (!message) out[field.name] = value;
      else if (field.label === 'repeated') {
        const list = value as readonly AnyRecord[]; // a repeated message field holds a list of records
        out[field.name] = list.length === 0 ? emptyList : list.map((x) => message.complete(x));
      } else if (field.label === 'map') {
        const entries = Object.entries(value as Record<string, AnyRecord>); // a map field holds records by key
        out[field.name] =
          entries.length === 0 ? emptyMap : Object.fromEntries(entries.map(([k, x]) => [k, message.complete(x)]));
      } else out[field.name] = message.complete(value as AnyRecord); // a message field holds a record
    }
    return out;
  }
}

/** Declares a message. Fields may stand in any order; the wire order is by number. */
export function message<const F extends Fields>(name: string, fields: F): Message<RecordOf<F>> {
  return new Message(name, fields);
}

/** Declares an enum; `DataType.values.DT_FLOAT` is its number. */
export function enumeration<const M extends Record<string, number>>(name: string, values: M): EnumType<M> {
  const names = new Map<number, string>();
  for (const [key, number] of Object.entries(values)) if (!names.has(number)) names.set(number, key);
  return { name, values, names };
}

function scalarField<T>(kind: Kind): (number: number) => Field<T, 'single'> {
  return (number) => ({ number, kind, label: 'single' });
}

export const double = scalarField<number>(Kind.double);
export const float = scalarField<number>(Kind.float);
export const int32 = scalarField<number>(Kind.int32);
export const int64 = scalarField<bigint>(Kind.int64);
export const uint32 = scalarField<number>(Kind.uint32);
export const uint64 = scalarField<bigint>(Kind.uint64);
export const sint32 = scalarField<number>(Kind.sint32);
export const sint64 = scalarField<bigint>(Kind.sint64);
export const fixed32 = scalarField<number>(Kind.fixed32);
export const fixed64 = scalarField<bigint>(Kind.fixed64);
export const sfixed32 = scalarField<number>(Kind.sfixed32);
export const sfixed64 = scalarField<bigint>(Kind.sfixed64);
export const bool = scalarField<boolean>(Kind.bool);
export const str = scalarField<string>(Kind.str);
export const bytes = scalarField<Uint8Array>(Kind.bytes);
/** An int64 whose values are sizes, steps or times: a `number` in the record, an error beyond 2^53. */
export const int64Number = scalarField<number>(Kind.int64Number);
export const uint64Number = scalarField<number>(Kind.uint64Number);

/** An enum field: a plain number, because a newer writer may send values this enum does not name. */
export function enumField(number: number, enumType: EnumType): Field<number, 'single'> {
  return { number, kind: Kind.enum, label: 'single', enumType };
}

/** A message field; absent is `undefined`. */
export function msg<T>(number: number, type: () => Message<T>): Field<T, 'optional'> {
  return { number, kind: Kind.message, label: 'optional', message: type };
}

export function repeated<T>(field: Field<T>): Field<readonly T[], 'repeated'> {
  return { ...withoutType(field), label: 'repeated' };
}

/** A scalar with presence: absent is `undefined`, and a present zero is written. */
export function optional<T>(field: Field<T>): Field<T, 'optional'> {
  return { ...field, label: 'optional' };
}

type KeyFields = { str: string; int32: number; uint32: number; int64: string; uint64: string; fixed64: string };

/** A map field. Keys of 64 bits are decimal text, since records have no wider keys. The number of `value` is ignored. */
export function map<T, K extends keyof KeyFields = 'str'>(
  number: number,
  value: Field<T> | (() => Message<T>),
  key?: K,
): Field<{ readonly [P in KeyFields[K]]: T }, 'map'> {
  const field: Field<T> = typeof value === 'function' ? msg(2, value) : value;
  return { ...withoutType(field), number, label: 'map', key: Kind[key ?? 'str'] };
}

type Optional<F extends Fields> = { readonly [K in keyof F]: Field<ValueOf<F[K]>, 'optional'> };

/** Fields of which at most one is set. Spread it into the fields: `...oneof({ i: int64(3), f: float(4) })`. */
export function oneof<const F extends Fields>(fields: F): Optional<F> {
  const group = {};
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, { ...field, label: 'optional', oneof: group }]),
  ) as Optional<F>; // same keys, label replaced
}

/** A field's declaration without the type that only the compiler sees. */
function withoutType(field: Field): Omit<Field, 'valueType'> {
  const { valueType: _, ...rest } = field;
  return rest;
}
