/** @file RE2's regular expressions as JavaScript's: the same matches, and RE2's words for patterns it refuses. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { escapedBytes } from './text.ts';

/** Why RE2 does not take a pattern. */
class Refused extends Error {}

const classes: Readonly<Record<string, string>> = {
  alnum: 'A-Za-z0-9',
  alpha: 'A-Za-z',
  ascii: '\\x00-\\x7f',
  blank: '\\t ',
  cntrl: '\\x00-\\x1f\\x7f',
  digit: '0-9',
  graph: '!-~',
  lower: 'a-z',
  print: ' -~',
  punct: '!-\\/:-@\\[-`\\{-~',
  space: '\\t\\n\\v\\f\\r ',
  upper: 'A-Z',
  word: '\\w',
  xdigit: '0-9A-Fa-f',
};
/** The complements of these classes, which have no escape of their own. */
const notSpace = '\\x00-\\x08\\x0b\\x0e-\\x1f!-\\u{10ffff}';

const syntax = /[\^$\\.*+?()[\]{}|/]/;
/** A literal character, written so that it means itself. */
const literal = (character: string, inClass: boolean): string =>
  syntax.test(character) || (inClass && character === '-') ? `\\${character}` : character;

/** Reads a pattern from left to right and writes it anew. */
class Translator {
  private at = 0;
  private depth = 0;
  flags = 'u';
  constructor(private readonly pattern: string) {}

  translate(): string {
    let out = '';
    // Whether something stands before the next piece that a `*` could repeat.
    let repeatable = false;
    while (this.at < this.pattern.length) {
      const rest = this.pattern.slice(this.at);
      const operator = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??/.exec(rest)?.[0];
      if (operator !== undefined) {
        if (!repeatable) throw new Refused(`no argument for repetition operator: ${operator}`);
        out += this.repetition(operator);
        continue;
      }
      const character = rest[0]!;
      repeatable = character !== '(' && character !== '|';
      if (character === '(') out += this.open(rest);
      else if (character === ')') out += this.close();
      else if (character === '[') out += this.bracket();
      else if (character === '\\') out += this.escape(false);
      else out += this.plain(rest);
    }
    if (this.depth > 0) throw new Refused(`missing ): ${this.pattern}`);
    return out;
  }

  private plain(rest: string): string {
    const [character] = rest;
    this.at += character!.length;
    if (character === '.') return this.flags.includes('s') ? `[^${escapedBytes}]` : `[^\\n${escapedBytes}]`;
    if (character === '^' || character === '$' || character === '|') return character;
    return literal(character!, false);
  }

  private repetition(operator: string): string {
    const after = this.pattern.slice(this.at + operator.length);
    const second = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??/.exec(after)?.[0];
    if (second !== undefined) throw new Refused(`bad repetition operator: ${operator}${second}`);
    const [, least, most] = /^\{(\d+)(?:,(\d*))?\}/.exec(operator) ?? [];
    if (
      least !== undefined &&
      (Number(least) > 1000 || (most && (Number(most) > 1000 || Number(most) < Number(least))))
    )
      throw new Refused(`invalid repetition size: ${operator.replace(/\?$/, '')}`);
    this.at += operator.length;
    return operator;
  }

