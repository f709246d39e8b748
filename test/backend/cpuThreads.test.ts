/** @file The cpu device's threads: the event loop stays free, limits are kept apart, runs at the same time do not mix. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import * as d from '../../src/core/dtypes.ts';
import { NDArray } from '../../src/core/ndarray.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import { Words } from '../../src/devices/cpu/words.ts';
import * as e from '../../src/program/expr.ts';
import { openDevice } from '../../src/runtime/devices.ts';
import { SegmentBuilder } from './build.ts';

const cpu = CpuDevice.open();

/** sin(sin(… x)) of many numbers, then their sum: long enough to run aside, and split among threads. */
function longWork(size: number, seed: number) {
  const b = new SegmentBuilder();
  const data = new Float64Array(size);
  for (let i = 0; i < size; i++) data[i] = Math.sin(i + seed);
  const x = b.bind(new NDArray(d.float64, [size], data));
  const y = b.temp(d.float64, [size]);
  const total = b.output(d.float64, []);
  const wave = e.sin(e.sin(e.sin(e.input(0, d.float64))));
  b.add({ kind: 'map', shape: [size], inputs: [x], outputs: [y], results: [wave] });
  const result = e.input(0, d.float64);
  b.add({ kind: 'reduce', op: 'sum', shape: [size], axes: [0], inputs: [y], result, output: total });
  const want = data.reduce((sum, value) => sum + Math.sin(Math.sin(Math.sin(value))), 0);
  return { run: async (device: CpuDevice) => (await (await b.run(device))(total)).item() as number, want };
}

describe.runIf(cpu)('threads of the cpu device', () => {
  it('leave the event loop free: timers fire while a long segment runs', async () => {
    const { run, want } = longWork(300_000, 1);
    let ticks = 0;
    const timer = setInterval(() => ticks++, 1);
    // Segments that were run on this thread would let no timer fire, however many they are.
    for (let i = 0; i < 1000 && ticks < 2; i++) expect(await run(cpu!)).toBeCloseTo(want, 6);
    clearInterval(timer);
    expect(ticks).toBeGreaterThanOrEqual(2);
  });

  it('serve devices that run at the same time', async () => {
    const devices = Array.from({ length: 3 }, () => CpuDevice.open()!);
    const works = Array.from({ length: 9 }, (_, i) => longWork(300_000 + 1000 * i, i));
    const got = await Promise.all(works.map(({ run }, i) => run(devices[i % 3]!)));
    for (const [i, { want }] of works.entries()) expect(got[i]).toBeCloseTo(want, 6);
  });

  it('keep to the limit of each session', async () => {
    const [one, two, all] = [1, 2, 0].map((threads) => openDevice({ intraOpParallelismThreads: threads }));
    expect(one!.description).toMatch(/, 1 threads/);
    expect(two!.description).toMatch(/, 2 threads/);
    expect(all!.description).toMatch(new RegExp(`, ${cpu!.library.processors} threads`));
    const { run } = longWork(200_000, 5);
    const results = [one, two, all, one].map((device) => run(device as CpuDevice)); // the native library is there, see above
    expect(new Set(await Promise.all(results)).size).toBe(1);
  });

  it('can run blocks again that ran out of memory', async () => {
    const { library } = cpu!;
    // The largest of 2^50 elements, of which there are none: the memory for sorting them is asked for first.
    const view = (dtype: string, columns: number) => [library.code('dtype', dtype), 0, 0, 0, 2, 1, columns, columns, 1];
    const topk = [library.code('instruction', 'topk'), ...view('f32', 2 ** 50), ...view('f32', 1), ...view('i32', 1)];
    const words = new Words();
    const [rows, slot, localBytes, across, last] = [[1, 1, 0], [1, -1, 0, 0], 64, 0, 0];
    words.push(
      1,
      library.code('instruction', 'blocks'),
      ...rows,
      ...slot,
      localBytes,
      across,
      topk.length,
      ...topk,
      last,
    );
    const program = library.create(words.all);
    const result = new Float64Array(4);
    const address = Number(library.address(result));
    const run = () =>
      new Promise((resolve, reject) => {
        const done = (error: unknown, next: number) => (error ? reject(error) : resolve([next, result[0]]));
        library.run.async(program, address, address, 0, 1, 0, Number.POSITIVE_INFINITY, done);
      });
    const failed = [-1, library.code('failure', 'memory')];
    expect([await run(), await run()]).toEqual([failed, failed]);
    library.free(program);
  }, 10_000);

  it('run more parts than there are processors', async () => {
    const { run } = longWork(1_000_000, 7);
    expect(await run(cpu!.withThreads(40))).toBe(await run(cpu!.withThreads(1)));
  });

  it.runIf(existsSync('/proc/self/task'))(
    'may run on all processors that the process may, once they are awake',
    async () => {
      // Threads end while others are listed, and then have no file.
      const allowed = () => {
        const texts = readdirSync('/proc/self/task').map((thread) => {
          try {
            return readFileSync(`/proc/self/task/${thread}/status`, 'utf8');
          } catch {
            return '';
          }
        });
        return new Set(texts.flatMap((text) => /^Cpus_allowed_list:.*$/m.exec(text) ?? []));
      };
      const { run } = longWork(200_000, 3);
      // A worker may be on its way, kept off one of them; it is not every time.
      for (let i = 0; i < 1000 && (i === 0 || allowed().size > 1); i++) {
        await run(cpu!);
        await setTimeout(1);
      }
      expect([...allowed()]).toHaveLength(1);
    },
  );
});
