/** @file What the dataset ops have in common: attributes, ports, and reading their inputs when a dataset is made. */
import { bool, type DType, variant } from '../../core/dtypes.ts';
import { InvalidArgumentError, OpError } from '../../core/errors.ts';
import type { NDArray } from '../../core/ndarray.ts';
import type { Dims } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';
import type { FunctionRef, ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import type { Dataset, Element } from './dataset.ts';

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

/** The shape rule of all ops that make datasets. */
export const scalarHandle = (): { handle: Dims } => ({ handle: [] });

type Inputs = Readonly<Record<string, Value | readonly Value[]>>;
type Arrays<V extends Inputs> = { readonly [K in keyof V]: V[K] extends readonly Value[] ? NDArray[] : NDArray };

/** A value that `make` gives when its inputs are there. */
export function onHost<V extends Inputs>(
  p: ProgramBuilder,
  inputs: V,
  results: readonly { readonly dtype: DType; readonly shape?: readonly number[] }[],
  make: (arrays: Arrays<V>) => readonly NDArray[] | Promise<readonly NDArray[]>,
): readonly Value[] {
  const entries = Object.entries(inputs);
  return p.host(
    entries.flatMap(([, value]) => value as Value | Value[]),
    results,
    (given) => {
      let next = 0;
      const take = (value: Value | readonly Value[]) =>
        Array.isArray(value) ? value.map(() => given[next++]!) : given[next++]!;
      return make(Object.fromEntries(entries.map(([name, value]) => [name, take(value)])) as Arrays<V>); // same keys, same forms
    },
  );
}

/** The lowering of an op that makes a dataset. */
export function madeBy<V extends Inputs>(
  p: ProgramBuilder,
  inputs: V,
  make: (arrays: Arrays<V>) => Dataset | Promise<Dataset>,
): { handle: Value } {
  const [value] = onHost(p, inputs, [{ dtype: variant, shape: [] }], async (arrays) => [
    (await make(arrays)).asArray(),
  ]);
  return { handle: value! };
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
