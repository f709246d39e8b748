/** @file Shape and dtype rules on the level of types: what the editor knows about a tensor before anything runs. */
import type { bool, DType, float32, int32, string } from '../core/dtypes.ts';
import type { Dims } from '../core/shape.ts';
import type { TensorLike } from './tensor.ts';

/** A mismatch that types can see. It is never a value: an argument typed with it is refused, and the editor shows the text. */
export interface ShapeMismatch<Message extends string> {
  readonly 'shape mismatch': Message;
}
/** The same for dtypes. */
export interface DTypeMismatch<Message extends string> {
  readonly 'dtype mismatch': Message;
}
/** Lets an argument through unless its rule found a mismatch. */
export type Fits<Rule> = NoInfer<Rule extends ShapeMismatch<string> | DTypeMismatch<string> ? Rule : unknown>;
/** The shape a rule gives; a mismatch has been refused already, so it counts as unknown. */
export type KnownShape<Rule> = Rule extends infer S extends Dims ? S : Dims;

type Dim = number | null;
type List = readonly Dim[];

/** Comparing signatures puts `any` in place of type parameters; recursion over it would not end. */
type IsAny<X> = 0 extends 1 & X ? true : false;

/** Unknown rank: `Dims` itself, `null`, or a list of unknown length. */
type IsOpen<S> = null extends S ? true : S extends List ? (number extends S['length'] ? true : false) : true;
/** A size the type knows: a literal number. */
type IsKnown<D> = D extends number ? (number extends D ? false : true) : false;

/**
 * What a method that is generic in `this` is called on: a tensor, or what borrows its methods, such as a variable. Methods
 * cannot use the class's own parameters in a rule, since a tensor of a known shape must count as one of an unknown shape.
 */
export interface Typed {
  readonly dtype: DType;
  readonly shape: Dims;
}

/** The dtype of anything that can be an input; numbers may become several types, so they stay open. */
export type DTypeOf<X> = X extends { readonly dtype: infer D extends DType }
  ? D
  : X extends boolean
    ? typeof bool
    : X extends string
      ? typeof string
      : DType;
/** The dtype two operands share. */
export type CommonDType<A, B> = DType extends DTypeOf<A> ? DTypeOf<B> : DTypeOf<A>;
/** A mismatch unless two operands can be of one dtype. What is not known, such as a number or a plain `Tensor`, goes with all. */
export type OneDType<A, B> = [DTypeName<A> & DTypeName<B>] extends [never]
  ? DTypeMismatch<`${DTypeName<A>} and ${DTypeName<B>} cannot be mixed: types are never converted, wrap one in tf.cast`>
  : unknown;
type DTypeName<X> = DTypeOf<X>['name'];
/** What goes beside `A`, when it has the same dtype. */
export type Alike<A, B> = B & Fits<OneDType<A, B>>;
/** A mismatch unless all members of a list can be of one dtype. Of a list of unknown length nothing is known. */
export type OneDTypeOfAll<L, Seen extends string = DType['name']> =
  IsAny<L> extends true
    ? unknown
    : L extends readonly [infer First, ...infer Rest]
      ? [Seen & DTypeName<First>] extends [never]
        ? DTypeMismatch<`${Seen} and ${DTypeName<First>} cannot be mixed: types are never converted, wrap one in tf.cast`>
        : OneDTypeOfAll<Rest, Seen & DTypeName<First>>
      : unknown;
/** A mismatch unless something can be of one of these dtypes. */
export type HasDType<X, Names extends string> = [DTypeName<X> & Names] extends [never]
  ? DTypeMismatch<`${DTypeName<X>} is not ${Names}`>
  : unknown;
/** The dtype of a constant made of plain values. */
export type LiteralDType<L> = L extends { readonly dtype: infer D extends DType }
  ? D
  : Leaf<L> extends boolean
    ? typeof bool
    : Leaf<L> extends string | Uint8Array
      ? typeof string
      : Leaf<L> extends number
        ? typeof float32 | typeof int32
        : DType;
/** As `KnownShape`, for dtypes. */
export type KnownDType<Rule> = Rule extends infer D extends DType ? D : DType;
type Leaf<L> = IsAny<L> extends true ? unknown : L extends readonly (infer E)[] ? Leaf<E> : L;

