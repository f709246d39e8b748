/** @file The elementwise functions as methods of tensors; those that stand for Python's operators carry their names. */

import type { bool, DType } from '../../core/dtypes.ts';
import type { Dims } from '../../core/shape.ts';
import type { Broadcasted, BroadcastsWith, Typed } from '../../graph/staticShapes.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { cast } from './cast.ts';
import { clipByValue } from './clip.ts';
import { equal, greater, greaterEqual, less, lessEqual, notEqual } from './compare.ts';
import { angle, conj, imag, real } from './complex.ts';
import { divide, divNoNan, realdiv, truediv, truncatediv } from './divide.ts';
import { erf, erfc } from './erf.ts';
import { exp, expm1, log, log1p } from './exp.ts';
import { digamma, igamma, igammac, lgamma, polygamma, zeta } from './gamma.ts';
import { acosh, asinh, atanh, cosh, sinh } from './hyperbolic.ts';
import { isFinite as finite, isInf, isNan } from './isNan.ts';
import { bothOf, eitherOf, logicalNot, oneOf } from './logical.ts';
import { maximum, minimum } from './maximum.ts';
import { floormod, truncatemod } from './mod.ts';
import { multiply } from './multiply.ts';
import { abs, negative, sign } from './neg.ts';
import { floorOver, minus, modulo, over, plus, times, toThe } from './operators.ts';
import { ceil, floor, rint, round } from './round.ts';
import { logSigmoid, sigmoid, tanh } from './sigmoid.ts';
import { reciprocal, rsqrt, sqrt, square } from './sqrt.ts';
import { squaredDifference, subtract } from './subtract.ts';
import { acos, asin, atan, atan2, cos, sin, tan } from './trig.ts';
import { xdivy, xlogy } from './xlogy.ts';
import { onesLike, zerosLike } from './zerosLike.ts';

type Binary = <T extends Typed, Y extends TensorLike>(
  this: T,
  y: BroadcastsWith<T, Y>,
) => Tensor<T['dtype'], Broadcasted<T, Y>>;
type Quotient = <T extends Typed, Y extends TensorLike>(
  this: T,
  y: BroadcastsWith<T, Y>,
) => Tensor<DType, Broadcasted<T, Y>>;

