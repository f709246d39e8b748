/**
 * @file How fast the matrix unit and the vector units are at this moment, on one thread and on all processors at once, and how
 * much of the time each processor is as fast as it can be: `npm run bench:units [-- --threads 2] [-- --rounds 40] [-- --json]`.
 * What products and convolutions reach is to be seen beside it.
 */
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { unitRates } from './unitRates.ts';

const { values: options } = parseArgs({
  options: {
    threads: { type: 'string', default: String(cpus().length) },
    rounds: { type: 'string', default: '40' },
    json: { type: 'boolean', default: false },
  },
});
const measure = unitRates();
if (!measure) throw new Error('this is for x86-64 processors and Linux');
const rows = measure(Number(options.threads), Number(options.rounds), 3);
if (options.json) for (const row of rows) console.log(JSON.stringify(row));
else {
  console.log(
    `GFLOP/s, best of ${options.rounds}; load ${loadavg()[0]!.toFixed(1)}.\n\n` +
      `| unit | one thread | ${options.threads} threads | times as much |\n|---|---|---|---|`,
  );
  for (const row of rows)
    if ('unit' in row)
      console.log(
        `| ${row.unit} | ${row.one.toFixed(1)} | ${row.all.toFixed(1)} | ${(row.all / row.one).toFixed(2)} |`,
      );
  console.log('\n| processor | share of three seconds near its best speed | median of the best |\n|---|---|---|');
  for (const row of rows)
    if ('processor' in row) console.log(`| ${row.processor} | ${row.fast.toFixed(2)} | ${row.median.toFixed(2)} |`);
}
