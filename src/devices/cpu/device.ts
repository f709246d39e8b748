/** @file The cpu device: segments run in the native library. */
import { constants } from 'node:buffer';
import { totalmem } from 'node:os';
import type { DType, TypedArray } from '../../core/dtypes.ts';
import { InternalError, ResourceExhaustedError } from '../../core/errors.ts';
import { finish, inTurns, type Work } from '../../core/eventLoop.ts';
import { NDArray, Unseen } from '../../core/ndarray.ts';
import { type Shape, sizeOf } from '../../core/shape.ts';
import { writesOf } from '../../program/access.ts';
import { DeviceFailure, type FailureCode, type Segment, storageOf } from '../../program/instructions.ts';
import type { Device, DeviceBuffer, Kernel, RunSegment } from '../device.ts';
import { type Arena, Arenas } from './arena.ts';
import { costOf, perMultiplyAdd } from './cost.ts';
import { arenaSlot, constantsSlot, type EncodedSegment, encoding, firstBoundSlot } from './encode.ts';
import { LargeBlock, LargeBlocks } from './largeBlocks.ts';
import { type NativeLibrary, nativeLibrary } from './library.ts';
import { PackRoom, PackShare } from './sharedFactors.ts';
import { type Length, lengthOf, type Runnable, Turns } from './turns.ts';

/** Native code may read and write whole cache lines; it is fastest when rows begin on one. */
const alignment = 64;

/** Bytes from which a block is worth large pages. */
const largeBlock = 8 * 2 ** 20;

/** Bytes from which memory is left as it is instead of being cleared. */
const worthLeaving = 2 ** 12;

/** Bytes from which the memory of a result is kept for the next one. */
const largeResult = 2 ** 20;

/** How many times as long instructions take as estimated. The matrix unit is what estimates are of. */
const slownessOf = ({ variant, multiplyTime }: NativeLibrary): number =>
  variant === 'amx' ? 1 : Math.max(1, multiplyTime / perMultiplyAdd);

/** So many of the four threads that Node.js has for what runs beside the event loop; one is left for files. */
const mostAside = 3;

/** Estimated nanoseconds below which threads do not share an instruction. */
const leastShared = 1e4;

/** Instructions and bound buffers from which compiling may take so long that others should have their turn meanwhile. */
const worthTurns = 64;

/** Halves of words from which a program is made beside the event loop: it takes a millisecond or more. */
const manyWords = 2 ** 15;

const failureCodes = ['divisionByZero', 'negativePower', 'index', 'check', 'range'] as const;

/** A number for every content that memory has had. */
let contents = 0;

/** Host memory with its address. */
class CpuBuffer extends Unseen implements DeviceBuffer {
  readonly bytes: number;
  /** Another number when it has been written. */
  content = ++contents;
  constructor(
    readonly memory: Uint8Array | LargeBlock,
    readonly address: bigint,
  ) {
    super();
    this.bytes = memory.byteLength;
  }

  get host(): Uint8Array {
    return this.memory instanceof Uint8Array ? this.memory : new Uint8Array(this.memory.memory);
  }

  look(dtype: DType, count: number): TypedArray {
    const { buffer, byteOffset } = this.host;
    return dtype.over(buffer, byteOffset, count);
  }
}

/** How many bytes a buffer has now: a detached one has none, whatever it once said. */
function presentBytes(buffer: DeviceBuffer): number {
  return (buffer instanceof CpuBuffer ? buffer.memory : buffer.host)?.byteLength ?? 0;
}

/** JavaScript has no arrays over more memory than this. */
function checkSize(bytes: number): void {
  if (bytes > constants.MAX_LENGTH)
    throw new ResourceExhaustedError(
      `the cpu device cannot hold ${bytes} bytes in one piece; the most is ${constants.MAX_LENGTH}`,
    );
}

/** Memory of undefined content: it is written before anyone reads it, so clearing it would be for nothing. */
function allocateAligned(library: NativeLibrary, bytes: number): CpuBuffer {
  checkSize(bytes);
  let memory: ArrayBufferLike;
  try {
    // Few bytes are cleared sooner than it takes to ask for memory that is not.
    const whole = bytes + alignment;
    memory = bytes < worthLeaving ? new ArrayBuffer(whole) : Buffer.allocUnsafeSlow(whole).buffer;
  } catch (cause) {
    throw new ResourceExhaustedError(`the cpu device could not get ${bytes} bytes of memory`, { cause });
  }
  const address = library.address(memory);
  if (bytes >= largeBlock) library.preferLargePages(address, bytes);
  const skip = Number(-address & BigInt(alignment - 1));
  return new CpuBuffer(new Uint8Array(memory, skip, bytes), address + BigInt(skip));
}

