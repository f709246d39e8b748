/** @file Results that have names and an order, as Python's named tuples. */

/** A record whose values can also be taken in the order of its keys. */
export type NamedTuple<T extends object> = T & Iterable<T[keyof T]>;

function* values(this: object): Generator {
  yield* Object.values(this);
}

/** The same record, which `const [values, indices] = …` takes apart, too. */
export function namedTuple<T extends object>(record: T): NamedTuple<T> {
  const tuple = isNamedTuple(record)
    ? record
    : Object.defineProperty({ ...record }, Symbol.iterator, { value: values });
  return tuple as NamedTuple<T>; // just made so
}

export function isNamedTuple(record: object): boolean {
  return (record as { [Symbol.iterator]?: unknown })[Symbol.iterator] === values; // what it has under that key
}
