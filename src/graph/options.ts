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

function checkObject(owner: string, given: unknown, names: readonly string[]): void {
  if (given === undefined || (typeof given === 'object' && given !== null && !Array.isArray(given))) return;
  throw userError(
    `${owner} takes its options as an object, as in { ${names[0]}: … }, but got ${JSON.stringify(given)}.`,
  );
}
