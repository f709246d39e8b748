/** @file Nothing is read or written behind an array, nor in front of it: arrays at the ends of pages, with none beside them. */
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import * as d from '../../src/core/dtypes.ts';
import { fromElements, NDArray, zeros } from '../../src/core/ndarray.ts';
import { sizeOf } from '../../src/core/shape.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import type { DeviceBuffer } from '../../src/devices/device.ts';
import * as e from '../../src/program/expr.ts';
import type { View } from '../../src/program/instructions.ts';
import { broadcast, restride, SegmentBuilder } from './build.ts';

const cpu = process.platform === 'linux' ? CpuDevice.open() : undefined;
const pageBytes = 4096;

/** Memory between two pages that cannot be touched; it stays until the process ends. */
function betweenPages(bytes: number): { start: number; bytes: number } {
  const koffi: typeof import('koffi') = createRequire(import.meta.url)('koffi');
  const c = koffi.load('libc.so.6');
  const map = c.func('int64_t mmap(int64_t at, int64_t bytes, int access, int kind, int file, int64_t offset)');
  const protect = c.func('int mprotect(int64_t at, int64_t bytes, int access)');
  const [none, readAndWrite, privateAndAnonymous] = [0, 3, 0x22];
  const inside = Math.ceil(bytes / pageBytes) * pageBytes;
  const start = Number(map(0, inside + 2 * pageBytes, none, privateAndAnonymous, -1, 0));
  if (start <= 0 || protect(start + pageBytes, inside, readAndWrite) !== 0) throw new Error('there is no such memory');
  return { start: start + pageBytes, bytes: inside };
}

/** A copy of an array, which ends where its memory ends or begins where it begins. */
function atEdge(array: NDArray, atEnd: boolean): DeviceBuffer {
  const { start, bytes } = betweenPages(array.bytes.byteLength);
  const skip = atEnd ? bytes - array.bytes.byteLength : 0;
  const host = new Uint8Array(cpu!.library.over(start, bytes), skip, array.bytes.byteLength);
  host.set(array.bytes);
  return cpu!.fromHost(new NDArray(array.dtype, array.shape, array.dtype.over(host.buffer, skip, array.size)));
}

const [dense, row, column] = [0, 1, 2].map((i) => e.input(i, d.float32)) as [e.Expr, e.Expr, e.Expr];
const [integer, truth] = [e.input(3, d.int32), e.input(4, d.bool)];

/** Inputs of all kinds over [rows, columns]. */
function inputsOf(b: SegmentBuilder, rows: number, columns: number): View[] {
  const shape = [rows, columns];
  const floats = (own: number[]) =>
    b.bind(
      new NDArray(
        d.float32,
        own,
        Float32Array.from({ length: sizeOf(own) }, (_, i) => (i % 7) - 3),
      ),
    );
  const integers = Int32Array.from({ length: rows * columns }, (_, i) => i % 5);
  const truths = Uint8Array.from({ length: rows * columns }, (_, i) => i % 2);
  return [
    floats(shape),
    broadcast(floats([columns]), shape),
    broadcast(floats([rows, 1]), shape),
    b.bind(new NDArray(d.int32, shape, integers)),
    b.bind(new NDArray(d.bool, shape, truths)),
  ];
}

function mapOver(rows: number, columns: number): SegmentBuilder {
  const b = new SegmentBuilder();
  const [shape, inputs] = [[rows, columns], inputsOf(b, rows, columns)];
  const results = [
    e.select(truth, e.add(dense, row), e.tanh(column)),
    e.select(e.gt(integer, 2), integer, 7),
    e.and(truth, e.lt(dense, row)),
  ];
  const outputs = results.map((result) => b.output(result.dtype, shape));
  return b.add({ kind: 'map', shape, inputs, outputs, results });
}

function blocksOver(rows: number, columns: number): SegmentBuilder {
  const b = new SegmentBuilder();
  const [shape, inputs] = [[rows, columns], inputsOf(b, rows, columns)];
  const [chosen, largest, total] = [
    b.output(d.float32, shape),
    b.output(d.float32, [rows]),
    b.output(d.float32, [columns]),
  ];
  const result = e.select(truth, e.mul(dense, row), e.cast(integer, d.float32));
  return b.add({
    kind: 'blocks',
    rows,
    locals: new Set(),
    steps: [
      { kind: 'map', shape, inputs, outputs: [chosen], results: [result] },
      { kind: 'reduce', op: 'max', shape, axes: [1], inputs: [chosen], result: dense, output: largest },
      {
        ...{ kind: 'reduce', op: 'sum', shape, axes: [0], output: total },
        ...{ inputs: [chosen, restride(largest, shape, [1, 0])], result: e.sub(dense, row) },
      },
    ],
  });
}

function productsOver(rows: number, columns: number): SegmentBuilder {
  const b = new SegmentBuilder();
  const terms = 20;
  for (const dtype of [d.float32, d.float64])
    for (const [isTurnedA, isTurnedB] of [
      [false, false],
      [false, true],
      [true, false],
      [true, true],
    ]) {
      const matrix = (height: number, width: number, isTurned: boolean) => {
        const elements = Array.from({ length: height * width }, (_, i) => (i % 7) - 3);
        const view = b.bind(fromElements(dtype, [height, width], elements));
        return isTurned ? restride(view, [height, width], [1, height]) : view;
      };
      const output = b.output(dtype, [2 * rows, columns]);
      b.add({ kind: 'dot', a: matrix(2 * rows, terms, isTurnedA!), b: matrix(terms, columns, isTurnedB!), output });
    }
  return b;
}

/** Runs it with its arrays at the ends of pages and elsewhere, and compares all of them. */
async function check(b: SegmentBuilder, atEnd: boolean): Promise<void> {
  const buffers = b.values.map((array) => atEdge(array, atEnd));
  await cpu!.compile(b.segment).run(buffers);
  const elsewhere = b.values.map((array) => cpu!.fromHost(array.copy()));
  await cpu!.compile(b.segment).run(elsewhere);
  expect(buffers.findIndex(({ host }, i) => Buffer.compare(host!, elsewhere[i]!.host!) !== 0)).toBe(-1);
}

describe.runIf(cpu)('at the ends of pages', () => {
  it.each([
    ['maps', mapOver],
    ['steps over rows', blocksOver],
    ['products', productsOver],
  ])('%s stay inside their arrays', async (_, segmentOver) => {
    for (const rows of [1, 2, 5])
      for (const columns of [1, 2, 8, 15, 16, 17, 31, 33, 47, 64, 71, 1100])
        for (const atEnd of [true, false]) await check(segmentOver(rows, columns), atEnd);
  });

  it.each([
    ['of a factor that comes from memory', 43, 516, 1033],
    ['of few columns', 9, 389, 10],
  ])('products %s stay inside their arrays', async (_, m, k, n) => {
    for (const dtype of [d.float32, d.float64]) {
      const b = new SegmentBuilder();
      const matrix = (shape: number[]) => b.bind(zeros(dtype, shape));
      b.add({ kind: 'dot', a: matrix([m, k]), b: matrix([k, n]), output: b.output(dtype, [m, n]) });
      await check(b, true);
    }
  });
});