declare module '../../graph/tensor.ts' {
  interface Tensor<out D extends DType = DType, out S extends Dims = Dims> {
    /** `x + y`; adds an `AddV2` node named `add`, or `Add` for strings. */
    add<T extends Typed, B extends TensorLike>(this: T, y: BroadcastsWith<T, B>): Tensor<T['dtype'], Broadcasted<T, B>>;
    /** `x - y`; adds a `Sub` node named `sub`. */
    sub<T extends Typed, B extends TensorLike>(this: T, y: BroadcastsWith<T, B>): Tensor<T['dtype'], Broadcasted<T, B>>;
    /** `x · y`; adds a `Mul` node named `mul`. */
    mul<T extends Typed, B extends TensorLike>(this: T, y: BroadcastsWith<T, B>): Tensor<T['dtype'], Broadcasted<T, B>>;
    /** `x / y` as a fraction; adds a `RealDiv` node named `truediv`, after casts for integers. */
    div<T extends Typed, B extends TensorLike>(this: T, y: BroadcastsWith<T, B>): Tensor<DType, Broadcasted<T, B>>;
    /** `floor(x / y)`; adds a `FloorDiv` node named `floordiv`. */
    floordiv<T extends Typed, B extends TensorLike>(
      this: T,
      y: BroadcastsWith<T, B>,
    ): Tensor<T['dtype'], Broadcasted<T, B>>;
    /** The remainder with the sign of `y`; adds a `FloorMod` node named `mod`. */
    mod<T extends Typed, B extends TensorLike>(this: T, y: BroadcastsWith<T, B>): Tensor<T['dtype'], Broadcasted<T, B>>;
    /** `x` to the power of `y`; adds a `Pow` node named `pow`. */
    pow<T extends Typed, B extends TensorLike>(this: T, y: BroadcastsWith<T, B>): Tensor<T['dtype'], Broadcasted<T, B>>;
    /** `x & y` of bools; adds a `LogicalAnd` node named `and`. */
    logicalAnd<T extends Typed, B extends TensorLike>(
      this: T,
      y: BroadcastsWith<T, B>,
    ): Tensor<typeof bool, Broadcasted<T, B>>;
    /** `x | y` of bools; adds a `LogicalOr` node named `or`. */
    logicalOr<T extends Typed, B extends TensorLike>(
      this: T,
      y: BroadcastsWith<T, B>,
    ): Tensor<typeof bool, Broadcasted<T, B>>;
    /** `x ^ y` of bools; adds nodes under `xor`. */
    logicalXor<T extends Typed, B extends TensorLike>(
      this: T,
      y: BroadcastsWith<T, B>,
    ): Tensor<typeof bool, Broadcasted<T, B>>;
    logicalNot(): Tensor<typeof bool, S>;
    equal<T extends Typed, B extends TensorLike>(
      this: T,
      y: BroadcastsWith<T, B>,
    ): Tensor<typeof bool, Broadcasted<T, B>>;
    notEqual<T extends Typed, B extends TensorLike>(
      this: T,
      y: BroadcastsWith<T, B>,
    ): Tensor<typeof bool, Broadcasted<T, B>>;
    less<T extends Typed, B extends TensorLike>(
      this: T,
      y: BroadcastsWith<T, B>,
    ): Tensor<typeof bool, Broadcasted<T, B>>;
    lessEqual<T extends Typed, B extends TensorLike>(
      this: T,
      y: BroadcastsWith<T, B>,
    ): Tensor<typeof bool, Broadcasted<T, B>>;
    greater<T extends Typed, B extends TensorLike>(
      this: T,
      y: BroadcastsWith<T, B>,
    ): Tensor<typeof bool, Broadcasted<T, B>>;
    greaterEqual<T extends Typed, B extends TensorLike>(
      this: T,
      y: BroadcastsWith<T, B>,
    ): Tensor<typeof bool, Broadcasted<T, B>>;
    maximum<T extends Typed, B extends TensorLike>(
      this: T,
      y: BroadcastsWith<T, B>,
    ): Tensor<T['dtype'], Broadcasted<T, B>>;
    minimum<T extends Typed, B extends TensorLike>(
      this: T,
      y: BroadcastsWith<T, B>,
    ): Tensor<T['dtype'], Broadcasted<T, B>>;
    squaredDifference<T extends Typed, B extends TensorLike>(
      this: T,
      y: BroadcastsWith<T, B>,
    ): Tensor<T['dtype'], Broadcasted<T, B>>;
    /** As `tf.divide`. */
    divide: Quotient;
    /** As `tf.truediv`. */
    truediv: Quotient;
    /** As `tf.subtract`. */
    subtract: Binary;
    /** As `tf.multiply`. */
    multiply: Binary;
    /** As `tf.floormod`. */
    floormod: Binary;
    /** As `tf.realdiv`. */
    realdiv: Binary;
    /** As `tf.truncatediv`. */
    truncatediv: Binary;
    /** As `tf.truncatemod`. */
    truncatemod: Binary;
    /** As `tf.divNoNan`. */
    divNoNan: Binary;
    /** As `tf.xlogy`. */
    xlogy: Binary;
    /** As `tf.xdivy`. */
    xdivy: Binary;
    /** As `tf.atan2`. */
    atan2: Binary;
    /** As `tf.igamma`. */
    igamma: Binary;
    /** As `tf.igammac`. */
    igammac: Binary;
    /** As `tf.zeta`. */
    zeta: Binary;
    /** As `tf.polygamma`. */
    polygamma: Binary;
    clipByValue(min: TensorLike, max: TensorLike): Tensor<D, S>;
    /** The same values as another type; adds a `Cast` node, or none when the type is right already. */
    cast<T extends DType>(dtype: T): Tensor<T, S>;
    neg(): Tensor<D, S>;
    negative(): Tensor<D, S>;
    digamma(): Tensor<D, S>;
    lgamma(): Tensor<D, S>;
    rint(): Tensor<D, S>;
    /** The argument of complex numbers. */
    angle(): Tensor<DType, S>;
    /** The absolute value, or the magnitude of complex numbers. */
    abs(): Tensor<DType, S>;
    sign(): Tensor<D, S>;
    square(): Tensor<D, S>;
    sqrt(): Tensor<D, S>;
    rsqrt(): Tensor<D, S>;
    reciprocal(): Tensor<D, S>;
    exp(): Tensor<D, S>;
    expm1(): Tensor<D, S>;
    log(): Tensor<D, S>;
    log1p(): Tensor<D, S>;
    sin(): Tensor<D, S>;
    cos(): Tensor<D, S>;
    tan(): Tensor<D, S>;
    asin(): Tensor<D, S>;
    acos(): Tensor<D, S>;
    atan(): Tensor<D, S>;
    sinh(): Tensor<D, S>;
    cosh(): Tensor<D, S>;
    tanh(): Tensor<D, S>;
    asinh(): Tensor<D, S>;
    acosh(): Tensor<D, S>;
    atanh(): Tensor<D, S>;
    sigmoid(): Tensor<D, S>;
    logSigmoid(): Tensor<D, S>;
    erf(): Tensor<D, S>;
    erfc(): Tensor<D, S>;
    floor(): Tensor<D, S>;
    ceil(): Tensor<D, S>;
    round(): Tensor<D, S>;
    isNan(): Tensor<typeof bool, S>;
    isInf(): Tensor<typeof bool, S>;
    isFinite(): Tensor<typeof bool, S>;
    real(): Tensor<DType, S>;
    imag(): Tensor<DType, S>;
    conj(): Tensor<D, S>;
    zerosLike(): Tensor<D, S>;
    onesLike(): Tensor<D, S>;
  }
}

