/** @file How elements of each dtype look as JavaScript values: loading, storing and rounding them. */
import type { DType, Storage } from '../../core/dtypes.ts';
import { fromBfloat16Bits, fromHalfBits, toBfloat16Bits, toHalfBits } from '../../core/half.ts';
import type { Scalar } from '../../program/expr.ts';

/** A complex number. */
export type Pair = readonly [re: number, im: number];
/** One element: a number, a bigint for the 64-bit integers, a pair for complex types. Booleans are 0 and 1. */
export type Value = number | bigint | Pair;

/** How a dtype's elements are computed with: as floats, as integers in numbers, as bigints, as pairs. */
export type Kind = 'float' | 'int' | 'big' | 'complex';

type BigStorage = 'i64' | 'u64';
type ComplexStorage = 'c64' | 'c128';
type NumberStorage = Exclude<Storage, BigStorage | ComplexStorage>;

/** Reading, writing and rounding elements of one dtype. Positions are in bytes; memory is little-endian. */
export interface Access<V> {
  readonly load: (data: DataView, at: number) => V;
  readonly store: (data: DataView, at: number, x: V) => void;
  /** The value of the dtype nearest to `x` for floats, congruent to it for integers. */
  readonly round: (x: V) => V;
}

const half = (x: number) => fromHalfBits(toHalfBits(Math.fround(x)));
const brain = (x: number) => fromBfloat16Bits(toBfloat16Bits(x));

const numbers: Record<NumberStorage, Access<number>> = {
  f16: {
    load: (data, at) => fromHalfBits(data.getUint16(at, true)),
    store: (data, at, x) => data.setUint16(at, toHalfBits(x), true),
    round: half,
  },
  bf16: {
    load: (data, at) => fromBfloat16Bits(data.getUint16(at, true)),
    store: (data, at, x) => data.setUint16(at, toBfloat16Bits(x), true),
    round: brain,
  },
  f32: {
    load: (data, at) => data.getFloat32(at, true),
    store: (data, at, x) => data.setFloat32(at, x, true),
    round: Math.fround,
  },
  f64: {
    load: (data, at) => data.getFloat64(at, true),
    store: (data, at, x) => data.setFloat64(at, x, true),
    round: (x) => x,
  },
  i8: {
    load: (data, at) => data.getInt8(at),
    store: (data, at, x) => data.setInt8(at, x),
    round: (x) => (x << 24) >> 24,
  },
  i16: {
    load: (data, at) => data.getInt16(at, true),
    store: (data, at, x) => data.setInt16(at, x, true),
    round: (x) => (x << 16) >> 16,
  },
  i32: {
    load: (data, at) => data.getInt32(at, true),
    store: (data, at, x) => data.setInt32(at, x, true),
    round: (x) => x | 0,
  },
  u8: {
    load: (data, at) => data.getUint8(at),
    store: (data, at, x) => data.setUint8(at, x),
    round: (x) => x & 0xff,
  },
  u16: {
    load: (data, at) => data.getUint16(at, true),
    store: (data, at, x) => data.setUint16(at, x, true),
    round: (x) => x & 0xffff,
  },
  u32: {
    load: (data, at) => data.getUint32(at, true),
    store: (data, at, x) => data.setUint32(at, x, true),
    round: (x) => x >>> 0,
  },
  object: {
    load: (data, at) => data.getInt32(at, true),
    store: (data, at, x) => data.setInt32(at, x, true),
    round: (x) => x | 0,
  },
};

const bools: Access<number> = {
  load: (data, at) => (data.getUint8(at) === 0 ? 0 : 1),
  store: (data, at, x) => data.setUint8(at, x),
  round: (x) => (x === 0 ? 0 : 1),
};

const bigs: Record<BigStorage, Access<bigint>> = {
  i64: {
    load: (data, at) => data.getBigInt64(at, true),
    store: (data, at, x) => data.setBigInt64(at, x, true),
    round: (x) => BigInt.asIntN(64, x),
  },
  u64: {
    load: (data, at) => data.getBigUint64(at, true),
    store: (data, at, x) => data.setBigUint64(at, x, true),
    round: (x) => BigInt.asUintN(64, x),
  },
};

const pairs: Record<ComplexStorage, Access<Pair>> = {
  c64: {
    load: (data, at) => [data.getFloat32(at, true), data.getFloat32(at + 4, true)],
    store: (data, at, x) => {
      data.setFloat32(at, x[0], true);
      data.setFloat32(at + 4, x[1], true);
    },
    round: (x) => [Math.fround(x[0]), Math.fround(x[1])],
  },
  c128: {
    load: (data, at) => [data.getFloat64(at, true), data.getFloat64(at + 8, true)],
    store: (data, at, x) => {
      data.setFloat64(at, x[0], true);
      data.setFloat64(at + 8, x[1], true);
    },
    round: (x) => x,
  },
};

export function kindOf(dtype: DType): Kind {
  switch (dtype.storage) {
    case 'f16':
    case 'bf16':
    case 'f32':
    case 'f64':
      return 'float';
    case 'i64':
    case 'u64':
      return 'big';
    case 'c64':
    case 'c128':
      return 'complex';
    default:
      return 'int';
  }
}

export function accessOf(dtype: DType): Access<number> | Access<bigint> | Access<Pair> {
  switch (dtype.storage) {
    case 'i64':
    case 'u64':
      return bigs[dtype.storage];
    case 'c64':
    case 'c128':
      return pairs[dtype.storage];
    default:
      return dtype.isBool ? bools : numbers[dtype.storage];
  }
}

/** A constant of an expression as a value of the dtype. */
export function constantValue(scalar: Scalar, dtype: DType): Value {
  switch (dtype.storage) {
    case 'i64':
    case 'u64':
      return bigs[dtype.storage].round(BigInt(typeof scalar === 'object' ? scalar[0] : scalar));
    case 'c64':
    case 'c128':
      return pairs[dtype.storage].round(typeof scalar === 'object' ? scalar : [Number(scalar), 0]);
    default: {
      const access = dtype.isBool ? bools : numbers[dtype.storage];
      return access.round(Number(typeof scalar === 'object' ? scalar[0] : scalar));
    }
  }
}
