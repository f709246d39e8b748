/** @file mapFn, scan, foldl and foldr: functions applied along the first axis of tensors. */
import { type DType, float32 } from '../../core/dtypes.ts';
import type { Dims } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Literal, Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { constant } from '../../ops/array/constant.ts';
import { shape } from '../../ops/array/shape.ts';
import { greater, greaterEqual, less } from '../../ops/math/compare.ts';
import { minus, plus } from '../../ops/math/operators.ts';
import { assertSameStructure, flatten, isNested, type Like, packSequenceAs, show, type Tensors } from '../nest.ts';
import { TensorArray } from './tensorArray.ts';
import { loop } from './whileLoop.ts';

/** What a function sees of the tensors it is applied along: one row of each. A literal array is one tensor. */
export type Elements<E> = E extends Literal ? Tensor : Tensors<E>;

/** Options that all of these functions hand on to the loop. */
export interface LoopingOptions {
  readonly parallelIterations?: number | undefined;
  /** False makes the results constant for gradients. */
  readonly backProp?: boolean | undefined;
  /** Accepted as TensorFlow has it; memory is managed by the runtime. */
  readonly swapMemory?: boolean | undefined;
  readonly name?: string | undefined;
}

const loopingNames = ['parallelIterations', 'backProp', 'swapMemory', 'name'] as const;

function loopOptions({ parallelIterations = 10, backProp = true, swapMemory = false }: LoopingOptions) {
  return { parallelIterations, backProp, swapMemory };
}

/** The tensors of a structure, and how to put others in it. */
interface Opened {
  readonly tensors: readonly Tensor[];
  pack(values: readonly unknown[]): unknown;
}

/** Takes a structure apart; an array of plain numbers is a single tensor, not a structure. */
function open(given: unknown, name?: string): Opened {
  const leaves = flatten(given);
  const isLiteral = Array.isArray(given) && leaves.length > 0 && leaves.every((x) => typeof x !== 'object');
  const values = isLiteral ? [given] : leaves;
  return {
    tensors: values.map((x) => convertToTensor(x as TensorLike, { name })), // anything else is refused there
    pack: (flat) => (isLiteral || !isNested(given) ? flat[0] : packSequenceAs(given, flat)),
  };
}

/** The tensors of `elems`, with the number of rows as it is known while building, and as a value. */
function openElems(elems: unknown): Opened & { readonly known: number | null; readonly count: TensorLike } {
  const opened = open(elems, 'elem');
  const [first] = opened.tensors;
  if (!first)
    throw userError(
      `elems must be a Tensor or (possibly nested) sequence of Tensors. Got ${show(elems)}, which does not contain any Tensors.`,
    );
  if (first.shape?.length === 0) throw userError('Elements in elems must be 1+ dimensional Tensors, not scalars');
  const known = first.shape?.[0] ?? null;
  for (const { shape: dims, name } of opened.tensors)
    if (known !== null && dims?.[0] != null && dims[0] !== known)
      throw userError(
        `Dimensions ${known} and ${dims[0]} are not compatible: '${name}' has another number of rows than '${first.name}'`,
      );
  return { ...opened, known, count: known || shape(first).slice('0') };
}

function requireFunction(fn: unknown, owner: string): void {
  if (typeof fn !== 'function') throw userError(`The first argument of ${owner} must be a function`);
}

export interface MapFnOptions extends LoopingOptions {
  /** The type of the result, or a structure of types like the result; the type of `elems` unless given. */
  readonly dtype?: unknown;
  /** False allows results of different shapes. */
  readonly inferShape?: boolean | undefined;
}

/**
 * Applies a function to each row of the tensors in `elems`, and stacks the results. Adds a `While` and the lists that it
 * reads and writes.
 *
 * @example tf.mapFn((x) => tf.multiply(x, x), tf.constant([1, 2, 3])) // runs to [1 4 9]
 */
