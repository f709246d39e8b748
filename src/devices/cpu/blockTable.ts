/** @file The memory that the steps of a `blocks` instruction see: addresses that move on with the rows, and scratch. */
import { type DType, float32, int32, uint32 } from '../../core/dtypes.ts';
import { sizeOf } from '../../core/shape.ts';
import { type BlocksInstruction, Buffer, type View } from '../../program/instructions.ts';
import { pointsOf } from '../../program/rows.ts';

/** So many elements of the widest step make a block: enough to outweigh what starting a step costs. */
const elementsPerBlock = 8192;
/** Blocks that there should be at least, so that threads can share them, unless they would be very small. */
const minBlocks = 8;
const leastElements = 2048;
/** Where threads have rows of their own they have so many at least, as tiles of products do: smaller blocks only begin more often. */
const leastRows = 16;

export function rowsPerBlock({ rows, steps }: BlocksInstruction): number {
  const widest = Math.max(...steps.map((step) => pointsOf(step) / rows));
  const shared = Math.max(Math.ceil(rows / minBlocks), Math.ceil(leastElements / widest), leastRows);
  return Math.max(1, Math.min(rows, shared, Math.ceil(elementsPerBlock / widest)));
}

/** Where a slot points at row 0. */
export interface BlockSlot {
  /** The slot of the segment's table, or -1 for scratch. */
  readonly outer: number;
  readonly offset: number;
  readonly rowBytes: number;
}

/** Partial results of reductions are kept in the type in which they are computed; truth values, which are stored like u8, are computed as they are. */
const computed: Partial<Record<DType['storage'], DType>> = {
  f16: float32,
  bf16: float32,
  i8: int32,
  i16: int32,
  u8: uint32,
  u16: uint32,
};

export class BlockTable {
  readonly slots: BlockSlot[] = [];
  localBytes = 0;
  readonly #known = new Map<string, number>();
  readonly #locals = new Map<Buffer, number>();

  constructor(
    locals: Iterable<Buffer>,
    rows: number,
    height: number,
    /** Views that all rows have in common. */
    private readonly shared: ReadonlySet<View>,
    private readonly place: (buffer: Buffer) => [slot: number, start: number],
  ) {
    for (const buffer of locals) this.#addLocal(buffer, (buffer.bytes / rows) * height);
  }

  /** Scratch for what one block contributes to a result that is folded across rows. */
  partial({ dtype, shape, strides }: View): View {
    const type = dtype.isBool ? dtype : (computed[dtype.storage] ?? dtype);
    const buffer = new Buffer('temp', sizeOf(shape) * type.size);
    this.#addLocal(buffer, buffer.bytes);
    return { buffer, dtype: type, shape, strides, offset: 0 };
  }

  locate(view: View): [slot: number, byte: number] {
    const offset = view.offset * view.dtype.size;
    const local = this.#locals.get(view.buffer);
    if (local !== undefined) return [local, offset];
    const [outer, start] = this.place(view.buffer);
    const rowBytes = this.shared.has(view) ? 0 : view.strides[0]! * view.dtype.size;
    return [this.#slot({ outer, offset: start + offset, rowBytes }), 0];
  }

  #addLocal(buffer: Buffer, bytes: number): void {
    this.#locals.set(buffer, this.slots.push({ outer: -1, offset: this.localBytes, rowBytes: 0 }) - 1);
    // Results begin on cache lines, like all other buffers.
    this.localBytes += Math.ceil(bytes / 64) * 64;
  }

  #slot(slot: BlockSlot): number {
    const key = `${slot.outer} ${slot.offset} ${slot.rowBytes}`;
    let known = this.#known.get(key);
    if (known === undefined) this.#known.set(key, (known = this.slots.push(slot) - 1));
    return known;
  }
}
