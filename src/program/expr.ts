/** @file The scalar language inside `map` and `reduce`: typed expressions over the elements of the inputs. */
import { bool, type DType, float32, float64, int64 } from '../core/dtypes.ts';

/** Same type in and out. */
export const unaryOps = [
  'neg', 'abs', 'sign', 'floor', 'ceil', 'rint', 'exp', 'expm1', 'log', 'log1p', 'sqrt', 'rsqrt', 'reciprocal', 'square',
  'sin', 'cos', 'tan', 'asin', 'acos', 'atan', 'sinh', 'cosh', 'tanh', 'asinh', 'acosh', 'atanh', 'sigmoid',
  'erf', 'erfc', 'erfinv', 'ndtri', 'lgamma', 'digamma', 'conj', 'not', 'invert',
] as const; // biome-ignore format: a table reads better in rows

/** Same type for both operands and the result. `and`/`or`/`xor` are bitwise on integers, logical on bool. */
export const binaryOps = [
  'add', 'sub', 'mul', 'div', 'floordiv', 'floormod', 'truncmod', 'pow', 'max', 'min', 'atan2', 'and', 'or', 'xor',
  'shl', 'shr', 'igamma', 'igammac', 'zeta', 'polygamma', 'nextafter',
] as const; // biome-ignore format: a table reads better in rows

export const compareOps = ['eq', 'ne', 'lt', 'le', 'gt', 'ge'] as const;
export const testOps = ['isnan', 'isinf', 'isfinite'] as const;
/** Complex to its real type. */
export const partOps = ['real', 'imag', 'arg', 'cabs'] as const;

export type UnaryOp = (typeof unaryOps)[number];
export type BinaryOp = (typeof binaryOps)[number];
export type CompareOp = (typeof compareOps)[number];
export type TestOp = (typeof testOps)[number];
export type PartOp = (typeof partOps)[number];
export type ScalarOp = UnaryOp | BinaryOp | CompareOp | TestOp | PartOp | 'select' | 'cast' | 'complex';

/** A scalar constant; integers above 2^53 are bigints, complex numbers are pairs. */
export type Scalar = number | bigint | readonly [re: number, im: number];

/**
 * One node of an expression graph. Nodes may be shared; sharing means computed once.
 *
 * Semantics, the same on every device: the result of each operation is rounded to its `dtype` (float16 and bfloat16 are
 * computed in float32 and rounded to nearest even; integers wrap). `max`/`min` give NaN if either side is NaN; `div`,
 * `floordiv`, `floormod`, `truncmod` of integers by zero, and integer `pow` with a negative exponent, fail the program.
 * `div` truncates for integers. Casts are C casts as x86 does them: float to int truncates, and what does not fit gives
 * the smallest int32/int64 (as uint64: 2^63); narrower ints wrap via int32, uint32 via int64; anything to bool is `!= 0`;
 * complex to real drops the imaginary part.
 *
 * No two operations are fused into one rounding. Both sides of a `select` are evaluated, so an integer division by zero
 * fails even where it is not chosen. `pow` follows C (1 to any power is 1). Shift amounts are clamped to [0, bits).
 * `sign` of -0 is 0. `floordiv` of floats is the floor of the rounded quotient. Which zero `max(-0, 0)` gives is not
 * defined. The special functions behave at the edges of their domains as TensorFlow's do.
 */
export type Expr =
  | { readonly op: 'input'; readonly dtype: DType; readonly index: number }
  | { readonly op: 'const'; readonly dtype: DType; readonly value: Scalar }
  /** The position along one axis of the iteration space, as int64. */
  | { readonly op: 'index'; readonly dtype: DType; readonly axis: number }
  | { readonly op: ScalarOp; readonly dtype: DType; readonly args: readonly Expr[] };

/** What the builders below accept: a number takes the type of the expression beside it. */
export type ExprLike = Expr | number | bigint;

export const input = (index: number, dtype: DType): Expr => ({ op: 'input', dtype, index });
export const constant = (value: Scalar, dtype: DType): Expr => ({ op: 'const', dtype, value });
export const index = (axis: number): Expr => ({ op: 'index', dtype: int64, axis });

const lift = (x: ExprLike, dtype: DType): Expr => (typeof x === 'object' ? x : constant(x, dtype));

