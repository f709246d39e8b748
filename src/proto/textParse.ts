/** @file Reads protobuf's text format. Errors say line and column, and what was expected there. */
import { setKey } from './decode.ts';
import type { Message } from './message.ts';
import { type AnyMessage, type AnyRecord, emptyList, emptyMap, type FieldEntry, Kind, zeroOf } from './schema.ts';
import { TextCursor } from './textCursor.ts';

const maxDepth = 100;

/** The record that a text describes. Throws `InvalidArgumentError` with line and column. */
export function parseText<T>(message: Message<T>, text: string): T {
  const cursor = new TextCursor(text);
  return parseRecord(cursor, message, '', 1) as T; // the table that drives parsing is the one T was inferred from
}

/** Fields up to the closing bracket, or up to the end of the text when there is none. */
function parseRecord(cursor: TextCursor, message: AnyMessage, close: string, depth: number): AnyRecord {
  if (depth > maxDepth) cursor.fail(`messages are nested deeper than ${maxDepth} levels`);
  const record: AnyRecord = { ...message.table.empty };
  const seen = new Set<string>();
  while (!cursor.closes(close, message.name)) {
    const at = cursor.pos;
    const name = cursor.identifier(`a field of ${message.name}`);
    const field = message.table.byName.get(name);
    if (!field) return cursor.fail(`${message.name} has no field "${name}"`, at);
    if (field.label !== 'repeated' && field.label !== 'map') {
      if (seen.has(name)) cursor.fail(`${message.name} must not have "${name}" twice`, at);
      const rival = field.rivals.find((r) => seen.has(r));
      if (rival) cursor.fail(`${message.name} cannot have both "${rival}" and "${name}"`, at);
      seen.add(name);
    }
    parseField(cursor, field, record, depth);
    cursor.separator();
  }
  return record;
}

function parseField(cursor: TextCursor, field: FieldEntry, record: AnyRecord, depth: number): void {
  const isRecord = field.message !== undefined || field.label === 'map';
  if (!cursor.take(':') && !isRecord) cursor.fail(`":" is expected after "${field.name}"`);
  if (field.label !== 'repeated' && field.label !== 'map') {
    record[field.name] = parseValue(cursor, field, depth);
    return;
  }
  if (!cursor.take('[')) {
    parseItem(cursor, field, record, depth);
    return;
  }
  if (cursor.take(']')) return;
  do parseItem(cursor, field, record, depth);
  while (cursor.take(','));
  if (!cursor.take(']')) cursor.fail(`"," or "]" is expected in the list "${field.name}"`);
}

function parseItem(cursor: TextCursor, field: FieldEntry, record: AnyRecord, depth: number): void {
  if (field.label === 'map') {
    if (record[field.name] === emptyMap) record[field.name] = {};
    parseEntry(cursor, field, record[field.name] as AnyRecord, depth); // a map field holds a record
    return;
  }
  if (record[field.name] === emptyList) record[field.name] = [];
  const list = record[field.name] as unknown[]; // a repeated field holds a list
  list.push(parseValue(cursor, field, depth));
}

function parseEntry(cursor: TextCursor, field: FieldEntry, map: AnyRecord, depth: number): void {
  const close = cursor.open(field.name);
  let key = String(zeroOf(field.key));
  let value = field.message ? field.message.complete({}) : zeroOf(field.kind);
  while (!cursor.closes(close, field.name)) {
    const name = cursor.identifier('key or value');
    if (name === 'key') {
      if (!cursor.take(':')) cursor.fail('":" is expected after "key"');
      key = field.key === Kind.str ? cursor.text() : String(cursor.integer(field.key));
    } else if (name === 'value') {
      if (!cursor.take(':') && !field.message) cursor.fail('":" is expected after "value"');
      value = parseValue(cursor, field, depth);
    } else cursor.fail(`an entry of the map "${field.name}" has key and value, but no "${name}"`);
    cursor.separator();
  }
  setKey(map, key, value);
}

function parseValue(cursor: TextCursor, field: FieldEntry, depth: number): unknown {
  const { message, kind } = field;
  if (message) return parseRecord(cursor, message, cursor.open(field.name), depth + 1);
  switch (kind) {
    case Kind.str:
      return cursor.text();
    case Kind.bytes:
      return cursor.bytes();
    case Kind.bool:
      return cursor.bool();
    case Kind.float:
      return Math.fround(cursor.float());
    case Kind.double:
      return cursor.float();
    case Kind.enum:
      return cursor.enumValue(field);
    default:
      return cursor.integer(kind);
  }
}
