/** @file The reference device: every instruction in plain TypeScript, obviously right, the oracle for the others. */
import type { DType } from '../../core/dtypes.ts';
import { InternalError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type Shape, sizeOf } from '../../core/shape.ts';
import { DeviceFailure, type DeviceInstruction, type Segment } from '../../program/instructions.ts';
import type { Device, DeviceBuffer, Kernel, RunSegment } from '../device.ts';
import { compileConv } from './conv.ts';
import { compileDot } from './dot.ts';
import { Stop } from './failure.ts';
import { compileGather, compileScatter } from './indexing.ts';
import { compileMap, compileReduce } from './map.ts';
import { Memory } from './memory.ts';
import { compileRandom } from './random.ts';
import { compileCheck, compileScan, compileTopK } from './scan.ts';
import { compileWindow } from './window.ts';

/** Memory of the reference device: bytes of the host. */
export interface HostBuffer extends DeviceBuffer {
  readonly host: Uint8Array;
}

/** Runs programs in plain TypeScript, on the calling thread, done on return. */
export class ReferenceDevice implements Device {
  readonly type = 'CPU';
  readonly description = 'reference: plain TypeScript';
  readonly memoryLimit = Number.MAX_SAFE_INTEGER;
  /** Scratch shared by all kernels: a run is over before the next one begins. */
  #arena = new ArrayBuffer(0);

  allocate(bytes: number): HostBuffer {
    return { bytes, host: new Uint8Array(bytes) };
  }

  fromHost(array: NDArray): HostBuffer {
    const host = array.bytes;
    return { bytes: host.byteLength, host };
  }

  toHost(buffer: DeviceBuffer, dtype: DType, shape: Shape): NDArray {
    const bytes = hostBytes(buffer);
    const count = sizeOf(shape);
    const alignment = dtype.size / dtype.entries;
    const aligned = bytes.byteOffset % alignment === 0 ? bytes : bytes.slice();
    return new NDArray(dtype, shape, dtype.over(aligned.buffer, aligned.byteOffset, count));
  }

  compile(segment: Segment): Kernel {
    const memory = new Memory(segment);
    const steps = segment.instructions.map((instruction) => compileInstruction(instruction, memory));
    return {
      run: (bound, options) => {
        memory.bind(this.#arenaOf(segment.arenaBytes), bound.map(hostBytes));
        runSteps(steps, options);
      },
    };
  }

  #arenaOf(bytes: number): ArrayBuffer {
    if (this.#arena.byteLength < bytes) this.#arena = new ArrayBuffer(bytes);
    return this.#arena;
  }
}

function hostBytes(buffer: DeviceBuffer): Uint8Array {
  if (!buffer.host) throw new InternalError('a buffer of another device was handed to the reference device');
  return buffer.host;
}

function runSteps(steps: readonly (() => void)[], options: RunSegment | undefined): void {
  const timeline = options?.timeline;
  for (let i = 0; i < steps.length; i++) {
    if (timeline) timeline.start[i] = now();
    try {
      steps[i]!();
    } catch (error) {
      if (!(error instanceof Stop)) throw error;
      throw new DeviceFailure({ code: error.code, instruction: i, position: error.position, value: error.value });
    }
    if (timeline) timeline.end[i] = now();
  }
}

const now = () => Number(process.hrtime.bigint());

function compileInstruction(instruction: DeviceInstruction, memory: Memory): () => void {
  switch (instruction.kind) {
    case 'map':
      return compileMap(instruction, memory);
    case 'reduce':
      return compileReduce(instruction, memory);
    case 'dot':
      return compileDot(instruction, memory);
    case 'conv':
      return compileConv(instruction, memory);
    case 'gather':
      return compileGather(instruction, memory);
    case 'scatter':
      return compileScatter(instruction, memory);
    case 'scan':
      return compileScan(instruction, memory);
    case 'topk':
      return compileTopK(instruction, memory);
    case 'window':
      return compileWindow(instruction, memory);
    case 'random':
      return compileRandom(instruction, memory);
    case 'check':
      return compileCheck(instruction, memory);
    case 'blocks':
      memory.addLocals(instruction.locals);
      return compileSteps(instruction.steps, memory);
    case 'together':
      return compileSteps(instruction.steps, memory);
  }
}

function compileSteps(steps: readonly DeviceInstruction[], memory: Memory): () => void {
  const compiled = steps.map((step) => compileInstruction(step, memory));
  return () => {
    for (const step of compiled) step();
  };
}