const binary: Readonly<Record<string, (x: Tensor, y: TensorLike) => Tensor>> = {
  add: plus,
  sub: minus,
  mul: times,
  div: over,
  floordiv: floorOver,
  mod: modulo,
  pow: toThe,
  logicalAnd: bothOf,
  logicalOr: eitherOf,
  logicalXor: oneOf,
  equal,
  notEqual,
  less,
  lessEqual,
  greater,
  greaterEqual,
  maximum,
  minimum,
  squaredDifference,
  divide,
  truediv,
  subtract,
  multiply,
  floormod,
  realdiv,
  truncatediv,
  truncatemod,
  divNoNan,
  xlogy,
  xdivy,
  atan2,
  igamma,
  igammac,
  zeta,
  polygamma,
};

const unary: Readonly<Record<string, (x: Tensor) => Tensor>> = {
  neg: negative,
  negative,
  digamma,
  lgamma,
  rint,
  angle,
  abs,
  sign,
  square,
  sqrt,
  rsqrt,
  reciprocal,
  exp,
  expm1,
  log,
  log1p,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  sigmoid,
  logSigmoid,
  erf,
  erfc,
  floor,
  ceil,
  round,
  isNan,
  isInf,
  isFinite: finite,
  logicalNot,
  real,
  imag,
  conj,
  zerosLike,
  onesLike,
};

for (const [name, of] of Object.entries(binary))
  define(name, function (this: Tensor, y: TensorLike) {
    return of(this, y);
  });
for (const [name, of] of Object.entries(unary))
  define(name, function (this: Tensor) {
    return of(this);
  });
define('cast', function (this: Tensor, dtype: DType) {
  return cast(this, dtype);
});
define('clipByValue', function (this: Tensor, min: TensorLike, max: TensorLike) {
  return clipByValue(this, min, max);
});

/** Methods do not show up when the properties of a tensor are listed, as those of a class do not. */
export function define(name: string, value: (this: Tensor, ...args: never[]) => Tensor): void {
  Object.defineProperty(Tensor.prototype, name, { value, writable: true, configurable: true });
}
