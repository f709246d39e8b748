/** @file The buckets of histograms, found by halving the list of their ends, as a check on the quicker way. */
import { describe, expect, it } from 'vitest';
import { float32, float64, int32, uint8 } from '../../../src/core/dtypes.ts';
import { NDArray } from '../../../src/core/ndarray.ts';
import { nativeFunctions } from '../../../src/io/native.ts';
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

/** Numbers of all sizes, the same each time. */
const spread = Float64Array.from({ length: 40_000 }, (_, i) => Math.sin(i * 1.7) * 10 ** (((i * 7) % 40) - 16));

describe.skipIf(!nativeFunctions())('counting beside the event loop', () => {
  const arrays = {
    float32: new NDArray(float32, [40_000], Float32Array.from(spread)),
    float64: new NDArray(float64, [40_000], spread),
    int32: new NDArray(int32, [40_000], Int32Array.from(spread)),
  };
  for (const [name, array] of Object.entries(arrays))
    it(`gives the same for ${name}`, async () => {
      const [here, beside] = [new Histogram(), new Histogram()];
      for (let i = 0; i < array.size; i++) here.add(array.numberAt(i));
      expect(await beside.addBeside(array)).toBeUndefined();
      expect(beside.toProto()).toEqual(here.toProto());
    });

  it('tells of the first number that is not finite, and leaves other types and few numbers alone', async () => {
    for (const [first, second] of [
      [Number.NaN, Number.NEGATIVE_INFINITY],
      [Number.POSITIVE_INFINITY, Number.NaN],
    ] as const) {
      const values = spread.with(20_000, first).with(30_000, second);
      expect(await new Histogram().addBeside(new NDArray(float64, [40_000], values))).toBe(first);
    }
    expect(await new Histogram().addBeside(new NDArray(float32, [2], Float32Array.of(1, 2)))).toBe(false);
    expect(await new Histogram().addBeside(new NDArray(uint8, [40_000], new Uint8Array(40_000)))).toBe(false);
  });
});
