/** @file What the benchmarks say with `--json`. */

interface Times {
  readonly best: number;
  readonly median: number;
}

/** A row of each benchmark, by its name. */
export interface Rows {
  units:
    | { readonly unit: string; readonly one: number; readonly all: number }
    | { readonly processor: number; readonly fast: number; readonly median: number };
  training: {
    readonly step: string;
    readonly threads: number;
    /** Not a number where there is no peer. */
    readonly ratio: number | null;
    /** The least and the largest ratio of a single round, by its medians. */
    readonly rounds: readonly [least: number, most: number] | null;
    /** Microseconds that its multiplications would take at the rate of the fastest unit that we use. */
    readonly floor: number | null;
    readonly times: Readonly<Record<string, Times>>;
  };
  memory: {
    readonly threads: number;
    readonly name: string;
    readonly tensorloom: number;
    readonly copy: number;
    readonly ratio: number;
  };
  random: {
    readonly threads: number;
    readonly name: string;
    readonly tensorloom: number;
    readonly tensorflow: number | null;
  };
  data: {
    readonly row: string;
    readonly unit: string;
    readonly tensorloom: number;
    readonly tensorflow: number | null;
    readonly ratio: number | null;
  };
  profile: {
    readonly step: string;
    readonly threads: number;
    readonly runs: number;
    /** Microseconds of the best run, and of all instructions, each with its best. */
    readonly run: number;
    readonly all: number;
    readonly peakBytes: number;
    readonly instructions: number;
    readonly kinds: readonly { readonly kind: string; readonly count: number; readonly micros: number }[];
  };
  gemm: Comparison & { readonly [Peer in 'oneDNN' | 'OpenBLAS' | 'MKL']?: number };
  conv: Comparison & { readonly oneDNN?: number };
  spine: {
    readonly name: string;
    readonly tensorloom: Spread;
    readonly tensorflow: Spread | null;
  };
}

/** GFLOP/s of this library beside others. */
interface Comparison {
  readonly threads: number;
  readonly case: string;
  readonly tensorloom: number;
  readonly ratio: number | null;
}

/** Microseconds, or milliseconds where the row's name says so. */
interface Spread {
  readonly median: number;
  readonly min?: number;
  readonly max?: number;
}

/** A benchmark that was run. */
export interface Run<Row> {
  /** Its command. */
  readonly command: string;
  /** The machine's load before and after it. */
  readonly load: readonly [before: number, after: number];
  readonly rows: readonly Row[];
}

/** The rows in what a benchmark printed: a row per line, or one object with all of them. */
export function rowsOf(printed: string): readonly unknown[] {
  const lines = printed.trim().split('\n');
  if (lines[0] === '{') {
    const { rows } = JSON.parse(printed) as { rows: readonly unknown[] }; // printed by training.ts and data.ts
    return rows;
  }
  return lines.map((line) => JSON.parse(line) as unknown);
}
