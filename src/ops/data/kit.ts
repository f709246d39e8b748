/** @file What the dataset ops have in common: attributes, ports, and reading their inputs when a dataset is made. */
import { bool, type DType, variant } from '../../core/dtypes.ts';
import { InvalidArgumentError, OpError } from '../../core/errors.ts';
import type { NDArray } from '../../core/ndarray.ts';
import type { Dims } from '../../core/shape.ts';
import { type AttrSpecs, type AttrValues, attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable, type Op } from '../../op/defineOp.ts';
import type { Ports, PortTypes } from '../../op/ports.ts';
import type { LoweredNode } from '../../op/registry.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { FunctionRef } from '../../program/tracing.ts';
import type { Value } from '../../program/value.ts';
import type { FunctionDef } from '../../proto/graph.ts';
import { Dataset, datasetIn, type Element, type Iteration, type Soon } from './dataset.ts';
import { unknownBatchSize } from './recipe.ts';

export const types = attr('list(type)', { minimum: 1 });
/** Types of what functions are given besides elements. */
export const argumentTypes = attr('list(type)', { minimum: 0 });
export const shapes = attr('list(shape)', { minimum: 1 });
/** What elements look like. */
export const elementAttrs = { output_types: types, output_shapes: shapes } as const;
export const metadata = attr('string', { default: '' });
export const flag = (value: boolean) => attr('bool', { default: value });
export const deterministic = attr('string', { default: 'default' });
/** Whether elements must come in their order; where it is left open, the pipeline's options say it. */
export const keepsOrder = (attrs: object, scope: Iteration): boolean => {
  if ('sloppy' in attrs) return attrs.sloppy !== true;
  const said = 'deterministic' in attrs ? attrs.deterministic : 'default';
  return said === 'default' ? scope.keepsOrder : said === 'true';
};
export const handle = { handle: 'variant' } as const;

/** The shape rule of ops whose only output is a scalar handle. */
export const scalarHandle = (): { handle: Dims } => ({ handle: [] });

/** The functions among the attributes: each takes what it captures and gives a function of elements. */
type FunctionsOf<A extends AttrSpecs> = {
  readonly [K in keyof A as A[K]['kind'] extends 'func' ? K : never]: FunctionWithCaptures;
};

export interface DatasetOpSpec<I extends PortTypes, A extends AttrSpecs> {
  readonly name: string;
  readonly inputs: I;
  readonly attrs: A;
  readonly stateful?: 'repeatable';
  /** Whose batches it gives: those of its first input, those that all its inputs agree on, or its own, of `batch_size`. */
  readonly batches?: 'ofInput' | 'ofAll' | 'own';
  /** The op that makes an empty object for its resource input, where the dataset is written as a graph. */
  readonly emptyObject?: string;
  make(arrays: Ports<I, A, NDArray>, attrs: AttrValues<A>, functions: FunctionsOf<A>, node: LoweredNode): Soon<Dataset>;
}

/** An op that makes a dataset of its inputs. */
export function datasetOp<const I extends PortTypes, const A extends AttrSpecs>(
  spec: DatasetOpSpec<I, A>,
): Op<I, typeof handle, A> {
  const { name, inputs, attrs } = spec;
  const functionNames = Object.keys(attrs).filter((key) => attrs[key]!.kind === 'func');
  return defineOp({
    name,
    inputs,
    outputs: handle,
    attrs,
    stateful: spec.stateful ?? false,
    shape: scalarHandle as never, // the only output, whatever the attributes are
    grad: notDifferentiable,
    lower(p, values, given, node) {
      const byName = given as Readonly<Record<string, unknown>>; // whatever their names
      const functions = Object.fromEntries(
        functionNames.map((key) => [key, functionOf(p, byName[key] as FunctionRef)]), // their kind was looked at
      ) as FunctionsOf<A>;
      const called = functionNames.map((key) => p.hostFunction(byName[key] as FunctionRef));
      const unsaved = called.flatMap(({ unsavedOps }) => unsavedOps);
      const made = datasetValue(p, values, async (arrays) => {
        const inputs = (Object.values(arrays) as (NDArray | NDArray[])[]).flat(); // what ports hold
        const dataset = await spec.make(arrays, given, functions, node);
        dataset.recipe ??= {
          op: name,
          attrs: node.rawAttrs,
          inputs,
          batchSize: batchSizeOf(spec.batches, arrays),
          emptyObject: spec.emptyObject,
          functions: () => called.flatMap((each) => each.definitions() as readonly FunctionDef[]), // as the library has them
        };
        return dataset.madeOf(inputs.flatMap(datasetsIn), unsaved);
      });
      return { handle: made } as never; // as for the shape
    },
    cases: () => [],
  });
}

