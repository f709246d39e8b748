/**
 * @file Measures the errors of float32 functions over all numbers there are, and of float64 functions on a hundred million, on every
 * instruction set that this processor has, and compares them with what native/README.md says: `npm run accuracy`, which takes an hour,
 * or `npm run accuracy -- 1021` for every 1021st number.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, 'build', 'check');
const step = Number(process.argv[2] ?? '1');
function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (error) console.error(`accuracy: ${error.message}`);
  if (status !== 0) process.exit(1);
}

mkdirSync(folder, { recursive: true });
run('node', ['tools/buildNative.mjs', '--all']);
/** Compiles a program of tools/ and measures all functions with it. */
function measure(name, libraries, amount) {
  const program = join(folder, name);
  const flags = ['-std=gnu++17', '-O2', `tools/${name}.cpp`, ...libraries, '-o', program];
  run(process.env.CXX ?? 'g++', flags);
  run(program, ['build/native-all/libtensorloom.so', 'native/README.md', 'all', String(amount)]);
}
measure('accuracy', ['-ldl'], step);
measure('accuracy64', ['-ldl', '-lquadmath'], Math.ceil(1600 / step));
