/** @file Timing: warm up, repeat, and report the median with the spread. */

export interface Sample {
  /** Microseconds per call. */
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Times an async function: `rounds` batches of `calls` calls, the time of one call per batch. */
export async function measure(
  body: () => Promise<unknown>,
  options: { calls: number; rounds?: number; warmup?: number },
): Promise<Sample> {
  for (let i = 0; i < (options.warmup ?? options.calls); i++) await body();
  const times: number[] = [];
  for (let round = 0; round < (options.rounds ?? 7); round++) {
    const start = process.hrtime.bigint();
    for (let i = 0; i < options.calls; i++) await body();
    times.push(Number(process.hrtime.bigint() - start) / 1000 / options.calls);
  }
  times.sort((a, b) => a - b);
  return { median: times[times.length >> 1]!, min: times[0]!, max: times.at(-1)! };
}

/** Milliseconds that one call takes. */
export async function once(body: () => unknown): Promise<number> {
  const start = process.hrtime.bigint();
  await body();
  return Number(process.hrtime.bigint() - start) / 1e6;
}
