/** @file Where the time of a training step goes, instruction by instruction: `npm run profile -- mlp`. */
import * as tf from 'tensorloom';
import { steps } from './steps/index.ts';
import { prepare } from './steps/step.ts';

const [name = 'mlp', threads = '0'] = process.argv.slice(2);
const chosen = steps[name];
if (!chosen) throw new Error(`there is no step '${name}'; choose one of ${Object.keys(steps).join(', ')}`);
const { sess, step, feeds } = await prepare(chosen.build, { intraOpParallelismThreads: Number(threads) });

const best = new Map<number, { label: string; micros: number }>();
let run = Number.POSITIVE_INFINITY;
let peak = 0;
for (let i = 0; i < 200; i++) {
  const start = performance.now();
  await sess.run(step, feeds);
  run = Math.min(run, (performance.now() - start) * 1000);
  const runMetadata = new tf.RunMetadata();
  await sess.run(step, feeds, { options: { traceLevel: tf.RunOptions.FULL_TRACE }, runMetadata });
  peak = runMetadata.peakBytes;
  for (const [k, { timelineLabel, allEndRelMicros }] of runMetadata.stepStats.devStats[0]!.nodeStats.entries()) {
    const known = best.get(k);
    if (!known || known.micros > allEndRelMicros) best.set(k, { label: timelineLabel, micros: allEndRelMicros });
  }
}
const total = [...best.values()].reduce((sum, { micros }) => sum + micros, 0);
for (const { label, micros } of best.values()) console.log(`${micros.toFixed(1).padStart(9)} µs  ${label}`);
console.log(`${total.toFixed(1).padStart(9)} µs  in ${best.size} instructions, each the best of 200 runs`);
console.log(
  `${run.toFixed(1).padStart(9)} µs  the best run, with everything around them; ${(peak / 1e6).toFixed(2)} MB at its peak`,
);
await sess.close();
