/** @file `tf.flags`: parameters of a program from its command line. */
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NotFoundError } from '../core/errors.ts';
import { fileError } from '../io/fileErrors.ts';
import { makeFoldersNow } from '../io/folders.ts';
import { localPath } from '../io/paths.ts';
import { helpText } from './flagHelp.ts';
import { FlagRegistry } from './flagRegistry.ts';
import {
  type Bounds,
  booleanType,
  enumType,
  type FlagContent,
  type FlagType,
  floatType,
  integerType,
  listType,
  multiType,
  spaceListType,
  stringType,
} from './flagTypes.ts';

export { FlagsError } from './flagRegistry.ts';
export type { FlagContent } from './flagTypes.ts';

const registry = new FlagRegistry();

/** A flag as its definition gives it: its value has the flag's own type. */
export interface FlagHolder<T> {
  readonly name: string;
  readonly default: T;
  /** The value; the command line is read when the first one is asked for. */
  readonly value: T;
  /** Whether the command line gave it. */
  readonly present: boolean;
}

export interface FlagOptions {
  /** A name of one letter. */
  readonly shortName?: string | undefined;
}

/** This file, or the one that it was joined into; V8 names files by path or by URL. */
const own = [import.meta.url, fileURLToPath(import.meta.url)];

/** The file in which a flag is defined. */
function definingFile(): string {
  const isOwn = (line: string) => own.some((file) => line.includes(`${file}:`));
  const frame = (new Error().stack ?? '').split('\n').find((line, i) => i > 0 && !isOwn(line));
  return /([^\\/(]+):\d+:\d+\)?$/.exec(frame ?? '')?.[1] ?? basename(process.argv[1] ?? 'main');
}

/** A flag whose default may be null, and whose value may be null then. */
type Holder<T, D> = FlagHolder<T | Extract<D, null>>;

function define<T extends Exclude<FlagContent, null>, D extends T | null>(
  type: FlagType<T>,
  name: string,
  defaultValue: D,
  help: string,
  options: FlagOptions = {},
): Holder<T, D> {
  const flag = registry.define({
    name,
    shortName: options.shortName,
    help: type.isMulti ? `${help};\n    repeat this option to specify a list of values` : help,
    type: type as FlagType<never> as FlagType<FlagContent>, // it reads and shows only values that it made itself, or the default
    defaultValue,
    file: definingFile(),
  });
  return {
    name,
    default: defaultValue as T | Extract<D, null>, // null only where the default is
    get value() {
      return registry.value(name) as T | Extract<D, null>; // made by this type, or the default
    },
    get present() {
      return flag.present;
    },
  };
}

/**
 * A flag that holds text.
 *
 * @example const logdir = tf.flags.defineString('logdir', '/tmp/logs', 'Where the logs go.'); // logdir.value
 */
export function defineString<D extends string | null>(
  name: string,
  value: D,
  help: string,
  options?: FlagOptions,
): Holder<string, D> {
  return define(stringType, name, value, help, options);
}

/** A flag that holds a whole number. */
export function defineInteger<D extends number | null>(
  name: string,
  value: D,
  help: string,
  options: FlagOptions & Bounds = {},
): Holder<number, D> {
  return define(integerType(options), name, value, help, options);
}

/** A flag that holds a number. */
export function defineFloat<D extends number | null>(
  name: string,
  value: D,
  help: string,
  options: FlagOptions & Bounds = {},
): Holder<number, D> {
  return define(floatType(options), name, value, help, options);
}

/** A flag that is on or off: `--name`, `--noname`, `--name=false`. */
export function defineBoolean<D extends boolean | null>(
  name: string,
  value: D,
  help: string,
  options?: FlagOptions,
): Holder<boolean, D> {
  return define(booleanType, name, value, help, options);
}

/** A flag that holds one of several texts. */
export function defineEnum<const V extends string, D extends V | null>(
  name: string,
  value: D,
  values: readonly V[],
  help: string,
  options: FlagOptions & { readonly caseSensitive?: boolean | undefined } = {},
): Holder<V, D> {
  const described = `<${values.join('|')}>: ${help}`;
  return define(enumType(values, options), name, value, described, options);
}

/** A flag that holds texts with commas between them. */
export function defineList(
  name: string,
  value: readonly string[] | null,
  help: string,
  options?: FlagOptions,
): FlagHolder<readonly string[]> {
  return define(listType, name, value ?? [], help, options);
}

/** A flag that holds texts with spaces between them. */
export function defineSpaceseplist(
  name: string,
  value: readonly string[] | null,
  help: string,
  options?: FlagOptions,
): FlagHolder<readonly string[]> {
  return define(spaceListType, name, value ?? [], help, options);
}

/** A flag that may be given several times, with text. */
export function defineMultiString(
  name: string,
  value: readonly string[] | null,
  help: string,
  options?: FlagOptions,
): FlagHolder<readonly string[]> {
  return define(multiType(stringType), name, value ?? [], help, options);
}

