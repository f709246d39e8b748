/** @file The tensor instruction set: what a device must be able to do, over typed, strided views of buffers. */
import type { DType } from '../core/dtypes.ts';
import type { OpError } from '../core/errors.ts';
import type { NDArray } from '../core/ndarray.ts';
import type { Shape } from '../core/shape.ts';
import type { Expr } from './expr.ts';

/**
 * Memory that views look into.
 * - `temp`: scratch of one segment; the memory planner gives it a place in the arena.
 * - `constant`: bytes fixed when the program was traced.
 * - `bound`: handed over at each run: feeds, fetches, variables, generator states, values that outlive a segment.
 */
export class Buffer {
  constructor(
    readonly kind: 'temp' | 'constant' | 'bound',
    readonly bytes: number,
    readonly data?: Uint8Array,
    /** Buffers with the same owner share memory: the successive versions of a variable within one program. */
    readonly owner?: object,
  ) {}
}

/** What tells whether two buffers may be the same memory. */
export function storageOf(buffer: Buffer): object {
  return buffer.owner ?? buffer;
}

/** A typed window on a buffer. Strides and offset count elements; a stride may be 0 (broadcast) or negative (reversed). */
export interface View {
  readonly buffer: Buffer;
  readonly dtype: DType;
  readonly shape: Shape;
  readonly strides: readonly number[];
  readonly offset: number;
}

/** For every point of `shape`, evaluates `results` from the inputs and stores them. All views have shape `shape`. */
export interface MapInstruction {
  readonly kind: 'map';
  readonly shape: Shape;
  readonly inputs: readonly View[];
  /** Outputs may be the very views of inputs (in-place update), never other overlaps. */
  readonly outputs: readonly View[];
  /** One expression per output, of the output's dtype. */
  readonly results: readonly Expr[];
}

export type ReduceOp = 'sum' | 'prod' | 'max' | 'min' | 'any' | 'all' | 'argmax' | 'argmin';

/**
 * Evaluates `result` at every point of `shape` and folds it along `axes`. The output view has the kept dims only.
 * Sums of float16/bfloat16 accumulate in float32. Integers wrap. `argmax`/`argmin` fold one axis, give the position of the
 * first extreme and store int32 or int64; NaN never wins, and a fold of nothing else (or of nothing) gives 0. `max`/`min`
 * pass NaN on. An empty fold gives 0, 1, the lowest, the highest value (infinities for floats), false, true.
 */
export interface ReduceInstruction {
  readonly kind: 'reduce';
  readonly op: ReduceOp;
  readonly shape: Shape;
  /** Ascending, without repeats. */
  readonly axes: readonly number[];
  readonly inputs: readonly View[];
  readonly result: Expr;
  readonly output: View;
}

/** output[..., m, n] = sum over k of a[..., m, k] * b[..., k, n]. All views have the same batch dims (stride 0 broadcasts) and dtype. */
/** The two sides of a matrix product. */
export interface Factors {
  readonly a: View;
  readonly b: View;
}

export interface DotInstruction {
  readonly kind: 'dot';
  readonly a: View;
  readonly b: View;
  readonly output: View;
  /** Further factors, of the same shapes, strides and dtype, whose products are added; float32 or float64. */
  readonly more?: readonly Factors[];
  /** What the product is added to, float32 or float64. It may be the very output, and has its shape and dtype. */
  readonly plus?: View;
  /**
   * A map over the product, run on each piece of it while the piece is in the cache. It has the output's shape; inputs that
   * are views of the output's buffer are the output itself. It writes nothing that the product reads.
   */
  readonly after?: MapInstruction & Origin;
  /** True when only `after` looks at the output, which then needs no memory. For float32 and float64. */
  readonly passing?: boolean;
}

/**
 * One of the three arrays of a convolution from the other two. On every spatial axis an output position y and a tap k of
 * the filter meet at the input position x = y * stride + k * dilation - before. Where x is outside the input, there is
 * nothing to add, or zero times the other factor: with infinities a device may do either.
 * - `output`: output[n, g, f, y] = sum over c, k of input[n, g, c, x] * filter[g, f, c, k]
 * - `input`: input[n, g, c, x] = sum over f and over all y, k that meet at x of output[n, g, f, y] * filter[g, f, c, k]
 * - `filter`: filter[g, f, c, k] = sum over n, y of input[n, g, c, x] * output[n, g, f, y]
 *
 * Shapes: input [batch, groups, channels, x…], filter [groups, features, channels, k…], output [batch, groups, features,
 * y…], with at most three spatial axes. All have one dtype, not a half type or bool; the array computed overlaps neither of
 * the others.
 */
export interface ConvInstruction extends ConvGeometry {
  readonly kind: 'conv';
  /** The array that is computed. */
  readonly result: 'output' | 'input' | 'filter';
  readonly input: View;
  readonly filter: View;
  readonly output: View;
}

/** Where output positions, taps and input positions meet, per spatial axis. Strides and dilations are positive. */
export interface ConvGeometry {
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  /** Zeros in front of the input; how many follow it is told by the output's size. */
  readonly before: readonly number[];
}

