/**
 * @file Where the time of training steps goes, instruction by instruction, those alike taken together, on one thread and on all:
 * `npm run bench:profile [-- lstm] [-- --threads 1] [-- --runs 150] [-- --each] [-- --json]`. Each instruction counts with the best of its
 * runs, since an average of a busy machine says little about the instruction. `--each` prints every instruction before they are
 * taken together.
 */
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import * as tf from 'tensorloom';
import type { Rows } from './page/results.ts';
import { steps } from './steps/index.ts';
import { prepare, type TrainingStep } from './steps/step.ts';

const { values, positionals } = parseArgs({
  options: {
    threads: { type: 'string', default: [...new Set([1, cpus().length])].join() },
    runs: { type: 'string', default: '150' },
    each: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
const threadCounts = values.threads.split(',').map(Number);
const runs = Number(values.runs);
const names = positionals.length > 0 ? positionals : ['mlp', 'cnn', 'lstm', 'transformer'];

/** What one number of threads has shown so far. */
class Profile {
  /** The best run without tracing, in microseconds. */
  run = Number.POSITIVE_INFINITY;
  peakBytes = 0;
  /** Instructions in the order in which they run. */
  readonly instructions: { readonly label: string; micros: number }[] = [];

  constructor(readonly model: TrainingStep) {}

  async measure(): Promise<void> {
    const { sess, step, feeds, run } = this.model;
    const start = performance.now();
    await run();
    this.run = Math.min(this.run, (performance.now() - start) * 1000);
    const runMetadata = new tf.RunMetadata();
    await sess.run(step, feeds, { options: { traceLevel: tf.RunOptions.FULL_TRACE }, runMetadata });
    this.peakBytes = runMetadata.peakBytes;
    for (const [k, { timelineLabel, allEndRelMicros }] of runMetadata.stepStats.devStats[0]!.nodeStats.entries()) {
      this.instructions[k] ??= { label: timelineLabel, micros: Number.POSITIVE_INFINITY };
      this.instructions[k].micros = Math.min(this.instructions[k].micros, allEndRelMicros);
    }
  }

  /** The same instruction for another step of a loop is another one; here they are one. */
  kinds(): Map<string, { count: number; micros: number }> {
    const kinds = new Map<string, { count: number; micros: number }>();
    for (const { label, micros } of this.instructions) {
      const kind = label.slice(label.indexOf(' = ') + 3);
      const { count, micros: before } = kinds.get(kind) ?? { count: 0, micros: 0 };
      kinds.set(kind, { count: count + 1, micros: before + micros });
    }
    return kinds;
  }
}

async function profilesOf(name: string): Promise<readonly Profile[]> {
  const step = steps[name];
  if (!step) throw new Error(`there is no step '${name}'; choose one of ${Object.keys(steps).join(', ')}`);
  const profiles: Profile[] = [];
  for (const threads of threadCounts)
    profiles.push(new Profile(await prepare(step.build, { intraOpParallelismThreads: threads })));
  for (let i = 0; i < runs; i++) for (const profile of profiles) await profile.measure();
  for (const { model } of profiles) await model.sess.close();
  return profiles;
}

/** What `--json` says of one number of threads. */
function rowOf(step: string, threads: number, profile: Profile): Rows['profile'] {
  const { run, peakBytes, instructions } = profile;
  const all = instructions.reduce((sum, { micros }) => sum + micros, 0);
  const kinds = [...profile.kinds()].map(([kind, { count, micros }]) => ({ kind, count, micros }));
  return { step, threads, runs, run, peakBytes, instructions: instructions.length, all, kinds };
}

function print(name: string, profiles: readonly Profile[]): void {
  const cells = (micros: readonly (number | undefined)[]) =>
    micros.map((x) => (x?.toFixed(1) ?? '–').padStart(11)).join('');
  console.log(`\n${steps[name]!.title}: µs on ${threadCounts.join(', ')} thread(s), the best of ${runs} runs`);
  if (values.each)
    for (const [i, threads] of threadCounts.entries()) {
      console.log(`every instruction on ${threads} thread(s):`);
      for (const { label, micros } of profiles[i]!.instructions) console.log(`${cells([micros])}  ${label}`);
    }
  const kinds = profiles.map((profile) => profile.kinds());
  const largest = [...kinds[0]!].toSorted(([, a], [, b]) => b.micros - a.micros).slice(0, 12);
  for (const [kind, { count }] of largest)
    console.log(
      `${cells(kinds.map((of) => of.get(kind)?.micros))}  ${String(count).padStart(3)} × ${kind.slice(0, 150)}`,
    );
  const rows = profiles.map((profile, i) => rowOf(name, threadCounts[i]!, profile));
  console.log(
    `${cells(rows.map((row) => row.all))}  all ${rows.map((row) => row.instructions).join(', ')} instructions`,
  );
  console.log(`${cells(rows.map((row) => row.run))}  the best run, with everything around them`);
  console.log(`${cells(rows.map((row) => row.peakBytes / 1e6))}  MB at its peak`);
}

for (const name of names) {
  const profiles = await profilesOf(name);
  if (!values.json) print(name, profiles);
  else
    for (const [i, profile] of profiles.entries()) console.log(JSON.stringify(rowOf(name, threadCounts[i]!, profile)));
}
