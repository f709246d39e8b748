/** @file The element types of tensors: TensorFlow's names, numbers and sizes, and the typed array that stores each. */
import { ResourceExhaustedError } from './errors.ts';

/** What a dtype's elements look like in memory. Object kinds live on the host and travel through programs as int32 ids. */
export type Storage =
  | 'f16'
  | 'bf16'
  | 'f32'
  | 'f64'
  | 'i8'
  | 'i16'
  | 'i32'
  | 'i64'
  | 'u8'
  | 'u16'
  | 'u32'
  | 'u64'
  | 'c64'
  | 'c128'
  | 'object';

export type DTypeName =
  | 'float16'
  | 'bfloat16'
  | 'float32'
  | 'float64'
  | 'int8'
  | 'int16'
  | 'int32'
  | 'int64'
  | 'uint8'
  | 'uint16'
  | 'uint32'
  | 'uint64'
  | 'bool'
  | 'complex64'
  | 'complex128'
  | 'string'
  | 'resource'
  | 'variant'
  | 'qint8'
  | 'quint8'
  | 'qint16'
  | 'quint16'
  | 'qint32';

export type TypedArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array;

/** The typed array of each dtype: as bits for the small floats, in pairs for complex numbers. */
interface Data {
  readonly float16: Uint16Array;
  readonly bfloat16: Uint16Array;
  readonly float32: Float32Array;
  readonly float64: Float64Array;
  readonly int8: Int8Array;
  readonly int16: Int16Array;
  readonly int32: Int32Array;
  readonly int64: BigInt64Array;
  readonly uint8: Uint8Array;
  readonly uint16: Uint16Array;
  readonly uint32: Uint32Array;
  readonly uint64: BigUint64Array;
  readonly bool: Uint8Array;
  readonly complex64: Float32Array;
  readonly complex128: Float64Array;
  readonly string: never;
  readonly resource: never;
  readonly variant: never;
  readonly qint8: Int8Array;
  readonly quint8: Uint8Array;
  readonly qint16: Int16Array;
  readonly quint16: Uint16Array;
  readonly qint32: Int32Array;
}
/** The typed array that holds elements of a dtype. */
export type DataOf<D extends DType> = D extends DType<infer N> ? Data[N] : never;

type TypedArrayConstructor = {
  new (buffer: ArrayBufferLike, byteOffset?: number, length?: number): TypedArray;
  new (length: number): TypedArray;
  readonly BYTES_PER_ELEMENT: number;
};

const arrays: Record<Storage, TypedArrayConstructor> = {
  f16: Uint16Array,
  bf16: Uint16Array,
  f32: Float32Array,
  f64: Float64Array,
  i8: Int8Array,
  i16: Int16Array,
  i32: Int32Array,
  i64: BigInt64Array,
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  u64: BigUint64Array,
  c64: Float32Array,
  c128: Float64Array,
  object: Int32Array,
};

/** How many typed-array entries one element takes: two for complex numbers (real, imaginary). */
const entriesPerElement = (storage: Storage) => (storage === 'c64' || storage === 'c128' ? 2 : 1);

/** An element type. There is exactly one object per type, so `===` compares types. */
export class DType<N extends DTypeName = DTypeName> {
  readonly size: number;
  readonly entries: 1 | 2;
  constructor(
    readonly name: N,
    /** TensorFlow's `DataType` enum value; reference types add 100. */
    readonly number: number,
    readonly storage: Storage,
    /** The name TensorFlow's runtime prints in errors. */
    readonly runtimeName: string,
  ) {
    this.entries = entriesPerElement(storage);
    this.size = arrays[storage].BYTES_PER_ELEMENT * this.entries;
  }

  get isFloating(): boolean {
    return this.storage === 'f16' || this.storage === 'bf16' || this.storage === 'f32' || this.storage === 'f64';
  }
  get isComplex(): boolean {
    return this.entries === 2;
  }
  get isInteger(): boolean {
    return /^u?int/.test(this.name);
  }
  get isUnsigned(): boolean {
    return this.name.startsWith('uint');
  }
  get isBool(): boolean {
    return this.name === 'bool';
  }
  /** True for strings, resources and variants: values that only the host can look into. */
  get isObject(): boolean {
    return this.storage === 'object';
  }
  /** The float type of a complex type's parts; any other type itself. */
  get realDtype(): DType {
    return this.name === 'complex64' ? float32 : this.name === 'complex128' ? float64 : this;
  }
  /** Smallest and largest finite value, as a number (exact up to 2^53). */
  get min(): number {
    return limits[this.storage]?.[0] ?? Number.NEGATIVE_INFINITY;
  }
  get max(): number {
    return limits[this.storage]?.[1] ?? Number.POSITIVE_INFINITY;
  }