export function mapFn<const E, const R = Elements<E>>(
  fn: (element: Elements<E>) => R,
  elems: E,
  options: MapFnOptions = {},
): Tensors<R> {
  onlyOptions('tf.mapFn', options, 'dtype', 'inferShape', ...loopingNames);
  requireFunction(fn, 'tf.mapFn');
  const result = nameScope(options.name ?? 'map', () => {
    const { tensors, known, count, pack } = openElems(elems);
    const arrays = tensors.map((t) => new TensorArray(t.dtype, { size: count })).map((a, i) => a.unstack(tensors[i]!));
    const i = constant(0);
    const model = options.dtype ?? pack(tensors.map((t) => t.dtype));
    const results = flatten(model).map(
      (dtype) => new TensorArray(asType(dtype), { size: count, inferShape: options.inferShape ?? true }),
    );
    const step = (at: Tensor, into: TensorArray[]) => {
      const value: unknown = fn(pack(arrays.map((a) => a.read(at))) as Elements<E>); // rows in the structure of elems
      assertSameStructure(model, value);
      const values = flatten(value) as TensorLike[]; // refused by `write` otherwise
      const written = into.map((array, k) => array.write(at, values[k]!));
      return [plus(at, 1), written] as const;
    };
    const looping = { ...loopOptions(options), maximumIterations: count };
    const [, done] = loop((at: Tensor) => less(at, count), step, [i, results], looping);
    // The arrays that went in come out.
    const stacked = (done as TensorArray[]).map((array) => withRows(array.stack(), known));
    return isNested(model) ? packSequenceAs(model, stacked) : stacked[0];
  });
  return result as Tensors<R>; // checked against the model, which R describes
}

function asType(dtype: unknown): DType {
  if (typeof dtype === 'object' && dtype !== null && dtype.constructor === float32.constructor) return dtype as DType; // its class
  throw userError(
    `dtype of tf.mapFn must be a type, or a structure of types like the result, but it holds ${String(dtype)}`,
  );
}

function withRows(tensor: Tensor, rows: number | null): Tensor {
  const dims: Dims = tensor.shape;
  if (dims) tensor.setShape([rows, ...dims.slice(1)]);
  return tensor;
}

export interface FoldOptions<A = unknown> extends LoopingOptions {
  /** What to begin with; the first row (for `foldr` the last) unless given. */
  readonly initializer?: A | undefined;
}

/**
 * The type of what is accumulated: like the initializer, or like a row where there is none. What functions return has a type
 * of its own, so that a list is known to be one of so many members.
 */
export type Accumulated<E, A> = unknown extends A ? Elements<E> : Elements<A>;

/**
 * Applies a function to the result so far and each row, from the first row to the last.
 *
 * @example tf.foldl((a, x) => tf.add(a, x), tf.constant([1, 2, 3, 4, 5, 6])) // runs to 21
 */
export function foldl<const E, const A = unknown, const R extends Like<Accumulated<E, A>> = Like<Accumulated<E, A>>>(
  fn: (accumulated: Accumulated<E, A>, element: Elements<E>) => R,
  elems: E,
  options: FoldOptions<A> = {},
): Accumulated<E, A> {
  return fold('foldl', fn as Step, elems, options) as Accumulated<E, A>; // of that structure
}

/**
 * Applies a function to the result so far and each row, from the last row to the first.
 *
 * @example tf.foldr((a, x) => tf.subtract(x, a), tf.constant([1, 2, 3])) // runs to 2
 */
export function foldr<const E, const A = unknown, const R extends Like<Accumulated<E, A>> = Like<Accumulated<E, A>>>(
  fn: (accumulated: Accumulated<E, A>, element: Elements<E>) => R,
  elems: E,
  options: FoldOptions<A> = {},
): Accumulated<E, A> {
  return fold('foldr', fn as Step, elems, options) as Accumulated<E, A>; // of that structure
}

type Step = (accumulated: unknown, element: unknown) => unknown;

