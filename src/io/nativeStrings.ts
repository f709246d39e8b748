/** @file Strings for functions of the native library, which takes them as one piece of memory, and what it makes of them. */
import { finish, inTurns, type Work } from '../core/eventLoop.ts';
import { type NativeArgument, type NativeFunctions, nativeFamily } from './native.ts';

/** A function of the library, called at once or beside the event loop. */
export interface NativeCall {
  readonly now: (...args: NativeArgument[]) => number;
  readonly later: (...args: NativeArgument[]) => Promise<number>;
}
export const nativeCall = ({ now, later }: NativeFunctions, prototype: string): NativeCall => ({
  now: now(prototype),
  later: later(prototype),
});

/** When strings are worth a call of the library, in bytes of all of them. */
export interface Worth {
  /** Fewer bytes are parsed sooner than they are handed over. */
  readonly least: number;
  /** More bytes take about a millisecond or longer: then it is done beside the event loop. */
  readonly quick: number;
}

/** Where strings are put that are parsed at once. */
let scratch = new Uint8Array(0);
/** So many strings are looked at before it is asked whether the event loop has waited long enough. */
const perTurn = 2048;

/** Where each string begins when they lie one behind the other, and where the last one ends; undefined for too many bytes. */
function* offsetsOf(strings: readonly Uint8Array[]): Work<Int32Array | undefined> {
  const offsets = new Int32Array(strings.length + 1);
  let total = 0;
  for (let i = 0; i < strings.length; i++) {
    total += strings[i]!.length;
    if (total >= 2 ** 31) return undefined;
    offsets[i + 1] = total;
    if (i % perTurn === perTurn - 1) yield;
  }
  return offsets;
}

function* join(strings: readonly Uint8Array[], offsets: Int32Array, data: Uint8Array): Work {
  for (let i = 0; i < strings.length; i++) {
    data.set(strings[i]!, offsets[i]!);
    if (i % perTurn === perTurn - 1 || strings[i]!.length > 2 ** 18) yield;
  }
}

/**
 * Calls a function with some arguments and, behind them, strings: their bytes, their offsets and their number. Gives its result; 0
 * where the strings are not worth it, or too long.
 */
export async function callWithStrings(
  call: NativeCall,
  worth: Worth,
  strings: readonly Uint8Array[],
  ...args: NativeArgument[]
): Promise<number> {
  const count = strings.length;
  const isShort = count <= perTurn;
  const offsets = isShort ? finish(offsetsOf(strings)) : await inTurns(offsetsOf(strings));
  const total = offsets?.[count] ?? 0;
  if (!offsets || total < worth.least) return 0;
  if (isShort && total <= worth.quick) {
    if (scratch.length < total) scratch = new Uint8Array(Math.max(total, 2 ** 16));
    finish(join(strings, offsets, scratch));
    return call.now(...args, scratch, offsets, count);
  }
  const data = new Uint8Array(Buffer.allocUnsafeSlow(total).buffer);
  await inTurns(join(strings, offsets, data));
  return await call.later(...args, data, offsets, count);
}

/** The names of things to look for, one behind the other, and where each begins and ends. */
export function joinedKeys(keys: readonly Uint8Array[]): {
  readonly bytes: Uint8Array;
  readonly places: readonly (readonly [start: number, end: number])[];
} {
  let end = 0;
  const places = keys.map(({ length }) => [end, (end += length)] as const);
  const bytes = new Uint8Array(end + 1);
  for (const [i, key] of keys.entries()) bytes.set(key, places[i]![0]);
  return { bytes, places };
}

/** What a function of the library leaves behind: blocks of memory, of which only the library knows the sizes. */
const blocks = nativeFamily(({ now }) => ({
  size: now('int64_t tl_blocks_size(int64_t blocks, int64_t which)'),
  copy: now('void tl_blocks_copy(int64_t blocks, int64_t which, int64_t to)'),
  free: now('void tl_blocks_free(int64_t blocks)'),
}));

export class NativeBlocks {
  private readonly library = blocks()!; // whoever has blocks has the library
  constructor(private readonly handle: number) {}

  /** How many bytes a block has. */
  size(which: number): number {
    return this.library.size(this.handle, which);
  }

  /** Copies a block to memory of its size. */
  copy<T extends ArrayBufferView>(which: number, to: T): T {
    if (to.byteLength > 0) this.library.copy(this.handle, which, to);
    return to;
  }

  int32s(which: number): Int32Array {
    return this.copy(which, new Int32Array(this.size(which) / 4));
  }

  bytes(which: number): Uint8Array {
    return this.copy(which, new Uint8Array(this.size(which)));
  }

  free(): void {
    this.library.free(this.handle);
  }
}

/**
 * Lets `use` read the blocks, and frees them; undefined where there are none. The generator must not be written where this is
 * called: V8 keeps a map for each generator function that was called, and with it all that the function can see, until it next
 * collects the whole heap. Strings would be moved twice, though nobody has them any more.
 */
export async function withBlocks<T>(handle: number, use: (found: NativeBlocks) => Work<T>): Promise<T | undefined> {
  if (handle === 0) return undefined;
  const found = new NativeBlocks(handle);
  try {
    return await inTurns(use(found));
  } finally {
    found.free();
  }
}

/**
 * Short strings share memory with their neighbours, so many bytes together: each of them then is one small object. V8 moves what
 * survives twice, and the event loop waits for it: that takes longer than everything else about many strings.
 */
const sharedBytes = 2 ** 12;

/** The strings from `first` to `last` of those that lie one behind the other in some bytes. */
function* stringsIn(bytes: Uint8Array, ends: Int32Array, first: number, last: number): Work<Uint8Array[]> {
  const strings = new Array<Uint8Array>(last - first);
  let start = first === 0 ? 0 : ends[first - 1]!;
  let memory = new Uint8Array(0);
  /** Where `memory` begins in `bytes`. */
  let base = start;
  for (let i = first; i < last; i++) {
    const end = ends[i]!;
    if (end > base + memory.length) {
      base = start;
      memory = bytes.slice(start, Math.max(end, Math.min(start + sharedBytes, ends[last - 1]!)));
    }
    strings[i - first] = memory.subarray(start - base, end - base);
    start = end;
    if (i % perTurn === perTurn - 1) yield;
  }
  return strings;
}

/** All strings that lie one behind the other in some bytes. */
export function separated(bytes: Uint8Array, ends: Int32Array): Work<Uint8Array[]> {
  return stringsIn(bytes, ends, 0, ends.length);
}

/** Some of them, at once. */
export function separatedNow(bytes: Uint8Array, ends: Int32Array, first: number, last: number): Uint8Array[] {
  return finish(stringsIn(bytes, ends, first, last));
}
