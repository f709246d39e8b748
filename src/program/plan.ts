/** @file The memory plan: temporaries share one arena, each block free again after its last use. */
import { finish, type Work } from '../core/eventLoop.ts';
import { sameShape } from '../core/shape.ts';
import { readsOf, writesOf } from './access.ts';
import { accumulateProducts, joinSums } from './accumulate.ts';
import { groupRows } from './blocks.ts';
import { fuseEpilogues } from './epilogue.ts';
import { fuse } from './fuse.ts';
import type { Buffer, DeviceInstruction, Segment, View } from './instructions.ts';
import { narrowProducts } from './narrow.ts';
import { removeDead } from './passes.ts';
import { maskGradients } from './pooling.ts';
import { sideBySide } from './together.ts';

/** Cache lines: no two values share one, and vector loads stay aligned. */
const alignment = 64;

type Pass = (instructions: readonly DeviceInstruction[], keep: ReadonlySet<Buffer>) => Work<DeviceInstruction[]>;

/** What happens to instructions, in this order. */
const passes: readonly Pass[] = [
  ...[removeDead, narrowProducts, maskGradients, accumulateProducts, joinSums, fuse, fuseEpilogues, groupRows],
];

/**
 * Optimizes recorded instructions and gives every temporary its place. Buffers in `keep` outlive the segment and are bound;
 * at most `atOnce` instructions that have nothing to do with each other share the threads. It may be interrupted anywhere
 * between two instructions, for every pass takes a while where there are thousands of them.
 */
export function* planning(
  recorded: readonly DeviceInstruction[],
  keep: ReadonlySet<Buffer>,
  atOnce?: number,
): Work<Segment> {
  let instructions = recorded;
  for (const pass of passes) instructions = yield* pass(instructions, keep);
  instructions = yield* sideBySide(instructions, atOnce);
  const bound = new Set<Buffer>();
  const lastUse = new Map<Buffer, number>();
  for (const [k, i] of instructions.entries()) {
    yield;
    for (const v of [...readsOf(i), ...writesOf(i)]) {
      if (v.buffer.kind === 'bound' || keep.has(v.buffer)) bound.add(v.buffer);
      else if (v.buffer.kind === 'temp') lastUse.set(v.buffer, k);
    }
  }
  const { arena, arenaBytes } = yield* placeTemps(instructions, lastUse);
  return { instructions, arena, arenaBytes, bound: [...bound] };
}

/** The plan of a segment, made in one go. */
export function planSegment(recorded: readonly DeviceInstruction[], keep: ReadonlySet<Buffer>): Segment {
  return finish(planning(recorded, keep));
}

function* placeTemps(
  instructions: readonly DeviceInstruction[],
  lastUse: ReadonlyMap<Buffer, number>,
): Work<Pick<Segment, 'arena' | 'arenaBytes'>> {
  const arena = new Map<Buffer, number>();
  const free = new FreeList();
  const dying = new Map<number, Buffer[]>();
  for (const [buffer, k] of lastUse) {
    const list = dying.get(k);
    if (list) list.push(buffer);
    else dying.set(k, [buffer]);
  }
  for (const [k, i] of instructions.entries()) {
    yield;
    const ending = new Set(dying.get(k));
    for (const v of writesOf(i)) {
      if (!lastUse.has(v.buffer) || arena.has(v.buffer)) continue;
      const inherited = inheritance(i, v, ending);
      arena.set(v.buffer, inherited ? arena.get(inherited)! : free.take(rounded(v.buffer.bytes)));
      if (inherited) ending.delete(inherited);
    }
    for (const buffer of ending) free.give(arena.get(buffer)!, rounded(buffer.bytes));
  }
  return { arena, arenaBytes: free.highWater };
}

/** A buffer that ends with this instruction, and whose elements the view can take the place of one by one. */
function inheritance(i: DeviceInstruction, output: View, ending: ReadonlySet<Buffer>): Buffer | undefined {
  const step = writerOf(i, output);
  const isProduct = step?.kind === 'dot' && step.output === output;
  const map = step?.kind === 'dot' ? step.after : step;
  const sources = isProduct
    ? step.plus
      ? [step.plus]
      : []
    : map?.kind === 'map' && map.outputs.includes(output)
      ? map.inputs
      : [];
  const covers = (v: View) => v.buffer.bytes === output.buffer.bytes && v.dtype.size === output.dtype.size;
  const sameElements = (v: View) => v.offset === output.offset && sameShape(v.strides, output.strides);
  const read = [...readsOf(i), ...sources];
  return sources.find(
    ({ buffer }) =>
      ending.has(buffer) &&
      read.every((v) => v.buffer !== buffer || (sources.includes(v) && covers(v) && sameElements(v))),
  )?.buffer;
}

/** The instruction that writes a view: the given one, or the one among its steps. */
function writerOf(i: DeviceInstruction, view: View): DeviceInstruction | undefined {
  if (i.kind !== 'together' && i.kind !== 'blocks') return i;
  const steps: readonly DeviceInstruction[] = i.steps;
  const step = steps.find((s) => writesOf(s).includes(view));
  return step && writerOf(step, view);
}

const rounded = (bytes: number) => Math.max(alignment, Math.ceil(bytes / alignment) * alignment);

/** Free blocks of the arena, by offset; neighbours are merged. */
class FreeList {
  highWater = 0;
  private readonly blocks: { start: number; size: number }[] = [];

  /** The smallest block that is large enough, or new space at the end. */
  take(size: number): number {
    let best = -1;
    for (const [i, b] of this.blocks.entries())
      if (b.size >= size && (best < 0 || b.size < this.blocks[best]!.size)) best = i;
    if (best < 0) {
      const last = this.blocks.at(-1);
      if (last && last.start + last.size === this.highWater) {
        this.blocks.pop();
        this.highWater = last.start + size;
        return last.start;
      }
      this.highWater += size;
      return this.highWater - size;
    }
    const block = this.blocks[best]!;
    const { start } = block;
    if (block.size === size) this.blocks.splice(best, 1);
    else this.blocks[best] = { start: start + size, size: block.size - size };
    return start;
  }

  give(start: number, size: number): void {
    let i = this.blocks.length;
    while (i > 0 && this.blocks[i - 1]!.start > start) i--;
    this.blocks.splice(i, 0, { start, size });
    const next = this.blocks[i + 1];
    if (next && start + size === next.start) this.blocks.splice(i, 2, { start, size: size + next.size });
    const before = this.blocks[i - 1];
    const here = this.blocks[i]!;
    if (before && before.start + before.size === here.start)
      this.blocks.splice(i - 1, 2, { start: before.start, size: before.size + here.size });
  }
}
