/** @file Tensor: a symbolic handle to one output of an operation. */
import type { DType, TypedArray } from '../core/dtypes.ts';
import type { InvalidArgumentError } from '../core/errors.ts';
import type { NDArray } from '../core/ndarray.ts';
import { compatible, type Dims, mergeShapes, showShape, showTuple } from '../core/shape.ts';
import type { Graph } from './graph.ts';
import type { Operation } from './operation.ts';
import { userError } from './userError.ts';

/** Values of other classes that know how to become a tensor: variables, indexed slices. */
export interface ConvertibleToTensor {
  toTensor(options?: { dtype?: DType | undefined; name?: string | undefined }): Tensor;
  readonly dtype: DType;
  readonly shape: Dims;
}

/** Plain values that become a `Const` operation. */
export type Literal = number | bigint | boolean | string | Uint8Array | readonly Literal[];

/** Anything an op takes as input. */
export type TensorLike = Tensor | ConvertibleToTensor | NDArray | TypedArray | Literal | readonly TensorLike[];

/**
 * One output of an operation. `D` and `S` are its dtype and static shape as TypeScript knows them; plain `Tensor` knows
 * nothing and is always allowed. Operator methods (`add`, `matmul` …) are added by `src/ops/methods.ts`.
 */
export class Tensor<out D extends DType = DType, out S extends Dims = Dims> {
  #shape: Dims;
  constructor(
    readonly op: Operation,
    readonly index: number,
    readonly dtype: D,
    shape: Dims,
    /** True for the output of a reference variable: TensorFlow's `float32_ref`. */
    readonly isRef: boolean = false,
  ) {
    this.#shape = shape;
  }

  /** The static shape: `null` for unknown sizes, or `null` altogether when the rank is unknown. */
  get shape(): S {
    return this.#shape as S; // S is a promise made by the function that built the tensor
  }
  get name(): string {
    return `${this.op.name}:${this.index}`;
  }
  /** Which output of its operation it is: `index` under Python's name. */
  get valueIndex(): number {
    return this.index;
  }
  get graph(): Graph {
    return this.op.graph;
  }
  get device(): string {
    return this.op.device;
  }
  get rank(): number | null {
    return this.#shape?.length ?? null;
  }

  /** For an argument of a function: the tensor outside that it was made for, which tells what a resource holds. */
  standsFor: Tensor | undefined;

  /** Adds what the caller knows about the shape; throws when it contradicts what is known already. */
  setShape(shape: Dims): void {
    if (!compatible(this.#shape, shape))
      throw userError(
        `Tensor '${this.name}' has shape ${showShape(this.#shape)}, which is not compatible with ${showShape(shape)}`,
        { node: this.op.name, createdAt: this.op.createdAt },
      );
    this.#shape = mergeShapes(this.#shape, shape);
  }

  /** The operations that take this tensor as input. */
  consumers(): Operation[] {
    return this.op.graph.consumersOf(this);
  }

  /** A tensor has no value yet, so `x * 2` would be NaN without a word. */
  [Symbol.toPrimitive](hint: string): string {
    if (hint === 'number') throw noNumber(this.toString());
    return this.toString();
  }
  toString(): string {
    return `Tensor '${this.name}' shape=${showTuple(this.#shape)} dtype=${this.dtype}${this.isRef ? '_ref' : ''}`;
  }
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}

/** What is said when arithmetic of JavaScript is tried on something that only stands for a value. */
export function noNumber(what: string): InvalidArgumentError {
  return userError(
    `${what} is no number: it has a value only in a run. Use its methods, as in x.mul(2), or Number(await sess.run(x)).`,
  );
}
