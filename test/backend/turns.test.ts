/** @file Turns of the cpu device: what runs at once, in pieces and aside, in which order, and what errors do. */
import { describe, expect, it, vi } from 'vitest';
import * as d from '../../src/core/dtypes.ts';
import { NDArray } from '../../src/core/ndarray.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import { type Length, lengthOf, type Runnable, Turns } from '../../src/devices/cpu/turns.ts';
import * as e from '../../src/program/expr.ts';
import { broadcast, SegmentBuilder } from './build.ts';

const cpu = CpuDevice.open();

/** A segment of which every piece is one instruction; it says in `log` what becomes of it. */
function segment(name: string, length: Length, instructions: number, log: string[], failing = -1): Runnable {
  const at = (i: number) => {
    if (i === failing) throw new Error(`${name} failed`);
    log.push(`${name}${i}`);
  };
  return {
    length,
    instructions,
    bind: () => void log.push(`${name} begins`),
    runHere(first, nanoseconds) {
      const end = Number.isFinite(nanoseconds) ? first + 1 : instructions;
      for (let i = first; i < end; i++) at(i);
      return end;
    },
    runAside(first, done) {
      log.push(`${name} aside`);
      setImmediate(() => {
        try {
          for (let i = first; i < instructions; i++) at(i);
          done(undefined);
        } catch (error) {
          done(error);
        }
      });
    },
    end: () => void log.push(`${name} ends`),
  };
}

/** Keeps the event loop, as somebody else would who uses it. */
function hold(milliseconds: number): void {
  const start = performance.now();
  while (performance.now() - start < milliseconds);
}

const withoutPlaces = (log: readonly string[]) => log.filter((line) => !line.endsWith(' aside'));

describe('turns', () => {
  it('run short segments at once', () => {
    const log: string[] = [];
    expect(new Turns().run(segment('a', 'short', 3, log), [], undefined)).toBeUndefined();
    expect(log).toEqual(['a begins', 'a0', 'a1', 'a2', 'a ends']);
  });

  it('let the event loop turn between the pieces of a medium one', async () => {
    const log: string[] = [];
    const running = new Turns().run(segment('a', 'medium', 3, log), [], undefined);
    expect(log).toEqual(['a begins', 'a0']);
    setImmediate(() => log.push('somebody else'));
    await running;
    expect(log.indexOf('somebody else')).toBeLessThan(log.indexOf('a2'));
    expect(withoutPlaces(log).filter((line) => line !== 'somebody else')).toEqual([
      ...['a begins', 'a0', 'a1', 'a2', 'a ends'],
    ]);
  });

  it('run what is left of one aside when others want the event loop, and the next ones too', async () => {
    const log: string[] = [];
    const turns = new Turns();
    const running = turns.run(segment('a', 'medium', 3, log), [], undefined);
    hold(2);
    await running;
    expect(log).toEqual(['a begins', 'a0', 'a aside', 'a1', 'a2', 'a ends']);
    await turns.run(segment('b', 'medium', 1, log), [], undefined);
    expect(log.slice(6)).toEqual(['b begins', 'b aside', 'b0', 'b ends']);
    const again = () => turns.run(segment('c', 'medium', 1, []), [], undefined);
    let count = 0;
    for (let aside = again(); aside && count < 1000; aside = again(), count++) await aside;
    expect(count).toBe(15); // after b
  });

  it('run segments aside when many have held one turn of the event loop', async () => {
    const [turns, log] = [new Turns(), [] as string[]];
    const one = segment('a', 'medium', 1, log);
    const runHere = (first: number, nanoseconds: number) => {
      hold(1.4);
      return one.runHere(first, nanoseconds);
    };
    await Promise.all(Array.from({ length: 10 }, () => turns.run({ ...one, runHere }, [], undefined)));
    expect(log).toContain('a aside');
  });

  it('go on after a segment that could not be run aside', async () => {
    const turns = new Turns();
    const runAside = () => {
      throw new Error('too many calls');
    };
    const running = turns.run({ ...segment('a', 'long', 1, []), runAside }, [], undefined);
    await expect(running).rejects.toThrow('too many calls');
    expect(turns.isBusy).toBe(false);
  });

  it('run segments aside after a piece that held the event loop for long', async () => {
    const turns = new Turns();
    const log: string[] = [];
    const slow = segment('a', 'medium', 1, []);
    const runHere = (first: number, nanoseconds: number) => {
      hold(9);
      return slow.runHere(first, nanoseconds);
    };
    await turns.run({ ...slow, runHere }, [], undefined);
    await turns.run(segment('b', 'medium', 1, log), [], undefined);
    expect(log).toContain('b aside');
  });

  it('keep the order of the calls, however long each is', async () => {
    const log: string[] = [];
    const turns = new Turns();
    const lengths: readonly Length[] = ['medium', 'short', 'long', 'medium', 'short'];
    await Promise.all(lengths.map((length, i) => turns.run(segment('abcde'[i]!, length, 2, log), [], undefined)));
    expect(withoutPlaces(log)).toEqual([...'abcde'].flatMap((x) => [`${x} begins`, `${x}0`, `${x}1`, `${x} ends`]));
    expect(turns.isBusy).toBe(false);
  });

  it.each<[Length, number]>([
    ['short', 0],
    ['medium', 0],
    ['medium', 1],
    ['long', 1],
  ])('go on after a %s segment that failed at instruction %d', async (length, failing) => {
    const log: string[] = [];
    const turns = new Turns();
    const first = (async () => turns.run(segment('a', length, 2, [], failing), [], undefined))();
    const second = (async () => turns.run(segment('b', length, 2, log), [], undefined))();
    await expect(first).rejects.toThrow('a failed');
    await second;
    expect(withoutPlaces(log)).toEqual(['b begins', 'b0', 'b1', 'b ends']);
    expect(turns.isBusy).toBe(false);
  });

  it('depend on what a segment and its longest instruction take', () => {
    expect(lengthOf([])).toBe('short');
    expect(lengthOf([1e5, 2e5])).toBe('short');
    expect(lengthOf(Array.from({ length: 100 }, () => 1e6))).toBe('medium');
    expect(lengthOf([1e3, 1e8])).toBe('long');
  });
});

