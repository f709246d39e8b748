/** @file Conversions between dtypes, as C casts on x86 do them. */
import type { DType } from '../../core/dtypes.ts';
import { accessOf, kindOf, type Pair, type Value } from './values.ts';

const smallestInt64 = -(2n ** 63n);

/** What `cvttsd2si` gives: truncation, and the smallest integer for whatever does not fit. */
const toInt32 = (x: number): number => (x > -2147483649 && x < 2147483648 ? Math.trunc(x) : -2147483648);
const toInt64 = (x: number): bigint => (x >= -(2 ** 63) && x < 2 ** 63 ? BigInt(Math.trunc(x)) : smallestInt64);

/** Negative numbers wrap; what does not fit has the bits of the smallest int64. */
const toUint64 = (x: number): bigint => (x >= 2 ** 63 && x < 2 ** 64 ? BigInt(x) : BigInt.asUintN(64, toInt64(x)));

/** The number with at most 53 bits that rounds to every shorter float as the integer itself does. */
function toOddNumber(x: bigint): number {
  const size = x < 0n ? -x : x;
  if (size < 2n ** 53n) return Number(x);
  // Rounding to odd: a last bit that says "and something more" makes the next rounding see no false tie.
  const kept = (size >> 11n) | (size & 0x7ffn ? 1n : 0n);
  return Number(kept) * (x < 0n ? -2048 : 2048);
}

function fromNumber(to: DType, isFloat: boolean): (x: number) => Value {
  switch (to.storage) {
    case 'i64':
      return isFloat ? toInt64 : (x) => BigInt(x);
    case 'u64':
      return isFloat ? toUint64 : (x) => BigInt.asUintN(64, BigInt(x));
    case 'u32':
      return isFloat ? (x) => Number(BigInt.asUintN(32, toInt64(x))) : (x) => x >>> 0;
    case 'c64':
      return (x) => [Math.fround(x), 0];
    case 'c128':
      return (x) => [x, 0];
    default: {
      const { round } = accessOf(to) as { round: (x: number) => number }; // every storage left is computed with numbers
      return isFloat && kindOf(to) === 'int' && !to.isBool ? (x) => round(toInt32(x)) : round;
    }
  }
}

function fromBig(to: DType): (x: bigint) => Value {
  switch (to.storage) {
    case 'i64':
      return (x) => BigInt.asIntN(64, x);
    case 'u64':
      return (x) => BigInt.asUintN(64, x);
    case 'f64':
      return (x) => Number(x);
    case 'c128':
      return (x) => [Number(x), 0];
    default: {
      if (to.isBool) return (x) => (x === 0n ? 0 : 1);
      const convert = fromNumber(to, false);
      return kindOf(to) === 'int' ? (x) => convert(Number(BigInt.asIntN(32, x))) : (x) => convert(toOddNumber(x));
    }
  }
}

function fromPair(from: DType, to: DType): (x: Pair) => Value {
  if (to.isComplex) return (accessOf(to) as { round: (x: Pair) => Pair }).round; // a complex dtype's values are pairs
  if (to.isBool) return (x) => (x[0] !== 0 || x[1] !== 0 ? 1 : 0);
  const convert = fromNumber(to, from.isComplex);
  return (x) => convert(x[0]);
}

/** The conversion of values of one dtype to another. */
export function castOf(from: DType, to: DType): (x: Value) => Value {
  const kind = kindOf(from);
  // Each function takes the value type of `from`'s kind, which is all it will be given.
  if (kind === 'complex') return fromPair(from, to) as (x: Value) => Value;
  if (kind === 'big') return fromBig(to) as (x: Value) => Value;
  return fromNumber(to, kind === 'float') as (x: Value) => Value;
}
