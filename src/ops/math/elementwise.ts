/** @file What the elementwise ops have in common: one input and one output of a type, or two inputs that broadcast. */

import type { DType } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { broadcastShapes, type Dims, showShape } from '../../core/shape.ts';
import type { Broadcasted, BroadcastsWith, CommonDType } from '../../graph/staticShapes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { type AttrSpec, attr } from '../../op/attrs.ts';
import type { Case } from '../../op/cases.ts';
import { defineOp, type notDifferentiable, type Op } from '../../op/defineOp.ts';
import type { Gradient, OpDefinition } from '../../op/registry.ts';
import { type Expr, pointwise } from '../../program/map.ts';

/** Every elementwise function takes a name for its node. */
export interface NameOption {
  readonly name?: string | undefined;
}

type Simplify = NonNullable<OpDefinition['simplify']>;
type TypeAttr = { readonly T: AttrSpec<'type'> };

/** An op `y = f(x)` whose output has the type of its input. */
export type UnaryOp = Op<{ readonly x: 'T' }, { readonly y: 'T' }, TypeAttr>;

interface UnarySpec {
  readonly name: string;
  readonly types: readonly DType[];
  readonly element: (x: Expr) => Expr;
  readonly grad: ((node: { x: Tensor; y: Tensor; dy: Gradient }) => Gradient | null) | typeof notDifferentiable;
  readonly integers?: (x: number) => number;
  readonly simplify?: Simplify;
  readonly cases: () => readonly Case<'x', 'y'>[];
}

/** Defines an op that maps each element of one tensor. */
export function defineUnary({ name, types, element, grad, integers, simplify, cases }: UnarySpec): UnaryOp {
  return defineOp({
    name,
    inputs: { x: 'T' },
    outputs: { y: 'T' },
    attrs: { T: attr('type', { allowed: types }) },
    shape: ({ x }) => ({ y: x }),
    grad:
      typeof grad === 'function'
        ? ({ inputs, outputs }, dy) => ({ x: grad({ x: inputs.x, y: outputs.y, dy: dy.y }) })
        : grad,
    lower: pointwise(element),
    ...(integers ? { partialValue: ({ inputs }, known) => foldIntegers([inputs.x], known, (x) => integers(x!)) } : {}),
    ...(simplify ? { simplify } : {}),
    cases,
  });
}

/** An op `z = f(x, y)` over broadcast inputs of one type. */
export type BinaryOp = Op<{ readonly x: 'T'; readonly y: 'T' }, { readonly z: 'T' }, TypeAttr>;

/** What the gradient of a binary op sees. */
export interface BinaryNode {
  readonly x: Tensor;
  readonly y: Tensor;
  readonly z: Tensor;
  readonly dy: Gradient;
  /** Whose gradient nobody asked for: 0 for x, 1 for y. */
  skips(input: 0 | 1): boolean;
}
export type GradientPair = readonly [Gradient | null, Gradient | null];

interface BinarySpec {
  readonly name: string;
  readonly types: readonly DType[];
  readonly element: (x: Expr, y: Expr) => Expr;
  readonly grad: ((node: BinaryNode) => GradientPair) | typeof notDifferentiable | { readonly pending: string };
  readonly commutative?: boolean;
  readonly aggregate?: boolean;
  readonly integers?: (x: number, y: number) => number | null;
  readonly simplify?: Simplify;
  readonly cases: () => readonly Case<'x' | 'y', 'z'>[];
}

