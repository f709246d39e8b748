/** @file NDArray: a host value of a dtype and a shape, row-major, sharing its typed array with whoever made it. */
import {
  bool,
  complex128,
  type DataOf,
  type DType,
  type DTypeName,
  float32,
  int32,
  string,
  type TypedArray,
} from './dtypes.ts';
import { InvalidArgumentError, ResourceExhaustedError } from './errors.ts';
import { fromBfloat16Bits, fromHalfBits, toBfloat16Bits, toHalfBits } from './half.ts';
import { Int64s } from './int64s.ts';
import { printArray } from './print.ts';
import { type Shape, showShape, sizeOf } from './shape.ts';

/** A complex number as TypeScript sees it. */
export interface Complex {
  readonly re: number;
  readonly im: number;
}
/** One element: numbers for numeric types (a bigint beyond 2^53), booleans, text or bytes, host objects. */
export type Element = number | bigint | boolean | string | Uint8Array | Complex | object;
/** What the elements of each dtype are; any other is a number. */
interface OtherElements {
  readonly int64: number | bigint;
  readonly uint64: number | bigint;
  readonly bool: boolean;
  readonly complex64: Complex;
  readonly complex128: Complex;
  readonly string: string | Uint8Array;
  readonly resource: object;
  readonly variant: object;
}
/** One element of an array whose dtype is known. */
export type ElementOf<D extends DType> =
  D extends DType<infer N> ? (N extends keyof OtherElements ? OtherElements[N] : number) : never;
/** Nested arrays of elements, as deep as the rank. */
export type Nested<E = Element> = E | readonly Nested<E>[];

const decoder = new TextDecoder('utf-8', { fatal: true });
const encoder = new TextEncoder();

/** Memory of elements that nobody has looked at. Large memory costs something only when a typed array is made over it. */
export abstract class Unseen {
  /** A typed array over the memory. */
  abstract look(dtype: DType, count: number): TypedArray;
}

/** Stands for the memory of an array that was given back. */
class GivenBack extends Unseen {
  look(): never {
    throw new InvalidArgumentError('the memory of this array was given back');
  }
}
const givenBack = new GivenBack();
/** Who takes back the memory of which arrays. */
const takers = new WeakMap<NDArray, () => void>();

/** Says who takes the memory of an array back when it is disposed of. */
export function takeBackFrom(array: NDArray, take: () => void): void {
  takers.set(array, take);
}

/** A value with a dtype and a shape. `data` is row-major; for strings, resources and variants it is an array of objects. */
export class NDArray<D extends DType = DType> {
  readonly shape: Shape;
  private store: TypedArray | readonly object[] | undefined;
  /** Where the elements are as long as there is no store. */
  private memory: Unseen | undefined;
  constructor(
    readonly dtype: D,
    shape: Shape,
    store: TypedArray | readonly (object | string)[] | Unseen,
  ) {
    this.shape = shape;
    if (store instanceof Unseen) {
      this.memory = store;
      return;
    }
    this.store = dtype === string ? asBytes(store) : (store as TypedArray | readonly object[]); // only strings are given as text
    const expected = sizeOf(shape) * dtype.entries;
    if (store.length !== expected)
      throw new InvalidArgumentError(
        `an NDArray of shape ${showShape(shape)} and type ${dtype} needs ${expected} values, but ${store.length} were given`,
      );
  }

  /** The elements, row-major, without a copy. float16 and bfloat16 as bits, bool as 0/1, complex as (re, im) pairs. */
  get data(): DataOf<D> {
    if (this.dtype.isObject) throw new InvalidArgumentError(`a ${this.dtype} array has no typed array; use .objects`);
    return (this.store ?? this.look()) as DataOf<D>; // dtype says which it is
  }

  private look(): TypedArray {
    const seen = this.memory!.look(this.dtype, this.size); // there is one of the two
    this.memory = undefined;
    this.store = seen;
    return seen;
  }

  /** The memory of the elements as long as nobody has looked at them; for the device that made them. */
  get unseen(): Unseen | undefined {
    return this.memory;
  }

