/** @file The messages of event files as users meet them: classes with Python's names, fields in camelCase. */
import { nearest } from '../../core/optionNames.ts';
import { userError } from '../../graph/userError.ts';
import * as proto from '../../proto/event.ts';
import type { Init, Message } from '../../proto/message.ts';
import type { AnyMessage } from '../../proto/schema.ts';
import type { TensorProto } from '../../proto/tensor.ts';

type CamelKey<S extends string> = S extends `${infer A}_${infer B}` ? `${A}${Capitalize<CamelKey<B>>}` : S;

/** A record with its keys in camelCase at every depth; tensors stay messages, for `tf.makeNdarray`. */
export type Camel<T> = T extends Uint8Array | string | number | bigint | boolean | undefined | TensorProto
  ? T
  : T extends readonly (infer U)[]
    ? Camel<U>[]
    : { -readonly [K in keyof T as CamelKey<K & string>]: Camel<T[K]> };

/** What such a record can be made of: anything that has a default may be left out. */
export type CamelInit<T> = T extends Uint8Array | string | number | bigint | boolean | undefined | TensorProto
  ? T
  : T extends readonly (infer U)[]
    ? readonly CamelInit<U>[]
    : { readonly [K in keyof T as CamelKey<K & string>]?: CamelInit<T[K]> | undefined };

const camelKey = (key: string) => key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
const snakeKey = (key: string) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !(value instanceof Uint8Array) && !('tensor_shape' in value);

/** The same value with the keys of all its records renamed. */
function renamed(value: unknown, rename: (key: string) => string): unknown {
  if (Array.isArray(value)) return value.map((element) => renamed(element, rename));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [rename(key), renamed(inner, rename)]));
}

/** The message's own record of one in camelCase. Fields that the message does not have are refused: they would be lost. */
export function protoRecord<T>(message: Message<T>, record: CamelInit<T>): Init<T> {
  const own = renamed(record, snakeKey);
  checkFields(message, own);
  return own as Init<T>; // the inverse of the renaming that made the type
}

function checkFields(message: AnyMessage, record: unknown): void {
  const name = `tf.${shortName(message)}`;
  if (typeof record !== 'object' || record === null || Array.isArray(record) || ArrayBuffer.isView(record))
    throw userError(`${name} is a record of its fields, but this is ${kindOf(record)}.`);
  for (const [key, value] of Object.entries(record)) {
    const field = message.table.byName.get(key);
    if (!field) throw userError(unknownField(name, camelKey(key), message));
    if (value === undefined || field.label === 'map') continue;
    if (field.label !== 'repeated') {
      if (field.message) checkFields(field.message, value);
      continue;
    }
    if (!Array.isArray(value) && !ArrayBuffer.isView(value))
      throw userError(`'${camelKey(key)}' of ${name} is a list, but this is ${kindOf(value)}.`);
    if (field.message && Array.isArray(value)) for (const element of value) checkFields(field.message, element);
  }
}

const kindOf = (value: unknown): string =>
  Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : `'${String(value)}'`;

function unknownField(name: string, key: string, message: AnyMessage): string {
  const known = message.table.fields.map((field) => camelKey(field.name));
  const near = nearest(key, known);
  const remedy = near === undefined ? `The fields are: ${known.join(', ')}.` : `Did you mean '${near}'?`;
  return `${name} has no field '${key}'. ${remedy}`;
}

const shortName = (message: AnyMessage): string => message.name.split('.').at(-1)!;

/** A message as a class: `new tf.Summary({ … })`, `tf.Summary.fromString(bytes)`, `summary.serializeToString()`. */
export interface MessageClass<T> {
  new (init?: CamelInit<T>): Camel<T> & { serializeToString(): Uint8Array };
  /** The message in some bytes. */
  fromString(bytes: Uint8Array): Camel<T> & { serializeToString(): Uint8Array };
}

function messageClass<T>(message: Message<T>): MessageClass<T> {
  class PublicMessage {
    constructor(init?: CamelInit<T>) {
      const record = init === undefined ? message.create() : message.create(protoRecord(message, init));
      Object.assign(this, renamed(record, camelKey));
    }
    static fromString(bytes: Uint8Array): PublicMessage {
      return Object.assign(new PublicMessage(), renamed(message.decode(bytes), camelKey));
    }
    serializeToString(): Uint8Array {
      const fields = Object.fromEntries(Object.entries(this)) as CamelInit<T>; // those that the constructor gave it
      return message.encode(protoRecord(message, fields));
    }
  }
  Object.defineProperty(PublicMessage, 'name', { value: shortName(message) });
  return PublicMessage as MessageClass<T>; // instances have the fields that the constructor assigns
}

/**
 * What a summary op makes, and `writer.addSummary` takes.
 *
 * @example writer.addSummary(new tf.Summary({ value: [{ tag: 'accuracy', simpleValue: 0.97 }] }), step);
 */
export const Summary = Object.assign(messageClass(proto.Summary), {
  Value: messageClass(proto.SummaryValue),
  Image: messageClass(proto.SummaryImage),
  Audio: messageClass(proto.SummaryAudio),
});
export type Summary = InstanceType<MessageClass<proto.Summary>>;

/** What TensorBoard should know of a tag: which plugin draws it, a name and a description. */
export const SummaryMetadata = Object.assign(messageClass(proto.SummaryMetadata), {
  PluginData: messageClass(proto.PluginData),
});
export type SummaryMetadata = InstanceType<MessageClass<proto.SummaryMetadata>>;

/** The numbers behind a histogram. */
export const HistogramProto = messageClass(proto.HistogramProto);
export type HistogramProto = InstanceType<MessageClass<proto.HistogramProto>>;

/** A record of an event file. */
export const Event = messageClass(proto.Event);
export type Event = InstanceType<MessageClass<proto.Event>>;

/** A line of an old log. */
export const LogMessage = Object.assign(messageClass(proto.LogMessage), proto.LogLevel.values);
export type LogMessage = InstanceType<MessageClass<proto.LogMessage>>;

/** Tells that a session started, stopped or wrote a checkpoint. */
export const SessionLog = Object.assign(messageClass(proto.SessionLog), proto.SessionStatus.values);
export type SessionLog = InstanceType<MessageClass<proto.SessionLog>>;

/** What a run recorded, under a name. */
export const TaggedRunMetadata = messageClass(proto.TaggedRunMetadata);
export type TaggedRunMetadata = InstanceType<MessageClass<proto.TaggedRunMetadata>>;

/** The kind of data under a tag. */
export const SummaryDescription = messageClass(proto.SummaryDescription);
export type SummaryDescription = InstanceType<MessageClass<proto.SummaryDescription>>;
