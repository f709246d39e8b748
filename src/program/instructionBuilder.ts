/** @file InstructionBuilder: what a device computes of values. Each method adds instructions and gives the resulting values. */
import { bool, type DType, int32, int64 } from '../core/dtypes.ts';
import { InternalError, InvalidArgumentError, type OpError } from '../core/errors.ts';
import { type NDArray, zeros } from '../core/ndarray.ts';
import { broadcastConcrete, normalizeAxis, type Shape, showShape, sizeOf } from '../core/shape.ts';
import { explainArithmetic } from './explain.ts';
import type { Expr, Scalar } from './expr.ts';
import * as e from './expr.ts';
import {
  Buffer,
  type Combine,
  type ConvInstruction,
  type DeviceInstruction,
  type Failure,
  type HostInstruction,
  type Origin,
  type ReduceOp,
  type View,
  type WindowOp,
} from './instructions.ts';
import type { ProgramState } from './tracing.ts';
import { broadcastView, dense, isContiguous, reshapeView, sliceView, transposeView, type Value } from './value.ts';

/** An instruction as the builder records it: for a device, or for the host between two segments. */
export type Recorded = DeviceInstruction | (HostInstruction & Origin);

export abstract class InstructionBuilder {
  readonly instructions: Recorded[] = [];
  /** The node being lowered: instructions and errors are attributed to it. */
  node = '';

  constructor(readonly state: ProgramState) {}

  protected emit(instruction: DeviceInstruction | HostInstruction, explain?: (failure: Failure) => OpError): void {
    this.instructions.push({ ...instruction, node: this.node, ...(explain ? { explain } : {}) });
  }

  /** Scratch memory for a result. */
  temp(dtype: DType, shape: Shape): Value {
    const bytes = sizeOf(shape) * dtype.size;
    if (!Number.isSafeInteger(bytes))
      throw new InvalidArgumentError(`a ${dtype} tensor of shape ${showShape(shape)} is larger than any memory`);
    return dense(new Buffer('temp', bytes), dtype, shape);
  }

  /** A value fixed while tracing. */
  constant(array: NDArray): Value {
    if (!array.dtype.isObject) {
      const buffer = new Buffer('constant', array.bytes.length, array.bytes);
      return { ...dense(buffer, array.dtype, array.shape), known: array };
    }
    const ids = Int32Array.from(array.objects, (x) => this.state.objectId(x));
    const buffer = new Buffer('constant', ids.byteLength, new Uint8Array(ids.buffer));
    return { ...dense(buffer, array.dtype, array.shape), known: array };
  }

  // Elementwise.
  /** One `map` over broadcast inputs; `body` gets an expression per input. */
  map(inputs: readonly Value[], body: (...elements: Expr[]) => Expr): Value {
    return this.mapAll(inputs, (...elements) => [body(...elements)])[0]!;
  }

  /** A `map` with several results. */
  mapAll(inputs: readonly Value[], body: (...elements: Expr[]) => readonly Expr[], shape?: Shape): Value[] {
    const space = shape ?? this.broadcastOf(inputs);
    const results = this.mapInto(inputs, body, space);
    return results;
  }

  /** A `map` that stores into given views (in-place updates), or into new memory where none is given. */
  mapInto(
    inputs: readonly Value[],
    body: (...elements: Expr[]) => readonly Expr[],
    shape: Shape,
    targets: readonly (View | undefined)[] = [],
  ): Value[] {
    const views: View[] = [];
    const seen: Expr[] = [];
    const elements = inputs.map((value, i) => {
      const fixed = scalarOf(value);
      if (fixed !== undefined) return e.constant(fixed, value.dtype);
      const earlier = inputs.indexOf(value);
      if (earlier < i) return seen[earlier]!;
      views.push(broadcastView(value, shape));
      return (seen[i] = e.input(views.length - 1, value.dtype));
    });
    const results = body(...elements);
    const outputs = results.map((x, i) => targets[i] ?? this.temp(x.dtype, shape));
    this.emit({ kind: 'map', shape, inputs: views, outputs, results }, explainArithmetic);
    return outputs;
  }

  private broadcastOf(inputs: readonly Value[]): Shape {
    let shape: Shape = [];
    for (const input of inputs) shape = shape.length === 0 ? input.shape : broadcastConcrete(shape, input.shape);
    return shape;
  }

  /** Elements computed from their position: `body` gets one int64 expression per axis. */
  generate(shape: Shape, body: (...axes: Expr[]) => Expr): Value {
    return this.mapAll([], () => [body(...shape.map((_, i) => e.index(i)))], shape)[0]!;
  }

  fill(dtype: DType, shape: Shape, value: Scalar): Value {
    return this.mapAll([], () => [e.constant(value, dtype)], shape)[0]!;
  }

