/**
 * @file Training steps beside TensorFlow's and PyTorch's, in turns:
 * `npm run bench:training [-- --threads 1] [-- --cpu] [-- --json] [-- mlp lstm]`. With `--cpu` it counts processor time in place
 * of time, which on a busy machine tells more about one thread.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { steps } from './steps/index.ts';
import { prepare } from './steps/step.ts';

interface Times {
  readonly best: number;
  readonly median: number;
}
/** Someone who can run a step some times. */
interface Runner {
  readonly name: string;
  run(step: string, runs: number): Promise<Times>;
  end(): void;
}

const { values, positionals } = parseArgs({
  options: {
    threads: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    cpu: { type: 'boolean' },
    json: { type: 'boolean' },
  },
  allowPositionals: true,
});
const names = positionals.length > 0 ? positionals : Object.keys(steps);
const threadCounts = values.threads ? [Number(values.threads)] : [1, cpus().length];
const python = process.env['TENSORFLOW_PYTHON'] ?? '/opt/tfenv/bin/python';

/** Microseconds. */
function clock(): number {
  if (!values.cpu) return Number(process.hrtime.bigint()) / 1000;
  const { user, system } = process.cpuUsage();
  return user + system;
}

function summary(times: number[]): Times {
  const sorted = times.toSorted((a, b) => a - b);
  return { best: sorted[0]!, median: sorted[sorted.length >> 1]! };
}

function ourselves(threads: number): Runner {
  const ready = new Map<string, Awaited<ReturnType<typeof prepare>>>();
  return {
    name: 'tensorloom',
    async run(name, runs) {
      let prepared = ready.get(name);
      if (!prepared) {
        prepared = await prepare(steps[name]!.build, { intraOpParallelismThreads: threads });
        ready.set(name, prepared);
        for (let i = 0; i < 3; i++) await prepared.sess.run(prepared.step, prepared.feeds);
      }
      const times: number[] = [];
      for (let i = 0; i < runs; i++) {
        const start = clock();
        await prepared.sess.run(prepared.step, prepared.feeds);
        times.push(clock() - start);
      }
      return summary(times);
    },
    end: () => undefined,
  };
}

/** A Python process that runs the same steps, or nothing where the framework is not installed. */
async function peer(framework: string, threads: number): Promise<Runner | undefined> {
  if (!existsSync(python)) return undefined;
  const script = fileURLToPath(new URL('../../bench/peers/steps.py', import.meta.url));
  const child: ChildProcessWithoutNullStreams = spawn(python, [
    script,
    framework,
    String(threads),
    values.cpu ? 'cpu' : 'wall',
  ]);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const answer = async (): Promise<string | undefined> => {
    const { value, done } = await lines.next();
    return done ? undefined : value;
  };
  if ((await answer()) !== 'ready') return undefined;
  return {
    name: framework,
    async run(name, runs) {
      child.stdin.write(`${name} ${runs}\n`);
      const [best, median] = ((await answer()) ?? 'NaN NaN').split(' ').map(Number);
      return { best: best!, median: median! };
    },
    end: () => void child.kill(),
  };
}

/** About so many microseconds are spent on one measurement. */
const share = 400_000;

const report: Record<string, unknown>[] = [];
for (const threads of threadCounts) {
  const peers = await Promise.all(['tensorflow', 'pytorch'].map((name) => peer(name, threads)));
  const runners = [ourselves(threads), ...peers.filter((p) => p !== undefined)];
  if (!values.json)
    console.log(
      `\n${threads} thread(s), µs ${values.cpu ? 'of processor time ' : ''}per step: best (median); load ${loadavg()[0]!.toFixed(1)}\n${'step'.padEnd(60)}${runners.map((r) => r.name.padStart(22)).join('')}   times as fast as the better peer`,
    );
  for (const name of names) {
    const found = new Map<string, Times[]>();
    for (let round = 0; round < Number(values.rounds); round++)
      for (const runner of runners) {
        const before = found.get(runner.name)?.at(-1)?.median ?? (await runner.run(name, 2)).median;
        const times = await runner.run(name, Math.max(2, Math.min(2000, Math.round(share / before))));
        found.set(runner.name, [...(found.get(runner.name) ?? []), times]);
      }
    const best = (runner: Runner) => Math.min(...found.get(runner.name)!.map((t) => t.best));
    const median = (runner: Runner) => summary(found.get(runner.name)!.map((t) => t.median)).median;
    const [ours, ...others] = runners;
    const ratio = others.length === 0 ? Number.NaN : Math.min(...others.map(best)) / best(ours!);
    report.push({
      step: name,
      threads,
      ratio,
      ...Object.fromEntries(runners.map((r) => [r.name, { best: best(r), median: median(r) }])),
    });
    if (values.json) continue;
    const cells = runners.map((r) => `${best(r).toFixed(0)} (${median(r).toFixed(0)})`.padStart(22));
    console.log(`${steps[name]!.title.padEnd(60)}${cells.join('')}   ${ratio.toFixed(2)}×`);
  }
  for (const runner of runners) runner.end();
}
if (values.json) console.log(JSON.stringify({ cpu: cpus()[0]!.model, rows: report }, null, 2));
process.exit(0);
