/** @file A row of the data benchmark: some work on files or records, the same as a function in bench/peers/data.py does. */

/** One kind of work. Files are made once, in a folder that both sides use. */
export interface Row {
  /** The name of the row, and of the function in bench/peers/data.py. */
  readonly name: string;
  /** What is counted, for the reader. */
  readonly unit: string;
  /** How many units one run works on. */
  readonly amount: number;
  /** Makes the files, and gives the work to be timed. */
  prepare(folder: string): Promise<Work>;
}

export interface Work {
  run(): Promise<unknown>;
  close?(): Promise<void> | void;
}

/** Bytes that look random, and are the same each time. */
export function noise(length: number): Uint8Array {
  const data = new Uint32Array(Math.ceil(length / 4));
  let state = 1;
  for (let i = 0; i < data.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    data[i] = state ^ (state >>> 13);
  }
  return new Uint8Array(data.buffer, 0, length);
}
