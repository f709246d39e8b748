/** @file What Python's operators build: the arithmetic ops under the operators' names (`add`, `truediv` …). */
import * as d from '../../core/dtypes.ts';
import { bool, type DType, int32, string } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { IndexedSlices } from '../../graph/indexedSlices.ts';
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { convertToTensor, isSymbolic } from '../../op/convert.ts';
import { Add, AddV2 } from './add.ts';
import { Cast, cast } from './cast.ts';
import { FloorDiv, RealDiv } from './divide.ts';
import { FloorMod } from './mod.ts';
import { Mul } from './multiply.ts';
import { Neg } from './neg.ts';
import { Pow } from './pow.ts';
import { Sub } from './subtract.ts';

/**
 * The operands as Python's operators take them: the one whose operator it is, the first unless that is a literal, is read
 * before the operator's own scope is opened.
 */
function operands(x: TensorLike, y: TensorLike): { x: TensorLike; y: TensorLike } {
  const hasOperators = (value: TensorLike) => isSymbolic(value) && !(value instanceof IndexedSlices);
  if (hasOperators(x)) return { x: convertToTensor(x), y };
  return hasOperators(y) ? { x, y: convertToTensor(y) } : { x, y };
}

/** `x + y`: an AddV2 named `add`; strings are joined by Add. */
export function plus(x: TensorLike, y: TensorLike, name = 'add'): Tensor {
  const op = isSymbolic(x) && x.dtype === string ? Add : AddV2;
  return op.build(operands(x, y), { name }).z;
}

/** `x - y`: a Sub named `sub`. */
export function minus(x: TensorLike, y: TensorLike): Tensor {
  return Sub.build(operands(x, y), { name: 'sub' }).z;
}

/** `x * y`: a Mul named `mul`. The product of bools is their conjunction, by way of int32. */
export function times(x: TensorLike, y: TensorLike): Tensor {
  if (!isBool(x) && !isBool(y)) return Mul.build(operands(x, y), { name: 'mul' }).z;
  return nameScope('mul', (scope) => {
    const asInteger = (value: TensorLike) => Cast.build({ x: value }, { attrs: { DstT: int32 } }).y;
    const product = Mul.build({ x: asInteger(x), y: asInteger(y) }, { name: scope }).z;
    return Cast.build({ x: product }, { attrs: { DstT: bool } }).y;
  });
}

const isBool = (x: TensorLike) => isSymbolic(x) && x.dtype === bool;

/** The type in which a quotient of integers is computed; floats stay as they are. */
const quotientTypes = new Map<DType, DType>([
  ...[d.uint8, d.int8, d.uint16, d.int16].map((t) => [t, d.float32] as const),
  ...[d.uint32, d.int32, d.uint64, d.int64].map((t) => [t, d.float64] as const),
  ...[d.bfloat16, d.float16, d.float32, d.float64, d.complex64, d.complex128].map((t) => [t, t] as const),
]);

/** Converts both operands of a division, integers to floats; made inside the division's name scope. */
export function quotientOperands(x: TensorLike, y: TensorLike): { x: Tensor; y: Tensor } {
  const beside = isSymbolic(y) ? y.dtype : undefined;
  const a = convertToTensor(x, { name: 'x', hint: beside });
  const b = convertToTensor(y, { name: 'y', hint: a.dtype });
  const dtype = quotientTypes.get(a.dtype);
  if (a.dtype !== b.dtype)
    throw new InvalidArgumentError(
      `x and y must have the same dtype to be divided, but x is ${a.dtype} and y is ${b.dtype}. Types are never converted for you; wrap one in tf.cast(y, tf.${a.dtype}).`,
    );
  if (!dtype) throw new InvalidArgumentError(`${a.dtype} values cannot be divided`);
  return { x: cast(a, dtype), y: cast(b, dtype) };
}

/** `x / y`: a RealDiv named `truediv`, after casts to a float type when the operands are integers. */
export function over(x: TensorLike, y: TensorLike, name = 'truediv'): Tensor {
  return nameScope(name, (scope) => RealDiv.build(quotientOperands(x, y), { name: scope }).z);
}

/** `x // y`: a FloorDiv named `floordiv`. */
export function floorOver(x: TensorLike, y: TensorLike): Tensor {
  return FloorDiv.build({ x, y }, { name: 'floordiv' }).z;
}

/** `x % y`: a FloorMod named `mod`. */
export function modulo(x: TensorLike, y: TensorLike): Tensor {
  return FloorMod.build({ x, y }, { name: 'mod' }).z;
}

/** `x ** y`: a Pow named `pow`. */
export function toThe(x: TensorLike, y: TensorLike): Tensor {
  return Pow.build({ x, y }, { name: 'pow' }).z;
}

/** `-x`: a Neg. */
export function minusOf(x: TensorLike): Tensor {
  return Neg.build({ x }).y;
}
