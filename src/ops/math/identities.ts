/** @file Algebraic identities of the arithmetic ops, for the graph simplifier. */
import { type DType, float32, float64, int32 } from '../../core/dtypes.ts';
import { type NDArray, scalar } from '../../core/ndarray.ts';
import type { OpDefinition, Rewrite, RewriteInput, RewriteNode } from '../../op/registry.ts';

type Rule = NonNullable<OpDefinition['simplify']>;
type Rewritten = ReturnType<Rule>;

/**
 * A constant scalar. Only these can be dropped beside another operand: a constant of any other shape, even of one
 * element, may give the result more axes than the operand has.
 */
function constantScalar(input: RewriteInput): number | undefined {
  const value = input.constant;
  if (value?.rank !== 0 || value.dtype.isObject) return undefined;
  const element = value.at(0);
  if (typeof element === 'number') return element;
  return value.dtype.isComplex && value.data[1] === 0 ? value.numberAt(0) : undefined;
}

function sameTensor(a: RewriteInput, b: RewriteInput): boolean {
  return a.node === b.node && a.index === b.index;
}

/** The node a tensor comes from, when it is of this op and nothing else uses it. */
function onlyUse(input: RewriteInput, op: string): RewriteNode | undefined {
  return input.node.op === op && input.index === 0 && input.node.uses === 1 ? input.node : undefined;
}

/** `c*a + c*b` is `c*(a+b)`: one product less. */
function commonFactor(node: RewriteNode, combine: string): Rewritten {
  const [x, y] = node.inputs as readonly [RewriteInput, RewriteInput]; // called for nodes of two inputs
  const left = onlyUse(x, 'Mul');
  const right = onlyUse(y, 'Mul');
  if (!left || !right || left === right) return undefined;
  for (const [i, factor] of left.inputs.entries())
    for (const [j, other] of right.inputs.entries()) {
      if (!sameTensor(factor, other)) continue;
      const attrs = { T: node.attrs['T'] };
      const inner: Rewrite = { op: combine, inputs: [left.inputs[1 - i]!, right.inputs[1 - j]!], attrs };
      return { rule: 'common factor', to: { op: 'Mul', inputs: [factor, inner], attrs } };
    }
  return undefined;
}

/**
 * Whether arithmetic with 0 or 1 leaves every number as it is. Of floats it does not: -0 + 0 is 0, and what is below the normal range
 * becomes zero, times 1 too. TensorFlow computes these.
 */
const isExact = ({ attrs }: RewriteNode) => (attrs['T'] as DType).isInteger; // its definition guarantees the kind

/** `x + 0` and `0 + x` are x, of integers; a common factor is taken out. */
export const simplifySum: Rule = (node) => {
  const [x, y] = node.inputs as readonly [RewriteInput, RewriteInput]; // binary
  if (isExact(node) && constantScalar(y) === 0) return { rule: 'x + 0', to: x };
  if (isExact(node) && constantScalar(x) === 0) return { rule: '0 + x', to: y };
  return commonFactor(node, 'AddV2');
};

/** `x - 0` is x, of integers; a common factor is taken out. */
export const simplifyDifference: Rule = (node) => {
  const [x, y] = node.inputs as readonly [RewriteInput, RewriteInput]; // binary
  if (isExact(node) && constantScalar(y) === 0) return { rule: 'x - 0', to: x };
  return commonFactor(node, 'Sub');
};

/** A sum of two products with a common factor. */
export const simplifyAddN: Rule = (node) => (node.inputs.length === 2 ? commonFactor(node, 'AddV2') : undefined);

/** `x / 1` is x, of integers. */
export const simplifyQuotient: Rule = (node) =>
  isExact(node) && constantScalar(node.inputs[1]!) === 1 ? { rule: 'x / 1', to: node.inputs[0]! } : undefined;

/** `x * 1` and `1 * x` are x, of integers; `(x * c1) * c2` is `x * (c1 * c2)`. */
export const simplifyProduct: Rule = (node) => {
  const [x, y] = node.inputs as readonly [RewriteInput, RewriteInput]; // binary
  if (isExact(node) && constantScalar(y) === 1) return { rule: 'x * 1', to: x };
  if (isExact(node) && constantScalar(x) === 1) return { rule: '1 * x', to: y };
  return foldFactors(node, x, y) ?? foldFactors(node, y, x);
};

function foldFactors(node: RewriteNode, product: RewriteInput, factor: RewriteInput): Rewritten {
  const inner = onlyUse(product, 'Mul');
  if (!inner || constantScalar(factor) === undefined) return undefined;
  const at = inner.inputs.findIndex((input) => constantScalar(input) !== undefined);
  const value = at < 0 ? undefined : multiplied(inner.inputs[at]!.constant!, factor.constant!);
  if (!value) return undefined;
  const attrs = { T: node.attrs['T'] };
  return { rule: '(x * c1) * c2', to: { op: 'Mul', inputs: [inner.inputs[1 - at]!, { value }], attrs } };
}

