/** @file Scalar operations on floats, in float64; the caller rounds each result to its dtype. */
import type { BinaryOp, UnaryOp } from '../../program/expr.ts';
import { digamma, erf, erfc, erfinv, igamma, igammac, lgamma, ndtri, polygamma, zeta } from './special.ts';

/** Rounds half to even, keeping the sign of zero. */
function rint(x: number): number {
  const up = Math.round(x);
  return up - x === 0.5 && up % 2 !== 0 ? up - 1 : up;
}

/** C's pow: unlike JavaScript's, 1 to any power and (-1) to an infinite one are 1. */
function pow(x: number, y: number): number {
  if (x === 1 || (x === -1 && Math.abs(y) === Number.POSITIVE_INFINITY)) return 1;
  return x ** y;
}

/** The remainder with the divisor's sign. */
function floormod(x: number, y: number): number {
  const rest = x % y;
  return rest !== 0 && rest < 0 !== y < 0 ? rest + y : rest;
}

export const floatUnary: Partial<Record<UnaryOp, (x: number) => number>> = {
  neg: (x) => -x,
  abs: Math.abs,
  sign: (x) => (x === 0 ? 0 : Math.sign(x)),
  floor: Math.floor,
  ceil: Math.ceil,
  rint,
  exp: Math.exp,
  expm1: Math.expm1,
  log: Math.log,
  log1p: Math.log1p,
  sqrt: Math.sqrt,
  rsqrt: (x) => 1 / Math.sqrt(x),
  reciprocal: (x) => 1 / x,
  square: (x) => x * x,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  asin: Math.asin,
  acos: Math.acos,
  atan: Math.atan,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  asinh: Math.asinh,
  acosh: Math.acosh,
  atanh: Math.atanh,
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  erf,
  erfc,
  erfinv,
  ndtri,
  lgamma,
  digamma,
  conj: (x) => x,
};

export const floatBinary: Partial<Record<BinaryOp, (x: number, y: number) => number>> = {
  add: (x, y) => x + y,
  sub: (x, y) => x - y,
  mul: (x, y) => x * y,
  div: (x, y) => x / y,
  floormod,
  truncmod: (x, y) => x % y,
  pow,
  // NaN wins over everything; among equals, such as zeros of different sign, the second.
  max: (x, y) => (Number.isNaN(x) || x > y ? x : y),
  min: (x, y) => (Number.isNaN(x) || x < y ? x : y),
  atan2: Math.atan2,
  igamma,
  igammac,
  zeta,
  polygamma,
};

/** The float next to `x` in the direction of `y`, for a type whose bits are read and written by these two. */
export function nextafter(
  x: number,
  y: number,
  toBits: (x: number) => bigint,
  fromBits: (bits: bigint) => number,
): number {
  if (Number.isNaN(x) || Number.isNaN(y)) return Number.NaN;
  if (x === y) return y;
  if (x === 0) return y > 0 ? fromBits(1n) : -fromBits(1n);
  // Floats of one sign are ordered as their bits are.
  return fromBits(toBits(x) + (x < y === x > 0 ? 1n : -1n));
}