  cast(value: Value, dtype: DType): Value {
    return value.dtype === dtype ? value : this.map([value], (x) => e.cast(x, dtype));
  }

  /** A row-major copy, or the value itself when it is row-major already. */
  contiguous(value: Value): Value {
    return isContiguous(value) ? value : this.copy(value);
  }

  /** A copy in new memory. */
  copy(value: Value): Value {
    const target = this.temp(value.dtype, value.shape);
    this.copyInto(value, target);
    return target;
  }

  /** Copies elements into a view of the same shape. */
  copyInto(value: View, target: View): void {
    this.emit({
      kind: 'map',
      shape: target.shape,
      inputs: [broadcastView(value, target.shape)],
      outputs: [target],
      results: [e.input(0, value.dtype)],
    });
  }

  // Views.
  reshape(value: Value, shape: Shape): Value {
    const view = reshapeView(value, shape) ?? reshapeView(this.copy(value), shape)!;
    return value.known ? { ...view, known: value.known.reshape(shape) } : view;
  }
  broadcast(value: Value, shape: Shape): Value {
    return broadcastView(value, shape);
  }
  transpose(value: Value, perm: readonly number[]): Value {
    return transposeView(value, perm);
  }
  slice(value: Value, begin: readonly number[], size: Shape, step?: readonly number[]): Value {
    return sliceView(value, begin, size, step);
  }
  /** Elements in the opposite order along some axes. */
  reverse(value: Value, axes: readonly number[]): Value {
    const flip = value.shape.map((_, i) => axes.includes(i));
    return sliceView(
      value,
      value.shape.map((d, i) => (flip[i] ? d - 1 : 0)),
      value.shape,
      flip.map((f) => (f ? -1 : 1)),
    );
  }

  /** Values side by side along an axis. */
  concat(values: readonly Value[], axis: number): Value {
    const first = values[0]!;
    const shape = [...first.shape];
    shape[axis] = values.reduce((n, v) => n + v.shape[axis]!, 0);
    // Nothing would be copied into an empty result, and a buffer that nobody writes has no place in memory.
    if (sizeOf(shape) === 0) return this.constant(zeros(first.dtype, shape));
    const result = this.temp(first.dtype, shape);
    let start = 0;
    for (const value of values) {
      const begin = shape.map((_, i) => (i === axis ? start : 0));
      if (sizeOf(value.shape) > 0) this.copyInto(value, sliceView(result, begin, value.shape));
      start += value.shape[axis]!;
    }
    return result;
  }

  /** `value` surrounded by a constant: `before` and `after` count elements on each axis. */
  pad(value: Value, before: readonly number[], after: readonly number[], constant: Scalar): Value {
    const shape = value.shape.map((d, i) => d + before[i]! + after[i]!);
    const result = this.fill(value.dtype, shape, constant);
    if (sizeOf(value.shape) > 0) this.copyInto(value, sliceView(result, before, value.shape));
    return result;
  }

  // Reductions and products.
  /** Folds along axes; the result drops them, or keeps them as size 1. */
  reduce(
    op: ReduceOp,
    value: Value,
    axes: readonly number[],
    options: { keepDims?: boolean; dtype?: DType; of?: (x: Expr) => Expr } = {},
  ): Value {
    const folded = [...new Set(axes.map((a) => normalizeAxis(a, value.shape.length)))].sort((a, b) => a - b);
    const element = e.input(0, value.dtype);
    const result = options.of ? options.of(element) : element;
    const shape = value.shape.filter((_, i) => !folded.includes(i));
    const isAlone = folded.every((axis) => value.shape[axis] === 1) && op !== 'argmax' && op !== 'argmin';
    if (isAlone) {
      // One number is its own sum: no arithmetic is done that would change a -0, or what is below the normal range.
      const alone = options.of ? this.map([value], options.of) : value;
      return this.reshape(alone, options.keepDims ? value.shape : shape);
    }
    const output = this.temp(options.dtype ?? result.dtype, shape);
    this.emit({ kind: 'reduce', op, shape: value.shape, axes: folded, inputs: [asView(value)], result, output });
    if (!options.keepDims) return output;
    return reshapeView(
      output,
      value.shape.map((d, i) => (folded.includes(i) ? 1 : d)),
    )!;
  }

  /** Batched matrix product of the last two axes; leading axes broadcast. */
  dot(a: Value, b: Value, options: { transposeA?: boolean; transposeB?: boolean } = {}): Value {
    const left = options.transposeA ? transposeView(a, swapLast(a.shape.length)) : a;
    const right = options.transposeB ? transposeView(b, swapLast(b.shape.length)) : b;
    const batch = broadcastConcrete(left.shape.slice(0, -2), right.shape.slice(0, -2));
    const [m, k] = left.shape.slice(-2) as [number, number]; // matrices have rank 2 or more
    const n = right.shape.at(-1)!;
    const output = this.temp(a.dtype, [...batch, m, n]);
    this.emit({
      kind: 'dot',
      a: broadcastView(left, [...batch, m, k]),
      b: broadcastView(right, [...batch, k, n]),
      output,
    });
    return output;
  }

