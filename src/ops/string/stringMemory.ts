/** @file Memory for strings that are made one after the other. */
import { toBytes } from './text.ts';

/** Strings share blocks of at most so many bytes: what a string that is kept may keep alive. */
const largestBlock = 2 ** 12;
/** Longer strings have memory of their own. */
const longest = 2 ** 10;

/**
 * Short strings share memory with their neighbours, for memory of its own costs a string more than its bytes: V8 makes several
 * objects for it and moves them twice, and the event loop waits.
 */
export class StringMemory {
  private block = new Uint8Array(0);
  private used = 0;

  /** A string of so many bytes, to be written at once. */
  take(length: number): Uint8Array {
    if (length > longest) return new Uint8Array(length);
    if (this.used + length > this.block.length) {
      // A few strings get a small block.
      this.block = new Uint8Array(Math.max(length, Math.min(largestBlock, 4 * this.block.length), 64));
      this.used = 0;
    }
    const from = this.used;
    this.used += length;
    return new Uint8Array(this.block.buffer, from, length);
  }

  /** A text as bytes; see `toBytes`. */
  encoded(text: string): Uint8Array {
    if (text.length > longest || !isAscii(text)) return toBytes(text);
    const bytes = this.take(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return bytes;
  }
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false;
  return true;
}

/** Short copies take longer to begin than to do. */
const shortCopy = 48;

/** Puts some bytes into others; gives where they end. */
export function put(to: Uint8Array, at: number, bytes: Uint8Array): number {
  const { length } = bytes;
  if (length > shortCopy) to.set(bytes, at);
  else for (let i = 0; i < length; i++) to[at + i] = bytes[i]!;
  return at + length;
}
