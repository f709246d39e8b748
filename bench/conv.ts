/**
 * @file Convolutions and their gradients beside oneDNN's, in turns in one process, with the ratio to it:
 * `npm run bench:conv [-- --threads 1] [-- --rounds 12] [-- --only 'CNN 2'] [-- --json]`.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { loadavg } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const library = process.env['TENSORLOOM_LIBRARY'] ?? join(root, 'build/native/libtensorloom.so');

const { values: options } = parseArgs({
  options: {
    threads: { type: 'string', default: '1,2' },
    rounds: { type: 'string', default: '8' },
    only: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
  },
});

/** The program that measures, with oneDNN where its headers are. */
function buildPeer(): string {
  const [compiler, folder] = [process.env['CXX'] ?? 'g++', join(root, 'build/bench')];
  mkdirSync(folder, { recursive: true });
  const program = join(folder, 'conv');
  const tried = spawnSync(compiler, ['-x', 'c++', '-E', '-'], {
    input: '#include <dnnl.hpp>\n',
    stdio: ['pipe', 'ignore', 'ignore'], // what it prints is longer than a pipe may be here
  });
  const withDnnl = tried.status === 0 ? ['-DHAS_DNNL', '-ldnnl'] : [];
  const args = ['-O2', '-std=c++20', join(root, 'bench/peers/conv.cpp'), '-o', program, '-ldl', ...withDnnl];
  execFileSync(compiler, args, { stdio: 'inherit' });
  return program;
}

interface Row {
  readonly case: string;
  readonly threads: number;
  readonly tensorloom: number;
  readonly oneDNN?: number;
}

async function main(): Promise<void> {
  const { json } = options;
  const program = buildPeer();
  if (!json)
    console.log(
      `GFLOP/s, best of ${options.rounds} rounds. Load ${loadavg()[0]!.toFixed(1)}.\n\n` +
        '| threads | convolution | tensorloom | oneDNN | ratio |\n|---|---|---|---|---|',
    );
  const ratios: number[] = [];
  for (const threads of options.threads.split(',')) {
    const child = spawn(program, [library, threads, options.rounds, options.only], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, OMP_NUM_THREADS: threads },
    });
    for await (const line of createInterface({ input: child.stdout })) {
      const row = JSON.parse(line) as Row; // printed by the program above
      const ratio = row.oneDNN === undefined ? undefined : row.tensorloom / row.oneDNN;
      if (ratio !== undefined) ratios.push(ratio);
      if (json) console.log(JSON.stringify({ ...row, ratio: ratio ?? null }));
      else
        console.log(
          `| ${threads} | ${row.case} | ${row.tensorloom.toFixed(1)} | ${row.oneDNN?.toFixed(1) ?? '–'} | ${ratio?.toFixed(2) ?? '–'} |`,
        );
    }
  }
  if (json || ratios.length === 0) return;
  ratios.sort((a, b) => a - b);
  console.log(
    `\nmedian ratio ${ratios[ratios.length >> 1]!.toFixed(2)}, least ${ratios[0]!.toFixed(2)}; ` +
      `${ratios.filter((ratio) => ratio >= 0.8).length} of ${ratios.length} at 0.8 or better. Load now ${loadavg()[0]!.toFixed(1)}.`,
  );
}

await main();
