/** @file The cpu device: segments run whole in the native library, short ones at once, long ones off the event loop. */
import { constants } from 'node:buffer';
import { totalmem } from 'node:os';
import type { DType } from '../../core/dtypes.ts';
import { InternalError, ResourceExhaustedError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Shape, sizeOf } from '../../core/shape.ts';
import { DeviceFailure, type FailureCode, type Segment } from '../../program/instructions.ts';
import type { Device, DeviceBuffer, Kernel, RunSegment } from '../device.ts';
import { Arena } from './arena.ts';
import { costOf } from './cost.ts';
import { arenaSlot, constantsSlot, encodeSegment, firstBoundSlot } from './encode.ts';
import { LargeBlocks } from './largeBlocks.ts';
import { type NativeLibrary, nativeLibrary } from './library.ts';

/** Native code may read and write whole cache lines; it is fastest when rows begin on one. */
const alignment = 64;

/** Bytes from which a block is worth large pages. */
const largeBlock = 8 * 2 ** 20;

/** Bytes from which the memory of a result is kept for the next one. */
const largeResult = 2 ** 20;

/** Estimated nanoseconds from which a segment runs on a thread of its own. An asynchronous call itself costs some 20 µs. */
const longWork = 4e5;

const failureCodes = ['divisionByZero', 'negativePower', 'index', 'check', 'range'] as const;

/** Host memory with its address. */
class CpuBuffer implements DeviceBuffer {
  readonly bytes: number;
  constructor(
    readonly host: Uint8Array,
    readonly address: bigint,
  ) {
    this.bytes = host.byteLength;
  }
}

/** JavaScript has no arrays over more memory than this. */
function checkSize(bytes: number): void {
  if (bytes > constants.MAX_LENGTH)
    throw new ResourceExhaustedError(
      `the cpu device cannot hold ${bytes} bytes in one piece; the most is ${constants.MAX_LENGTH}`,
    );
}

function allocateAligned(library: NativeLibrary, bytes: number): CpuBuffer {
  checkSize(bytes);
  let memory: ArrayBuffer;
  try {
    memory = new ArrayBuffer(bytes + alignment);
  } catch (cause) {
    throw new ResourceExhaustedError(`the cpu device could not get ${bytes} bytes of memory`, { cause });
  }
  const address = library.address(memory);
  if (bytes >= largeBlock) library.preferLargePages(address, bytes);
  const skip = Number(-address & BigInt(alignment - 1));
  return new CpuBuffer(new Uint8Array(memory, skip, bytes), address + BigInt(skip));
}

/** A run that waits for its turn. */
interface Waiting {
  readonly kernel: CpuKernel;
  readonly bound: readonly DeviceBuffer[];
  readonly options: RunSegment | undefined;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Runs one segment at a time, in the order of the calls, so that all kernels can share one arena. Whatever comes while a
 * long segment runs elsewhere waits in a queue.
 */
class Turns {
  readonly #arena: Arena;
  readonly #large: LargeBlocks;
  readonly #queue: Waiting[] = [];
  #busy = false;

  constructor(readonly library: NativeLibrary) {
    this.#arena = new Arena(library, () => this.#busy);
    this.#large = new LargeBlocks(library);
  }

  /** Memory for results and variables. */
  allocate(bytes: number): CpuBuffer {
    if (bytes < largeResult) return allocateAligned(this.library, bytes);
    checkSize(bytes);
    const { memory, address } = this.#large.allocate(bytes);
    return new CpuBuffer(new Uint8Array(memory), address);
  }

  recycle({ host }: CpuBuffer): void {
    if (host.byteLength === host.buffer.byteLength) this.#large.takeBack(host.buffer);
  }

  /** The address of scratch memory for the segment about to run. */
  arena(bytes: number): bigint {
    return this.#arena.take(bytes);
  }