/** What all users of the processors share: their memory, and turns. */
class Shared {
  readonly turns: Turns;
  /** What is left for factors that kernels keep packed. */
  readonly packRoom = new PackRoom();
  readonly arenas: Arenas;
  readonly #large: LargeBlocks;
  readonly #foreign = new WeakMap<DeviceBuffer, bigint>();

  constructor(readonly library: NativeLibrary) {
    this.turns = new Turns(Math.min(library.processors, mostAside), (buffer) => this.addressOf(buffer));
    this.arenas = new Arenas(library);
    this.#large = new LargeBlocks(library);
  }

  /** Memory for results and variables. */
  allocate(bytes: number): CpuBuffer {
    if (bytes < largeResult) return allocateAligned(this.library, bytes);
    checkSize(bytes);
    const block = this.#large.allocate(bytes);
    return new CpuBuffer(block, BigInt(block.address));
  }

  recycle({ memory }: CpuBuffer): void {
    if (memory instanceof LargeBlock) this.#large.takeBack(memory);
    else if (memory.byteLength === memory.buffer.byteLength) this.#large.takeBack(memory.buffer);
  }

  /** Where a buffer is; those not made by this device are looked up once. */
  addressOf(buffer: DeviceBuffer): bigint {
    if (buffer instanceof CpuBuffer) return buffer.address;
    let address = this.#foreign.get(buffer);
    if (address === undefined) {
      address = this.library.address(hostBytes(buffer));
      this.#foreign.set(buffer, address);
    }
    return address;
  }
}

/** The processors of this machine and its memory, as far as one user of them may use them. */
export class CpuDevice implements Device {
  readonly type = 'CPU';
  readonly description: string;
  readonly memoryLimit = totalmem();

  /** The device, or undefined when the native library is not there. Never throws. */
  static open(): CpuDevice | undefined {
    const library = nativeLibrary();
    return 'problem' in library ? undefined : new CpuDevice(library, new Shared(library), 0);
  }

  /** Why `open` gives no device, and what to do about it. */
  static get problem(): string | undefined {
    const library = nativeLibrary();
    return 'problem' in library ? library.problem : undefined;
  }

  /** `threads` is how many threads large instructions are spread over; 0 means as many as there are processors. */
  private constructor(
    readonly library: NativeLibrary,
    readonly shared: Shared,
    public threads: number,
  ) {
    this.description = `native: ${library.variant}, ${threads || library.processors} threads`;
  }

  /** The same device for a user who asks for so many threads. */
  withThreads(count: number): CpuDevice {
    return new CpuDevice(this.library, this.shared, count);
  }

  allocate(bytes: number): DeviceBuffer {
    return this.shared.allocate(bytes);
  }

  recycle(buffer: DeviceBuffer): void {
    if (buffer instanceof CpuBuffer) this.shared.recycle(buffer);
  }

  fromHost(array: NDArray): DeviceBuffer {
    if (array.unseen instanceof CpuBuffer) return array.unseen;
    const host = array.bytes;
    // Memory shared with other threads may change under native code; only plain memory is taken as it is.
    if (host.buffer instanceof ArrayBuffer) return new CpuBuffer(host, this.library.address(host));
    const copy = allocateAligned(this.library, host.byteLength);
    copy.host.set(host);
    return copy;
  }

  toHost(buffer: DeviceBuffer, dtype: DType, shape: Shape): NDArray {
    if (buffer instanceof CpuBuffer && buffer.memory instanceof LargeBlock && !buffer.memory.isSeen)
      return new NDArray(dtype, shape, buffer);
    const bytes = hostBytes(buffer);
    const aligned = bytes.byteOffset % (dtype.size / dtype.entries) === 0 ? bytes : bytes.slice();
    return new NDArray(dtype, shape, dtype.over(aligned.buffer, aligned.byteOffset, sizeOf(shape)));
  }

