/** @file The buckets of histograms, found by halving the list of their ends, as a check on the quicker way. */
import { expect, it } from 'vitest';
import { Histogram } from '../../../src/ops/summary/buckets.ts';

it('puts every number in the bucket whose end is the first above it', () => {
  const numbers: number[] = [0, -0, Number.MAX_VALUE, -Number.MAX_VALUE, Number.MIN_VALUE, -Number.MIN_VALUE];
  // All ends, and their neighbours.
  const bits = new BigInt64Array(1);
  const float = new Float64Array(bits.buffer);
  for (let limit = 1e-12; limit < 1e20; limit *= 1.1)
    for (const by of [-1n, 0n, 1n]) {
      float[0] = limit;
      bits[0]! += by;
      numbers.push(float[0], -float[0]);
    }
  for (let i = 0; i < 5000; i++) numbers.push(Math.sin(i) * 10 ** ((i % 40) - 18));
  const { bucket_limit: ends = [], bucket = [] } = histogramOf(numbers);
  let from = Number.NEGATIVE_INFINITY;
  for (const [i, end] of ends.entries()) {
    const isLast = i === ends.length - 1;
    expect(bucket[i]).toBe(numbers.filter((x) => x >= from && (x < end || isLast)).length);
    from = end;
  }
  expect(bucket.reduce((a, b) => a + b)).toBe(numbers.length);
});

function histogramOf(numbers: readonly number[]) {
  const histogram = new Histogram();
  for (const x of numbers) histogram.add(x);
  return histogram.toProto();
}
