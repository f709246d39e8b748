/** @file Kinds of flags: how their text is read, checked and written. */
import { InvalidArgumentError } from '../core/errors.ts';

/** What a flag can hold. */
export type FlagContent = string | number | boolean | readonly (string | number)[] | null;

/** How the text of a flag becomes a value. */
export interface FlagType<T extends FlagContent> {
  /** Throws an error that says what is wrong with the text. */
  parse(text: string): T;
  /** The value as it would be written after `--name=`. */
  show(value: T): string;
  /** What kind of text is expected, for `--help`. */
  readonly syntax: string;
  readonly isBoolean?: boolean;
  /** Given several times, its values are collected. */
  readonly isMulti?: boolean;
}

export interface Bounds {
  readonly lowerBound?: number | undefined;
  readonly upperBound?: number | undefined;
}

function boundsWords({ lowerBound, upperBound }: Bounds, kind: string): string {
  const one = `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`;
  if (lowerBound !== undefined && upperBound !== undefined) return `${one} in the range [${lowerBound}, ${upperBound}]`;
  if (lowerBound === 0) return `a non-negative ${kind}`;
  if (lowerBound === 1 && kind === 'integer') return `a positive ${kind}`;
  if (upperBound === 0) return `a non-positive ${kind}`;
  if (lowerBound !== undefined) return `${one} greater than or equal to ${lowerBound}`;
  if (upperBound !== undefined) return `${one} less than or equal to ${upperBound}`;
  return one;
}

function numeric(kind: 'integer' | 'number', pattern: RegExp, bounds: Bounds): FlagType<number> {
  const syntax = boundsWords(bounds, kind);
  return {
    syntax,
    show: String,
    parse(text) {
      const value = Number(text);
      if (text.trim() === '' || !pattern.test(text.trim()) || Number.isNaN(value)) {
        throw new InvalidArgumentError(`'${text}' is not ${boundsWords({}, kind)}`);
      }
      if (value < (bounds.lowerBound ?? -Infinity) || value > (bounds.upperBound ?? Infinity)) {
        throw new InvalidArgumentError(`${text} is not ${syntax}`);
      }
      return value;
    },
  };
}

export const stringType: FlagType<string> = { parse: (text) => text, show: (value) => value, syntax: '' };

export const integerType = (bounds: Bounds = {}): FlagType<number> =>
  numeric('integer', /^[+-]?(\d+|0[xX][\da-fA-F]+|0[bB][01]+|0[oO][0-7]+)$/, bounds);

export const floatType = (bounds: Bounds = {}): FlagType<number> =>
  numeric('number', /^[+-]?(\d+\.?\d*(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?|Infinity)$/i, bounds);

export const booleanType: FlagType<boolean> = {
  isBoolean: true,
  syntax: '',
  show: (value) => String(value),
  parse(text) {
    const lower = text.toLowerCase();
    if (['true', 't', '1', 'yes', 'y'].includes(lower)) return true;
    if (['false', 'f', '0', 'no', 'n'].includes(lower)) return false;
    throw new InvalidArgumentError(`Non-boolean argument to boolean flag: '${text}'`);
  },
};

export function enumType<const V extends string>(
  values: readonly V[],
  options: { readonly caseSensitive?: boolean | undefined } = {},
): FlagType<V> {
  if (values.length === 0) throw new InvalidArgumentError('An enum flag needs at least one value.');
  const same = (a: string, b: string) =>
    (options.caseSensitive ?? true) ? a === b : a.toLowerCase() === b.toLowerCase();
  return {
    syntax: '',
    show: (value) => value,
    parse(text) {
      const found = values.find((value) => same(value, text));
      if (found === undefined) throw new InvalidArgumentError(`value should be one of <${values.join('|')}>`);
      return found;
    },
  };
}

export const listType: FlagType<readonly string[]> = {
  syntax: 'a comma separated list',
  show: (value) => value.join(','),
  parse: (text) => (text === '' ? [] : text.split(',').map((part) => part.trim())),
};

export const spaceListType: FlagType<readonly string[]> = {
  syntax: 'a whitespace separated list',
  show: (value) => value.join(' '),
  parse: (text) => text.split(/\s+/).filter((part) => part !== ''),
};

/** A flag that may be given several times. */
export function multiType<T extends string | number>(each: FlagType<T>): FlagType<readonly T[]> {
  return {
    isMulti: true,
    syntax: each.syntax,
    show: (values) => values.map((value) => each.show(value)).join(','),
    parse: (text) => [each.parse(text)],
  };
}