/** The static shape of anything that can be an input. */
export type ShapeOf<X> =
  IsAny<X> extends true
    ? Dims
    : X extends { readonly shape: infer S }
      ? S extends Dims
        ? S
        : Dims
      : X extends number | bigint | boolean | string
        ? readonly []
        : X extends readonly unknown[]
          ? LiteralShape<X>
          : Dims;

/** The shape of nested arrays: a tuple's length is known, an array's is not. */
export type LiteralShape<L> =
  IsAny<L> extends true
    ? Dims
    : L extends readonly unknown[]
      ? L extends readonly []
        ? readonly [0]
        : Prepend<
            number extends L['length'] ? null : L['length'],
            L[number] extends readonly unknown[]
              ? LiteralShape<L[0]>
              : L[number] extends number | bigint | boolean | string
                ? readonly []
                : Dims
          >
      : readonly [];
type Prepend<D extends Dim, S> = S extends List ? readonly [D, ...S] : Dims;

// Broadcasting.
type BroadcastDim<A extends Dim, B extends Dim> = A extends 1
  ? B
  : B extends 1
    ? A
    : IsKnown<A> extends true
      ? IsKnown<B> extends true
        ? A extends B
          ? A
          : never
        : A
      : IsKnown<B> extends true
        ? B
        : null;

/** Sizes paired from the right; a pair that does not fit leaves `never` in its place. */
type BroadcastLists<A extends List, B extends List> = A extends readonly [
  ...infer RestA extends List,
  infer LastA extends Dim,
]
  ? B extends readonly [...infer RestB extends List, infer LastB extends Dim]
    ? readonly [...BroadcastLists<RestA, RestB>, BroadcastDim<LastA, LastB>]
    : A
  : B;
type HasNever<S extends List> = S extends readonly [infer D, ...infer Rest extends List]
  ? [D] extends [never]
    ? true
    : HasNever<Rest>
  : false;

/** NumPy broadcasting, or a mismatch. */
export type Broadcast<A, B> =
  IsOpen<A> extends true
    ? Dims
    : IsOpen<B> extends true
      ? Dims
      : A extends List
        ? B extends List
          ? HasNever<BroadcastLists<A, B>> extends true
            ? ShapeMismatch<`${Show<A>} and ${Show<B>} cannot be broadcast together`>
            : BroadcastLists<A, B>
          : Dims
        : Dims;

/** The shape as people write it. */
export type Show<S> = S extends List ? (number extends S['length'] ? '<unknown>' : `[${ShowDims<S>}]`) : '<unknown>';
type ShowDims<S extends List> = S extends readonly [infer D extends Dim, ...infer Rest extends List]
  ? Rest extends readonly []
    ? ShowDim<D>
    : `${ShowDim<D>}, ${ShowDims<Rest>}`
  : '';
type ShowDim<D extends Dim> = D extends number ? (number extends D ? '?' : `${D}`) : '?';

/** A mismatch unless two shapes may be the same; `What` says whose they are. */
export type SameShape<A, B, What extends string> =
  IsOpen<A> extends true
    ? unknown
    : IsOpen<B> extends true
      ? unknown
      : A extends List
        ? B extends List
          ? Agree<A, B> extends true
            ? unknown
            : ShapeMismatch<`${What} have shapes ${Show<A>} and ${Show<B>}, which must be the same`>
          : unknown
        : unknown;
type Agree<A extends List, B extends List> = A extends readonly [infer D, ...infer RestA extends List]
  ? B extends readonly [infer E, ...infer RestB extends List]
    ? MayEqual<D, E> extends true
      ? Agree<RestA, RestB>
      : false
    : false
  : B extends readonly []
    ? true
    : false;
type MayEqual<D, E> =
  IsKnown<D> extends true ? (IsKnown<E> extends true ? ([D & E] extends [never] ? false : true) : true) : true;
/** A mismatch unless labels have the shape of the logits without their last axis, that of the classes. */
export type FitsClasses<Labels, Logits> = Logits extends readonly [...infer Outer extends List, Dim]
  ? SameShape<Labels, Outer, 'labels, and logits without their last axis,'>
  : unknown;

/** What two operands broadcast to. */
export type Broadcasted<A, B> = KnownShape<Broadcast<ShapeOf<A>, ShapeOf<B>>>;
/** The second operand, when it has the dtype of the first and can be broadcast against it. */
export type BroadcastsWith<A, B> = Alike<A, B> & Fits<Broadcast<ShapeOf<A>, ShapeOf<B>>>;