function multiplied(a: NDArray, b: NDArray): NDArray | undefined {
  const [x, y] = [a.numberAt(0), b.numberAt(0)];
  if (a.dtype === int32) return scalar(int32, Math.imul(x, y));
  return a.dtype === float32 || a.dtype === float64 ? scalar(a.dtype, x * y) : undefined;
}

/** Powers that are functions of their own. */
const powers: ReadonlyMap<number, string> = new Map([
  [2, 'Square'],
  [0.5, 'Sqrt'],
  [-0.5, 'Rsqrt'],
  [-1, 'Reciprocal'],
]);

/**
 * Floats to the power of a few constants, as TensorFlow's optimizer rewrites them. It is more than a gain in speed: of -0 and -inf a
 * root is -0 and NaN, where the power is 0 and inf.
 */
export const simplifyPower: Rule = (node) => {
  const T = node.attrs['T'] as DType; // its definition guarantees the kind
  const [x, y] = node.inputs as readonly [RewriteInput, RewriteInput]; // binary
  const exponent = constantScalar(y);
  if (!T.isFloating || exponent === undefined) return undefined;
  const rule = `x ^ ${exponent}`;
  if (exponent === 1) return { rule, to: x };
  if (exponent === 3)
    return { rule, to: { op: 'Mul', inputs: [x, { op: 'Square', inputs: [x], attrs: { T } }], attrs: { T } } };
  const op = powers.get(exponent);
  return op ? { rule, to: { op, inputs: [x], attrs: { T } } } : undefined;
};

/** `-(-x)` is x. */
export const simplifyNegation: Rule = (node) => {
  const inner = node.inputs[0]!;
  return inner.node.op === 'Neg' ? { rule: '-(-x)', to: inner.node.inputs[0]! } : undefined;
};

/** `log(softmax(x))` is `logSoftmax(x)`, which is exact where the softmax underflows. */
export const simplifyLog: Rule = (node) => {
  const inner = onlyUse(node.inputs[0]!, 'Softmax');
  return inner
    ? { rule: 'log(softmax(x))', to: { op: 'LogSoftmax', inputs: [inner.inputs[0]!], attrs: { T: node.attrs['T'] } } }
    : undefined;
};

/** A cast to the same type is nothing; a cast that loses nothing can be skipped before another cast. */
export const simplifyCast: Rule = (node) => {
  const { SrcT, DstT, Truncate } = castAttrs(node);
  if (SrcT === DstT) return { rule: 'cast to the same type', to: node.inputs[0]! };
  const { node: inner } = node.inputs[0]!;
  if (inner.op !== 'Cast' || Truncate) return undefined;
  const before = castAttrs(inner);
  if (!widens(before.SrcT, before.DstT) || losesDenormals(before.SrcT, before.DstT)) return undefined;
  const attrs = { SrcT: before.SrcT, DstT, Truncate: false };
  return before.SrcT === DstT
    ? { rule: 'cast there and back', to: inner.inputs[0]! }
    : { rule: 'two casts', to: { op: 'Cast', inputs: [inner.inputs[0]!], attrs } };
};

/** Casting to float64 is arithmetic, to which numbers below the normal range of float32 are zeros; half types are widened bit by bit. */
const losesDenormals = (from: DType, to: DType) =>
  to.storage === 'f64' && (from.storage === 'f32' || from.storage === 'bf16');

/** The attributes of a Cast node, whose kinds its definition guarantees. */
function castAttrs({ attrs }: RewriteNode): { SrcT: DType; DstT: DType; Truncate: boolean } {
  return { SrcT: attrs['SrcT'] as DType, DstT: attrs['DstT'] as DType, Truncate: attrs['Truncate'] === true };
}

/** Whole numbers up to 2 to this power are exact in a float type. */
const exactBits: Partial<Record<DType['storage'], number>> = { f64: 53, f32: 24, f16: 11, bf16: 8 };

/** Whether every value of `from` is a value of `to`, so that casting on gives the same as casting directly. */
function widens(from: DType, to: DType): boolean {
  if (from.isFloating)
    return to.isFloating && to.size > from.size && exactBits[from.storage]! <= exactBits[to.storage]!;
  if (!from.isInteger) return false;
  const bits = 8 * from.size - (from.isUnsigned ? 0 : 1);
  if (to.isFloating) return bits <= exactBits[to.storage]!;
  return to.isInteger && (from.isUnsigned || !to.isUnsigned) && bits <= 8 * to.size - (to.isUnsigned ? 0 : 1);
}
