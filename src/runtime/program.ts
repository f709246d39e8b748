/** @file Programs: what tracing records and later runs replay. A tree of steps that branches where the host must look. */
import { type DType, int32, uint8 } from '../core/dtypes.ts';
import { OpError, UnknownError } from '../core/errors.ts';
import { eachInTurns } from '../core/eventLoop.ts';
import { copied } from '../core/makeArray.ts';
import { NDArray, takeBackFrom } from '../core/ndarray.ts';
import { type Shape, sameShape } from '../core/shape.ts';
import type { Device, DeviceBuffer, Kernel } from '../devices/device.ts';
import { input } from '../program/expr.ts';
import {
  Buffer,
  DeviceFailure,
  type DeviceInstruction,
  type HostInstruction,
  type HostMeans,
  type Origin,
} from '../program/instructions.ts';
import { dense } from '../program/value.ts';
import { Storage, type Variable } from './resources.ts';
import type { Run } from './run.ts';

/** Where a bound buffer's memory comes from at each run. */
export type Source =
  | { readonly kind: 'feed'; readonly index: number }
  | { readonly kind: 'slot'; readonly slot: number }
  | VariableSource
  | { readonly kind: 'fixed'; readonly buffer: DeviceBuffer };

/** Memory of a variable. */
export interface VariableSource {
  readonly kind: 'variable';
  readonly variable: Variable;
  readonly bytes: number;
  /** Whether the segment writes all of it before it reads any, so that it need not be the memory that the variable has. */
  readonly isMade: boolean;
}

/** One device segment. */
export interface SegmentStep {
  readonly kind: 'segment';
  readonly kernel: Kernel;
  readonly instructions: readonly DeviceInstruction[];
  readonly sources: readonly Source[];
  /** Scratch memory it needs while it runs. */
  readonly arenaBytes: number;
  /** Slots to allocate before it runs. */
  readonly allocates: readonly { slot: number; bytes: number }[];
  /** Shapes that variables have once it has run. */
  readonly assigned: readonly { variable: Variable; shape: Shape; bytes: number }[];
}

/** One call on the host. */
export interface HostStep {
  readonly kind: 'host';
  readonly instruction: HostInstruction & Origin;
  readonly inputs: readonly Located[];
  readonly outputs: readonly { slot: number; dtype: DType; shape?: Shape }[];
}

/** The memory in a slot becomes that of a variable, in place of a copy. */
export interface AdoptStep {
  readonly kind: 'adopt';
  readonly variable: Variable;
  readonly slot: number;
  readonly shape: Shape;
}

export type Step = SegmentStep | HostStep | AdoptStep;

/** A row-major value and where its memory is. */
export interface Located {
  readonly source: Source | { readonly kind: 'known'; readonly array: NDArray };
  readonly dtype: DType;
  readonly shape: Shape;
}

/** A run of steps, ended by completion, by a look at values or shapes that decides how to go on, or by a mistake found behind them. */
export interface Path {
  readonly steps: Step[];
  end?: { readonly fetches: readonly Located[] } | Branch | Failure;
}

/** A node could not be lowered. A path that ends so is run once: what was wrong may have been put right the next time. */
export interface Failure {
  readonly failure: unknown;
}

export const endsInFailure = ({ end }: Path): boolean => end !== undefined && 'failure' in end;

/** Goes on differently for each content (or shape) of some values. */
export interface Branch {
  /** Values looked at whole. */
  readonly values: readonly Located[];
  /** Slots of which only the shape matters. */
  readonly shapes: readonly number[];
  readonly paths: Map<string, Path>;
  /** Tracing goes on from here when a new case comes up. */
  readonly resume: (frame: Frame, values: readonly NDArray[]) => Promise<Path>;
}

/** Smaller results are not worth the trouble of giving them back. */
const worthGivingBack = 2 ** 20;

/** So many objects are looked up before it is asked whether the event loop has waited long enough. */
const idsPerTurn = 2048;

/** The memory and objects of one run. */
export class Frame implements HostMeans {
  readonly slots: (DeviceBuffer | undefined)[] = [];
  /** Shapes of slots filled by host calls. */
  readonly shapes: (Shape | undefined)[] = [];
  /** Objects made by this run; programs carry their index. */
  readonly objects: object[] = [];
  readonly feeds: DeviceBuffer[] = [];
  /** Objects fixed while tracing; their ids are -1, -2 … */
  constants: readonly object[] = [];
  constructor(
    readonly device: Device,
    readonly run: Run,
  ) {}