/**
 * output[g, o, c, :] = params[g, o, indices[g, c, 0], …, indices[g, c, k-1], :], all views contiguous.
 * Shapes: params [batch, outer, d1 … dk, inner], indices [batch, count, k] (int32 or int64), output [batch, outer, count, inner].
 */
export interface GatherInstruction {
  readonly kind: 'gather';
  readonly params: View;
  readonly indices: View;
  readonly output: View;
  /** An index out of range fails (with the first such one, in row-major order of `indices`), or stores zero. */
  readonly bounds: 'error' | 'zero';
}

export type Combine = 'update' | 'add' | 'sub' | 'mul' | 'div' | 'min' | 'max';

/**
 * target[indices[c, 0], …, indices[c, k-1], :] ⊕= updates[c, :], for c in order. target [d1 … dk, inner] contiguous,
 * indices [count, k] contiguous, updates [count, inner] of any strides. Each combination rounds to the dtype. Indices are
 * checked before anything is stored, so a failure of code `index` leaves the target as it was.
 */
export interface ScatterInstruction {
  readonly kind: 'scatter';
  readonly combine: Combine;
  readonly target: View;
  readonly indices: View;
  readonly updates: View;
  /**
   * `error`: any index out of range fails. `dropNegative`: rows with a negative index are skipped, too large ones fail.
   * `drop`: both are skipped.
   */
  readonly bounds: 'error' | 'dropNegative' | 'drop';
}

/** Running fold along the middle axis of [outer, n, inner], contiguous. `exclusive` begins with 0, 1 or -infinity. */
export interface ScanInstruction {
  readonly kind: 'scan';
  readonly op: 'sum' | 'prod' | 'logsumexp';
  readonly input: View;
  readonly output: View;
  readonly exclusive: boolean;
  readonly reverse: boolean;
}

/** The `k` largest of each row of [rows, n], largest first, equal values by position, NaN above all; indices are int32. Contiguous. */
export interface TopKInstruction {
  readonly kind: 'topk';
  readonly input: View;
  readonly values: View;
  readonly indices: View;
}

/**
 * - `max`, `sum`, `mean` of [x]: the fold of each window. A maximum begins with the lowest finite number and only something
 *   larger replaces it, so NaN is passed over. - `argmax` of [x]: where the window's first maximum is, counted row-major
 *   over the spatial axes, int64; it begins with the window's first element, so NaN stays there. Of an empty window: -1.
 * - `pick` of [x, y, g]: g where x first equals the pooled y in the window, or 0.
 * - `maxGradient` of [x, dy]: each dy is added where `argmax` says. - `positiveMaxGradient`: the same, but times 0 where x is
 *   not above zero there. - `nearGradient` of [x, y, dy]: each dy is added wherever x is closer than 1e-5 to y. - `meanGradient` of [dy]: each dy is shared out evenly over its window.
 */
export type WindowOp =
  | ('max' | 'argmax' | 'sum' | 'mean' | 'pick')
  | ('maxGradient' | 'positiveMaxGradient' | 'nearGradient' | 'meanGradient');

/**
 * Pooling. Views are [batch, …spatial, channels] of any strides; x, g and the results of gradients have the spatial sizes
 * of the image, y, dy and the results of folds those of the pooled one. `spans` has a contiguous int64 view [pooled size, 2]
 * per spatial axis: where along it each window begins and ends, of which the part inside the image counts. Sums of half
 * types accumulate in float32. Integers of 32 and 64 bits may be summed: they wrap, and their mean is rounded towards zero.
 * Narrower ones have `max`, `argmax`, `pick` and `maxGradient` only; the other gradients are for floats.
 */
export interface WindowInstruction {
  readonly kind: 'window';
  readonly op: WindowOp;
  readonly inputs: readonly View[];
  readonly spans: readonly View[];
  readonly output: View;
}

/**
 * Philox4x32-10 numbers, bit for bit TensorFlow's, into a contiguous output. `state` has 24 bytes: the
 * 128-bit counter and the 64-bit key, little-endian (see `philoxState`); afterwards the counter is `reserve` blocks beyond
 * its value at entry, whatever was used.
 * - `uniform`: [0, 1) floats. - `normal`, `truncatedNormal`: Box-Muller floats (half types via float32).
 * - `uniformInt`: int32/int64 in [low, high), one-element views of the output's dtype; unless the output is empty,
 *   low >= high fails with code `range`. - `bits`: raw uint32 words.
 */
export interface RandomInstruction {
  readonly kind: 'random';
  readonly distribution: 'uniform' | 'normal' | 'truncatedNormal' | 'uniformInt' | 'bits';
  readonly state: View;
  /** Blocks of four words to move the counter on by. */
  readonly reserve: number;
  readonly low?: View;
  readonly high?: View;
  readonly output: View;
}

/** Fails the program when any element of a bool view is true; the failure's position is the first one's, row-major. */
export interface CheckInstruction {
  readonly kind: 'check';
  readonly input: View;
}

