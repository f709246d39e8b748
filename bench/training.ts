/**
 * @file Training steps beside TensorFlow's, PyTorch's and TensorFlow.js's, in turns:
 * `npm run bench:training [-- --threads 1] [-- --cpu] [-- --json] [-- mlp lstm]`. With `--cpu` it counts processor time in place
 * of time, which on a busy machine tells more about one thread. TensorFlow.js runs on its wasm backend, on one thread; TFJS_FOLDER
 * (default `/opt/tfjs`) names the folder in which @tensorflow/tfjs and @tensorflow/tfjs-backend-wasm are installed.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { steps } from './steps/index.ts';
import { prepare } from './steps/step.ts';
import { unitRates } from './unitRates.ts';

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
  const ready = new Map<string, () => Promise<unknown>>();
  return {
    name: 'tensorloom',
    async run(name, runs) {
      let step = ready.get(name);
      if (!step) {
        const { build, sessions = 1 } = steps[name]!;
        const prepared = await Promise.all(
          Array.from({ length: sessions }, () => prepare(build, { intraOpParallelismThreads: threads })),
        );
        const [only] = prepared;
        step = sessions === 1 ? only!.run : () => Promise.all(prepared.map(({ run }) => run()));
        ready.set(name, step);
        for (let i = 0; i < 3; i++) await step();
      }
      const times: number[] = [];
      for (let i = 0; i < runs; i++) {
        const start = clock();
        await step();
        times.push(clock() - start);
      }
      return summary(times);
    },
    end: () => undefined,
  };
}

/** The commands of those that run the same steps in a process of their own, as far as they are installed. */
function peerCommands(threads: number): readonly (readonly [name: string, command: string, ...args: string[]])[] {
  const script = (name: string) => fileURLToPath(new URL(`../../bench/peers/${name}`, import.meta.url));
  const clockName = values.cpu ? 'cpu' : 'wall';
  const tfjs = process.env['TFJS_FOLDER'] ?? '/opt/tfjs';
  const frameworks = existsSync(python) ? ['tensorflow', 'pytorch'] : [];
  return [
    ...frameworks.map((name) => [name, python, script('steps.py'), name, String(threads), clockName] as const),
    ...(existsSync(tfjs) ? [['tfjs', process.execPath, script('tfjs.mjs'), tfjs, clockName] as const] : []),
  ];
}

/** A process that runs the same steps, or nothing where it does not get ready. */
async function peer(name: string, command: string, ...args: readonly string[]): Promise<Runner | undefined> {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const answer = async (): Promise<string | undefined> => {
    const { value, done } = await lines.next();
    return done ? undefined : value;
  };
  if ((await answer()) !== 'ready') return undefined;
  return {
    name,
    async run(step, runs) {
      child.stdin.write(`${step} ${runs}\n`);
      const [best, median] = ((await answer()) ?? 'NaN NaN').split(' ').map(Number);
      return { best: best!, median: median! };
    },
    end: () => void child.kill(),
  };
}

/** About so many microseconds are spent on one measurement. */
const share = 400_000;

