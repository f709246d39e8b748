/**
 * @file Fused maps and reductions over arrays larger than all caches, beside copies of the same size: `npm run bench:memory
 * [-- --threads 1] [-- --rounds 20] [-- --only adam] [-- --floats 16000000] [-- --json]`. A copy is the C library's `memcpy` of a quarter of a megabyte at a time; bytes are those
 * that are read and those that are written, each counted once.
 */
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { float32 } from '../src/core/dtypes.ts';
import { type Shape, sizeOf, stridesOf } from '../src/core/shape.ts';
import { CpuDevice } from '../src/devices/cpu/device.ts';
import type { DeviceBuffer } from '../src/devices/device.ts';
import {
  add,
  constant,
  div,
  type Expr,
  exp,
  gt,
  input,
  max,
  mul,
  select,
  sigmoid,
  sqrt,
  square,
  sub,
} from '../src/program/expr.ts';
import { Buffer, type DeviceInstruction, type ReduceOp, type View } from '../src/program/instructions.ts';

const { values: options } = parseArgs({
  options: {
    threads: { type: 'string', default: '1,2' },
    rounds: { type: 'string', default: '20' },
    only: { type: 'string', default: '' },
    floats: { type: 'string', default: '16000000' },
    json: { type: 'boolean', default: false },
  },
});
const floats = Number(options.floats);
const opened = CpuDevice.open();
if (!opened) throw new Error('build the native library first: node tools/buildNative.mjs');
const device = opened;

function view(shape: Shape): View {
  const buffer = new Buffer('bound', sizeOf(shape) * 4);
  return { buffer, dtype: float32, shape, strides: stridesOf(shape), offset: 0 };
}
const one = constant(1, float32);
const zero = constant(0, float32);
const x = (index: number): Expr => input(index, float32);

/** What is measured: an instruction, and the bytes that it reads and writes. */
interface Row {
  readonly name: string;
  readonly instruction: DeviceInstruction;
  readonly bytes: number;
}

/** A map over `count` inputs of a shape; `onto` says for each result the input it is written over, or -1. */
function map(name: string, shape: Shape, count: number, results: readonly Expr[], onto: readonly number[]): Row {
  const inputs = Array.from({ length: count }, () => view(shape));
  const outputs = onto.map((i) => (i < 0 ? view(shape) : inputs[i]!));
  const bytes = 4 * sizeOf(shape) * (count + results.length);
  return { name, instruction: { kind: 'map', shape, inputs, outputs, results }, bytes };
}

function reduce(name: string, op: ReduceOp, shape: Shape, axes: readonly number[], result: Expr): Row {
  const output = view(shape.filter((_, axis) => !axes.includes(axis)));
  return {
    name,
    instruction: { kind: 'reduce', op, shape, axes, inputs: [view(shape)], result, output },
    bytes: 4 * (sizeOf(shape) + sizeOf(output.shape)),
  };
}

/** Adam's update, as ResourceApplyAdam is lowered: variable, both moments, gradient. */
function adam(): Row {
  const moment = add(x(1), mul(sub(x(3), x(1)), sub(one, constant(0.9, float32))));
  const spread = add(x(2), mul(sub(square(x(3)), x(2)), sub(one, constant(0.999, float32))));
  const variable = sub(x(0), div(mul(moment, constant(1e-3, float32)), add(sqrt(spread), constant(1e-8, float32))));
  return map('update by Adam', [floats], 4, [variable, moment, spread], [0, 1, 2]);
}

/** A map of a matrix and a row or a column of it. */
function broadcast(name: string, shape: Shape, strides: readonly number[], result: Expr): Row {
  const [matrix, output, line] = [view(shape), view(shape), view([Math.max(...shape)])];
  const inputs = [matrix, { ...line, shape, strides }];
  return {
    name,
    instruction: { kind: 'map', shape, inputs, outputs: [output], results: [result] },
    bytes: 8 * sizeOf(shape),
  };
}

