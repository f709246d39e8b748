/**
 * @file How fast the matrix unit and the vector units are at this moment, on one thread and on all processors at once, and how
 * much of the time each processor is as fast as it can be: `npm run bench:units [-- --threads 2] [-- --rounds 40] [-- --json]`.
 * What products and convolutions reach is to be seen beside it.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

interface Unit {
  readonly unit: string;
  readonly one: number;
  readonly all: number;
}
interface Processor {
  readonly processor: number;
  readonly fast: number;
  readonly median: number;
}

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
  const rows = lines.map((line) => JSON.parse(line) as Unit | Processor); // printed by the program above
  for (const row of rows)
    if ('unit' in row)
      console.log(
        `| ${row.unit} | ${row.one.toFixed(1)} | ${row.all.toFixed(1)} | ${(row.all / row.one).toFixed(2)} |`,
      );
  console.log('\n| processor | share of three seconds near its best speed | median of the best |\n|---|---|---|');
  for (const row of rows)
    if ('processor' in row) console.log(`| ${row.processor} | ${row.fast.toFixed(2)} | ${row.median.toFixed(2)} |`);
}