/** How many elements are in the batches of a dataset that is made of these inputs. */
function batchSizeOf(batches: DatasetOpSpec<PortTypes, AttrSpecs>['batches'], arrays: object): number {
  if (batches === 'own') return (arrays as { batch_size: NDArray }).batch_size.numberAt(0); // ops with batches of their own have it
  if (batches === undefined) return unknownBatchSize;
  const sources = (Object.values(arrays) as (NDArray | NDArray[])[]).flat().flatMap(datasetsIn); // what ports hold
  const [first = unknownBatchSize, ...others] = sources.map(({ recipe }) => recipe?.batchSize ?? unknownBatchSize);
  return batches === 'ofInput' || others.every((size) => size === first) ? first : unknownBatchSize;
}

const datasetsIn = (array: NDArray): Dataset[] =>
  array.dtype === variant ? array.objects.filter((object) => object instanceof Dataset) : [];

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

/** What ops have in common that ask a dataset something; their only output is the scalar that `asked` gives. */
export const question = {
  inputs: { input_dataset: 'variant' },
  grad: notDifferentiable,
  cases: () => [],
} as const;

/** What a dataset answers: a scalar. */
export function asked(
  p: ProgramBuilder,
  dataset: Value,
  dtype: DType,
  answer: (dataset: Dataset) => Soon<NDArray>,
): Value {
  return p.host([dataset], [{ dtype, shape: [] }], async ([array]) => [await answer(datasetIn(array!))])[0]!;
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
/** The same for the iterators of one pipeline: random numbers in it begin anew for each. */
export type ScopedFunction = (scope: Iteration) => GraphFunction;
/** A function of the graph that is still to be told what it captures. */
export type FunctionWithCaptures = (captured: readonly NDArray[]) => ScopedFunction;

/** A function that a dataset applies to elements. The captured arrays come last, as in the function's signature. */
export function functionOf(p: ProgramBuilder, f: FunctionRef): FunctionWithCaptures {
  const call = p.hostFunction(f);
  const where = `Error in user-defined function passed to ${p.node} transformation with iterator: Iterator::Root::${p.node.replace(/Dataset.*/, '')}: `;
  const explained = (error: unknown): never => {
    throw error instanceof OpError ? error.extended(where + error.message, {}) : error;
  };
  return (captured) => (scope) => {
    const own = call.ownedBy(scope);
    return (args) => own(captured.length === 0 ? [...args] : [...args, ...captured]).catch(explained);
  };
}

/** Several functions for the iterators of one pipeline. */
export function inScope<K extends string>(
  functions: Readonly<Record<K, ScopedFunction>>,
  scope: Iteration,
): Record<K, GraphFunction> {
  const entries = Object.entries<ScopedFunction>(functions).map(([name, f]) => [name, f(scope)]);
  return Object.fromEntries(entries) as Record<K, GraphFunction>; // same keys
}

/** What a predicate says. */
export function truthOf(result: Element, name: string): boolean {
  const [value] = result;
  if (result.length !== 1 || value!.dtype !== bool || value!.size !== 1)
    throw new InvalidArgumentError(`${name} must return a scalar bool.`);
  return value!.at(0) === true;
}
