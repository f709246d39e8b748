/** @file Random graphs give the same on both devices, simplified or not. `npm run fuzz` holds 1,000 of them against TensorFlow. */
import { expect, it } from 'vitest';
import { examine } from '../../tools/differential/examineGraph.ts';

it('values and gradients of 60 random graphs agree', async () => {
  const problems: string[] = [];
  for (let seed = 2001; seed <= 2060; seed++) problems.push(...(await examine(seed)).problems);
  expect(problems).toEqual([]);
});