  /** Large blocks for results of this run. */
  private large: Set<DeviceBuffer> | undefined;

  allocateResult(slot: number, bytes: number): void {
    const buffer = this.device.allocate(bytes);
    this.slots[slot] = buffer;
    if (bytes >= worthGivingBack) (this.large ??= new Set()).add(buffer);
  }

  /** Lets the caller give large results back: those made in this run. Every fetch has memory of its own. */
  lend(fetches: readonly Located[], results: readonly NDArray[]): void {
    const { device, large } = this; // the results must not keep the whole frame
    if (!large) return;
    for (const [i, { source }] of fetches.entries()) {
      const buffer = source.kind === 'slot' ? this.slots[source.slot] : undefined;
      if (buffer && large.has(buffer)) takeBackFrom(results[i]!, () => device.recycle?.(buffer));
    }
  }

  resolve(source: Source): DeviceBuffer {
    switch (source.kind) {
      case 'feed':
        return this.feeds[source.index]!;
      case 'slot':
        return this.slots[source.slot]!;
      case 'variable':
        return source.variable.storageOf(source.bytes).buffer;
      case 'fixed':
        return source.buffer;
    }
  }

  objectAt(id: number): object {
    return id < 0 ? this.constants[-1 - id]! : this.objects[id]!;
  }
  addObject(object: object): number {
    return this.objects.push(object) - 1;
  }

  /** The objects of ids. */
  private async objectsOf(ids: Int32Array): Promise<object[]> {
    const objects = new Array<object>(ids.length);
    const find = (i: number) => {
      objects[i] = this.objectAt(ids[i]!);
    };
    await eachInTurns(ids.length, find, idsPerTurn);
    return objects;
  }
  /** Adds the objects of an array, and gives their ids. */
  private async asIds({ shape, objects }: NDArray): Promise<NDArray> {
    const ids = new Int32Array(objects.length);
    const add = (i: number) => {
      ids[i] = this.addObject(objects[i]!);
    };
    await eachInTurns(ids.length, add, idsPerTurn);
    return new NDArray(int32, shape, ids);
  }

  /** Takes the feeds. */
  async feed(arrays: readonly NDArray[]): Promise<void> {
    for (const array of arrays)
      this.feeds.push(this.device.fromHost(array.dtype.isObject ? await this.asIds(array) : array));
  }

  /**
   * A host array of a located value; `own` when the memory will not be used again. With `loans` it is for someone who only
   * reads it and ends the loans that are added to them; where it can be, it is not copied then.
   */
  async read({ source, dtype, shape }: Located, own: boolean, loans?: Storage[]): Promise<NDArray> {
    if (source.kind === 'known') return own ? source.array.copy() : source.array;
    const lent =
      loans && !dtype.isObject && source.kind === 'variable' ? source.variable.lend(source.bytes) : undefined;
    if (lent) loans!.push(lent);
    const storage = source.kind === 'variable' ? source.variable.storageOf(source.bytes) : undefined;
    if (storage && storage.writers > 0) return await this.device.toHost(await this.copyInOrder(storage), dtype, shape);
    // Nobody writes to the slots of a run, nor to what was fed, while one of its steps is under way.
    const mayShare = own || lent || (loans && (source.kind === 'slot' || source.kind === 'feed'));
    const given = this.device.toHost(this.resolve(source), dtype.isObject ? int32 : dtype, shape);
    if (given instanceof NDArray && !dtype.isObject) {
      if (mayShare) return given;
      // The memory of variables is copied before anyone else has a turn.
      return source.kind === 'variable' ? given.copy() : await copied(given);
    }
    const array = await given;
    if (dtype.isObject) return new NDArray(dtype, shape, await this.objectsOf(array.data as Int32Array)); // ids are int32
    return array;
  }

  /** A copy of what segments under way are writing, made by the device: behind them, and before those that begin later. */
  private async copyInOrder(storage: Storage): Promise<DeviceBuffer> {
    const { bytes } = storage.buffer;
    const copy = this.device.allocate(bytes);
    const [from, to] = [new Buffer('bound', bytes), new Buffer('bound', bytes)];
    const [inputs, outputs] = [[dense(from, uint8, [bytes])], [dense(to, uint8, [bytes])]];
    const copying: DeviceInstruction = { kind: 'map', shape: [bytes], inputs, outputs, results: [input(0, uint8)] };
    const segment = { instructions: [copying], arena: new Map(), arenaBytes: 0, bound: [from, to] };
    storage.readers++;
    try {
      await this.device.compile(segment).run([storage.buffer, copy]);
    } finally {
      storage.readers--;
    }
    return copy;
  }

