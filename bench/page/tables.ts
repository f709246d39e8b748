/** @file The tables of docs/performance.md, made of what the benchmarks say. */
import { steps } from '../steps/index.ts';
import type { Rows, Run } from './results.ts';

type Cell = string | number;

function table(heads: readonly Cell[], rows: readonly (readonly Cell[])[]): string {
  const line = (cells: readonly Cell[]) => `| ${cells.join(' | ')} |`;
  return [line(heads), `|${heads.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}

const missing = '–';
const shown = (x: number | null | undefined, digits: number): string =>
  x === null || x === undefined || Number.isNaN(x) ? missing : x.toFixed(digits);
const whole = (x: number | null): string => (x === null ? missing : Math.round(x).toLocaleString('en'));

const unique = <T>(all: readonly T[]): T[] => [...new Set(all)];
const threadsOf = (rows: readonly { readonly threads: number }[]): number[] => unique(rows.map((row) => row.threads));
const inWords = (threads: number): string => (threads === 1 ? 'one thread' : `${threads} threads`);

/** The line above a table: how it was made, and what is to be said of it. */
function caption({ command, load: [before, after] }: Run<unknown>, ...remarks: readonly string[]): string {
  const load = `load ${before.toFixed(1)} before and ${after.toFixed(1)} after`;
  return `${[`\`${command}\`, ${load}`, ...remarks].join('; ')}.`;
}

/** How many of the ratios reach the aim. */
function reached(rows: readonly { readonly ratio: number | null }[], aim: number): string {
  const known = rows
    .map((row) => row.ratio)
    .filter((ratio) => ratio !== null)
    .toSorted((a, b) => a - b);
  if (known.length === 0) return 'no peer is installed';
  const [least, median] = [known[0]!, known[known.length >> 1]!];
  const count = known.filter((ratio) => ratio >= aim).length;
  return `${count} of ${known.length} are at ${aim} or more, the median is ${median.toFixed(2)}, the least ${least.toFixed(2)}`;
}

const runners = { tensorloom: 'tensorloom', tensorflow: 'TensorFlow', pytorch: 'PyTorch', tfjs: 'TensorFlow.js' };

/** Microseconds of training steps, best and median, GFLOP/s of products, and how much several threads gain. */
export function training(run: Run<Rows['training']>): string {
  const present = Object.entries(runners).filter(([name]) => run.rows.some((row) => row.times[name]));
  const threads = threadsOf(run.rows);
  const lines = (
    rows: readonly Rows['training'][],
    what: string,
    isStep: boolean,
    speed: (micros: number, step: string) => string,
  ) =>
    threads.map((count) =>
      table(
        [
          `${what.replace('#', inWords(count))}, best (median)`,
          ...present.map(([, title]) => title),
          'times as fast as the better peer (single rounds)',
          ...(isStep ? ['multiplications alone'] : []),
        ],
        rows
          .filter((row) => row.threads === count)
          .map(({ step, times, ratio, rounds, floor }) => [
            steps[step]!.title,
            ...present.map(([name]) => {
              const time = times[name];
              return time ? `${speed(time.best, step)} (${speed(time.median, step)})` : missing;
            }),
            rounds ? `${shown(ratio, 2)} (${rounds.map((x) => x.toFixed(2)).join('–')})` : shown(ratio, 2),
            ...(isStep ? [shown(floor, 0)] : []),
          ]),
      ),
    );
  const products = run.rows.filter((row) => steps[row.step]!.isProduct);
  const others = run.rows.filter((row) => !products.includes(row));
  const gigaflops = (micros: number, step: string) => (steps[step]!.operations! / micros / 1000).toFixed(0);
  return [
    caption(run, ...(others.length > 0 ? [`of the steps ${reached(others, 1.5)}`] : [])),
    ...(others.length > 0 ? lines(others, 'step, #: µs', true, (micros) => micros.toFixed(0)) : []),
    ...(products.length > 0 ? lines(products, 'float32, run by a session, #: GFLOP/s', false, gigaflops) : []),
    ...(threads.length > 1 ? [scaling(run, present)] : []),
  ].join('\n\n');
}

function scaling({ rows }: Run<Rows['training']>, present: readonly (readonly [string, string])[]): string {
  const [few, many] = [Math.min(...threadsOf(rows)), Math.max(...threadsOf(rows))];
  const of = (step: string, threads: number, name: string) =>
    rows.find((row) => row.step === step && row.threads === threads)?.times[name]?.best;
  return table(
    [`times as fast on ${inWords(many)} as on ${inWords(few)}`, ...present.map(([, title]) => title)],
    unique(rows.map((row) => row.step)).map((step) => [
      steps[step]!.title,
      ...present.map(([name]) => {
        const [slow, fast] = [of(step, few, name), of(step, many, name)];
        return slow && fast ? (slow / fast).toFixed(2) : missing;
      }),
    ]),
  );
}

/** Microseconds of the largest instructions of training steps on one thread and on several. */
export function profile(run: Run<Rows['profile']>): string {
  const tables = unique(run.rows.map((row) => row.step)).map((step) => {
    const rows = run.rows.filter((row) => row.step === step);
    const micros = (all: readonly (number | undefined)[]) => {
      const [few, many] = [all[0], all.at(-1)];
      return [...all.map((x) => shown(x, 1)), shown(few && many && few / many, 2)];
    };
    const kinds = rows[0]!.kinds.toSorted((a, b) => b.micros - a.micros).slice(0, 8);
    const of = (kind: string) => rows.map((row) => row.kinds.find((k) => k.kind === kind)?.micros);
    const others = rows[0]!.instructions - kinds.reduce((sum, { count }) => sum + count, 0);
    const rest = rows.map(
      (row) =>
        row.all - kinds.reduce((sum, { kind }) => sum + (row.kinds.find((k) => k.kind === kind)?.micros ?? 0), 0),
    );
    return table(
      [`${steps[step]!.title}: µs`, ...rows.map((row) => inWords(row.threads)), 'times as fast'],
      [
        ...kinds.map(({ kind, count }) => [`${count} × \`${shortened(kind)}\``, ...micros(of(kind))]),
        ...(others > 0 ? [[`the other ${others}`, ...micros(rest)]] : []),
        ['all instructions', ...micros(rows.map((row) => row.all))],
        ['the best run, with everything around them', ...micros(rows.map((row) => row.run))],
      ],
    );
  });
  return [caption(run, `each instruction the best of ${run.rows[0]?.runs} runs`), ...tables].join('\n\n');
}

