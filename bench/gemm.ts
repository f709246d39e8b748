/**
 * @file Matrix products beside oneDNN, OpenBLAS and PyTorch's MKL, in turns in one process; ratios to the best of them:
 * `npm run bench:gemm [-- --threads 1] [-- --rounds 12] [-- --only 'f32 128x784x512'] [-- --json]`.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { compare, programPath, root } from './peerProgram.ts';

/** The folder of PyTorch's libraries, whose MKL is one of the peers; undefined where there is no PyTorch. */
function torchLibraries(): string | undefined {
  const python = process.env['TENSORFLOW_PYTHON'] ?? '/opt/tfenv/bin/python';
  const packages = join(dirname(dirname(python)), 'lib');
  if (!existsSync(packages)) return undefined;
  const folders = readdirSync(packages).map((name) => join(packages, name, 'site-packages/torch/lib'));
  return folders.find((folder) => existsSync(join(folder, 'libtorch_cpu.so')));
}

/** Whether the processor has vectors of 512 bits. */
function hasWideVectors(): boolean {
  const info = '/proc/cpuinfo';
  return existsSync(info) && /^flags.*\bavx512f\b/m.test(readFileSync(info, 'utf8'));
}

function buildPeer(): string {
  const program = programPath('gemm');
  const source = join(root, 'bench/peers/gemm.cpp');
  execFileSync(process.env['CXX'] ?? 'g++', ['-O2', '-std=c++20', source, '-o', program, '-ldl'], { stdio: 'inherit' });
  return program;
}

/** Debian's OpenBLAS does not know processors newer than itself and would take its slowest path; nor may whatever is set for other programs hold it up. */
const openBlasAtItsBest = {
  OPENBLAS_CORETYPE: hasWideVectors() ? 'SkylakeX' : undefined,
  OPENBLAS_L2_SIZE: undefined,
};

const torch = torchLibraries();
await compare(buildPeer(), {
  what: 'product',
  note: '; names are m x k x n, then whether a and b are transposed',
  peers: ['oneDNN', 'OpenBLAS', 'MKL'],
  near: 0.9,
  environment: () => ({ ...openBlasAtItsBest, ...(torch && { TORCH_LIB: torch }) }),
});