/** What can run for some of its rows at a time. */
export type RowStep = (MapInstruction | ReduceInstruction | DotInstruction | ConvInstruction | WindowInstruction) &
  Origin;

/**
 * Does what its steps do one after the other, but block by block of their rows, so that what one step leaves the next finds
 * in the cache. The first axis of every view of a step is `rows` long, and no expression depends on the position along it;
 * of convolutions and windows the rows are the images of the batch, and filters and spans belong to all of them.
 * Memory that a step writes and another touches holds row after row, and each step only touches there the rows it is at.
 * A reduction that folds the first axis, or the gradient of a filter, is complete when all steps are; no other step touches
 * its output.
 */
export interface BlocksInstruction {
  readonly kind: 'blocks';
  readonly rows: number;
  readonly steps: readonly RowStep[];
  /** Temporaries that only the steps use. They need no place in the arena, since a block of them is enough. */
  readonly locals: ReadonlySet<Buffer>;
}

/** Instructions none of which touches what another writes: they may run at the same time. None of them can fail. */
export interface TogetherInstruction {
  readonly kind: 'together';
  readonly steps: readonly DeviceInstruction[];
}

/** Calls back to the host between two device segments; never reaches a device. */
export interface HostInstruction {
  readonly kind: 'host';
  readonly inputs: readonly View[];
  /** Views whose shape is known before the call; absent when the results' shapes depend on data. */
  readonly outputs?: readonly View[];
  readonly call: HostCall;
  readonly options?: HostOptions | undefined;
}

/** What a host call promises, so that less has to be copied. */
export interface HostOptions {
  /** It only reads its inputs and is done with them when it ends: nothing keeps them, no result is one of them. */
  readonly borrows?: boolean;
  /** Its results are in memory that it got from `allocate`, one each, and it keeps none of them. */
  readonly givesAway?: boolean;
  /** It made its results in this call and keeps none of them, and no two of them share memory. */
  readonly isFresh?: boolean;
}

/** What the host does between two segments. `run` is the run that it happens in, `means` what it may use of the device. */
export type HostCall = (
  inputs: NDArray[],
  run: RunScope,
  means: HostMeans,
) => readonly NDArray[] | Promise<readonly NDArray[]>;

export interface HostMeans {
  /** Gives memory of undefined content, of which the device can use whole results as they are. */
  readonly allocate: Allocate;
  /** How many threads it may use; 0: as many as there are processors. */
  readonly threads: number;
}

export type Allocate = (bytes: number) => Uint8Array;

/** What belongs to one run and is gone after it. */
export interface RunScope {
  /** The wish to stop the run. */
  readonly stop: {
    throwIfStopped(): void;
    /** The promise, or a rejection as soon as the run is to stop. */
    unlessStopped<T>(pending: Promise<T>): Promise<T>;
    /** Calls `then` if the run is to stop, at once if it is already; the result takes that back. */
    whenStopped(then: (reason: OpError) => void): () => void;
  };
  /** Things that live as long as the run, such as tensor arrays and stacks, by name. */
  readonly resources: Map<string, object>;
}

/** What a device executes. */
export type DeviceInstruction = (
  | MapInstruction
  | ReduceInstruction
  | DotInstruction
  | ConvInstruction
  | GatherInstruction
  | ScatterInstruction
  | ScanInstruction
  | TopKInstruction
  | WindowInstruction
  | RandomInstruction
  | CheckInstruction
  | BlocksInstruction
  | TogetherInstruction
) &
  Origin;

/** Where an instruction comes from, and what to say when it fails. */
export interface Origin {
  /** Name of the graph node that asked for it. */
  readonly node?: string;
  readonly explain?: (failure: Failure) => OpError;
}

export type FailureCode = 'divisionByZero' | 'negativePower' | 'index' | 'check' | 'range';

/**
 * Why a device stopped: which instruction, and for an index its flat position and value. Other codes leave `value`, and
 * all but `check` leave `position`, without meaning. What the failed instruction's outputs then hold is not defined.
 */
export interface Failure {
  readonly code: FailureCode;
  /** Position of the instruction in its segment. */
  readonly instruction: number;
  /** Flat position of the offending index in `indices`, divided into (row, component) by the reader. */
  readonly position: number;
  readonly value: number;
}

/** Thrown by `Kernel.run`. */
export class DeviceFailure extends Error {
  constructor(readonly failure: Failure) {
    super(`instruction ${failure.instruction} failed: ${failure.code}`);
  }
}

/** A planned, straight-line piece of work for one device. */
export interface Segment {
  readonly instructions: readonly DeviceInstruction[];
  readonly arenaBytes: number;
  /** Byte offset in the arena of every `temp` buffer used that is not in `bound`. */
  readonly arena: ReadonlyMap<Buffer, number>;
  /** The buffers handed over at each run, in the order in which `Kernel.run` wants them: those of kind `bound`, and temporaries that outlive the segment (a `temp` listed here has no place in the arena). */
  readonly bound: readonly Buffer[];
}
