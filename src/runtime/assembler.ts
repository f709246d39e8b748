/** @file The assembler: turns recorded instructions into steps, and knows where every buffer's memory comes from. */
import type { DType } from '../core/dtypes.ts';
import { InternalError } from '../core/errors.ts';
import { inTurns, type Work, yieldIfLong } from '../core/eventLoop.ts';
import { NDArray, zeros } from '../core/ndarray.ts';
import { type Shape, sizeOf } from '../core/shape.ts';
import type { Device, DeviceBuffer } from '../devices/device.ts';
import { readsOf, writesOf } from '../program/access.ts';
import type { ProgramBuilder } from '../program/builder.ts';
import type { Recorded } from '../program/instructionBuilder.ts';
import { Buffer, type DeviceInstruction, type HostOptions, type View } from '../program/instructions.ts';
import { protectReads } from '../program/passes.ts';
import { planning } from '../program/plan.ts';
import { isContiguous } from '../program/value.ts';
import type { AdoptStep, Located, SegmentStep, Source, Step } from './program.ts';
import { Variable } from './resources.ts';

/** So many instructions are compiled, and taken through each pass of the plan, without a pause; a longer stretch becomes several segments. */
const maxInstructions = 2048;

export class Assembler {
  private readonly given = new Map<Buffer, Source>();
  private readonly fixed = new Map<DeviceBuffer, Buffer>();
  private readonly slots = new Map<Buffer, number>();
  /** What host calls say of the memory in the slots that they fill. */
  private readonly promises = new Map<number, HostOptions>();

  constructor(
    private readonly device: Device,
    /** The objects that ids in constant buffers stand for. */
    private readonly constantObject: (id: number) => object,
    /** How many instructions may share the threads. */
    private readonly atOnce?: number,
  ) {}

  /** A buffer for the feed at this position. */
  feed(index: number, array: NDArray): Buffer {
    const buffer = new Buffer('bound', array.size * array.dtype.size);
    this.given.set(buffer, { kind: 'feed', index });
    return buffer;
  }

  /** The position of the feed that a buffer is, if it is one. */
  feedOf(buffer: Buffer): number | undefined {
    const source = this.given.get(buffer);
    return source?.kind === 'feed' ? source.index : undefined;
  }

  /** The buffer that stands for memory which is the same at every run. */
  fixedMemory(memory: DeviceBuffer): Buffer {
    let buffer = this.fixed.get(memory);
    if (!buffer) {
      buffer = new Buffer('bound', memory.bytes);
      this.fixed.set(memory, buffer);
      this.given.set(buffer, { kind: 'fixed', buffer: memory });
    }
    return buffer;
  }

  /** A slot for what a host call will give, of unknown size yet. */
  openSlot(promise: HostOptions = {}): number {
    const slot = this.slotFor(new Buffer('temp', 0));
    this.promises.set(slot, promise);
    return slot;
  }

  /** Whether a buffer is memory of the run that nobody else knows, so that the run can give it to its caller. */
  isOwn(buffer: Buffer): boolean {
    return buffer.kind === 'temp' || this.promises.get(this.slots.get(buffer) ?? -1)?.isFresh === true;
  }

  /** The buffer in a slot, now that its shape is known. */
  slotBuffer(slot: number, dtype: DType, shape: Shape): Buffer {
    const buffer = new Buffer(
      'bound',
      shape.reduce((n, d) => n * d, dtype.size),
    );
    this.slots.set(buffer, slot);
    return buffer;
  }

