/** @file Memory of large results is used again when nobody holds the results, and not before. */
import { constants } from 'node:buffer';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ResourceExhaustedError } from '../../src/core/errors.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import { LargeBlocks } from '../../src/devices/cpu/largeBlocks.ts';
import { type NativeLibrary, nativeLibrary } from '../../src/devices/cpu/library.ts';

const library = nativeLibrary();
const itNative = 'problem' in library ? it.skip : it;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

const bytes = 2 ** 21;

itNative('gives memory out again once its array buffer is gone', async () => {
  const blocks = new LargeBlocks(library as NativeLibrary); // else the test is skipped
  // Only the array buffer is held, not the block under it.
  const { memory: held, address: heldAddress } = blocks.allocate(bytes);
  new Uint8Array(held).fill(7);
  let given: number | undefined = blocks.allocate(bytes).address;
  const others = new Set<number>();
  // Array buffers are found to be gone some time after a collection; until then other memory is given out.
  for (let i = 0; i < 100 && given !== undefined; i++) {
    collectGarbage();
    await new Promise((resolve) => setImmediate(resolve));
    const { address } = blocks.allocate(bytes);
    if (address === given || others.has(address)) given = undefined;
    others.add(address);
  }
  expect(given).toBeUndefined();
  expect(others.has(heldAddress)).toBe(false);
  expect(new Uint8Array(held).every((x) => x === 7)).toBe(true);
});

itNative('gives out again what was given back, array buffer and all', () => {
  const blocks = new LargeBlocks(library as NativeLibrary); // else the test is skipped
  const { memory, address } = blocks.allocate(bytes);
  blocks.takeBack(memory);
  blocks.takeBack(memory);
  blocks.takeBack(new ArrayBuffer(bytes));
  expect(blocks.allocate(2 * bytes).memory).not.toBe(memory);
  const again = blocks.allocate(bytes);
  expect(again.memory).toBe(memory);
  expect(again.address).toBe(address);
  expect(blocks.allocate(bytes).memory).not.toBe(memory);
});

itNative('gives memory back to the system while later blocks are in use', () => {
  const { allocate, over, release } = library as NativeLibrary; // else the test is skipped
  const size = 2 ** 23;
  const filled = (): number => {
    const address = allocate(size);
    new Uint8Array(over(address, size)).fill(1);
    return address;
  };
  // The heap of the C library is for blocks that are not larger than one that was released.
  release(allocate(2 * size), 2 * size);
  const [below, above] = [filled(), filled()].toSorted((a, b) => a - b);
  const before = process.memoryUsage.rss();
  release(below!, size);
  expect(before - process.memoryUsage.rss()).toBeGreaterThan(size / 2);
  release(above!, size);
});

describe('what V8 hears of blocks without array buffers', () => {
  const told = (): number[] => over.mock.calls.map(([, size]) => size);
  const over = vi.fn((_address: number, _size: number) => new ArrayBuffer(8));
  let next = 0;
  // Only what blocks are made of is needed here.
  const without = {
    allocate: () => (next += 2 ** 32),
    release: vi.fn(),
    over,
  } as Partial<NativeLibrary> as NativeLibrary;
  const mb = 2 ** 20;
  beforeEach(() => {
    vi.useFakeTimers();
    vi.clearAllMocks();
  });
  afterEach(() => void vi.useRealTimers());

  it('is nothing until there are many', () => {
    const blocks = new LargeBlocks(without);
    const inUse = Array.from({ length: 5 }, () => blocks.allocate(100 * mb));
    expect(told()).toEqual([]);
    inUse.push(blocks.allocate(100 * mb));
    expect(told()).toEqual([600 * mb]);
    inUse.push(...Array.from({ length: 6 }, () => blocks.allocate(100 * mb)));
    expect(told()).toEqual([600 * mb, 600 * mb]);
  });

  it('does not count what has an array buffer, nor what is given back and used again', () => {
    const blocks = new LargeBlocks(without);
    for (let i = 0; i < 20; i++) {
      expect(blocks.allocate(100 * mb).memory).toBeInstanceOf(ArrayBuffer);
      blocks.takeBack(blocks.allocate(50 * mb));
    }
    expect(told()).toEqual(new Array(20).fill(100 * mb));
  });

  it('is all of it when no more come into use', () => {
    const blocks = new LargeBlocks(without);
    blocks.allocate(100 * mb);
    vi.advanceTimersByTime(4000);
    blocks.allocate(100 * mb);
    vi.advanceTimersByTime(4000);
    expect(told()).toEqual([]);
    vi.advanceTimersByTime(4000);
    expect(told()).toEqual([200 * mb]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is of those given back too that nobody wanted again', () => {
    const blocks = new LargeBlocks(without);
    blocks.allocate(100 * mb).memory;
    const given = blocks.allocate(200 * mb);
    vi.advanceTimersByTime(8000);
    blocks.takeBack(given);
    vi.advanceTimersByTime(16000);
    expect(told()).toEqual([100 * mb, 200 * mb, 200 * mb]);
  });
});

itNative('does not let its memory be moved to another array buffer', () => {
  // Not every version of Node has these functions; those that have them would move it.
  const memory = new LargeBlocks(library as NativeLibrary).allocate(bytes).memory as ArrayBuffer &
    Record<string, () => void>; // else the test is skipped
  for (const move of ['transfer', 'transferToFixedLength']) expect(() => memory[move]!()).toThrow(/copy it with slice/);
  expect(memory.byteLength).toBe(bytes);
  expect(Object.keys(memory)).toEqual([]);
});

itNative('does not let its memory be moved to another thread', () => {
  const { memory } = new LargeBlocks(library as NativeLibrary).allocate(bytes); // else the test is skipped
  // Older versions of Node copy instead, newer ones refuse.
  try {
    structuredClone(memory, { transfer: [memory] });
  } catch (error) {
    expect((error as Error).name).toBe('DataCloneError'); // what structuredClone throws
  }
  expect(memory.byteLength).toBe(bytes);
});

itNative('says what it could not get', () => {
  const blocks = new LargeBlocks(library as NativeLibrary); // else the test is skipped
  expect(() => blocks.allocate(2 ** 52)).toThrow(/could not get 4503599627370496 bytes/);
});

itNative('says what is too large for one array', () => {
  const device = CpuDevice.open()!; // else the test is skipped
  const tooLarge = () => device.allocate(constants.MAX_LENGTH + 1);
  expect(tooLarge).toThrow(ResourceExhaustedError);
  expect(tooLarge).toThrow(/in one piece/);
});
