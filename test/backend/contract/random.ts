/** @file Contract: `random` gives TensorFlow's numbers and advances its state. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import * as d from '../../../src/core/dtypes.ts';
import { fromBfloat16Bits, fromHalfBits } from '../../../src/core/half.ts';
import { type Element, fromNested, NDArray } from '../../../src/core/ndarray.ts';
import type { Device } from '../../../src/devices/device.ts';
import type { RandomInstruction } from '../../../src/program/instructions.ts';
import { philoxState } from '../../../src/program/philoxState.ts';
import { SegmentBuilder } from '../build.ts';
import { expectElements, failureOf } from './expect.ts';

interface Golden {
  readonly distribution: RandomInstruction['distribution'];
  readonly dtype: string;
  readonly seed: number;
  readonly seed2: number;
  readonly low?: string;
  readonly high?: string;
  readonly values: readonly string[];
}

const path = new URL('../../golden/philox.json', import.meta.url);
const golden = JSON.parse(readFileSync(path, 'utf8')) as Golden[]; // written by tools/golden/philox.py

/** A value written as decimal text or as the hexadecimal digits of its bits. */
function readGolden(text: string, dtype: d.DType): Element {
  if (!dtype.isFloating) return fromNested(BigInt(text), dtype).item();
  const bits = new DataView(new ArrayBuffer(8));
  bits.setBigUint64(0, BigInt(`0x${text}`), true);
  switch (dtype.storage) {
    case 'f16':
      return fromHalfBits(bits.getUint16(0, true));
    case 'bf16':
      return fromBfloat16Bits(bits.getUint16(0, true));
    case 'f32':
      return bits.getFloat32(0, true);
    default:
      return bits.getFloat64(0, true);
  }
}

interface Drawing extends Omit<Golden, 'values' | 'dtype'> {
  readonly dtype: d.DType;
  readonly count: number;
  readonly reserve?: number;
  readonly state?: Uint8Array;
}

function drawing({ distribution, dtype, seed, seed2, low, high, count, reserve = 256 * count, state }: Drawing) {
  const b = new SegmentBuilder();
  const generator = b.bind(new NDArray(d.uint8, [24], state ?? philoxState(seed, seed2)));
  const output = b.output(dtype, [count]);
  const limit = (text: string | undefined) => (text === undefined ? undefined : b.input(BigInt(text), dtype));
  const [lowView, highView] = [limit(low), limit(high)];
  const bounds = lowView && highView ? { low: lowView, high: highView } : {};
  b.add({ kind: 'random', distribution, state: generator, reserve, output, ...bounds });
  return { b, output, generator };
}

