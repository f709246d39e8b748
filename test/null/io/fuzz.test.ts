/** @file A share of `npm run fuzz`: damaged inputs of every kind end with a value or with an error that has a code. */
import { afterAll, expect, it } from 'vitest';
import '../../../src/ops/index.ts';
import { fuzz } from '../../../tools/fuzz/run.ts';
import type { Target } from '../../../tools/fuzz/target.ts';
import { targets } from '../../../tools/fuzz/targets.ts';

const all = await targets();
afterAll(() => {
  for (const target of all) target.close?.();
});

it.each(all)('$name', async (target) => {
  const { counts } = await fuzz(target, 400, 2);
  // Both must happen, or the damage tests nothing.
  expect(counts['read']).toBeGreaterThan(0);
  expect(Object.keys(counts).length).toBeGreaterThan(1);
});

it('sees an error without a code', async () => {
  const broken: Target = { name: 'broken', seeds: [Uint8Array.of(1)], read: () => new Uint8Array(-1) };
  await expect(fuzz(broken, 1)).rejects.toThrow(/broken, round 0: RangeError.*\ninput: /);
});
