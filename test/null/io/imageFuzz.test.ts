/** @file Damaged image files end with errors of TensorFlow and nothing else; `npm run fuzz` tries many more of them. */
import { expect, it } from 'vitest';
import { imageTargets } from '../../../tools/fuzz/imageTargets.ts';
import { fuzz } from '../../../tools/fuzz/run.ts';

for (const target of imageTargets()) {
  it(target.name, async () => {
    const { counts } = await fuzz(target, 250, 11);
    expect(Object.values(counts).reduce((sum, n) => sum + n, 0)).toBe(250);
    expect(counts['InvalidArgumentError']).toBeGreaterThan(20);
  });
}
