/** @file Builds small segments from host arrays, runs them on a device and reads the results back. */
import type { DType } from '../../src/core/dtypes.ts';
import { fromNested, type NDArray, type Nested, zeros } from '../../src/core/ndarray.ts';
import { type Shape, sizeOf, stridesOf } from '../../src/core/shape.ts';
import type { Device } from '../../src/devices/device.ts';
import { Buffer, type DeviceInstruction, type Segment, type View } from '../../src/program/instructions.ts';

/** A row-major view of a whole buffer. */
export function viewOf(buffer: Buffer, dtype: DType, shape: Shape, offset = 0): View {
  return { buffer, dtype, shape, strides: stridesOf(shape), offset };
}

/** The same buffer seen through other shape, strides and offset. */
export function restride(view: View, shape: Shape, strides: readonly number[], offset = view.offset): View {
  return { ...view, shape, strides, offset };
}

/** The axes of a view in another order. */
export function transpose(view: View, order: readonly number[]): View {
  return restride(
    view,
    order.map((axis) => view.shape[axis]!),
    order.map((axis) => view.strides[axis]!),
  );
}

/** One axis of a view backwards. */
export function reverse(view: View, axis: number): View {
  const strides = view.strides.map((s, i) => (i === axis ? -s : s));
  return restride(view, view.shape, strides, view.offset + (view.shape[axis]! - 1) * view.strides[axis]!);
}

/** A view broadcast to a shape: axes of size 1, and those missing in front, get stride 0. */
export function broadcast(view: View, shape: Shape): View {
  const missing = shape.length - view.shape.length;
  const strides = shape.map((size, i) => {
    const own = i - missing;
    return own < 0 || (view.shape[own] === 1 && size !== 1) ? 0 : view.strides[own]!;
  });
  return restride(view, shape, strides);
}

/** Collects buffers and instructions of one segment. */
export class SegmentBuilder {
  readonly #instructions: DeviceInstruction[] = [];
  readonly #bound = new Map<Buffer, NDArray>();
  readonly #arena = new Map<Buffer, number>();
  #arenaBytes = 0;

  /** A bound buffer holding a copy of an array; with an owner it is one of a variable. */
  bind(array: NDArray, owner?: object): View {
    const own = array.copy();
    const buffer = new Buffer('bound', own.bytes.byteLength, undefined, owner);
    this.#bound.set(buffer, own);
    return viewOf(buffer, own.dtype, own.shape);
  }

  /** A bound buffer with these elements. */
  input(value: Nested, dtype: DType): View {
    return this.bind(fromNested(value, dtype));
  }

  /** A bound buffer of zeros, to be written. */
  output(dtype: DType, shape: Shape): View {
    return this.bind(zeros(dtype, shape));
  }

  constant(array: NDArray): View {
    return viewOf(new Buffer('constant', array.bytes.byteLength, array.bytes), array.dtype, array.shape);
  }

  temp(dtype: DType, shape: Shape): View {
    const bytes = sizeOf(shape) * dtype.size;
    const buffer = new Buffer('temp', bytes);
    this.#arena.set(buffer, this.#arenaBytes);
    this.#arenaBytes += Math.ceil(bytes / 64) * 64;
    return viewOf(buffer, dtype, shape);
  }

  add(instruction: DeviceInstruction): this {
    this.#instructions.push(instruction);
    return this;
  }

  get segment(): Segment {
    return {
      instructions: this.#instructions,
      arenaBytes: this.#arenaBytes,
      arena: this.#arena,
      bound: [...this.#bound.keys()],
    };
  }

  /** The arrays given to the bound buffers, in the segment's order. */
  get values(): NDArray[] {
    return [...this.#bound.values()];
  }

  /** Runs everything; gives a reader of the bound buffers' contents. */
  async run(device: Device): Promise<(view: View) => Promise<NDArray>> {
    const { segment } = this;
    const buffers = this.values.map((array) => device.fromHost(array.copy()));
    await device.compile(segment).run(buffers);
    return async (view) => {
      const i = segment.bound.indexOf(view.buffer);
      const whole = this.values[i]!;
      return device.toHost(buffers[i]!, whole.dtype, whole.shape);
    };
  }
}
