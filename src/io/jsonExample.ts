/** @file Examples written as JSON, in the form that protobuf gives its messages, as serialized examples. */
import { InvalidArgumentError } from '../core/errors.ts';
import { inTurns, type Work } from '../core/eventLoop.ts';
import { nativeFamily } from './native.ts';
import { callWithStrings, nativeCall, separated, withBlocks } from './nativeStrings.ts';

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

const invalid = (why: string) => new InvalidArgumentError(`Error while parsing JSON: ${why}`);

/** Strings, with the colon behind a name, and numbers. */
const tokens = /"(?:[^"\\]|\\.)*"(\s*:)?|-?\d[\d.eE+-]*/gs;
/** Integers that JavaScript's numbers cannot hold; they are read as text. */
const longInteger = /^-?\d{16,}$/;
/** Names that objects would have in front of others, wherever they stand in the text. They get a point for a while. */
const indexName = /^"\.*\d+"/;

function prepared(token: string, colon: string | undefined): string {
  if (colon !== undefined) return indexName.test(token) ? `".${token.slice(1)}` : token;
  return longInteger.test(token) ? `"${token}"` : token;
}

/** The names of an object's members as they are in the text. */
function membersOf(json: { readonly [key: string]: Json }): [name: string, value: Json][] {
  return Object.entries(json).map(([key, value]) => [/^\.+\d+$/.test(key) ? key.slice(1) : key, value]);
}

/** The serialized example that JSON text describes, its fields in the order of the text. */
export function exampleFromJson(text: string): Uint8Array {
  let json: Json;
  try {
    json = JSON.parse(text.replace(tokens, prepared)) as Json;
  } catch (error) {
    throw invalid(error instanceof Error ? error.message : String(error));
  }
  return Buffer.concat(fieldsOf(json, 'Example', { features: (x) => field(1, features(x)) }));
}

const native = nativeFamily((functions) => ({
  parse: nativeCall(functions, 'int64_t tl_json_examples(int64_t data, int64_t offsets, int64_t count)'),
}));

const worth = { least: 2 ** 8, quick: 2 ** 16 };

/** The serialized examples that JSON texts describe; `textOf` makes text of bytes where it is needed. Does not hold up the event loop. */
export async function examplesFromJson(
  texts: readonly Uint8Array[],
  textOf: (bytes: Uint8Array) => string,
): Promise<readonly Uint8Array[]> {
  const library = native();
  const found = library ? await callWithStrings(library.parse, worth, texts) : 0;
  const examples = await withBlocks(found, (blocks) => separated(blocks.bytes(0), blocks.int32s(1)));
  return examples ?? (await inTurns(oneByOne(texts, textOf)));
}

function* oneByOne(texts: readonly Uint8Array[], textOf: (bytes: Uint8Array) => string): Work<Uint8Array[]> {
  const examples: Uint8Array[] = [];
  for (const text of texts) {
    examples.push(exampleFromJson(textOf(text)));
    yield;
  }
  return examples;
}

type Parts = readonly Uint8Array[];
type Writer = (value: Json, name: string) => Parts;

/** What the members of an object are written as. Names are in camel case or as the message has them; null means absent. */
function fieldsOf(json: Json, what: string, writers: Readonly<Record<string, Writer>>): Uint8Array[] {
  if (!isObject(json)) throw invalid(`${what} must be an object, not ${JSON.stringify(json)}`);
  return membersOf(json).flatMap(([key, value]) => {
    const name = key.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
    const write = Object.hasOwn(writers, name) ? writers[name] : undefined;
    if (!write) throw invalid(`${what} has no such field: '${key}'`);
    return value === null ? [] : [...write(value, name)];
  });
}

function isObject(json: Json): json is { readonly [key: string]: Json } {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

function features(json: Json): Parts {
  return fieldsOf(json, 'Features', {
    feature(map) {
      if (!isObject(map)) throw invalid('feature must be an object of features by name');
      return membersOf(map).flatMap(([key, value]) =>
        field(1, [...field(1, [new TextEncoder().encode(key)]), ...field(2, feature(value))]),
      );
    },
  });
}

function feature(json: Json): Parts {
  const list =
    (number: number, element: (value: Json) => Parts): Writer =>
    (value, name) => {
      const parts = fieldsOf(value, name, {
        value(values) {
          if (!Array.isArray(values)) throw invalid(`the value of ${name} must be a list`);
          return (values as readonly Json[]).flatMap(element); // Array.isArray does not see read-only lists
        },
      });
      return field(number, parts);
    };
  const kinds = ['bytesList', 'floatList', 'int64List'];
  if (isObject(json) && Object.values(json).filter((x) => x !== null).length > 1)
    throw invalid(`a feature has one of ${kinds.join(', ')}`);
  return fieldsOf(json, 'Feature', {
    bytesList: list(1, (x) => field(1, [base64(x)])),
    floatList: list(2, (x) => [Uint8Array.of(0x0d), float(x)]),
    int64List: list(3, (x) => [Uint8Array.of(0x08), varint(BigInt.asUintN(64, int64(x)))]),
  });
}

/** A field of bytes: tag, length, content. */
function field(number: number, content: Parts): Parts {
  const length = content.reduce((n, part) => n + part.length, 0);
  return [Uint8Array.of((number << 3) | 2), varint(BigInt(length)), ...content];
}

function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}

function base64(json: Json): Uint8Array {
  if (typeof json !== 'string' || !/^[\w+/-]*={0,2}$/.test(json)) throw invalid('a value of bytesList is not base64');
  return Buffer.from(json, 'base64');
}

function float(json: Json): Uint8Array {
  const words: Readonly<Record<string, number>> = {
    NaN: Number.NaN,
    Infinity: Number.POSITIVE_INFINITY,
    '-Infinity': Number.NEGATIVE_INFINITY,
  };
  const isWord = typeof json === 'string' && Object.hasOwn(words, json);
  const value = isWord ? words[json]! : numberIn(json);
  if (value === undefined || (!isWord && !Number.isFinite(Math.fround(value))))
    throw invalid(`${JSON.stringify(json)} is not a float`);
  return new Uint8Array(Float32Array.of(value).buffer);
}

function int64(json: Json): bigint {
  const value =
    typeof json === 'string' && /^-?\d{1,400}$/.test(json)
      ? BigInt(json)
      : Number.isSafeInteger(numberIn(json))
        ? BigInt(numberIn(json)!)
        : undefined;
  if (value === undefined || BigInt.asIntN(64, value) !== value)
    throw invalid(`${JSON.stringify(json)} is not an int64`);
  return value;
}

function numberIn(json: Json): number | undefined {
  if (typeof json === 'number') return json;
  return typeof json === 'string' && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(json) ? Number(json) : undefined;
}
