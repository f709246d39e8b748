/** @file Everything a device can do with single elements, by dtype. */
import type { DType } from '../../core/dtypes.ts';
import type { BinaryOp, CompareOp, TestOp, UnaryOp } from '../../program/expr.ts';
import { complexBinary, complexUnary } from './complex.ts';
import { floatBinary, floatUnary, nextafter } from './floats.ts';
import { bigBinary, bigUnary, intBinary, intUnary } from './integers.ts';
import { type Access, accessOf, type Kind, kindOf, type Pair, type Value } from './values.ts';

/** The operations on one dtype's elements. Results of `unary` and `binary` are not yet rounded to the dtype. */
export interface Arithmetic<V> extends Access<V> {
  readonly kind: Kind;
  readonly unary: Readonly<Partial<Record<UnaryOp, (x: V) => V>>>;
  readonly binary: Readonly<Partial<Record<BinaryOp, (x: V, y: V) => V>>>;
  readonly compare: Readonly<Partial<Record<CompareOp, (x: V, y: V) => boolean>>>;
  readonly test: Readonly<Partial<Record<TestOp, (x: V) => boolean>>>;
  readonly zero: V;
  readonly one: V;
  /** The least and the greatest value; infinities for floats. */
  readonly lowest: V;
  readonly highest: V;
}

const ordered = {
  eq: (x: number | bigint, y: number | bigint) => x === y,
  ne: (x: number | bigint, y: number | bigint) => x !== y,
  lt: (x: number | bigint, y: number | bigint) => x < y,
  le: (x: number | bigint, y: number | bigint) => x <= y,
  gt: (x: number | bigint, y: number | bigint) => x > y,
  ge: (x: number | bigint, y: number | bigint) => x >= y,
};

const floatTests = {
  isnan: Number.isNaN,
  isinf: (x: number) => Math.abs(x) === Number.POSITIVE_INFINITY,
  isfinite: Number.isFinite,
};

const scratch = new DataView(new ArrayBuffer(8));

/** Steps from float to float through the bits in memory, of which a type has 16, 32 or 64. */
function nextafterOf({ load, store }: Access<number>): (x: number, y: number) => number {
  const toBits = (x: number): bigint => {
    scratch.setBigUint64(0, 0n);
    store(scratch, 0, x);
    return scratch.getBigUint64(0, true);
  };
  const fromBits = (bits: bigint): number => {
    scratch.setBigUint64(0, bits, true);
    return load(scratch, 0);
  };
  return (x, y) => nextafter(x, y, toBits, fromBits);
}

/** Ops that take over bits as they are. */
const keepsBits = new Set<string>([
  ...['neg', 'abs', 'conj', 'nextafter'],
  // These give back what is tiny without looking further.
  ...['sin', 'tan', 'asin', 'atan', 'sinh', 'asinh', 'atanh'],
]);

/** Arithmetic of the cpu device takes numbers below the least normal one for zeros, read or written; so does TensorFlow's. */
function flushing<F extends Readonly<Partial<Record<string, (...given: number[]) => number | boolean>>>>(
  ops: F,
  flush: (x: number) => number,
): F {
  const flushed = Object.entries(ops).map(([name, op]) => {
    if (!op || keepsBits.has(name)) return [name, op];
    return [
      name,
      (...given: number[]) => {
        const result = op(...given.map(flush));
        return typeof result === 'number' ? flush(result) : result;
      },
    ];
  });
  return Object.fromEntries(flushed) as F; // the same names, each with a function of the same kind
}

/** `floordiv` floors the quotient after it was rounded, as the float division it is made of is. */
function floatArithmetic(access: Access<number>, { storage }: DType): Arithmetic<number> {
  // Half types are computed in float32, where theirs are normal numbers.
  const least = storage === 'f64' ? 2 ** -1022 : 2 ** -126;
  const flush = (x: number) => (x > -least && x < least ? x * 0 : x);
  return {
    ...access,
    kind: 'float',
    unary: flushing(floatUnary, flush),
    binary: flushing(
      {
        ...floatBinary,
        floordiv: (x: number, y: number) => Math.floor(access.round(x / y)),
        nextafter: nextafterOf(access),
      },
      flush,
    ),
    compare: flushing(ordered, flush),
    test: floatTests,
    zero: 0,
    one: 1,
    lowest: Number.NEGATIVE_INFINITY,
    highest: Number.POSITIVE_INFINITY,
  };
}

function intArithmetic(access: Access<number>, dtype: DType): Arithmetic<number> {
  const unsigned = dtype.storage.startsWith('u');
  return {
    ...access,
    kind: 'int',
    unary: intUnary,
    binary: intBinary(8 * dtype.size, unsigned),
    compare: ordered,
    test: {},
    zero: 0,
    one: 1,
    lowest: dtype.isBool ? 0 : dtype.min,
    highest: dtype.isBool ? 1 : dtype.max,
  };
}

function bigArithmetic(access: Access<bigint>, dtype: DType): Arithmetic<bigint> {
  const unsigned = dtype.storage === 'u64';
  return {
    ...access,
    kind: 'big',
    unary: bigUnary,
    binary: bigBinary,
    compare: ordered,
    test: {},
    zero: 0n,
    one: 1n,
    lowest: unsigned ? 0n : -(2n ** 63n),
    highest: unsigned ? 2n ** 64n - 1n : 2n ** 63n - 1n,
  };
}

function complexArithmetic(access: Access<Pair>): Arithmetic<Pair> {
  const equal = (x: Pair, y: Pair) => x[0] === y[0] && x[1] === y[1];
  return {
    ...access,
    kind: 'complex',
    unary: complexUnary,
    binary: complexBinary,
    compare: { eq: equal, ne: (x, y) => !equal(x, y) },
    test: {
      isnan: (x) => x.some(floatTests.isnan),
      isinf: (x) => x.some(floatTests.isinf),
      isfinite: (x) => x.every(floatTests.isfinite),
    },
    zero: [0, 0],
    one: [1, 0],
    lowest: [Number.NEGATIVE_INFINITY, 0],
    highest: [Number.POSITIVE_INFINITY, 0],
  };
}

const made = new Map<DType, Arithmetic<Value>>();

/**
 * The arithmetic of a dtype. Its type forgets which of the value types it works on: values of a dtype only ever meet the
 * arithmetic of that dtype, which the program's types guarantee and TypeScript's cannot follow.
 */
export function arithmeticOf(dtype: DType): Arithmetic<Value> {
  const known = made.get(dtype);
  if (known) return known;
  const arithmetic = make(dtype);
  made.set(dtype, arithmetic);
  return arithmetic;
}

function make(dtype: DType): Arithmetic<Value> {
  const access = accessOf(dtype);
  const kind = kindOf(dtype);
  // The casts restore what `kindOf` and `accessOf` have in common, and forget the value type as said above.
  if (kind === 'float') return floatArithmetic(access as Access<number>, dtype) as Arithmetic<Value>;
  if (kind === 'int') return intArithmetic(access as Access<number>, dtype) as Arithmetic<Value>;
  if (kind === 'big') return bigArithmetic(access as Access<bigint>, dtype) as Arithmetic<Value>;
  return complexArithmetic(access as Access<Pair>) as Arithmetic<Value>;
}