  private readonly made = new Set<ArrayBufferLike>();
  /** Memory for the results of host calls. */
  readonly allocate = (bytes: number): Uint8Array => {
    const { host } = this.device.allocate(bytes);
    if (!host) return new Uint8Array(bytes);
    this.made.add(host.buffer);
    return host;
  };

  get threads(): number {
    return this.device.threads ?? 0;
  }

  /** Gives the memory in a slot to a variable; memory that someone else may know is copied. */
  handOver({ variable, slot, shape }: AdoptStep): void {
    let buffer = this.slots[slot]!;
    if (!buffer.host || !this.made.delete(buffer.host.buffer)) {
      const copy = this.device.allocate(buffer.bytes);
      copy.host!.set(buffer.host!); // such steps are made for devices that compute in host memory
      buffer = copy;
    }
    variable.adopt(buffer, shape);
  }

  /** Puts a host array into a slot. */
  store(slot: number, array: NDArray): void | Promise<void> {
    this.shapes[slot] = array.shape;
    if (array.dtype.isObject) return this.storeIds(slot, array);
    this.slots[slot] = this.device.fromHost(array);
  }
  private async storeIds(slot: number, array: NDArray): Promise<void> {
    this.slots[slot] = this.device.fromHost(await this.asIds(array));
  }
}

/** So many ways to go on from one place are kept. */
const maxPaths = 64;

/** Replays a path. Gives the fetched arrays; with `lends`, to a caller who may give them back. */
export async function replay(first: Path, frame: Frame, lends = false): Promise<NDArray[]> {
  for (let path = first; ; ) {
    for (const step of path.steps) {
      frame.run.stop.throwIfStopped();
      const pending = runStep(step, frame);
      // A device finishes what it has begun, and keeps the memory until then; a stopped run need not wait for it.
      if (pending) await frame.run.stop.unlessStopped(pending);
    }
    const end = path.end!;
    if ('fetches' in end) {
      const results: NDArray[] = [];
      for (const f of end.fetches) results.push(await frame.read(f, true));
      if (lends) frame.lend(end.fetches, results);
      return results;
    }
    if ('failure' in end) throw end.failure;
    const values: NDArray[] = [];
    for (const v of end.values) values.push(await frame.read(v, false));
    const key = branchKey(
      values,
      end.shapes.map((slot) => frame.shapes[slot]!),
    );
    let next = end.paths.get(key);
    if (!next) {
      next = await end.resume(frame, values);
      if (!endsInFailure(next)) {
        // Content that differs at every run would otherwise pile up paths.
        if (end.paths.size >= maxPaths) end.paths.delete(end.paths.keys().next().value!);
        end.paths.set(key, next);
      }
    }
    path = next;
  }
}

function branchKey(values: readonly NDArray[], shapes: readonly Shape[]): string {
  return [...values.map(contentKey), ...shapes.map((s) => s.join())].join(';');
}

/** A text that differs whenever the content differs. */
function contentKey(array: NDArray): string {
  const content = array.dtype.isObject ? array.objects.map(objectKey).join('\0') : latin1(array.bytes);
  return `${array.shape.join()}:${content}`;
}
const latin1 = (bytes: Uint8Array) =>
  globalThis.Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');

const identities = new WeakMap<object, number>();
let nextIdentity = 0;
/** Strings by content, anything else by identity. */
function objectKey(object: object): string {
  if (object instanceof Uint8Array) return latin1(object);
  let id = identities.get(object);
  if (id === undefined) identities.set(object, (id = nextIdentity++));
  return `#${id}`;
}

function runStep(step: Step, frame: Frame): void | Promise<void> {
  switch (step.kind) {
    case 'segment':
      return runSegment(step, frame);
    case 'host':
      return runHost(step, frame);
    case 'adopt':
      return frame.handOver(step);
  }
}

