/** @file The values of a table, one after the other in one array: an array for each would take several times its memory. */
import type { DType, TypedArray } from '../../core/dtypes.ts';
import type { NDArray } from '../../core/ndarray.ts';

/** Elements of any type; what is copied from one to the other is of the same. */
type Elements = { [i: number]: unknown; readonly length: number };

const elementsOf = (array: NDArray) => (array.dtype.isObject ? array.objects : array.data) as Elements;

function sameElement(a: unknown, b: unknown): boolean {
  return a instanceof Uint8Array ? Buffer.compare(a, b as Uint8Array) === 0 : Object.is(a, b); // of the same type
}

export class ValueStore {
  private elements: Elements;
  private count = 0;
  /** Slots that were left. */
  private readonly free: number[] = [];

  constructor(
    private readonly dtype: DType,
    /** How many elements a value has. */
    private readonly width: number,
  ) {
    this.elements = this.room(16);
  }

  private room(slots: number): Elements {
    const size = slots * this.width;
    return (this.dtype.isObject ? new Array<object>(size) : this.dtype.allocate(size)) as Elements;
  }

  /** A slot for a new value. */
  take(): number {
    const free = this.free.pop();
    if (free !== undefined) return free;
    if ((this.count + 1) * this.width > this.elements.length) {
      const old = this.elements;
      this.elements = this.room(2 * this.count);
      if (this.dtype.isObject) for (let i = 0; i < old.length; i++) this.elements[i] = old[i];
      else (this.elements as Float64Array).set(old as Float64Array); // typed arrays of one type
    }
    return this.count++;
  }

  /** Nobody uses a slot any more. */
  leave(slot: number): void {
    if (this.dtype.isObject) for (let k = 0; k < this.width; k++) this.elements[slot * this.width + k] = undefined;
    this.free.push(slot);
  }

  clear(): void {
    this.elements = this.room(16);
    this.count = 0;
    this.free.length = 0;
  }

  /** Stores the ith value of an array. */
  set(slot: number, values: NDArray, i: number): void {
    copy(elementsOf(values), i, this.elements, slot, this.width);
  }

  /** Whether the ith value of an array is the one in a slot. */
  isSame(slot: number, values: NDArray, i: number): boolean {
    const { width } = this;
    const given = elementsOf(values);
    for (let k = 0; k < width; k++)
      if (!sameElement(this.elements[slot * width + k], given[i * width + k])) return false;
    return true;
  }

  /** The first element of a value. */
  first(slot: number): unknown {
    return this.elements[slot * this.width];
  }

  /** The first element of the ith value of an array. */
  firstOf(values: NDArray, i: number): unknown {
    return elementsOf(values)[i * this.width];
  }

  /** Puts an array of values together. */
  gathering(count: number): {
    /** Puts the value of a slot in the ith place. */
    readonly add: (i: number, slot: number) => void;
    /** Puts value `k` of an array there. */
    readonly addOther: (i: number, values: NDArray, k: number) => void;
    readonly elements: TypedArray | readonly object[];
  } {
    const found = this.room(count);
    return {
      add: (i, slot) => copy(this.elements, slot, found, i, this.width),
      addOther: (i, values, k) => copy(elementsOf(values), k, found, i, this.width),
      elements: found as TypedArray | readonly object[], // one of both
    };
  }
}

function copy(from: Elements, source: number, to: Elements, target: number, width: number): void {
  for (let k = 0; k < width; k++) to[target * width + k] = from[source * width + k];
}