  /** `twin` is a kernel of the same segment. */
  compile(segment: Segment, twin?: CpuKernel): CpuKernel {
    const room = new PackShare(this.shared.packRoom);
    try {
      const prepared = finish(preparing(this, segment, room));
      const kernel = new CpuKernel(this, segment, prepared, twin);
      kernel.own(this.library.create(prepared.encoded.words), room);
      return kernel;
    } catch (error) {
      room.giveBack();
      throw error;
    }
  }

  async compileInTurns(segment: Segment): Promise<CpuKernel> {
    if (segment.instructions.length + segment.bound.length < worthTurns) return this.compile(segment);
    const room = new PackShare(this.shared.packRoom);
    try {
      const prepared = await inTurns(preparing(this, segment, room));
      const { words } = prepared.encoded;
      const kernel = new CpuKernel(this, segment, prepared);
      kernel.own(words.length < manyWords ? this.library.create(words) : await this.library.createAside(words), room);
      return kernel;
    } catch (error) {
      room.giveBack();
      throw error;
    }
  }
}

function hostBytes(buffer: DeviceBuffer): Uint8Array {
  if (!buffer.host) throw new InternalError('a buffer of another device was handed to the cpu device');
  return buffer.host;
}

/** What a kernel has outside of JavaScript's memory. */
interface NativeMemory {
  readonly library: NativeLibrary;
  readonly program: number;
  readonly room: PackShare;
}
/** Frees native programs whose kernels are gone. */
const programs = new FinalizationRegistry<NativeMemory>(({ library, program, room }) => {
  library.free(program);
  room.giveBack();
});

function constantsOf({ constantBytes, copyConstants }: EncodedSegment, library: NativeLibrary): CpuBuffer {
  const constants = allocateAligned(library, constantBytes);
  copyConstants(constants.host);
  return constants;
}

/** What is found out about a segment before it becomes a kernel. */
interface Prepared {
  readonly encoded: EncodedSegment;
  /** Which of the bound buffers it writes. */
  readonly written: readonly number[];
  readonly length: Length;
}

function* preparing({ library, threads: wanted }: CpuDevice, segment: Segment, room: PackShare): Work<Prepared> {
  const encoded = yield* encoding(segment, library.code, room);
  const threads = wanted || library.processors;
  const writes = new Set<object>();
  const estimates: number[] = [];
  const slowness = slownessOf(library);
  for (const instruction of segment.instructions) {
    yield;
    for (const { buffer } of writesOf(instruction)) writes.add(storageOf(buffer));
    const alone = costOf(instruction) * slowness;
    estimates.push(Math.max(alone / threads, Math.min(alone, leastShared)));
  }
  const written = segment.bound.flatMap((buffer, i) => (writes.has(storageOf(buffer)) ? [i] : []));
  return { encoded, written, length: lengthOf(estimates) };
}

class CpuKernel implements Kernel, Runnable {
  readonly length: Length;
  readonly instructions: number;
  readonly #library: NativeLibrary;
  #program = 0;
  readonly #arenaBytes: number;
  readonly #boundBytes: readonly number[];
  /** Slot addresses, as the program's views name them. */
  readonly #table: BigUint64Array;
  readonly #tableAddress: number;
  /** The bound buffers of whose content the program wants to know whether it is the same, with the slots of its numbers. */
  readonly #contents: ReadonlyMap<number, number>;
  readonly #numbers: Float64Array;
  readonly written: readonly number[];
  /** For runs that begin while another is under way. */
  readonly #twins: CpuKernel[] = [];
  readonly #mayHaveTwins: boolean;
  /** The scratch memory of the run under way, if one is. */
  #arena: Arena | undefined;
  /** Native code reads the constants by address only; this keeps them alive, twins share them. The segment keeps large ones. */
  readonly #constants: CpuBuffer;
  readonly #result = new Float64Array(new ArrayBuffer(32));
  readonly #resultAddress: number;
  #times: Float64Array | undefined;
  /** Where the run under way notes its times, or 0. */
  #timesAddress = 0;

