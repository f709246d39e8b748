/** @file `tf.logging`: messages to people, above a level that can be set, on standard error. */
import { InvalidArgumentError } from './errors.ts';

export const DEBUG = 10;
export const INFO = 20;
export const WARN = 30;
export const ERROR = 40;
export const FATAL = 50;

const names: Readonly<Record<number, string>> = {
  [DEBUG]: 'DEBUG',
  [INFO]: 'INFO',
  [WARN]: 'WARNING',
  [ERROR]: 'ERROR',
  [FATAL]: 'CRITICAL',
};

/** Where lines go and what they look like. */
const settings = {
  verbosity: WARN as number,
  format: 'tensorflow' as 'tensorflow' | 'absl',
  write: (line: string): void => void process.stderr.write(line),
};

/** How many times a place with a limit has been reached. */
const counts = new Map<string, number>();

/** The level from which on messages are shown; `tf.logging.WARN` to begin with. */
export function getVerbosity(): number {
  return settings.verbosity;
}

/** Shows messages of this level and above: a number, or a name such as `'INFO'`. */
export function setVerbosity(level: number | string): void {
  const found = typeof level === 'number' ? level : levelOf(level);
  if (found === undefined) {
    throw new InvalidArgumentError(`'${level}' is no level; use DEBUG, INFO, WARN, ERROR or FATAL.`);
  }
  settings.verbosity = found;
}

function levelOf(name: string): number | undefined {
  return { DEBUG, INFO, WARN, WARNING: WARN, ERROR, FATAL, CRITICAL: FATAL }[name.toUpperCase()];
}

/** What lines look like: `INFO:tensorflow:message`, or absl's `I0131 17:05:09.123456 4242 file.ts:12] message`. */
export function setFormat(format: 'tensorflow' | 'absl'): void {
  settings.format = format;
}

/** Sends lines elsewhere: to a file, or to a test. Without a function they go to standard error again. */
export function setTarget(write?: (line: string) => void): void {
  settings.write = write ?? ((line) => void process.stderr.write(line));
}

/** `message` with its `%s`, `%d`, `%f`, `%.3f`, `%e`, `%g`, `%x`, `%r` and `%%` filled in, as Python does. */
function formatMessage(message: string, args: readonly unknown[]): string {
  if (args.length === 0) return message;
  let next = 0;
  const text = message.replace(/%(-?)(0?)(\d*)(?:\.(\d+))?([sdifegxr%])/g, (whole, left, zero, width, digits, kind) => {
    if (kind === '%') return '%';
    if (next >= args.length) return whole;
    const shown = show(args[next++], kind, digits === undefined ? undefined : Number(digits));
    const size = Number(width || 0);
    return left ? shown.padEnd(size) : shown.padStart(size, zero || ' ');
  });
  return [text, ...args.slice(next).map(String)].join(' ');
}

function show(value: unknown, kind: string, digits: number | undefined): string {
  if (kind === 's') return String(value);
  if (kind === 'r') return typeof value === 'string' ? `'${value}'` : String(value);
  const number = Number(value);
  if (kind === 'd' || kind === 'i') return typeof value === 'bigint' ? String(value) : String(Math.trunc(number));
  if (kind === 'x') return Math.trunc(number).toString(16);
  if (kind === 'e') return exponent(number.toExponential(digits ?? 6));
  if (kind === 'g') return exponent(String(Number(number.toPrecision(digits || 6))));
  return number.toFixed(digits ?? 6);
}

/** Exponents have two digits at least, as C writes them. */
const exponent = (text: string) => text.replace(/e([+-])(\d)$/, 'e$10$2');

/** The first line of the stack that does not belong to this file. */
function callerPlace(): string {
  const frames = (new Error().stack ?? '').split('\n').slice(1);
  const caller = frames.find((frame) => !/core[\\/]logging\.[jt]s/.test(frame));
  const match = /([^\\/(]+):(\d+):\d+\)?$/.exec(caller ?? '');
  return match ? `${match[1]}:${match[2]}` : 'unknown:0';
}

function prefix(level: number): string {
  const name = names[level] ?? `Level ${level}`;
  if (settings.format === 'tensorflow') return `${name}:tensorflow:`;
  const now = new Date();
  const two = (n: number, width = 2) => String(n).padStart(width, '0');
  const day = `${two(now.getMonth() + 1)}${two(now.getDate())}`;
  const time = `${two(now.getHours())}:${two(now.getMinutes())}:${two(now.getSeconds())}.${two(now.getMilliseconds(), 3)}000`;
  const letter = level >= FATAL ? 'F' : name[0]!;
  return `${letter}${day} ${time} ${process.pid} ${callerPlace()}] `;
}

/** A message of any level; `%s`, `%d`, `%.2f` … take the values that follow it. */
export function log(level: number, message: string, ...args: readonly unknown[]): void {
  if (level < settings.verbosity) return;
  settings.write(`${prefix(level)}${formatMessage(message, args)}\n`);
}

/** A message of level `DEBUG`. */
export function debug(message: string, ...args: readonly unknown[]): void {
  log(DEBUG, message, ...args);
}
/** A message of level `INFO`. */
export function info(message: string, ...args: readonly unknown[]): void {
  log(INFO, message, ...args);
}
/** A message of level `WARN`. */
export function warn(message: string, ...args: readonly unknown[]): void {
  log(WARN, message, ...args);
}
/** A message of level `ERROR`. */
export function error(message: string, ...args: readonly unknown[]): void {
  log(ERROR, message, ...args);
}
/** A message of level `FATAL`. The program goes on. */
export function fatal(message: string, ...args: readonly unknown[]): void {
  log(FATAL, message, ...args);
}
/** As `log`, by an older name. */
export function vlog(level: number, message: string, ...args: readonly unknown[]): void {
  log(level, message, ...args);
}

function timesReached(): number {
  const place = (new Error().stack ?? '').split('\n').find((line, i) => i > 0 && !/core[\\/]logging\.[jt]s/.test(line));
  const count = counts.get(place ?? '') ?? 0;
  counts.set(place ?? '', count + 1);
  return count;
}

/** Shows the message the first time this line of code is reached and then every `n`th time. */
export function logEveryN(level: number, message: string, n: number, ...args: readonly unknown[]): void {
  if (timesReached() % n === 0) log(level, message, ...args);
}

/** Shows the message only the first `n` times that this line of code is reached. */
export function logFirstN(level: number, message: string, n: number, ...args: readonly unknown[]): void {
  if (timesReached() < n) log(level, message, ...args);
}

/** Shows the message where the condition holds. */
export function logIf(level: number, message: string, condition: boolean, ...args: readonly unknown[]): void {
  if (condition) log(level, message, ...args);
}

/** A message of level `ERROR`, by an older name. */
export function taskLevelStatusMessage(message: string): void {
  error(message);
}

/** Lines are written at once, so there is nothing to wait for. */
export function flush(): void {}
