/**
 * @file Random numbers beside TensorFlow's, in turns: `npm run bench:random [-- --threads 1] [-- --count 1000000] [-- --rounds 10]
 * [-- --json]`. Both give the same numbers for the same seeds.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { loadavg } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import * as tf from 'tensorloom';

const { values: options } = parseArgs({
  options: {
    threads: { type: 'string', default: '1,2' },
    count: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '10' },
    json: { type: 'boolean', default: false },
  },
});
const [count, rounds] = [Number(options.count), Number(options.rounds)];
const python = process.env['TENSORFLOW_PYTHON'] ?? '/opt/tfenv/bin/python';
/** Runs per round. */
const runs = 10;

const draws: Readonly<Record<string, () => tf.Tensor>> = {
  uniform: () => tf.randomUniform([count]),
  'uniform, int32': () => tf.randomUniform([count], { minval: 0, maxval: 1000, dtype: tf.int32 }),
  normal: () => tf.randomNormal([count]),
  'truncated normal': () => tf.truncatedNormal([count]),
};

type Best = (name: string) => Promise<number>;

/** The best time of some runs, in microseconds. */
function ourselves(threads: number): Best {
  const graph = new tf.Graph();
  const ops = graph.asDefault(() => {
    tf.random.setRandomSeed(1);
    return new Map(Object.entries(draws).map(([name, draw]) => [name, draw().op]));
  });
  const sess = new tf.Session({ graph, config: { intraOpParallelismThreads: threads } });
  return async (name) => {
    let best = Number.POSITIVE_INFINITY;
    for (let i = 0; i < runs; i++) {
      const start = performance.now();
      await sess.run(ops.get(name)!);
      best = Math.min(best, (performance.now() - start) * 1000);
    }
    return best;
  };
}

/** The same in TensorFlow, where it is installed. */
async function tensorflow(threads: number): Promise<{ best: Best; end(): void } | undefined> {
  if (!existsSync(python)) return undefined;
  const script = fileURLToPath(new URL('../../bench/peers/random_numbers.py', import.meta.url));
  const child = spawn(python, [script, String(count), String(threads)], { stdio: ['pipe', 'pipe', 'ignore'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  if ((await lines.next()).value !== 'ready') return undefined;
  return {
    best: async (name) => {
      child.stdin.write(`${name} ${runs}\n`);
      return Number((await lines.next()).value);
    },
    end: () => void child.kill(),
  };
}

if (!options.json)
  console.log(
    `µs for ${count} numbers, best of ${rounds * runs}; load ${loadavg()[0]!.toFixed(1)}.\n\n` +
      '| threads | numbers | tensorloom | TensorFlow | times as fast |\n|---|---|---|---|---|',
  );
for (const threads of options.threads.split(',').map(Number)) {
  const peer = await tensorflow(threads);
  const own = ourselves(threads);
  for (const name of Object.keys(draws)) {
    let [ours, theirs] = [Number.POSITIVE_INFINITY, peer ? Number.POSITIVE_INFINITY : Number.NaN];
    for (let round = 0; round < rounds; round++) {
      ours = Math.min(ours, await own(name));
      if (peer) theirs = Math.min(theirs, await peer.best(name));
    }
    if (options.json)
      console.log(JSON.stringify({ threads, name, tensorloom: ours, tensorflow: peer ? theirs : null }));
    else
      console.log(
        `| ${threads} | ${name} | ${ours.toFixed(0)} | ${peer ? theirs.toFixed(0) : '–'} | ${peer ? (theirs / ours).toFixed(2) : '–'} |`,
      );
  }
  peer?.end();
}
process.exit(0);
