/** @file Refuses options that nobody reads: a misspelt one would otherwise do nothing, and say nothing. */
import { unknownOption } from '../core/optionNames.ts';
import { userError } from './userError.ts';

export { nearest } from '../core/optionNames.ts';

interface Names {
  readonly [name: string]: true | Names;
}
/** The names of all options of type `T`, so that none is forgotten; options that are records themselves list theirs. */
export type OptionNames<T> = { readonly [K in keyof T]-?: true | Names };

/** Throws when an options object of `owner` (`tf.matmul`, `tf.Session`) has a key that is not among `names`. */
export function checkOptions(owner: string, given: object, names: Names): void {
  checkObject(owner, given, Object.keys(names));
  for (const [key, value] of Object.entries(given ?? {})) {
    const inner = names[key];
    if (inner === undefined) throw userError(unknownOption(owner, key, Object.keys(names)));
    if (inner !== true && value !== undefined) checkOptions(`${owner}: ${key}`, value, inner);
  }
}

/** `options`, once it is sure that it has no keys but `names`. */
export function onlyOptions<T extends object>(owner: string, options: T, ...names: readonly (keyof T & string)[]): T {
  checkObject(owner, options, names);
  for (const key in options) {
    // The names are keys of T by their type; what a caller really passed may have others.
    if (!names.includes(key)) throw userError(unknownOption(owner, key, names));
  }
  return options;
}

/** Whether an argument of a function with optional positional arguments is its options object. */
export function isOptions(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** Whether a value that may be another record is the options object: it has no keys but `names`. */
export function hasOnly<O extends object>(value: unknown, ...names: readonly (keyof O & string)[]): value is O {
  return isOptions(value) && Object.keys(value).every((key) => (names as readonly string[]).includes(key));
}

/** Options of a function whose argument `key` may stand before them or among them: Python's users write both. */
export function withArgument<O extends object, K extends keyof O & string>(
  key: K,
  given: NoInfer<O[K] | O> | undefined,
  options: O,
): O {
  if (given === undefined || typeof options !== 'object' || options === null) return options; // `onlyOptions` refuses these
  // What may stand alone is no plain object.
  if (isOptions(given)) {
    if (Object.keys(options).length > 0)
      throw userError(`Two records of options were given: the ${key} stands alone before one, or in it.`);
    return given as O;
  }
  if (options[key] !== undefined) throw userError(`The ${key} was given twice: alone, and among the options.`);
  return { ...options, [key]: given };
}

/** Arguments of type `O` of which `keys` may stand in their places, before the options: all of them, the first few, or none. */
export type Placed<O, Keys extends readonly unknown[]> =
  | (Record<never, never> extends O ? [options?: O | undefined] : [options: O])
  | (Keys extends readonly [infer K extends keyof O, ...infer Rest]
      ? [argument: Exclude<O[K], undefined>, ...others: Placed<Omit<O, K>, Rest>]
      : never);

/** All of what `Placed` describes, as one record. */
export function byName<O extends object>(owner: string, given: readonly unknown[], ...keys: (keyof O & string)[]): O {
  const last = given.at(-1);
  const areLast = isOptions(last) || (last === undefined && given.length > keys.length);
  const inPlace = areLast ? given.slice(0, -1) : given;
  if (inPlace.length > keys.length)
    throw userError(
      `${owner} takes ${keys.join(', ')} in their places and the rest as an object behind them, but got ${shown(inPlace[keys.length])} there.`,
    );
  const options = isOptions(last) ? last : {};
  const twice = keys.find((key, i) => i < inPlace.length && key in options);
  if (twice !== undefined) throw userError(`${owner}: ${twice} was given twice, in its place and among the options.`);
  return { ...Object.fromEntries(inPlace.map((value, i) => [keys[i], value])), ...options } as O; // as the types ask
}

/** What a function that takes any number of arguments was given, and the options object that may stand last. */
export function splitOptions<T, O extends object>(args: readonly (T | O)[], none: O): [readonly T[], O] {
  const last = args.at(-1);
  if (!isOptions(last) || 'op' in last) return [args as readonly T[], none]; // no options among them
  return [args.slice(0, -1) as readonly T[], last as O]; // options only stand last
}

function checkObject(owner: string, given: unknown, names: readonly string[]): void {
  if (given === undefined || (typeof given === 'object' && given !== null && !Array.isArray(given))) return;
  throw userError(`${owner} takes its options as an object, as in { ${names[0]}: … }, but got ${shown(given)}.`);
}

/** A value in a message: of tensors and the like what they print as. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(shown).join(',')}]`;
  return typeof value === 'object' ? String(value) : JSON.stringify(value);
}