  /**
   * Turns what is recorded into steps. Buffers in `keep` are needed after them and survive in slots; the trace `goesOn` after
   * them, or these are the last.
   */
  async assemble(builder: ProgramBuilder, keep: ReadonlySet<Buffer>, goesOn: boolean): Promise<Step[]> {
    const recorded = await inTurns(protectReads(builder.instructions.splice(0)));
    const adoptions = goesOn ? new Map<Recorded, AdoptStep>() : this.adoptions(builder, recorded, keep);
    const chunks = split(recorded.filter((i) => !adoptions.has(i)));
    const lastRead = await inTurns(lastReads(chunks));
    // Nothing else in these steps has to do with what is handed over, so the place does not matter.
    const steps: Step[] = [...adoptions.values()];
    for (const [k, { device, host }] of chunks.entries()) {
      const pause = yieldIfLong();
      if (pause) await pause;
      const outlives = (b: Buffer) => keep.has(b) || this.slots.has(b) || (lastRead.get(b) ?? -1) > k;
      const segment = await this.segment(builder, device, outlives);
      if (segment) steps.push(segment);
      if (host)
        steps.push({
          kind: 'host',
          instruction: host,
          inputs: host.inputs.map((v) => this.locate(v)),
          outputs: host.outputs!.map((v) => ({ slot: this.slotFor(v.buffer), dtype: v.dtype, shape: v.shape })),
        });
    }
    return steps;
  }

  /** Copies of what host calls gave away to variables: where nothing else has to do with either, no copy is needed. */
  private adoptions(
    builder: ProgramBuilder,
    recorded: readonly Recorded[],
    keep: ReadonlySet<Buffer>,
  ): Map<Recorded, AdoptStep> {
    const found = new Map<Recorded, AdoptStep>();
    if (![...this.promises.values()].some(({ givesAway }) => givesAway)) return found;
    const uses = new Map<object, number>();
    for (const i of recorded)
      for (const { buffer } of [...readsOf(i), ...writesOf(i)]) {
        const used = buffer.owner ?? buffer;
        uses.set(used, (uses.get(used) ?? 0) + 1);
      }
    for (const i of recorded) {
      const copy = copiedWhole(i);
      const slot = copy && this.slots.get(copy.from);
      const variable = copy?.to.owner;
      if (slot === undefined || !this.promises.get(slot)?.givesAway || !(variable instanceof Variable)) continue;
      if (keep.has(copy!.from) || uses.get(copy!.from) !== 1 || uses.get(variable) !== 1) continue;
      found.set(i, { kind: 'adopt', variable, slot, shape: builder.shapeOfVersion(copy!.to) });
    }
    return found;
  }

  private async segment(
    builder: ProgramBuilder,
    recorded: readonly DeviceInstruction[],
    outlives: (buffer: Buffer) => boolean,
  ): Promise<SegmentStep | undefined> {
    const keep = new Set<Buffer>();
    for (const i of recorded)
      for (const { buffer } of [...readsOf(i), ...writesOf(i)])
        if (buffer.kind === 'temp' && outlives(buffer)) keep.add(buffer);
    const segment = await inTurns(planning(recorded, keep, this.atOnce));
    if (segment.instructions.length === 0) return undefined;
    const assigned = new Map<Variable, Buffer>();
    for (const i of segment.instructions)
      for (const { buffer } of writesOf(i)) if (buffer.owner instanceof Variable) assigned.set(buffer.owner, buffer);
    const allocates: { slot: number; bytes: number }[] = [];
    for (const buffer of segment.bound)
      if (buffer.kind === 'temp' && !this.slots.has(buffer))
        allocates.push({ slot: this.slotFor(buffer), bytes: buffer.bytes });
    const { device } = this;
    const made = madeContent(recorded);
    return {
      kind: 'segment',
      kernel: device.compileInTurns ? await device.compileInTurns(segment) : device.compile(segment),
      instructions: segment.instructions,
      arenaBytes: segment.arenaBytes,
      sources: segment.bound.map((b) => this.sourceOf(b, made(b))),
      allocates,
      assigned: [...assigned].map(([variable, buffer]) => ({
        variable,
        shape: builder.shapeOfVersion(buffer),
        bytes: buffer.bytes,
      })),
    };
  }

  private slotFor(buffer: Buffer): number {
    const slot = this.slots.size;
    this.slots.set(buffer, slot);
    return slot;
  }