  /** A zeroed typed array for `count` elements. */
  allocate(count: number): TypedArray {
    // A typed array over the bytes of the elements must be possible too.
    if (!(count * this.size < 2 ** 32))
      throw new ResourceExhaustedError(`OOM when allocating ${count} elements of type ${this.runtimeName}`);
    return new arrays[this.storage](count * this.entries);
  }
  /** A typed array over existing bytes. */
  over(buffer: ArrayBufferLike, byteOffset: number, count: number): TypedArray {
    return new arrays[this.storage](buffer, byteOffset, count * this.entries);
  }
  toString(): string {
    return this.name;
  }
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `tf.${this.name}`;
  }
}

const limits: Partial<Record<Storage, readonly [number, number]>> = {
  f16: [-65504, 65504],
  bf16: [-3.3895313892515355e38, 3.3895313892515355e38],
  f32: [-3.4028234663852886e38, 3.4028234663852886e38],
  f64: [-Number.MAX_VALUE, Number.MAX_VALUE],
  i8: [-128, 127],
  i16: [-32768, 32767],
  i32: [-2147483648, 2147483647],
  i64: [-(2 ** 63), 2 ** 63],
  u8: [0, 255],
  u16: [0, 65535],
  u32: [0, 4294967295],
  u64: [0, 2 ** 64],
};

export const float32 = new DType('float32', 1, 'f32', 'float');
export const float64 = new DType('float64', 2, 'f64', 'double');
export const int32 = new DType('int32', 3, 'i32', 'int32');
export const uint8 = new DType('uint8', 4, 'u8', 'uint8');
export const int16 = new DType('int16', 5, 'i16', 'int16');
export const int8 = new DType('int8', 6, 'i8', 'int8');
export const string = new DType('string', 7, 'object', 'string');
export const complex64 = new DType('complex64', 8, 'c64', 'complex64');
export const int64 = new DType('int64', 9, 'i64', 'int64');
export const bool = new DType('bool', 10, 'u8', 'bool');
export const qint8 = new DType('qint8', 11, 'i8', 'qint8');
export const quint8 = new DType('quint8', 12, 'u8', 'quint8');
export const qint32 = new DType('qint32', 13, 'i32', 'qint32');
export const bfloat16 = new DType('bfloat16', 14, 'bf16', 'bfloat16');
export const qint16 = new DType('qint16', 15, 'i16', 'qint16');
export const quint16 = new DType('quint16', 16, 'u16', 'quint16');
export const uint16 = new DType('uint16', 17, 'u16', 'uint16');
export const complex128 = new DType('complex128', 18, 'c128', 'complex128');
export const float16 = new DType('float16', 19, 'f16', 'half');
export const resource = new DType('resource', 20, 'object', 'resource');
export const variant = new DType('variant', 21, 'object', 'variant');
export const uint32 = new DType('uint32', 22, 'u32', 'uint32');
export const uint64 = new DType('uint64', 23, 'u64', 'uint64');

export const allDtypes: readonly DType[] = [
  float32,
  float64,
  int32,
  uint8,
  int16,
  int8,
  string,
  complex64,
  int64,
  bool,
  qint8,
  quint8,
  qint32,
  bfloat16,
  qint16,
  quint16,
  uint16,
  complex128,
  float16,
  resource,
  variant,
  uint32,
  uint64,
];

const byNumber = new Map(allDtypes.map((d) => [d.number, d]));
const byName = new Map<string, DType>(allDtypes.map((d) => [d.name, d]));

/** The dtype with TensorFlow's enum value; a reference type gives its base type. */
export function dtypeFromNumber(number: number): DType | undefined {
  return byNumber.get(number > 100 ? number - 100 : number);
}

/** The dtype of that name, as in `'float32'`; also TensorFlow's `'half'`, `'float'` and `'double'`. */
export function dtypeFromName(name: string): DType | undefined {
  return byName.get(name) ?? allDtypes.find((d) => d.runtimeName === name);
}

/**
 * The dtype that a name, TensorFlow's number for it or a dtype stands for; throws when there is none.
 *
 * @example tf.asDtype('float32') // tf.float32
 */
export function asDtype(type: DType | string | number): DType {
  if (type instanceof DType) return type;
  const found = typeof type === 'number' ? dtypeFromNumber(type) : dtypeFromName(type);
  if (!found) throw new TypeError(`Cannot convert the argument ${JSON.stringify(type)} to a TensorFlow DType.`);
  return found;
}

export const half = float16;
export const double = float64;
