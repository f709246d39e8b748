/** @file tf.test: Jacobians computed by the graph's gradients and by small changes of the input, to be compared. */
import { gradients } from '../autodiff/index.ts';
import { type DType, float32, float64 } from '../core/dtypes.ts';
import { fromElements, NDArray } from '../core/ndarray.ts';
import { type Shape, sizeOf } from '../core/shape.ts';
import type { Operation } from '../graph/operation.ts';
import { evaluate, type Runner, runnerFor } from '../graph/runner.ts';
import type { Tensor } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { convertToTensor } from '../op/convert.ts';
import { constant, identity } from '../ops/array/index.ts';

export interface ComputeGradientOptions {
  /** Where to differentiate; random values in [0, 1) otherwise. A list when `x` is one. */
  readonly xInitValue?: NDArray | readonly NDArray[] | undefined;
  /** How far the input is moved to each side. */
  readonly delta?: number | undefined;
  /** Operations to run first, such as variable initializers. */
  readonly initTargets?: readonly Operation[] | undefined;
  readonly extraFeeds?: readonly (readonly [Tensor, NDArray])[] | undefined;
  /** The session; the default one otherwise. */
  readonly session?: Runner | undefined;
}

/** The Jacobian from the gradient functions, and the numerical one: a row per element of x, a column per element of y. */
export type Jacobians = readonly [theoretical: NDArray, numerical: NDArray];

/**
 * Both Jacobians of `y` with respect to `x`, or a list of them for a list of xs. Complex numbers count as two reals side
 * by side. Adds the gradient nodes to the graph and runs it once per element.
 *
 * @example const [theoretical, numerical] = await tf.test.computeGradient(x, [2], tf.square(x), [2]);
 */
export async function computeGradient(
  x: Tensor,
  xShape: Shape,
  y: Tensor,
  yShape: Shape,
  options?: ComputeGradientOptions,
): Promise<Jacobians>;
export async function computeGradient(
  x: readonly Tensor[],
  xShape: readonly Shape[],
  y: Tensor,
  yShape: Shape,
  options?: ComputeGradientOptions,
): Promise<Jacobians[]>;
export async function computeGradient(
  x: Tensor | readonly Tensor[],
  xShape: Shape | readonly Shape[],
  y: Tensor,
  yShape: Shape,
  options: ComputeGradientOptions = {},
): Promise<Jacobians | Jacobians[]> {
  const isList = Array.isArray(x);
  const xs = isList ? (x as readonly Tensor[]) : [x as Tensor]; // told apart above
  const shapes = isList ? (xShape as readonly Shape[]) : [xShape as Shape]; // given in the same form as x
  const given = options.xInitValue instanceof NDArray ? [options.xInitValue] : options.xInitValue;
  const runner = runnerFor('compute a gradient', options.session);
  for (const target of options.initTargets ?? []) await runner.run(target);
  const values = xs.map((t, i) => given?.[i] ?? randomArray(t.dtype, shapes[i]!));
  const fixed = [...(options.extraFeeds ?? []), ...xs.map((t, i) => [t, values[i]!] as const)];
  const pairs = xs.map((t) => ({ t, ...backward(t, y, yShape) }));
  const results: Jacobians[] = [];
  for (const [i, { t, dx, dy }] of pairs.entries()) {
    const feedsWith = (extra: readonly (readonly [Tensor, NDArray])[]) => [
      ...fixed.filter(([f]) => !extra.some(([e]) => e === f)),
      ...extra,
    ];
    const evaluateWith = async (fetch: Tensor, tensor: Tensor, value: NDArray) =>
      (await evaluate(runner, [fetch], feedsWith([[tensor, value]])))[0]!;
    results.push([
      await theoretical(values[i]!, yShape, y.dtype, (value) => evaluateWith(dx, dy, value)),
      await numerical(values[i]!, yShape, y.dtype, options.delta ?? 1e-3, (value) => evaluateWith(y, t, value)),
    ]);
  }
  return isList ? results : results[0]!;
}

/**
 * The largest difference between the two Jacobians of `computeGradient`: small when the gradient functions are right.
 *
 * @example await tf.test.computeGradientError(x, [4, 3], y, [4, 5]) // about 1e-4 in float32
 */
