/**
 * @file Convolutions, pooling and normalization with arguments drawn at random, and their first and second derivatives: Python
 * builds the graphs and runs them on a server of ours and in its own process. `npm run differential:sweep [-- CASES [SEED]]`.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { findTensorFlow } from '../tensorflow.ts';

const compiled = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const script = fileURLToPath(new URL('../../../tools/differential/sweep.py', import.meta.url));

const tensorflow = findTensorFlow();
if ('reason' in tensorflow) {
  console.log(`skipped: ${tensorflow.reason}`);
} else {
  const server = spawn(process.execPath, [compiled('../../src/cli/main.js'), 'serve', '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: server.stdout })) {
    const target = /grpc:\/\/\S+/.exec(line)?.[0];
    if (!target) continue;
    const python = spawn(tensorflow.python, [script, target, ...process.argv.slice(2)], { stdio: 'inherit' });
    process.exitCode = await new Promise<number>((resolve) => python.on('exit', (code) => resolve(code ?? 1)));
    break;
  }
  server.kill();
}
