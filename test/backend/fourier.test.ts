/** @file Fourier transforms of the native library are those in TypeScript, for lengths of every kind. */
import { describe, expect, it } from 'vitest';
import { sizeOf } from '../../src/core/shape.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import { fourier, fourierInTurns } from '../../src/ops/math/hostFourier.ts';

/** Powers of two and of four, products of small factors, primes, a square of a prime, and lengths with a large prime factor. */
const lengths = [
  1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 16, 17, 22, 25, 30, 35, 49, 64, 97, 169, 202, 243, 1000, 1024, 2310, 4099, 20_000,
];

describe.runIf(CpuDevice.open())('Fourier transforms of the native library', () => {
  it.each(
    lengths.flatMap(
      (n) =>
        [
          [n, false],
          [n, true],
        ] as const,
    ),
  )('of %d numbers, inverse: %s', async (n, inverse) => {
    for (const [shape, axis] of [
      [[n], 0],
      [[3, n, 2], 1],
    ] as const) {
      const given = Float64Array.from({ length: 2 * sizeOf(shape) }, (_, i) => Math.sin(i * i * 0.37 + i));
      const [found, expected] = [given.slice(), given.slice()];
      await fourier(found, shape, axis, inverse, 2);
      await fourierInTurns(expected, shape, axis, inverse);
      const largest = expected.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
      const far = found.findIndex((x, i) => !(Math.abs(x - expected[i]!) <= 1e-13 * largest));
      expect(far, `${found[far]} and ${expected[far]} in ${shape}`).toBe(-1);
    }
  });

  it('have the same bits on any number of threads', async () => {
    const given = Float64Array.from({ length: 2 * 37 * 3000 }, (_, i) => Math.cos(i * 0.7));
    const results = [1, 2, 5].map(async (threads) => {
      const data = given.slice();
      await fourier(data, [37, 3000], 1, false, threads);
      return data;
    });
    const [alone, ...others] = await Promise.all(results);
    for (const other of others) expect(other).toEqual(alone);
  });
});
