/** @file Refuses options that nobody reads: a misspelt one would otherwise do nothing, and say nothing. */
import { userError } from './userError.ts';

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
    if (!(names as readonly string[]).includes(key)) throw userError(unknownOption(owner, key, names));
  }
  return options;
}

function checkObject(owner: string, given: unknown, names: readonly string[]): void {
  if (given === undefined || (typeof given === 'object' && given !== null && !Array.isArray(given))) return;
  throw userError(
    `${owner} takes its options as an object, as in { ${names[0]}: … }, but got ${JSON.stringify(given)}.`,
  );
}

function unknownOption(owner: string, key: string, known: readonly string[]): string {
  const near = nearest(key, known);
  const remedy = near === undefined ? `The options are: ${known.join(', ')}.` : `Did you mean '${near}'?`;
  return `${owner} has no option '${key}'. ${remedy}`;
}

/** The name that `given` most likely misspells: the fewest edits away, and at most about a third of it. */
export function nearest(given: string, known: readonly string[]): string | undefined {
  const plain = (text: string) => text.replaceAll('_', '').toLowerCase();
  let best: string | undefined;
  let fewest = given.length < 4 ? 2 : Math.max(3, given.length / 3 + 1);
  for (const name of known) {
    const edits = distance(plain(given), plain(name));
    if (edits < fewest) [best, fewest] = [name, edits];
  }
  return best;
}

/** How many letters must be inserted, removed, replaced or swapped with their neighbour to turn one text into the other. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      let edits = Math.min(above[j]! + 1, row[j - 1]! + 1, above[j - 1]! + change);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) edits = Math.min(edits, before[j - 2]! + 1);
      row.push(edits);
    }
    [before, above] = [above, row];
  }
  return above[b.length]!;
}
