/** @file Batches of examples parsed by the native library: small ones at once, large ones beside the event loop. */
import { type DType, float32, int64 } from '../../core/dtypes.ts';
import type { Work } from '../../core/eventLoop.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { keep, nativeFamily } from '../native.ts';
import { callWithStrings, joinedKeys, type NativeBlocks, nativeCall, withBlocks } from '../nativeStrings.ts';
import type { Slot } from './parseExamples.ts';
import { sinkFor } from './spec.ts';
import { BytesSink, ownString, type Sink } from './wire.ts';

const native = nativeFamily((functions) => ({
  parse: nativeCall(
    functions,
    'int64_t tl_examples_parse(int64_t slots, int64_t count, int64_t keys, int64_t data, int64_t offsets, int64_t examples)',
  ),
  address: functions.address,
}));

const worth = { least: 2 ** 12, quick: 2 ** 20 };

/** What was read: the values of every slot, and how many of them each example has where that differs. */
export interface ParsedSlots {
  readonly sinks: readonly Sink[];
  readonly lengths: readonly (readonly number[])[];
  readonly totals: readonly number[];
}

/** What the features of examples are; undefined where this is not the way to find out, and for examples that are odd. */
export async function parseBeside(
  slots: readonly Slot[],
  serialized: readonly Uint8Array[],
  fallbacks: readonly NDArray[],
): Promise<ParsedSlots | undefined> {
  const library = native();
  if (!library) return undefined;
  const count = serialized.length;
  const keys = joinedKeys(slots.map(({ key }) => key));
  // Strings come as their two ends.
  const spans = slots.map(({ isFixed, stride, dtype }) =>
    isFixed && dtype.isObject ? new Int32Array(2 * count * stride) : undefined,
  );
  const sinks = slots.map(({ isFixed, stride, dtype }) => sinkFor(dtype, isFixed ? count * stride : 0));
  const addressOf = (memory: ArrayBufferView) => (memory.byteLength === 0 ? 0 : library.address(memory));
  const table = Float64Array.from(
    slots.flatMap(({ dtype, isFixed, kind, stride }, s) => {
      const sink = sinks[s]!;
      const target = sink instanceof BytesSink ? spans[s] : sink.data;
      const given = isFixed ? fallbacks[s] : undefined;
      const fallback = !given?.size ? 0 : given.dtype.isObject ? 1 : addressOf(given.bytes);
      return [
        dtype === float32 ? 1 : dtype === int64 ? 2 : 0,
        Number(isFixed),
        Number(kind === 'dense'),
        stride,
        ...keys.places[s]!,
        isFixed && target ? addressOf(target) : 0,
        fallback,
      ];
    }),
  );
  const found = await callWithStrings(library.parse, worth, serialized, table, slots.length, keys.bytes);
  keep(spans, sinks, fallbacks);
  return await withBlocks(found, (blocks) => slotsIn(blocks, slots, sinks, spans, serialized, fallbacks));
}

/** What the blocks say of the slots; values of fixed ones, strings apart, are in the sinks already. */
function* slotsIn(
  blocks: NativeBlocks,
  slots: readonly Slot[],
  sinks: Sink[],
  spans: readonly (Int32Array | undefined)[],
  serialized: readonly Uint8Array[],
  fallbacks: readonly NDArray[],
): Work<ParsedSlots> {
  const lengths = slots.map(() => new Array<number>(serialized.length).fill(0));
  const totals = slots.map(() => 0);
  for (const [s, { isFixed, dtype, stride }] of slots.entries()) {
    const sink = sinks[s]!;
    if (isFixed) {
      if (sink instanceof BytesSink) yield* putFixed(sink, spans[s]!, serialized, stride, fallbacks[s]!);
      continue;
    }
    const read = blocks.int32s(2 * s);
    for (let e = 0; e < serialized.length; e++) totals[s]! += lengths[s]![e] = read[e]!;
    sinks[s] = yield* sinkOf(blocks, 2 * s + 1, dtype, totals[s]!, serialized, (e) => read[e]!);
  }
  return { sinks, lengths, totals };
}

/** After so many strings it is asked whether the event loop has waited long enough. */
const stringsPerTurn = 2048;

/** The values in a block: numbers, or strings as their ends within examples that have so many of them. */
export function* sinkOf(
  blocks: NativeBlocks,
  which: number,
  dtype: DType,
  total: number,
  serialized: readonly Uint8Array[],
  countOf: (example: number) => number,
): Work<Sink> {
  const sink = sinkFor(dtype, total);
  if (!(sink instanceof BytesSink)) {
    blocks.copy(which, sink.data);
    return sink;
  }
  const places = blocks.int32s(which);
  for (let e = 0, at = 0; e < serialized.length; e++)
    for (const end = at + countOf(e); at < end; at++) {
      sink.data[at] = ownString(serialized[e]!, places[2 * at]!, places[2 * at + 1]!);
      if (at % stringsPerTurn === 0) yield;
    }
  return sink;
}

/** The strings of a fixed feature, and its default where there are none. */
function* putFixed(
  sink: BytesSink,
  spans: Int32Array,
  serialized: readonly Uint8Array[],
  stride: number,
  fallback: NDArray,
): Work {
  for (const [e, bytes] of serialized.entries())
    for (let i = 0; i < stride; i++) {
      const at = e * stride + i;
      if (at % stringsPerTurn === 0) yield;
      const start = spans[2 * at]!;
      sink.data[at] = start < 0 ? (fallback.objects[i] as Uint8Array) : ownString(bytes, start, spans[2 * at + 1]!); // what string arrays hold
    }
}