// Products.
type Turned<S extends readonly [Dim, Dim], T> = T extends true ? readonly [S[1], S[0]] : S;

/** The shape of a matrix product, or a mismatch. Batches of matrices are checked in their last two sizes. */
export type MatMul<A, B, TA = false, TB = false> =
  IsOpen<A> extends true
    ? Dims
    : IsOpen<B> extends true
      ? Dims
      : A extends readonly [...infer BatchA extends List, infer M extends Dim, infer K extends Dim]
        ? B extends readonly [...infer BatchB extends List, infer L extends Dim, infer N extends Dim]
          ? Product<Turned<readonly [M, K], TA>, Turned<readonly [L, N], TB>, Broadcast<BatchA, BatchB>>
          : ShapeMismatch<`b is ${Show<B>}, but a matrix of rank 2 or more is needed`>
        : ShapeMismatch<`a is ${Show<A>}, but a matrix of rank 2 or more is needed`>;

type Product<A extends readonly [Dim, Dim], B extends readonly [Dim, Dim], Batch> = [
  BothKnown<A[1], B[0]>,
  A[1],
] extends [true, infer K]
  ? K extends B[0]
    ? WithBatch<Batch, readonly [A[0], B[1]]>
    : ShapeMismatch<`a is ${Show<A>} and b is ${Show<B>}, so a has ${ShowDim<A[1]>} columns but b has ${ShowDim<B[0]>} rows; they must be equal`>
  : WithBatch<Batch, readonly [A[0], B[1]]>;
type BothKnown<A, B> = IsKnown<A> extends true ? IsKnown<B> : false;
type WithBatch<Batch, S extends List> = Batch extends List
  ? number extends Batch['length']
    ? Dims
    : readonly [...Batch, ...S]
  : Batch extends ShapeMismatch<string>
    ? Batch
    : Dims;

// Axes.
/** The axis of a call that takes it alone or among its options; `Default` where neither has it. */
export type AxisIn<A, Default> = ArgumentIn<'axis', A, Default>;
/** An argument of a call that takes it alone or among its options; `Default` where neither has it. */
export type ArgumentIn<K extends string, A, Default> = A extends TensorLike | null | undefined
  ? A
  : A extends { readonly [k in K]: infer Argument }
    ? Argument
    : Default;

/** `-1` as a position in a list; `never` when it lies outside. */
type Position<S extends readonly unknown[], Axis extends number> = `${Axis}` extends `-${infer Back extends number}`
  ? DropLast<S, Back>['length' & keyof DropLast<S, Back>]
  : Axis;
type DropLast<
  S extends readonly unknown[],
  N extends number,
  Seen extends readonly unknown[] = [],
> = Seen['length'] extends N
  ? S
  : S extends readonly [...infer Front, unknown]
    ? DropLast<Front, N, readonly [...Seen, unknown]>
    : never;

type DropAt<S extends List, At extends number, Keep, Seen extends readonly unknown[] = []> = S extends readonly [
  infer D extends Dim,
  ...infer Rest extends List,
]
  ? Seen['length'] extends At
    ? Keep extends true
      ? readonly [1, ...Rest]
      : readonly [...Rest]
    : readonly [D, ...DropAt<Rest, At, Keep, readonly [...Seen, unknown]>]
  : readonly [];
type KeepAll<S extends List, Axes extends readonly number[]> = Axes extends readonly [
  infer A extends number,
  ...infer Rest extends readonly number[],
]
  ? KeepAll<DropAt<S, Position<S, A> & number, true>, Rest>
  : S;

type AllOnes<S extends List> = { readonly [K in keyof S]: 1 };

/** The shape after folding some axes: all of them when `Axis` is undefined or null. */
export type Reduce<S, Axis, Keep = false> =
  IsOpen<S> extends true
    ? Axis extends undefined | null
      ? Keep extends true
        ? Dims
        : readonly []
      : Dims
    : S extends List
      ? Axis extends undefined | null
        ? Keep extends true
          ? AllOnes<S>
          : readonly []
        : Axis extends number
          ? number extends Axis
            ? Dims
            : [Position<S, Axis>] extends [never]
              ? ShapeMismatch<`axis ${Axis} is outside ${Show<S>}`>
              : DropAt<S, Position<S, Axis> & number, Keep>
          : Axis extends readonly number[]
            ? Keep extends true
              ? number extends Axis['length']
                ? Dims
                : KeepAll<S, Axis>
              : Dims
            : Dims
      : Dims;

