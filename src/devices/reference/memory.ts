/** @file Where a kernel's buffers are during a run, and cursors that walk over strided views of them. */
import { InternalError } from '../../core/errors.ts';
import type { Shape } from '../../core/shape.ts';
import type { Buffer, Segment, View } from '../../program/instructions.ts';

/** A buffer's current place in host memory. */
export interface Place {
  data: DataView;
  bytes: Uint8Array;
}

const dataView = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
/** Where buffers are before the first run. */
const nowhere = new Uint8Array(0);
const nowhereData = dataView(nowhere);

/** The places of all buffers of a segment. */
export class Memory {
  readonly #places = new Map<Buffer, Place>();
  readonly #temps: [place: Place, offset: number, bytes: number][] = [];
  #arena: ArrayBuffer | undefined;

  constructor(private readonly segment: Segment) {}

  /** Where a buffer is; the object stays the same, its content changes from run to run. */
  of(buffer: Buffer): Place {
    const known = this.#places.get(buffer);
    if (known) return known;
    const place: Place = buffer.data
      ? { data: dataView(buffer.data), bytes: buffer.data }
      : { data: nowhereData, bytes: nowhere };
    this.#places.set(buffer, place);
    if (buffer.kind === 'temp' && !this.segment.bound.includes(buffer)) {
      const offset = this.segment.arena.get(buffer);
      if (offset === undefined) throw new InternalError('a segment uses a temp buffer that has no place in its arena');
      this.#temps.push([place, offset, buffer.bytes]);
    } else if (buffer.kind === 'bound' && !this.segment.bound.includes(buffer))
      throw new InternalError('a segment uses a bound buffer that it does not list');
    return place;
  }

  /** Gives memory to buffers that are in no arena. */
  addLocals(buffers: Iterable<Buffer>): void {
    for (const buffer of buffers) {
      const bytes = new Uint8Array(buffer.bytes);
      this.#places.set(buffer, { data: dataView(bytes), bytes });
    }
  }

  /** Points the places at the memory of one run. */
  bind(arena: ArrayBuffer, bound: readonly Uint8Array[]): void {
    if (arena !== this.#arena) {
      this.#arena = arena;
      for (const [place, offset, size] of this.#temps) move(place, new Uint8Array(arena, offset, size));
    }
    for (let i = 0; i < bound.length; i++) {
      const place = this.#places.get(this.segment.bound[i]!);
      if (place && place.bytes !== bound[i]) move(place, bound[i]!);
    }
  }
}

function move(place: Place, bytes: Uint8Array): void {
  place.bytes = bytes;
  place.data = dataView(bytes);
}

/** A position in a view. */
export interface Cursor {
  readonly place: Place;
  /** Bytes from the start of the buffer. */
  at: number;
  readonly start: number;
  /** Bytes from one element to the next, per axis. */
  readonly steps: readonly number[];
}

export function cursorOn(view: View, memory: Memory): Cursor {
  const start = view.offset * view.dtype.size;
  return { place: memory.of(view.buffer), at: start, start, steps: view.strides.map((s) => s * view.dtype.size) };
}

/**
 * Visits every point of the given axes of `shape` in row-major order, moving the cursors and `index` along. They are back
 * where they were when it returns.
 */
export function walk(
  shape: Shape,
  axes: readonly number[],
  cursors: readonly Cursor[],
  index: number[],
  visit: () => void,
): void {
  const last = axes.length - 1;
  const along = (depth: number): void => {
    if (depth > last) {
      visit();
      return;
    }
    const axis = axes[depth]!;
    const size = shape[axis]!;
    for (let i = 0; i < size; i++) {
      index[axis] = i;
      if (depth === last) visit();
      else along(depth + 1);
      for (const cursor of cursors) cursor.at += cursor.steps[axis]!;
    }
    index[axis] = 0;
    for (const cursor of cursors) cursor.at -= size * cursor.steps[axis]!;
  };
  along(0);
}

/** The axes 0 to rank - 1. */
export const allAxes = (rank: number): number[] => Array.from({ length: rank }, (_, i) => i);
