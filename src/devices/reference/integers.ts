/** @file Scalar operations on integers and booleans; the caller wraps each result to its dtype. */
import type { BinaryOp, UnaryOp } from '../../program/expr.ts';
import { Stop } from './failure.ts';

function divisor<V extends number | bigint>(y: V): V {
  if (Number(y) === 0) throw new Stop('divisionByZero');
  return y;
}

function intFloormod(x: number, y: number): number {
  const rest = x % divisor(y);
  return rest !== 0 && rest < 0 !== y < 0 ? rest + y : rest;
}

/** Repeated squaring modulo 2^32, of which every narrower integer takes its low bits. */
function intPow(x: number, y: number): number {
  if (y < 0) throw new Stop('negativePower');
  let result = 1;
  for (let base = x, rest = y; rest > 0; rest = Math.floor(rest / 2), base = Math.imul(base, base))
    if (rest % 2 === 1) result = Math.imul(result, base);
  return result;
}

/** Shifts by less than 0 or by the width or more are clamped to the ends of [0, width). */
const shiftBy = (y: number, width: number) => Math.min(Math.max(y, 0), width - 1);

/** Operations on integers of at most 32 bits. */
export const intUnary: Partial<Record<UnaryOp, (x: number) => number>> = {
  neg: (x) => -x,
  abs: Math.abs,
  sign: Math.sign,
  floor: (x) => x,
  ceil: (x) => x,
  rint: (x) => x,
  reciprocal: (x) => Math.trunc(1 / divisor(x)),
  square: (x) => Math.imul(x, x),
  conj: (x) => x,
  not: (x) => (x === 0 ? 1 : 0),
  invert: (x) => ~x,
};

export function intBinary(
  width: number,
  unsigned: boolean,
): Partial<Record<BinaryOp, (x: number, y: number) => number>> {
  return {
    add: (x, y) => x + y,
    sub: (x, y) => x - y,
    mul: Math.imul,
    div: (x, y) => Math.trunc(x / divisor(y)),
    floordiv: (x, y) => Math.floor(x / divisor(y)),
    floormod: intFloormod,
    truncmod: (x, y) => x % divisor(y),
    pow: intPow,
    max: Math.max,
    min: Math.min,
    and: (x, y) => x & y,
    or: (x, y) => x | y,
    xor: (x, y) => x ^ y,
    shl: (x, y) => x << shiftBy(y, width),
    shr: unsigned ? (x, y) => x >>> shiftBy(y, width) : (x, y) => x >> shiftBy(y, width),
  };
}

const bigAbs = (x: bigint) => (x < 0n ? -x : x);

function bigFloormod(x: bigint, y: bigint): bigint {
  const rest = x % divisor(y);
  return rest !== 0n && rest < 0n !== y < 0n ? rest + y : rest;
}

function bigPow(x: bigint, y: bigint): bigint {
  if (y < 0n) throw new Stop('negativePower');
  let result = 1n;
  for (let base = x, rest = y; rest > 0n; rest >>= 1n, base = BigInt.asUintN(64, base * base))
    if (rest & 1n) result = BigInt.asUintN(64, result * base);
  return result;
}

const bigShiftBy = (y: bigint) => (y < 0n ? 0n : y > 63n ? 63n : y);

export const bigUnary: Partial<Record<UnaryOp, (x: bigint) => bigint>> = {
  neg: (x) => -x,
  abs: bigAbs,
  sign: (x) => (x > 0n ? 1n : x < 0n ? -1n : 0n),
  floor: (x) => x,
  ceil: (x) => x,
  rint: (x) => x,
  reciprocal: (x) => 1n / divisor(x),
  square: (x) => x * x,
  conj: (x) => x,
  invert: (x) => ~x,
};

export const bigBinary: Partial<Record<BinaryOp, (x: bigint, y: bigint) => bigint>> = {
  add: (x, y) => x + y,
  sub: (x, y) => x - y,
  mul: (x, y) => x * y,
  div: (x, y) => x / divisor(y),
  floordiv: (x, y) => (x - bigFloormod(x, y)) / y,
  floormod: bigFloormod,
  truncmod: (x, y) => x % divisor(y),
  pow: bigPow,
  max: (x, y) => (x > y ? x : y),
  min: (x, y) => (x < y ? x : y),
  and: (x, y) => x & y,
  or: (x, y) => x | y,
  xor: (x, y) => x ^ y,
  shl: (x, y) => x << bigShiftBy(y),
  shr: (x, y) => x >> bigShiftBy(y),
};
