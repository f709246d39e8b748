/**
 * @file Second factors that are packed once for several products: for those of a segment that share one, such as the weights in a loop,
 * and for all runs in which a factor is the same: that of a constant, such as the weights of a frozen graph, or of a variable that nobody has
 * written meanwhile.
 */
import { float32 } from '../../core/dtypes.ts';
import { writesOf } from '../../program/access.ts';
import {
  type Buffer,
  type DeviceInstruction,
  type DotInstruction,
  storageOf,
  type View,
} from '../../program/instructions.ts';

/** So many products must share a factor that may be another one in the next run. */
const minShared = 3;
/** A product with more rows than this packs its factor for itself at little cost. */
const maxRows = 256;
/** With fewer rows than this one product alone is faster with the factor as it is, which is smaller. */
const minRows = 32;

/** Bytes of factors that stay packed at most: a model may have a program for every size of a batch, each with packed factors of its own. */
const mostPacked = 2 ** 30;

/** What is left of the memory in which programs may keep factors packed. */
export class PackRoom {
  constructor(private bytes = mostPacked) {}

  /** Takes so many bytes, if there are as many. */
  take(bytes: number): boolean {
    if (bytes > this.bytes) return false;
    this.bytes -= bytes;
    return true;
  }
  giveBack(bytes: number): void {
    this.bytes += bytes;
  }
}

/** What one program has of the room. */
export class PackShare {
  #bytes = 0;
  constructor(private readonly room: PackRoom) {}

  get bytes(): number {
    return this.#bytes;
  }
  /** Takes so many bytes more, if there are as many. */
  take(bytes: number): boolean {
    if (!this.room.take(bytes)) return false;
    this.#bytes += bytes;
    return true;
  }
  /** All of it. */
  giveBack(): void {
    this.room.giveBack(this.#bytes);
    this.#bytes = 0;
  }
}

interface Sharing {
  readonly products: DotInstruction[];
  last: number;
}

/** Always, or while the content of a variable is the same. */
export type Lasting = 'always' | { readonly buffer: Buffer; readonly isShared: boolean };

/** The products whose second factor is packed for others too. */
export interface SharedFactors {
  /** A number for every factor, by the products that share it. Nothing is written to it between the first and the last of them. */
  readonly numbers: ReadonlyMap<DotInstruction, number>;
  /** Of factors that may stay packed from run to run, by their number, for how long. */
  readonly lasting: ReadonlyMap<number, Lasting>;
}

export function sharedFactors(instructions: readonly DeviceInstruction[], room: PackShare): SharedFactors {
  const groups: Sharing[] = [];
  const open = new Map<string, Sharing>();
  const ids = new Map<object, number>();
  function idOf(o: object): number {
    if (!ids.has(o)) ids.set(o, ids.size);
    return ids.get(o)!;
  }
  const written = new Map<object, number>();
  for (const [position, instruction] of instructions.entries()) {
    const steps = instruction.kind === 'together' ? instruction.steps : [instruction];
    for (const dot of steps) {
      if (dot.kind !== 'dot' || !isCandidate(dot)) continue;
      const { buffer, offset, shape, strides } = dot.b;
      const key = [idOf(buffer), offset, ...shape, ...strides].join();
      let sharing = open.get(key);
      if (!sharing || (written.get(storageOf(buffer)) ?? -1) >= sharing.last) {
        sharing = { products: [], last: position };
        open.set(key, sharing);
        groups.push(sharing);
      }
      sharing.products.push(dot);
      sharing.last = position;
    }
    for (const v of writesOf(instruction)) written.set(storageOf(v.buffer), position);
  }
  const numbers = new Map<DotInstruction, number>();
  const lasting = new Map<number, Lasting>();
  let next = 0;
  for (const { products } of groups) {
    const { b } = products[0]!; // a group begins with one
    const isShared = products.length >= minShared;
    const mayLast = isConstant(b) || (isOfVariable(b) && !written.has(storageOf(b.buffer)));
    const lasts =
      mayLast && (isShared || products.some(({ a }) => a.shape[0]! >= minRows)) && room.take(packedBytes(b));
    if (!isShared && !lasts) continue;
    if (lasts) lasting.set(next, isConstant(b) ? 'always' : { buffer: b.buffer, isShared });
    for (const dot of products) numbers.set(dot, next);
    next++;
  }
  return { numbers, lasting };
}

/** Whether nothing ever writes what a view shows. */
const isConstant = ({ buffer }: View): boolean => buffer.data !== undefined;

/** Other bound buffers, such as feeds, are new in every run. */
const isOfVariable = ({ buffer }: View): boolean => buffer.kind === 'bound' && buffer.owner !== undefined;

/** Bytes of a packed factor: tiles of 16 columns and 32 terms, each in three parts of 1 KB. */
const packedBytes = ({ shape: [terms, columns] }: View): number =>
  Math.ceil(columns! / 16) * Math.ceil(terms! / 32) * 3 * 1024;

const isCandidate = ({ b, a, more }: DotInstruction): boolean =>
  b.dtype === float32 && b.shape.length === 2 && a.shape[0]! <= maxRows && !more;