function unary(op: UnaryOp) {
  return (x: Expr): Expr => ({ op, dtype: x.dtype, args: [x] });
}
function pair(x: ExprLike, y: ExprLike): [Expr, Expr] {
  const dtype = typeof x === 'object' ? x.dtype : typeof y === 'object' ? y.dtype : float32;
  return [lift(x, dtype), lift(y, dtype)];
}
function binary(op: BinaryOp) {
  return (x: ExprLike, y: ExprLike): Expr => {
    const args = pair(x, y);
    return { op, dtype: args[0].dtype, args };
  };
}
function compare(op: CompareOp) {
  return (x: ExprLike, y: ExprLike): Expr => ({ op, dtype: bool, args: pair(x, y) });
}
function test(op: TestOp) {
  return (x: Expr): Expr => ({ op, dtype: bool, args: [x] });
}
function part(op: PartOp) {
  return (x: Expr): Expr => ({ op, dtype: x.dtype.realDtype, args: [x] });
}

export const neg = unary('neg');
export const abs = unary('abs');
export const sign = unary('sign');
export const floor = unary('floor');
export const ceil = unary('ceil');
/** Round half to even. */
export const rint = unary('rint');
export const exp = unary('exp');
export const expm1 = unary('expm1');
export const log = unary('log');
export const log1p = unary('log1p');
export const sqrt = unary('sqrt');
export const rsqrt = unary('rsqrt');
export const reciprocal = unary('reciprocal');
export const square = unary('square');
export const sin = unary('sin');
export const cos = unary('cos');
export const tan = unary('tan');
export const asin = unary('asin');
export const acos = unary('acos');
export const atan = unary('atan');
export const sinh = unary('sinh');
export const cosh = unary('cosh');
export const tanh = unary('tanh');
export const asinh = unary('asinh');
export const acosh = unary('acosh');
export const atanh = unary('atanh');
export const sigmoid = unary('sigmoid');
export const erf = unary('erf');
export const erfc = unary('erfc');
export const erfinv = unary('erfinv');
export const ndtri = unary('ndtri');
export const lgamma = unary('lgamma');
export const digamma = unary('digamma');
export const conj = unary('conj');
/** Logical not of a bool. */
export const not = unary('not');
/** Bitwise not of an integer. */
export const invert = unary('invert');

export const add = binary('add');
export const sub = binary('sub');
export const mul = binary('mul');
export const div = binary('div');
export const floordiv = binary('floordiv');
export const floormod = binary('floormod');
export const truncmod = binary('truncmod');
export const pow = binary('pow');
export const max = binary('max');
export const min = binary('min');
export const atan2 = binary('atan2');
export const and = binary('and');
export const or = binary('or');
export const xor = binary('xor');
export const shl = binary('shl');
export const shr = binary('shr');
export const igamma = binary('igamma');
export const igammac = binary('igammac');
export const zeta = binary('zeta');
export const polygamma = binary('polygamma');
export const nextafter = binary('nextafter');

export const eq = compare('eq');
export const ne = compare('ne');
export const lt = compare('lt');
export const le = compare('le');
export const gt = compare('gt');
export const ge = compare('ge');
export const isnan = test('isnan');
export const isinf = test('isinf');
export const isfinite = test('isfinite');
export const real = part('real');
export const imag = part('imag');
/** The angle of a complex number. */
export const arg = part('arg');
/** The magnitude of a complex number. */
export const cabs = part('cabs');

export function select(condition: Expr, x: ExprLike, y: ExprLike): Expr {
  const args = pair(x, y);
  return { op: 'select', dtype: args[0].dtype, args: [condition, ...args] };
}

export function cast(x: Expr, dtype: DType): Expr {
  return x.dtype === dtype ? x : { op: 'cast', dtype, args: [x] };
}

/** A complex number from its parts. */
export function complex(re: Expr, im: Expr, dtype: DType): Expr {
  return { op: 'complex', dtype, args: [re, im] };
}

/** The type in which values of a type are best computed when precision matters: float32 for the half types. */
export function computeType(dtype: DType): DType {
  return dtype.storage === 'f16' || dtype.storage === 'bf16' ? float32 : dtype.isInteger ? float64 : dtype;
}