  /** Runs now if nothing else runs and the work is short; otherwise when its turn comes. */
  run(kernel: CpuKernel, bound: readonly DeviceBuffer[], options: RunSegment | undefined): void | Promise<void> {
    if (!this.#busy && !kernel.isLong) return kernel.runNow(bound, options);
    return new Promise((resolve, reject) => {
      this.#queue.push({ kernel, bound, options, resolve, reject });
      if (!this.#busy) this.#next();
    });
  }

  /** Works through the queue until it is empty or a long segment is under way. */
  #next(): void {
    for (let item = this.#queue.shift(); item; item = this.#queue.shift()) {
      const { kernel, bound, options, resolve, reject } = item;
      if (kernel.isLong) {
        this.#busy = true;
        kernel.runAside(bound, options, (error) => {
          this.#busy = false;
          if (error === undefined) resolve();
          else reject(error);
          this.#next();
        });
        if (this.#busy) return;
        continue;
      }
      try {
        kernel.runNow(bound, options);
        resolve();
      } catch (error) {
        reject(error);
      }
    }
  }
}

/** The processors of this machine and its memory, as far as one user of them may use them. */
export class CpuDevice implements Device {
  readonly type = 'CPU';
  readonly description: string;
  readonly memoryLimit = totalmem();
  readonly #foreign = new WeakMap<DeviceBuffer, bigint>();

  /** The device, or undefined when the native library is not there. Never throws. */
  static open(): CpuDevice | undefined {
    const library = nativeLibrary();
    return 'problem' in library ? undefined : new CpuDevice(library, new Turns(library), 0);
  }

  /** Why `open` gives no device, and what to do about it. */
  static get problem(): string | undefined {
    const library = nativeLibrary();
    return 'problem' in library ? library.problem : undefined;
  }

  /** `threads` is how many threads large instructions are spread over; 0 means as many as there are processors. */
  private constructor(
    readonly library: NativeLibrary,
    readonly turns: Turns,
    public threads: number,
  ) {
    this.description = `native: ${library.variant}, ${threads || library.processors} threads`;
  }

  /** The same device for a user who asks for so many threads; segments of all users take turns. */
  withThreads(count: number): CpuDevice {
    return new CpuDevice(this.library, this.turns, count);
  }

  allocate(bytes: number): DeviceBuffer {
    return this.turns.allocate(bytes);
  }

  recycle(buffer: DeviceBuffer): void {
    if (buffer instanceof CpuBuffer) this.turns.recycle(buffer);
  }

  fromHost(array: NDArray): DeviceBuffer {
    const host = array.bytes;
    // Memory shared with other threads may change under native code; only plain memory is taken as it is.
    if (host.buffer instanceof ArrayBuffer) return new CpuBuffer(host, this.library.address(host));
    const copy = allocateAligned(this.library, host.byteLength);
    copy.host.set(host);
    return copy;
  }

  toHost(buffer: DeviceBuffer, dtype: DType, shape: Shape): NDArray {
    const bytes = hostBytes(buffer);
    const aligned = bytes.byteOffset % (dtype.size / dtype.entries) === 0 ? bytes : bytes.slice();
    return new NDArray(dtype, shape, dtype.over(aligned.buffer, aligned.byteOffset, sizeOf(shape)));
  }

  compile(segment: Segment): Kernel {
    return new CpuKernel(this, segment);
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

function hostBytes(buffer: DeviceBuffer): Uint8Array {
  if (!buffer.host) throw new InternalError('a buffer of another device was handed to the cpu device');
  return buffer.host;
}

/** Frees native programs whose kernels are gone. */
const programs = new FinalizationRegistry<{ library: NativeLibrary; program: number }>(({ library, program }) =>
  library.free(program),
);

class CpuKernel implements Kernel {
  readonly isLong: boolean;
  readonly #library: NativeLibrary;
  readonly #program: number;
  readonly #arenaBytes: number;
  readonly #boundBytes: readonly number[];
  /** Slot addresses, as the program's views name them. */
  readonly #table: BigUint64Array;
  readonly #tableAddress: number;
  /** Native code reads the constants by address only; this keeps them alive. */
  readonly #constants: CpuBuffer;
  readonly #result = new Float64Array(new ArrayBuffer(32));
  readonly #resultAddress: number;
  readonly #instructions: number;
  #times: Float64Array | undefined;

  constructor(
    private readonly device: CpuDevice,
    segment: Segment,
  ) {
    const { library } = device;
    this.#library = library;
    const { words, constantBytes, copyConstants } = encodeSegment(segment, library.code);
    this.#constants = allocateAligned(library, constantBytes);
    copyConstants(this.#constants.host);
    this.#arenaBytes = segment.arenaBytes;
    this.#boundBytes = segment.bound.map((buffer) => buffer.bytes);
    this.#table = new BigUint64Array(new ArrayBuffer(8 * (firstBoundSlot + segment.bound.length)));
    this.#table[constantsSlot] = this.#constants.address;
    this.#tableAddress = Number(library.address(this.#table));
    this.#resultAddress = Number(library.address(this.#result));
    this.#instructions = segment.instructions.length;
    const estimate = segment.instructions.reduce((sum, instruction) => sum + costOf(instruction), 0);
    this.isLong = estimate > longWork;
    this.#program = library.create(words);
    programs.register(this, { library, program: this.#program });
  }

  run(bound: readonly DeviceBuffer[], options?: RunSegment): void | Promise<void> {
    return this.device.turns.run(this, bound, options);
  }

  /** Runs on this thread. */
  runNow(bound: readonly DeviceBuffer[], options: RunSegment | undefined): void {
    this.#bind(bound);
    const status = this.#library.run(
      this.#program,
      this.#tableAddress,
      this.#resultAddress,
      this.#timesAddress(options),
      this.device.threads,
    );
    if (options?.timeline) this.#copyTimes(options.timeline);
    if (status !== 0) throw this.#failure();
  }

  /** Runs on another thread; `done` gets undefined or the error. The closure keeps all memory involved alive. */
  runAside(bound: readonly DeviceBuffer[], options: RunSegment | undefined, done: (error: unknown) => void): void {
    try {
      this.#bind(bound);
    } catch (error) {
      done(error);
      return;
    }
    const times = this.#timesAddress(options);
    const { threads } = this.device;
    this.#library.run.async(this.#program, this.#tableAddress, this.#resultAddress, times, threads, (error, status) => {
      if (bound.length === this.#boundBytes.length && options?.timeline) this.#copyTimes(options.timeline);
      done(error ?? (status === 0 ? undefined : this.#failure()));
    });
  }

  #bind(bound: readonly DeviceBuffer[]): void {
    const sizes = this.#boundBytes;
    if (bound.length !== sizes.length)
      throw new InternalError(`a segment binds ${sizes.length} buffers, but ${bound.length} were given`);
    for (let i = 0; i < sizes.length; i++) {
      const buffer = bound[i]!;
      // The bytes are asked of the array itself: a detached one has none, whatever its buffer once said.
      if ((buffer.host?.byteLength ?? 0) < sizes[i]!)
        throw new InternalError(
          `bound buffer ${i} needs ${sizes[i]} bytes, but has ${buffer.host?.byteLength ?? 'none'}`,
        );
      this.#table[firstBoundSlot + i] = this.device.addressOf(buffer);
    }
    this.#table[arenaSlot] = this.device.turns.arena(this.#arenaBytes);
  }

  #timesAddress(options: RunSegment | undefined): number {
    if (!options?.timeline) return 0;
    this.#times ??= new Float64Array(new ArrayBuffer(16 * this.#instructions + 16));
    return Number(this.#library.address(this.#times));
  }

  #copyTimes({ start, end }: NonNullable<RunSegment['timeline']>): void {
    start.set(this.#times!.subarray(0, this.#instructions));
    end.set(this.#times!.subarray(this.#instructions, 2 * this.#instructions));
  }

  #failure(): Error {
    const [number, instruction, position, value] = [...this.#result] as [number, number, number, number]; // it has four
    const code = failureCodes.find((name) => this.#library.code('failure', name) === number);
    if (code === undefined) return new ResourceExhaustedError('the cpu device ran out of memory');
    return new DeviceFailure({ code: code satisfies FailureCode, instruction, position, value });
  }
}
