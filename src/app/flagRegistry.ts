/** @file The flags of a program: defined, read from the command line, asked for. */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { AlreadyExistsError, InvalidArgumentError, NotFoundError } from '../core/errors.ts';
import { fileError } from '../io/fileErrors.ts';
import type { FlagContent, FlagType } from './flagTypes.ts';
import { nearest } from './nearest.ts';

/** A command line that makes no sense. */
export class FlagsError extends InvalidArgumentError {}

/** One flag. */
export interface Flag {
  readonly name: string;
  readonly shortName: string | undefined;
  readonly help: string;
  readonly type: FlagType<FlagContent>;
  readonly defaultValue: FlagContent;
  /** The file that defined it. */
  readonly file: string;
  value: FlagContent;
  /** Whether the command line gave it. */
  present: boolean;
}

interface Validator {
  readonly names: readonly string[];
  readonly message: string;
  check(values: Readonly<Record<string, FlagContent>>): boolean;
}

/** Names may be written with `-` or `_`. */
const plain = (name: string) => name.replaceAll('-', '_');

/** All flags of a program. */
export class FlagRegistry {
  private readonly flags = new Map<string, Flag>();
  private validators: Validator[] = [];
  private isParsed = false;
  /** What was left of the command line after its flags. */
  arguments: readonly string[] = [];

  define(flag: Omit<Flag, 'value' | 'present'>): Flag {
    for (const name of [flag.name, flag.shortName]) {
      if (name === undefined) continue;
      if (!/^[A-Za-z][\w-]*$/.test(name)) throw new InvalidArgumentError(`'${name}' cannot be the name of a flag.`);
      const other = this.find(name);
      if (other) {
        throw new AlreadyExistsError(
          `The flag '${name}' is defined twice. First from ${other.file}, Second from ${flag.file}.  ` +
            `Description from first occurrence: ${other.help}`,
        );
      }
    }
    const made = { ...flag, value: flag.defaultValue, present: false };
    this.flags.set(plain(flag.name), made);
    if (flag.shortName) this.flags.set(flag.shortName, made);
    return made;
  }

  find(name: string): Flag | undefined {
    return this.flags.get(plain(name));
  }

  /** All flags in order of their names. */
  all(): Flag[] {
    return [...new Set(this.flags.values())].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The flag's value. The command line is read when the first one is asked for. */
  value(name: string): FlagContent {
    const flag = this.find(name);
    if (!flag) throw new NotFoundError(`There is no flag '${name}'.${this.hint(name)}`);
    if (!this.isParsed) this.parse(process.argv.slice(2));
    return flag.value;
  }

  /** Sets a flag from within the program. */
  set(name: string, value: FlagContent): void {
    const flag = this.find(name);
    if (!flag) throw new NotFoundError(`There is no flag '${name}'.${this.hint(name)}`);
    flag.value = value;
    this.validate([flag.name]);
  }

  validator(names: readonly string[], message: string, check: Validator['check']): void {
    for (const name of names)
      if (!this.find(name)) throw new NotFoundError(`There is no flag '${name}'.${this.hint(name)}`);
    this.validators.push({ names, message, check });
    if (this.isParsed) this.validate(names);
  }

  /** Back to the default values; the command line is read again when a value is asked for. */
  reset(): void {
    for (const flag of this.all()) Object.assign(flag, { value: flag.defaultValue, present: false });
    this.isParsed = false;
    this.arguments = [];
  }

  /** Forgets all flags. */
  clear(): void {
    this.flags.clear();
    this.validators = [];
    this.isParsed = false;
    this.arguments = [];
  }

  private hint(name: string): string {
    const near = nearest(
      plain(name),
      this.all().map((flag) => flag.name),
    );
    return near === undefined ? '' : ` Did you mean: ${near} ?`;
  }

  /**
   * Reads a command line (without the program's name) and gives what is not a flag. Flags end at the first other argument
   * or at `--`.
   */
  parse(args: readonly string[]): readonly string[] {
    this.isParsed = true;
    this.arguments = this.parseAll([...args]);
    this.validate();
    return this.arguments;
  }

  private parseAll(left: string[]): string[] {
    while (left.length > 0) {
      const arg = left[0]!;
      if (arg === '--') return left.slice(1);
      const match = /^--?([^=-][^=]*)(?:=([\s\S]*))?$/.exec(arg);
      if (!match) return left;
      left.shift();
      const name = match[1]!;
      const text = match[2];
      if (name === 'flagfile') this.readFlagFile(text ?? left.shift());
      else this.parseFlag(name, text, left);
    }
    return left;
  }

  private parseFlag(name: string, text: string | undefined, left: string[]): void {
    const flag = this.find(name);
    const negated = flag ? undefined : this.find(name.replace(/^no/, ''));
    if (negated?.type.isBoolean && name.startsWith('no')) {
      if (text !== undefined) throw new FlagsError(`--${name} does not take an argument`);
      this.assign(negated, 'false');
    } else if (!flag) throw new FlagsError(`Unknown command line flag '${name}'.${this.hint(name)}`);
    else if (flag.type.isBoolean) this.assign(flag, text ?? 'true');
    else {
      const given = text ?? left.shift();
      if (given === undefined) throw new FlagsError(`Missing value for flag --${name}`);
      this.assign(flag, given);
    }
  }

  private assign(flag: Flag, text: string): void {
    try {
      const value = flag.type.parse(text);
      const isMore = flag.type.isMulti === true && flag.present && Array.isArray(flag.value);
      flag.value = isMore ? ([...(flag.value as []), ...(value as [])] as readonly string[]) : value; // both are lists
      flag.present = true;
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      throw new FlagsError(`flag --${flag.name}=${text}: ${error.message}`, { cause: error });
    }
  }

  /** A file with one flag in a line, as `tf.flags.flagsIntoString` writes it. */
  private readFlagFile(path: string | undefined): void {
    if (path === undefined) throw new FlagsError('Missing value for flag --flagfile');
    let text: string;
    try {
      text = readFileSync(path, 'utf8');
    } catch (error) {
      const cause = fileError(error, path);
      throw new FlagsError(`Unable to open flagfile: ${cause instanceof Error ? cause.message : path}`, { cause });
    }
    const lines = text.split('\n').map((line) => line.trim());
    const rest = this.parseAll(lines.filter((line) => line !== '' && !/^(#|\/\/)/.test(line)));
    if (rest.length > 0) throw new FlagsError(`${basename(path)}: '${rest[0]}' is not a flag`);
  }

  private validate(names?: readonly string[]): void {
    for (const validator of this.validators) {
      if (names && !validator.names.some((name) => names.includes(name))) continue;
      const values = Object.fromEntries(validator.names.map((name) => [name, this.find(name)!.value]));
      if (validator.check(values)) continue;
      const shown = validator.names.map((name) => `--${name}=${this.find(name)!.value ?? 'None'}`);
      throw new FlagsError(`flag${shown.length > 1 ? 's' : ''} ${shown.join(', ')}: ${validator.message}`);
    }
  }
}