export async function computeGradientError(
  x: Tensor | readonly Tensor[],
  xShape: Shape | readonly Shape[],
  y: Tensor,
  yShape: Shape,
  options: ComputeGradientOptions = {},
): Promise<number> {
  const isList = Array.isArray(x);
  // The overloads tie the form of xShape to that of x.
  const pairs = isList
    ? await computeGradient(x as readonly Tensor[], xShape as readonly Shape[], y, yShape, options)
    : [await computeGradient(x as Tensor, xShape as Shape, y, yShape, options)];
  let error = 0;
  for (const [a, b] of pairs)
    for (let i = 0; i < a.size; i++) {
      const difference = Math.abs(a.numberAt(i) - b.numberAt(i));
      error = Number.isNaN(difference) ? Number.NaN : Math.max(error, difference);
    }
  return error;
}

function backward(x: Tensor, y: Tensor, yShape: Shape): { dx: Tensor; dy: Tensor } {
  return x.graph.asDefault(() => {
    const dy = identity(constant(1, { shape: yShape, dtype: y.dtype }));
    const [gradient] = gradients(y, x, { gradYs: [dy] });
    if (!gradient) throw userError(`${y.name} does not depend on ${x.name}, so there is no gradient to check.`);
    return { dx: convertToTensor(gradient), dy };
  });
}

/** How many real components an array has. */
const countOf = (dtype: DType, shape: Shape) => sizeOf(shape) * dtype.entries;

/** Component `i` of an array, complex numbers as two. */
function component(array: NDArray, i: number): number {
  if (!array.dtype.isComplex) return array.numberAt(i);
  return array.data[i] as number; // complex numbers are stored in float arrays
}

/** The array with one component changed. */
function withComponent(array: NDArray, i: number, change: (x: number) => number): NDArray {
  const elements = Array.from({ length: countOf(array.dtype, array.shape) }, (_, k) =>
    k === i ? change(component(array, k)) : component(array, k),
  );
  if (!array.dtype.isComplex) return fromElements(array.dtype, array.shape, elements);
  const pairs = Array.from({ length: array.size }, (_, k) => ({ re: elements[2 * k]!, im: elements[2 * k + 1]! }));
  return fromElements(array.dtype, array.shape, pairs);
}

function zerosOf(dtype: DType, shape: Shape): NDArray {
  return fromElements(dtype, shape, new Array<number>(sizeOf(shape)).fill(0));
}

async function theoretical(
  x: NDArray,
  yShape: Shape,
  yType: DType,
  backwardOf: (dy: NDArray) => Promise<NDArray>,
): Promise<NDArray> {
  const [rows, columns] = [countOf(x.dtype, x.shape), countOf(yType, yShape)];
  const jacobian = zerosOf(realOf(x.dtype), [rows, columns]);
  const zero = zerosOf(yType, yShape);
  for (let column = 0; column < columns; column++) {
    const dx = await backwardOf(withComponent(zero, column, () => 1));
    for (let row = 0; row < rows; row++) jacobian.data[row * columns + column] = component(dx, row);
  }
  return jacobian;
}

async function numerical(
  x: NDArray,
  yShape: Shape,
  yType: DType,
  delta: number,
  forward: (x: NDArray) => Promise<NDArray>,
): Promise<NDArray> {
  const [rows, columns] = [countOf(x.dtype, x.shape), countOf(yType, yShape)];
  const jacobian = zerosOf(realOf(x.dtype), [rows, columns]);
  for (let row = 0; row < rows; row++) {
    const above = await forward(withComponent(x, row, (v) => v + delta));
    const below = await forward(withComponent(x, row, (v) => v - delta));
    for (let column = 0; column < columns; column++)
      jacobian.data[row * columns + column] = (component(above, column) - component(below, column)) / (2 * delta);
  }
  return jacobian;
}

/** Half-precision Jacobians are kept in float32, so that the numbers themselves lose nothing. */
function realOf(dtype: DType): DType {
  const real = dtype.realDtype;
  return real === float64 ? float64 : float32;
}

/** Values in [0, 1) in every component. */
function randomArray(dtype: DType, shape: Shape): NDArray {
  const elements = Array.from({ length: sizeOf(shape) }, () =>
    dtype.isComplex ? { re: Math.random(), im: Math.random() } : Math.random(),
  );
  return fromElements(dtype, shape, elements);
}

/** Whether a GPU can be used. Not yet: sessions run on CPUs. */
export function isGpuAvailable(): boolean {
  return false;
}
/** The name of a GPU, or the empty string when there is none. */
export function gpuDeviceName(): string {
  return '';
}
/** Whether this build can use CUDA. */
export function isBuiltWithCuda(): boolean {
  return false;
}