  /** The elements of a string (bytes), resource or variant array. */
  get objects(): readonly object[] {
    if (!this.dtype.isObject) throw new InvalidArgumentError(`a ${this.dtype} array holds no objects; use .data`);
    return this.store as readonly object[]; // dtype says which of the two it is
  }

  /** The bytes behind `data`. */
  get bytes(): Uint8Array {
    const data = this.data;
    return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  }

  get size(): number {
    return sizeOf(this.shape);
  }
  get rank(): number {
    return this.shape.length;
  }

  /** Element `i` in row-major order. */
  at(i: number): ElementOf<D> {
    return this.elementAt(i) as ElementOf<D>; // dtype says which it is
  }

  private elementAt(i: number): Element {
    if (this.dtype.isObject) return this.dtype === string ? readable(this.objects[i] as Uint8Array) : this.objects[i]!;
    const data = this.data;
    switch (this.dtype.storage) {
      case 'f16':
        return fromHalfBits(data[i] as number);
      case 'bf16':
        return fromBfloat16Bits(data[i] as number);
      case 'c64':
      case 'c128':
        return { re: data[2 * i] as number, im: data[2 * i + 1] as number };
      case 'i64':
      case 'u64': {
        const value = data[i] as bigint;
        const number = Number(value);
        return Number.isSafeInteger(number) ? number : value;
      }
      default:
        return this.dtype === bool ? data[i] !== 0 : data[i]!;
    }
  }

  /** Element `i` as a number: booleans as 0 or 1, the real part of complex numbers. */
  numberAt(i: number): number {
    const value = this.at(i);
    return typeof value === 'object' ? (value as Complex).re : Number(value);
  }

  /** Reads elements as `numberAt` does, and faster where there are many. */
  numberReader(): (i: number) => number {
    const { storage } = this.dtype;
    if (storage === 'i64') {
      const int64s = new Int64s(this.data as BigInt64Array); // storage says so
      return (i) => int64s.at(i);
    }
    if (storage !== 'f32' && storage !== 'f64' && storage !== 'i32') return (i) => this.numberAt(i);
    const data = this.data as Float32Array | Float64Array | Int32Array; // storage says so
    return (i) => data[i]!;
  }

  /** All elements as numbers, row-major. */
  numbers(): number[] {
    const numbers = new Array<number>(this.size);
    const at = this.numberReader();
    for (let i = 0; i < numbers.length; i++) numbers[i] = at(i);
    return numbers;
  }

  /** The only element of an array of one. */
  item(): ElementOf<D> {
    if (this.size !== 1)
      throw new InvalidArgumentError(`item() wants exactly one element, but the shape is ${showShape(this.shape)}`);
    return this.at(0);
  }

  /** Nested plain arrays, or one element for a scalar. */
  toArray(): Nested<ElementOf<D>> {
    let next = 0;
    const build = (axis: number): Nested<ElementOf<D>> =>
      axis === this.rank ? this.at(next++) : Array.from({ length: this.shape[axis]! }, () => build(axis + 1));
    return build(0);
  }

  /** The same elements under another shape of the same size. */
  reshape(shape: Shape): NDArray<D> {
    return new NDArray(this.dtype, shape, this.dtype.isObject ? this.objects : this.data);
  }

  /** The same kind of value, with its own memory. */
  copy(): NDArray<D> {
    return new NDArray(this.dtype, this.shape, this.dtype.isObject ? this.objects.slice() : this.data.slice());
  }

  /**
   * Gives the memory of a large result of a run back, for the next run to use at once: the garbage collector would take
   * longer to find it unused than filling it takes. Neither this array nor one that shares its memory may be used after
   * that. For any other array it does nothing.
   *
   * @example { using image = await sess.run(rendered); show(image.data); }
   */
  [Symbol.dispose](): void {
    const take = takers.get(this);
    if (!take) return;
    takers.delete(this);
    this.store = undefined;
    this.memory = givenBack;
    take();
  }

