/** @file A fuzz test that two devices agree: random segments, run on both. */
import { describe, expect, it } from 'vitest';
import type { DType } from '../../src/core/dtypes.ts';
import type { Complex, Element, NDArray } from '../../src/core/ndarray.ts';
import type { Device } from '../../src/devices/device.ts';
import { DeviceFailure } from '../../src/program/instructions.ts';
import { Chance } from './fuzz/chance.ts';
import { type RandomSegment, segmentKinds } from './fuzz/segments.ts';

/** How far two devices may differ in one float of about 1 after an expression of the fuzz test. */
const tolerances: Partial<Record<DType['storage'], number>> = {
  f16: 8e-3,
  bf16: 6e-2,
  f32: 1e-5,
  f64: 1e-13,
  c64: 1e-5,
  c128: 1e-13,
};

function apart(x: Element, y: Element): number {
  if (Object.is(x, y) || x === y) return 0;
  if (typeof x === 'number' && typeof y === 'number') {
    const distance = Math.abs(x - y) / Math.max(1, Math.abs(y));
    return Number.isNaN(distance) ? Number.POSITIVE_INFINITY : distance;
  }
  if (typeof x !== 'object' || typeof y !== 'object') return Number.POSITIVE_INFINITY;
  const [p, q] = [x as Complex, y as Complex]; // numeric arrays hold no other objects
  return Math.max(apart(p.re, q.re), apart(p.im, q.im));
}

/** Everything a run leaves in the bound buffers, or the failure it ended with. */
async function outcome({ builder }: RandomSegment, device: Device): Promise<NDArray[] | string> {
  const buffers = builder.values.map((array) => device.fromHost(array.copy()));
  try {
    await device.compile(builder.segment).run(buffers);
  } catch (error) {
    if (error instanceof DeviceFailure) return JSON.stringify(error.failure);
    throw error;
  }
  return Promise.all(builder.values.map((array, i) => device.toHost(buffers[i]!, array.dtype, array.shape)));
}

/** What the devices disagree on in one random segment; undefined when they agree. */
async function difference(segment: RandomSegment, a: Device, b: Device): Promise<string | undefined> {
  const [x, y] = [await outcome(segment, a), await outcome(segment, b)];
  if (typeof x === 'string' || typeof y === 'string') return x === y ? undefined : `${show(x)} against ${show(y)}`;
  for (const [buffer, array] of x.entries()) {
    const limit = (tolerances[array.dtype.storage] ?? 0) * segment.terms;
    for (let i = 0; i < array.size; i++) {
      const [p, q] = [array.at(i), y[buffer]!.at(i)];
      if (apart(p, q) > limit)
        return `${array.dtype} element ${i} of buffer ${buffer} is ${JSON.stringify(show(p))} against ${JSON.stringify(show(q))}`;
    }
  }
  return undefined;
}

const show = (x: Element | NDArray[]) => (Array.isArray(x) ? 'values' : typeof x === 'object' ? x : String(x));

/** The disagreements of two devices over `count` random segments of a kind, with the numbers to make them again. */
export async function differences(kind: string, count: number, a: Device, b: Device): Promise<string[]> {
  const found: string[] = [];
  const { make } = segmentKinds[kind]!;
  for (let seed = 1; seed <= count; seed++) {
    const problem = await difference(make(new Chance(seed)), a, b);
    if (problem) found.push(`${kind} ${seed}: ${problem}`);
  }
  return found;
}

/** Registers tests that 300 random segments give the same on both devices. */
export function compareDevices(a: Device, b: Device): void {
  describe('random segments agree', () => {
    it.each(Object.entries(segmentKinds))('%s', async (kind, { share }) => {
      expect(await differences(kind, share, a, b)).toEqual([]);
    });
  });
}
