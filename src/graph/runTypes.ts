/** @file What sessions take and give: feeds, fetches in any structure, and the results of both in types. */
import type { DType, TypedArray } from '../core/dtypes.ts';
import type { NDArray } from '../core/ndarray.ts';
import type { Fetchable } from './composite.ts';
import type { IndexedSlices } from './indexedSlices.ts';
import type { NamedTuple } from './namedTuple.ts';
import type { Operation } from './operation.ts';
import type { SparseTensor, SparseTensorValue } from './sparseTensor.ts';
import type { Literal, Tensor } from './tensor.ts';

/** An object that stands for a tensor or operation, such as a variable. */
export interface GraphElement {
  asGraphElement(): Tensor | Operation;
}

/** What `run` can fetch: a tensor, an operation, a name, or arrays and records of these, nested at will. */
export type Fetch =
  | Tensor
  | Operation
  | GraphElement
  | IndexedSlices
  | SparseTensor
  | string
  | null
  | undefined
  | readonly unknown[]
  | object;

/** The value of fetched indexed slices. */
export interface IndexedSlicesValue {
  readonly values: NDArray;
  readonly indices: NDArray;
  readonly denseShape: NDArray | null;
}

/** The result of a fetch: arrays in the fetch's own structure, `null` for operations. */
export type Fetched<F> =
  F extends Tensor<infer D extends DType>
    ? NDArray<D>
    : F extends Operation | null | undefined
      ? null
      : F extends IndexedSlices
        ? IndexedSlicesValue
        : F extends SparseTensor
          ? SparseTensorValue
          : F extends Fetchable<infer V>
            ? V
            : F extends GraphElement
              ? NDArray<F extends { readonly dtype: infer D extends DType } ? D : DType>
              : F extends string
                ? NDArray | null
                : F extends readonly unknown[]
                  ? { -readonly [K in keyof F]: Fetched<F[K]> }
                  : F extends NamedTuple<infer T>
                    ? NamedTuple<{ -readonly [K in Exclude<keyof T, symbol>]: Fetched<T[K]> }>
                    : F extends object
                      ? { -readonly [K in keyof F]: Fetched<F[K]> }
                      : never;

export type FeedKey = Tensor | GraphElement | string;
/** Arrays, numbers, text, and lists of these. */
export type FeedValue = NDArray | TypedArray | Literal | readonly FeedValue[];
/** A sparse tensor to be fed: its parts may be plain lists. */
export type FedSparse = SparseTensorValue<FeedValue, FeedValue, FeedValue>;
/** `new Map([[x, batch]])`, `[[x, batch]]`, or `{ 'x:0': batch }`. */
export type Feeds =
  | ReadonlyMap<FeedKey, FeedValue>
  | ReadonlyMap<FeedKey | SparseTensor, FeedValue | FedSparse>
  | readonly (readonly [FeedKey, FeedValue])[]
  | readonly (readonly [FeedKey | SparseTensor, FeedValue | FedSparse])[]
  | Readonly<Record<string, FeedValue>>;
