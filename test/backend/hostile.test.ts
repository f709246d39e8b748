/**
 * @file Misused ops answer with a typed error that names them, while building or while running: never with a crash, a read
 * outside a buffer, an error of the program itself or a hang. `MISUSE=all` tries every misuse instead of a part of them.
 */
import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import '../../src/ops/index.ts';
import { InternalError, OpError } from '../../src/core/errors.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import { ReferenceDevice } from '../../src/devices/reference/device.ts';
import { type OpDefinition, registry } from '../../src/op/registry.ts';
import { CaseRunner } from './caseRunner.ts';
import { type Misuse, misuses } from './hostile.ts';
import { buildOp } from './opCases.ts';

const device = CpuDevice.open() ?? new ReferenceDevice();

/** Some mistakes are internal errors in TensorFlow too. */
const asInTensorFlow = /(PNG|JPEG) encoding failed/;

/** What is wrong with the way an op took a misuse; nothing, if it did what it could or said what was wrong. */
async function complaint(op: OpDefinition, misuse: Misuse, unknownShapes: boolean): Promise<string | undefined> {
  try {
    const built = buildOp(op, misuse.inputs, misuse.attrs, { unknownShapes, feedHostInputs: unknownShapes });
    const runner = new CaseRunner(built.graph, device);
    await runner.run(
      [],
      [],
      built.variables.map((v) => v.initialize),
    );
    await runner.run(built.op.outputs, built.feeds, built.op.outputs.length === 0 ? [built.op] : []);
    return undefined;
  } catch (error) {
    if (!(error instanceof OpError))
      return `${misuse.what}: ${(error as Error).stack?.split('\n').slice(0, 3).join(' ')}`;
    if (error instanceof InternalError && !asInTensorFlow.test(error.message))
      return `${misuse.what}: internal error: ${error.message}`;
    const names = error.node === op.name || error.op === op.name || error.message.includes(op.name);
    return names ? undefined : `${misuse.what}: the error does not name the op: ${error.message}`;
  }
}

/** The ops that files of some folders define. */
async function opsIn(folders: readonly string[]): Promise<OpDefinition[]> {
  const found = new Set<OpDefinition>();
  for (const folder of folders) {
    const here = new URL(`../../src/ops/${folder}/`, import.meta.url);
    for (const file of readdirSync(here, { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts')) continue;
      const exported: object = await import(/* @vite-ignore */ new URL(file, here).pathname);
      for (const value of Object.values(exported)) {
        const op = typeof value?.name === 'string' ? registry.get(value.name) : undefined;
        if (op !== undefined && op === value) found.add(op);
      }
    }
  }
  return [...found];
}

const chosen = new RegExp(process.env['MISUSE_OPS'] ?? '');
const isWhole = process.env['MISUSE'] === 'all';
const families = await opsIn(process.env['MISUSE_FOLDERS']?.split(',') ?? ['nn', 'image', 'flow', 'sparse']);
const ops = families.filter((op) => chosen.test(op.name) && misuses(op, 1).length > 0);

/** A part of a list that differs from op to op. */
const some = <T>(list: readonly T[], name: string): readonly T[] =>
  isWhole ? list : list.filter((_, i) => (i * 7 + name.length) % 5 === 0);

describe('misused ops say what is wrong', () => {
  it.each(ops.map((op) => [op.name, op] as const))('%s', async (name, op) => {
    const complaints: string[] = [];
    for (const [i, misuse] of some(misuses(op), name).entries())
      for (const unknownShapes of isWhole ? [false, true] : [i % 2 === 0]) {
        const found = await complaint(op, misuse, unknownShapes);
        if (found !== undefined) complaints.push(found);
      }
    expect(complaints).toEqual([]);
  });
});
