/** @file Scratch memory is as large as the segments of the last seconds wanted it, never moves under one, and belongs to one at a time. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Arenas } from '../../../src/devices/cpu/arena.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Memory that is only counted, and arenas in it. */
function counted() {
  const held = new Map<number, number>();
  let next = 1;
  const library = {
    allocate: (bytes: number) => {
      if (bytes > 1e9) return 0;
      held.set(next, bytes);
      return next++;
    },
    release: (address: number) => void held.delete(address),
  };
  const arenas = new Arenas(library);
  /** What a segment does that begins. */
  const begin = (bytes: number) => {
    const arena = arenas.free(bytes);
    return { address: arena.take(bytes), end: () => arena.giveBack() };
  };
  /** What one does that is done at once. */
  const take = (bytes: number) => {
    const { address, end } = begin(bytes);
    end();
    return address;
  };
  return { begin, take, sizes: () => [...held.values()] };
}

describe('an arena', () => {
  it('grows, and gives small segments what large ones left', () => {
    const { take, sizes } = counted();
    const small = take(100);
    expect(take(50)).toBe(small);
    const large = take(1000);
    expect(sizes()).toEqual([1000]);
    expect(take(0)).toBe(large);
  });

  it('goes back to the system when nobody has wanted it for a while', () => {
    const { take, sizes } = counted();
    take(1000);
    vi.advanceTimersByTime(2500);
    take(900);
    vi.advanceTimersByTime(2500);
    expect(sizes()).toEqual([1000]);
    vi.advanceTimersByTime(10_000);
    expect(sizes()).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
    take(10);
    expect(sizes()).toEqual([10]);
  });

  it('shrinks when only small segments have run for a while', () => {
    const { take, sizes } = counted();
    take(1000);
    for (let i = 0; i < 10; i++) {
      vi.advanceTimersByTime(1000);
      take(100);
    }
    expect(sizes()).toEqual([100]);
  });

  it('stays when segments want most of it', () => {
    const { take, sizes } = counted();
    take(1000);
    for (let i = 0; i < 10; i++) {
      vi.advanceTimersByTime(1000);
      take(600);
    }
    expect(sizes()).toEqual([1000]);
  });

  it('stays while a segment works in it, however long', () => {
    const { begin, sizes } = counted();
    const { end } = begin(1000);
    vi.advanceTimersByTime(60_000);
    expect(sizes()).toEqual([1000]);
    // Others may want it right after a long one.
    end();
    vi.advanceTimersByTime(3000);
    expect(sizes()).toEqual([1000]);
    vi.advanceTimersByTime(3000);
    expect(sizes()).toEqual([]);
  });

  it('belongs to one segment at a time', () => {
    const { begin, sizes } = counted();
    const [first, second] = [begin(1000), begin(500)];
    expect(second.address).not.toBe(first.address);
    expect(sizes()).toEqual([1000, 500]);
    first.end();
    second.end();
    expect(begin(400).address).toBe(second.address);
    expect(begin(400).address).toBe(first.address);
    expect(begin(400).address).not.toBe(first.address);
  });

  it('grows rather the largest that is free than another', () => {
    const { begin, sizes } = counted();
    const both = [begin(1000), begin(10)];
    for (const { end } of both) end();
    begin(2000);
    expect(sizes()).toEqual([10, 2000]);
  });

  it('says what it could not get, and goes on', () => {
    const { take, sizes } = counted();
    expect(() => take(2e9)).toThrow(/could not get 2000000000 bytes/);
    take(10);
    expect(sizes()).toEqual([10]);
  });
});
