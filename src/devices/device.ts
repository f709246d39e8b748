/** @file The Device contract: memory, and running segments of instructions. Devices see neither ops nor graphs. */

import type { DType } from '../core/dtypes.ts';
import type { NDArray } from '../core/ndarray.ts';
import type { Shape } from '../core/shape.ts';
import type { Segment } from '../program/instructions.ts';

/**
 * A piece of a device's memory. Host-memory devices expose the bytes. Once a segment has had it bound, only segments write it: a device may
 * keep what it has made of its content.
 */
export interface DeviceBuffer {
  readonly bytes: number;
  /** Present on devices that compute in host memory. */
  readonly host?: Uint8Array;
}

/** Per-instruction times, nanoseconds of the monotonic clock (`process.hrtime`), filled in by a traced run. */
export interface Timeline {
  readonly start: Float64Array;
  readonly end: Float64Array;
}

export interface RunSegment {
  /** Wanted when the caller asked for step statistics. */
  readonly timeline?: Timeline;
}

/** A compiled segment. */
export interface Kernel {
  /** Runs with these buffers bound, in `Segment.bound` order. Short work is done on return, long work gives a promise. Throws or rejects with `DeviceFailure`. */
  run(bound: readonly DeviceBuffer[], options?: RunSegment): void | Promise<void>;
}

export interface Device {
  /** `CPU`, `GPU` … */
  readonly type: string;
  /** What `listDevices` shows beside the name. */
  readonly description: string;
  readonly memoryLimit: number;
  /** How many threads its instructions may use; 0 or absent: as many as there are processors. */
  readonly threads?: number;
  allocate(bytes: number): DeviceBuffer;
  /** The array's bytes in device memory; shares them where the device computes in host memory. */
  fromHost(array: NDArray): DeviceBuffer;
  /** A host array of a buffer's content; shares the memory where it can, so the caller must own the buffer. */
  toHost(buffer: DeviceBuffer, dtype: DType, shape: Shape): NDArray | Promise<NDArray>;
  /** Takes back memory that only the caller had, for the next who asks for as much. */
  recycle?(buffer: DeviceBuffer): void;
  compile(segment: Segment): Kernel;
  /** The same, with pauses for the event loop while a large segment is compiled. */
  compileInTurns?(segment: Segment): Promise<Kernel>;
}
