/** @file Random expressions whose values two right devices agree on up to rounding. */
import * as d from '../../../src/core/dtypes.ts';
import * as e from '../../../src/program/expr.ts';
import type { Chance } from './chance.ts';

export const fuzzDtypes: readonly d.DType[] = [
  d.float32, d.float32, d.float32, d.float64, d.float16, d.bfloat16, d.int32, d.int32, d.int64, d.int8, d.int16,
  d.uint8, d.uint16, d.uint32, d.uint64, d.bool, d.complex64, d.complex128,
]; // biome-ignore format: float32 and int32 come up more often

/**
 * Makes expressions over inputs of given dtypes. Float values stay in about [-1, 1] and every function used there has a
 * derivative of about 1 at most, so that differences of rounding cannot grow. What jumps (comparisons, casts to
 * integers) is applied only to exact values: inputs and integers.
 */
export class ExpressionMaker {
  readonly #made: e.Expr[] = [];
  constructor(
    private readonly chance: Chance,
    private readonly inputs: readonly d.DType[],
    private readonly rank: number,
  ) {}

  make(dtype: d.DType, depth = this.chance.integer(1, 5)): e.Expr {
    const { chance } = this;
    const shared = this.#made.filter((x) => x.dtype === dtype);
    if (shared.length > 0 && chance.happens(0.15)) return chance.pick(shared);
    const expr = depth <= 0 ? this.leaf(dtype) : this.#node(dtype, depth);
    this.#made.push(expr);
    return expr;
  }

  /** An exact value: an input of the dtype, cast from another one, a constant, a position. */
  leaf(dtype: d.DType): e.Expr {
    const { chance } = this;
    const same = this.inputs.flatMap((own, i) => (own === dtype ? [e.input(i, dtype)] : []));
    if (same.length > 0 && chance.happens(0.8)) return chance.pick(same);
    const other = chance.integer(0, this.inputs.length - 1);
    const otherDtype = this.inputs[other];
    // Integers do not stay in [-1, 1] as floats, and floats beyond an integer type's range are the casts' own tests.
    const fits = otherDtype && (dtype.isBool || otherDtype.isBool || isFloat(otherDtype) === isFloat(dtype));
    if (fits && chance.happens(0.6)) return e.cast(e.input(other, otherDtype), dtype);
    if (this.rank > 0 && dtype.isInteger && chance.happens(0.5))
      return e.cast(e.index(chance.integer(0, this.rank - 1)), dtype);
    if (dtype.isBool || dtype.isInteger) return e.constant(chance.integer(0, dtype.isBool ? 1 : 9), dtype);
    return e.constant(Math.round(chance.fraction() * 16) / 16, dtype);
  }

  #node(dtype: d.DType, depth: number): e.Expr {
    if (this.chance.happens(0.1))
      return e.select(this.make(d.bool, depth - 1), this.make(dtype, depth - 1), this.make(dtype, depth - 1));
    if (dtype.isBool) return this.#bool(depth);
    if (dtype.isComplex) return this.#complex(dtype, depth);
    return dtype.isFloating ? this.#float(dtype, depth) : this.#integer(dtype, depth);
  }

  #bool(depth: number): e.Expr {
    const { chance } = this;
    const x = this.make(d.bool, depth - 1);
    switch (chance.integer(0, 4)) {
      case 0:
        return e.not(x);
      case 1:
        return e.and(x, this.make(d.bool, depth - 1));
      case 2:
        return chance.pick([e.or, e.xor])(x, this.make(d.bool, depth - 1));
      default: {
        const dtype = chance.pick(fuzzDtypes.filter((t) => !t.isComplex));
        return chance.pick([e.lt, e.le, e.gt, e.ge, e.eq, e.ne])(this.leaf(dtype), this.leaf(dtype));
      }
    }
  }

  #float(dtype: d.DType, depth: number): e.Expr {
    const { chance } = this;
    const x = this.make(dtype, depth - 1);
    const y = () => this.make(dtype, depth - 1);
    switch (chance.integer(0, 9)) {
      case 0:
        return e.mul(chance.pick([e.add, e.sub])(x, y()), 0.5);
      case 1:
        return e.mul(x, y());
      case 2:
        return e.div(x, e.add(e.abs(y()), 1));
      case 3:
        return chance.pick([e.max, e.min])(x, y());
      case 4:
        return e.mul(e.exp(x), 0.25);
      case 5:
        return e.log1p(e.abs(x));
      case 6:
        return e.sub(e.sqrt(e.add(e.abs(x), 0.25)), 0.5);
      case 7:
        return chance.pick([e.floor, e.ceil, e.rint, e.sign, e.square])(this.leaf(dtype));
      case 8:
        return e.mul(chance.pick([e.expm1, e.sinh, e.cosh, e.tan, e.erf, e.asinh])(x), 0.25);
      default:
        return chance.pick([e.neg, e.abs, e.tanh, e.sigmoid, e.sin, e.cos, e.atan])(x);
    }
  }

  #integer(dtype: d.DType, depth: number): e.Expr {
    const { chance } = this;
    const x = this.make(dtype, depth - 1);
    const y = () => this.make(dtype, depth - 1);
    switch (chance.integer(0, 5)) {
      case 0:
        return chance.pick([e.add, e.sub, e.mul])(x, y());
      case 1:
        return chance.pick([e.max, e.min])(x, y());
      case 2:
        return chance.pick([e.and, e.or, e.xor])(x, y());
      case 3:
        return chance.pick([e.div, e.floordiv, e.floormod, e.truncmod])(x, chance.integer(1, 9));
      case 4:
        return chance.pick([e.shl, e.shr])(x, chance.integer(0, 9));
      default:
        return chance.pick(
          dtype.isUnsigned ? [e.sign, e.square, e.invert] : [e.neg, e.abs, e.sign, e.square, e.invert],
        )(x);
    }
  }

  #complex(dtype: d.DType, depth: number): e.Expr {
    const { chance } = this;
    const x = this.make(dtype, depth - 1);
    switch (chance.integer(0, 4)) {
      case 0:
        return e.mul(chance.pick([e.add, e.sub])(x, this.make(dtype, depth - 1)), 0.5);
      case 1:
        return e.mul(e.mul(x, this.make(dtype, depth - 1)), 0.5);
      case 2:
        return e.mul(chance.pick([e.exp, e.sin, e.cos])(x), 0.25);
      case 3:
        return e.complex(this.leaf(dtype.realDtype), this.make(dtype.realDtype, depth - 1), dtype);
      default:
        return chance.pick([e.neg, e.conj])(x);
    }
  }
}

const isFloat = (dtype: d.DType) => dtype.isFloating || dtype.isComplex;
