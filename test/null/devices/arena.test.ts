/** @file The arena is as large as the segments of the last seconds wanted it, and never moves under one. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Arena } from '../../../src/devices/cpu/arena.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Memory that is only counted, and an arena in it. */
function counted() {
  const held = new Map<number, number>();
  let next = 1;
  const state = { isBusy: false };
  const library = {
    allocate: (bytes: number) => {
      if (bytes > 1e9) return 0;
      held.set(next, bytes);
      return next++;
    },
    release: (address: number) => void held.delete(address),
  };
  return { arena: new Arena(library, () => state.isBusy), sizes: () => [...held.values()], state };
}

describe('the arena', () => {
  it('grows, and gives small segments what large ones left', () => {
    const { arena, sizes } = counted();
    const small = arena.take(100);
    expect(arena.take(50)).toBe(small);
    const large = arena.take(1000);
    expect(sizes()).toEqual([1000]);
    expect(arena.take(0)).toBe(large);
  });

  it('goes back to the system when nobody has wanted it for a while', () => {
    const { arena, sizes } = counted();
    arena.take(1000);
    vi.advanceTimersByTime(2500);
    arena.take(900);
    vi.advanceTimersByTime(2500);
    expect(sizes()).toEqual([1000]);
    vi.advanceTimersByTime(10_000);
    expect(sizes()).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
    arena.take(10);
    expect(sizes()).toEqual([10]);
  });

  it('shrinks when only small segments have run for a while', () => {
    const { arena, sizes } = counted();
    arena.take(1000);
    for (let i = 0; i < 10; i++) {
      vi.advanceTimersByTime(1000);
      arena.take(100);
    }
    expect(sizes()).toEqual([100]);
  });

  it('stays when segments want most of it', () => {
    const { arena, sizes } = counted();
    arena.take(1000);
    for (let i = 0; i < 10; i++) {
      vi.advanceTimersByTime(1000);
      arena.take(600);
    }
    expect(sizes()).toEqual([1000]);
  });

  it('stays while a segment works in it, however long', () => {
    const { arena, sizes, state } = counted();
    arena.take(1000);
    state.isBusy = true;
    vi.advanceTimersByTime(60_000);
    expect(sizes()).toEqual([1000]);
    // Others may want it right after a long one.
    state.isBusy = false;
    vi.advanceTimersByTime(3000);
    expect(sizes()).toEqual([1000]);
    vi.advanceTimersByTime(3000);
    expect(sizes()).toEqual([]);
  });

  it('says what it could not get, and goes on', () => {
    const { arena, sizes } = counted();
    expect(() => arena.take(2e9)).toThrow(/could not get 2000000000 bytes/);
    arena.take(10);
    expect(sizes()).toEqual([10]);
  });
});
