/** @file TensorList: a list of tensors, as variant tensors hold one. Its elements are values while tracing, arrays while running. */
import type { DType } from './dtypes.ts';
import type { Dims } from './shape.ts';

export class TensorList<E> {
  /** Lists made by pushing share one array; each sees its own length of it. */
  private constructor(
    readonly dtype: DType,
    /** What is known of every element's shape. */
    readonly elementShape: Dims,
    private readonly shared: (E | undefined)[],
    readonly length: number,
    /** The most elements it may hold; -1 when there is no limit. */
    readonly limit: number,
  ) {}

  static of<E>(dtype: DType, elementShape: Dims, elements: readonly (E | undefined)[], limit = -1): TensorList<E> {
    return new TensorList(dtype, elementShape, [...elements], elements.length, limit);
  }

  /** An element that was reserved but never set is undefined. */
  get elements(): readonly (E | undefined)[] {
    return this.shared.slice(0, this.length);
  }

  at(index: number): E | undefined {
    return index < this.length ? this.shared[index] : undefined;
  }

  push(element: E): TensorList<E> {
    const { dtype, elementShape, length, limit } = this;
    // Only the longest list may grow in place; for others the next position is taken.
    const shared = this.shared.length === length ? this.shared : this.shared.slice(0, length);
    shared.push(element);
    return new TensorList(dtype, elementShape, shared, length + 1, limit);
  }

  /** All but the last element. */
  pop(): TensorList<E> {
    return new TensorList(this.dtype, this.elementShape, this.shared, this.length - 1, this.limit);
  }

  with(index: number, element: E): TensorList<E> {
    const elements = this.shared.slice(0, this.length);
    elements[index] = element;
    return new TensorList(this.dtype, this.elementShape, elements, this.length, this.limit);
  }

  resized(length: number): TensorList<E> {
    const elements = this.shared.slice(0, Math.min(length, this.length));
    elements.length = length;
    return new TensorList(this.dtype, this.elementShape, elements, length, this.limit);
  }

  /** The same list of other things. */
  map<F>(change: (element: E) => F): TensorList<F> {
    const elements = this.elements.map((x) => (x === undefined ? undefined : change(x)));
    return new TensorList(this.dtype, this.elementShape, elements, this.length, this.limit);
  }
}
