/** @file Strings of parsed batches end with the batches: they do not wait for a collection of the whole heap. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { string } from '../../../src/core/dtypes.ts';
import { Example } from '../../../src/io/example.ts';
import { parseBeside } from '../../../src/io/examples/nativeParse.ts';

setFlagsFromString('--expose-gc');
const collect: (options?: { type: 'minor' }) => void = runInNewContext('gc');

const count = 256;
const words = Array.from({ length: 8 }, (_, i) => `word ${i}`);

/** Bytes by which the heap grows with one more batch when only what is new is looked at. */
async function kept(batch: () => Promise<unknown>): Promise<number> {
  const rounds = 40;
  for (let i = 0; i < rounds; i++) await batch();
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < rounds; i++) {
    await batch();
    collect({ type: 'minor' });
  }
  return (process.memoryUsage().heapUsed - before) / rounds;
}
/** A batch has two thousand strings, of a hundred bytes and more each. */
const most = 60_000;

it('do not outlive it', async () => {
  const serialized = Array.from({ length: count }, () => Example.from({ words }).serialize());
  const key = new TextEncoder().encode('words');
  const slot = { key, dtype: string, shape: [null], isFixed: false, stride: 1, kind: 'sparse' } as const;
  expect(await kept(() => parseBeside([slot], serialized, []))).toBeLessThan(most);
});
