/** @file What the dataset ops have in common: attributes, ports, and reading their inputs when a dataset is made. */
import { bool, variant } from '../../core/dtypes.ts';
import { InvalidArgumentError, OpError } from '../../core/errors.ts';
import type { NDArray } from '../../core/ndarray.ts';
import type { Dims } from '../../core/shape.ts';
import { type AttrSpecs, type AttrValues, attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable, type Op } from '../../op/defineOp.ts';
import type { Ports, PortTypes } from '../../op/ports.ts';
import type { FunctionRef, ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import type { Dataset, Element, Soon } from './dataset.ts';

export const types = attr('list(type)', { minimum: 1 });
/** Types of what functions are given besides elements. */
export const argumentTypes = attr('list(type)', { minimum: 0 });
export const shapes = attr('list(shape)', { minimum: 1 });
/** What elements look like. */
export const elementAttrs = { output_types: types, output_shapes: shapes } as const;
export const metadata = attr('string', { default: '' });
export const flag = (value: boolean) => attr('bool', { default: value });
export const deterministic = attr('string', { default: 'default' });
export const handle = { handle: 'variant' } as const;

/** The shape rule of ops whose only output is a scalar handle. */
export const scalarHandle = (): { handle: Dims } => ({ handle: [] });

/** The functions among the attributes: each takes what it captures and gives a function of elements. */
type FunctionsOf<A extends AttrSpecs> = {
  readonly [K in keyof A as A[K]['kind'] extends 'func' ? K : never]: (captured: readonly NDArray[]) => GraphFunction;
};

export interface DatasetOpSpec<I extends PortTypes, A extends AttrSpecs> {
  readonly name: string;
  readonly inputs: I;
  readonly attrs: A;
  readonly stateful?: boolean;
  make(arrays: Ports<I, A, NDArray>, attrs: AttrValues<A>, functions: FunctionsOf<A>): Soon<Dataset>;
}

/** An op that makes a dataset of its inputs. */
export function datasetOp<const I extends PortTypes, const A extends AttrSpecs>(
  spec: DatasetOpSpec<I, A>,
): Op<I, typeof handle, A> {
  const { name, inputs, attrs, stateful = false } = spec;
  const functionNames = Object.keys(attrs).filter((key) => attrs[key]!.kind === 'func');
  return defineOp({
    name,
    inputs,
    outputs: handle,
    attrs,
    stateful,
    shape: scalarHandle as never, // the only output, whatever the attributes are
    grad: notDifferentiable,
    lower(p, values, given) {
      const byName = given as Readonly<Record<string, unknown>>; // whatever their names
      const functions = Object.fromEntries(
        functionNames.map((key) => [key, functionOf(p, byName[key] as FunctionRef)]), // their kind was looked at
      ) as FunctionsOf<A>;
      return { handle: datasetValue(p, values, (arrays) => spec.make(arrays, given, functions)) } as never; // as for the shape
    },
    cases: () => [],
  });
}

/** A dataset as a value, made when its inputs are there. */
export function datasetValue<I extends PortTypes, A extends AttrSpecs>(
  p: ProgramBuilder,
  inputs: Ports<I, A, Value>,
  make: (arrays: Ports<I, A, NDArray>) => Soon<Dataset>,
): Value {
  const entries = Object.entries(inputs) as [string, Value | readonly Value[]][]; // what ports hold
  const [made] = p.host(
    entries.flatMap(([, value]) => value),
    [{ dtype: variant, shape: [] }],
    async (arrays) => {
      let next = 0;
      const take = (value: Value | readonly Value[]) =>
        Array.isArray(value) ? value.map(() => arrays[next++]!) : arrays[next++]!;
      const named = Object.fromEntries(entries.map(([name, value]) => [name, take(value)]));
      return [(await make(named as Ports<I, A, NDArray>)).asArray()]; // same ports, same forms
    },
  );
  return made!;
}

/** The number in a scalar input. */
export function scalarOf(array: NDArray, name: string): number {
  if (array.rank !== 0) throw new InvalidArgumentError(`${name} must be a scalar`);
  return array.numberAt(0);
}

/** The text in a scalar input. */
export function textOf(array: NDArray, name: string): string {
  if (array.rank !== 0) throw new InvalidArgumentError(`${name} must be a scalar`);
  return new TextDecoder().decode(array.objects[0] as Uint8Array); // strings are bytes
}

/** A function of elements. Calls may overlap; one that gives undefined ends the sequence. */
export type ElementFunction = (args: Element) => Promise<Element | undefined>;
/** A function of the graph with what it captures. */
export type GraphFunction = (args: Element) => Promise<Element>;

/** A function that a dataset applies to elements. The captured arrays come last, as in the function's signature. */
export function functionOf(p: ProgramBuilder, f: FunctionRef): (captured: readonly NDArray[]) => GraphFunction {
  const call = p.hostFunction(f);
  const where = `Error in user-defined function passed to ${p.node} transformation with iterator: Iterator::Root::${p.node.replace(/Dataset.*/, '')}: `;
  const explained = (error: unknown): never => {
    throw error instanceof OpError ? error.extended(where + error.message, {}) : error;
  };
  return (captured) => (args) => call(captured.length === 0 ? [...args] : [...args, ...captured]).catch(explained);
}

/** What a predicate says. */
export function truthOf(result: Element, name: string): boolean {
  const [value] = result;
  if (result.length !== 1 || value!.dtype !== bool || value!.size !== 1)
    throw new InvalidArgumentError(`${name} must return a scalar bool.`);
  return value!.at(0) === true;
}