interface Row {
  readonly step: string;
  readonly threads: number;
  readonly ratio: number;
  /** The least and the largest ratio of a single round, by its medians; null where there is no peer. */
  readonly rounds: readonly [least: number, most: number] | null;
  /** Microseconds that its multiplications would take at the rate of the fastest unit that we use, in this run, if both are known. */
  floor: number | null;
  readonly times: Readonly<Record<string, Times>>;
}
const report: Row[] = [];
const measureUnits = unitRates();
/** `TENSORLOOM_SIMD` can ask for vectors where there is a matrix unit. */
const usesMatrixUnit = (process.env['TENSORLOOM_SIMD'] ?? 'amx') === 'amx';
/** Operations in a microsecond. */
let rate = 0;
for (const threads of threadCounts) {
  const peers = await Promise.all(peerCommands(threads).map((words) => peer(...words)));
  const runners = [ourselves(threads), ...peers.filter((p) => p !== undefined)];
  if (!values.json)
    console.log(
      `\n${threads} thread(s), µs ${values.cpu ? 'of processor time ' : ''}per step: best (median); load ${loadavg()[0]!.toFixed(1)}\n${'step'.padEnd(60)}${runners.map((r) => r.name.padStart(22)).join('')}   times as fast as the better peer (single rounds)`,
    );
  rate = 0;
  const isOnAll = threads === threadCounts.at(-1) && threads > 1;
  const watchUnits = () => {
    for (const row of measureUnits?.(threads, 4, 0) ?? [])
      if ('unit' in row && (usesMatrixUnit || row.unit.startsWith('vectors')))
        rate = Math.max(rate, 1000 * (isOnAll ? row.all : row.one));
  };
  for (const name of names) {
    watchUnits();
    const found = new Map<string, Times[]>();
    for (let round = 0; round < Number(values.rounds); round++)
      for (const runner of runners) {
        const before = found.get(runner.name)?.at(-1)?.median ?? (await runner.run(name, 2)).median;
        // A step that this runner does not have.
        if (Number.isNaN(before)) continue;
        const times = await runner.run(name, Math.max(2, Math.min(2000, Math.round(share / before))));
        found.set(runner.name, [...(found.get(runner.name) ?? []), times]);
      }
    const able = runners.filter((runner) => found.has(runner.name));
    const best = (runner: Runner) => Math.min(...found.get(runner.name)!.map((t) => t.best));
    const median = (runner: Runner) => summary(found.get(runner.name)!.map((t) => t.median)).median;
    const [ours, ...others] = able;
    const ratio = others.length === 0 ? Number.NaN : Math.min(...others.map(best)) / best(ours!);
    const ratios = Array.from(
      { length: Number(values.rounds) },
      (_, round) =>
        Math.min(...others.map((r) => found.get(r.name)![round]!.median)) / found.get(ours!.name)![round]!.median,
    );
    const spread = others.length === 0 ? null : ([Math.min(...ratios), Math.max(...ratios)] as const);
    report.push({
      step: name,
      threads,
      ratio,
      rounds: spread,
      floor: null,
      times: Object.fromEntries(able.map((r) => [r.name, { best: best(r), median: median(r) }])),
    });
    if (values.json) continue;
    const cell = (r: Runner) => (able.includes(r) ? `${best(r).toFixed(0)} (${median(r).toFixed(0)})` : '–');
    const cells = runners.map((r) => cell(r).padStart(22));
    const times = spread ? `${ratio.toFixed(2)}× (${spread.map((x) => x.toFixed(2)).join('–')})` : '–';
    console.log(`${steps[name]!.title.padEnd(60)}${cells.join('')}   ${times}`);
  }
  watchUnits();
  for (const row of report)
    if (row.threads === threads && rate > 0) row.floor = (steps[row.step]!.operations ?? Number.NaN) / rate;
  for (const runner of runners) runner.end();
}
/** How much faster every runner is on all processors than on one thread. */
function printScaling(): void {
  const [few, many] = [threadCounts[0]!, threadCounts.at(-1)!];
  console.log(`\ntimes as fast on ${many} threads as on ${few}`);
  for (const name of names) {
    const [a, b] = [few, many].map((threads) => report.find((row) => row.step === name && row.threads === threads)!);
    const cells = Object.keys(a!.times).map((runner) => {
      const [slow, fast] = [a!.times[runner], b!.times[runner]];
      return slow && fast ? `${runner} ${(slow.best / fast.best).toFixed(2)}` : `${runner} –`;
    });
    console.log(`${steps[name]!.title.padEnd(60)}${cells.map((cell) => cell.padStart(22)).join('')}`);
  }
}
if (!values.json && threadCounts.length > 1) printScaling();
if (values.json) console.log(JSON.stringify({ cpu: cpus()[0]!.model, rows: report }, null, 2));
process.exit(0);
