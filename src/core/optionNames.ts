/** @file Names of options: what to say of one that is not known, for it is most likely misspelt. */
import { InvalidArgumentError } from './errors.ts';

/** `options`, once it is sure that it has no keys but `names`; for what knows nothing of graphs. */
export function knownOptions<T extends object>(owner: string, options: T, names: readonly (keyof T & string)[]): T {
  if (typeof options !== 'object' || Array.isArray(options))
    throw new InvalidArgumentError(
      `${owner} takes its options as an object, but got ${JSON.stringify(options)}. The options are: ${names.join(', ')}.`,
    );
  for (const key of Object.keys(options ?? {}))
    if (!(names as readonly string[]).includes(key)) throw new InvalidArgumentError(unknownOption(owner, key, names));
  return options;
}

/** What to say of an option that `owner` does not have. */
export function unknownOption(owner: string, key: string, known: readonly string[]): string {
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
