/** @file Runs a program that measures this library beside others in turns, and prints what it says with ratios to the best. */
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { loadavg } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const library = process.env['TENSORLOOM_LIBRARY'] ?? join(root, 'build/native/libtensorloom.so');

/** Where the program of that name is built; its folder is there afterwards. */
export function programPath(name: string): string {
  const folder = join(root, 'build/bench');
  mkdirSync(folder, { recursive: true });
  return join(folder, name);
}

/** What the program prints for a case: GFLOP/s of this library and of the others that it found. */
interface Row {
  readonly case: string;
  readonly tensorloom: number;
  readonly [peer: string]: number | string | undefined;
}

export interface Comparison {
  /** What a case is, for the head of the table. */
  readonly what: string;
  /** Added to the line above the table. */
  readonly note?: string;
  readonly peers: readonly string[];
  /** A ratio that counts as near enough. */
  readonly near: number;
  /** Variables of its environment, those that are undefined are not set. */
  environment(threads: string): Readonly<Record<string, string | undefined>>;
}

/** Runs the program for each number of threads; its options are those of the command line. */
export async function compare(program: string, comparison: Comparison): Promise<void> {
  const { what, note = '', peers, near, environment } = comparison;
  const { values: options } = parseArgs({
    options: {
      threads: { type: 'string', default: '1,2' },
      rounds: { type: 'string', default: '8' },
      only: { type: 'string', default: '' },
      json: { type: 'boolean', default: false },
    },
  });
  const { rounds, only, json } = options;
  const load = () => loadavg()[0]!.toFixed(1);
  const heads = ['threads', what, 'tensorloom', ...peers, peers.length > 1 ? 'ratio to the best' : 'ratio'];
  if (!json) {
    console.log(`GFLOP/s, best of ${rounds} rounds${note}. Load ${load()}.\n`);
    console.log(`| ${heads.join(' | ')} |\n|${heads.map(() => '---|').join('')}`);
  }
  const ratios: number[] = [];
  for (const threads of options.threads.split(',')) {
    const env = { ...process.env, ...environment(threads) };
    const child = spawn(program, [library, threads, rounds, only], { stdio: ['ignore', 'pipe', 'inherit'], env });
    for await (const line of createInterface({ input: child.stdout })) {
      const row = JSON.parse(line) as Row; // printed by the program
      const others = peers.map((peer) => row[peer] as number | undefined); // peers are numbers
      const best = Math.max(0, ...others.map((speed) => speed ?? 0));
      const ratio = best > 0 ? row.tensorloom / best : undefined;
      if (ratio !== undefined) ratios.push(ratio);
      const cells = [row.tensorloom, ...others].map((speed) => speed?.toFixed(1) ?? '–');
      if (json) console.log(JSON.stringify({ threads: Number(threads), ...row, ratio: ratio ?? null }));
      else console.log(`| ${[threads, row.case, ...cells, ratio?.toFixed(2) ?? '–'].join(' | ')} |`);
    }
  }
  if (json || ratios.length === 0) return;
  ratios.sort((a, b) => a - b);
  console.log(
    `\nmedian ratio ${ratios[ratios.length >> 1]!.toFixed(2)}, least ${ratios[0]!.toFixed(2)}; ` +
      `${ratios.filter((ratio) => ratio >= near).length} of ${ratios.length} at ${near} or better. Load now ${load()}.`,
  );
}
