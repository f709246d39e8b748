/**
 * @file Zeros, denormals, infinities and NaN through every op that computes with floats: Python builds the graphs and runs them on
 * servers of ours, one per instruction set of the processor, and in its own process. `npm run differential:extremes [-- PATTERN]`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { findTensorFlow, runPython } from '../tensorflow.ts';

const compiled = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const inRepository = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const levels = ['avx512', 'avx2', 'portable'];

/** Starts a server on one instruction set; gives it and its address. */
async function serve(level: string): Promise<readonly [ChildProcess, string]> {
  const library = inRepository('build/native-all/libtensorloom.so');
  const server = spawn(process.execPath, [compiled('../../src/cli/main.js'), 'serve', '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TENSORLOOM_LIBRARY: library, TENSORLOOM_SIMD: level },
  });
  for await (const line of createInterface({ input: server.stdout })) {
    const target = /grpc:\/\/\S+/.exec(line)?.[0];
    if (target) return [server, `${level}=${target}`];
  }
  throw new Error(`the server for ${level} did not start`);
}

const tensorflow = findTensorFlow();
if ('reason' in tensorflow) {
  console.log(`skipped: ${tensorflow.reason}`);
} else {
  const servers = await Promise.all(levels.map(serve));
  const targets = servers.map(([, target]) => target);
  const script = inRepository('tools/differential/extremes.py');
  process.exitCode = runPython(tensorflow.python, script, [...targets, ...process.argv.slice(2)]);
  for (const [server] of servers) server.kill();
}
