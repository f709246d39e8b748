/**
 * @file `npm run fuzz [-- TARGET …]`: 10,000 damaged inputs for everything that reads bytes from outside. It fails when one
 * ends with anything but an error with a code, takes seconds, or takes much memory. `ROUNDS` and `SEED` change how many and which.
 */
import '../../src/ops/index.ts';
import { fuzz } from './run.ts';
import { targets } from './targets.ts';

const rounds = Number(process.env['ROUNDS'] ?? 10_000);
const seed = Number(process.env['SEED'] ?? 1);
/** Nothing here is larger than a few kilobytes; what takes longer or more is not bounded by its input. */
const mostSeconds = 5;
const mostMegabytes = 1500;

let isFine = true;
for (const target of await targets()) {
  const wanted = process.argv.slice(2);
  if (wanted.length > 0 && !wanted.includes(target.name)) continue;
  try {
    const { counts, slowest } = await fuzz(target, rounds, seed);
    const shown = Object.entries(counts).map(([end, n]) => `${end} ${n}`);
    console.log(`${target.name.padEnd(20)} ${shown.join(', ')}; slowest ${slowest.toFixed(1)} ms`);
    if (slowest > mostSeconds * 1000) {
      isFine = false;
      console.log(`${target.name}: one input took ${(slowest / 1000).toFixed(1)} s`);
    }
  } catch (error) {
    isFine = false;
    console.log(String(error));
  }
  target.close?.();
}
const megabytes = process.resourceUsage().maxRSS / 1024;
console.log(`most memory: ${megabytes.toFixed(0)} MB`);
if (!isFine || megabytes > mostMegabytes) process.exitCode = 1;
