/**
 * @file How fast the matrix unit and the vector units are at this moment, on one thread and on all processors at once:
 * `npm run bench:units [-- --threads 2] [-- --rounds 40] [-- --json]`. What products and convolutions reach is to be seen beside it.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const { values: options } = parseArgs({
  options: {
    threads: { type: 'string', default: String(cpus().length) },
    rounds: { type: 'string', default: '40' },
    json: { type: 'boolean', default: false },
  },
});
if (process.platform !== 'linux' || process.arch !== 'x64') throw new Error('this is for x86-64 processors and Linux');

const folder = join(root, 'build/bench');
mkdirSync(folder, { recursive: true });
const program = join(folder, 'units');
const source = join(root, 'bench/peers/units.cpp');
execFileSync(process.env['CXX'] ?? 'g++', ['-O2', '-std=c++20', '-pthread', source, '-o', program], {
  stdio: 'inherit',
});
const lines = execFileSync(program, [options.threads, options.rounds], { encoding: 'utf8' }).trim().split('\n');
if (options.json) console.log(lines.join('\n'));
else {
  console.log(
    `GFLOP/s, best of ${options.rounds}; load ${loadavg()[0]!.toFixed(1)}.\n\n` +
      `| unit | one thread | ${options.threads} threads | times as much |\n|---|---|---|---|`,
  );
  for (const line of lines) {
    const { unit, one, all } = JSON.parse(line) as { unit: string; one: number; all: number }; // printed by the program above
    console.log(`| ${unit} | ${one.toFixed(1)} | ${all.toFixed(1)} | ${(all / one).toFixed(2)} |`);
  }
}