  equals(other: NDArray): boolean {
    if (this.dtype !== other.dtype || this.rank !== other.rank) return false;
    if (!this.shape.every((d, i) => d === other.shape[i])) return false;
    if (this.dtype === string)
      return this.objects.every((x, i) => sameBytes(x as Uint8Array, other.objects[i] as Uint8Array));
    if (this.dtype.isObject) return this.objects.every((x, i) => x === other.objects[i]);
    return sameBytes(this.bytes, other.bytes);
  }

  /** Lets a scalar be used as a number: `await sess.run(loss) < 0.1`. */
  [Symbol.toPrimitive](hint: string): number | string | bigint {
    if (hint === 'string' || this.size !== 1) return this.toString();
    const value = this.item();
    return typeof value === 'bigint' || typeof value === 'string' ? value : this.numberAt(0);
  }

  toString(): string {
    return printArray(this);
  }
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
  toJSON(): Nested {
    return this.toArray();
  }
}

function readable(bytes: Uint8Array): string | Uint8Array {
  try {
    return decoder.decode(bytes);
  } catch {
    return bytes;
  }
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

/** Writes element `i` of a typed array from a plain value. */
export function storeElement(dtype: DType, data: TypedArray, i: number, value: Element): void {
  switch (dtype.storage) {
    case 'f16':
      data[i] = toHalfBits(Number(value));
      return;
    case 'bf16':
      data[i] = toBfloat16Bits(Number(value));
      return;
    case 'c64':
    case 'c128':
      data[2 * i] = typeof value === 'object' ? (value as Complex).re : Number(value);
      data[2 * i + 1] = typeof value === 'object' ? (value as Complex).im : 0;
      return;
    case 'i64':
      data[i] = BigInt.asIntN(64, typeof value === 'bigint' ? value : BigInt(Math.trunc(Number(value))));
      return;
    case 'u64':
      data[i] = BigInt.asUintN(64, typeof value === 'bigint' ? value : BigInt(Math.trunc(Number(value))));
      return;
    default:
      data[i] = Number(value);
  }
}

/** The elements of a nested value, row-major, and its shape. Throws when rows differ in length. */
export function flatten(value: Nested): { shape: number[]; elements: Element[] } {
  const shape: number[] = [];
  for (let v: Nested | undefined = value; Array.isArray(v); v = v[0]) shape.push(v.length);
  const elements: Element[] = [];
  const path: number[] = [];
  const visit = (v: Nested, axis: number): void => {
    if (axis === shape.length && !Array.isArray(v)) {
      elements.push(v as Element); // not an array, so an element
      return;
    }
    if (!Array.isArray(v) || axis === shape.length || v.length !== shape[axis])
      throw new InvalidArgumentError(ragged(v, shape, path));
    for (const [i, x] of v.entries()) {
      path[axis] = i;
      visit(x, axis + 1);
    }
    path.length = axis;
  };
  visit(value, 0);
  return { shape, elements };
}

/** Tells which two parts of a literal differ: the first at its depth, which the others must follow, and the one at `path`. */
function ragged(found: Nested, shape: readonly number[], path: readonly number[]): string {
  const at = (indices: readonly number[]) => indices.map((i) => `[${i}]`).join('') || 'the whole';
  const kind = (length: number | undefined) =>
    length === undefined ? 'is a single value' : `has ${length} element${length === 1 ? '' : 's'}`;
  const length = Array.isArray(found) ? found.length : undefined;
  return `The literal has no shape: ${at(path.map(() => 0))} ${kind(shape[path.length])}, but ${at(path)} ${kind(length)}. All parts of one depth must have the same length; pad the shorter ones.`;
}

/** The dtype TensorFlow gives to a plain value: float32, int32, complex128, bool or string. */
export function inferDtype(elements: readonly Element[]): DType {
  const first = elements[0];
  if (typeof first === 'boolean') return bool;
  if (typeof first === 'string' || first instanceof Uint8Array) return string;
  if (elements.some(isComplex)) return complex128;
  if (elements.length > 0 && elements.every((x) => typeof x === 'bigint' || Number.isInteger(x))) return int32;
  return float32;
}

const dtypeOfArray: Record<string, DTypeName> = {
  Float32Array: 'float32',
  Float64Array: 'float64',
  Int8Array: 'int8',
  Int16Array: 'int16',
  Int32Array: 'int32',
  BigInt64Array: 'int64',
  Uint8Array: 'uint8',
  Uint16Array: 'uint16',
  Uint32Array: 'uint32',
  BigUint64Array: 'uint64',
};

/** The dtype whose elements a typed array holds. */
export function dtypeOfTypedArray(data: TypedArray): DTypeName {
  return dtypeOfArray[data.constructor.name] ?? 'uint8';
}

/** An NDArray from nested plain values; the dtype is inferred when it is not given. */
export function fromNested(value: Nested, dtype?: DType): NDArray {
  const { shape, elements } = flatten(value);
  const type = dtype ?? inferDtype(elements);
  return fromElements(type, shape, elements);
}

export function fromElements(dtype: DType, shape: Shape, elements: readonly Element[]): NDArray {
  if (dtype.isObject) {
    const objects = elements.map((x) => (dtype === string ? toBytes(x) : (x as object))); // resources and variants are objects
    return new NDArray(dtype, shape, objects);
  }
  const data = dtype.allocate(elements.length);
  for (let i = 0; i < elements.length; i++) {
    const x = elements[i]!;
    if (!isNumeric(x, dtype)) throw new InvalidArgumentError(`expected ${dtype}, but ${described(x)}`);
    storeElement(dtype, data, i, x);
  }
  return new NDArray(dtype, shape, data);
}

/** What something is that cannot be an element. */
function described(x: unknown): string {
  if (typeof x === 'string') return `${JSON.stringify(x)} is text`;
  if (x instanceof Promise) return 'got a promise: await it first';
  if (typeof x === 'function') return `got a function${x.name && ` '${x.name}'`}: call it first`;
  if (typeof x !== 'object' || x === null) return `got ${String(x)}`;
  const text = String(x);
  return `got ${text === '[object Object]' ? `a record with the keys ${Object.keys(x).join(', ')}` : text}`;
}

/** Whether an element of a numeric array can be `x`; JavaScript would make NaN of anything else. */
function isNumeric(x: unknown, dtype: DType): boolean {
  return typeof x === 'number' || typeof x === 'bigint' || typeof x === 'boolean' || (dtype.isComplex && isComplex(x));
}

function isComplex(x: unknown): x is Complex {
  return typeof x === 'object' && x !== null && 're' in x && 'im' in x;
}

/** The elements of an array of strings: those given where they are bytes already, which are shared. */
function asBytes(elements: TypedArray | readonly (object | string)[]): readonly object[] {
  const given = elements as readonly Element[]; // what is no string is refused
  return given.some((x) => typeof x !== 'object') ? given.map(toBytes) : (given as readonly object[]); // none is a text
}

function toBytes(x: Element): Uint8Array {
  if (x instanceof Uint8Array) return x;
  if (typeof x === 'string') return encoder.encode(x);
  throw new InvalidArgumentError(`expected a string, but ${String(x)} was given`);
}

/** A scalar. */
export function scalar(dtype: DType, value: Element): NDArray {
  return fromElements(dtype, [], [value]);
}

/** An int32 vector, the usual form of shapes and axes. */
export function intVector(values: readonly number[], dtype: DType = int32): NDArray {
  return fromElements(dtype, [values.length], values);
}

/** More objects than this do not fit in the memory of any process. */
const mostObjects = 2 ** 27;

/** Zeros, empty strings for strings. */
export function zeros(dtype: DType, shape: Shape): NDArray {
  if (dtype.isObject) {
    const count = sizeOf(shape);
    if (count > mostObjects) throw new ResourceExhaustedError(`OOM when allocating ${count} elements of type ${dtype}`);
    return new NDArray(dtype, shape, new Array(count).fill(new Uint8Array(0)));
  }
  return new NDArray(dtype, shape, dtype.allocate(sizeOf(shape)));
}
