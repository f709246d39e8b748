/** @file What the processor's units can do, by a program that does nothing but multiply. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { programPath, root } from './peerProgram.ts';

/** GFLOP/s of float32 on one thread and on all. */
export interface Unit {
  readonly unit: string;
  readonly one: number;
  readonly all: number;
}
/** For which share of some seconds a processor was near its best speed, and its median as a part of that. */
export interface Processor {
  readonly processor: number;
  readonly fast: number;
  readonly median: number;
}

/** Something that measures them: each the best of some rounds, and processors for some seconds. Undefined where there is no such program. */
export function unitRates():
  | ((threads: number, rounds: number, seconds: number) => readonly (Unit | Processor)[])
  | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  const program = programPath('units');
  const source = join(root, 'bench/peers/units.cpp');
  execFileSync(process.env['CXX'] ?? 'g++', ['-O2', '-std=c++20', '-pthread', source, '-o', program], {
    stdio: 'inherit',
  });
  return (threads, rounds, seconds) => {
    const printed = execFileSync(program, [threads, rounds, seconds].map(String), { encoding: 'utf8' });
    const lines = printed.trim().split('\n').filter(Boolean);
    return lines.map((line) => JSON.parse(line) as Unit | Processor); // printed by that program
  };
}