  constructor(
    private readonly device: CpuDevice,
    private readonly segment: Segment,
    { encoded, written, length }: Prepared,
    twin?: CpuKernel,
  ) {
    const { library } = device;
    this.#library = library;
    this.#constants = twin ? twin.#constants : constantsOf(encoded, library);
    this.#arenaBytes = segment.arenaBytes;
    this.#boundBytes = segment.bound.map((buffer) => buffer.bytes);
    this.#table = new BigUint64Array(new ArrayBuffer(8 * encoded.slots));
    this.#contents = encoded.contents;
    this.#numbers = new Float64Array(this.#table.buffer);
    this.written = written;
    // Who writes a variable waits for the other in any case.
    this.#mayHaveTwins = this.written.every((i) => segment.bound[i]!.owner === undefined);
    this.#table[constantsSlot] = this.#constants.address;
    for (const [data, slot] of encoded.largeConstants) this.#table[slot] = library.address(data);
    this.#tableAddress = Number(library.address(this.#table));
    this.#resultAddress = Number(library.address(this.#result));
    this.instructions = segment.instructions.length;
    this.length = length;
  }

  /** Gives it its native program, and what that may keep packed; both are given back when the kernel is gone. */
  own(program: number, room: PackShare): void {
    this.#program = program;
    programs.register(this, { library: this.#library, program, room });
  }

  run(bound: readonly DeviceBuffer[], options?: RunSegment): void | Promise<void> {
    return this.device.shared.turns.run(this.#free(), bound, options);
  }

  /** This one, or a twin where this one is taken. */
  #free(): CpuKernel {
    if (!this.#arena || !this.#mayHaveTwins) return this;
    const free = this.#twins.find((twin) => !twin.#arena);
    if (free) return free;
    if (this.#twins.length + 1 >= this.device.shared.turns.most) return this;
    try {
      const twin = this.device.compile(this.segment, this);
      this.#twins.push(twin);
      return twin;
    } catch {
      return this; // there is no memory for a twin: then one run waits for the other
    }
  }

  runHere(first: number, nanoseconds: number): number {
    const next = this.#library.run(
      this.#program,
      this.#tableAddress,
      this.#resultAddress,
      this.#timesAddress,
      this.device.threads,
      first,
      nanoseconds,
    );
    if (next < 0) throw this.#failure();
    return next;
  }

  runAside(first: number, nanoseconds: number, done: (error: unknown, next: number) => void): void {
    this.#library.run.async(
      this.#program,
      this.#tableAddress,
      this.#resultAddress,
      this.#timesAddress,
      this.device.threads,
      first,
      nanoseconds,
      (error, next) => done(error ?? (next < 0 ? this.#failure() : undefined), next),
    );
  }

  end(options: RunSegment | undefined): void {
    this.#arena?.giveBack();
    this.#arena = undefined;
    if (options?.timeline) this.#copyTimes(options.timeline);
  }

  bind(bound: readonly DeviceBuffer[], options: RunSegment | undefined): void {
    const sizes = this.#boundBytes;
    if (bound.length !== sizes.length)
      throw new InternalError(`a segment binds ${sizes.length} buffers, but ${bound.length} were given`);
    for (let i = 0; i < sizes.length; i++) {
      const buffer = bound[i]!;
      const present = presentBytes(buffer);
      if (present < sizes[i]!) throw new InternalError(`bound buffer ${i} needs ${sizes[i]} bytes, but has ${present}`);
      this.#table[firstBoundSlot + i] = this.device.shared.addressOf(buffer);
    }
    for (const [index, slot] of this.#contents) {
      const buffer = bound[index]!;
      this.#numbers[slot] = buffer instanceof CpuBuffer ? buffer.content : ++contents;
    }
    for (const index of this.written) {
      const buffer = bound[index]!;
      if (buffer instanceof CpuBuffer) buffer.content = ++contents;
    }
    if (options?.timeline) this.#times ??= new Float64Array(new ArrayBuffer(16 * this.instructions + 16));
    this.#timesAddress = options?.timeline ? Number(this.#library.address(this.#times!)) : 0;
    const arena = this.device.shared.arenas.free(this.#arenaBytes);
    this.#table[arenaSlot] = arena.take(this.#arenaBytes);
    this.#arena = arena;
  }

  #copyTimes({ start, end }: NonNullable<RunSegment['timeline']>): void {
    start.set(this.#times!.subarray(0, this.instructions));
    end.set(this.#times!.subarray(this.instructions, 2 * this.instructions));
  }

  #failure(): Error {
    const [number, instruction, position, value] = [...this.#result] as [number, number, number, number]; // it has four
    const code = failureCodes.find((name) => this.#library.code('failure', name) === number);
    if (code === undefined) return new ResourceExhaustedError('the cpu device ran out of memory');
    return new DeviceFailure({ code: code satisfies FailureCode, instruction, position, value });
  }
}