function runSegment(step: SegmentStep, frame: Frame): void | Promise<void> {
  for (const { slot, bytes } of step.allocates) frame.allocateResult(slot, bytes);
  for (const { variable } of step.assigned) variable.leaveLoans();
  const memory = new VariableMemory();
  const bound = step.sources.map((s) => (s.kind === 'variable' ? memory.of(s).buffer : frame.resolve(s)));
  const timeline = frame.run.stats?.begin(step.instructions);
  frame.run.stats?.useMemory(step.arenaBytes + frame.slots.reduce((sum, b) => sum + (b?.bytes ?? 0), 0));
  try {
    const pending = step.kernel.run(bound, timeline ? { timeline } : undefined);
    if (pending) {
      const end = beginUse(step);
      const before = step.assigned.map(({ variable }) => variable.storage);
      return pending.then(
        () => {
          end();
          frame.run.stats?.end(step.instructions, timeline);
          memory.assign(step, before);
        },
        (error) => {
          end();
          throw explained(error, step.instructions);
        },
      );
    }
  } catch (error) {
    throw explained(error, step.instructions);
  }
  frame.run.stats?.end(step.instructions, timeline);
  memory.assign(step);
}

/**
 * The memory of variables in one run of a segment. Content of another size gets other memory, which becomes the variable's once the
 * content is there: until then, and should the segment fail, everybody else finds what was there before.
 */
class VariableMemory {
  private made: { readonly variable: Variable; readonly storage: Storage }[] | undefined;

  of({ variable, bytes, isMade }: VariableSource): Storage {
    if (!isMade || variable.storage?.buffer.bytes === bytes) return variable.storageOf(bytes);
    let storage = this.madeFor(variable, bytes);
    if (!storage) {
      storage = new Storage(variable.device.allocate(bytes));
      (this.made ??= []).push({ variable, storage });
    }
    return storage;
  }

  private madeFor(variable: Variable, bytes: number): Storage | undefined {
    return this.made?.find((m) => m.variable === variable && m.storage.buffer.bytes === bytes)?.storage;
  }

  /** Lets variables have what the segment has written; `before` is what they had when it began, if others had turns since. */
  assign({ assigned }: SegmentStep, before?: readonly (Storage | undefined)[]): void {
    for (let i = 0; i < assigned.length; i++) {
      const { variable, shape, bytes } = assigned[i]!;
      const storage = this.madeFor(variable, bytes);
      if (storage) variable.adopt(storage.buffer, shape);
      // Else another run has given it other memory meanwhile, or taken its content away.
      else if (!before || variable.storage === before[i]) variable.shape = shape;
    }
  }
}

/** Notes that a segment uses the memory that variables have, until the result is called. */
function beginUse({ sources, assigned }: SegmentStep): () => void {
  const read = sources.flatMap((s) => (s.kind === 'variable' && s.variable.storage ? [s.variable.storage] : []));
  const written = assigned.flatMap(({ variable }) => variable.storage ?? []);
  for (const storage of read) storage.readers++;
  for (const storage of written) storage.writers++;
  return () => {
    for (const storage of read) storage.readers--;
    for (const storage of written) storage.writers--;
  };
}

async function runHost(step: HostStep, frame: Frame): Promise<void> {
  const loans: Storage[] = [];
  const { stats } = frame.run;
  let results: readonly NDArray[];
  try {
    const inputs: NDArray[] = [];
    const { borrows } = step.instruction.options ?? {};
    for (const i of step.inputs) inputs.push(await frame.read(i, false, borrows ? loans : undefined));
    const start = stats?.now() ?? 0;
    results = await callHost(step.instruction, inputs, frame);
    stats?.host(step.instruction.node ?? '', start);
  } finally {
    for (const storage of loans) storage.loans--;
  }
  for (const [i, { slot, shape }] of step.outputs.entries()) {
    const array = results[i]!;
    if (shape && !sameShape(shape, array.shape))
      throw new Error(`a host call promised ${shape} and gave ${array.shape}`);
    const pending = frame.store(slot, array);
    if (pending) await pending;
  }
}

/** Whatever a host call throws becomes an error with a code that names the node. */
async function callHost(
  instruction: HostStep['instruction'],
  inputs: NDArray[],
  frame: Frame,
): Promise<readonly NDArray[]> {
  try {
    return await instruction.call(inputs, frame.run, frame);
  } catch (error) {
    if (!(error instanceof OpError)) throw new UnknownError(String(error), { node: instruction.node, cause: error });
    throw error.node === undefined ? error.extended(error.message, { node: instruction.node }) : error;
  }
}

/** A device's failure in the words of the op that asked for the instruction. */
function explained(error: unknown, instructions: readonly DeviceInstruction[]): unknown {
  if (!(error instanceof DeviceFailure)) return error;
  const i = instructions[error.failure.instruction];
  const told = i?.explain?.(error.failure);
  return told && i?.node ? told.extended(told.message, { node: i.node }) : (told ?? error);
}
