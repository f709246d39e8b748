/** @file `pointwise`: the lowering of ops that are one expression per element; and the expression language beside it. */
import type { Expr } from './expr.ts';

export * from './expr.ts';

const mark = Symbol('pointwise');

/** A lowering that says only what happens to one element. */
export interface Pointwise<A> {
  readonly [mark]: true;
  bind(attrs: A): (...elements: Expr[]) => Expr;
}

/** Lowers an op to one `map` over its (broadcast) inputs. */
export function pointwise(body: (...elements: Expr[]) => Expr): Pointwise<unknown> {
  return { [mark]: true, bind: () => body };
}

/** Like `pointwise`, for an expression that depends on the attributes. */
export function pointwiseWith<A>(make: (attrs: A) => (...elements: Expr[]) => Expr): Pointwise<A> {
  return { [mark]: true, bind: make };
}

export function isPointwise<A, F>(lower: Pointwise<A> | F): lower is Pointwise<A> {
  return typeof lower === 'object' && lower !== null && mark in lower;
}