/** A label that fits a table. */
function shortened(kind: string): string {
  const plain = kind
    .replaceAll('|', '&')
    .replaceAll(/\d+\.\d{4,}/g, (digits) => String(Number(Number(digits).toPrecision(3))));
  return plain.length > 110 ? `${plain.slice(0, 110)}…` : plain;
}

/** GFLOP/s of the processor's units, and how steady the processors are. */
export function units(run: Run<Rows['units']>): string {
  const speeds = run.rows.flatMap((row) =>
    'unit' in row ? [[row.unit, shown(row.one, 1), shown(row.all, 1), shown(row.all / row.one, 2)]] : [],
  );
  const processors = run.rows.flatMap((row) =>
    'processor' in row ? [[row.processor, shown(row.fast, 2), shown(row.median, 2)]] : [],
  );
  return [
    caption(run),
    table(['unit, GFLOP/s', 'one thread', 'all threads', 'times as much'], speeds),
    table(['processor', 'share of three seconds near its best speed', 'median of the best'], processors),
  ].join('\n\n');
}

/** One line per name, with cells for every number of threads. */
function byThreads<Row extends { readonly threads: number }>(
  rows: readonly Row[],
  head: string,
  nameOf: (row: Row) => string,
  cells: readonly (readonly [head: (threads: number) => string, cell: (row: Row) => string])[],
): string {
  const threads = threadsOf(rows);
  return table(
    [head, ...threads.flatMap((count) => cells.map(([title]) => title(count)))],
    unique(rows.map(nameOf)).map((name) => [
      name,
      ...threads.flatMap((count) => {
        const row = rows.find((r) => r.threads === count && nameOf(r) === name);
        return cells.map(([, cell]) => (row ? cell(row) : missing));
      }),
    ]),
  );
}

