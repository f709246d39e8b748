/** @file What a session costs besides arithmetic: call overhead, large graphs, feeds and fetches; beside TensorFlow where it is installed. */
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as tf from 'tensorloom';
import { measure, once, type Sample } from './measure.ts';

type Row = Pick<Sample, 'median'> & Partial<Sample>;

function graphOf<T>(build: () => T): { sess: tf.Session; built: T } {
  const graph = new tf.Graph();
  const built = graph.asDefault(build);
  return { sess: new tf.Session({ graph }), built };
}

async function ours(): Promise<Record<string, Row>> {
  const rows: Record<string, Row> = {};
  {
    const { sess, built } = graphOf(() => {
      const x = tf.placeholder(tf.float32, [4]);
      let y: tf.Tensor = x;
      for (let i = 0; i < 5; i++) y = tf.tanh(y.add(1));
      return { x, y };
    });
    const fed = new tf.NDArray(tf.float32, [4], new Float32Array(4).fill(1));
    rows['ten ops, run'] = await measure(() => sess.run(built.y, [[built.x, fed]]), { calls: 20_000 });
    const call = sess.makeCallable(built.y, [built.x]);
    rows['ten ops, callable'] = await measure(() => call(fed), { calls: 20_000 });
  }
  {
    const { sess, built } = graphOf(() => {
      const x = tf.placeholder(tf.float32, [null, 784]);
      const labels = tf.placeholder(tf.float32, [null, 10]);
      let h: tf.Tensor = x;
      for (const [i, [a, b]] of [
        [784, 512],
        [512, 512],
      ].entries()) {
        const w = tf.getVariable(`w${i}`, [a!, b!]);
        h = tf.nn.relu(tf.matmul(h, w).add(tf.getVariable(`b${i}`, [b!])));
      }
      const logits = tf.matmul(h, tf.getVariable('w2', [512, 10])).add(tf.getVariable('b2', [10]));
      const loss = tf.reduceMean(tf.nn.softmaxCrossEntropyWithLogitsV2({ labels, logits }));
      const step = new tf.train.GradientDescentOptimizer(0.1).minimize(loss);
      return { x, labels, step, init: tf.globalVariablesInitializer() };
    });
    await sess.run(built.init);
    const images = new tf.NDArray(tf.float32, [128, 784], Float32Array.from({ length: 128 * 784 }, Math.random));
    const labels = new Float32Array(1280);
    for (let i = 0; i < 128; i++) labels[i * 10 + Math.floor(Math.random() * 10)] = 1;
    const digits = new tf.NDArray(tf.float32, [128, 10], labels);
    const feeds = [
      [built.x, images],
      [built.labels, digits],
    ] as const;
    rows['MLP 784-512-512-10 step, batch 128'] = await measure(() => sess.run(built.step, feeds), {
      calls: 40,
      rounds: 5,
    });
  }
  {
    const graph = new tf.Graph();
    let x!: tf.Tensor;
    let y!: tf.Tensor;
    const build = await once(() =>
      graph.asDefault(() => {
        x = tf.placeholder(tf.float32, [4]);
        y = x;
        for (let i = 0; i < 100_000; i++) y = tf.add(y, x);
      }),
    );
    rows['100,000 nodes, build (ms)'] = { median: build };
    const sess = new tf.Session({ graph });
    rows['100,000 nodes, first run (ms)'] = { median: await once(() => sess.run(y, [[x, [1, 1, 1, 1]]])) };
  }
  {
    const { sess, built } = graphOf(() => {
      const x = tf.placeholder(tf.float32, [null]);
      return { x, y: x.mul(2), s: tf.reduceSum(x) };
    });
    const data = new tf.NDArray(tf.float32, [25_000_000], new Float32Array(25_000_000).fill(1));
    rows['for scale: a copy of 100 MB to new memory'] = await measure(async () => data.copy(), { calls: 3, rounds: 5 });
    rows['feed 100 MB, fetch its sum'] = await measure(() => sess.run(built.s, [[built.x, data]]), {
      calls: 3,
      rounds: 5,
    });
    const fetch = async () => (await sess.run(built.y, [[built.x, data]])) as tf.NDArray; // one tensor is fetched
    /** Results that are looked at, at one element of them. */
    let seen: unknown;
    rows['feed and fetch 100 MB'] = await measure(
      async () => {
        seen = (await fetch()).data[0];
      },
      { calls: 3, rounds: 5 },
    );
    rows['feed and fetch 100 MB, not looked at'] = await measure(fetch, { calls: 3, rounds: 5 });
    rows['feed and fetch 100 MB, given back'] = await measure(
      async () => {
        using result = await fetch();
        seen = result.data[0];
      },
      { calls: 3, rounds: 5 },
    );
    if (seen !== 2) throw new Error(`twice 1 was ${seen}`);
  }
  return rows;
}

/** Memory after each tenth of many runs, in MB: it must not grow. */
async function memoryOverRuns(runs: number): Promise<number[]> {
  const { sess, built } = graphOf(() => {
    const x = tf.placeholder(tf.float32, [4]);
    return { x, y: tf.tanh(x.add(1)) };
  });
  const fed = new tf.NDArray(tf.float32, [4], new Float32Array(4));
  const sizes: number[] = [];
  for (let i = 0; i < runs; i++) {
    await sess.run(built.y, [[built.x, fed]]);
    if ((i + 1) % (runs / 10) === 0) {
      globalThis.gc?.();
      sizes.push(Math.round(process.memoryUsage().rss / 1e6));
    }
  }
  return sizes;
}

function tensorflow(): Record<string, Row> | undefined {
  const python = process.env['TENSORFLOW_PYTHON'] ?? '/opt/tfenv/bin/python';
  const script = join(dirname(fileURLToPath(import.meta.url)).replace('/dist/', '/'), 'peers/tensorflow_spine.py');
  try {
    return JSON.parse(
      execFileSync(python, [script], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    ) as Record<string, Row>;
  } catch {
    return undefined;
  }
}

const first = tensorflow();
const rows = await ours();
const second = first && tensorflow();
/** The better of the peer's two runs. */
const peerOf = (name: string): Row | undefined =>
  [first?.[name], second?.[name]].filter((r) => r !== undefined).sort((a, b) => a.median - b.median)[0];
if (process.argv.includes('--json')) {
  for (const [name, row] of Object.entries(rows))
    console.log(JSON.stringify({ name, tensorloom: row, tensorflow: peerOf(name) ?? null }));
} else {
  const show = (row: Row | undefined) =>
    row === undefined
      ? '–'
      : `${row.median.toFixed(1)}${row.min === undefined ? '' : ` (${row.min.toFixed(1)}–${row.max!.toFixed(1)})`}`;
  console.log('| µs per call, median (least–most) | tensorloom | TensorFlow | ratio |\n|---|---|---|---|');
  for (const [name, row] of Object.entries(rows)) {
    const peer = peerOf(name);
    console.log(
      `| ${name} | ${show(row)} | ${show(peer)} | ${peer ? `${(peer.median / row.median).toFixed(1)}×` : '–'} |`,
    );
  }
}
if (process.argv.includes('--memory'))
  console.log('MB after each 100,000 of 1,000,000 runs:', (await memoryOverRuns(1_000_000)).join(' '));
