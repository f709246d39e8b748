/**
 * @file All benchmarks one after the other, with their peers where these are installed, and the tables of docs/performance.md:
 * `npm run bench:all [-- --only training,gemm] [-- --json] [-- --page docs/performance.md]`. It takes twenty minutes, and the machine should
 * have nothing else to do.
 *
 * With `--page` the tables are put into a page, each between `<!-- NAME -->` and `<!-- end -->`; two pairs of the same name want two runs.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Rows, type Run, rowsOf } from './page/results.ts';
import * as tables from './page/tables.ts';

type Name = keyof Rows;

/** The benchmarks and their options, in the order in which they run. */
const benchmarks: Readonly<Record<Name, readonly string[]>> = {
  units: [],
  training: ['--rounds', '10'],
  profile: [],
  memory: [],
  gemm: ['--rounds', '16'],
  conv: ['--rounds', '10'],
  random: [],
  data: [],
  spine: [],
};

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(benchmarks).join() },
    json: { type: 'boolean', default: false },
    page: { type: 'string' },
  },
});

const place = /<!-- (\w+) -->\n[\s\S]*?<!-- end -->/g;
const isName = (name: string): name is Name => Object.hasOwn(benchmarks, name);

async function run(name: Name): Promise<Run<never>> {
  const args = benchmarks[name];
  const script = fileURLToPath(new URL(`${name}.js`, import.meta.url));
  const before = loadavg()[0]!;
  const child = spawn(process.execPath, ['--expose-gc', script, '--json', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  let printed = '';
  for await (const text of child.stdout.setEncoding('utf8')) printed += text;
  const [code, signal] = await closed;
  if (code !== 0) throw new Error(`the benchmark '${name}' ended with ${code ?? signal}, after this:\n${printed}`);
  const command = [
    'npm run',
    name === 'spine' ? 'bench' : `bench:${name}`,
    ...(args.length > 0 ? ['--', ...args] : []),
  ];
  // The rows are those of the benchmark that printed them.
  return { command: command.join(' '), load: [before, loadavg()[0]!], rows: rowsOf(printed) as readonly never[] };
}

const chosen = options.only.split(',');
for (const name of chosen)
  if (!isName(name))
    throw new Error(`there is no benchmark '${name}'; there are ${Object.keys(benchmarks).join(', ')}`);
const page = options.page === undefined ? undefined : readFileSync(options.page, 'utf8');
const wanted = page === undefined ? chosen : [...page.matchAll(place)].map(([, name]) => name!);
const made = new Map<string, string[]>();
for (const name of wanted) {
  if (!isName(name) || !chosen.includes(name)) continue;
  process.stderr.write(`${name} …\n`);
  const result = await run(name);
  const text = tables[name](result);
  made.set(name, [...(made.get(name) ?? []), text]);
  if (options.json) console.log(JSON.stringify({ benchmark: name, ...result }));
  else console.log(`${text}\n`);
}
if (options.page !== undefined && page !== undefined)
  writeFileSync(
    options.page,
    page.replace(place, (old, name: string) => {
      const text = made.get(name)?.shift();
      return text === undefined ? old : `<!-- ${name} -->\n\n${text}\n\n<!-- end -->`;
    }),
  );
