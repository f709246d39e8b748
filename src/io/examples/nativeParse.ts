/** @file Batches of examples parsed by the native library: small ones at once, large ones beside the event loop. */
import { float32, int64 } from '../../core/dtypes.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { nativeFamily } from '../native.ts';
import type { Slot } from './parseExamples.ts';
import { sinkFor } from './spec.ts';
import { BytesSink, ownString, type Sink } from './wire.ts';

const prototype =
  'int64_t tl_examples_parse(int64_t slots, int64_t count, int64_t keys, int64_t data, int64_t offsets, int64_t examples)';
const native = nativeFamily(({ later, now, address }) => ({
  parse: now(prototype),
  parseLater: later(prototype),
  lengths: now('void tl_examples_lengths(int64_t parser, int64_t slot, int64_t to)'),
  values: now('void tl_examples_values(int64_t parser, int64_t slot, int64_t to)'),
  free: now('void tl_examples_free(int64_t parser)'),
  address,
}));

/** Fewer bytes are parsed sooner than they are handed over. */
const worthwhile = 2 ** 12;
/** More bytes take a millisecond, as long as the event loop may be held up, or longer. */
const quick = 2 ** 20;
/** Where examples are put that are parsed at once. */
let scratch = new Uint8Array(0);

/** What was read: the values of every slot, and how many of them each example has where that differs. */
export interface ParsedSlots {
  readonly sinks: readonly Sink[];
  readonly lengths: readonly (readonly number[])[];
  readonly totals: readonly number[];
}

/** All strings one behind the other, and where they end; undefined where there are too few bytes, or too many. */
function joined(strings: readonly Uint8Array[]): { data: Uint8Array; offsets: Int32Array } | undefined {
  const offsets = new Int32Array(strings.length + 1);
  let total = 0;
  for (const [i, bytes] of strings.entries()) {
    total += bytes.length;
    if (total >= 2 ** 31) return undefined;
    offsets[i + 1] = total;
  }
  if (total < worthwhile) return undefined;
  if (total <= quick && scratch.length < total) scratch = new Uint8Array(quick);
  const data = total <= quick ? scratch : new Uint8Array(Buffer.allocUnsafeSlow(total).buffer);
  for (const [i, bytes] of strings.entries()) data.set(bytes, offsets[i]!);
  return { data, offsets };
}

/** The keys of the slots, one behind the other. */
function keysOf(slots: readonly Slot[]): { keys: Uint8Array; ends: readonly number[] } {
  let end = 0;
  const ends = slots.map(({ key }) => (end += key.length));
  const keys = new Uint8Array(end + 1);
  for (const [s, { key }] of slots.entries()) keys.set(key, ends[s]! - key.length);
  return { keys, ends };
}

/** What the features of examples are; undefined where this is not the way to find out, and for examples that are odd. */
export async function parseBeside(
  slots: readonly Slot[],
  serialized: readonly Uint8Array[],
  fallbacks: readonly NDArray[],
): Promise<ParsedSlots | undefined> {
  const library = native();
  const input = library && joined(serialized);
  if (!input) return undefined;
  const count = serialized.length;
  const { keys, ends } = keysOf(slots);
  // Strings come as their two ends.
  const spans = slots.map(({ isFixed, stride, dtype }) =>
    isFixed && dtype.isObject ? new Int32Array(2 * count * stride) : undefined,
  );
  const sinks = slots.map(({ isFixed, stride, dtype }) => sinkFor(dtype, isFixed ? count * stride : 0));
  const addressOf = (memory: ArrayBufferView) => (memory.byteLength === 0 ? 0 : library.address(memory));
  const table = Float64Array.from(
    slots.flatMap(({ dtype, isFixed, kind, stride, key }, s) => {
      const sink = sinks[s]!;
      const target = sink instanceof BytesSink ? spans[s] : sink.data;
      const given = isFixed ? fallbacks[s] : undefined;
      const fallback = !given?.size ? 0 : given.dtype.isObject ? 1 : addressOf(given.bytes);
      return [
        dtype === float32 ? 1 : dtype === int64 ? 2 : 0,
        Number(isFixed),
        Number(kind === 'dense'),
        stride,
        ends[s]! - key.length,
        ends[s]!,
        isFixed && target ? addressOf(target) : 0,
        fallback,
      ];
    }),
  );
  // What the table has addresses of is used again after the call, and so it is there until then.
  const parse = input.data === scratch ? library.parse : library.parseLater;
  const parser = await parse(table, slots.length, keys, input.data, input.offsets, count);
  if (parser === 0) return undefined;
  try {
    const lengths = slots.map(() => new Array<number>(count).fill(0));
    const totals = slots.map(() => 0);
    for (const [s, { isFixed, dtype, stride }] of slots.entries()) {
      const sink = sinks[s]!;
      if (isFixed) {
        if (sink instanceof BytesSink) putFixed(sink, spans[s]!, serialized, stride, fallbacks[s]!);
        continue;
      }
      const read = new Int32Array(count);
      if (count > 0) library.lengths(parser, s, read);
      for (let e = 0; e < count; e++) totals[s]! += lengths[s]![e] = read[e]!;
      const total = totals[s]!;
      if (total === 0) continue;
      const found = sinkFor(dtype, total);
      sinks[s] = found;
      if (!(found instanceof BytesSink)) {
        library.values(parser, s, found.data);
        continue;
      }
      const places = new Int32Array(2 * total);
      library.values(parser, s, places);
      for (let e = 0, at = 0; e < count; e++)
        for (const end = at + read[e]!; at < end; at++)
          found.data[at] = ownString(serialized[e]!, places[2 * at]!, places[2 * at + 1]!);
    }
    return { sinks, lengths, totals };
  } finally {
    library.free(parser);
  }
}

/** The strings of a fixed feature, and its default where there are none. */
function putFixed(
  sink: BytesSink,
  spans: Int32Array,
  serialized: readonly Uint8Array[],
  stride: number,
  fallback: NDArray,
): void {
  for (const [e, bytes] of serialized.entries())
    for (let i = 0; i < stride; i++) {
      const at = e * stride + i;
      const start = spans[2 * at]!;
      sink.data[at] = start < 0 ? (fallback.objects[i] as Uint8Array) : ownString(bytes, start, spans[2 * at + 1]!); // what string arrays hold
    }
}
