/** @file Nested structures: arrays and plain records of tensors, taken apart and put together; records in the order of their keys. */
import type { NDArray } from '../core/ndarray.ts';
import { type Composite, composite, isComposite } from '../graph/composite.ts';
import { isNamedTuple, namedTuple } from '../graph/namedTuple.ts';
import type { Operation } from '../graph/operation.ts';
import type { ConvertibleToTensor, Tensor } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';

/** The same structure with a tensor in place of every value that can become one. */
export type Tensors<T> = T extends Composite
  ? T
  : T extends Tensor<infer D>
    ? Tensor<D>
    : T extends Leaf
      ? Tensor
      : T extends null | undefined
        ? null
        : T extends object
          ? { -readonly [K in keyof T]: Tensors<T[K]> }
          : never;

/** A value of a structure that becomes one tensor. */
export type Leaf =
  | Tensor
  | Operation
  | ConvertibleToTensor
  | NDArray
  | ArrayBufferView
  | number
  | bigint
  | boolean
  | string;

/** Any structure of the same form, whatever kinds of values are in it. */
export type Like<T> = T extends Composite
  ? Composite
  : T extends Leaf
    ? Leaf
    : T extends null | undefined
      ? null | undefined
      : T extends object
        ? { readonly [K in keyof T]: Like<T[K]> }
        : never;

/** What a class extends whose instances are structures: their fields are the values, and a structure like them is one of them. */
export abstract class Fields {}

/** A record that is only a structure: not an instance of any other class. */
function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || value instanceof Fields;
}

/** Whether something is a structure rather than a single value. */
export function isNested(value: unknown): boolean {
  return Array.isArray(value) || isRecord(value);
}

const sortedKeys = (record: object) => Object.keys(record).sort();

/** How deep to look: composite values, such as indexed slices, can count as the tensors they are made of. */
export interface NestOptions {
  readonly expandComposites?: boolean | undefined;
}

/**
 * The values of a structure, in order.
 *
 * @example tf.nest.flatten({ b: [1, 2], a: 3 }) // gives [3, 1, 2]
 */
export function flatten(structure: unknown, options: NestOptions = {}): unknown[] {
  if (Array.isArray(structure)) return structure.flatMap((x) => flatten(x, options));
  if (isRecord(structure)) return sortedKeys(structure).flatMap((key) => flatten(structure[key], options));
  if (options.expandComposites && isComposite(structure)) return [...structure[composite]().parts];
  return [structure];
}

/**
 * A structure like `structure` with other values in it.
 *
 * @example tf.nest.packSequenceAs({ b: [0, 0], a: 0 }, [3, 1, 2]) // gives { a: 3, b: [1, 2] }
 */
export function packSequenceAs(structure: unknown, flat: readonly unknown[], options: NestOptions = {}): unknown {
  let next = 0;
  const pack = (like: unknown): unknown => {
    if (Array.isArray(like)) return like.map(pack);
    if (isRecord(like)) {
      const fields = Object.fromEntries(sortedKeys(like).map((key) => [key, pack(like[key])]));
      if (like instanceof Fields) return Object.assign(Object.create(Object.getPrototypeOf(like)), fields);
      return isNamedTuple(like) ? namedTuple({ ...like, ...fields }) : fields; // in its own order
    }
    if (options.expandComposites && isComposite(like)) {
      const { parts, from } = like[composite]();
      return from(flat.slice(next, (next += parts.length)) as Tensor[]); // a composite consists of tensors
    }
    return flat[next++];
  };
  const result = pack(structure);
  if (next !== flat.length)
    throw userError(
      `Structure had ${next} atoms, but flat_sequence had ${flat.length} items.  Structure: ${show(structure)}.`,
    );
  return result;
}

/**
 * Applies a function to the values of structures of the same form, position by position.
 *
 * @example tf.nest.mapStructure((x) => x + 1, { a: 1, b: [2] }) // gives { a: 2, b: [3] }
 */
export function mapStructure(
  change: (...values: never[]) => unknown,
  first: unknown,
  ...rest: readonly unknown[]
): unknown {
  for (const other of rest) assertSameStructure(first, other);
  const lists = [first, ...rest].map((s) => flatten(s));
  return packSequenceAs(
    first,
    lists[0]!.map((_, i) => change(...(lists.map((list) => list[i]) as never[]))), // the caller knows what its structures hold
  );
}

/** Throws when two structures differ in form. */
export function assertSameStructure(a: unknown, b: unknown, options: NestOptions = {}): void {
  const difference = firstDifference(a, b, '', options);
  if (difference !== undefined)
    throw userError(
      `The two structures don't have the same nested structure.\n\nFirst structure: ${show(a)}\n\nSecond structure: ${show(b)}\n\n${difference}`,
    );
}

/** Says where two structures differ in form; undefined when they do not. */
export function firstDifference(a: unknown, b: unknown, path: string, options: NestOptions): string | undefined {
  const place = path === '' ? 'The first' : `At ${path} the first`;
  if (isNested(a) !== isNested(b) || Array.isArray(a) !== Array.isArray(b))
    return `${place} is ${kindOf(a)}, the second is ${kindOf(b)}.`;
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length) return `${place} has ${a.length} elements, the second has ${b.length}.`;
    return findFirst(a.keys(), (i) => firstDifference(a[i], b[i], `${path}[${i}]`, options));
  }
  if (isRecord(a) && isRecord(b)) {
    const [keys, others] = [sortedKeys(a), sortedKeys(b)];
    if (keys.join() !== others.join()) return `${place} has the keys ${keys.join()}, the second has ${others.join()}.`;
    return findFirst(keys, (key) => firstDifference(a[key], b[key], path === '' ? key : `${path}.${key}`, options));
  }
  if ((a == null) !== (b == null)) return `${place} is ${kindOf(a)}, the second is ${kindOf(b)}.`;
  const [kind, other] = [a, b].map((x) => (isComposite(x) ? x[composite]().kind : 'tensor')) as [string, string]; // two in, two out
  return options.expandComposites && kind !== other ? `${place} is ${kind}, the second is ${other}.` : undefined;
}

function findFirst<K>(keys: Iterable<K>, find: (key: K) => string | undefined): string | undefined {
  for (const key of keys) {
    const found = find(key);
    if (found !== undefined) return found;
  }
  return undefined;
}

function kindOf(value: unknown): string {
  if (value == null) return 'nothing';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  return isRecord(value) ? 'a record' : 'a single value';
}

/** A structure as text, for messages. */
export function show(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(show).join(', ')}]`;
  if (isRecord(value))
    return `{${sortedKeys(value)
      .map((key) => `${key}: ${show(value[key])}`)
      .join(', ')}}`;
  return value === undefined ? 'nothing' : String(value);
}
