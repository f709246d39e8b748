/** @file A list of instructions while a pass joins some of them: who reads what, and where a joined instruction may stand. */
import { readsOf } from './access.ts';
import { Hazards } from './hazards.ts';
import type { Buffer, DeviceInstruction } from './instructions.ts';

export class Rewriting {
  readonly #list: (DeviceInstruction | undefined)[] = [];
  readonly #hazards = new Hazards();
  /** How many views look at each buffer. */
  readonly #readers = new Map<Buffer, number>();
  readonly #keep: ReadonlySet<Buffer>;

  /** For instructions that are then added one after the other. `keep` are buffers needed after the segment. */
  constructor(instructions: readonly DeviceInstruction[], keep: ReadonlySet<Buffer>) {
    this.#keep = keep;
    for (const i of instructions) for (const { buffer } of readsOf(i)) this.addReader(buffer);
  }

  /** Counts one more view of a buffer, for reads that were not in the list. */
  addReader(buffer: Buffer): void {
    this.#readers.set(buffer, (this.#readers.get(buffer) ?? 0) + 1);
  }

  /** Whether a single view of a single instruction looks at a buffer. */
  isReadOnce(buffer: Buffer): boolean {
    return this.#isPassing(buffer) && this.#readers.get(buffer) === 1;
  }

  /** Whether a single instruction looks at a buffer, with as many views as it likes. */
  isReadOnlyBy(reader: DeviceInstruction, buffer: Buffer): boolean {
    const own = readsOf(reader).filter((v) => v.buffer === buffer).length;
    return this.#isPassing(buffer) && this.#readers.get(buffer) === own;
  }

  #isPassing(buffer: Buffer): boolean {
    return buffer.kind === 'temp' && !this.#keep.has(buffer);
  }

  /** What stands at a position, unless it was joined to something else. */
  at(position: number | undefined): DeviceInstruction | undefined {
    return position === undefined ? undefined : this.#list[position];
  }

  /** Adds an instruction at the end; the result is its position. */
  push(i: DeviceInstruction): number {
    return this.#put(i, this.#list.length);
  }

  remove(position: number): void {
    this.#list[position] = undefined;
  }

  /** Whether what stands at a position may stand at the end instead. */
  mayFall(position: number): boolean {
    const i = this.#list[position];
    return i !== undefined && this.#hazards.mayMove(i, position);
  }

  /**
   * Puts `joined` in place of what stands at a position and of the instruction that comes next, wherever of the two places it
   * may stand. False, and nothing is changed, where that is neither.
   */
  join(position: number, next: DeviceInstruction, joined: DeviceInstruction): boolean {
    const rises = this.#hazards.mayMove(next, position);
    if (!rises && !this.mayFall(position)) return false;
    this.remove(position);
    this.#put(joined, rises ? position : this.#list.length);
    return true;
  }

  #put(i: DeviceInstruction, position: number): number {
    this.#list[position] = i;
    this.#hazards.note(i, position);
    return position;
  }

  /** The list as it is now. */
  get instructions(): DeviceInstruction[] {
    return this.#list.filter((i) => i !== undefined);
  }
}
