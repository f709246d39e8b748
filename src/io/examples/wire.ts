/**
 * @file Reads serialized examples where they lie, without making objects of them.
 *
 * A length that reaches beyond what encloses it is cut there, as TensorFlow's parser does.
 */

/** The tags that examples are made of: the field's number times eight, plus how the field is written. */
export const tag = {
  /** Field 1 and 2, a length and so many bytes. */
  delimited1: 0x0a,
  delimited2: 0x12,
  delimited3: 0x1a,
  /** Field 1, a number: four bytes, or as many as it takes. */
  fixed1: 0x0d,
  varint1: 0x08,
} as const;

const noBytes = new Uint8Array(0);

/** A place in some bytes. What cannot be read gives -1 or false. */
export class Wire {
  bytes: Uint8Array = noBytes;
  pos = 0;

  /** An unsigned number; bits above the 32nd are lost. */
  varint(limit: number): number {
    const { bytes } = this;
    let pos = this.pos;
    if (pos >= limit) return -1;
    let byte = bytes[pos++]!;
    if (byte < 128) {
      this.pos = pos;
      return byte;
    }
    let value = byte & 127;
    for (let shift = 7; shift < 70; shift += 7) {
      if (pos >= limit) return -1;
      byte = bytes[pos++]!;
      if (shift < 32) value |= (byte & 127) << shift;
      if (byte < 128) {
        this.pos = pos;
        return value >>> 0;
      }
    }
    return -1;
  }

  /** The end of a message whose length stands here. */
  enclosed(limit: number): number {
    const length = this.varint(limit);
    return length < 0 ? -1 : Math.min(limit, this.pos + length);
  }

  /** The end of a string whose length stands here; all of it must be there. */
  whole(limit: number): number {
    const length = this.varint(limit);
    return length < 0 || length > limit - this.pos ? -1 : this.pos + length;
  }

  /** Passes over a field that is none of ours. */
  skipField(limit: number): boolean {
    const kind = this.varint(limit) & 7;
    if (kind === 0) return this.varint(limit) >= 0;
    if (kind === 2) {
      const end = this.enclosed(limit);
      if (end >= 0) this.pos = end;
      return end >= 0;
    }
    const size = kind === 1 ? 8 : kind === 5 ? 4 : -1;
    if (size < 0 || size > limit - this.pos) return false;
    this.pos += size;
    return true;
  }
}

/** Floats that grow in number; they are moved as bytes, since those of a message lie at any address. */
export class FloatSink {
  data: Float32Array;
  private bytes: Uint8Array;
  constructor(capacity: number) {
    this.data = new Float32Array(capacity);
    this.bytes = new Uint8Array(this.data.buffer);
  }

  private reserve(count: number): void {
    if (count <= this.data.length) return;
    const grown = new Float32Array(Math.max(count, 2 * this.data.length));
    grown.set(this.data);
    this.data = grown;
    this.bytes = new Uint8Array(grown.buffer);
  }

  /**
   * Reads a list from behind its tag to the place `at`: how many values it has, or -1 when it is damaged. With `most` no more
   * than so many are stored; without it the sink grows.
   */
  read(wire: Wire, end: number, at: number, most?: number): number {
    const limit = wire.enclosed(end);
    if (limit < 0) return -1;
    if (wire.pos >= limit) return 0;
    const { bytes } = wire;
    const kind = bytes[wire.pos];
    if (kind === tag.delimited1) {
      wire.pos++;
      const length = wire.varint(limit);
      if (length < 0) return -1;
      const count = Math.floor(length / 4);
      const stored = most === undefined ? count : Math.min(count, most);
      if (4 * stored > limit - wire.pos) return -1;
      this.reserve(at + stored);
      this.copy(bytes, wire.pos, 4 * stored, 4 * at);
      return count;
    }
    if (kind !== tag.fixed1) return -1;
    const count = Math.floor((limit - wire.pos) / 5);
    const stored = most === undefined ? count : Math.min(count, most);
    this.reserve(at + stored);
    let pos = wire.pos;
    for (let i = 0; pos < limit; i++, pos += 5) {
      if (bytes[pos] !== tag.fixed1 || limit - pos < 5) return -1;
      if (i < stored) this.copy(bytes, pos + 1, 4, 4 * (at + i));
    }
    return count;
  }

  private copy(from: Uint8Array, start: number, length: number, to: number): void {
    const { bytes } = this;
    // A view costs more than a few bytes.
    if (length <= 48) for (let i = 0; i < length; i++) bytes[to + i] = from[start + i]!;
    else bytes.set(from.subarray(start, start + length), to);
  }

  take(count: number): Float32Array {
    return this.data.length === count ? this.data : this.data.slice(0, count);
  }
}

/** Integers that grow in number, stored as two halves: bigints would be made one by one. */
export class Int64Sink {
  data: BigInt64Array;
  private halves: Int32Array;
  constructor(capacity: number) {
    this.data = new BigInt64Array(capacity);
    this.halves = new Int32Array(this.data.buffer);
  }

