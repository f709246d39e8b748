/** @file Turns of the cpu device: what runs at once, in pieces and aside, in which order, and what errors do. */
import { describe, expect, it, vi } from 'vitest';
import * as d from '../../src/core/dtypes.ts';
import { ResourceExhaustedError } from '../../src/core/errors.ts';
import { NDArray } from '../../src/core/ndarray.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import { type Length, lengthOf, type Runnable, Turns } from '../../src/devices/cpu/turns.ts';
import type { DeviceBuffer } from '../../src/devices/device.ts';
import * as e from '../../src/program/expr.ts';
import type { View } from '../../src/program/instructions.ts';
import { broadcast, SegmentBuilder } from './build.ts';

const cpu = CpuDevice.open();

/** Turns of a machine with two processors, where a buffer is at its size. */
const newTurns = () => new Turns(2, ({ bytes }) => BigInt(bytes));
/** The memory that segments below share unless told otherwise. */
const shared: readonly DeviceBuffer[] = [{ bytes: 0 }];
const at = (address: number): readonly DeviceBuffer[] => [{ bytes: address }];

/** A segment that writes what it has bound, of which every piece is one instruction; it says in `log` what becomes of it. */
function segment(name: string, length: Length, instructions: number, log: string[], failing = -1): Runnable {
  const run = (i: number) => {
    if (i === failing) throw new Error(`${name} failed`);
    log.push(`${name}${i}`);
  };
  return {
    length,
    instructions,
    written: [0],
    bind: () => void log.push(`${name} begins`),
    runHere(first, nanoseconds) {
      const end = Number.isFinite(nanoseconds) ? first + 1 : instructions;
      for (let i = first; i < end; i++) run(i);
      return end;
    },
    runAside(first, _, done) {
      log.push(`${name} aside`);
      setImmediate(() => {
        try {
          for (let i = first; i < instructions; i++) run(i);
          done(undefined, instructions);
        } catch (error) {
          done(error, -1);
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
    expect(newTurns().run(segment('a', 'short', 3, log), shared, undefined)).toBeUndefined();
    expect(log).toEqual(['a begins', 'a0', 'a1', 'a2', 'a ends']);
  });

  it('let the event loop turn between the pieces of a medium one', async () => {
    const log: string[] = [];
    const running = newTurns().run(segment('a', 'medium', 3, log), shared, undefined);
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
    const turns = newTurns();
    const running = turns.run(segment('a', 'medium', 3, log), shared, undefined);
    hold(2);
    await running;
    expect(log).toEqual(['a begins', 'a0', 'a aside', 'a1', 'a2', 'a ends']);
    await turns.run(segment('b', 'medium', 1, log), shared, undefined);
    expect(log.slice(6)).toEqual(['b begins', 'b aside', 'b0', 'b ends']);
    const again = () => turns.run(segment('c', 'medium', 1, []), shared, undefined);
    let count = 0;
    for (let aside = again(); aside && count < 1000; aside = again(), count++) await aside;
    expect(count).toBe(15); // after b
  });

  it('run segments aside when many have held one turn of the event loop', async () => {
    const [turns, log] = [newTurns(), [] as string[]];
    const one = segment('a', 'medium', 1, log);
    const runHere = (first: number, nanoseconds: number) => {
      hold(1.4);
      return one.runHere(first, nanoseconds);
    };
    await Promise.all(Array.from({ length: 10 }, () => turns.run({ ...one, runHere }, shared, undefined)));
    expect(log).toContain('a aside');
  });

  it('run a long segment aside in stretches that end, so that an exiting process need not wait for all of it', async () => {
    const turns = newTurns();
    const stretches: { first: number; isLimited: boolean }[] = [];
    const runAside: Runnable['runAside'] = (first, nanoseconds, done) => {
      stretches.push({ first, isLimited: Number.isFinite(nanoseconds) });
      setImmediate(() => done(undefined, first + 1));
    };
    await turns.run({ ...segment('a', 'long', 3, []), runAside }, shared, undefined);
    expect(stretches).toEqual([0, 1, 2].map((first) => ({ first, isLimited: true })));
    expect(turns.isBusy).toBe(false);
  });

  it('fail with a stretch after the first', async () => {
    const turns = newTurns();
    const runAside: Runnable['runAside'] = (first, _, done) =>
      void setImmediate(() => (first === 0 ? done(undefined, 1) : done(new Error('the second'), -1)));
    const running = turns.run({ ...segment('a', 'long', 3, []), runAside }, shared, undefined);
    await expect(running).rejects.toThrow('the second');
    expect(turns.isBusy).toBe(false);
  });

  it('go on after a segment that could not be run aside', async () => {
    const turns = newTurns();
    const runAside = () => {
      throw new Error('too many calls');
    };
    const running = turns.run({ ...segment('a', 'long', 1, []), runAside }, shared, undefined);
    await expect(running).rejects.toThrow('too many calls');
    expect(turns.isBusy).toBe(false);
  });

  it('run segments aside after a piece that held the event loop for long', async () => {
    const turns = newTurns();
    const log: string[] = [];
    const slow = segment('a', 'medium', 1, []);
    const runHere = (first: number, nanoseconds: number) => {
      hold(9);
      return slow.runHere(first, nanoseconds);
    };
    await turns.run({ ...slow, runHere }, shared, undefined);
    await turns.run(segment('b', 'medium', 1, log), shared, undefined);
    expect(log).toContain('b aside');
  });

  it('keep the order of calls that share memory, however long each is', async () => {
    const log: string[] = [];
    const turns = newTurns();
    const lengths: readonly Length[] = ['medium', 'short', 'long', 'medium', 'short'];
    await Promise.all(lengths.map((length, i) => turns.run(segment('abcde'[i]!, length, 2, log), shared, undefined)));
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
    const turns = newTurns();
    const first = (async () => turns.run(segment('a', length, 2, [], failing), shared, undefined))();
    const second = (async () => turns.run(segment('b', length, 2, log), shared, undefined))();
    await expect(first).rejects.toThrow('a failed');
    await second;
    expect(withoutPlaces(log)).toEqual(['b begins', 'b0', 'b1', 'b ends']);
    expect(turns.isBusy).toBe(false);
  });

  it('let segments that share nothing run side by side, as many as there are processors', async () => {
    const log: string[] = [];
    const turns = newTurns();
    await Promise.all([...'abc'].map((name, i) => turns.run(segment(name, 'long', 1, log), at(i), undefined)));
    expect(log.slice(0, 4)).toEqual(['a begins', 'a aside', 'b begins', 'b aside']);
    expect(log.indexOf('c begins')).toBeGreaterThan(log.indexOf('a ends'));
    expect(turns.isBusy).toBe(false);
  });

  it('let nobody overtake one that shares its memory and waits', async () => {
    const log: string[] = [];
    const turns = newTurns();
    const both = [...at(1), ...at(2)];
    await Promise.all([
      turns.run(segment('a', 'long', 1, log), at(1), undefined),
      turns.run(segment('b', 'long', 1, log), both, undefined),
      turns.run(segment('c', 'short', 1, log), at(2), undefined), // which b only reads
    ]);
    expect(log.filter((line) => line.endsWith('begins'))).toEqual(['a begins', 'b begins', 'c begins']);
  });

  it('let who reads wait for who writes', async () => {
    const log: string[] = [];
    const turns = newTurns();
    const reader = { ...segment('b', 'long', 1, log), written: [] };
    await Promise.all([
      turns.run(segment('a', 'long', 1, log), shared, undefined),
      turns.run(reader, shared, undefined),
    ]);
    expect(log.indexOf('b begins')).toBeGreaterThan(log.indexOf('a ends'));
  });

  it('let two read the same', async () => {
    const log: string[] = [];
    const turns = newTurns();
    const reader = (name: string) => ({ ...segment(name, 'long', 1, log), written: [] });
    await Promise.all([...'ab'].map((name) => turns.run(reader(name), shared, undefined)));
    expect(log.indexOf('b begins')).toBeLessThan(log.indexOf('a ends'));
  });

  it('run a short segment at once while a long one is under way', async () => {
    const log: string[] = [];
    const turns = newTurns();
    const long = turns.run(segment('a', 'long', 1, log), at(1), undefined);
    expect(turns.run(segment('b', 'short', 1, log), at(2), undefined)).toBeUndefined();
    expect(log).toContain('b ends');
    await long;
  });

  it('run what is left of a medium one aside when another begins', async () => {
    const log: string[] = [];
    const turns = newTurns();
    const medium = turns.run(segment('a', 'medium', 3, log), at(1), undefined);
    await Promise.all([medium, turns.run(segment('b', 'long', 1, log), at(2), undefined)]);
    expect(log).toContain('a aside');
  });

  it('run a medium one aside while another is under way', async () => {
    const log: string[] = [];
    const turns = newTurns();
    const long = turns.run(segment('a', 'long', 1, log), at(1), undefined);
    await Promise.all([long, turns.run(segment('b', 'medium', 1, log), at(2), undefined)]);
    expect(log).toContain('b aside');
  });

  it('let one program run once at a time', async () => {
    const log: string[] = [];
    const [turns, one] = [newTurns(), segment('a', 'long', 1, log)];
    await Promise.all([1, 2].map((address) => turns.run(one, at(address), undefined)));
    expect(log).toEqual(Array.from({ length: 2 }, () => ['a begins', 'a aside', 'a0', 'a ends']).flat());
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
  function steps(divisor: number, device = cpu!) {
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
    const buffers = b.values.map((array) => device.fromHost(array.copy()));
    const kernel = device.compile(b.segment);
    return { kernel, buffers, result: () => [...new Int32Array(buffers[2]!.host!.slice().buffer)] };
  }

  it('end after an instruction when the time is over, and go on with the next', () => {
    const { kernel, buffers, result } = steps(2);
    kernel.bind(buffers, undefined);
    expect(kernel.runHere(0, 0)).toBe(1);
    expect(kernel.runHere(1, 0)).toBe(2);
    expect(kernel.runHere(2, Number.POSITIVE_INFINITY)).toBe(4);
    expect(result()).toEqual([2, 3, 3]);
  });

  it('go on aside', async () => {
    const { kernel, buffers, result } = steps(2);
    kernel.bind(buffers, undefined);
    const next = await new Promise((done) => kernel.runAside(0, 0, (_, next) => done(next)));
    expect(next).toBe(1);
    expect(await new Promise((done) => kernel.runAside(1, Number.POSITIVE_INFINITY, done))).toBeUndefined();
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

  it('of one kernel run side by side, each with memory of its own', async () => {
    const n = 700;
    const b = new SegmentBuilder();
    const x = b.bind(new NDArray(d.float32, [n, n], new Float32Array(n * n)));
    const [between, y] = [b.temp(d.float32, [n, n]), b.output(d.float32, [n, n])];
    const product = (a: View, output: View) => b.add({ kind: 'dot', a, b: x, output });
    product(x, between);
    product(between, y);
    product(y, between);
    product(between, y);
    const kernel = cpu!.compile(b.segment);
    const compile = vi.spyOn(cpu!, 'compile');
    const values = [1, 2, 3, 4, 5];
    const results = values.map(() => cpu!.allocate(4 * n * n));
    await Promise.all(
      values.map((value, i) => {
        const fed = cpu!.fromHost(new NDArray(d.float32, [n, n], new Float32Array(n * n).fill(value / n)));
        return kernel.run([fed, results[i]!]);
      }),
    );
    if (cpu!.library.processors > 1) expect(compile).toHaveBeenCalled(); // a twin
    compile.mockRestore();
    for (const [i, buffer] of results.entries()) {
      const numbers = cpu!.toHost(buffer, d.float32, [n, n]).numbers();
      expect(numbers.every((v) => Math.abs(v * n - values[i]! ** 5) < 1e-3 * values[i]! ** 5)).toBe(true);
    }
  });

  it('of one kernel share its constants', async () => {
    const n = 700;
    const b = new SegmentBuilder();
    const twos = b.constant(new NDArray(d.float32, [n, n], new Float32Array(n * n).fill(2)));
    const [x, y] = [b.output(d.float32, [n, n]), b.output(d.float32, [n, n])];
    b.add({ kind: 'dot', a: x, b: twos, output: y });
    const kernel = cpu!.compile(b.segment);
    const runs = [1, 2].map((value) => {
      const fed = cpu!.fromHost(new NDArray(d.float32, [n, n], new Float32Array(n * n).fill(value)));
      return { value, buffers: [fed, cpu!.allocate(4 * n * n)] as const };
    });
    const [compile, allocate] = [vi.spyOn(cpu!, 'compile'), vi.spyOn(Buffer, 'allocUnsafeSlow')];
    await Promise.all(runs.map(({ buffers }) => kernel.run(buffers)));
    expect(compile).toHaveBeenCalledTimes(cpu!.library.processors > 1 ? 1 : 0);
    expect(allocate).not.toHaveBeenCalled();
    for (const mock of [compile, allocate]) mock.mockRestore();
    for (const { value, buffers } of runs)
      expect(cpu!.toHost(buffers[1], d.float32, [n, n]).at(n * n - 1)).toBe(2 * value * n);
  });

  it('of one kernel wait for each other where there is no memory for a twin', async () => {
    const device = CpuDevice.open()!;
    const n = 700;
    const b = new SegmentBuilder();
    const [x, between, y] = [b.output(d.float32, [n, n]), b.temp(d.float32, [n, n]), b.output(d.float32, [n, n])];
    b.add({ kind: 'dot', a: x, b: x, output: between });
    b.add({ kind: 'dot', a: between, b: x, output: y });
    const kernel = device.compile(b.segment);
    const create = vi.spyOn(device.library, 'create').mockImplementationOnce(() => {
      throw new ResourceExhaustedError('there is no memory');
    });
    const runs = [1, 2].map(async (value) => {
      const fed = device.fromHost(new NDArray(d.float32, [n, n], new Float32Array(n * n).fill(value)));
      const result = device.allocate(4 * n * n);
      await kernel.run([fed, result]);
      return device.toHost(result, d.float32, [n, n]).at(n * n - 1);
    });
    const { length: tried } = create.mock.calls;
    create.mockRestore();
    expect(tried).toBe(device.library.processors > 1 ? 1 : 0);
    expect(await Promise.all(runs)).toEqual([n * n, 8 * n * n]);
  });

  it('give their scratch memory to the next, also when they fail', () => {
    const device = CpuDevice.open()!;
    const allocate = vi.spyOn(device.library, 'allocate');
    const { kernel, buffers } = steps(0, device);
    for (let i = 0; i < 3; i++) expect(() => kernel.run(buffers)).toThrow('divisionByZero');
    expect(allocate).toHaveBeenCalledTimes(1);
    allocate.mockRestore();
  });

  it('say which instruction of the whole segment failed', async () => {
    const { kernel, buffers } = steps(0);
    kernel.bind(buffers, undefined);
    expect(kernel.runHere(0, 0)).toBe(1);
    const message = 'instruction 2 failed: divisionByZero';
    expect(() => kernel.runHere(1, Number.POSITIVE_INFINITY)).toThrow(message);
    const error = await new Promise((done) => kernel.runAside(1, Number.POSITIVE_INFINITY, done));
    expect(error).toMatchObject({ message });
  });
});