/** The shape with a size 1 put in at `Axis`. */
export type Expand<S, Axis> =
  IsOpen<S> extends true
    ? Dims
    : S extends List
      ? Axis extends number
        ? number extends Axis
          ? Dims
          : InsertAt<S, Position<readonly [...S, 1], Axis> & number, 1>
        : Dims
      : Dims;
type InsertAt<
  S extends List,
  At extends number,
  D extends Dim,
  Seen extends readonly unknown[] = [],
> = Seen['length'] extends At
  ? readonly [D, ...S]
  : S extends readonly [infer First extends Dim, ...infer Rest extends List]
    ? readonly [First, ...InsertAt<Rest, At, D, readonly [...Seen, unknown]>]
    : readonly [D];

/** The shape of `n` tensors of shape `S` stacked along a new axis. */
export type Stack<S, N extends Dim, Axis = 0> =
  IsOpen<S> extends true
    ? Dims
    : S extends List
      ? Axis extends number
        ? number extends Axis
          ? Dims
          : InsertAt<S, Position<readonly [...S, 1], Axis> & number, N>
        : Dims
      : Dims;

/** The shape without its sizes of 1. With unknown sizes the rank is unknown. */
export type Squeeze<S, Axis = undefined> =
  IsOpen<S> extends true
    ? Dims
    : S extends List
      ? Axis extends number
        ? number extends Axis
          ? Dims
          : DropAt<S, Position<S, Axis> & number, false>
        : Axis extends undefined
          ? null extends S[number]
            ? Dims
            : WithoutOnes<S>
          : Dims
      : Dims;
type WithoutOnes<S extends List> = S extends readonly [infer D extends Dim, ...infer Rest extends List]
  ? D extends 1
    ? WithoutOnes<Rest>
    : readonly [D, ...WithoutOnes<Rest>]
  : readonly [];

/** Axes in the order of `Perm`, or reversed when it is undefined. */
export type Transpose<S, Perm = undefined> =
  IsOpen<S> extends true
    ? Dims
    : S extends List
      ? Perm extends undefined
        ? Reverse<S>
        : Perm extends readonly number[]
          ? number extends Perm['length']
            ? Dims
            : Picked<S, Perm>
          : Dims
      : Dims;
type Reverse<S extends List> = S extends readonly [infer D extends Dim, ...infer Rest extends List]
  ? readonly [...Reverse<Rest>, D]
  : readonly [];
type Picked<S extends List, Perm extends readonly number[]> = Perm extends readonly [
  infer P extends number,
  ...infer Rest extends readonly number[],
]
  ? readonly [S[Position<S, P> & number], ...Picked<S, Rest>]
  : readonly [];

/** A wanted shape, with `-1` as unknown. */
export type Reshape<T> =
  IsAny<T> extends true
    ? Dims
    : T extends readonly number[]
      ? number extends T['length']
        ? Dims
        : { readonly [K in keyof T]: number extends T[K] ? null : T[K] extends -1 ? null : T[K] }
      : Dims;

/** The first shape with the size along `Axis` unknown: what `concat` gives. */
export type Concat<S, Axis> =
  IsOpen<S> extends true
    ? Dims
    : S extends List
      ? Axis extends number
        ? number extends Axis
          ? Dims
          : ReplaceAt<S, Position<S, Axis> & number, null>
        : Dims
      : Dims;
type ReplaceAt<
  S extends List,
  I extends number,
  D extends Dim,
  Seen extends readonly unknown[] = [],
> = S extends readonly [infer First extends Dim, ...infer Rest extends List]
  ? Seen['length'] extends I
    ? readonly [D, ...Rest]
    : readonly [First, ...ReplaceAt<Rest, I, D, readonly [...Seen, unknown]>]
  : readonly [];

/** `indices` in place of the first axis of `params`: what `gather` gives along axis 0. */
export type Gather<P, I> =
  IsOpen<P> extends true
    ? Dims
    : IsOpen<I> extends true
      ? Dims
      : P extends readonly [Dim, ...infer Rest extends List]
        ? I extends List
          ? readonly [...I, ...Rest]
          : Dims
        : Dims;

/** A new last axis: what `oneHot` gives. */
export type OneHot<I, Depth> =
  IsOpen<I> extends true
    ? Dims
    : I extends List
      ? readonly [...I, Depth extends number ? (number extends Depth ? null : Depth) : null]
      : Dims;