export function randomContract(device: Device): void {
  it.each(golden.map((g) => [`${g.distribution} ${g.dtype} ${g.low ?? ''} seeds ${g.seed} ${g.seed2}`, g] as const))(
    'draws %s',
    async (_name, g) => {
      const dtype = d.dtypeFromName(g.dtype)!;
      const { b, output } = drawing({ ...g, dtype, count: g.values.length });
      const got = await (await b.run(device))(output);
      // Float64 normals go through the double-precision log, sin and cos of whoever computes them.
      const tolerance = g.dtype === 'float64' && g.distribution !== 'uniform' ? 1e-14 : 0;
      expectElements(
        got,
        g.values.map((text) => readGolden(text, dtype)),
        tolerance,
      );
    },
  );

  it('gives the published words of Philox4x32-10', async () => {
    const words = async (state: readonly number[]) => {
      const bytes = new Uint8Array(new Uint32Array(state).buffer);
      const { b, output } = drawing({
        distribution: 'bits',
        dtype: d.uint32,
        seed: 0,
        seed2: 0,
        count: 4,
        state: bytes,
      });
      return (await (await b.run(device))(output)).numbers();
    };
    expect(await words([0, 0, 0, 0, 0, 0])).toEqual([0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
    const ones = new Array<number>(6).fill(0xffffffff);
    expect(await words(ones)).toEqual([0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
    const pi = [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0];
    expect(await words(pi)).toEqual([0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]);
  });

  it('advances the counter by what was reserved, whatever was used', async () => {
    for (const [distribution, count, reserve] of [
      ['uniform', 5, 1280],
      ['truncatedNormal', 3, 768],
      ['bits', 0, 7],
      ['bits', 9, 3],
    ] as const) {
      const dtype = distribution === 'bits' ? d.uint32 : d.float32;
      const { b, generator } = drawing({ distribution, dtype, seed: 3, seed2: 4, count, reserve });
      const state = (await (await b.run(device))(generator)).bytes.slice();
      const words = new Uint32Array(state.buffer);
      expect([...words]).toEqual([reserve, 0, 4, 0, 3, 0]);
    }
  });

  it('carries through all 128 bits', async () => {
    const start = new Uint8Array(new Uint32Array([0xfffffffe, 0xffffffff, 0xffffffff, 5, 1, 2]).buffer);
    const run = (count: number, reserve: number, state: Uint8Array) => {
      const made = drawing({ distribution: 'bits', dtype: d.uint32, seed: 0, seed2: 0, count, reserve, state });
      return made.b.run(device).then(async (read) => ({
        words: (await read(made.output)).numbers(),
        state: (await read(made.generator)).bytes.slice(),
      }));
    };
    const whole = await run(16, 4, start);
    expect([...new Uint32Array(whole.state.buffer)]).toEqual([2, 0, 0, 6, 1, 2]);
    // The same words come in two draws.
    const first = await run(12, 3, start);
    const second = await run(4, 1, first.state);
    expect([...first.words, ...second.words]).toEqual(whole.words);
  });

  it('goes on where it stopped when a kernel runs again', async () => {
    const { b, output } = drawing({
      distribution: 'normal',
      dtype: d.float32,
      seed: 42,
      seed2: 7,
      count: 4,
      reserve: 1,
    });
    const kernel = device.compile(b.segment);
    const buffers = b.values.map((array) => device.fromHost(array));
    const drawn: number[] = [];
    for (let i = 0; i < 2; i++) {
      await kernel.run(buffers);
      const at = b.segment.bound.indexOf(output.buffer);
      drawn.push(...(await device.toHost(buffers[at]!, d.float32, [4])).numbers());
    }
    const g = golden.find((x) => x.distribution === 'normal' && x.dtype === 'float32' && x.seed === 42)!;
    expect(drawn).toEqual(g.values.slice(0, 8).map((text) => readGolden(text, d.float32)));
  });

  it('draws many numbers with the right moments', async () => {
    const count = 100_003;
    for (const [distribution, mean, deviation] of [
      ['uniform', 0.5, Math.sqrt(1 / 12)],
      ['normal', 0, 1],
      ['truncatedNormal', 0, 0.8796],
    ] as const) {
      const { b, output } = drawing({ distribution, dtype: d.float32, seed: 9, seed2: 9, count });
      const values = (await (await b.run(device))(output)).numbers();
      const average = values.reduce((x, y) => x + y) / count;
      const spread = Math.sqrt(values.reduce((x, y) => x + (y - average) ** 2, 0) / count);
      expect(Math.abs(average - mean)).toBeLessThan(0.015);
      expect(Math.abs(spread - deviation)).toBeLessThan(0.015);
      if (distribution === 'truncatedNormal') expect(values.every((x) => Math.abs(x) < 2)).toBe(true);
    }
  });

  it('fails on an empty range of integers, unless nothing is drawn', async () => {
    for (const dtype of [d.int32, d.int64]) {
      const options = { distribution: 'uniformInt', dtype, seed: 1, seed2: 2, low: '5', high: '5' } as const;
      expect(await failureOf(drawing({ ...options, count: 3 }).b, device)).toMatchObject({
        code: 'range',
        instruction: 0,
      });
      await drawing({ ...options, count: 0 }).b.run(device);
    }
  });

  it('draws integers over nearly the whole range', async () => {
    const low = `${-(2n ** 63n)}`;
    const { b, output } = drawing({
      distribution: 'uniformInt',
      dtype: d.int64,
      seed: 1,
      seed2: 2,
      low,
      high: `${2n ** 63n - 1n}`,
      count: 1000,
    });
    const values = (await (await b.run(device))(output)).numbers();
    expect(values.some((x) => x < -(2 ** 62))).toBe(true);
    expect(values.some((x) => x > 2 ** 62)).toBe(true);
  });
}
