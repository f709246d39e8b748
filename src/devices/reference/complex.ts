/** @file Scalar operations on complex numbers as pairs; the caller rounds each result to its dtype. */
import type { BinaryOp, UnaryOp } from '../../program/expr.ts';
import type { Pair } from './values.ts';

const one: Pair = [1, 0];

const add = (x: Pair, y: Pair): Pair => [x[0] + y[0], x[1] + y[1]];
const sub = (x: Pair, y: Pair): Pair => [x[0] - y[0], x[1] - y[1]];
const mul = (x: Pair, y: Pair): Pair => [x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]];
const scale = (x: Pair, by: number): Pair => [x[0] * by, x[1] * by];
const neg = (x: Pair): Pair => [-x[0], -x[1]];
/** i·x and -i·x, which turn the circular functions into the hyperbolic ones. */
const timesI = (x: Pair): Pair => [-x[1], x[0]];
const overI = (x: Pair): Pair => [x[1], -x[0]];

/** Smith's division: dividing by the larger part first keeps the squares from overflowing. */
function div(x: Pair, y: Pair): Pair {
  if (Math.abs(y[0]) >= Math.abs(y[1])) {
    const ratio = y[1] / y[0];
    const scaled = y[0] + y[1] * ratio;
    return y[1] === 0 ? [x[0] / y[0], x[1] / y[0]] : [(x[0] + x[1] * ratio) / scaled, (x[1] - x[0] * ratio) / scaled];
  }
  const ratio = y[0] / y[1];
  const scaled = y[0] * ratio + y[1];
  return [(x[0] * ratio + x[1]) / scaled, (x[1] * ratio - x[0]) / scaled];
}

export const magnitude = (x: Pair): number => Math.hypot(x[0], x[1]);
export const angle = (x: Pair): number => Math.atan2(x[1], x[0]);

function exp(x: Pair): Pair {
  const size = Math.exp(x[0]);
  return x[1] === 0 ? [size, x[1]] : [size * Math.cos(x[1]), size * Math.sin(x[1])];
}
const log = (x: Pair): Pair => [Math.log(magnitude(x)), angle(x)];

function log1p(x: Pair): Pair {
  // log |1 + x| = log1p(2 re + |x|²) / 2 keeps small arguments exact; large ones would overflow the square.
  const size = magnitude(x);
  return [size < 0.5 ? Math.log1p(2 * x[0] + size * size) / 2 : log(add(one, x))[0], Math.atan2(x[1], 1 + x[0])];
}

function expm1(x: Pair): Pair {
  // e^a cos b - 1 = expm1(a) cos b - 2 sin²(b/2), without cancellation.
  const s = Math.sin(x[1] / 2);
  return [Math.expm1(x[0]) * Math.cos(x[1]) - 2 * s * s, Math.exp(x[0]) * Math.sin(x[1])];
}

function sqrt(x: Pair): Pair {
  const size = magnitude(x);
  if (size === 0) return [0, x[1]];
  const root = Math.sqrt((size + Math.abs(x[0])) / 2);
  const other = Math.abs(x[1]) / (2 * root);
  const sign = x[1] < 0 || Object.is(x[1], -0) ? -1 : 1;
  return x[0] >= 0 ? [root, sign * other] : [other, sign * root];
}

const sinh = (x: Pair): Pair => [Math.sinh(x[0]) * Math.cos(x[1]), Math.cosh(x[0]) * Math.sin(x[1])];
const cosh = (x: Pair): Pair => [Math.cosh(x[0]) * Math.cos(x[1]), Math.sinh(x[0]) * Math.sin(x[1])];

function tanh(x: Pair): Pair {
  // Beyond 20 the hyperbolic functions of the real part are equal to within rounding, and their squares may overflow.
  if (Math.abs(x[0]) > 20)
    return [Math.sign(x[0]), 4 * Math.sin(x[1]) * Math.cos(x[1]) * Math.exp(-2 * Math.abs(x[0]))];
  const bottom = Math.sinh(x[0]) ** 2 + Math.cos(x[1]) ** 2;
  return [(Math.sinh(x[0]) * Math.cosh(x[0])) / bottom, (Math.sin(x[1]) * Math.cos(x[1])) / bottom];
}

/** Kahan's formulas: products of square roots put the branch cuts where C99 has them. */
function acosh(x: Pair): Pair {
  const below = sqrt(sub(x, one));
  const above = sqrt(add(x, one));
  return [Math.asinh(below[0] * above[0] + below[1] * above[1]), 2 * Math.atan2(below[1], above[0])];
}
function asinh(x: Pair): Pair {
  const turned = timesI(x);
  const a = sqrt(sub(one, turned));
  const b = sqrt(add(one, turned));
  return [Math.asinh(a[0] * b[1] - a[1] * b[0]), Math.atan2(x[1], a[0] * b[0] - a[1] * b[1])];
}
function atanh(x: Pair): Pair {
  return scale(sub(log1p(x), log1p(neg(x))), 0.5);
}
function acos(x: Pair): Pair {
  const a = sqrt(sub(one, x));
  const b = sqrt(add(one, x));
  return [2 * Math.atan2(a[0], b[0]), Math.asinh(b[0] * a[1] - b[1] * a[0])];
}

function pow(x: Pair, y: Pair): Pair {
  // log 0 is infinite: only a positive power of zero has a value, as in C.
  if (x[0] === 0 && x[1] === 0) return y[0] > 0 ? [0, 0] : [Number.NaN, Number.NaN];
  return exp(mul(y, log(x)));
}

function sign(x: Pair): Pair {
  const size = magnitude(x);
  return size === 0 ? [0, 0] : [x[0] / size, x[1] / size];
}

export const complexUnary: Partial<Record<UnaryOp, (x: Pair) => Pair>> = {
  neg,
  sign,
  exp,
  expm1,
  log,
  log1p,
  sqrt,
  rsqrt: (x) => div(one, sqrt(x)),
  reciprocal: (x) => div(one, x),
  square: (x) => mul(x, x),
  sin: (x) => overI(sinh(timesI(x))),
  cos: (x) => cosh(timesI(x)),
  tan: (x) => overI(tanh(timesI(x))),
  asin: (x) => overI(asinh(timesI(x))),
  acos,
  atan: (x) => overI(atanh(timesI(x))),
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  sigmoid: (x) => div(one, add(one, exp(neg(x)))),
  conj: (x) => [x[0], -x[1]],
};

export const complexBinary: Partial<Record<BinaryOp, (x: Pair, y: Pair) => Pair>> = { add, sub, mul, div, pow };
