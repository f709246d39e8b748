/**
 * @file Matrix products beside oneDNN, OpenBLAS and PyTorch's MKL, in turns in one process; ratios to the best of them:
 * `npm run bench:gemm [-- --threads 1] [-- --rounds 12] [-- --only 'f32 128x784x512'] [-- --json]`.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
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

/** The folder of PyTorch's libraries, whose MKL is one of the peers; undefined where there is no PyTorch. */
function torchLibraries(): string | undefined {
  const python = process.env['TENSORFLOW_PYTHON'] ?? '/opt/tfenv/bin/python';
  const packages = join(dirname(dirname(python)), 'lib');
  if (!existsSync(packages)) return undefined;
  const folders = readdirSync(packages).map((name) => join(packages, name, 'site-packages/torch/lib'));
  return folders.find((folder) => existsSync(join(folder, 'libtorch_cpu.so')));
}

function buildPeer(): string {
  const folder = join(root, 'build/bench');
  mkdirSync(folder, { recursive: true });
  const program = join(folder, 'gemm');
  const source = join(root, 'bench/peers/gemm.cpp');
  execFileSync(process.env['CXX'] ?? 'g++', ['-O2', '-std=c++20', source, '-o', program, '-ldl'], { stdio: 'inherit' });
  return program;
}

const peers = ['oneDNN', 'OpenBLAS', 'MKL'] as const;

interface Row extends Partial<Record<(typeof peers)[number], number>> {
  readonly case: string;
  readonly threads: number;
  /** Largest difference from the last peer's result. */
  readonly difference: number;
  readonly tensorloom: number;
}

const bestOf = (row: Row) => Math.max(0, ...peers.map((peer) => row[peer] ?? 0));

async function* rowsOf(program: string, threads: string): AsyncGenerator<Row> {
  const torch = torchLibraries();
  const child = spawn(program, [library, threads, options.rounds, options.only], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // OpenBLAS of Debian does not know processors newer than itself and would take its slowest path.
    env: { OPENBLAS_CORETYPE: 'SkylakeX', ...process.env, ...(torch && { TORCH_LIB: torch }) },
  });
  for await (const line of createInterface({ input: child.stdout })) yield JSON.parse(line) as Row; // printed by the program above
}

async function main(): Promise<void> {
  const { json } = options;
  const program = buildPeer();
  const ratios: number[] = [];
  if (!json)
    console.log(
      `GFLOP/s, best of ${options.rounds} rounds; names are m x k x n, then whether a and b are transposed. ` +
        `Load ${loadavg()[0]!.toFixed(1)}.\n\n| threads | product | tensorloom | ${peers.join(' | ')} | ratio to the best |\n|---|---|---|---|---|---|---|`,
    );
  for (const threads of options.threads.split(','))
    for await (const row of rowsOf(program, threads)) {
      const best = bestOf(row);
      if (best > 0) ratios.push(row.tensorloom / best);
      if (json) console.log(JSON.stringify({ ...row, ratio: best > 0 ? row.tensorloom / best : null }));
      else {
        const cells = [row.tensorloom, ...peers.map((peer) => row[peer])];
        const shown = cells.map((x) => (x === undefined ? '–' : x.toFixed(1)));
        console.log(
          `| ${threads} | ${row.case} | ${shown.join(' | ')} | ${best > 0 ? (row.tensorloom / best).toFixed(2) : '–'} |`,
        );
      }
    }
  if (json || ratios.length === 0) return;
  ratios.sort((a, b) => a - b);
  const near = ratios.filter((ratio) => ratio >= 0.9).length;
  console.log(
    `\nmedian ratio ${ratios[ratios.length >> 1]!.toFixed(2)}, least ${ratios[0]!.toFixed(2)}; ` +
      `within 10% of the best library in ${near} of ${ratios.length} cases. Load now ${loadavg()[0]!.toFixed(1)}.`,
  );
}

await main();
