/** @file Memory of large results is used again when nobody holds the results, and not before. */
import { constants } from 'node:buffer';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
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
  const held = blocks.allocate(bytes);
  new Uint8Array(held.memory).fill(7);
  let given: bigint | undefined = blocks.allocate(bytes).address;
  const others = new Set<bigint>();
  // Array buffers are found to be gone some time after a collection; until then other memory is given out.
  for (let i = 0; i < 100 && given !== undefined; i++) {
    collectGarbage();
    await new Promise((resolve) => setImmediate(resolve));
    const { address } = blocks.allocate(bytes);
    if (address === given || others.has(address)) given = undefined;
    others.add(address);
  }
  expect(given).toBeUndefined();
  expect(others.has(held.address)).toBe(false);
  expect(new Uint8Array(held.memory).every((x) => x === 7)).toBe(true);
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
