/**
 * @file Convolutions and their gradients beside oneDNN's, in turns in one process, with the ratio to it:
 * `npm run bench:conv [-- --threads 1] [-- --rounds 12] [-- --only 'CNN 2'] [-- --json]`.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { compare, programPath, root } from './peerProgram.ts';

/** The program that measures, with oneDNN where its headers are. */
function buildPeer(): string {
  const compiler = process.env['CXX'] ?? 'g++';
  const program = programPath('conv');
  const tried = spawnSync(compiler, ['-x', 'c++', '-E', '-'], {
    input: '#include <dnnl.hpp>\n',
    stdio: ['pipe', 'ignore', 'ignore'], // what it prints is longer than a pipe may be here
  });
  const withDnnl = tried.status === 0 ? ['-DHAS_DNNL', '-ldnnl'] : [];
  const args = ['-O2', '-std=c++20', join(root, 'bench/peers/conv.cpp'), '-o', program, '-ldl', ...withDnnl];
  execFileSync(compiler, args, { stdio: 'inherit' });
  return program;
}

await compare(buildPeer(), {
  what: 'convolution',
  peers: ['oneDNN'],
  near: 0.8,
  environment: (threads) => ({ OMP_NUM_THREADS: threads }),
});