/** A flag that may be given several times, with whole numbers. */
export function defineMultiInteger(
  name: string,
  value: readonly number[] | null,
  help: string,
  options: FlagOptions & Bounds = {},
): FlagHolder<readonly number[]> {
  return define(multiType(integerType(options)), name, value ?? [], help, options);
}

/** A flag that may be given several times, with numbers. */
export function defineMultiFloat(
  name: string,
  value: readonly number[] | null,
  help: string,
  options: FlagOptions & Bounds = {},
): FlagHolder<readonly number[]> {
  return define(multiType(floatType(options)), name, value ?? [], help, options);
}

/** A flag that may be given several times, with one of several texts. */
export function defineMultiEnum<const V extends string>(
  name: string,
  value: readonly V[] | null,
  values: readonly V[],
  help: string,
  options?: FlagOptions,
): FlagHolder<readonly V[]> {
  const described = `<${values.join('|')}>: ${help}`;
  return define(multiType(enumType(values)), name, value ?? [], described, options);
}

/** The value of every flag by its name; assigning sets it. The command line is read when the first one is asked for. */
export const FLAGS: Record<string, FlagContent> = new Proxy<Record<string, FlagContent>>(
  {},
  {
    get: (_, name) => (typeof name === 'string' ? registry.value(name) : undefined),
    set(_, name, value: FlagContent) {
      registry.set(String(name), value);
      return true;
    },
    has: (_, name) => typeof name === 'string' && registry.find(name) !== undefined,
    ownKeys: () => registry.all().map((flag) => flag.name),
    getOwnPropertyDescriptor: (_, name) =>
      registry.find(String(name)) && { enumerable: true, configurable: true, value: registry.value(String(name)) },
  },
);

/** Reads a command line, without the program's name; gives what is left after the flags. */
export function parse(args: readonly string[] = process.argv.slice(2)): readonly string[] {
  return registry.parse(args);
}

/** What was left of the command line after the flags. */
export function remainingArguments(): readonly string[] {
  return registry.arguments;
}

/** A run without this flag is refused. */
export function markFlagAsRequired(name: string): void {
  registry.validator([name], `Flag --${name} must have a value other than None.`, (values) => values[name] !== null);
}

/** A run without any of these flags is refused. */
export function markFlagsAsRequired(names: readonly string[]): void {
  for (const name of names) markFlagAsRequired(name);
}

/** A run in which `check` is false for the flag's value is refused with the message. */
export function registerValidator(
  name: string,
  check: (value: FlagContent) => boolean,
  message = 'Flag validation failed',
): void {
  registry.validator([name], message, (values) => check(values[name] ?? null));
}

/** A run in which `check` is false for the flags' values is refused with the message. */
export function registerMultiFlagsValidator(
  names: readonly string[],
  check: (values: Readonly<Record<string, FlagContent>>) => boolean,
  message = 'Flags validation failed',
): void {
  registry.validator(names, message, check);
}

/** All flags with their explanations, as `--help` prints them. */
export function flagsHelp(): string {
  return helpText(registry.all());
}

/** The flags that are set, one in a line, as `--flagfile` reads them. */
export function flagsIntoString(): string {
  const lines = registry.all().flatMap(({ name, type, value }) => {
    if (value === null) return [];
    if (type.isBoolean) return [value ? `--${name}` : `--no${name}`];
    if (type.isMulti && Array.isArray(value)) return value.map((one) => `--${name}=${one}`);
    return [`--${name}=${type.show(value)}`];
  });
  return lines.map((line) => `${line}\n`).join('');
}

/**
 * Writes the parameters of a run beside its logs: `parameters.json` for people and programs, and `flags.txt`, with which
 * `--flagfile=flags.txt` repeats the run. `extra` is recorded as well.
 *
 * @example tf.flags.recordParameters('/tmp/logs/run1');
 */
export function recordParameters(folder: string, extra: Readonly<Record<string, unknown>> = {}): void {
  const flags = Object.fromEntries(registry.all().map(({ name }) => [name, registry.value(name)]));
  const record = {
    flags,
    ...extra,
    arguments: registry.arguments,
    command: process.argv,
    folder: process.cwd(),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    started: new Date().toISOString(),
  };
  try {
    const local = localPath(folder);
    makeFoldersNow(local);
    writeFileSync(join(local, 'parameters.json'), `${JSON.stringify(record, null, 2)}\n`);
    writeFileSync(join(local, 'flags.txt'), flagsIntoString());
  } catch (error) {
    throw fileError(error, folder);
  }
}

/** All flags have their default values again, and the command line is read again. */
export function resetFlags(): void {
  registry.reset();
}

/** Forgets all flags, for tests. */
export function clearFlags(): void {
  registry.clear();
}

/** Whether a flag of that name is defined. */
export function isDefined(name: string): boolean {
  return registry.find(name) !== undefined;
}

/** What is known of a flag. */
export function flagOf(name: string): FlagHolder<FlagContent> {
  const flag = registry.find(name);
  if (!flag) throw new NotFoundError(`There is no flag '${name}'.`);
  return { name: flag.name, default: flag.defaultValue, value: registry.value(name), present: flag.present };
}
