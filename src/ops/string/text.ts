/** @file Bytes and text: strings in tensors are bytes, usually UTF-8; what is not UTF-8 survives the way there and back. */
import { string } from '../../core/dtypes.ts';
import { eachInTurns } from '../../core/eventLoop.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Shape, sizeOf } from '../../core/shape.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { StringMemory } from './stringMemory.ts';

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** A byte that is not part of UTF-8 text is kept as one of the code units from here on, which UTF-8 cannot contain. */
const escapeBase = 0xdc00;
/** A character class of those code units. */
export const escapedBytes = '\\udc80-\\udcff';

/** The bytes as text. */
export function toText(bytes: Uint8Array): string {
  try {
    return strict.decode(bytes);
  } catch {
    return decodeLoosely(bytes);
  }
}

function decodeLoosely(bytes: Uint8Array): string {
  let text = '';
  for (let i = 0; i < bytes.length; ) {
    const length = sequenceLength(bytes[i]!);
    try {
      if (length === 0) throw new RangeError('not the first byte of a character');
      text += strict.decode(bytes.subarray(i, i + length));
      i += length;
    } catch {
      text += String.fromCharCode(escapeBase + bytes[i]!);
      i++;
    }
  }
  return text;
}

/** How many bytes a character has that begins with this one; 0 when none does. */
function sequenceLength(first: number): number {
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
}

/** The opposite of `toText`. */
export function toBytes(text: string): Uint8Array {
  if (!/[\udc80-\udcff]/u.test(text)) return encoder.encode(text);
  const parts = [...text].map((character) => {
    const code = character.codePointAt(0)!;
    return code >= escapeBase + 0x80 && code <= escapeBase + 0xff
      ? Uint8Array.of(code - escapeBase)
      : encoder.encode(character);
  });
  return Buffer.concat(parts);
}

/** The strings of an array, as bytes. */
export function bytesOf(array: NDArray): readonly Uint8Array[] {
  return array.objects as readonly Uint8Array[]; // strings are bytes
}

/** Whether a byte is what C calls white space. */
export const isSpace = (byte: number): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

/** How many of the first `count` characters of UTF-8 bytes there are, and where they end. */
export function characters(bytes: Uint8Array, count = Number.POSITIVE_INFINITY): { found: number; end: number } {
  let found = 0;
  for (let i = 0; i < bytes.length; i++)
    // Continuation bytes begin with the bits 10.
    if ((bytes[i]! & 0xc0) !== 0x80 && found++ === count) return { found: count, end: i };
  return { found, end: bytes.length };
}

/** An array of strings that are made one by one. */
export async function makeStrings(
  shape: Shape,
  make: (i: number, memory: StringMemory) => Uint8Array,
): Promise<NDArray> {
  const strings = new Array<Uint8Array>(sizeOf(shape));
  const memory = new StringMemory();
  await eachInTurns(strings.length, (i) => {
    strings[i] = make(i, memory);
  });
  return stringArray(shape, strings);
}

/** A host call that makes one string of each string. */
export function mapStrings(
  p: ProgramBuilder,
  input: Value,
  body: (bytes: Uint8Array, memory: StringMemory) => Uint8Array,
): Value {
  const { shape } = input;
  const [output] = p.host([input], [{ dtype: string, shape }], async ([array]) => {
    const strings = bytesOf(array!);
    return [await makeStrings(shape, (i, memory) => body(strings[i]!, memory))];
  });
  return output!;
}

export function stringArray(shape: Shape, elements: readonly Uint8Array[]): NDArray {
  return new NDArray(string, shape, elements);
}