  /** One of the three arrays of a convolution from the other two, stored into the view given for it. */
  conv(convolution: Omit<ConvInstruction, 'kind'>): void {
    const { input, filter, output } = convolution;
    this.emit({ ...convolution, kind: 'conv', input: asView(input), filter: asView(filter), output: asView(output) });
  }

  // Indexing.
  /**
   * Rows of `params` (shape [batch, outer, d1 … dk, inner]) picked by `indices` ([batch, count, k]); gives
   * [batch, outer, count, inner].
   */
  gather(
    params: Value,
    indices: Value,
    options: { bounds?: 'error' | 'zero'; explain?: (failure: Failure) => OpError } = {},
  ): Value {
    const p = this.contiguous(params);
    const i = this.contiguous(indices);
    const output = this.temp(p.dtype, [p.shape[0]!, p.shape[1]!, i.shape[1]!, p.shape.at(-1)!]);
    this.emit({ kind: 'gather', params: p, indices: i, output, bounds: options.bounds ?? 'error' }, options.explain);
    return output;
  }

  /** Combines `updates` ([count, inner]) into `target` ([d1 … dk, inner], changed in place) at `indices` ([count, k]). */
  scatter(
    combine: Combine,
    target: Value,
    indices: Value,
    updates: Value,
    options: { bounds?: 'error' | 'dropNegative' | 'drop'; explain?: (failure: Failure) => OpError } = {},
  ): void {
    this.emit(
      {
        kind: 'scatter',
        combine,
        target: asView(target),
        indices: this.contiguous(indices),
        updates: asView(updates),
        bounds: options.bounds ?? 'error',
      },
      options.explain,
    );
  }

  /** Running sums or products along one axis. */
  scan(
    op: 'sum' | 'prod' | 'logsumexp',
    value: Value,
    axis: number,
    options: { exclusive: boolean; reverse: boolean },
  ): Value {
    const outer = sizeOf(value.shape.slice(0, axis));
    const inner = sizeOf(value.shape.slice(axis + 1));
    const input = this.reshape(this.contiguous(value), [outer, value.shape[axis]!, inner]);
    const output = this.temp(value.dtype, input.shape);
    this.emit({ kind: 'scan', op, input: asView(input), output, ...options });
    return this.reshape(output, value.shape);
  }

  /** The k largest along the last axis, with their positions (int32). */
  topk(value: Value, k: number): { values: Value; indices: Value } {
    const n = value.shape.at(-1)!;
    const rows = sizeOf(value.shape.slice(0, -1));
    const shape = [...value.shape.slice(0, -1), k];
    const values = this.temp(value.dtype, [rows, k]);
    const indices = this.temp(int32, [rows, k]);
    this.emit({ kind: 'topk', input: asView(this.reshape(this.contiguous(value), [rows, n])), values, indices });
    return { values: this.reshape(values, shape), indices: this.reshape(indices, shape) };
  }

  /**
   * Pooling over windows given by `spans` (see `WindowInstruction`); `shape` is the result's, [batch, …spatial, channels].
   */
  window(op: WindowOp, inputs: readonly Value[], spans: readonly Value[], shape: Shape): Value {
    const output = this.temp(op === 'argmax' ? int64 : inputs[0]!.dtype, shape);
    this.emit({
      kind: 'window',
      op,
      inputs: inputs.map(asView),
      spans: spans.map((s) => asView(this.contiguous(s))),
      output,
    });
    return output;
  }

  /** Fails the run when any element of a bool value is true; the failure says where the first one is. */
  check(condition: Value, error: (failure: Failure) => OpError): void {
    if (condition.dtype !== bool) throw new InternalError(`check wants a bool, not ${condition.dtype}`);
    this.emit({ kind: 'check', input: asView(condition) }, error);
  }
}

function swapLast(rank: number): number[] {
  const perm = Array.from({ length: rank }, (_, i) => i);
  perm[rank - 2] = rank - 1;
  perm[rank - 1] = rank - 2;
  return perm;
}

function asView({ buffer, dtype, shape, strides, offset }: View): View {
  return { buffer, dtype, shape, strides, offset };
}

/** The number in a known one-element value, which expressions can carry themselves. */
function scalarOf(value: Value): Scalar | undefined {
  if (value.known?.size !== 1 || value.dtype.isObject) return undefined;
  const element = value.known.at(0);
  if (typeof element === 'number' || typeof element === 'bigint') return element;
  if (typeof element === 'boolean') return element ? 1 : 0;
  return 're' in (element as object) ? [value.known.numberAt(0), (element as { im: number }).im] : undefined; // complex
}