describe.runIf(cpu)('pieces of a segment of the cpu device', () => {
  /** x + 1 three times, and divided by `divisor` after the second. */
  function steps(divisor: number) {
    const b = new SegmentBuilder();
    const x = b.input([1, 2, 3], d.int32);
    const by = b.input(divisor, d.int32);
    const [one, two, three] = [b.temp(d.int32, [3]), b.temp(d.int32, [3]), b.temp(d.int32, [3])];
    const last = b.output(d.int32, [3]);
    const more = [e.add(e.input(0, d.int32), 1)];
    b.add({ kind: 'map', shape: [3], inputs: [x], outputs: [one], results: more });
    b.add({ kind: 'map', shape: [3], inputs: [one], outputs: [two], results: more });
    const quotient = [e.div(e.input(0, d.int32), e.input(1, d.int32))];
    b.add({ kind: 'map', shape: [3], inputs: [two, broadcast(by, [3])], outputs: [three], results: quotient });
    b.add({ kind: 'map', shape: [3], inputs: [three], outputs: [last], results: more });
    const buffers = b.values.map((array) => cpu!.fromHost(array.copy()));
    const kernel = cpu!.compile(b.segment);
    kernel.bind(buffers, undefined);
    return { kernel, result: () => [...new Int32Array(buffers[2]!.host!.slice().buffer)] };
  }

  it('end after an instruction when the time is over, and go on with the next', () => {
    const { kernel, result } = steps(2);
    expect(kernel.runHere(0, 0)).toBe(1);
    expect(kernel.runHere(1, 0)).toBe(2);
    expect(kernel.runHere(2, Number.POSITIVE_INFINITY)).toBe(4);
    expect(result()).toEqual([2, 3, 3]);
  });

  it('go on aside', async () => {
    const { kernel, result } = steps(2);
    kernel.runHere(0, 0);
    expect(await new Promise((done) => kernel.runAside(1, done))).toBeUndefined();
    expect(result()).toEqual([2, 3, 3]);
  });

  it('keep their scratch memory while they run aside, however long', async () => {
    const device = CpuDevice.open()!; // with scratch memory of its own
    const n = 1500;
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    try {
      const b = new SegmentBuilder();
      const x = b.bind(new NDArray(d.float32, [n, n], new Float32Array(n * n).fill(1)));
      const [between, y] = [b.temp(d.float32, [n, n]), b.output(d.float32, [n, n])];
      b.add({ kind: 'dot', a: x, b: x, output: between });
      b.add({ kind: 'dot', a: between, b: x, output: y });
      const running = b.run(device);
      vi.advanceTimersByTime(60_000);
      const result = await (await running)(y);
      expect(result.numbers().every((value) => value === n * n)).toBe(true);
    } finally {
      vi.useRealTimers();
    }
  });

  it('say which instruction of the whole segment failed', async () => {
    const { kernel } = steps(0);
    expect(kernel.runHere(0, 0)).toBe(1);
    const message = 'instruction 2 failed: divisionByZero';
    expect(() => kernel.runHere(1, Number.POSITIVE_INFINITY)).toThrow(message);
    expect(await new Promise((done) => kernel.runAside(1, done))).toMatchObject({ message });
  });
});