  private sourceOf(buffer: Buffer, isMade = false): Source {
    if (buffer.owner instanceof Variable)
      return { kind: 'variable', variable: buffer.owner, bytes: buffer.bytes, isMade };
    const slot = this.slots.get(buffer);
    const source = this.given.get(buffer) ?? (slot === undefined ? undefined : { kind: 'slot' as const, slot });
    if (!source) throw new InternalError('a buffer is used that nothing provides');
    return source;
  }

  /** Where a row-major value will be found. */
  locate(value: View & { readonly known?: NDArray }): Located {
    const { dtype, shape } = value;
    if (value.known) return { source: { kind: 'known', array: value.known }, dtype, shape };
    if (value.buffer.kind === 'constant')
      return { source: { kind: 'known', array: this.constantArray(value) }, dtype, shape };
    if (value.buffer.bytes === 0) return { source: { kind: 'known', array: zeros(dtype, shape) }, dtype, shape };
    return { source: this.sourceOf(value.buffer), dtype, shape };
  }

  /** The array in a constant buffer that a value covers whole. */
  private constantArray({ buffer, dtype, shape }: View): NDArray {
    const bytes = buffer.data!.slice();
    const data = dtype.over(bytes.buffer, 0, bytes.length / dtype.size);
    if (!dtype.isObject) return new NDArray(dtype, shape, data);
    return new NDArray(
      dtype,
      shape,
      Array.from(data as Int32Array, (id) => this.constantObject(id)),
    ); // ids are int32
  }
}

interface Chunk {
  readonly device: DeviceInstruction[];
  host?: Extract<Recorded, { kind: 'host' }>;
}

/** Whether a view shows all of its buffer. */
const isWhole = (v: View): boolean =>
  v.offset === 0 && isContiguous(v) && v.buffer.bytes === sizeOf(v.shape) * v.dtype.size;

/** Tells of which variables, and in which sizes, instructions write the whole content before they read any. */
function madeContent(instructions: readonly DeviceInstruction[]): (buffer: Buffer) => boolean {
  const first = new Map<object, Map<number, boolean>>();
  const see = ({ buffer: { owner, bytes } }: View, isMade: boolean) => {
    if (!owner) return;
    const sizes = first.get(owner) ?? new Map<number, boolean>();
    if (!sizes.has(bytes)) first.set(owner, sizes.set(bytes, isMade));
  };
  for (const i of instructions) {
    for (const view of readsOf(i)) see(view, false);
    for (const view of writesOf(i)) see(view, isWhole(view));
  }
  return ({ owner, bytes }) => owner !== undefined && first.get(owner)?.get(bytes) === true;
}

/** The two buffers, if all that the instruction does is to copy one whole to another. */
function copiedWhole(i: Recorded): { from: Buffer; to: Buffer } | undefined {
  if (i.kind !== 'map' || i.inputs.length !== 1 || i.outputs.length !== 1 || i.results[0]!.op !== 'input')
    return undefined;
  const [from, to] = [i.inputs[0]!, i.outputs[0]!];
  return from.dtype === to.dtype && isWhole(from) && isWhole(to) ? { from: from.buffer, to: to.buffer } : undefined;
}

/** The chunk that reads each buffer last. */
function* lastReads(chunks: readonly Chunk[]): Work<Map<Buffer, number>> {
  const last = new Map<Buffer, number>();
  for (const [k, { device, host }] of chunks.entries()) {
    for (const i of device) {
      yield;
      for (const v of readsOf(i)) last.set(v.buffer, k);
    }
    // A host call comes after its chunk's segment.
    for (const v of host?.inputs ?? []) last.set(v.buffer, k + 0.5);
  }
  return last;
}

/** Cuts at host calls, and where a stretch would be too long to plan in one go. */
function split(recorded: readonly Recorded[]): Chunk[] {
  const chunks: Chunk[] = [{ device: [] }];
  for (const i of recorded)
    if (i.kind === 'host') {
      chunks.at(-1)!.host = i;
      chunks.push({ device: [] });
    } else {
      if (chunks.at(-1)!.device.length === maxInstructions) chunks.push({ device: [] });
      chunks.at(-1)!.device.push(i);
    }
  return chunks;
}