/** GB/s of maps and reductions beside a copy. */
export function memory(run: Run<Rows['memory']>): string {
  const rows = byThreads(run.rows, 'what, GB/s', (row) => row.name, [
    [inWords, (row) => shown(row.tensorloom, 1)],
    [() => 'copy', (row) => shown(row.copy, 1)],
    [() => 'ratio', (row) => shown(row.ratio, 2)],
  ]);
  return [caption(run, reached(run.rows, 0.8)), rows].join('\n\n');
}

/** Microseconds for a million random numbers. */
export function random(run: Run<Rows['random']>): string {
  const rows = byThreads(run.rows, 'a million numbers, µs', (row) => row.name, [
    [inWords, (row) => shown(row.tensorloom, 0)],
    [() => 'TensorFlow', (row) => shown(row.tensorflow, 0)],
    [() => 'times as fast', (row) => shown(row.tensorflow && row.tensorflow / row.tensorloom, 2)],
  ]);
  return [caption(run), rows].join('\n\n');
}

/** What comes in and goes out in a second. */
export function data(run: Run<Rows['data']>): string {
  const rows = run.rows.map(({ row, unit, tensorloom, tensorflow, ratio }) => [
    row.replaceAll('_', ' '),
    whole(tensorloom),
    whole(tensorflow),
    shown(ratio, 2),
    unit,
  ]);
  return [caption(run), table(['row', 'tensorloom', 'TensorFlow', 'ratio', 'unit'], rows)].join('\n\n');
}

/** Some products beside every peer, then ratios of all products to the best peer, those of all transposes in one cell. */
export function gemm(run: Run<Rows['gemm']>): string {
  const inDetail = ['f32 256x256x256', 'f32 1024x1024x1024', 'f32 128x784x512'];
  /** A case is its type and sizes, and then the transposes. */
  const sizes = (row: Rows['gemm']) => row.case.slice(0, row.case.lastIndexOf(' '));
  const peers = (['oneDNN', 'OpenBLAS', 'MKL'] as const).filter((peer) => run.rows.some((row) => row[peer]));
  const detailed = byThreads(
    run.rows.filter((row) => row.case.endsWith(' nn') && inDetail.includes(sizes(row))),
    'product m x k x n, GFLOP/s',
    sizes,
    [
      [inWords, (row) => shown(row.tensorloom, 0)],
      ...peers.map((peer) => [() => peer, (row: Rows['gemm']) => shown(row[peer], 0)] as const),
    ],
  );
  const transposes = ['nn', 'nt', 'tn', 'tt'];
  const cell = (row: Rows['gemm']) => {
    const alike = run.rows.filter((r) => r.threads === row.threads && sizes(r) === sizes(row));
    return transposes.map((t) => shown(alike.find((r) => r.case.endsWith(` ${t}`))?.ratio, 2)).join(', ');
  };
  const ratios = byThreads(run.rows, 'product m x k x n, ratio to the best', sizes, [
    [(threads) => `${inWords(threads)}: ${transposes.join(', ')}`, cell],
  ]);
  return [caption(run, reached(run.rows, 0.9)), detailed, ratios].join('\n\n');
}

/** GFLOP/s of convolutions beside oneDNN's. */
export function conv(run: Run<Rows['conv']>): string {
  const rows = byThreads(run.rows, 'convolution, GFLOP/s', (row) => row.case, [
    [inWords, (row) => shown(row.tensorloom, 1)],
    [() => 'oneDNN', (row) => shown(row.oneDNN, 1)],
    [() => 'ratio', (row) => shown(row.ratio, 2)],
  ]);
  return [caption(run, reached(run.rows, 0.8)), rows].join('\n\n');
}

/** What a session costs besides arithmetic. */
export function spine(run: Run<Rows['spine']>): string {
  const cell = (x: Rows['spine']['tensorflow']) =>
    x === null
      ? missing
      : `${x.median.toFixed(1)}${x.min === undefined || x.max === undefined ? '' : ` (${x.min.toFixed(1)}–${x.max.toFixed(1)})`}`;
  const rows = run.rows.map(({ name, tensorloom, tensorflow }) => [
    name,
    cell(tensorloom),
    cell(tensorflow),
    shown(tensorflow && tensorflow.median / tensorloom.median, 1),
  ]);
  return [
    caption(run),
    table(['µs per call, median (least–most)', 'tensorloom', 'TensorFlow', 'times as fast'], rows),
  ].join('\n\n');
}
