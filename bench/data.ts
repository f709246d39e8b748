/**
 * @file Data in and out beside TensorFlow, in turns: `npm run bench:data [-- --rounds 5] [-- --json] [-- ROW …]`.
 *
 * ROW is a part of a row's name. Under `taskset -c 0` both sides have one core. With `--cpu` the time is what the processors
 * were busy with it, on any number of threads: the fairer figure on a machine that does other things too.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { rows } from './data/index.ts';

const { values, positionals } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, json: { type: 'boolean' }, cpu: { type: 'boolean' } },
  allowPositionals: true,
});
const python = process.env['TENSORFLOW_PYTHON'] ?? '/opt/tfenv/bin/python';
const folder = mkdtempSync(join(tmpdir(), 'bench-data-'));

/** A Python process that does the same work; it answers a row's name with seconds. */
class Peer {
  private readonly lines: AsyncIterator<string>;
  private constructor(private readonly child: ChildProcessWithoutNullStreams) {
    this.lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  static async start(): Promise<Peer | undefined> {
    if (!existsSync(python)) return undefined;
    const script = fileURLToPath(new URL('../../bench/peers/data.py', import.meta.url));
    const env = { ...process.env, TF_CPP_MIN_LOG_LEVEL: '3', CUDA_VISIBLE_DEVICES: '' };
    const peer = new Peer(spawn(python, [script, folder, values.cpu ? 'cpu' : 'wall'], { env }));
    return (await peer.answer()) === 'ready' ? peer : undefined;
  }

  private async answer(): Promise<string> {
    const { value, done } = await this.lines.next();
    return done ? '' : value;
  }
  /** Seconds that one run of a row takes; NaN when it cannot. */
  async run(name: string): Promise<number> {
    this.child.stdin.write(`${name}\n`);
    return Number((await this.answer()) || Number.NaN);
  }
  end(): void {
    this.child.kill();
  }
}

async function seconds(body: () => Promise<unknown>): Promise<number> {
  const start = process.hrtime.bigint();
  const before = process.cpuUsage();
  await body();
  const { user, system } = process.cpuUsage(before);
  return values.cpu ? (user + system) / 1e6 : Number(process.hrtime.bigint() - start) / 1e9;
}

const peer = await Peer.start();
const results: object[] = [];
if (!values.json) {
  console.log(
    `${availableParallelism()} cores, load ${loadavg()[0]!.toFixed(1)}; the best of ${values.rounds} runs each, in turns${values.cpu ? '; per second of processor time' : ''}`,
  );
  console.log(`${'row'.padEnd(26)}${'tensorloom'.padStart(14)}${'TensorFlow'.padStart(14)}   ratio`);
}
try {
  for (const row of rows) {
    if (positionals.length > 0 && !positionals.some((part) => row.name.includes(part))) continue;
    const work = await row.prepare(folder);
    let [ours, theirs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    // The first rounds warm both up; what JavaScript runs often is compiled only then.
    for (let round = -3; round < Number(values.rounds); round++) {
      const [mine, other] = [await seconds(() => work.run()), peer ? await peer.run(row.name) : Number.NaN];
      if (round < 0) continue;
      ours = Math.min(ours, mine);
      theirs = Math.min(theirs, other);
    }
    await work.close?.();
    const [rate, peerRate] = [row.amount / ours, row.amount / theirs];
    results.push({
      row: row.name,
      unit: `${row.unit}/s`,
      tensorloom: rate,
      tensorflow: peerRate,
      ratio: rate / peerRate,
    });
    const shown = (x: number) => (Number.isNaN(x) ? '-' : x.toFixed(0)).padStart(14);
    if (!values.json)
      console.log(
        `${row.name.padEnd(26)}${shown(rate)}${shown(peerRate)}   ${(rate / peerRate).toFixed(2)}  ${row.unit}/s`,
      );
  }
} finally {
  peer?.end();
  rmSync(folder, { recursive: true });
}
if (values.json) console.log(JSON.stringify({ load: loadavg()[0], cores: availableParallelism(), results }, null, 1));