  private open(rest: string): string {
    const flags = /^\(\?([imsU]*)(-[imsU]*)?([:)])/.exec(rest);
    if (flags && (flags[1] !== '' || flags[2] !== undefined || flags[3] === ')')) return this.setFlags(flags, rest);
    const named = /^\(\?P<(\w+)>/.exec(rest);
    if (!named && rest.startsWith('(?') && !rest.startsWith('(?:'))
      throw new Refused(`invalid perl operator: ${rest.slice(0, 3)}`);
    this.depth++;
    const head = named ? named[0] : rest.startsWith('(?:') ? '(?:' : '(';
    this.at += head.length;
    return named ? `(?<${named[1]}>` : head;
  }

  /** Flags for the whole pattern; JavaScript has none for a part of it. */
  private setFlags(match: RegExpExecArray, rest: string): string {
    if (this.at !== 0 || match[1]!.includes('U') || match[3] === ':')
      throw new Refused(`flags are only supported at the beginning of a pattern: ${rest.slice(0, match[0].length)}`);
    this.flags += match[1];
    this.at += match[0].length;
    return '';
  }

  private close(): string {
    if (this.depth === 0) throw new Refused(`unexpected ): ${this.pattern}`);
    this.depth--;
    this.at++;
    return ')';
  }

  private bracket(): string {
    const start = this.at;
    this.at++;
    let out = '[';
    if (this.pattern[this.at] === '^') {
      out += '^';
      this.at++;
    }
    for (let first = true; ; first = false) {
      const rest = this.pattern.slice(this.at);
      if (rest === '') throw new Refused(`missing ]: ${this.pattern.slice(start)}`);
      if (rest[0] === ']' && !first) break;
      const posix = /^\[:(\^?)(\w+):\]/.exec(rest);
      if (posix) out += this.posix(posix);
      else out += this.classPart(rest);
    }
    this.at++;
    // An escaped byte is no character, so no class contains it; a negated one must say so.
    return `${out.startsWith('[^') ? out + escapedBytes : out}]`;
  }

  private posix([whole, negated, name]: RegExpExecArray): string {
    const found = classes[name!];
    if (found === undefined || negated) throw new Refused(`invalid character class range: ${whole}`);
    this.at += whole.length;
    return found;
  }

  /** One member of a class, or a range of them. */
  private classPart(rest: string): string {
    const range = /^([^\\\]])-([^\\\]])/u.exec(rest);
    if (range && range[1]! > range[2]!) throw new Refused(`invalid character class range: ${range[0]}`);
    if (range) {
      this.at += range[0].length;
      return `${literal(range[1]!, true)}-${literal(range[2]!, true)}`;
    }
    if (rest[0] === '\\') return this.escape(true);
    // A dash between two members makes a range; at either end it is itself.
    if (rest[0] === '-' && rest[1] !== ']' && this.pattern[this.at - 1] !== '[' && this.pattern[this.at - 1] !== '^') {
      this.at++;
      return '-';
    }
    const [character] = rest;
    this.at += character!.length;
    return literal(character!, true);
  }

  private escape(inClass: boolean): string {
    const rest = this.pattern.slice(this.at);
    if (rest.length === 1) throw new Refused('trailing \\');
    const take = (text: string, out: string) => {
      this.at += text.length;
      return out;
    };
    const quoted = /^\\Q(.*?)(?:\\E|$)/s.exec(rest);
    if (quoted) return take(quoted[0], [...quoted[1]!].map((c) => literal(c, inClass)).join(''));
    const property = /^\\([pP])(?:(\w)|\{(\^?)(\w+)\})/.exec(rest);
    if (property) {
      const negated = (property[1] === 'P') !== (property[3] === '^');
      const name = property[2] ?? property[4]!;
      return take(property[0], `\\${negated ? 'P' : 'p'}{${name.length <= 2 ? name : `Script=${name}`}}`);
    }
    const hex = /^\\x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]+)\})/.exec(rest);
    if (hex) return take(hex[0], `\\u{${hex[1] ?? hex[2]}}`);
    const octal = /^\\(0[0-7]{0,2}|[1-7][0-7]{1,2})/.exec(rest);
    if (octal) return take(octal[0], `\\u{${Number.parseInt(octal[1]!, 8).toString(16)}}`);
    const character = [...rest.slice(1)][0]!;
    const both = `\\${character}`;
    if (character === 's') return take(both, inClass ? '\\t\\n\\f\\r ' : '[\\t\\n\\f\\r ]');
    if (character === 'S') return take(both, inClass ? notSpace : `[${notSpace}]`);
    if (character === 'a') return take(both, '\\x07');
    if (/[dDwWfnrtv]/.test(character)) return take(both, both);
    if (!inClass && /[bB]/.test(character)) return take(both, both);
    if (!inClass && character === 'A') return take(both, '(?<![^])');
    if (!inClass && character === 'z') return take(both, '(?![^])');
    if (/[0-9A-Za-z]/.test(character)) throw new Refused(`invalid escape sequence: ${both}`);
    return take(both, literal(character, inClass));
  }
}

/** The expression for an RE2 pattern; `whole` makes it match whole strings only. */
export function compile(pattern: string, whole = false): RegExp {
  try {
    const translator = new Translator(pattern);
    const source = translator.translate();
    return new RegExp(whole ? `(?<![^])(?:${source})(?![^])` : source, `${translator.flags}g`);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new InvalidArgumentError(`Invalid pattern: ${pattern}, error: ${why}`);
  }
}

/** What a match is replaced by, taken apart once for all matches. */
export class Rewrite {
  /** Text, and between two texts the number of a group; NaN for a reference that means nothing. */
  private readonly parts: readonly (string | number)[];

  /** `\0` to `\9` stand for the match and its groups, `\\` for a backslash. */
  constructor(readonly source: string) {
    const pieces = source.split(/\\([\s\S]?)/);
    this.parts = pieces.map((piece, i) =>
      i % 2 === 0 || piece === '\\' ? piece : /^\d$/.test(piece) ? Number(piece) : Number.NaN,
    );
  }

  /** The replacement for a match; RE2 gives up at a reference that means nothing. */
  of(match: RegExpExecArray): string | undefined {
    let text = '';
    for (const part of this.parts) {
      if (typeof part === 'string') text += part;
      else if (part < match.length) text += match[part] ?? '';
      else return undefined;
    }
    return text;
  }
}

/** The text with its matches rewritten: all of them, or the first. */
export function replaceMatches(text: string, expression: RegExp, rewrite: Rewrite, all: boolean): string {
  let out = '';
  let end = 0;
  let lastMatchEnd = -1;
  expression.lastIndex = 0;
  for (let match = expression.exec(text); match; match = expression.exec(text)) {
    const [found] = match;
    // RE2 takes no empty match right behind another match.
    if (found !== '' || match.index !== lastMatchEnd) {
      const replacement = rewrite.of(match);
      if (replacement === undefined) return /\\(?!\d)/.test(rewrite.source) ? out : text;
      out += text.slice(end, match.index) + replacement;
      end = lastMatchEnd = match.index + found.length;
      if (!all) break;
    }
    if (found === '') expression.lastIndex += (text.codePointAt(expression.lastIndex) ?? 0) > 0xffff ? 2 : 1;
  }
  return out + text.slice(end);
}
