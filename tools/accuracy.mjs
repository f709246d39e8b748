/**
 * @file Measures the errors of float32 functions over all numbers there are, on every instruction set that this processor has, and
 * compares them with what native/README.md says: `npm run accuracy`, which takes half an hour, or `npm run accuracy -- 1021` for
 * every 1021st number.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const program = join(root, 'build', 'check', 'accuracy');
function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (error) console.error(`accuracy: ${error.message}`);
  if (status !== 0) process.exit(1);
}

mkdirSync(dirname(program), { recursive: true });
run('node', ['tools/buildNative.mjs', '--all']);
run(process.env.CXX ?? 'g++', ['-std=c++17', '-O2', 'tools/accuracy.cpp', '-ldl', '-o', program]);
run(program, ['build/native-all/libtensorloom.so', 'native/README.md', 'all', process.argv[2] ?? '1']);
