/** @file Static shapes: a list of dims where `null` is an unknown size, or `null` altogether for unknown rank. */
import { InvalidArgumentError } from './errors.ts';

/** A static shape: unknown dims are `null`, and so is a shape of unknown rank. */
export type Dims = readonly (number | null)[] | null;
/** A shape with every size known. */
export type Shape = readonly number[];

/** `[32, ?]`, or `<unknown>` when even the rank is not known. */
export function showShape(dims: Dims | undefined): string {
  return dims == null ? '<unknown>' : `[${dims.map((d) => d ?? '?').join(', ')}]`;
}

/** Python's tuple form, as in `(32, ?)` and `(10,)`. */
export function showTuple(dims: Dims): string {
  if (dims === null) return '<unknown>';
  return dims.length === 1 ? `(${dims[0] ?? '?'},)` : `(${dims.map((d) => d ?? '?').join(', ')})`;
}

export function isFullyDefined(dims: Dims): dims is Shape {
  return dims?.every((d) => d !== null) ?? false;
}

/** The number of elements; 1 for a scalar. */
export function sizeOf(shape: Shape): number {
  let n = 1;
  for (const d of shape) n *= d;
  return n;
}

/** Row-major strides, in elements. */
export function stridesOf(shape: Shape): number[] {
  const strides = new Array<number>(shape.length);
  let step = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    strides[i] = step;
    step *= shape[i]!;
  }
  return strides;
}

export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((d, i) => d === b[i]);
}

/** Whether two static shapes could be the same shape at run time. */
export function compatible(a: Dims, b: Dims): boolean {
  if (a === null || b === null) return true;
  return a.length === b.length && a.every((d, i) => d === null || b[i] == null || d === b[i]);
}

/** The most that two descriptions of one shape say together; throws if they contradict each other. */
export function mergeShapes(a: Dims, b: Dims): Dims {
  if (a === null) return b;
  if (b === null) return a;
  if (!compatible(a, b))
    throw new InvalidArgumentError(`Shapes ${showShape(a)} and ${showShape(b)} are not compatible`);
  return a.map((d, i) => d ?? b[i]!);
}

/** `mergeShapes` of what a run has met, which says in TensorFlow's words why it cannot be. */
export function mergeAtRunTime(a: Dims, b: Dims): Dims {
  if (a !== null && b !== null && a.length !== b.length)
    throw new InvalidArgumentError(`PartialTensorShape: Incompatible ranks during merge: ${a.length} vs. ${b.length}`);
  if (!compatible(a, b))
    throw new InvalidArgumentError(
      `PartialTensorShape: Incompatible shapes during merge: ${showRuntime(a)} vs. ${showRuntime(b)}`,
    );
  return mergeShapes(a, b);
}

/** A rank-`rank` shape of unknown dims merged with `dims`; throws when the rank differs. */
export function withRank(dims: Dims, rank: number): readonly (number | null)[] {
  if (dims === null) return new Array<null>(rank).fill(null);
  if (dims.length !== rank)
    throw new InvalidArgumentError(`Shape must be rank ${rank} but is rank ${dims.length}: ${showShape(dims)}`);
  return dims;
}

/** NumPy broadcasting of static shapes; throws when it is impossible. */
export function broadcastShapes(a: Dims, b: Dims): Dims {
  if (a === null || b === null) return null;
  if (a === b) return a;
  const rank = Math.max(a.length, b.length);
  const out = new Array<number | null>(rank);
  for (let i = 1; i <= rank; i++) {
    const x = i <= a.length ? a[a.length - i]! : 1;
    const y = i <= b.length ? b[b.length - i]! : 1;
    // An unknown size against a known size above 1 can only be that size or 1, so the result is known.
    if (x === null || y === null) out[rank - i] = x === 1 || x === null ? (y === 1 ? x : y) : x;
    else if (x === y || y === 1) out[rank - i] = x;
    else if (x === 1) out[rank - i] = y;
    else throw new InvalidArgumentError(`Incompatible shapes: ${showRuntime(a)} vs. ${showRuntime(b)}`);
  }
  return out;
}

/** TensorFlow's runtime spelling, without spaces: `[2,3]`. */
export function showRuntime(dims: Dims): string {
  return dims === null ? '<unknown>' : `[${dims.map((d) => d ?? '?').join(',')}]`;
}

/** Broadcasting of concrete shapes. */
export function broadcastConcrete(a: Shape, b: Shape): Shape {
  return broadcastShapes(a, b) as Shape; // known sizes broadcast to known sizes
}

/** A possibly negative axis as a position; throws when it lies outside the rank. */
export function normalizeAxis(axis: number, rank: number, what = 'axis'): number {
  if (axis < -rank || axis >= rank)
    throw new InvalidArgumentError(`${what} ${axis} is out of bounds: it must be in [${-rank}, ${rank})`);
  return axis < 0 ? axis + rank : axis;
}
