/** @file What is done in turns: copies, sorting, finding equal elements, whole numbers of 64 bits as numbers, one thing at a time. */
import { describe, expect, it } from 'vitest';
import { bool, complex64, float32, int64, string } from '../../src/core/dtypes.ts';
import { eachInTurns, OneAtATime } from '../../src/core/eventLoop.ts';
import { Int64s } from '../../src/core/int64s.ts';
import { copied } from '../../src/core/makeArray.ts';
import { NDArray } from '../../src/core/ndarray.ts';
import { risingOrder } from '../../src/core/risingOrder.ts';
import { equalSlices } from '../../src/ops/array/grouping.ts';

/** The same numbers each time, from 0 to `below`. */
function numbers(count: number, below: number): number[] {
  let state = 1;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % below;
  });
}

describe('eachInTurns', () => {
  it('does a few steps at once', () => {
    const done: number[] = [];
    expect(eachInTurns(3, (i) => done.push(i), 3)).toBeUndefined();
    expect(done).toEqual([0, 1, 2]);
  });

  it('does many in order', async () => {
    const done: number[] = [];
    await eachInTurns(10, (i) => done.push(i), 3);
    expect(done).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });
});

describe('a copy', () => {
  it.each([bool, float32, int64, complex64])('of %s is the same in memory of its own', async (dtype) => {
    for (const length of [0, 1, 300_001]) {
      const array = new NDArray(dtype, [length], dtype.allocate(length));
      for (let i = 0; i < array.bytes.length; i++) array.bytes[i] = i % 251;
      const copy = await copied(array);
      expect(copy.equals(array)).toBe(true);
      expect(copy.data.buffer).not.toBe(array.data.buffer);
    }
  });
});

describe('risingOrder', () => {
  it.each([0, 1, 2, 3, 1000, 20_000])('of %i numbers is that of a stable sort', async (count) => {
    const keys = Float64Array.from(numbers(count, 500));
    const expected = Array.from(keys.keys()).sort((a, b) => keys[a]! - keys[b]!);
    const order = await risingOrder(keys);
    expect(order.length).toBe(count);
    expect(order.findIndex((at, i) => at !== expected[i])).toBe(-1);
  });
});

describe('equalSlices', () => {
  const found = numbers(20_000, 3000);
  const expected = [...new Map(found.map((value) => [value, found.indexOf(value)])).values()];
  const arrays = {
    float32: new NDArray(float32, [found.length], Float32Array.from(found)),
    int64: new NDArray(
      int64,
      [found.length],
      BigInt64Array.from(found, (x) => BigInt(x) * 2n ** 40n),
    ),
    string: new NDArray(
      string,
      [found.length],
      found.map((x) => Buffer.from(`text ${x}`)),
    ),
    rows: new NDArray(
      float32,
      [found.length, 2],
      Float32Array.from(found.flatMap((x) => [x % 60, Math.floor(x / 60)])),
    ),
  };

  it.each(Object.keys(arrays) as (keyof typeof arrays)[])('finds those of %s', async (name) => {
    const { first, group } = await equalSlices(arrays[name], 0);
    expect([...first]).toEqual(expected);
    expect(found.findIndex((value, i) => found[first[group[i]!]!] !== value)).toBe(-1);
  });
});

describe('Int64s', () => {
  it.each([0, -1, 1, 2 ** 31, -(2 ** 31) - 1, 2 ** 32, 2 ** 53 - 1, -(2 ** 53) + 1])('holds %d', (value) => {
    const held = new Int64s(1);
    held.set(0, value);
    expect(held.data[0]).toBe(BigInt(value));
    expect(held.at(0)).toBe(value);
  });

  it('rounds what no number can be, as Number does', () => {
    for (const value of [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n, -(2n ** 60n) - 129n])
      expect(new Int64s(BigInt64Array.of(value)).at(0)).toBe(Number(value));
  });
});

describe('OneAtATime', () => {
  it('does at once what meets nobody', () => {
    expect(new OneAtATime().run(() => 3)).toBe(3);
  });

  it('lets the next one in when the one before has ended, well or not', async () => {
    const line = new OneAtATime();
    const seen: string[] = [];
    const slow = line.run(async () => {
      await new Promise(setImmediate);
      seen.push('slow');
      throw new Error('slow fails');
    });
    const quick = line.run(() => seen.push('quick'));
    await expect(slow).rejects.toThrow('slow fails');
    await quick;
    expect(seen).toEqual(['slow', 'quick']);
    await new Promise(setImmediate);
    expect(line.run(() => 'free')).toBe('free');
  });
});
