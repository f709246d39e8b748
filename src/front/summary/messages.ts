/** @file The messages of event files as users meet them: classes with Python's names, fields in camelCase. */
import * as proto from '../../proto/event.ts';
import type { Init, Message } from '../../proto/message.ts';
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

/** The message's own record of one in camelCase. */
export function protoRecord<T>(record: CamelInit<T>): Init<T> {
  return renamed(record, snakeKey) as Init<T>; // the inverse of the renaming that made the type
}

/** A message as a class: `new tf.Summary({ … })`, `tf.Summary.fromString(bytes)`, `summary.serializeToString()`. */
export interface MessageClass<T> {
  new (init?: CamelInit<T>): Camel<T> & { serializeToString(): Uint8Array };
  /** The message in some bytes. */
  fromString(bytes: Uint8Array): Camel<T> & { serializeToString(): Uint8Array };
}

function messageClass<T>(message: Message<T>): MessageClass<T> {
  class PublicMessage {
    constructor(init?: CamelInit<T>) {
      const record = init === undefined ? message.create() : message.create(protoRecord<T>(init));
      Object.assign(this, renamed(record, camelKey));
    }
    static fromString(bytes: Uint8Array): PublicMessage {
      return Object.assign(new PublicMessage(), renamed(message.decode(bytes), camelKey));
    }
    serializeToString(): Uint8Array {
      const fields: unknown = renamed(Object.fromEntries(Object.entries(this)), snakeKey);
      return message.encode(fields as Init<T>); // the fields are those the constructor gave it
    }
  }
  Object.defineProperty(PublicMessage, 'name', { value: message.name.split('.').at(-1) });
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
