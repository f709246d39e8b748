/** @file The bytes of strings as one array of numbers. */
import { inTurns, type Work } from '../core/eventLoop.ts';
import { keep, nativeFamily } from './native.ts';

const native = nativeFamily(({ later, address }) => ({
  join: later('void tl_raw_join(int64_t strings, int64_t count, int64_t width, int64_t entry, int64_t out)'),
  address,
}));

/** So many bytes are copied in less time than another thread needs to begin with them. */
const quick = 2 ** 16;
/** Shorter strings are copied in less time than their addresses are found. */
const longString = 2 ** 10;
const stringsPerTurn = 1024;

/**
 * Copies strings into rows of `width` bytes, cut or filled with zeros, and turns the bytes of each number of `entry` bytes around
 * where that is more than one. Many bytes are left to the library, beside the event loop.
 */
export async function joinRaw(strings: readonly Uint8Array[], width: number, entry: number): Promise<Uint8Array> {
  const total = strings.length * width;
  const library = total > quick ? native() : undefined;
  const isLong = library !== undefined && width >= longString;
  // What the library writes to the last byte need not be cleared before: here, that would hold the event loop.
  const all = isLong ? new Uint8Array(Buffer.allocUnsafeSlow(total).buffer) : new Uint8Array(total);
  if (!isLong) await inTurns(copy(strings, width, all));
  if (library && (isLong || entry > 1)) {
    const rows = isLong ? strings : [all];
    const table = Float64Array.from(rows.flatMap((bytes) => [bytes.length && library.address(bytes), bytes.length]));
    await library.join(table, rows.length, isLong ? width : total, entry, all);
    keep(rows);
    return all;
  }
  if (entry > 1) await inTurns(turnAround(all, entry));
  return all;
}

function* copy(strings: readonly Uint8Array[], width: number, all: Uint8Array): Work {
  for (const [i, bytes] of strings.entries()) {
    all.set(bytes.length > width ? bytes.subarray(0, width) : bytes, i * width);
    if (i % stringsPerTurn === 0) yield;
  }
}

function* turnAround(bytes: Uint8Array, size: number): Work {
  for (let i = 0; i < bytes.length; i += size) {
    bytes.subarray(i, i + size).reverse();
    if (i % 8192 === 0) yield;
  }
}