/** Defines an op that combines the elements of two tensors, which broadcast against each other. */
export function defineBinary(spec: BinarySpec): BinaryOp {
  const { grad, integers, simplify } = spec;
  return defineOp({
    name: spec.name,
    inputs: { x: 'T', y: 'T' },
    outputs: { z: 'T' },
    attrs: { T: attr('type', { allowed: spec.types }) },
    commutative: spec.commutative ?? false,
    aggregate: spec.aggregate ?? false,
    shape: ({ x, y }) => ({ z: broadcastPorts(['x', x], ['y', y]) }),
    grad:
      typeof grad === 'function'
        ? ({ inputs, outputs }, dy, tools) => {
            const skips = (input: 0 | 1) => tools.skips?.(input) ?? false;
            const [x, y] = grad({ x: inputs.x, y: inputs.y, z: outputs.z, dy: dy.z, skips });
            return { x, y };
          }
        : grad,
    lower: pointwise((x, y) => spec.element(x!, y!)),
    ...(integers
      ? { partialValue: ({ inputs }, known) => foldIntegers([inputs.x, inputs.y], known, (x, y) => integers(x!, y!)) }
      : {}),
    ...(simplify ? { simplify } : {}),
    cases: spec.cases,
  });
}

/** The shape that two ports broadcast to; says which sizes are in the way when they do not. */
export function broadcastPorts([xName, x]: readonly [string, Dims], [yName, y]: readonly [string, Dims]): Dims {
  try {
    return broadcastShapes(x, y);
  } catch {
    const [m, n] = clash(x!, y!); // unknown ranks always broadcast
    throw new InvalidArgumentError(
      `${xName} is ${showShape(x)} and ${yName} is ${showShape(y)}. Dimensions must be equal, but are ${m} and ${n}. Use tf.reshape, or tf.expandDims to give one of them the size 1, which repeats.`,
    );
  }
}

/** The last pair of sizes that do not broadcast. */
function clash(x: NonNullable<Dims>, y: NonNullable<Dims>): [number, number] {
  for (let i = 1; ; i++) {
    const [m, n] = [x.at(-i)!, y.at(-i)!];
    if (m !== n && m !== 1 && n !== 1 && m !== null && n !== null) return [m, n];
  }
}

/** For shape arithmetic: the result on integers that are all known; scalars repeat. */
function foldIntegers(
  inputs: readonly Tensor[],
  known: (t: Tensor) => readonly (number | null)[] | undefined,
  of: (...elements: number[]) => number | null,
): readonly (number | null)[] | undefined {
  if (inputs.some((t) => !t.dtype.isInteger)) return undefined;
  const values = inputs.map(known);
  if (values.includes(undefined)) return undefined;
  // One entry goes with any number of them, also with none.
  const length = values.find((v) => v!.length !== 1)?.length ?? 1;
  const result: number[] = [];
  for (let i = 0; i < length; i++) {
    const elements = values.map((v) => (v?.length === 1 ? v[0] : v?.[i]));
    if (!elements.every((x) => typeof x === 'number')) return undefined;
    const element = of(...elements);
    if (element === null) return undefined;
    result.push(element);
  }
  return result;
}

/** `f(x, { name })` of a unary op: adds one node of it, called after the op unless named. */
export type UnaryFunction = <D extends DType = DType, S extends Dims = Dims>(
  x: Tensor<D, S> | TensorLike,
  options?: NameOption,
) => Tensor<D, S>;
export function unaryFunction(op: UnaryOp): UnaryFunction {
  return <D extends DType, S extends Dims>(x: Tensor<D, S> | TensorLike, options?: NameOption) =>
    op.build({ x }, options).y as Tensor<D, S>; // a unary op keeps type and shape
}

/** `f(x, y, { name })` of a binary op: adds one node of it, called after the op unless named. */
export type BinaryFunction = <A extends TensorLike, B extends TensorLike>(
  x: A,
  y: BroadcastsWith<A, B>,
  options?: NameOption,
) => Tensor<CommonDType<A, B>, Broadcasted<A, B>>;
export function binaryFunction(op: BinaryOp): BinaryFunction {
  return <A extends TensorLike, B extends TensorLike>(x: A, y: BroadcastsWith<A, B>, options?: NameOption) =>
    op.build({ x, y }, options).z as Tensor<CommonDType<A, B>, Broadcasted<A, B>>; // a binary op keeps the type and broadcasts
}
