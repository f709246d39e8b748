/** @file TensorList: a list of tensors, as variant tensors hold one. Its elements are values while tracing, arrays while running. */
import type { DType } from './dtypes.ts';
import type { Dims } from './shape.ts';

/** Shorter lists are copied when an element changes. */
const shortList = 32;

/**
 * The elements of lists that were made by pushing; each sees its own length of them. A list with another element takes the array over, and
 * those before it keep what was there: a loop that sets one element after the other looks at none of the lists that it leaves behind.
 */
class Shared<E> {
  private behind: { readonly next: Shared<E>; readonly index: number; readonly before: E | undefined } | undefined;

  constructor(
    private own: (E | undefined)[],
    /** How many elements were changed since the array was made. */
    private changes = 0,
  ) {}

  get array(): (E | undefined)[] {
    if (this.behind) {
      const later: Shared<E>[] = [];
      let last: Shared<E> = this;
      for (; last.behind; last = last.behind.next) later.push(last);
      this.own = last.own.slice();
      for (const { behind } of later.reverse()) this.own[behind!.index] = behind!.before; // all have one
      this.behind = undefined;
      this.changes = 0;
    }
    return this.own;
  }

  with(index: number, element: E): Shared<E> {
    const { array } = this;
    // Now and then a copy, so that what is left behind never holds more than the lists themselves.
    const isCopied = array.length < shortList || this.changes >= array.length;
    const next = isCopied ? new Shared(array.slice()) : new Shared(array, this.changes + 1);
    if (!isCopied) {
      this.behind = { next, index, before: array[index] };
      this.own = [];
    }
    next.own[index] = element;
    return next;
  }
}

export class TensorList<E> {
  private constructor(
    readonly dtype: DType,
    /** What is known of every element's shape. */
    readonly elementShape: Dims,
    private readonly shared: Shared<E>,
    readonly length: number,
    /** The most elements it may hold; -1 when there is no limit. */
    readonly limit: number,
  ) {}

  static of<E>(dtype: DType, elementShape: Dims, elements: readonly (E | undefined)[], limit = -1): TensorList<E> {
    return new TensorList(dtype, elementShape, new Shared([...elements]), elements.length, limit);
  }

  /** An element that was reserved but never set is undefined. */
  get elements(): readonly (E | undefined)[] {
    return this.shared.array.slice(0, this.length);
  }

  at(index: number): E | undefined {
    return index < this.length ? this.shared.array[index] : undefined;
  }

  push(element: E): TensorList<E> {
    const { dtype, elementShape, length, limit } = this;
    // Only the longest list may grow in place; for others the next position is taken.
    const { array } = this.shared;
    const shared = array.length === length ? this.shared : new Shared(array.slice(0, length));
    shared.array.push(element);
    return new TensorList(dtype, elementShape, shared, length + 1, limit);
  }

  /** All but the last element. */
  pop(): TensorList<E> {
    return new TensorList(this.dtype, this.elementShape, this.shared, this.length - 1, this.limit);
  }

  with(index: number, element: E): TensorList<E> {
    return new TensorList(this.dtype, this.elementShape, this.shared.with(index, element), this.length, this.limit);
  }

  resized(length: number): TensorList<E> {
    const elements = this.shared.array.slice(0, Math.min(length, this.length));
    elements.length = length;
    return new TensorList(this.dtype, this.elementShape, new Shared(elements), length, this.limit);
  }

  /** The same list of other things. */
  map<F>(change: (element: E) => F): TensorList<F> {
    const elements = this.elements.map((x) => (x === undefined ? undefined : change(x)));
    return new TensorList(this.dtype, this.elementShape, new Shared(elements), this.length, this.limit);
  }
}
