/** @file The derivative of a function of a graph's library, as a function: ops ask for it by name, the runtime has it made. */
import { InternalError } from '../core/errors.ts';
import type { NameAttrList } from '../proto/attr.ts';
import type { FunctionDef } from '../proto/graph.ts';

/** Functions by their names. */
export type Functions = ReadonlyMap<string, FunctionDef>;

/**
 * Makes the function that computes the derivative of a function of a library: it takes the function's arguments, then the
 * gradients of its results, and gives the gradients of the arguments. What it needs besides follows it.
 */
export type FunctionDerivative = (library: Functions, func: NameAttrList) => readonly [FunctionDef, ...FunctionDef[]];

let derivative: FunctionDerivative | undefined;
/** Automatic differentiation says here how it is done, for it lies above the ops. */
export function setFunctionDerivative(make: FunctionDerivative): void {
  derivative = make;
}
export const functionDerivative: FunctionDerivative = (library, func) => {
  if (!derivative) throw new InternalError('nothing was loaded that differentiates functions');
  return derivative(library, func);
};

const derivativePrefix = 'derivative of ';
/** How the derivative of a function is called by the ops that need it. */
export const derivativeName = (name: string): string => `${derivativePrefix}${name}`;
/** The function whose derivative has this name. */
export const functionBehind = (name: string): string | undefined =>
  name.startsWith(derivativePrefix) ? name.slice(derivativePrefix.length) : undefined;
