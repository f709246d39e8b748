/** @file Speed of the cpu device alone: matrix products, fused maps, reductions, and what a tiny run costs. */
import { float32 } from '../src/core/dtypes.ts';
import { type Shape, sizeOf, stridesOf } from '../src/core/shape.ts';
import { CpuDevice } from '../src/devices/cpu/device.ts';
import type { DeviceBuffer } from '../src/devices/device.ts';
import { add, type Expr, exp, input, mul, tanh } from '../src/program/expr.ts';
import { Buffer, type DeviceInstruction, type View } from '../src/program/instructions.ts';

const opened = CpuDevice.open();
if (!opened) throw new Error('build the native library first: node tools/buildNative.mjs');
const device = opened;

const view = (shape: Shape): View => ({
  buffer: new Buffer('bound', sizeOf(shape) * 4),
  dtype: float32,
  shape,
  strides: stridesOf(shape),
  offset: 0,
});

/** The best time of one run, in seconds. */
async function time(instruction: DeviceInstruction, views: readonly View[], runs: number): Promise<number> {
  const bound = views.map((v) => v.buffer);
  const kernel = device.compile({ instructions: [instruction], arenaBytes: 0, arena: new Map(), bound });
  const buffers: DeviceBuffer[] = bound.map((b) => device.allocate(b.bytes));
  for (const b of buffers) if (b.host) new Float32Array(b.host.buffer, b.host.byteOffset, b.bytes / 4).fill(0.5);
  // Short work is repeated within one measurement, since the clock itself costs as much as a small product.
  const first = kernel.run(buffers);
  if (first) await first;
  const repeats = first ? 1 : 20;
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < runs; i++) {
    const start = performance.now();
    for (let j = 0; j < repeats; j++) {
      const running = kernel.run(buffers);
      if (running) await running;
    }
    best = Math.min(best, (performance.now() - start) / repeats);
  }
  return best / 1000;
}

const show = (what: string, value: number, unit: string) =>
  console.log(`${what.padEnd(44)}${value.toFixed(1).padStart(9)} ${unit}`);

for (const threads of [1, 0]) {
  device.threads = threads;
  console.log(`\n${device.library.variant}, ${threads || device.library.processors} thread(s)`);
  for (const [m, k, n] of [
    [32, 32, 32],
    [64, 64, 64],
    [128, 128, 128],
    [256, 256, 256],
    [512, 512, 512],
    [1024, 1024, 1024],
    [2048, 2048, 2048],
    [128, 784, 512],
    [128, 512, 10],
    [784, 128, 512],
    [1, 784, 512],
  ] as const) {
    const [a, b, output] = [view([m, k]), view([k, n]), view([m, n])];
    const seconds = await time({ kind: 'dot', a, b, output }, [a, b, output], m * n * k > 1e8 ? 10 : 50);
    show(`float32 product ${m} x ${k} x ${n}`, (2e-9 * m * n * k) / seconds, 'GFLOP/s');
  }
  const map = async (what: string, shape: Shape, result: (x: Expr, y: Expr) => Expr, runs: number) => {
    const [x, y, z] = [view(shape), view(shape), view(shape)];
    const results = [result(input(0, float32), input(1, float32))];
    const seconds = await time({ kind: 'map', shape, inputs: [x, y], outputs: [z], results }, [x, y, z], runs);
    show(`map ${what}, ${sizeOf(shape)} floats`, (12e-9 * sizeOf(shape)) / seconds, 'GB/s');
  };
  await map('x * y + 0.5', [10_000_000], (x, y) => add(mul(x, y), 0.5), 10);
  await map('x * y + 0.5', [4096], (x, y) => add(mul(x, y), 0.5), 50);
  await map('tanh(x) * exp(y)', [10_000_000], (x, y) => mul(tanh(x), exp(y)), 10);
  for (const [shape, axes] of [
    [[10_000_000], [0]],
    [[10_000, 1000], [1]],
    [[10_000, 1000], [0]],
    [[1_000_000, 10], [0]],
    [[1_000_000, 10], [1]],
  ] as const) {
    const x = view(shape);
    const output = view(shape.filter((_, axis) => !(axes as readonly number[]).includes(axis)));
    const seconds = await time(
      { kind: 'reduce', op: 'sum', shape, axes, inputs: [x], result: input(0, float32), output },
      [x, output],
      10,
    );
    show(`sum of [${shape}] over ${axes}`, (4e-9 * sizeOf(shape)) / seconds, 'GB/s');
  }
  const [from, to] = [view([2000, 2000]), view([2000, 2000])];
  const turned: View = { ...from, strides: [1, 2000] };
  const transpose: DeviceInstruction = {
    kind: 'map',
    shape: [2000, 2000],
    inputs: [turned],
    outputs: [to],
    results: [input(0, float32)],
  };
  show('transpose [2000,2000]', (8e-9 * 4e6) / (await time(transpose, [from, to], 10)), 'GB/s');
}

const [x, y] = [view([4]), view([4])];
const tiny = device.compile({
  instructions: [{ kind: 'map', shape: [4], inputs: [x], outputs: [y], results: [add(input(0, float32), 1)] }],
  arenaBytes: 0,
  arena: new Map(),
  bound: [x.buffer, y.buffer],
});
const buffers = [device.allocate(16), device.allocate(16)];
for (let i = 0; i < 1e5; i++) tiny.run(buffers);
const start = performance.now();
for (let i = 0; i < 1e6; i++) tiny.run(buffers);
show('\none run of a tiny segment', performance.now() - start, 'ns');
