/**
 * @file Runs TensorFlow's own Python tests with their sessions on a tensorloom server, and writes docs/compatibility.md.
 *
 *     npm run build && node tools/peerTests/run.mjs [FILE...] [--limit SECONDS]
 *
 * FILE is a part of a name in files.json; without any, all files run. Results of files that are not run are kept.
 * PEER_RUNNER is the script that runs one file (default ../shared/peer/run_peer.py), PEER_SOURCES a checkout of
 * TensorFlow's sources (default /work/peer), PEER_PYTHON a Python with TensorFlow, PEER_SERVER the command's main.js.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { describeResults } from './report.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, '../..');
const runner = process.env.PEER_RUNNER ?? resolve(root, '../shared/peer/run_peer.py');
const sources = process.env.PEER_SOURCES ?? '/work/peer';
const python = process.env.PEER_PYTHON ?? '/opt/tfenv/bin/python';
const serverMain = process.env.PEER_SERVER ?? join(root, 'dist/src/cli/main.js');
const resultsFile = join(here, 'results.json');

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { limit: { type: 'string', default: '240' } },
});

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));

/** A server of its own for every file: a failure of one cannot spoil the next. Its job is named as TensorFlow's local one. */
async function startServer(folder) {
  const args = ['serve', '--port', '0', '--job', 'localhost'];
  const child = spawn(process.execPath, [serverMain, ...args], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout })) {
    const target = /grpc:\/\/\S+/.exec(line)?.[0];
    if (target) return { target, stop: () => child.kill() };
  }
  throw new Error(`${serverMain} ended without saying where it listens`);
}

/** The record that the runner prints for a file. */
async function runFile(file) {
  // Client and server share a folder that goes away afterwards: some tests write to relative paths, and some read files such as
  // tensorflow/core/lib/jpeg/testdata/small.jpg.
  const folder = mkdtempSync(join(tmpdir(), 'tensorloom-peer-'));
  symlinkSync(join(sources, 'tensorflow'), join(folder, 'tensorflow'));
  const server = await startServer(folder);
  try {
    const args = [join(here, 'runFile.py'), runner, server.target, sources, file, '--limit', values.limit];
    const child = spawn(python, args, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });
    const overdue = setTimeout(() => child.kill('SIGKILL'), (Number(values.limit) + 120) * 1000);
    let record;
    for await (const line of createInterface({ input: child.stdout }))
      if (line.startsWith('PEER ')) record = JSON.parse(line.slice('PEER '.length));
    clearTimeout(overdue);
    return record ?? { file, import_error: 'the runner gave no answer in time' };
  } finally {
    server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

for (const needed of [runner, serverMain, join(sources, 'tensorflow/python')])
  if (!existsSync(needed)) throw new Error(`${needed} does not exist`);

/** The results so far; read anew each time, since several runs may be under way. */
const readResults = () => (existsSync(resultsFile) ? readJson(resultsFile) : {});

const wanted = readJson(join(here, 'files.json')).filter(
  (file) => positionals.length === 0 || positionals.some((part) => file.includes(part)),
);
for (const file of wanted) {
  const { ops: _, ...record } = await runFile(file);
  console.log(`${file}: ${record.passed ?? 0} passed, ${record.failed ?? 0} failed, ${record.seconds ?? '?'} s`);
  const results = { ...readResults(), [file]: record };
  const sorted = Object.fromEntries(Object.entries(results).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(resultsFile, `${JSON.stringify(sorted, null, 1)}\n`);
}
const tiers = readJson(join(dirname(runner), 'tiers.json'));
const text = describeResults(readResults(), tiers, readJson(join(here, 'reasons.json')));
writeFileSync(join(root, 'docs/compatibility.md'), text);
