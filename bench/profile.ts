/**
 * @file Where the time of a training step goes, instruction by instruction, and kind by kind: `node dist/bench/profile.js STEP [THREADS]
 * [RUNS]`.
 */
import * as tf from 'tensorloom';
import { steps } from './steps/index.ts';
import { prepare } from './steps/step.ts';

const [name = 'mlp', threads = '0', runs = '200'] = process.argv.slice(2);
const chosen = steps[name];
if (!chosen) throw new Error(`there is no step '${name}'; choose one of ${Object.keys(steps).join(', ')}`);
const { sess, step, feeds } = await prepare(chosen.build, { intraOpParallelismThreads: Number(threads) });

const best = new Map<number, { label: string; micros: number }>();
let run = Number.POSITIVE_INFINITY;
let peak = 0;
for (let i = 0; i < Number(runs); i++) {
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
/** The same instruction for another step of a loop is another line; here they are one. */
const kinds = new Map<string, { count: number; micros: number }>();
for (const { label, micros } of best.values()) {
  const kind = label.slice(label.indexOf(' = ') + 3);
  const { count, micros: before } = kinds.get(kind) ?? { count: 0, micros: 0 };
  kinds.set(kind, { count: count + 1, micros: before + micros });
}
console.log('\nthe largest, those alike taken together:');
const largest = [...kinds].toSorted(([, a], [, b]) => b.micros - a.micros).slice(0, 12);
for (const [kind, { count, micros }] of largest)
  console.log(
    `${micros.toFixed(1).padStart(9)} µs  ${((100 * micros) / total).toFixed(1).padStart(4)}%  ${String(count).padStart(3)} × ${kind.slice(0, 150)}`,
  );
console.log(`\n${total.toFixed(1).padStart(9)} µs  in ${best.size} instructions, each the best of ${runs} runs`);
console.log(
  `${run.toFixed(1).padStart(9)} µs  the best run, with everything around them; ${(peak / 1e6).toFixed(2)} MB at its peak`,
);
await sess.close();