const wide: Shape = [floats / 1000, 1000];
const narrow: Shape = [floats / 32, 32];
const rows: readonly Row[] = [
  map('max(x, 0)', [floats], 1, [max(x(0), zero)], [-1]),
  map('x + y', [floats], 2, [add(x(0), x(1))], [-1]),
  map('x y + z', [floats], 3, [add(mul(x(0), x(1)), x(2))], [-1]),
  map('(x - y)², x - y', [floats], 2, [square(sub(x(0), x(1))), sub(x(0), x(1))], [-1, -1]),
  map('x > 0 ? y : 0', [floats], 2, [select(gt(x(0), zero), x(1), zero)], [-1]),
  map('exp(x)', [floats], 1, [exp(x(0))], [-1]),
  map('x sigmoid(y)', [floats], 2, [mul(x(0), sigmoid(x(1)))], [-1]),
  map('x - 0.1 y, in place', [floats], 2, [sub(x(0), mul(x(1), constant(0.1, float32)))], [0]),
  map(
    'update with momentum',
    [floats],
    3,
    [
      sub(x(0), mul(add(mul(x(1), constant(0.9, float32)), x(2)), constant(0.1, float32))),
      add(mul(x(1), constant(0.9, float32)), x(2)),
    ],
    [0, 1],
  ),
  adam(),
  broadcast('max(x + bias, 0), rows of 1000', wide, [0, 1], max(add(x(0), x(1)), zero)),
  broadcast('max(x + bias, 0), rows of 32', narrow, [0, 1], max(add(x(0), x(1)), zero)),
  broadcast('x - mean, rows of 1000', wide, [1, 0], sub(x(0), x(1))),
  reduce('sum of all', 'sum', [floats], [0], x(0)),
  reduce('sum of x² of all', 'sum', [floats], [0], square(x(0))),
  reduce('max of all', 'max', [floats], [0], x(0)),
  reduce('sum of rows of 1000', 'sum', wide, [1], x(0)),
  reduce('max of rows of 1000', 'max', wide, [1], x(0)),
  reduce('sum of columns, rows of 1000', 'sum', wide, [0], x(0)),
  reduce('sum of rows of 32', 'sum', narrow, [1], x(0)),
  reduce('sum of columns, rows of 32', 'sum', narrow, [0], x(0)),
];

function viewsOf(instruction: DeviceInstruction): readonly View[] {
  if (instruction.kind === 'map') return [...instruction.inputs, ...instruction.outputs];
  if (instruction.kind === 'reduce') return [...instruction.inputs, instruction.output];
  throw new Error(`a ${instruction.kind} is not measured here`);
}

/** Something that runs an instruction once and says how many milliseconds it took. */
function prepare(instruction: DeviceInstruction): () => Promise<number> {
  const bound = [...new Set(viewsOf(instruction).map((v) => v.buffer))];
  const kernel = device.compile({ instructions: [instruction], arenaBytes: 0, arena: new Map(), bound });
  const buffers: DeviceBuffer[] = bound.map((b) => device.allocate(b.bytes));
  for (const b of buffers) if (b.host) new Float32Array(b.host.buffer, b.host.byteOffset, b.bytes / 4).fill(0.5);
  return async () => {
    const start = performance.now();
    const running = kernel.run(buffers);
    if (running) await running;
    return performance.now() - start;
  };
}

const copy = map('copy', [floats], 1, [x(0)], [-1]);
const [copyOnce, rounds] = [prepare(copy.instruction), Number(options.rounds)];
if (!options.json)
  console.log(
    `GB/s, best of ${rounds}, arrays of ${floats} float32; load ${loadavg()[0]!.toFixed(1)}.\n\n` +
      '| threads | what | tensorloom | copy | ratio |\n|---|---|---|---|---|',
  );
const ratios: number[] = [];
for (const threads of options.threads.split(',').map(Number)) {
  device.threads = threads;
  for (const { name, instruction, bytes } of rows.filter((row) => row.name.includes(options.only))) {
    const once = prepare(instruction);
    await once();
    let [best, bestCopy] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let round = 0; round < rounds; round++) {
      best = Math.min(best, await once());
      bestCopy = Math.min(bestCopy, await copyOnce());
    }
    const [ours, copied] = [(1e-6 * bytes) / best, (1e-6 * copy.bytes) / bestCopy];
    ratios.push(ours / copied);
    if (options.json)
      console.log(JSON.stringify({ threads, name, tensorloom: ours, copy: copied, ratio: ours / copied }));
    else
      console.log(
        `| ${threads} | ${name} | ${ours.toFixed(1)} | ${copied.toFixed(1)} | ${(ours / copied).toFixed(2)} |`,
      );
  }
}
if (!options.json && ratios.length > 0) {
  ratios.sort((a, b) => a - b);
  console.log(
    `\nmedian ratio ${ratios[ratios.length >> 1]!.toFixed(2)}, least ${ratios[0]!.toFixed(2)}; ` +
      `${ratios.filter((ratio) => ratio >= 0.8).length} of ${ratios.length} at 0.8 or better. Load now ${loadavg()[0]!.toFixed(1)}.`,
  );
}
