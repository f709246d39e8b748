/** @file Value: what lowering works with, a view of a buffer plus what the tracer knows about its content. */
import type { DType } from '../core/dtypes.ts';
import type { NDArray } from '../core/ndarray.ts';
import { type Shape, sameShape, sizeOf, stridesOf } from '../core/shape.ts';
import type { TensorList } from '../core/tensorList.ts';
import type { Buffer, View } from './instructions.ts';

/** Storage of a variable between runs. The runtime implements it; programs only bind to it. */
export interface VariableState {
  readonly name: string;
  readonly dtype: DType;
  /** Shape of the current content; undefined while uninitialized. */
  readonly shape: Shape | undefined;
  /** Content of a variable of strings or other objects, which stays on the host. */
  objects: NDArray | undefined;
}

/** A typed, strided view with a concrete shape. */
export interface Value extends View {
  /** The content, when it was known while tracing. */
  readonly known?: NDArray;
  /** The variable whose storage this is: output of a reference variable, or a plain read of one. */
  readonly variable?: VariableState;
  /** What a tensor list holds, when that was known while tracing; such a value has no memory. */
  readonly list?: TensorList<Value>;
}

/** Whether elements lie row-major without gaps. */
export function isContiguous(v: View): boolean {
  let step = 1;
  for (let i = v.shape.length - 1; i >= 0; i--) {
    if (v.shape[i] !== 1 && v.strides[i] !== step) return false;
    step *= v.shape[i]!;
  }
  return true;
}

/** Whether two views show the same elements in the same way. */
export function sameView(v: View, w: View): boolean {
  return (
    v.buffer === w.buffer &&
    v.dtype === w.dtype &&
    v.offset === w.offset &&
    sameShape(v.shape, w.shape) &&
    sameShape(v.strides, w.strides)
  );
}

/** Whether elements lie without gaps, in whatever order of axes. */
export function isGapless(v: View): boolean {
  const order = v.shape.map((_, axis) => axis).filter((axis) => v.shape[axis] !== 1);
  return isContiguous(
    transposeView(
      v,
      order.sort((p, q) => v.strides[q]! - v.strides[p]!),
    ),
  );
}

/** A whole buffer as a row-major view. */
export function dense(buffer: Buffer, dtype: DType, shape: Shape): Value {
  return { buffer, dtype, shape, strides: stridesOf(shape), offset: 0 };
}

/** The view stretched to `shape` by zero strides. */
export function broadcastView(v: View, shape: Shape): View {
  const lead = shape.length - v.shape.length;
  const strides = shape.map((_, i) => (i < lead || v.shape[i - lead] === 1 ? 0 : v.strides[i - lead]!));
  return { buffer: v.buffer, dtype: v.dtype, shape, strides, offset: v.offset };
}

/** Axes in another order. */
export function transposeView(v: View, perm: readonly number[]): View {
  return {
    buffer: v.buffer,
    dtype: v.dtype,
    shape: perm.map((i) => v.shape[i]!),
    strides: perm.map((i) => v.strides[i]!),
    offset: v.offset,
  };
}

/** Element `begin[i] + k * step[i]` for k below `size[i]`, on every axis. */
export function sliceView(
  v: View,
  begin: readonly number[],
  size: Shape,
  step: readonly number[] = size.map(() => 1),
): View {
  let { offset } = v;
  // An empty slice may begin past the end; its offset is never used, so it must not leave the buffer.
  if (sizeOf(size) > 0) for (const [i, b] of begin.entries()) offset += b * v.strides[i]!;
  return { buffer: v.buffer, dtype: v.dtype, shape: size, strides: v.strides.map((s, i) => s * step[i]!), offset };
}

/** The same elements, in row-major order, under another shape; undefined when that needs a copy. */
export function reshapeView(v: View, shape: Shape): View | undefined {
  const strides = isContiguous(v) || sizeOf(v.shape) === 0 ? stridesOf(shape) : regroupedStrides(v, shape);
  return strides && { buffer: v.buffer, dtype: v.dtype, shape, strides, offset: v.offset };
}

/**
 * Strides under another shape: old and new axes are taken in groups of equal size; a group can be divided anew when its old
 * axes follow each other in memory like the digits of a number.
 */
function regroupedStrides(v: View, shape: Shape): number[] | undefined {
  const axes = v.shape.map((size, i) => ({ size, stride: v.strides[i]! })).filter(({ size }) => size !== 1);
  const strides = shape.map(() => 0);
  let next = 0;
  for (let i = 0; i < shape.length; ) {
    if (shape[i] === 1) {
      i++;
      continue;
    }
    const first = i;
    const old = [axes[next++]!];
    let before = old[0]!.size;
    let after = shape[i++]!;
    while (before !== after)
      if (before < after) {
        old.push(axes[next]!);
        before *= axes[next++]!.size;
      } else after *= shape[i++]!;
    for (let k = 1; k < old.length; k++) if (old[k - 1]!.stride !== old[k]!.stride * old[k]!.size) return undefined;
    let step = old.at(-1)!.stride;
    for (let k = i - 1; k >= first; k--) {
      strides[k] = step;
      step *= shape[k]!;
    }
  }
  return strides;
}
