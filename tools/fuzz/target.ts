/** @file What is fed damaged bytes, and what the lists of such readers share. */

export interface Target {
  readonly name: string;
  readonly seeds: readonly Uint8Array[];
  /** Makes checksums right again in some of the inputs, or damage would never get past them. */
  readonly repair?: (bytes: Uint8Array) => Uint8Array;
  /** Reads; whatever it throws must be an error with a code. */
  read(bytes: Uint8Array): unknown;
  /** Tidies up. */
  close?(): void;
}

export const encode = (text: string) => new TextEncoder().encode(text);

/** Damaged bytes among others that are not, so many that the native library is asked. */
export const among = (bytes: Uint8Array, other: Uint8Array): Uint8Array[] =>
  new Array<Uint8Array>(Math.ceil(5000 / other.length)).fill(other).with(3, bytes);
