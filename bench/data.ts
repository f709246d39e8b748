/**
 * @file Data in and out beside TensorFlow, in turns: `npm run bench:data [-- --rounds 5] [-- --json] [-- ROW …]`.
 *
 * ROW is a part of a row's name. Under `taskset -c 0` both sides have one core. With `--cpu` the time is what the processors
 * were busy with it, on any number of threads: the fairer figure on a machine that does other things too.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { rows } from './data/index.ts';
import { Side } from './data/side.ts';

const { values, positionals } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, json: { type: 'boolean' }, cpu: { type: 'boolean' } },
  allowPositionals: true,
});
const python = process.env['TENSORFLOW_PYTHON'] ?? '/opt/tfenv/bin/python';
const folder = mkdtempSync(join(tmpdir(), 'bench-data-'));

const clock = values.cpu ? 'cpu' : 'wall';
const fileOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** A new process for each row: what one row leaves behind, and how long it waited for the peer, is nothing to the next. */
async function startOurs(): Promise<Side> {
  const side = await Side.start(process.execPath, [fileOf('data/ours.js'), folder, clock]);
  if (!side) throw new Error('the process for our side does not start');
  return side;
}

async function startPeer(): Promise<Side | undefined> {
  if (!existsSync(python)) return undefined;
  const env = { ...process.env, TF_CPP_MIN_LOG_LEVEL: '3', CUDA_VISIBLE_DEVICES: '' };
  return await Side.start(python, [fileOf('../../bench/peers/data.py'), folder, clock], {
    env,
    complaints: 'ignore',
  });
}

const peer = await startPeer();
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
    const side = await startOurs();
    let [ours, theirs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    // The first rounds warm both up; what JavaScript runs often is compiled only then.
    for (let round = -3; round < Number(values.rounds); round++) {
      const [mine, other] = [await side.run(row.name), peer ? await peer.run(row.name) : Number.NaN];
      if (round < 0) continue;
      ours = Math.min(ours, mine);
      theirs = Math.min(theirs, other);
    }
    side.end();
    const [rate, peerRate] = [row.amount / ours, row.amount / theirs];
    results.push({
      row: row.name,
      unit: `${row.unit}/s`,
      tensorloom: rate,
      tensorflow: peerRate,
      ratio: rate / peerRate,
    });
    const shown = (x: number, digits: number) => (Number.isNaN(x) ? '–' : x.toFixed(digits));
    const [mine, other, ratio] = [shown(rate, 0), shown(peerRate, 0), shown(rate / peerRate, 2)];
    if (!values.json)
      console.log(
        `${row.name.padEnd(26)}${mine.padStart(14)}${other.padStart(14)}   ${ratio.padStart(5)}  ${row.unit}/s`,
      );
  }
} finally {
  peer?.end();
  rmSync(folder, { recursive: true });
}
if (values.json)
  console.log(JSON.stringify({ load: loadavg()[0], cores: availableParallelism(), rows: results }, null, 1));