function fold(kind: 'foldl' | 'foldr', fn: Step, elems: unknown, options: FoldOptions): unknown {
  onlyOptions(`tf.${kind}`, options, 'initializer', ...loopingNames);
  requireFunction(fn, `tf.${kind}`);
  return nameScope(options.name ?? kind, () => {
    const { tensors, count, pack } = openElems(elems);
    const arrays = tensors.map((t) => new TensorArray(t.dtype, { size: count }).unstack(t));
    const row = (at: TensorLike) => pack(arrays.map((a) => a.read(at)));
    const { initializer } = options;
    const isLeft = kind === 'foldl';
    const last = () => (typeof count === 'number' ? count - 1 : minus(count, 1));
    let first: unknown;
    let begin: TensorLike;
    if (isLeft) {
      first = initializer ?? row(0);
      begin = constant(initializer === undefined ? 1 : 0);
    } else {
      begin = initializer === undefined ? last() : count;
      first = initializer ?? row(begin);
    }
    const step = (at: Tensor, accumulated: unknown) => {
      const here = isLeft ? at : minus(at, 1);
      const next = fn(accumulated, row(here));
      return [isLeft ? plus(at, 1) : here, next];
    };
    const goesOn = (at: Tensor) => (isLeft ? less(at, count) : greater(at, 0));
    return loop(goesOn, step, [begin, first], { ...loopOptions(options), maximumIterations: count })[1];
  });
}

export interface ScanOptions<A = unknown> extends FoldOptions<A> {
  /** False allows results of different shapes. */
  readonly inferShape?: boolean | undefined;
  /** Begins with the last row. */
  readonly reverse?: boolean | undefined;
}

/**
 * Applies a function to the result so far and each row, and stacks all results on the way.
 *
 * @example tf.scan((a, x) => tf.add(a, x), tf.constant([1, 2, 3, 4])) // runs to [1 3 6 10]
 */
export function scan<const E, const A = unknown, const R extends Like<Accumulated<E, A>> = Like<Accumulated<E, A>>>(
  fn: (accumulated: Accumulated<E, A>, element: Elements<E>) => R,
  elems: E,
  options: ScanOptions<A> = {},
): Accumulated<E, A> {
  onlyOptions('tf.scan', options, 'initializer', 'inferShape', 'reverse', ...loopingNames);
  requireFunction(fn, 'tf.scan');
  const { initializer, inferShape = true, reverse = false } = options;
  const results = nameScope(options.name ?? 'scan', () => {
    const { tensors, known, count: rows, pack } = openElems(elems);
    const count = known ?? rows;
    const arrays = tensors
      .map((t) => new TensorArray(t.dtype, { size: count, elementShape: t.shape?.slice(1) ?? null }))
      .map((a, i) => a.unstack(tensors[i]!));
    const ends = (back: number) => (typeof count === 'number' ? count - back : minus(count, back));
    const edge = () => (reverse ? ends(1) : 0);
    const accumulated = initializer === undefined ? undefined : open(initializer);
    const begins = accumulated?.tensors ?? arrays.map((a) => a.read(edge()));
    const done = initializer === undefined ? 1 : 0;
    let collected = begins.map(
      (t) => new TensorArray(t.dtype, { size: count, elementShape: inferShape ? t.shape : null, inferShape }),
    );
    if (initializer === undefined) collected = collected.map((array, k) => array.write(edge(), begins[k]!));
    const packA = accumulated?.pack ?? pack;
    const step = (at: Tensor, a: Tensor[], into: TensorArray[]) => {
      const element = pack(arrays.map((array) => array.read(at)));
      const before = packA(a);
      const value = (fn as Step)(before, element);
      assertSameStructure(before, value);
      const flat = isNested(value) ? flatten(value) : [value];
      const written = into.map((array, k) => array.write(at, flat[k] as TensorLike)); // refused there otherwise
      return [reverse ? minus(at, 1) : plus(at, 1), flat, written];
    };
    const goesOn = (at: Tensor) => (reverse ? greaterEqual(at, 0) : less(at, count));
    const begin = reverse ? ends(1 + done) : done;
    const looping = { ...loopOptions(options), maximumIterations: count };
    const [, , arraysOut] = loop(goesOn, step, [begin, begins, collected], looping);
    // The arrays that went in come out.
    return packA((arraysOut as TensorArray[]).map((array) => withRows(array.stack(), known)));
  });
  return results as Accumulated<E, A>; // of that structure
}
