/** @file Unique names exactly as Python makes them: `MatMul`, `MatMul_1`, case ignored when deciding what is taken. */
import { userError } from './userError.ts';

const opName = /^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$/;
const scopeName = /^[A-Za-z0-9_.\\/>-]*$/;

/** The names taken in one graph. */
export class NameTable {
  private readonly taken = new Map<string, number>();

  /** `name` inside `scope`, with `_1`, `_2` … when taken; `markAsUsed: false` only looks. */
  unique(scope: string, name: string, markAsUsed = true): string {
    const full = scope === '' ? name : `${scope}/${name}`;
    const base = full.toLowerCase();
    let i = this.taken.get(base) ?? 0;
    if (markAsUsed) this.taken.set(base, i + 1);
    if (i === 0) return full;
    let key: string;
    do key = `${base}_${i++}`;
    while (this.taken.has(key));
    if (markAsUsed) this.taken.set(key, 1);
    return `${full}_${i - 1}`;
  }

  /** Takes a name that was made unique by other rules. */
  take(name: string): void {
    const key = name.toLowerCase();
    if (!this.taken.has(key)) this.taken.set(key, 1);
  }
}

export function isNodeName(name: string): boolean {
  return opName.test(name);
}

export function checkOpName(name: string): void {
  if (!opName.test(name))
    throw userError(
      `'${name}' is not a valid node name: it must begin with a letter, a digit or a dot and go on with letters, digits, '_', '.', '\\', '/', '>' or '-'.`,
    );
}

export function checkScopeName(name: string, outermost: boolean): void {
  if (!(outermost ? opName : scopeName).test(name))
    throw userError(`'${name}' is not a valid root scope name`.replace('root ', outermost ? 'root ' : ''));
}
