/** @file What the array ops share: scopes of composite functions, shapes given as tensors, attribute types. */

import { DType, int32, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { zeros } from '../../core/ndarray.ts';
import { type Dims, type Shape, showRuntime, showShape, sizeOf } from '../../core/shape.ts';
import { currentContext } from '../../graph/context.ts';
import { graphFor } from '../../graph/graph.ts';
import { onlyOptions, withArgument } from '../../graph/options.ts';

import { nameScope } from '../../graph/scopes.ts';
import { Tensor } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import { sliceView, type Value } from '../../program/value.ts';

/** The options every function takes. */
export interface Named {
  readonly name?: string | undefined;
}

/** Known entries of an integer vector or scalar; unknown ones are `null`. */
export type Known = readonly (number | null)[];
/** A static shape whose rank is known. */
export type Ranked = readonly (number | null)[];

/** `{int32, int64}` without a default. */
export const int32or64 = attr('type', { allowed: [int32, int64] });

/** Runs `body` in a name scope of the graph that the values belong to, as a composite function of Python does. */
export function scoped<T>(name: string, values: readonly unknown[], body: (scope: string) => T): T {
  const owner = graphFor(values.filter((v): v is Tensor => v instanceof Tensor));
  if (owner !== currentContext().graph) return owner.asDefault(() => nameScope(name, body));
  return nameScope(name, body);
}

/** All entries, when every one is known. */
export function complete(known: Known | undefined): readonly number[] | undefined {
  return known?.every((x) => x !== null) ? known : undefined;
}

/** A static shape from what is known of a shape vector; -1 stands for an unknown size. */
export function dimsFrom(known: Known | undefined): Dims {
  if (!known) return null;
  for (const d of known)
    if (d !== null && d < -1) throw new InvalidArgumentError(`Dimension must be non-negative but is ${d}`);
  return known.map((d) => (d === null || d === -1 ? null : d));
}

/** Sizes of a shape given at run time. */
export function concreteShape(p: ProgramBuilder, value: Value, what: string): Shape {
  // A single number stands for a vector of one, as in TensorFlow's older ops.
  if (value.shape.length > 1)
    throw new InvalidArgumentError(`${what} must be a vector of {int32,int64}, got shape ${showRuntime(value.shape)}`);
  const shape = p.demandInts(value);
  for (const [i, d] of shape.entries())
    if (d < 0) throw new InvalidArgumentError(`Dimension ${d} must be >= 0: ${what}[${i}] = ${d}`);
  return shape;
}

export const unknownDims = (rank: number): Ranked => new Array<null>(rank).fill(null);

/** The product of sizes, when all are known. */
export function knownSize(dims: Dims): number | null {
  if (dims === null || dims.some((d) => d === null)) return null;
  return sizeOf(dims as Shape); // no dim is null
}

/** Two descriptions of one size; throws when they differ. */
export function mergeDim(a: number | null, b: number | null, what: string): number | null {
  if (a !== null && b !== null && a !== b) throw new InvalidArgumentError(`${what}: ${a} and ${b} must be equal`);
  return a ?? b;
}

/** The value at least has this rank. */
export function atLeastRank(dims: Dims, rank: number, port: string): Dims {
  if (dims !== null && dims.length < rank)
    throw new InvalidArgumentError(
      `Shape must be at least rank ${rank} but is rank ${dims.length}: ${port} is ${showShape(dims)}`,
    );
  return dims;
}

/** The value has just this rank. */
export function ofRank(dims: Dims, rank: number, port: string): Ranked {
  if (dims === null) return unknownDims(rank);
  if (dims.length !== rank)
    throw new InvalidArgumentError(
      `Shape must be rank ${rank} but is rank ${dims.length}: ${port} is ${showShape(dims)}`,
    );
  return dims;
}

/** The only integer of a scalar at run time. */
export function demandInt(p: ProgramBuilder, value: Value): number {
  return p.demandInts(value)[0]!;
}

/** New memory holding one element everywhere; works for strings too. */
export function filled(p: ProgramBuilder, element: Value, shape: Shape): Value {
  return p.copy(p.broadcast(element, shape));
}

/** A zero (an empty string for strings) that can be broadcast. */
export function zeroElement(p: ProgramBuilder, dtype: DType): Value {
  return p.constant(zeros(dtype, []));
}

/** A part of freshly written memory, to be written again. */
export function part(value: Value, begin: readonly number[], size: Shape, step?: readonly number[]): Value {
  return sliceView(value, begin, size, step);
}

/** Options in which a dtype may stand alone: Python's users write `tf.zeros([2], tf.int32)`. */
export function dtypeOrOptions(
  owner: string,
  given: ValueOptions | DType,
  ...names: readonly (keyof ValueOptions)[]
): ValueOptions {
  return given instanceof DType ? { dtype: given } : onlyOptions(owner, given, ...names);
}
interface ValueOptions extends Named {
  readonly dtype?: DType | undefined;
  readonly shape?: Shape | undefined;
}

/** Options of a function whose axis may also stand alone, before them: Python's users write both. */
export function withAxis<A, O extends { readonly axis?: A | undefined }>(first: A | O | undefined, options: O): O {
  return withArgument<O, 'axis'>('axis', first, options);
}