  private reserve(count: number): void {
    if (count <= this.data.length) return;
    const grown = new BigInt64Array(Math.max(count, 2 * this.data.length));
    grown.set(this.data);
    this.data = grown;
    this.halves = new Int32Array(grown.buffer);
  }

  /** As `FloatSink.read`. */
  read(wire: Wire, end: number, at: number, most?: number): number {
    const outer = wire.enclosed(end);
    if (outer < 0) return -1;
    if (wire.pos >= outer) return 0;
    const { bytes } = wire;
    const kind = bytes[wire.pos];
    const packed = kind === tag.delimited1;
    if (!packed && kind !== tag.varint1) return -1;
    if (packed) wire.pos++;
    const limit = packed ? wire.enclosed(outer) : outer;
    if (limit < 0) return -1;
    // A value takes at least one byte, and a tag where each has one.
    const bound = packed ? limit - wire.pos : (limit - wire.pos) >> 1;
    if (most === undefined) this.reserve(at + bound);
    const last = at + (most ?? bound);
    const { halves } = this;
    let { pos } = wire;
    let count = 0;
    while (pos < limit) {
      if (!packed && bytes[pos++] !== tag.varint1) return -1;
      let low = 0;
      let high = 0;
      let byte = 128;
      for (let shift = 0; byte >= 128; shift += 7) {
        if (pos >= limit || shift >= 70) return -1;
        byte = bytes[pos++]!;
        const bits = byte & 127;
        if (shift < 28) low |= bits << shift;
        else if (shift === 28) {
          low |= bits << 28;
          high = bits >>> 4;
        } else high |= bits << (shift - 32);
      }
      const place = at + count;
      if (place < last) {
        halves[2 * place] = low;
        halves[2 * place + 1] = high;
      }
      count++;
    }
    return count;
  }

  take(count: number): BigInt64Array {
    return this.data.length === count ? this.data : this.data.slice(0, count);
  }
}

/** A string shorter than this is copied, so that it does not keep a whole example alive. */
const copyBelow = 64;

/** A string within an example, as one that may outlive the example. */
export function ownString(bytes: Uint8Array, start: number, end: number): Uint8Array {
  return end - start < copyBelow ? bytes.slice(start, end) : bytes.subarray(start, end);
}

/** Strings that grow in number; long ones are views of the example. */
export class BytesSink {
  readonly data: Uint8Array[];
  constructor(capacity: number) {
    this.data = new Array<Uint8Array>(capacity).fill(noBytes);
  }

  /** As `FloatSink.read`, but more strings than `most` count as damage. */
  read(wire: Wire, end: number, at: number, most?: number): number {
    const limit = wire.enclosed(end);
    if (limit < 0) return -1;
    const { bytes } = wire;
    let count = 0;
    while (wire.pos < limit) {
      if (bytes[wire.pos++] !== tag.delimited1) return -1;
      const last = wire.whole(limit);
      if (last < 0 || count === most) return -1;
      this.data[at + count++] = ownString(bytes, wire.pos, last);
      wire.pos = last;
    }
    return count;
  }

  take(count: number): readonly Uint8Array[] {
    if (this.data.length !== count) this.data.length = count;
    return this.data;
  }
}

export type Sink = FloatSink | Int64Sink | BytesSink;

/** Moves values of the type that the sink is for. */
export function copyRange(from: Sink['data'], start: number, to: Sink, at: number, length: number): void {
  if (to instanceof BytesSink) for (let i = 0; i < length; i++) to.data[at + i] = from[start + i] as Uint8Array;
  else if (to instanceof FloatSink) to.data.set((from as Float32Array).subarray(start, start + length), at);
  else to.data.set((from as BigInt64Array).subarray(start, start + length), at);
}

/** Finds features by the bytes of their names. */
export class KeyTable {
  private readonly slots = new Map<number, number[]>();

  constructor(readonly keys: readonly Uint8Array[]) {
    for (const [slot, key] of keys.entries()) {
      const hash = hashOf(key, 0, key.length);
      this.slots.set(hash, [...(this.slots.get(hash) ?? []), slot]);
    }
  }

  /** Whether the feature `slot` has the name that stands there. */
  matches(slot: number, bytes: Uint8Array, start: number, end: number): boolean {
    const key = this.keys[slot]!;
    if (key.length !== end - start) return false;
    for (let i = 0; i < key.length; i++) if (key[i] !== bytes[start + i]) return false;
    return true;
  }

  /** The feature of the name that stands there; -1 when nobody asked for it. */
  find(bytes: Uint8Array, start: number, end: number): number {
    for (const slot of this.slots.get(hashOf(bytes, start, end)) ?? noSlots)
      if (this.matches(slot, bytes, start, end)) return slot;
    return -1;
  }
}

const noSlots: readonly number[] = [];

function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = end - start;
  for (let i = start; i < end; i++) hash = (Math.imul(hash, 31) + bytes[i]!) | 0;
  return hash;
}
